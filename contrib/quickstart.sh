#!/bin/sh
# Builds mailq and shows its main job once: a mail is enqueued, sent, and counted. No server is needed, since the mails
# become files. Everything happens in a new directory, which stays for you to look at; nothing else is touched.
set -eu
cd "$(dirname "$0")/.."
repository=$PWD
export PATH="$HOME/.cargo/bin:$PATH"

cargo build --release --locked
mailq="$repository/target/release/mailq"

dir=$(mktemp -d "${TMPDIR:-/tmp}/mailq-quickstart.XXXXXX")
mkdir "$dir/out"
cat >"$dir/config.toml" <<CONFIG
database = "$dir/mailq.db"
templates = "$repository/templates"
from = "Acme <hello@acme.example>"

[transport]
kind = "file"
directory = "$dir/out"
CONFIG
printf 'Thank you for trying mailq.\n' >"$dir/first-steps.txt"
# What the environment names would win over this file.
for name in $(env | sed -n 's/^\(MAILQ_[A-Za-z0-9_]*\)=.*/\1/p'); do
    unset "$name"
done

# Shows a command, then runs it.
show() {
    echo
    echo "\$ mailq $*"
    "$mailq" --config "$dir/config.toml" "$@"
}

show enqueue --template welcome --to 'Ada <ada@example.com>' --to bob@example.com \
    --param name=Ada --param product=Acme --param url=https://acme.example/start --attach "$dir/first-steps.txt"
show send-batch
echo
echo "The mail:"
cat "$dir"/out/*
show stats
echo
echo "All of it is in $dir; the program is $mailq"
