# shellcheck shell=bash
# What the scripts of this folder compare with.

fail() {
    echo "$(basename "$0"): $*" >&2
    exit 1
}

# expect WHAT WANTED SEEN
expect() {
    [ "$2" = "$3" ] || fail "$1: wanted $2, seen $3"
}

# contains TEXT PART…
contains() {
    local text=$1 part
    shift
    for part in "$@"; do
        [[ $text == *"$part"* ]] || fail "no \"$part\" in: $text"
    done
}

# The number of a key in JSON on stdin.
jq_number() {
    sed -n "s/.*\"$1\":\([0-9.]*\).*/\1/p"
}

# until_true TRIES COMMAND…: every 20 ms.
until_true() {
    local tries=$1 i
    shift
    for ((i = 0; i < tries; i++)); do
        ! "$@" >/dev/null 2>&1 || return 0
        sleep 0.02
    done
    return 1
}
