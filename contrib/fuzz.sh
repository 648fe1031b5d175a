#!/bin/sh
# Tries mailq with arbitrary input for a bounded time: rows, address lists, headers, templates, parameters, and servers
# that say anything. Each round draws other input; the first that does harm is shown, made as small as it goes.
#
#   contrib/fuzz.sh [SECONDS]    default 300
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-300}
cargo test --quiet --bin mailq --no-run
end=$(($(date +%s) + seconds))
rounds=0
while left=$((end - $(date +%s))) && [ "$left" -gt 0 ]; do
    code=0
    PROPTEST_CASES=5000 timeout "$left" cargo test --quiet --bin mailq -- \
        arbitrary any_ no_bytes no_text no_row canonical || code=$?
    case $code in
    0) rounds=$((rounds + 1)) ;;
    124) break ;;
    *) exit "$code" ;;
    esac
done
echo "fuzz: nothing found in ${seconds}s, $rounds full rounds"
