#!/usr/bin/env bash
# Checks these units as systemd reads them, with MAILQ (the executable) in the place of the one they look for.
#
#   check.sh MAILQ
#
# `systemd-analyze verify` succeeds on a misspelt key and only prints it, so any output is a failure.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
mailq=$(readlink -f "$1")
units=$(mktemp -d "${TMPDIR:-/tmp}/mailq-units.XXXXXX")
trap 'rm -rf "$units"' EXIT
cp "$here"/*.service "$here"/*.timer "$here"/*.path "$units"
sed -i "s|^ExecStart=mailq |ExecStart=$mailq |" "$units"/*.service

verify() {
    local said
    said=$(SYSTEMD_LOG_LEVEL=warning systemd-analyze verify --man=no "$@" 2>&1) || true
    if [ -n "$said" ]; then
        printf '%s\n' "$said" >&2
        return 1
    fi
}

for unit in "$units"/*; do
    # A template is looked at as one of its instances.
    case $unit in *@.service | *@.timer) mv "$unit" "${unit/@./@queue.}" && unit=${unit/@./@queue.} ;; esac
    verify "$unit" || { echo "check.sh: $(basename "$unit") has a fault" >&2; exit 1; }
done
for unit in "$units"/*.service; do
    systemd-analyze security --offline=yes --threshold=19 "$unit" >/dev/null || {
        echo "check.sh: $(basename "$unit") is exposed too much: systemd-analyze security" >&2
        exit 1
    }
done
# A check that cannot fail says nothing.
printf '[Service]\nType=oneshot\nExecStart=%s\nMisspelt=yes\n' "$mailq" >"$units/bad.service"
if verify "$units/bad.service" 2>/dev/null; then
    echo "check.sh: a misspelt key was not seen" >&2
    exit 1
fi
systemd-sysusers --dry-run "$here/sysusers.d/mailq.conf" >/dev/null 2>&1

# The directories, below a root of their own with a user of its own.
mkdir -p "$units/root/etc"
printf 'root:x:0:0::/root:/bin/sh\nmailq:x:900:900::/:/bin/sh\n' >"$units/root/etc/passwd"
printf 'root:x:0:\nmailq:x:900:\n' >"$units/root/etc/group"
systemd-tmpfiles --root="$units/root" --create "$here/tmpfiles.d/mailq.conf"
state=$(stat -c '%a %u' "$units/root/var/lib/mailq")
[ "$state" = '2770 900' ] || { echo "check.sh: /var/lib/mailq would be $state" >&2; exit 1; }
