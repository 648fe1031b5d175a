"""Refusals and outages with a real server: what each costs the mail, and that nobody gets a mail twice."""

import json

from rig import Sandbox, check, delivered


def enqueue(box, *to):
    addresses = [arg for address in to for arg in ("--to", address)]
    return int(box.mailq("enqueue", *addresses, "--subject", "Refused?", "--body", "Hello."))


def row(box, id_):
    return dict(box.rows("SELECT * FROM email_messages WHERE id = ?", id_)[0])


def verdicts():
    box = Sandbox()
    before = enqueue(box, "before@example.test")
    later = enqueue(box, "tempfail@example.test")
    never = enqueue(box, "reject@example.test")
    partly = enqueue(box, "good@example.test", "reject.too@example.test", "tempfail.too@example.test")
    after = enqueue(box, "after@example.test")
    box.mailq("send-batch")
    for id_ in (before, after):
        check(row(box, id_)["status"] == "SENT", f"a good mail beside bad ones: {row(box, id_)}")
    seen = row(box, later)
    check((seen["status"], seen["attempt_count"]) == ("PENDING", 1), f"451 is a deferral: {seen}")
    check("4.3.0" in seen["error_message"], f"the server's own words: {seen}")
    seen = row(box, never)
    check((seen["status"], seen["failure"]) == ("FAILED", "rejected"), f"550 is for good: {seen}")
    check("no such user here" in seen["error_message"], f"the server's own words: {seen}")
    seen = row(box, partly)
    check(seen["status"] == "PENDING", f"one recipient is still to be tried: {seen}")
    check(json.loads(seen["delivered"]) == ["good@example.test"], f"who has it: {seen}")
    check("reject.too@example.test" in seen["refused"], f"who was refused: {seen}")
    # The wait is over, for this test: only the deferred recipients may be asked again.
    box.mailq("cancel", later)
    box.change("UPDATE email_messages SET next_attempt_at = created_at WHERE id = ?", partly)
    box.mailq("send-batch")
    got = sorted(mail["delivered-to"] for mail in delivered())
    check(got == ["after@example.test", "before@example.test", "good@example.test"], f"delivered to {got}")


def outages():
    for what, changed in {
        "a wrong password": {"password_file": "wrong"},
        "a certificate of an unknown CA": {"ca_file": None},
    }.items():
        box = Sandbox()
        if "password_file" in changed:
            wrong = box.dir / "wrong"
            wrong.write_text("not the password\n")
            wrong.chmod(0o600)
            changed = {"password_file": wrong}
        id_ = enqueue(box, "outage@example.test")
        box.configure(**changed)
        box.mailq("send-batch", code=75)
        seen = row(box, id_)
        check((seen["status"], seen["attempt_count"]) == ("PENDING", 0), f"{what} is no verdict: {seen}")
        check(not delivered(), f"delivered in spite of {what}")


if __name__ == "__main__":
    verdicts()
    outages()
    print("end-to-end: refusals and outages cost what they should")
