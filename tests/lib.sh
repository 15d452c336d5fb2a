# Shared by the programs behind `./dev`: messages, and installing packages that a task needs and the machine lacks, each announced with
# its reason. Sourced; changes to the workspace's root.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '\033[1m==> %s\033[0m\n' "$*" >&2; }
fail() { printf 'dev: %s\n' "$*" >&2; exit 1; }
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

apt_updated=
# need COMMAND PACKAGE REASON
need() {
    command -v "$1" >/dev/null && return
    install_package "$2" "$3"
}
install_package() {
    command -v apt-get >/dev/null || fail "please install $1 ($2); this script only knows apt-get"
    say "installing $1: $2"
    if [ -z "$apt_updated" ]; then
        as_root apt-get update -q >/dev/null
        apt_updated=1
    fi
    get_package "$1" && return
    # apt-get installs nothing while an earlier installation, perhaps of an image's maker, is half done.
    say "trying again, after finishing what an earlier installation may have left half done"
    as_root env DEBIAN_FRONTEND=noninteractive dpkg --configure -a >/dev/null
    get_package "$1"
}
# Waits up to five minutes for another program that is installing packages.
get_package() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -q -y --no-install-recommends "$1" >/dev/null
}

need_build() {
    need cc gcc "compiles the lab's C programs, and links Rust programs"
    [ -e /usr/include/pthread.h ] || install_package libc6-dev "C headers for the lab's programs"
    need make make "builds the lab"
    command -v cargo >/dev/null || [ ! -x "$HOME/.cargo/bin/cargo" ] || PATH="$HOME/.cargo/bin:$PATH"
    if ! command -v cargo >/dev/null; then
        fail "knee is written in Rust: install a toolchain (1.88 or newer) from https://rustup.rs, then run this again"
    fi
    local minor
    minor=$(cargo --version | sed -n 's/^cargo 1\.\([0-9]*\)\..*/\1/p')
    [ "${minor:-99}" -ge 88 ] || fail "$(cargo --version) is too old, knee needs 1.88 or newer: rustup update stable"
}

# tool COMMAND VERSION REASON [OPTION...]: a program from crates.io, built into target/tools, with options of cargo install
tool() {
    grep -qs "\"$1 $2 " target/tools/.crates.toml && return
    say "building $1 $2 into target/tools (takes some minutes): $3"
    cargo install --locked --quiet --root target/tools "$1@$2" "${@:4}"
}

build() {
    need_build
    say "building knee and the lab"
    cargo build --release --locked --bin knee
    make -s -C lab
}

# static_knee ARCHITECTURE: builds knee as a static program, whose path is then in `knee`. Fails with a message where Rust's standard
# library for the architecture cannot be installed.
static_knee() {
    local target=$1-unknown-linux-musl
    if [ ! -d "$(rustc --print sysroot)/lib/rustlib/$target" ]; then
        say "installing Rust's standard library for $target, which includes musl"
        rustup target add "$target" || { say "Rust's standard library for $target is not installed, and cannot be"; return 1; }
    fi
    if [ "$1" != "$(uname -m)" ]; then
        need "$1-linux-gnu-gcc" "gcc-${1//_/-}-linux-gnu" "compiles for $1 the libraries that trials load into programs"
        # Rust's own linker makes a static program without any tool of the other architecture.
        local settings
        settings=CARGO_TARGET_$(tr a-z- A-Z_ <<<"$target")
        export "${settings}_LINKER=rust-lld" "${settings}_RUSTFLAGS=-C link-self-contained=yes"
    fi
    say "knee as a static program for $1"
    cargo build --release --locked --bin knee --target "$target" || fail "knee does not build for $1"
    knee=${CARGO_TARGET_DIR:-target}/$target/release/knee
}

# need_emulator ARCHITECTURE: puts the command that runs its programs into `emulator`; an empty one for this machine's architecture.
need_emulator() {
    emulator=()
    [ "$1" != "$(uname -m)" ] || return 0
    need "qemu-$1-static" qemu-user-static "runs the program for $1"
    emulator=("qemu-$1-static")
}

# Compiles knee, its tests and its examples with the same features as the tests, so that everything is compiled once.
all_tests() {
    cargo test --workspace --locked --no-run "$@"
}

venv() {
    need python3 python3 "runs DuckDB, which checks that other tools can read a recording"
    if [ ! -x target/venv/bin/python ]; then
        mkdir -p target
        python3 -m venv target/venv 2>/dev/null || { rm -rf target/venv; install_package python3-venv "a private place for the duckdb package"; python3 -m venv target/venv; }
    fi
    target/venv/bin/python -c 'import duckdb' 2>/dev/null || {
        say "installing duckdb into target/venv: reads recordings in the tests"
        target/venv/bin/pip install -q --disable-pip-version-check duckdb
    }
    target/venv/bin/python -c 'import pandas, pyarrow' 2>/dev/null || {
        say "installing pandas and pyarrow into target/venv: the documentation's examples read a recording with them"
        target/venv/bin/pip install -q --disable-pip-version-check pandas pyarrow
    }
    target/venv/bin/python -c 'import perfetto, google.protobuf' 2>/dev/null || {
        say "installing perfetto and protobuf into target/venv: they read exported traces in the tests"
        target/venv/bin/pip install -q --disable-pip-version-check perfetto protobuf
    }
}

# The browser, its driver, and the type checker.
need_browser() {
    need_build
    need node nodejs "runs the page's tests"
    need npm npm "installs the browser's driver and the type checker into target/browser"
    need chromium chromium "the browser that the page is tested in"
    local place=$PWD/target/browser
    mkdir -p "$place"
    if ! cmp -s tests/browser/package.json "$place/package.json"; then
        say "installing playwright-core (drives the browser) and typescript (checks the scripts) into target/browser"
        cp tests/browser/package.json "$place/"
        (cd "$place" && PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm install --silent --no-audit --no-fund) || { rm "$place/package.json"; fail "npm could not install them"; }
    fi
}
