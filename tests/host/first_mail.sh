#!/usr/bin/env bash
# How it is seen to work: the README's "Install" step by step, with a Postfix that wants STARTTLS and a password, up to
# the mail in a Maildir. Inside the machine of run.sh; `first_mail.sh again` is the same after a reboot.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=tests/host/expect.sh disable=SC1091
. "$here/expect.sh"
mta=/srv/mta

arrived() { find "$mta/mail/all" -path '*/new/*' -type f 2>/dev/null | wc -l; }

# Enqueues as ann, and waits for the copy in the Maildir.
send() {
    local before took i count=$1
    before=$(date +%s%3N)
    runuser -u ann -- mailq enqueue --to "ada@example.test" --template welcome --param name=Ada --param product=Acme \
        --param url=https://example.com/ >/dev/null
    for ((i = 0; i < 1000; i++)); do [ "$(arrived)" -lt "$count" ] || break; sleep 0.01; done
    took=$(($(date +%s%3N) - before))
    expect "mails in the Maildir" "$count" "$(arrived)"
    [ "$took" -gt "$best" ] || best=$took
}
best=10000

if [ "${1:-}" = again ]; then
    "$here/postfix.sh" start "$mta"
    # Another port than before the reboot, and the same configuration else.
    # shellcheck source=/dev/null
    . "$mta/env"
    sed -i "s/^port = .*/port = $PORT/" /etc/mailq/config.toml
    for unit in mailq-send.timer mailq-send.path mailq-prune.timer; do
        expect "$unit after the reboot" active "$(systemctl is-active "$unit")"
    done
    already=$(arrived)
    for ((n = 1; n <= 10 && best >= 1000; n++)); do send $((already + n)); done
    ((best < 1000)) || fail "a mail took $best ms at best"
    echo "    from enqueue to the Maildir after a reboot: $best ms"
    # The prune that the host slept through.
    for ((i = 0; i < 250; i++)); do
        [ -n "$(sqlite3 /var/lib/mailq/mailq.db "SELECT 1 FROM email_messages WHERE to_addrs = 'old@example.test'")" ] || break
        sleep 0.02
    done
    expect "what the missed prune should have deleted" '' \
        "$(sqlite3 /var/lib/mailq/mailq.db "SELECT 1 FROM email_messages WHERE to_addrs = 'old@example.test'")"
    "$here/postfix.sh" stop "$mta"
    echo "first mail, after a reboot: all holds"
    exit
fi

useradd --create-home ann
"$here/postfix.sh" start "$mta"
# shellcheck source=/dev/null
. "$mta/env"
expect "the README's steps" 1 "$(grep -c '^usermod -aG mailq ann$' "$here/README.md")"

# As the package left it.
find /var/lib/mailq -mindepth 1 -delete
dpkg --purge mailq >/dev/null 2>&1
dpkg -i "$here/mailq.deb" >/dev/null 2>&1

# Four lines, as the README says; the port and the certificate are this test's.
sed -i -e 's|^#from = .*|from = "Acme <hello@example.test>"|' \
    -e "s|^#host = .*|host = \"localhost\"\nport = $PORT\nca_file = \"$CA_FILE\"|" \
    -e "s|^#username = .*|username = \"$USER_NAME\"|" -e 's|^#tls = |tls = |' /etc/mailq/config.toml
install -m 600 /dev/null /etc/mailq/smtp-password
echo "$PASSWORD" >/etc/mailq/smtp-password
usermod -aG mailq ann
said=$(mailq check 2>&1) || fail "check is red: $said"
! grep -q PROBLEM <<<"$said" || fail "check: $said"
contains "$said" "localhost:$PORT"

# A host that is busy with something else may need more than a second once.
for ((n = 1; n <= 10 && best >= 1000; n++)); do send "$n"; done
count=$(arrived)
((best < 1000)) || fail "a mail took $best ms at best"
echo "    from enqueue to the Maildir: $best ms"
for ((i = 0; i < 250; i++)); do
    lines=$(journalctl -u 'mailq-send*' -t mailq -p info..info -o cat --no-pager | grep -c 'status=sent code=250' || true)
    [ "$lines" -lt "$count" ] || break
    sleep 0.02
done
expect "lines of its log" "$count" "$lines"
grep -q '^Subject: .*Acme' "$(find "$mta/mail/all" -path '*/new/*' -type f | head -n 1)" || fail "not the mail"
said=$(journalctl -o cat --no-pager)
[[ $said != *"$PASSWORD"* ]] || fail "the password is in the journal"

# For after the reboot: a mail that a prune is due to delete, and a prune that was missed.
systemctl stop mailq-prune.timer
sqlite3 -cmd '.timeout 5000' /var/lib/mailq/mailq.db "INSERT INTO email_messages (to_addrs, template, parameters)
    VALUES ('old@example.test', 'welcome', '{\"name\": \"Old\", \"product\": \"P\", \"url\": \"https://example.com/\"}')"
for ((i = 0; i < 500; i++)); do [ "$(arrived)" -le "$count" ] || break; sleep 0.02; done
sqlite3 -cmd '.timeout 5000' /var/lib/mailq/mailq.db "UPDATE email_messages SET created_at = created_at - 9000000000,
    finished_at = finished_at - 8000000000, sent_at = sent_at - 8000000000 WHERE to_addrs = 'old@example.test'"
mkdir -p /etc/systemd/system/mailq-prune.timer.d
printf '%s\n' '[Timer]' 'RandomizedDelaySec=0' >/etc/systemd/system/mailq-prune.timer.d/test.conf
touch -d '3 days ago' /var/lib/systemd/timers/stamp-mailq-prune.timer
"$here/postfix.sh" stop "$mta"
echo "first mail: all holds"
