# POSIX sh; no other program is needed. Functions that compute something leave it in $result.

fail() { # TEXT [STATUS]
    printf '%s\n' "$1" >&2
    exit "${2:-2}"
}

# Whether TEXT is a number of LEAST to MOST digits; $result is its value.
digits() { # TEXT LEAST MOST
    case $1 in *[!0123456789]*) return 1 ;; esac
    [ "${#1}" -ge "$2" ] && [ "${#1}" -le "$3" ] || return 1
    result=$1
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

case ${1-} in
    add) shift
        add "$@" ;;
    *) fail "usage: timesheet COMMAND [ARGUMENT]..." ;;
esac
