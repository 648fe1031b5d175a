#!/bin/sh
# The shop for once, in a directory of its own: orders, one that is refused, one that crashes, and what mailq sends.
#
#   run.sh [MAILQ]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mailq=${1:-mailq}
case $mailq in */*) mailq=$(cd "$(dirname "$mailq")" && pwd)/$(basename "$mailq") ;; esac
dir=$(mktemp -d "${TMPDIR:-/tmp}/mailq-shop.XXXXXX")
trap 'rm -rf "$dir"' EXIT
cp -R "$here/templates" "$here/mailq.toml" "$dir"
cd "$dir"
export MAILQ_CONFIG="$dir/mailq.toml" PYTHONDONTWRITEBYTECODE=1
shop() { python3 "$here/shop.py" shop.db "$@"; }
fail() { echo "run.sh: $*" >&2; exit 1; }

shop setup
shop order Ada ada@example.com tea 2
! shop order Bob bob@example.com pot 3 2>refused || fail "three pots of two were sold"
! SHOP_CRASH=before-commit shop order Eve eve@example.com pot 1 || fail "the crash did not happen"
shop order 'Dr. "Tea" Cup' cup@example.com pot 1

[ "$(shop orders | wc -l)" -eq 2 ] || fail "an order without its commit is there"
[ "$("$mailq" list --json | wc -l)" -eq 4 ] || fail "mails and orders do not fit"
# What mailq-send.timer runs twice a minute.
"$mailq" send-batch
"$mailq" send-batch >again
grep -q '^sent 0,' again || fail "something was sent twice"
[ "$(grep -l '^To: .*ada@example.com' out/*.eml | wc -l)" -eq 1 ] || fail "Ada has no mail, or two"
[ "$(grep -l '^To: .*cup@example.com' out/*.eml | wc -l)" -eq 1 ] || fail "Dr. Cup has no mail, or two"
[ "$(grep -l '^To: .*orders@shop.example' out/*.eml | wc -l)" -eq 2 ] || fail "the seller does not know of both"
! grep -q 'eve@example.com\|bob@example.com' out/*.eml || fail "a mail about no order"
echo "two orders, four mails"
