// An order and the mail about it, in one transaction.

import { DatabaseSync } from "node:sqlite";

const db = new DatabaseSync(process.argv[2] ?? "app.db");
// For the moment in which mailq writes, in milliseconds.
db.exec("PRAGMA busy_timeout = 10000");
db.exec("CREATE TABLE IF NOT EXISTS orders (number INTEGER PRIMARY KEY, buyer TEXT NOT NULL)");

function order(number, name, address) {
  db.exec("BEGIN IMMEDIATE");
  try {
    db.prepare("INSERT INTO orders (number, buyer) VALUES (?, ?)").run(number, name);
    db.prepare(
      "INSERT INTO email_messages (to_addrs, template, parameters, idempotency_key) VALUES (?, ?, ?, ?)",
    ).run(`"${name}" <${address}>`, "welcome", JSON.stringify({ name }), `order-${number}`);
    db.exec("COMMIT");
  } catch (error) {
    db.exec("ROLLBACK");
    throw error;
  }
}

order(17, "Ada", "ada@example.com");
try {
  order(18, "Eve", "eve@example.com\r\nBcc: everybody@example.com");
} catch (refused) {
  console.log("refused, with its order:", refused.message);
}
