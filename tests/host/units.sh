#!/usr/bin/env bash
# The units under a real systemd: inside the machine of run.sh, where the package is installed.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=tests/host/expect.sh disable=SC1091
. "$here/expect.sh"
db=/var/lib/mailq/mailq.db
out=/var/lib/mailq/out

# How many mails are in the folder, and how often a unit was started.
sent() { find "$out" -type f -name "*${1:-}" 2>/dev/null | wc -l; }
starts() { journalctl -u "$1" -o cat --no-pager | grep -c '^Starting' || true; }
query() { sqlite3 -cmd '.timeout 10000' "$db" "$1"; }
insert() {
    query "INSERT INTO email_messages (queue, to_addrs, template, parameters) VALUES ('${1:-default}', 'a@example.com',
        'welcome', '{\"name\": \"A\", \"product\": \"P\", \"url\": \"https://example.com/\"}')"
}
configure() {
    printf '%s\n' 'from = "hello@example.com"' "$@" >/etc/mailq/config.toml
}
start_over() {
    # What is stopped while it ends may still have its second look.
    for ((i = 0; i < 20; i++)); do
        systemctl stop 'mailq-*.path' 'mailq-*.timer' 'mailq-*.service'
        sleep 0.1
        [ -n "$(systemctl list-units --plain --no-legend --state=active,activating,deactivating 'mailq-*')" ] || break
    done
    find /var/lib/mailq -mindepth 1 -delete
    install -d -o mailq -g mailq -m 2770 "$out"
    runuser -u mailq -- mailq send-batch >/dev/null 2>&1 || true
    runuser -u mailq -- mailq enqueue --to first@example.com --subject S --body B >/dev/null
    runuser -u mailq -- mailq send-batch >/dev/null 2>&1
    find "$out" -type f -delete
}

echo "what systemd says of the units"
for unit in mailq-send.service mailq-send-again.service mailq-send@news.service mailq-reap.service mailq-prune.service mailq-stats.service; do
    said=$(systemd-analyze verify "$unit" 2>&1) || true
    expect "verify $unit" '' "$said"
    systemd-analyze security --offline=yes --threshold=19 "$unit" >/dev/null || fail "$unit is exposed too much"
done
expect "verify the others" '' "$(systemd-analyze verify mailq-send.path mailq-{send,send@news,reap,prune,stats}.timer 2>&1)"

configure '[transport]' 'kind = "file"' "directory = \"$out\""
echo "before the first mail nothing fails"
systemctl start mailq-send.service mailq-send@news.service mailq-reap.service mailq-prune.service mailq-stats.service
expect "units that failed" '' "$(systemctl list-units --failed --plain --no-legend)"
start_over

echo "an application's INSERT starts a run at once"
systemctl start mailq-send.path
best=10000
# Each comes while the run for the one before is about to end.
for round in {1..25}; do
    before=$(date +%s%3N)
    insert
    for ((i = 0; i < 500; i++)); do [ "$(sent)" -lt "$round" ] || break; sleep 0.01; done
    expect "mails by the path unit alone" "$round" "$(sent)"
    took=$(($(date +%s%3N) - before))
    [ "$took" -gt "$best" ] || best=$took
done
[ "$best" -lt 1000 ] || fail "the path unit took $best ms at best"
echo "    from the INSERT to the mail: $best ms"

echo "it does not start itself"
settled() { local n; n=$(starts mailq-send.service); sleep 1; [ "$n" = "$(starts mailq-send.service)" ]; }
settled || settled || fail "the runs do not end: $(starts mailq-send.service)"
count=$(starts mailq-send.service)
sleep 1
expect "starts with nothing to do" "$count" "$(starts mailq-send.service)"
insert
for ((i = 0; i < 250; i++)); do [ "$(sent)" -lt 26 ] || break; sleep 0.02; done
settled || settled || fail "the runs after an INSERT do not end"
more=$(($(starts mailq-send.service) - count))
((more >= 1 && more <= 3)) || fail "$more runs for one INSERT"
# Far more of them in a moment than a start limit lets through.
for ((n = 0; n < 60; n++)); do insert; done
for ((i = 0; i < 500; i++)); do [ "$(sent)" -lt 86 ] || break; sleep 0.02; done
expect "mails of many INSERTs" 86 "$(sent)"
expect "units that failed" '' "$(systemctl list-units --failed --plain --no-legend)"

echo "the timer sends what nobody woke it for"
start_over
runuser -u mailq -- mailq enqueue --to a@example.com --subject S --body B --in 1s >/dev/null
systemctl start mailq-send.timer
for ((i = 0; i < 400; i++)); do [ "$(sent)" = 0 ] || break; sleep 0.05; done
expect "mails by the timer" 1 "$(sent)"

echo "a queue of its own"
start_over
insert news
insert
systemctl start mailq-send@news.service
expect "mails of the queue" 'PENDING SENT' \
    "$(query "SELECT status FROM email_messages WHERE id > 1 ORDER BY queue" | paste -sd ' ')"

echo "systemctl stop in the middle of a run loses nothing"
cat >/usr/local/bin/slow-sendmail <<'SLOW'
#!/bin/sh
sleep 0.3
cat >"$(mktemp /var/lib/mailq/out/XXXXXX.eml)"
SLOW
chmod 755 /usr/local/bin/slow-sendmail
configure '[transport]' 'kind = "sendmail"' 'program = "/usr/local/bin/slow-sendmail"'
start_over
for ((n = 0; n < 30; n++)); do insert; done
systemctl start --no-block mailq-send.service
for ((i = 0; i < 500; i++)); do [ "$(sent .eml)" -lt 5 ] || break; sleep 0.02; done
systemctl stop mailq-send.service
expect "in hand after the stop" 0 "$(query "SELECT count(*) FROM email_messages WHERE status = 'SENDING'")"
first=$(query "SELECT count(*) FROM email_messages WHERE status = 'SENT' AND id > 1")
expect "what was sent is recorded" "$(sent .eml)" "$first"
((first >= 5 && first < 30)) || fail "$first of 30 were sent before the stop"
expect "attempts of the others" 0 "$(query "SELECT total(attempt_count) FROM email_messages WHERE status = 'PENDING'" | cut -d. -f1)"
sleep 0.3
expect "the one after it" inactive "$(systemctl is-active mailq-send-again.service || true)"
expect "how it ended" success "$(systemctl show -P Result mailq-send.service)"
systemctl start mailq-send.service
expect "each once" 30 "$(sent .eml)"
expect "all of them" 30 "$(query "SELECT count(*) FROM email_messages WHERE status = 'SENT' AND id > 1")"

echo "how far a run is, on a terminal only"
start_over
for terminal in yes no; do
    for ((n = 0; n < 24; n++)); do insert; done
    if [ "$terminal" = yes ]; then
        said=$(script -qec 'runuser -u mailq -- mailq send-batch' /dev/null </dev/null)
        contains "$said" 'sending [' '/24 ' '/s  ' ' left' 'status=sent' 'sent 24, deferred 0'
    else
        said=$(runuser -u mailq -- mailq send-batch 2>&1)
        [[ $said != *'sending ['* && $said != *$'\r'* ]] || fail "progress in a pipe: $said"
        contains "$said" 'sent 24, deferred 0'
    fi
done

echo "what the journal shows"
configure '[transport]' 'kind = "file"' "directory = \"$out\""
start_over
insert
query "INSERT INTO email_messages (to_addrs, template, parameters) VALUES ('secret-reader@example.com', 'no-such', '{\"code\": \"123456\"}')"
mark=$(date '+%Y-%m-%d %H:%M:%S')
sleep 1
systemctl start mailq-send.service
journalctl --sync
priorities() { journalctl -u mailq-send.service --since "$mark" -o json --no-pager SYSLOG_IDENTIFIER=mailq --output-fields=PRIORITY,MESSAGE; }
contains "$(priorities | grep 'status=sent')" '"PRIORITY":"6"' 'id=2 queue=default to=a@example.com'
contains "$(priorities | grep 'status=failed')" '"PRIORITY":"3"' 'id=3'
! priorities | grep 123456 || fail "a parameter is in the journal"

echo "stats for Prometheus and as a page"
systemctl start mailq-stats.service
expect "their modes" '644 644' "$(stat -c %a /run/mailq/mailq.prom /run/mailq/mailq.html | paste -sd ' ')"
grep -q '^mailq_' /run/mailq/mailq.prom
grep -qi '<html' /run/mailq/mailq.html

echo "an admin hears of a unit that fails"
cp "$here/mailq-failed@.service" /etc/systemd/system/
mkdir -p /etc/systemd/system/mailq-send.service.d
printf '%s\n' '[Unit]' 'OnFailure=mailq-failed@%n.service' >/etc/systemd/system/mailq-send.service.d/on-failure.conf
systemctl daemon-reload
expect "verify the example" '' "$(systemd-analyze verify mailq-failed@mailq-send.service 2>&1)"
configure 'no_such_key = 1'
systemctl start mailq-send.service 2>/dev/null && fail "a wrong configuration is no failure"
expect "its exit code" 78 "$(systemctl show -P ExecMainStatus mailq-send.service)"
for ((i = 0; i < 250; i++)); do
    said=$(journalctl -p crit -o cat --no-pager -t mailq)
    [ -z "$said" ] || break
    sleep 0.02
done
contains "$said" 'mailq-send.service failed; see: journalctl -u mailq-send.service'
rm -r /etc/systemd/system/mailq-send.service.d
systemctl daemon-reload
systemctl reset-failed

echo "the same by cron"
configure '[transport]' 'kind = "file"' "directory = \"$out\""
start_over
insert
mkdir -p /var/lib/prometheus/node-exporter
chown mailq /var/lib/prometheus/node-exporter
grep -v '^#' /usr/share/doc/mailq/examples/crontab | sed -n 's/^[0-9* ]*mailq  //p' >/tmp/crontab
expect "lines of the crontab" 3 "$(wc -l </tmp/crontab)"
while read -r line; do
    expect "output of: $line" '' "$(runuser -u mailq -- env PATH=/usr/local/bin:/usr/bin:/bin sh -c "$line" 2>&1)"
done </tmp/crontab
expect "mails by cron" 1 "$(sent)"
[ -s /var/lib/prometheus/node-exporter/mailq.prom ]
start_over
echo "units: all holds"
