# POSIX sh, and sort. Functions that compute something leave it in $result.

fail() { # TEXT [STATUS]
    printf '%s\n' "$1" >&2
    exit "${2:-2}"
}

# Whether TEXT is a number of LEAST to MOST digits; $result is its value. "08" would be octal, so the zeros go.
digits() { # TEXT LEAST MOST
    case $1 in *[!0123456789]*) return 1 ;; esac
    [ "${#1}" -ge "$2" ] && [ "${#1}" -le "$3" ] || return 1
    result=${1#"${1%%[!0]*}"}
    result=${result:-0}
}

minutes_of() { # TEXT
    sign=1
    rest=$1
    case $rest in
        -*) sign=-1 rest=${rest#-} ;;
        +*) rest=${rest#+} ;;
    esac
    hours=0
    limit=60
    case $rest in
        *h) digits "${rest%h}" 1 4 || return 1
            result=$((result * 60 * sign))
            return 0 ;;
        *h*m) digits "${rest%%h*}" 1 4 || return 1
            hours=$result
            rest=${rest#*h}
            digits "${rest%m}" 1 4 || return 1 ;;
        *m) digits "${rest%m}" 1 4 || return 1
            limit=10000 ;;
        *:*) digits "${rest%%:*}" 1 4 || return 1
            hours=$result
            digits "${rest#*:}" 2 2 || return 1 ;;
        *) return 1 ;;
    esac
    [ "$result" -lt "$limit" ] || return 1
    result=$(((hours * 60 + result) * sign))
}

shown() { # MINUTES
    result=
    total=$1
    if [ "$total" -lt 0 ]; then
        result=- total=$((-total))
    fi
    if [ "$total" -ge 60 ]; then result=$result$((total / 60))h; fi
    if [ $((total % 60)) -gt 0 ] || [ "$total" -eq 0 ]; then result=$result$((total % 60))m; fi
}

add() {
    [ $# -gt 0 ] || fail "usage: timesheet add DURATION..."
    sum=0
    for text in "$@"; do
        minutes_of "$text" || fail "error: not a duration: $text"
        sum=$((sum + result))
    done
    shown "$sum"
    printf '%s\n' "$result"
}

tab=$(printf '\t')
cr=$(printf '\r')

report() {
    usage="usage: timesheet report [--round MINUTES] [FILE]"
    step=1
    files=0
    file=
    while [ $# -gt 0 ]; do
        case $1 in
            --round) [ $# -gt 1 ] || fail "$usage"
                step=$2
                shift ;;
            -*) fail "$usage" ;;
            *) file=$1
                files=$((files + 1)) ;;
        esac
        [ "$files" -le 1 ] || fail "$usage"
        shift
    done
    digits "$step" 1 4 && [ "$result" -ge 1 ] && [ "$result" -le 60 ] ||
        fail "error: not a number of minutes: $step"
    step=$result
    if [ "$files" -eq 1 ]; then
        [ -f "$file" ] || fail "error: no such file: $file" 1
        exec <"$file"
    fi
    # Nothing may be printed before the last line is read, so this is no pipe.
    found=$(entries) || exit 1
    printf '%s' "${found:+$found
}" | LC_ALL=C sort -t "$tab" -k 2 | totals | LC_ALL=C sort -t "$tab" -k 1,1nr -k 2 | table
}

# One line for each entry of standard input: its minutes, a tab, and its label.
entries() {
    number=0
    while IFS= read -r line; do
        number=$((number + 1))
        trimmed "${line%"$cr"}"
        line=$result
        case $line in "" | "#"*) continue ;; esac
        date=${line%%["$tab "]*}
        trimmed "${line#"$date"}"
        times=${result%%["$tab "]*}
        trimmed "${result#"$times"}"
        label=$result
        is_date "$date" || fail "error: line $number: bad date: $date" 1
        entry_minutes "$times" || fail "error: line $number: bad times: $times" 1
        [ -n "$label" ] || fail "error: line $number: no label" 1
        printf '%s\t%s\n' "$(((result + step - 1) / step * step))" "$label"
    done
}

trimmed() { # TEXT
    result=${1#"${1%%[!"$tab "]*}"}
    result=${result%"${result##*[!"$tab "]}"}
}

is_date() { # TEXT
    case $1 in ????-[01]?-[0123]?) ;; *) return 1 ;; esac
    rest=${1#????-}
    digits "${1%"-$rest"}" 4 4 || return 1
    digits "${rest%-*}" 2 2 && [ "$result" -ge 1 ] && [ "$result" -le 12 ] || return 1
    digits "${rest#*-}" 2 2 && [ "$result" -ge 1 ] && [ "$result" -le 31 ]
}

entry_minutes() { # START-END
    case $1 in ??:??-??:??) ;; *) return 1 ;; esac
    clock "${1%-*}" || return 1
    start=$result
    clock "${1#*-}" || return 1
    result=$((result - start))
    if [ "$result" -le 0 ]; then result=$((result + 1440)); fi
}

clock() { # HH:MM
    digits "${1%:*}" 2 2 && [ "$result" -le 23 ] || return 1
    hours=$result
    digits "${1#*:}" 2 2 && [ "$result" -le 59 ] || return 1
    result=$((hours * 60 + result))
}

# The sum of each label, from entries sorted by label.
totals() {
    previous=
    sum=0
    while IFS=$tab read -r minutes label; do
        if [ "$label" != "$previous" ] && [ -n "$previous" ]; then
            printf '%s\t%s\n' "$sum" "$previous"
            sum=0
        fi
        previous=$label
        sum=$((sum + minutes))
    done
    if [ -n "$previous" ]; then printf '%s\t%s\n' "$sum" "$previous"; fi
}

table() {
    all=0
    while IFS=$tab read -r minutes label; do
        all=$((all + minutes))
        shown "$minutes"
        printf '%s\t%s\n' "$result" "$label"
    done
    shown "$all"
    printf '%s\ttotal\n' "$result"
}

case ${1-} in
    add) shift
        add "$@" ;;
    report) shift
        report "$@" ;;
    *) fail "usage: timesheet COMMAND [ARGUMENT]..." ;;
esac
