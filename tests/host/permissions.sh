#!/usr/bin/env bash
# Who may do what, with real users: inside the machine of run.sh, where the package is installed.
#
# ann and bob are in the group mailq, eve is not, svc is a service's user. Whoever comes first, with whatever umask, the
# others go on: nobody finds a file that somebody else shut.
set -euo pipefail
# shellcheck source=tests/host/expect.sh disable=SC1091
. "$(dirname "$(readlink -f "$0")")/expect.sh"
db=/var/lib/mailq/mailq.db
spool=$db-spool

for user in ann bob; do
    useradd --create-home --groups mailq "$user"
done
useradd --create-home eve
useradd --system svc
# In the first the user's primary group stays the user's own, as after a login.
as() { runuser -u "$1" -- "${@:2}"; }
service() {
    systemd-run --quiet --pipe --wait --collect -p User=svc -p SupplementaryGroups=mailq -p UMask=0077 \
        -p NoNewPrivileges=yes -p ProtectSystem=strict -p RestrictSUIDSGID=yes -p CapabilityBoundingSet= \
        -p PrivateTmp=no "$@"
}
mail=(--to a@example.com --subject S --body B)

# Enqueues a mail with two attachments as $1: one that everybody sends, one of its own.
enqueue() {
    local own=/srv/of-$1
    # A digest of its own each time, so that every folder of the spool gets its turn.
    echo "$1 $RANDOM$RANDOM" >"$own"
    chmod 644 "$own"
    local args=(mailq enqueue "${mail[@]}" --attach /srv/shared --attach "$own")
    case $1 in
    root) (umask 0077 && "${args[@]}") ;;
    service) service -p ReadWritePaths=/var/lib/mailq "${args[@]}" ;;
    *) runuser -u "$1" -- sh -c 'umask 0077 && exec "$@"' sh "${args[@]}" ;;
    esac
}
echo shared >/srv/shared
chmod 644 /srv/shared
systemctl stop mailq-send.path mailq-send.timer
printf '%s\n' 'from = "hello@example.com"' '[transport]' 'kind = "file"' 'directory = "/var/lib/mailq/out"' >/etc/mailq/config.toml
install -d -o mailq -g mailq -m 2770 /var/lib/mailq/out

for first in ann bob root service mailq; do
    find /var/lib/mailq -mindepth 1 -not -name out -delete
    enqueue "$first" >/dev/null
    # Whoever reads first leaves -wal and -shm behind while it looks: the others must be able to write them.
    coproc HELD { as "$([ "$first" = root ] && echo root || echo ann)" sqlite3 -interactive "$db" 2>&1; }
    echo 'SELECT count(*) FROM email_messages;' >&"${HELD[1]}"
    for ((i = 0; i < 100; i++)); do [ ! -e "$db-shm" ] || break; sleep 0.05; done
    for round in 1 2 3; do
        for user in ann bob root service mailq; do
            enqueue "$user" >/dev/null || fail "$user could not enqueue after $first, round $round"
        done
    done
    expect "what $first made first" '660 mailq|660 mailq|660 mailq' \
        "$(stat -c '%a %G' "$db" "$db-wal" "$db-shm" | paste -sd '|')"
    expect "the folders of the spool after $first" '2770 mailq' \
        "$(find "$spool" -type d -exec stat -c '%a %G' {} + | sort -u)"
    expect "the files of the spool after $first" '660 mailq' \
        "$(find "$spool" -type f -exec stat -c '%a %G' {} + | sort -u)"
    echo .quit >&"${HELD[1]}"
    wait "$HELD_PID" || true
    for user in ann bob root mailq; do
        as "$user" mailq list >/dev/null
        as "$user" mailq stats >/dev/null
    done
    as ann sqlite3 "$db" "INSERT INTO email_messages (to_addrs, template, parameters)
        VALUES ('a@example.com', 'welcome', '{\"name\": \"A\", \"product\": \"P\", \"url\": \"https://example.com/\"}')"
    # The sender reads and sweeps what all of them wrote.
    expect "sent after $first" 17 "$(as mailq mailq send-batch --json 2>/tmp/log | jq_number sent)"
    find "$spool" -type f -exec touch -d '2 days ago' {} +
    as mailq mailq prune --older-than 0s >/dev/null
    expect "spooled files left after $first" 0 "$(find "$spool" -type f | wc -l)"
done

echo "two users at once"
many() {
    local i
    for ((i = 0; i < 40; i++)); do
        as "$1" mailq enqueue "${mail[@]}" --attach /srv/shared || echo "$1 failed"
    done
}
many ann >/tmp/ann & many bob >/tmp/bob & many root >/tmp/root & wait
expect "ids of three users at once" 120 "$(sort -un /tmp/ann /tmp/bob /tmp/root | grep -c '^[0-9]*$')"

echo "where a permission is missing"
refused() {
    local name=$1 code=0 said
    shift
    said=$("$@" 2>&1 >/dev/null) || code=$?
    expect "$name: exit code" 77 "$code"
    expect "$name: lines" 2 "$(wc -l <<<"$said")"
    told=$said
}
refused "eve" as eve mailq enqueue "${mail[@]}"
contains "$told" "user eve may not enter /var/lib/mailq (owner mailq, group mailq, mode 2770)" "usermod -aG mailq eve"
refused "eve's stats" as eve mailq stats
contains "$told" "user eve" "/var/lib/mailq" "group mailq"
refused "an old session" setpriv --reuid ann --regid ann --clear-groups mailq enqueue "${mail[@]}"
contains "$told" "user ann" "log in again"
chmod 640 "$db"
refused "a database that was shut" as bob mailq enqueue "${mail[@]}"
contains "$told" "user bob may not write $db (owner" "group mailq, mode 0640" "chmod g+rw $db"
chmod 660 "$db"
as ann mailq enqueue "${mail[@]}" >/dev/null || fail "a refusal left something that bars ann"
chmod 2750 "$spool"/??
rm -rf "$spool/tmp"
chmod 2750 "$spool"
refused "a spool that was shut" as bob mailq enqueue "${mail[@]}" --attach /srv/shared
contains "$told" "user bob may not write in $spool (owner" "chmod g+rwx $spool"
chmod 2770 "$spool" "$spool"/??
refused "a service without ReadWritePaths" service mailq enqueue "${mail[@]}"
contains "$told" "user svc" "ReadWritePaths=/var/lib/mailq"
chmod 600 /srv/of-root
refused "an attachment" as bob mailq enqueue "${mail[@]}" --attach /srv/of-root
contains "$told" "user bob may not read /srv/of-root (owner root, group root, mode 0600)"

echo "the secret is the sender's"
install -m 600 /dev/null /etc/mailq/smtp-password
echo 'do not look' >/etc/mailq/smtp-password
printf '%s\n' 'from = "hello@example.com"' '[smtp]' 'host = "127.0.0.1"' 'port = 1' 'username = "u"' >/etc/mailq/config.toml
strace -f -e trace=openat,open -o /tmp/trace runuser -u ann -- mailq enqueue "${mail[@]}" >/dev/null
grep -q '/etc/mailq/config.toml' /tmp/trace || fail "the trace shows nothing"
! grep -q 'smtp-password' /tmp/trace || fail "enqueue opened the password"
! as ann cat /etc/mailq/smtp-password 2>/dev/null || fail "ann may read the password"
rm /etc/mailq/smtp-password

find /var/lib/mailq -mindepth 1 -delete
for user in ann bob eve; do userdel --remove "$user" 2>/dev/null; done
userdel svc
echo "permissions: all holds"
