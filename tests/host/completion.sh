#!/usr/bin/env bash
# Bash completes as the package has it: bash-completion loads the file by the command's name, and Tab does the rest.
set -euo pipefail
# shellcheck source=tests/host/expect.sh disable=SC1091
. "$(dirname "$(readlink -f "$0")")/expect.sh"

# What Tab makes of a line: an interactive bash on a terminal of its own is asked, as a user would.
tab() {
    python3 - "$1" <<'PY'
import os, pty, re, select, sys, time

pid, fd = pty.fork()
if pid == 0:
    os.environ.update(PS1="$ ", TERM="dumb", HISTFILE="/dev/null", HOME="/root")
    os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])

def read_until(mark, patience=20.0):
    seen, end = b"", time.monotonic() + patience
    while mark not in seen and time.monotonic() < end:
        if select.select([fd], [], [], 0.1)[0]:
            seen += os.read(fd, 65536)
    return seen.decode(errors="replace")

os.write(fd, b". /usr/share/bash-completion/bash_completion; bind 'set bell-style none'; echo rea''dy\n")
read_until(b"ready\r\n")
# Tab twice shows what there is; ^U takes the line back, and the next command says that all of it was shown.
os.write(fd, sys.argv[1].encode() + b"\t\t")
time.sleep(0.7)
os.write(fd, b"\x15echo do''ne\n")
print(re.sub(r"\x07", "", read_until(b"done\r\n")))
os.write(fd, b"exit\n")
PY
}

contains "$(tab 'mailq send-b')" 'mailq send-batch '
contains "$(tab 'mailq enqueue --expires')" '--expires-in'
contains "$(tab 'mailq ')" 'enqueue' 'send-batch' 'prune' 'stats' 'check'
touch /root/order-of-ada.json
contains "$(cd /root && tab 'mailq enqueue --bulk order-of')" 'order-of-ada.json'
echo "completion: all holds"
