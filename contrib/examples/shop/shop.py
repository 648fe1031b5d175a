#!/usr/bin/env python3
"""A shop that sells from one SQLite file. An order and its two mails, to the buyer and to the seller, are one
transaction: they are all there, or none is. mailq sends the mails from the same file.

  shop.py FILE setup
  shop.py FILE order NAME ADDRESS PRODUCT PIECES
  shop.py FILE orders
"""

import json
import os
import pathlib
import sqlite3
import sys

SCHEMA = pathlib.Path(__file__).resolve().parents[3] / "schema.sql"
SELLER = "Shop <orders@shop.example>"
PRODUCTS = [("tea", 450, 10), ("pot", 2900, 2)]


def connect(path):
    # In this mode the module begins no transaction by itself. The time out is for the moments in which mailq writes.
    db = sqlite3.connect(path, timeout=10, isolation_level=None)
    # Once, in the application's hands: mailq leaves the mode of a database that it did not make alone.
    db.execute("PRAGMA journal_mode = WAL")
    return db


def setup(db):
    db.executescript(SCHEMA.read_text())
    db.executescript(
        "CREATE TABLE products (name TEXT PRIMARY KEY, cents INTEGER NOT NULL, stock INTEGER NOT NULL CHECK (stock >= 0));"
        "CREATE TABLE orders (number INTEGER PRIMARY KEY, buyer TEXT NOT NULL, product TEXT NOT NULL, pieces INTEGER NOT NULL);"
    )
    db.executemany("INSERT INTO products VALUES (?, ?, ?)", PRODUCTS)


def mail(db, number, who, template, parameters):
    # The key makes it one mail, even if somebody runs this for the same order again.
    db.execute(
        "INSERT INTO email_messages (queue, to_addrs, template, parameters, idempotency_key) VALUES ('orders', ?, ?, ?, ?)",
        (who, template, json.dumps(parameters), f"{template}-{number}"),
    )


def order(db, name, address, product, pieces):
    db.execute("BEGIN IMMEDIATE")
    try:
        taken = db.execute(
            "UPDATE products SET stock = stock - ? WHERE name = ? RETURNING cents", (pieces, product)
        ).fetchone()
        if taken is None:
            raise ValueError(f"there is no {product}")
        number = db.execute(
            "INSERT INTO orders (buyer, product, pieces) VALUES (?, ?, ?)", (name, product, pieces)
        ).lastrowid
        about = {"number": number, "name": name, "product": product, "pieces": pieces, "euros": taken[0] * pieces / 100}
        quoted = name.replace("\\", "\\\\").replace('"', '\\"')
        mail(db, number, f'"{quoted}" <{address}>', "order_buyer", about)
        mail(db, number, SELLER, "order_seller", about)
        if os.environ.get("SHOP_CRASH") == "before-commit":
            os._exit(1)
        db.execute("COMMIT")
        return number
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def main(path, verb, *rest):
    db = connect(path)
    if verb == "setup":
        setup(db)
    elif verb == "order":
        name, address, product, pieces = rest
        print("order", order(db, name, address, product, int(pieces)))
    elif verb == "orders":
        for row in db.execute("SELECT number, buyer, product, pieces FROM orders ORDER BY number"):
            print(*row)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except (sqlite3.Error, ValueError) as error:
        sys.exit(f"shop: {error}")
