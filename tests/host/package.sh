#!/usr/bin/env bash
# The package beside another MTA: installed, upgraded over an older database, removed, installed again, purged, and
# installed for the parts that follow. Inside the machine of run.sh.
set -euo pipefail
# shellcheck source=tests/host/expect.sh disable=SC1091
. "$(dirname "$(readlink -f "$0")")/expect.sh"
here=$(dirname "$(readlink -f "$0")")
deb=$here/mailq.deb old=$here/old.deb schema=$here/v1.sql
db=/var/lib/mailq/mailq.db

ours() {
    expect "$1: /usr/bin/mailq" "mailq $version" "$(mailq --version)"
    expect "$1: the manual page" mailq "$(zcat /usr/share/man/man1/mailq.1.gz | sed -n 's/^mailq \\- A durable.*/mailq/p')"
    # Called by that name, Postfix's shows its queue; by another it would wait for a mail.
    expect "$1: the other mailq" /usr/sbin/sendmail "$(readlink -f /usr/libexec/mailq)"
    expect "$1: its name" mailq "$(basename "$(find /usr/libexec -maxdepth 1 -name mailq)")"
}
theirs() {
    expect "$1: /usr/bin/mailq" /usr/sbin/sendmail "$(readlink -f /usr/bin/mailq)"
    zcat /usr/share/man/man1/mailq.1.gz | grep -q Postfix || fail "$1: the manual page is not Postfix's"
    expect "$1: diversions" '' "$(dpkg-divert --list '*mailq*')"
    [ ! -e /usr/libexec/mailq ] || fail "$1: /usr/libexec/mailq is left"
}
states() { systemctl "$1" mailq-send.timer mailq-send.path mailq-prune.timer 2>&1 | paste -sd ' ' || true; }

version=$(dpkg-deb -f "$deb" Version | sed 's/-.*//')
theirs before
dpkg -i "$old" >/dev/null 2>&1
ours installed
expect "installed: enabled" 'enabled enabled enabled' "$(states is-enabled)"
expect "installed: active" 'active active active' "$(states is-active)"
expect "installed: the directory" '2770 mailq mailq' "$(stat -c '%a %U %G' /var/lib/mailq)"
expect "installed: the user" mailq "$(id -un mailq)"

# A queue of the older schema, an admin who has changed the configuration and wants no prune.
systemctl stop mailq-send.path mailq-send.timer
printf '%s\n' '[transport]' 'kind = "file"' 'directory = "/var/lib/mailq/out"' >/etc/mailq/config.toml
install -d -o mailq -g mailq -m 2770 /var/lib/mailq/out
expect "installed: the queue" '660 mailq mailq' "$(stat -c '%a %U %G' "$db")"
rm -f "$db"*
sqlite3 "$db" <"$schema"
sqlite3 "$db" "INSERT INTO email_messages (to_addrs, template, parameters)
    VALUES ('ada@example.com', 'welcome', '{\"name\": \"Ada\", \"product\": \"P\", \"url\": \"https://example.com/\"}')"
chown mailq:mailq "$db"
systemctl disable --now --quiet mailq-prune.timer

dpkg -i "$deb" >/dev/null 2>&1
ours upgraded
expect "upgraded: enabled" 'enabled enabled disabled' "$(states is-enabled)"
contains "$(cat /etc/mailq/config.toml)" 'kind = "file"'
until_true 500 sh -c "[ \"\$(sqlite3 $db 'SELECT status FROM email_messages')\" = SENT ]" ||
    fail "the mail of the older queue was not sent: $(sqlite3 "$db" 'SELECT * FROM email_messages')"
expect "upgraded: mails" 1 "$(find /var/lib/mailq/out -name '*.eml' | wc -l)"

dpkg -r mailq >/dev/null 2>&1
theirs removed
expect "removed: the queue stays" 1 "$(sqlite3 "$db" 'SELECT count(*) FROM email_messages')"
contains "$(cat /etc/mailq/config.toml)" 'kind = "file"'
expect "removed: units" '' "$(systemctl list-units --plain --no-legend 'mailq*')"

dpkg -i "$deb" >/dev/null 2>&1
ours again
expect "again: enabled" 'enabled enabled disabled' "$(states is-enabled)"
install -m 600 /dev/null /etc/mailq/smtp-password
dpkg --purge mailq >/dev/null 2>&1
theirs purged
for path in /var/lib/mailq /etc/mailq /usr/share/mailq /usr/share/doc/mailq; do
    [ ! -e "$path" ] || fail "purged, and $path is left: $(find "$path")"
done
expect "purged: units" 0 "$(find /etc/systemd /var/lib/systemd -name 'mailq*' | wc -l)"

dpkg -i "$deb" >/dev/null 2>&1
ours "for the rest"
echo "package: all holds"
