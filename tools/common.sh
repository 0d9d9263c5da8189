# shellcheck shell=bash
# What tools/graphrun, tools/test and tools/quality share.

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)

say() { printf 'graphrun: %s\n' "$*" >&2; }

# Rust is the one thing that is not installed here: the user chooses how.
need_rust() {
    local wanted found
    PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$root/Cargo.toml")
    found=$(cargo --version 2>/dev/null | awk '{ print $2 }') || true
    if [ -z "$found" ]; then
        say "Rust is missing: install it with rustup (the stable toolchain, $wanted or newer), then run this again"
        exit 1
    fi
    if [ "$(printf '%s\n' "$wanted" "$found" | sort -V | head -n 1)" != "$wanted" ]; then
        say "Rust $found is too old, $wanted or newer is needed: \`rustup update stable\`, then run this again"
        say "(where rustup is missing, this Rust is the system's own: install rustup beside it)"
        exit 1
    fi
}

missing=()

# want PROGRAM PACKAGE..: these Debian packages are needed where the program is not found.
want() { command -v "$1" >/dev/null || missing+=("${@:2}"); }

# Whether packages can be installed without asking.
can_install() { command -v apt-get >/dev/null && { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }; }

# Fetching assets needs pip, which Debian packs apart from Python. With the assets here it is not needed, so where it
# cannot be installed graphrun itself complains if it has to.
want_pip() {
    if ! python3 -m pip --version >/dev/null 2>&1 && can_install; then missing+=(python3 python3-pip); fi
}

# Installs what was wanted, where that can be done without asking; else says what to type.
install_missing() {
    local as_root=() log
    [ ${#missing[@]} -gt 0 ] || return 0
    if ! can_install; then
        say "something is missing on this machine. Run this as root, then this command again:"
        say "    apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
        say "(on a system without apt-get: what these Debian packages are called there)"
        exit 1
    fi
    [ "$(id -u)" = 0 ] || as_root=(sudo)
    say "installing ${missing[*]}"
    log=$(mktemp)
    if ! { "${as_root[@]}" apt-get update -qq && "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -qq -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        say "the packages could not be installed; apt-get's own words are above"
        exit 1
    fi
    rm -f "$log"
    missing=()
}

# A new system's package lists are empty, and then apt-get can fetch no recording either.
need_package_lists() {
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null && ! compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null; then
        apt-get update -qq >/dev/null 2>&1 || say "apt-get update failed: recordings from Debian may be out of reach"
    fi
}

# The directory that cargo builds in: one outside the clone where asked for, and in CI, whose clones are short-lived.
choose_target() {
    if [ -n "${GRAPHRUN_TARGET_DIR:-}" ]; then
        CARGO_TARGET_DIR=$GRAPHRUN_TARGET_DIR
    elif [ -z "${CARGO_TARGET_DIR:-}" ]; then
        if [ "${CI:-}" = true ]; then
            CARGO_TARGET_DIR=${XDG_CACHE_HOME:-$HOME/.cache}/graphrun/target
        else
            CARGO_TARGET_DIR=$root/target
        fi
    fi
    export CARGO_TARGET_DIR
}
