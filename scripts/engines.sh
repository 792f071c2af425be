# Real engines for the tests: bubblewrap, and a Docker engine with a small image; and jq. Sourced after bootstrap.sh.
#   prepare_engines  installs what is missing, where it may, and starts the Docker engine in the background
#   await_engines    waits until it answers, and exports DOCKER_HOST and SLOP_CODE_TEST_IMAGE
# What cannot be had is said, and SLOP_CODE_NO_BWRAP_REASON or SLOP_CODE_NO_DOCKER_REASON tells the tests why. Set one of
# them beforehand to do without that engine; set SLOP_CODE_TEST_IMAGE to use an image that your engine already has.
#
# An engine that answers is used. Otherwise a keeper, in a session of its own, starts a private one with all it has in one
# folder in /tmp, and lives until the script that started it ends, in whatever way. Then it kills the engine and removes
# every trace. The folder says whose it is, so that a later run can tell what a killed keeper left, and clear it.

declare -F as_root >/dev/null || source "$(dirname "${BASH_SOURCE[0]}")/bootstrap.sh"
engines_script=$root/scripts/engines.sh
engine_folders=/tmp/slop-engine

prepare_engines() {
  command -v jq >/dev/null || install_packages jq >/dev/null || : # the tests of command lines with it say that they are skipped
  [ -n "${SLOP_CODE_NO_BWRAP_REASON:-}" ] || prepare_bwrap
  [ -n "${SLOP_CODE_NO_DOCKER_REASON:-}" ] || prepare_docker
}

prepare_bwrap() {
  local reason
  if ! command -v bwrap >/dev/null; then
    reason=$(install_packages bubblewrap) || { without BWRAP "there is no bwrap, and $reason"; return 0; }
  fi
  reason=$(bwrap --unshare-all --ro-bind / / --dev /dev --proc /proc true 2>&1) ||
    without BWRAP "it does not work here: $reason"
}

prepare_docker() {
  local reason PATH=$PATH:/usr/sbin:/sbin
  if ! command -v docker >/dev/null || ! { command -v dockerd >/dev/null || answers docker; }; then
    reason=$(install_packages docker.io iptables) || { without DOCKER "there is no engine, and $reason"; return 0; }
    # Newer releases have the client in a package of its own.
    command -v docker >/dev/null || reason=$(install_packages docker-cli) ||
      { without DOCKER "there is no client, and $reason"; return 0; }
  fi
  coproc ENGINE { exec setsid --wait bash "$engines_script" keep_engine; }
  trap stop_engines EXIT
}

await_engines() {
  [ -n "${ENGINE_PID:-}" ] || return 0
  local answer='' rest='' image=''
  { read -r -t 600 answer rest <&"${ENGINE[0]:-}"; } 2>/dev/null || rest="its keeper ended or took ten minutes"
  case $answer in
    private | found)
      read -r image DOCKER_HOST <<<"$rest"
      export DOCKER_HOST SLOP_CODE_TEST_IMAGE=$image SLOP_CODE_TEST_ENGINE=$answer
      ;;
    *) without DOCKER "$rest" ;;
  esac
}

stop_engines() {
  [ -z "${ENGINE[1]:-}" ] || eval "exec ${ENGINE[1]}>&-"
  [ -z "${ENGINE_PID:-}" ] || wait "$ENGINE_PID" || :
}

without() { # BWRAP|DOCKER reason
  export "SLOP_CODE_NO_$1_REASON=$2"
  say "Tests with ${1,,} will be skipped: $2"
}

install_packages() { # package...; prints why not
  local log
  command -v apt-get >/dev/null || { echo "no apt-get to install it with"; return 1; }
  as_root true || { echo "installing it takes root or sudo without a password"; return 1; }
  say "Installing $* for the tests (once)"
  log=$(apt_install "$@" 2>&1) || log=$(as_root apt-get update -qq 2>&1 && apt_install "$@" 2>&1) && return
  echo "installing $* failed: $(grep '^E:' <<<"$log" | tail -n 1)"
  return 1
}

apt_install() { # package...
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=120 "$@" </dev/null
}

answers() { # client...
  timeout 10 "$@" version --format '{{.Server.Version}}' >/dev/null 2>&1
}

# --- The keeper, a process of its own. Its functions set `reason` when they fail.

keep_engine() {
  folder='' reason='' kind=found client=docker host='' image=${SLOP_CODE_TEST_IMAGE:-slop-code-test:python}
  exec 3<&0 4>&1 </dev/null >&2
  trap : PIPE HUP INT TERM
  trap '[ -z "$folder" ] || clear_engine "$folder"' EXIT
  clear_leftovers
  # It gets the name by which others look for leftovers only when it says whose it is.
  folder=$(mktemp -d "$engine_folders-new.XXXXXX") && identity $$ >"$folder/keeper" &&
    mv "$folder" "${folder/-new/}" && folder=${folder/-new/} || reason="no folder can be made in /tmp"
  if [ -n "$reason" ]; then
    :
  elif answers docker; then
    host=$(docker context inspect --format '{{.Endpoints.docker.Host}}' 2>/dev/null) ||
      host=${DOCKER_HOST:-unix:///var/run/docker.sock}
  else
    kind=private
    start_engine
  fi
  [ -n "$reason" ] || { export DOCKER_HOST=$host && have_image; }
  if [ -n "$reason" ]; then echo "no $reason" >&4; else echo "$kind $image $host" >&4; fi 2>/dev/null
  read -r _ <&3
}

start_engine() {
  local dockerd driver deadline
  dockerd=$(command -v dockerd) || { reason="no engine answers, and there is no dockerd to start"; return; }
  as_root true || { reason="no engine answers, and starting one takes root or sudo without a password"; return; }
  # The client that came with it; the first on PATH may be too new for it.
  client=${dockerd%/*/*}/bin/docker
  [ -x "$client" ] || client=docker
  host=unix://$folder/socket
  # A file of its own: the machine's would apply, and contradict the options.
  echo '{}' >"$folder/daemon.json"
  [ -e /etc/docker/key.json ] || touch "$folder/no-key"
  for driver in overlay2 vfs; do
    {
      exec 3<&- 4>&-
      as_root "$dockerd" --host "$host" --group "$(id -g)" --config-file "$folder/daemon.json" --pidfile "$folder/pid" \
        --data-root "$folder/data" --exec-root "$folder/exec" --storage-driver "$driver" --cgroup-parent "/${folder##*/}" \
        --exec-opt native.cgroupdriver=cgroupfs --bridge none --iptables=false --ip6tables=false --log-level warn
    } >"$folder/log" 2>&1 &
    deadline=$((SECONDS + 60))
    while [ "$SECONDS" -lt "$deadline" ] && kill -0 $! 2>/dev/null; do
      [ -S "$folder/socket" ] && answers "$client" --host "$host" && return
      read -r -t 0.02 _ <&3
      [ $? -gt 128 ] || { reason="nobody waits for it any more"; return; }
    done
  done
  reason=$({ grep -o 'failed to start daemon.*' "$folder/log" || cat "$folder/log"; } | tail -n 1)
  reason="dockerd does not start: $reason"
}

clear_leftovers() {
  local leftover space pid
  for leftover in "$engine_folders".*; do
    [ -O "$leftover/keeper" ] && [ ! -L "$leftover" ] && read -r space pid _ <"$leftover/keeper" || continue
    [ "$space" != "$(readlink /proc/self/ns/pid)" ] || [ "$(identity "$pid")" = "$(<"$leftover/keeper")" ] ||
      clear_engine "$leftover"
  done
}

identity() { # pid; what no other process has, before or after
  echo "$(readlink /proc/self/ns/pid) $1 $(awk '$3 != "Z" { print $22 }' "/proc/$1/stat" 2>/dev/null)"
}

clear_engine() { # folder
  local everything=(bash "$engines_script" clear_everything "$1")
  if as_root true; then as_root "${everything[@]}"; else "${everything[@]}"; fi 3<&- 4>&-
}

clear_everything() { # folder; nothing in it is worth an orderly end
  local folder=$1 name=${1##*/} pids path deadline=$((SECONDS + 20))
  while pids=$(processes_of "$folder" "$name") && [ "$SECONDS" -lt "$deadline" ]; do
    # shellcheck disable=SC2086
    kill -KILL $pids 2>/dev/null
    sleep 0.01
  done
  # containerd has a fixed place for the sockets to the keepers of its containers.
  for path in "$folder"/exec/containerd/daemon/io.containerd.runtime.v2.task/*/*/address; do
    [ ! -f "$path" ] || rm -f "$(sed 's,^unix://,,' "$path")"
  done
  rmdir /run/containerd/s /run/containerd /run/docker/plugins /run/docker 2>/dev/null
  [ ! -e "$folder/no-key" ] || rm -f /etc/docker/key.json
  cgroups_of "$name" -exec rmdir {} + 2>/dev/null
  while read -r path; do umount -l "$path"; done < <(mounts_under "$folder" | sort -r)
  [ -n "$(mounts_under "$folder")" ] || rm -rf --one-file-system "$folder"
}

processes_of() { # folder name; those that work there by what they were told, those in its containers by their cgroup
  local file
  {
    for file in $(grep -lsF -- "$1/" /proc/[0-9]*/cmdline); do
      case $(cat "${file%/*}/comm" 2>/dev/null) in bash | containerd* | cp | docker* | runc* | tar) basename "${file%/*}" ;; esac
    done
    cgroups_of "$2" -exec cat {}/cgroup.procs \; 2>/dev/null
  } | sort -u | grep .
}

cgroups_of() { # name what-to-do...
  find /sys/fs/cgroup -depth -type d \( -path "*/$1" -o -path "*/$1/*" \) "${@:2}"
}

mounts_under() { # folder
  awk -v folder="$1/" 'index($2, folder) == 1 { print $2 }' /proc/self/mounts
}

# --- The image: this machine's own Python with what it takes to run, or else the distribution's.

have_image() {
  local recipe tar why
  if [ -n "${SLOP_CODE_TEST_IMAGE:-}" ]; then
    "$client" image inspect "$image" >/dev/null 2>&1 ||
      { reason="the engine at $host has no image $image, which SLOP_CODE_TEST_IMAGE asks for"; return; }
  else
    mapfile -t pythons < <(suitable_pythons)
    recipe=$({ declare -f machine_root debian_root import_image && uname -m && stat -c '%n %s %Y' "${pythons[@]}"; } 2>&1 | sha256sum)
    recipe=${recipe:0:16}
    tar=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/slop-code-tests/image-$recipe.tar
    [ "$recipe" = "$("$client" image inspect --format '{{index .Config.Labels "slop-code.recipe"}}' "$image" 2>/dev/null)" ] ||
      { [ -f "$tar" ] && import_image "$tar" "$recipe" 2>/dev/null; } || { make_image "$tar" "$recipe"; return; }
  fi
  why=$(try_image 2>&1) || reason="the engine at $host does not run $image as it should: ${why##*$'\n'}"
}

suitable_pythons() {
  local candidate
  for candidate in /usr/bin/python3 "$("$venv/bin/python" -c 'import sys; print(sys._base_executable)')"; do
    "$candidate" -I -c 'import os, sys; sys.version_info < (3, 11) or print(os.path.realpath(sys.executable))' 2>/dev/null
  done | awk '!seen[$0]++'
}

make_image() { # tar recipe
  local work=$folder/image maker python status
  say "Making the image for the tests with docker (once)"
  mkdir -p "$work"
  for python in "${pythons[@]}" ''; do
    as_root rm -rf --one-file-system "$work/root"
    if [ -n "$python" ]; then maker=machine_root; else maker=debian_root; fi
    {
      bash -e "$engines_script" "$maker" "$work/root" "$python" &&
        as_root tar -C "$work/root" --owner=0 --group=0 --numeric-owner --exclude='./dev/*' -c . >"$work/tar" &&
        { import_image "$work/tar" "$2" || (exit 125); } && try_image
    } >"$work/log" 2>&1
    status=$?
    reason=''
    [ $status -ne 0 ] || { keep_tar "$work/tar" "$1"; return; }
    reason="no image with a working Python can be made: $(tail -n 1 "$work/log")"
    # With this status it is the engine that fails, and with another image it would, too.
    [ $status -ne 125 ] || return
  done
}

keep_tar() { # tar place
  mkdir -p "${2%/*}" && rm -f "${2%/*}"/image-* && mv "$1" "$2.$$" && mv "$2.$$" "$2"
}

import_image() { # tar recipe
  "$client" image rm "$image" >/dev/null 2>&1
  "$client" import --change "LABEL slop-code.recipe=$2" --change 'ENV PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8' \
    --change 'CMD ["sh"]' "$1" "$image" >/dev/null
}

try_image() { # as the tests use it: an unprivileged user, a folder of this machine, no network
  local modules='import bz2, ctypes, decimal, hashlib, http.server, json, lzma, multiprocessing, socket, sqlite3, ssl, zlib'
  mkdir -p "$folder/shared" && touch "$folder/shared/here" &&
    timeout 60 "$client" run --rm --network none --user 65534:65534 --volume "$folder/shared:/shared:ro" "$image" \
      sh -c 'python3 -I -c "$1" && python -c "" && ls /tmp /shared/here' sh "$modules"
}

machine_root() { # folder python
  local tool path name PATH=/usr/bin:/bin:$PATH
  umask 022
  mkdir -p "$1"/{dev,etc,home,proc,root,run,sys,tmp,usr/bin,usr/local/bin,var}
  chmod 1777 "$1/tmp"
  ln -s ../tmp "$1/var/tmp"
  ln -s usr/bin "$1/bin"
  for name in lib lib32 lib64 libx32; do
    [ ! -L "/$name" ] || { mkdir -p "$1/$(readlink "/$name")"; ln -s "$(readlink "/$name")" "$1/$name"; }
  done
  printf '%s\n' 'root:x:0:0:root:/root:/bin/sh' 'nobody:x:65534:65534:nobody:/nonexistent:/bin/false' >"$1/etc/passwd"
  printf '%s\n' 'root:x:0:' 'nogroup:x:65534:' >"$1/etc/group"
  printf '%s\n' 'passwd: files' 'group: files' 'hosts: files dns' >"$1/etc/nsswitch.conf"
  for tool in sh bash [ awk base64 basename cat chmod chown cksum comm cp cut date dd df diff dirname du echo env expr false find \
    fold grep gzip head hostname id install kill ln ls mkdir mkfifo mktemp mv nice nl nohup nproc od paste printenv printf ps pwd \
    readlink realpath rm rmdir sed seq setsid sha256sum shuf sleep sort split stat stdbuf stty sync tac tail tar tee test timeout \
    touch tr true truncate tty uname uniq wc which whoami xargs yes; do
    path=$(type -P "$tool") && cp -L --preserve=timestamps "$path" "$1/usr/bin/$tool" || [ "$tool" != sh ]
  done
  # The interpreter and its library stay where they are: it finds one from the other, and its own links are absolute.
  "$2" -I -c 'import sys, sysconfig as s; print(sys.executable, *{s.get_path("stdlib"), s.get_path("platstdlib")}, sep="\n")' |
    sed 's,^/,,' |
    tar -C / --create --dereference --ignore-failed-read \
      --exclude='python3.*/'{test,tests,idlelib,lib2to3,tkinter,turtledemo,site-packages,dist-packages} \
      --exclude='python3.*/'{'config-*','*.opt-[12].pyc','*.a'} --files-from - |
    tar -C "$1" --extract --no-same-owner
  ln -s "$2" "$1/usr/local/bin/python3"
  ln -s python3 "$1/usr/local/bin/python"
  find "$1" -type f \( -perm -1 -o -name '*.so*' \) -print0 | xargs -0 ldd 2>/dev/null |
    sed -nE 's,.*(=> |^[[:space:]]+)(/[^ ]+) \(0x.*,\2,p' | sort -u >"$1.libraries" || :
  # What the C library loads only when it is needed.
  name=$(grep -m 1 '/libc\.' "$1.libraries")
  printf '%s\n' "${name%/*}"/{libgcc_s.so.1,libnss_files.so.2,libnss_dns.so.2} /usr/lib/locale/C.utf8/{*,*/*} >>"$1.libraries"
  while read -r path; do
    [ -f "$path" ] || continue
    name=$(realpath "${path%/*}")
    mkdir -p "$1$name"
    cp -L --preserve=timestamps "$path" "$1$name/"
  done <"$1.libraries"
  chmod -R u-s,g-s,go+rX "$1"
}

debian_root() { # folder
  local suite mirror
  command -v debootstrap || install_packages debootstrap
  # Not from the updates of a release: it has to be complete.
  read -r suite mirror < <(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' | grep -vm 1 '^[^ ]*-')
  as_root debootstrap --variant=minbase --include=python3 "$suite" "$1" "$mirror"
  as_root rm -rf "$1"/var/cache/apt "$1"/var/lib/apt/lists "$1"/usr/share/{doc,info,locale,man}
  as_root ln -s python3 "$1/usr/bin/python"
  as_root find "$1" -xdev -type f -perm /6000 -exec chmod u-s,g-s {} +
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then "$@"; fi
