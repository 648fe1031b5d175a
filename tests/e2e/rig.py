"""What the end-to-end tests stand on: `mailq` in a directory of its own, and the Maildir that Postfix fills.

The environment names the parts: MAILQ (the executable), and what `postfix.sh start` wrote to its `env` file.
"""

import contextlib
import email
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import time

MAILQ = os.environ["MAILQ"]
MAILDIR = pathlib.Path(os.environ["MAILDIR"])
QUEUE = pathlib.Path(os.environ["QUEUE"])

# The codes that the README documents, without 70: that one is a bug.
DOCUMENTED = {0, 64, 65, 66, 73, 74, 75, 77, 78}


def fail(why):
    sys.exit(f"end-to-end: {why}")


def check(holds, why):
    if not holds:
        fail(why)


class Sandbox:
    """A database, templates, a spool and a configuration in a new directory."""

    def __init__(self, **changed):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="run-", dir=os.environ["E2E_DIR"]))
        self.database = self.dir / "mailq.db"
        (self.dir / "templates").mkdir()
        (self.dir / "password").write_text(os.environ["PASSWORD"] + "\n")
        (self.dir / "password").chmod(0o600)
        self.configure(**changed)

    def configure(self, ca_file=os.environ["CA_FILE"], password_file=None, send=""):
        (self.dir / "config.toml").write_text(
            f"""
database = "{self.database}"
templates = "{self.dir}/templates"
spool = "{self.dir}/spool"
from = "Die Größte Firma <firma@example.com>"

[smtp]
host = "localhost"
port = {os.environ["PORT"]}
tls = "starttls"
username = "{os.environ["USER_NAME"]}"
password_file = "{password_file or self.dir / "password"}"
{f'ca_file = "{ca_file}"' if ca_file else ""}

[send]
concurrency = 4
{send}
"""
        )

    def template(self, name, **parts):
        folder = self.dir / "templates" / name
        folder.mkdir()
        for part, text in parts.items():
            (folder / f"{part}.hbs").write_text(text, encoding="utf-8")

    def command(self, *args):
        return [MAILQ, "--config", str(self.dir / "config.toml"), *map(str, args)]

    def environment(self):
        return {"PATH": os.environ["PATH"], "HOME": str(self.dir), "LANG": "C"}

    def start(self, *args):
        return subprocess.Popen(
            self.command(*args),
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def mailq(self, *args, code=0):
        """Runs mailq to its end and returns what it printed; every run is held to R0 and to this exit code."""
        run = subprocess.run(
            self.command(*args), env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True, timeout=600
        )
        out, err = (text.decode("utf-8", "replace") for text in (run.stdout, run.stderr))
        told = f"mailq {' '.join(map(str, args))}\nexit {run.returncode}\n{out}{err}"
        check(run.returncode in DOCUMENTED and "panicked at" not in err, f"R0: {told}")
        check(run.returncode == code, f"exit {code} expected: {told}")
        return out

    def rows(self, sql, *values):
        with contextlib.closing(sqlite3.connect(self.database, timeout=60)) as connection:
            connection.row_factory = sqlite3.Row
            return connection.execute(sql, values).fetchall()

    def change(self, sql, *values):
        with contextlib.closing(sqlite3.connect(self.database, timeout=60)) as connection, connection:
            connection.execute(sql, values)

    def statuses(self):
        return {row[0]: row[1] for row in self.rows("SELECT status, count(*) FROM email_messages GROUP BY status")}

    def show_trouble(self):
        for row in self.rows(
            "SELECT id, status, failure, error_message FROM email_messages WHERE status <> 'SENT' LIMIT 5"
        ):
            print(dict(row), file=sys.stderr)


def delivered():
    """Takes all mails out of the Maildir, once Postfix has nothing left in its queue."""
    patience = time.monotonic() + 300
    while any(True for name in ("maildrop", "incoming", "active", "deferred") for f in walk(QUEUE / name)):
        check(time.monotonic() < patience, "Postfix did not deliver what it accepted")
        time.sleep(0.1)
    mails = []
    for path in sorted((MAILDIR / "new").glob("*")) if MAILDIR.exists() else []:
        mails.append(email.message_from_bytes(path.read_bytes()))
        path.unlink()
    return mails


def walk(folder):
    # A queue file may go away between two looks, so pathlib's rglob would raise.
    for _, _, files in os.walk(folder):
        yield from files
