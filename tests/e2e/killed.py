"""`send-batch` is killed in the middle of 1,000 mails; afterwards each is in the Maildir, and hardly any twice.

A connection has at most one mail whose final dot is unanswered, so at the kill at most one mail a connection may have
arrived without being recorded. Only those come again, with the same Message-ID.
"""

import collections
import json
import signal
import sqlite3
import time

from rig import Sandbox, check, delivered

COUNT = 1000
CONNECTIONS = 4
KILLED_AT = COUNT // 4


def main():
    box = Sandbox(send='lease = "2s"')
    box.template("count", subject="Mail {{n}}", text="Number {{n}}.\n")
    first = int(box.mailq("enqueue", "--to", "n0@example.test", "--template", "count", "--param", "n=0"))
    rows = sqlite3.connect(box.database, timeout=60)
    with rows:
        rows.executemany(
            "INSERT INTO email_messages (to_addrs, template, parameters) VALUES (?, 'count', ?)",
            [(f"n{n}@example.test", json.dumps({"n": n})) for n in range(1, COUNT)],
        )

    run = box.start("send-batch")
    while rows.execute("SELECT count(*) FROM email_messages WHERE status = 'SENT'").fetchone()[0] < KILLED_AT:
        check(run.poll() is None, "the run ended before it could be killed")
        time.sleep(0.001)
    run.send_signal(signal.SIGKILL)
    run.wait()
    rows.close()
    after = box.statuses()
    check(after.get("SENT", 0) < COUNT and sum(after.values()) == COUNT, f"killed in the middle, but {after}")
    abandoned = after.get("SENDING", 0)

    patience = time.monotonic() + 300
    while box.statuses().get("SENDING"):
        check(time.monotonic() < patience, "reap did not take the mails back when their lease was over")
        time.sleep(0.5)
        box.mailq("reap")
    while box.statuses() != {"SENT": COUNT}:
        check(time.monotonic() < patience, f"not all were sent: {box.statuses()}")
        box.mailq("send-batch")
        time.sleep(0.5)

    tokens = {row["message_id"]: row["id"] for row in box.rows("SELECT id, message_id FROM email_messages")}
    copies = collections.Counter()
    for mail in delivered():
        token = next((t for t in tokens if t in mail["message-id"]), None)
        check(token, f"a mail that nobody enqueued: {mail['message-id']}")
        n = tokens[token] - first
        check(mail["subject"] == f"Mail {n}", f"{mail['subject']!r} has the Message-ID of mail {n}")
        check(mail["delivered-to"] == f"n{n}@example.test", f"mail {n} went to {mail['delivered-to']}")
        copies[n] += 1
    lost = [n for n in range(COUNT) if copies[n] == 0]
    twice = [n for n in range(COUNT) if copies[n] > 1]
    check(not lost, f"lost: {lost}")
    check(max(copies.values()) <= 2 and len(twice) <= CONNECTIONS, f"more than once: {[(n, copies[n]) for n in twice]}")
    print(f"end-to-end: killed at {after}, {abandoned} taken back, {len(twice)} of {COUNT} twice, none lost")


if __name__ == "__main__":
    main()
