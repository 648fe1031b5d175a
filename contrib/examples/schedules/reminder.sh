#!/bin/sh
# A reminder for each appointment, the day before, however often this runs.
#
#   reminder.sh APPOINTMENTS.csv
#
# The list has the columns key, at, to, name and what, in this order for the first two; at is the time of the reminder as
# `2026-12-24 09:00 Europe/Berlin`. A reminder that could not be sent within half a day is of no use any more.
set -eu
# An appointment that moved is another reminder, so its time is part of the key.
list=$(awk -F, 'NR == 1 { print } NR > 1 && NF { print $1 " " $2 substr($0, length($1) + 1) }' "$1")
printf '%s\n' "$list" | mailq enqueue --template reminder --queue reminders --expires-in 12h --bulk - >/dev/null
# What waits and is not in the list was called off or moved.
mailq list --queue reminders --status PENDING --limit 0 --json |
    sed -n 's/.*"idempotency_key":"\([^"]*\)".*/\1/p' |
    while read -r key; do
        printf '%s\n' "$list" | cut -d, -f1 | grep -qxFe "$key" ||
            mailq cancel --key "$key" --status PENDING --yes >/dev/null
    done
