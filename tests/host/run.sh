#!/usr/bin/env bash
# The package at home on a host: in a throw-away machine (machine.sh) with Postfix installed. Needs root.
#
#   run.sh DEB [PART…]    DEB is the package under test; the parts are package, permissions, units, completion, first_mail
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
deb=$(readlink -f "$1")
shift
parts=("$@")
[ "${#parts[@]}" -gt 0 ] || parts=(package permissions units completion first_mail)
work=$(mktemp -d "${TMPDIR:-/tmp}/mailq-host.XXXXXX")
machine=$work/machine
finish() {
    code=$?
    trap - EXIT
    if [ "$code" != 0 ] && [ -s "$machine/pid" ]; then
        echo "--- the end of the journal" >&2
        "$here/machine.sh" run "$machine" journalctl -o short-precise -n 40 --no-pager >&2 || true
    fi
    "$here/machine.sh" destroy "$machine"
    rm -rf "$work"
    exit "$code"
}
trap finish EXIT
trap 'exit 130' INT TERM

"$here/machine.sh" create "$machine"
root=$machine/root
mkdir "$root/root/host"
cp "$here"/*.sh "$here/../e2e/postfix.sh" "$here/../schemas/v1.sql" "$here/../../README.md" \
    "$here/../../contrib/systemd/mailq-failed@.service" "$root/root/host"
cp "$deb" "$root/root/host/mailq.deb"
# The same package with a lower version: dpkg upgrades from it.
dpkg-deb -R "$deb" "$work/old"
sed -i 's/^Version: .*/Version: 0.0.1-1/' "$work/old/DEBIAN/control"
dpkg-deb --root-owner-group -Zgzip -z1 -b "$work/old" "$root/root/host/old.deb" >/dev/null
"$here/machine.sh" boot "$machine"
run() { "$here/machine.sh" run "$machine" "$@"; }
[ "${parts[0]}" = package ] || run dpkg -i /root/host/mailq.deb >/dev/null 2>&1
for part in "${parts[@]}"; do
    run bash "/root/host/$part.sh"
    if [ "$part" = first_mail ]; then
        "$here/machine.sh" halt "$machine"
        "$here/machine.sh" boot "$machine"
        run bash /root/host/first_mail.sh again
    fi
done
