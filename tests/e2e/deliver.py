"""200 mails with attachments through STARTTLS and AUTH, read back from the Maildir and compared one by one."""

import email.header
import email.utils
import hashlib
import json
import random

from rig import Sandbox, check, delivered, fail

COUNT = 200
FIRST_NAMES = ["Ada", "Jürgen", "Łukasz", "Восстановление", "美咲", "O'Neil", "Doe, Jóhn", "Änne (Büro)", '"Q" Test', "😀"]
SUBJECTS = [
    "Order {n}",
    "Livraison retardée. Arrivée prévue : 5 août, 11h48 ({n})",
    "Восстановление Вашего пароля для учётной записи номер {n}",
    "😀👍 {n} " + "é" * 150,
    "Smith & Sons <b>'\"= {n}",
    "a  b   {n} =?utf-8?q?no?=",
]
TEXTS = ["Grüße,\n.\n..x\n.hidden\nFrom here", "plain", "日本語の本文\n" * 20, "x" * 3000, "tab\tand = and & <b>"]
SIZES = [0, 1, 57, 1000, 76 * 400, 300 * 1024]


def mail(n, chance):
    """What mail number n asks for; the same every time."""
    names = [None, *FIRST_NAMES]

    def person(kind, i):
        return (names[(n + i) % len(names)], f"{kind}{n}.{i}@example.test")

    attachments = []
    for i in range(n % 3 + (n % 5 == 0)):
        size = SIZES[(n + i) % len(SIZES)]
        name = ["report.pdf", "Töööst €.txt", "今日は世.bin", "it's 100%.txt", 'semi;colon "q".csv'][(n + i) % 5]
        attachments.append((name, chance.randbytes(size)))
    return {
        "to": [person("to", i) for i in range(1 + n % 3)],
        "cc": [person("cc", i) for i in range(n % 4 == 1)],
        "bcc": [person("bcc", i) for i in range((n % 4 == 2) * 2)],
        "subject": SUBJECTS[n % len(SUBJECTS)].format(n=n),
        "text": TEXTS[n % len(TEXTS)],
        "attachments": attachments,
    }


def mailbox(person):
    name, address = person
    if name is None:
        return address
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + f'" <{address}>'


def enqueue(box, n, asked):
    args = ["enqueue", "--template", "e2e"]
    for kind in ("to", "cc", "bcc"):
        for person in asked[kind]:
            args += [f"--{kind}", mailbox(person)]
    args += ["--param", f"subject={asked['subject']}", "--param", f"text={asked['text']}"]
    for name, content in asked["attachments"]:
        folder = box.dir / "files" / str(n)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
        args += ["--attach", folder / name]
    return int(box.mailq(*args))


def decoded(value):
    return str(email.header.make_header(email.header.decode_header(value)))


def people(mail, header):
    """The (name, address) pairs of a header."""
    raw = [str(value) for value in mail.get_all(header, [])]
    return [(decoded(name) or None, address) for name, address in email.utils.getaddresses(raw)]


def unfolded(value):
    return value.replace("\r", "").replace("\n", "")


def body(part):
    return part.get_payload(decode=True).decode(part.get_content_charset()).replace("\r\n", "\n")


def compare(copy, asked, message_id):
    """Everything that a reader of this copy sees, against what was asked for."""

    def same(what, seen, wanted):
        check(seen == wanted, f"in\n{copy.as_string()[:3000]}\n{what} is\n{seen!r}, not\n{wanted!r}")

    same("To", people(copy, "to"), asked["to"])
    same("Cc", people(copy, "cc"), asked["cc"])
    same("From", people(copy, "from"), [("Die Größte Firma", "firma@example.com")])
    same("Bcc", copy.get_all("bcc"), None)
    same("Subject", decoded(unfolded(copy["subject"])), asked["subject"])
    for header in ("message-id", "date", "from", "subject", "mime-version"):
        same(f"number of {header}", len(copy.get_all(header, [])), 1)
    check(message_id in copy["message-id"], f"{copy['message-id']} does not derive from {message_id}")
    leaves = [part for part in copy.walk() if not part.is_multipart()]
    shape = [part.get_content_type() for part in copy.walk()][: 4 if asked["attachments"] else 3]
    wanted = ["multipart/alternative", "text/plain", "text/html"]
    same("structure", shape, ["multipart/mixed", *wanted] if asked["attachments"] else wanted)
    same("text", body(leaves[0]).rstrip("\n"), f"Guten Tag!\n{asked['text']}".rstrip("\n"))
    escaped = asked["text"].replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    check(escaped in body(leaves[1]).replace("&#x3D;", "=").replace("&#61;", "="), "the HTML part")
    files = [(part.get_filename(), hashlib.sha256(part.get_payload(decode=True)).digest()) for part in leaves[2:]]
    same("attachments", files, [(name, hashlib.sha256(content).digest()) for name, content in asked["attachments"]])
    for part in copy.walk():
        same("defects", part.defects, [])


def main():
    box = Sandbox()
    box.template(
        "e2e",
        subject="{{subject}}\n",
        text="Guten Tag!\n{{text}}\n",
        html="<!DOCTYPE html><html><body><p>Grüß Gott</p><pre>{{text}}</pre></body></html>\n",
    )
    chance = random.Random(200)
    asked = {}
    for n in range(COUNT):
        wanted = mail(n, chance)
        asked[enqueue(box, n, wanted)] = wanted
    check(len(asked) == COUNT, "enqueue printed an id twice")
    out = box.mailq("send-batch")
    if box.statuses() != {"SENT": COUNT}:
        box.show_trouble()
        fail(f"{box.statuses()} after {out}")
    told = json.loads(box.mailq("show", next(iter(asked)), "--json"))["history"]
    number = told[-1]["message"]
    check(len(told) == 1 and told[0]["phase"] == "dot" and "queued as" in number, f"the history is {told}")
    ids = {row["message_id"]: row["id"] for row in box.rows("SELECT id, message_id FROM email_messages")}
    awaited = {
        (id_, address.lower())
        for id_, wanted in asked.items()
        for kind in ("to", "cc", "bcc")
        for _, address in wanted[kind]
    }
    total = len(awaited)
    for copy in delivered():
        token = next((t for t in ids if t in (copy["message-id"] or "")), None)
        check(token, f"a mail that nobody enqueued: {copy.as_string()[:1000]}")
        compare(copy, asked[ids[token]], token)
        key = (ids[token], copy["delivered-to"].lower())
        check(key in awaited, f"{key} came twice, or was not a recipient")
        awaited.remove(key)
    check(not awaited, f"never came: {sorted(awaited)[:5]}")
    check("sent 0," in box.mailq("send-batch"), "a second run sent something")
    check(not delivered(), "a second run sent something")
    print(f"end-to-end: {COUNT} mails, {total} copies, each compared")


if __name__ == "__main__":
    main()
