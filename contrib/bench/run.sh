#!/bin/sh
# The benchmarks, from a clean checkout: builds mailq and the other side, sees to smtp-source and to the peers where
# --peers is given, and runs bench.py with the arguments given. What is missing is unpacked below a directory that is
# removed at the end, not installed: smtp-source comes from the postfix package.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
export PATH="$HOME/.cargo/bin:$PATH:/usr/sbin"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/mailq-bench.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
# Postfix looks for its queue there as a user of its own.
chmod 711 "$scratch"

cargo build --release --locked --quiet --manifest-path "$root/Cargo.toml"
# Measured is a copy on the same disk, as one is installed: what a linker wrote lies page by page in memory, what install(1)
# wrote in large pieces, and with the former each start takes a fifth longer.
install -D "$root/target/release/mailq" "$root/target/bench/mailq"
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
case " $* " in *" --peers "*)
    # With the libraries they need that are missing here.
    mkdir -p "$scratch/archives/partial"
    apt-get install -qq --yes --no-install-recommends --reinstall --download-only -o APT::Sandbox::User=root \
        -o Dir::Cache::archives="$scratch/archives" msmtp nullmailer
    for package in "$scratch"/archives/*.deb; do
        dpkg -x "$package" "$scratch/packages"
    done
    python3 -m venv "$scratch/venv"
    "$scratch/venv/bin/pip" install --quiet --disable-pip-version-check 'django==5.*' 'django-post-office==3.*' 'huey==3.*'
    export BENCH_PACKAGES="$scratch/packages" BENCH_VENV="$scratch/venv"
    ;;
esac
BENCH_MAILQ=$root/target/bench/mailq BENCH_PEER=$scratch/peer TMPDIR=$scratch python3 -B "$here/bench.py" "$@"
