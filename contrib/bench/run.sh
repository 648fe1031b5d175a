#!/bin/sh
# The benchmarks, from a clean checkout: builds mailq and the other side, sees to smtp-source, and runs bench.py with the
# arguments given. smtp-source comes from the postfix package; where it is missing, the package is unpacked, not installed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
export PATH="$HOME/.cargo/bin:$PATH:/usr/sbin"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/mailq-bench.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

cargo build --release --locked --quiet --manifest-path "$root/Cargo.toml"
rustc -O --edition 2024 -o "$scratch/peer" "$here/peer.rs"
for tool in sqlite3 python3 strace; do
    command -v "$tool" >/dev/null || { echo "$tool is needed: apt-get install $tool" >&2; exit 69; }
done
if ! command -v smtp-source >/dev/null; then
    (cd "$scratch" && apt-get download -q postfix >/dev/null && dpkg -x postfix_*.deb postfix)
    BENCH_SMTP_SOURCE=$scratch/postfix/usr/sbin/smtp-source
    LD_LIBRARY_PATH=$scratch/postfix/usr/lib/postfix${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export BENCH_SMTP_SOURCE LD_LIBRARY_PATH
fi
BENCH_PEER=$scratch/peer python3 "$here/bench.py" "$@"
