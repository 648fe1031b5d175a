#!/bin/sh
# A reminder for each appointment, the day before, however often this runs.
#
#   reminder.sh APPOINTMENTS.csv
#
# The list has the columns key, to, name, what and at, the time of the reminder as `2026-12-24 09:00 Europe/Berlin`.
# A reminder that could not be sent within half a day is of no use any more.
set -eu
mailq enqueue --template reminder --queue reminders --expires-in 12h --bulk "$1" >/dev/null
