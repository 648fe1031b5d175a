-- An order and the mail about it, in one transaction:  sqlite3 app.db <order.sql
.timeout 10000
-- Without this the shell goes on after a statement that failed, and commits the rest.
.bail on
CREATE TABLE IF NOT EXISTS orders (number INTEGER PRIMARY KEY, buyer TEXT NOT NULL);

BEGIN IMMEDIATE;
INSERT INTO orders (number, buyer) VALUES (17, 'Ada');
INSERT INTO email_messages (to_addrs, template, parameters, idempotency_key)
VALUES ('Ada <ada@example.com>', 'welcome', json_object('name', 'Ada'), 'order-17');
COMMIT;

BEGIN IMMEDIATE;
INSERT INTO orders (number, buyer) VALUES (18, 'Eve');
INSERT INTO email_messages (to_addrs, template, parameters, idempotency_key)
VALUES ('Eve <eve@example.com>', 'welcome', json_object('name', 'Eve'), 'order-18');
-- The application changes its mind: there is neither an order nor a mail.
ROLLBACK;
