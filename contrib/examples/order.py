#!/usr/bin/env python3
"""An order and the mail about it, in one transaction."""

import json
import sqlite3
import sys

# In this mode the module begins no transaction by itself. The time out is for the moment in which mailq writes.
db = sqlite3.connect(sys.argv[1] if len(sys.argv) > 1 else "app.db", timeout=10, isolation_level=None)
db.execute("CREATE TABLE IF NOT EXISTS orders (number INTEGER PRIMARY KEY, buyer TEXT NOT NULL)")


def order(number, name, address):
    db.execute("BEGIN IMMEDIATE")
    try:
        db.execute("INSERT INTO orders (number, buyer) VALUES (?, ?)", (number, name))
        db.execute(
            "INSERT INTO email_messages (to_addrs, template, parameters, idempotency_key) VALUES (?, ?, ?, ?)",
            (f'"{name}" <{address}>', "welcome", json.dumps({"name": name}), f"order-{number}"),
        )
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise


order(17, "Ada", "ada@example.com")
try:
    order(18, "Eve", "eve@example.com\r\nBcc: everybody@example.com")
except sqlite3.IntegrityError as refused:
    print("refused, with its order:", refused)
