# Sourced by the other scripts: makes .venv with everything pinned, once, and again only when the pins change.
# Sets `venv` to its path. Needs Python >= 3.11 with pip; installs Debian's venv package where it may.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$root/.venv

say() { printf '\033[1m%s\033[0m\n' "$*" >&2; }

find_python() {
  local candidate
  # The system's own before what a version manager has put on PATH: distributions build theirs with optimizations.
  for candidate in "${PYTHON:-}" /usr/bin/python3 python3 python3.13 python3.12 python3.11 python; do
    [ -n "$candidate" ] && command -v "$candidate" >/dev/null || continue
    "$candidate" -c '
import importlib.util, sys
sys.exit(sys.version_info < (3, 11) or not any(map(importlib.util.find_spec, ("ensurepip", "pip"))))
' 2>/dev/null && { echo "$candidate"; return; }
  done
  say "slop-code needs Python 3.11 or newer with pip, and there is none on PATH (set PYTHON to name one)"
  return 1
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then sudo -n "$@"; else return 1; fi
}

make_venv() { # python
  "$1" -m venv "$venv" >/dev/null 2>&1 && return
  rm -rf "$venv"
  say "Python's venv module is incomplete here; getting what it needs"
  if command -v apt-get >/dev/null && as_root apt-get update -qq >&2 &&
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv >&2 && "$1" -m venv "$venv"; then
    return
  fi
  rm -rf "$venv"
  "$1" -m pip install --quiet --target "$root/.venv-maker" virtualenv &&
    PYTHONPATH=$root/.venv-maker "$1" -m virtualenv --quiet "$venv"
}

base_of() { # python
  "$1" -c 'import sys; print(sys.base_prefix, sys.version)'
}

prepare() { # extras
  local python stamp
  python=$(find_python) || return 1
  stamp=$({ cat "$root/pyproject.toml" "$root/constraints.txt"; echo "$1 $root"; "$python" --version; } | cksum)
  if [ "$(cat "$venv/.stamp" 2>/dev/null)" != "$stamp" ]; then
    say "Preparing .venv (once; about a minute)"
    [ "$(base_of "$venv/bin/python" 2>/dev/null)" = "$(base_of "$python")" ] || { rm -rf "$venv"; make_venv "$python"; } || return 1
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
      --constraint "$root/constraints.txt" --editable "$root[$1]" >&2 || return 1
    echo "$stamp" >"$venv/.stamp"
  fi
  # Where Python is told not to write bytecode, every start would compile our sources again.
  "$venv/bin/python" -m compileall -q "$root/src"
}
