# Shared by the programs that try knee in another user land: making its root, running commands in it, and counting checks. Sourced,
# with `folder` set to the folder for roots and logs. Needs root.
# shellcheck shell=bash
set -euo pipefail
shopt -s inherit_errexit

say() { printf '  %s\n' "$*" >&2; }
fail() { printf 'package: %s\n' "$*" >&2; exit 1; }

# In a mount namespace of its own, so that nothing stays mounted, whatever happens.
if [ -z "${KNEE_OWN_MOUNTS:-}" ]; then
    KNEE_OWN_MOUNTS=1 exec unshare --mount --propagation private "$0" "$@"
fi
mkdir -p "$folder"

# debian_root SUITE ROOT: makes Debian's smallest root. Fails with a message where it cannot be made.
debian_root() {
    [ ! -e "$2/.made" ] || return 0
    say "making a clean root ($1)"
    rm -rf "$2"
    mkdir -p "$2"
    if ! debootstrap --variant=minbase "$1" "$2" >"$folder/debootstrap-$1.log" 2>&1; then
        say "debootstrap failed ($folder/debootstrap-$1.log): $(tail -n 1 "$folder/debootstrap-$1.log")"
        return 1
    fi
    touch "$2/.made"
}

# enter ROOT: mounts the kernel's file systems there, and makes an empty folder /tmp/knee, whose path from outside is in `work`.
enter() {
    root=$1 work=$1/tmp/knee
    mount --bind /proc "$root/proc"
    mount --rbind /sys "$root/sys"
    rm -rf "$work"
    mkdir -p "$work"
}
# inside COMMAND...: runs it in the root that was entered last.
inside() {
    chroot "$root" /usr/bin/env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 NO_COLOR=1 "$@"
}

checks=0
# ok WHAT COMMAND...: the command must succeed.
ok() {
    local what=$1
    shift
    "$@" >"$folder/output" 2>&1 || { cat "$folder/output" >&2; fail "$what: status $?"; }
    checks=$((checks + 1))
}
# says TEXT: the last command's output must contain the text.
says() {
    grep -qF -- "$1" "$folder/output" || { cat "$folder/output" >&2; fail "'$1' is not in the output"; }
    checks=$((checks + 1))
}
# observes FOLDER: sweeps the root's own shell, without and with observing; the recordings go into FOLDER there.
observes() {
    ok "a sweep without observing" inside knee sweep -q --no-trace --quick -t 1,2 -o "$1/sweep" -- sh -c 'sleep 0.1' x '{threads}'
    says "Scaling"
    ok "a sweep with observing" inside knee sweep -q --quick -t 1,2 -o "$1/observed" -- \
        sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done' x '{threads}'
    says "Where the time went"
}
