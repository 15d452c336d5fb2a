# Shared by `./dev boot` and `./dev boot arm64`: fetching a package, packing the files, waiting for lines on the machine's console,
# and receiving what it sends. Sourced; `work` is the folder for the files, `memory` the size of the machine's memory.
# shellcheck shell=bash

say() { printf '\033[1m==> %s\033[0m\n' "$*" >&2; }
fail() { printf 'boot: %s\n' "$*" >&2; exit 1; }

# fetch_package NAME FILE [OPTION...]: downloads a package to FILE, from the mirrors that apt is configured for or that the options name.
fetch_package() {
    local name=$1 file=$2
    shift 2
    [ ! -e "$file" ] || return 0
    rm -rf "$work/download"
    mkdir "$work/download"
    (cd "$work/download" && apt-get "$@" download -q "$name" >/dev/null 2>&1) || { echo "apt-get cannot download $name" >&2; return 1; }
    mv "$work/download/"*.deb "$file"
}

# unpack_kernel FILE: sets `vmlinuz`.
unpack_kernel() {
    rm -rf "$work/package"
    dpkg -x "$1" "$work/package"
    vmlinuz=$(find "$work/package/boot" -name 'vmlinuz-*')
    [ -n "$vmlinuz" ] || fail "the package holds no kernel"
}

# begin_root: makes a root folder without programs, in `root`.
begin_root() {
    root=$work/root
    rm -rf "$root"
    mkdir -p "$root"/{bin,lab,etc,dev}
    install -m 644 tests/boot/guest.sh "$root/guest.sh"
    printf 'root:x:0:0:root:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n' >"$root/etc/passwd"
    printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
}
pack_root() { (cd "$root" && find . | cpio -o -H newc --quiet) >"$work/initramfs"; }

# start_machine QEMU OPTION...: starts the machine with its console in a file.
start_machine() {
    rm -f "$work/console" "$work/sent"
    touch "$work/console"
    nice -n 10 "$@" -m "$memory" -display none -monitor none -no-reboot -kernel "$vmlinuz" -initrd "$work/initramfs" -nic none \
        -serial "file:$work/console" 2>"$work/qemu" &
    machine=$!
    trap 'kill $machine 2>/dev/null || true' EXIT
}
stop() {
    kill "$machine" 2>/dev/null || true
    { wait "$machine" || true; } 2>/dev/null
}
# Waits until the console shows a text, the machine ends, or the time is up.
wait_for() {
    local text=$1 until=$((SECONDS + $2))
    while [ $SECONDS -lt $until ]; do
        grep -q "$text" "$work/console" && return 0
        kill -0 "$machine" 2>/dev/null || { grep -q "$text" "$work/console"; return; }
        sleep 0.2
    done
    return 1
}
console() { tail -n 40 "$work/console" "$work/qemu" >&2; }

# receive FOLDER SECONDS: waits until the machine has sent everything, and unpacks it.
receive() {
    wait_for 'boot: sent' "$2" || { console; stop; fail "not done after $2 s (console above)"; }
    wait "$machine" || { console; fail "QEMU failed"; }
    grep '^boot:' "$work/console" >&2 || true
    rm -rf "$1"
    mkdir -p "$1"
    tar -x -z -C "$1" -f "$work/sent" || { console; fail "what the machine sent cannot be read"; }
}
