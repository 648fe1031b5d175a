#!/usr/bin/env bash
# The end-to-end run: `mailq` against a real Postfix, with STARTTLS, AUTH and a CA of its own. Needs root, postfix,
# dovecot-core, openssl, chromium and python3 (with dkimpy, or venv and a package index to get it from); `.ci/run`
# installs them.
#
#   run.sh MAILQ    MAILQ is the executable under test
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
MAILQ=$(readlink -f "$1")
E2E_DIR=$(mktemp -d "${TMPDIR:-/tmp}/mailq-e2e.XXXXXX")
finish() {
    code=$?
    trap - EXIT
    "$here/postfix.sh" stop "$E2E_DIR/mta"
    if [ "$code" != 0 ] && [ -f "$E2E_DIR/mta/log/mail.log" ]; then
        echo "--- the end of Postfix's log" >&2
        tail -n 20 "$E2E_DIR/mta/log/mail.log" >&2
    fi
    rm -rf "$E2E_DIR"
    exit "$code"
}
trap finish EXIT
trap 'exit 130' INT TERM
chmod 755 "$E2E_DIR"
"$here/postfix.sh" start "$E2E_DIR/mta"
set -a
# shellcheck source=/dev/null
. "$E2E_DIR/mta/env"
set +a
export MAILQ E2E_DIR PYTHONDONTWRITEBYTECODE=1
for part in deliver refused killed signed shown; do
    python3 "$here/$part.py"
done
