"""Signatures, verified by dkimpy, which shares no code with mailq, with the public keys in a table in the place of DNS.

The mails go to files, since Postfix would put its own lines before them.
"""

import base64
import os
import pathlib
import subprocess
import sys
import tempfile

from rig import Sandbox, check

WANTED = ["dkimpy", "pynacl"]


def library():
    """dkimpy, installed for this run only where the machine has none."""
    try:
        import dkim
        import nacl  # noqa: F401: what dkimpy verifies Ed25519 with
    except ImportError:
        folder = tempfile.mkdtemp(prefix="python-", dir=os.environ["E2E_DIR"])
        environment = pathlib.Path(folder)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([environment / "bin/python", "-m", "pip", "install", "--quiet", *WANTED], check=True)
        sys.path[:0] = map(str, environment.glob("lib/python*/site-packages"))
        import dkim
    return dkim


def openssl(*args):
    return subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True).stdout


def key(box, name, *options):
    """A new key in PEM, and its public half in DER."""
    path = box.dir / f"{name}.pem"
    openssl("genpkey", *options, "-out", path)
    path.chmod(0o600)
    return path, openssl("pkey", "-in", path, "-pubout", "-outform", "DER")


def mails(box):
    small, large, empty = (box.dir / name for name in ("small.txt", "large.bin", "empty"))
    small.write_bytes(b"a  b \r\n\r\n")
    large.write_bytes(os.urandom(3 << 20))
    empty.write_bytes(b"")
    html = "<p>Grüße  an  alle</p>\n\n"
    yield ["--subject", "Text", "--body", "One  \n\n two\t\n.\n\n\n"]
    yield ["--subject", "Both", "--body", "Grüße\n", "--html", html]
    yield ["--subject", "Files", "--body", "x", "--attach", small, "--attach", large, "--attach", empty]
    yield ["--subject", "Long " + "é" * 1200, "--body", "x"]
    yield ["--subject", "W" * 1200, "--body", "x"]
    yield ["--subject", "", "--body", ""]
    yield ["--subject", "a  b   c", "--body", "x" * 3000, "--cc", '"Größe, c" <c@example.test>']
    yield [
        "--subject", "List", "--body", "x", "--reply-to", "r@example.com",
        "--header", "List-Unsubscribe: <https://example.com/u>", "--header", "References: <1@a> <2@b>",
    ]  # fmt: skip


def verify(dkim, domain, keys):
    """Signs a mail of each kind for a sender below `domain`; all signatures must hold, and none on another mail."""
    path, record, algorithm = keys
    box = Sandbox()
    out = box.dir / "out"
    out.mkdir()
    with (box.dir / "config.toml").open("a") as config:
        config.write(f'\n[transport]\nkind = "file"\ndirectory = "{out}"\n')
        config.write(f'\n[dkim."{domain}"]\nselector = "sel.2026"\nkey_file = "{path}"\n')
    asked = list(mails(box))
    for args in asked:
        box.mailq("enqueue", "--from", f"Größe <me@shop.{domain}>", "--to", "Łu <to@example.test>", *args)
    box.mailq("enqueue", "--from", "me@other.example", "--to", "to@example.test", "--subject", "Bare", "--body", "x")
    check(f"dkim {domain}: {algorithm}" in box.mailq("check", "--offline"), "check tells of the key")
    box.mailq("send-batch")
    check(box.statuses() == {"SENT": len(asked) + 1}, f"all go: {box.statuses()}")
    table = {f"sel.2026._domainkey.{domain}.".encode(): record}
    signed = 0
    for file in sorted(out.rglob("*.eml")):
        message = file.read_bytes()
        if b"\r\nSubject: Bare\r\n" in message:
            check(b"DKIM-Signature" not in message, "no key, no signature")
            continue
        text = message[message.index(b"DKIM-Signature:") :]

        def holds(text):
            return dkim.DKIM(text).verify(dnsfunc=lambda name, timeout=5: table.get(name))

        check(holds(text), f"dkimpy on {text[:1500]!r}")
        forged = text.replace(b"\r\nFrom: ", b"\r\nFrom: <evil@example.net>\r\nFrom: ", 1)
        for changed in (text[:-2] + b"x\r\n", text.replace(b"\r\nSubject:", b"\r\nSubject: x", 1), forged):
            try:
                check(not holds(changed), f"a changed mail still holds: {changed[:1500]!r}")
            except dkim.DKIMException:
                pass
        signed += 1
    check(signed == len(asked), f"{signed} of {len(asked)} are signed")
    return signed


def refusals():
    """A key that cannot be used: nothing goes, and enqueue does not look at it."""
    box = Sandbox()
    with (box.dir / "config.toml").open("a") as config:
        config.write('\n[dkim."example.com"]\nselector = "s"\nkey_file = "missing.pem"\n')
    box.mailq("enqueue", "--to", "unsigned@example.test", "--subject", "s", "--body", "b")
    box.mailq("send-batch", code=78)
    box.mailq("check", "--offline", code=78)
    check(box.statuses() == {"PENDING": 1}, f"it waits: {box.statuses()}")


def main():
    dkim = library()
    box = Sandbox()
    rsa, public = key(box, "rsa", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048")
    rsa_record = b"v=DKIM1; k=rsa; p=" + base64.b64encode(public)
    bare = box.dir / "pkcs1.pem"
    openssl("rsa", "-in", rsa, "-traditional", "-out", bare)
    curve, public = key(box, "curve", "-algorithm", "ED25519")
    # DNS has the bare 32 bytes of it (RFC 8463, 4), which end its DER.
    curve_record = b"v=DKIM1; k=ed25519; p=" + base64.b64encode(public[-32:])
    total = 0
    total += verify(dkim, "example.com", (rsa, rsa_record, "rsa-sha256"))
    total += verify(dkim, "pkcs1.example.com", (bare, rsa_record, "rsa-sha256"))
    total += verify(dkim, "example.org", (curve, curve_record, "ed25519-sha256"))
    refusals()
    print(f"end-to-end: {total} signatures, each verified by dkimpy")


if __name__ == "__main__":
    main()
