#!/usr/bin/env bash
# What others make of the figures: promtool of the counters, the real check_mailq of `mailq` alone, and Chromium of the
# page, on a wide screen and on a phone. Usage: look.sh MAILQ
set -euo pipefail
mailq=$(readlink -f "$1")
plugins=/usr/lib/nagios/plugins
work=$(mktemp -d "${TMPDIR:-/tmp}/mailq-look.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
export MAILQ_CONFIG=$work/config.toml
cat >config.toml <<TOML
database = "$work/q.db"
from = "Sender <sender@example.com>"
[transport]
kind = "file"
directory = "$work/out"
TOML

# The plugin as it is, told only where our mailq lies.
check_mailq() {
    perl "-I$plugins" -Mutils -e "\$utils::PATH_TO_MAILQ = shift; \$0 = '$plugins/check_mailq'; do \$0; die \$@ if \$@" \
        "$mailq" -M postfix "$@"
}
expect() {
    local code=$1 words=$2 said seen=0
    shift 2
    said=$("$@" 2>&1) || seen=$?
    if [ "$seen" != "$code" ] || [[ $said != *"$words"* ]]; then
        echo "$*: ended with $seen and said: $said; expected $code and: $words" >&2
        exit 1
    fi
}

for n in 1 2 3 4 5 6; do
    "$mailq" enqueue --to "a$n@example.com" --subject "Mail $n" --body Text >/dev/null
done
expect 0 'below threshold' check_mailq -w 7 -c 9
expect 1 'WARNING: postfix mailq is 6' check_mailq -w 5 -c 9
expect 2 'CRITICAL: postfix mailq is 6' check_mailq -w 3 -c 5
"$mailq" send-batch --limit 3 >/dev/null
"$mailq" cancel 6 >/dev/null
"$mailq" hold later --reason 'a "reason" with \ and <b>' >/dev/null
sqlite3 q.db "INSERT INTO email_messages (to_addrs, template) VALUES ('b@example.com', 'no-such-template')"
"$mailq" send-batch >/dev/null 2>&1
"$mailq" prune --older-than 0s --status SENT >/dev/null
expect 0 'queue is empty' check_mailq -w 5 -c 9

"$mailq" stats --prometheus --output figures.prom
promtool check metrics <figures.prom
grep -q '^mailq_sent_total{queue="default"} 5$' figures.prom
grep -q '^mailq_send_duration_seconds_count{queue="default"} 5$' figures.prom

"$mailq" stats --html --output page.html
# A frame as wide as the screen; whatever is wider than it would have to be scrolled to.
for width in 1200 375; do
    cat >frame.html <<HTML
<!DOCTYPE html><body><iframe id="page" src="page.html" style="width:${width}px;height:900px;border:0"></iframe>
<script>onload = () => {
  const page = document.getElementById('page').contentDocument;
  const shown = [...page.querySelectorAll('h1, h2, .card, svg')].filter((one) => one.getClientRects().length > 0);
  const wide = page.documentElement.scrollWidth > ${width};
  document.title = 'looked: ' + (wide ? 'too wide' : 'fits') + ', ' + shown.length + ' parts';
}</script>
HTML
    seen=$(timeout 120 chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
        --disable-background-networking --disable-component-update --disable-sync --allow-file-access-from-files \
        --user-data-dir="$work/profile-$width" --window-size=1300,1000 --dump-dom "file://$work/frame.html" 2>chromium.log) || {
        tail -n 20 chromium.log >&2
        exit 1
    }
    if ! grep -Eq '<title>looked: fits, [0-9]{2} parts</title>' <<<"$seen"; then
        echo "the page in Chromium at $width px: $(grep -o '<title>.*</title>' <<<"$seen" || echo 'not looked at')" >&2
        exit 1
    fi
done
echo "look: check_mailq, promtool and Chromium agree"
