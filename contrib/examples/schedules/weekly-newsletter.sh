#!/bin/sh
# One newsletter a week to each subscriber, however often this runs.
#
#   weekly-newsletter.sh SUBSCRIBERS.csv ISSUE.json
#
# The list has the columns to, name and unsubscribe_url, the address first; the issue has the parameters of the template.
set -eu
week=$(date +%G-W%V)
# The key names the week and the reader: a second run stores no second mail.
awk -F, -v week="$week" 'NR == 1 { print $0 ",key" } NR > 1 && NF { print $0 ",newsletter-" week "-" $1 }' "$1" |
    mailq enqueue --template newsletter --params "@$2" --queue newsletter --group "newsletter-$week" --bulk - >/dev/null
