-- The tables of mailq, schema version 2.
--
-- For the developer of an application: this may live in your own SQLite database. To send a mail, INSERT a row in the
-- transaction of your own write; when you commit, the mail is queued, and when you roll back, there is none:
--
--   BEGIN;
--   INSERT INTO orders (...) VALUES (...);
--   INSERT INTO email_messages (to_addrs, template, parameters)
--   VALUES ('Ada <ada@example.com>', 'order_confirmation', json_object('order', 17));
--   COMMIT;
--
-- Everything else has a default. Your row is checked here, in your transaction: a wrong value is a constraint error for
-- you and never a broken mail for someone else. Only INSERT (and DELETE of what is still PENDING); the columns below
-- "For mailq" move by mailq's hand alone. No command changes the parameters of a mail: where one was missing, let the
-- template say {{optional x}} or {{default x "..."}} and `mailq retry` it, or INSERT it again. `mailq enqueue` creates these tables; running this file does the same.
--
-- Opens in SQLite 3.31 and later, with its JSON functions. All times are INTEGER milliseconds since 1970, UTC.

CREATE TABLE IF NOT EXISTS email_messages (
  -- Leave it to its default. Never reused, also after a prune.
  id INTEGER PRIMARY KEY AUTOINCREMENT
    CONSTRAINT "id: from 1 to 9007199254740991" CHECK (id BETWEEN 1 AND 9007199254740991),

  -- Which queue it waits in: letters, digits, "_", "-", ".".
  queue TEXT NOT NULL DEFAULT 'default'
    CONSTRAINT "queue: letters, digits, _ - . only, at most 64"
    CHECK (typeof(queue) = 'text' AND queue <> '' AND length(queue) <= 64 AND queue NOT GLOB '*[^A-Za-z0-9_.-]*'),

  -- For mailq. Only PENDING mails are sent; an INSERT leaves this at its default.
  status TEXT NOT NULL DEFAULT 'PENDING'
    CONSTRAINT "status: PENDING, SENDING, SENT or FAILED" CHECK (status IN ('PENDING', 'SENDING', 'SENT', 'FAILED')),
  -- For mailq. Verdicts against this mail; an outage is none.
  attempt_count INTEGER NOT NULL DEFAULT 0
    CONSTRAINT "attempt_count: a small number" CHECK (typeof(attempt_count) = 'integer' AND attempt_count BETWEEN 0 AND 1000000),
  -- For mailq. How often its sender died.
  reap_count INTEGER NOT NULL DEFAULT 0
    CONSTRAINT "reap_count: a small number" CHECK (typeof(reap_count) = 'integer' AND reap_count BETWEEN 0 AND 1000000),
  -- After how many attempts to give up; NULL: as configured.
  max_attempts INTEGER
    CONSTRAINT "max_attempts: at least 1" CHECK (max_attempts IS NULL OR (typeof(max_attempts) = 'integer' AND max_attempts BETWEEN 1 AND 1000000)),

  created_at INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER))
    CONSTRAINT "created_at: milliseconds since 1970"
    CHECK (typeof(created_at) = 'integer' AND created_at BETWEEN 0 AND 253402300799999 AND created_at NOT BETWEEN 1000000000 AND 99999999999),
  -- When it is due: now, or later for a scheduled mail.
  next_attempt_at INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER))
    CONSTRAINT "next_attempt_at: milliseconds since 1970"
    CHECK (typeof(next_attempt_at) = 'integer' AND next_attempt_at BETWEEN 0 AND 253402300799999 AND next_attempt_at NOT BETWEEN 1000000000 AND 99999999999),
  -- Not sent after this; NULL: as configured (max_age after it was due).
  expires_at INTEGER
    CONSTRAINT "expires_at: milliseconds since 1970"
    CHECK (expires_at IS NULL OR (typeof(expires_at) = 'integer' AND expires_at BETWEEN 0 AND 253402300799999 AND expires_at NOT BETWEEN 1000000000 AND 99999999999)),

  -- For mailq. The lease while SENDING: since when, and who.
  locked_at INTEGER
    CONSTRAINT "locked_at: milliseconds since 1970, only while SENDING"
    CHECK (locked_at IS NULL OR (typeof(locked_at) = 'integer' AND status = 'SENDING')),
  locked_by TEXT
    CONSTRAINT "locked_by: only while SENDING" CHECK (locked_by IS NULL OR (typeof(locked_by) = 'text' AND status = 'SENDING')),
  -- For mailq. With on_unknown = "hold": when the final dot was about to be sent.
  dot_at INTEGER CONSTRAINT "dot_at: milliseconds since 1970" CHECK (dot_at IS NULL OR typeof(dot_at) = 'integer'),
  -- For mailq. When a server accepted it, when it was SENT or FAILED, how many milliseconds the last attempt took.
  sent_at INTEGER CONSTRAINT "sent_at: milliseconds since 1970" CHECK (sent_at IS NULL OR typeof(sent_at) = 'integer'),
  finished_at INTEGER CONSTRAINT "finished_at: milliseconds since 1970" CHECK (finished_at IS NULL OR typeof(finished_at) = 'integer'),
  send_ms INTEGER CONSTRAINT "send_ms: milliseconds" CHECK (send_ms IS NULL OR typeof(send_ms) = 'integer'),
  -- For mailq. Why it is FAILED, and the last error with the server's own words.
  failure TEXT
    CONSTRAINT "failure: one of the ten words"
    CHECK (failure IS NULL OR failure IN ('rejected', 'exhausted', 'expired', 'render', 'attachment', 'invalid', 'cancelled', 'suppressed', 'worker-lost', 'unknown-outcome')),
  error_message TEXT,

  -- The Message-ID derives from it, the same on every attempt. Leave it to its default.
  message_id TEXT NOT NULL DEFAULT (lower(hex(randomblob(16))))
    CONSTRAINT "message_id: letters, digits, _ - . only"
    CHECK (typeof(message_id) = 'text' AND message_id <> '' AND length(message_id) <= 128 AND message_id NOT GLOB '*[^A-Za-z0-9_.-]*'),
  -- A key of yours: a second INSERT with the same one is refused, so a repeated request queues one mail.
  idempotency_key TEXT
    CONSTRAINT "idempotency_key: a text that is not empty"
    CHECK (idempotency_key IS NULL OR (typeof(idempotency_key) = 'text' AND idempotency_key <> '')),

  -- A name for mails that belong together ("newsletter-2026-11"), to look at and to cancel as one.
  group_name TEXT
    CONSTRAINT "group_name: letters, digits, _ - . only, at most 64"
    CHECK (group_name IS NULL OR (typeof(group_name) = 'text' AND group_name <> '' AND length(group_name) <= 64 AND group_name NOT GLOB '*[^A-Za-z0-9_.-]*')),

  -- Who sends: one RFC 5322 mailbox each; NULL: as configured.
  from_addr TEXT
    CONSTRAINT "from_addr: a text without control characters"
    CHECK (from_addr IS NULL OR (typeof(from_addr) = 'text' AND instr(from_addr, char(0)) = 0 AND from_addr NOT GLOB ('*[' || char(1) || '-' || char(8) || char(10) || '-' || char(31) || char(127) || ']*'))),
  reply_to TEXT
    CONSTRAINT "reply_to: a text without control characters"
    CHECK (reply_to IS NULL OR (typeof(reply_to) = 'text' AND instr(reply_to, char(0)) = 0 AND reply_to NOT GLOB ('*[' || char(1) || '-' || char(8) || char(10) || '-' || char(31) || char(127) || ']*'))),
  -- Who receives: RFC 5322 address lists, "Ada <ada@example.com>, bob@example.com". At least one of the three.
  to_addrs TEXT NOT NULL DEFAULT ''
    CONSTRAINT "to_addrs: a text without control characters"
    CHECK (typeof(to_addrs) = 'text' AND instr(to_addrs, char(0)) = 0 AND to_addrs NOT GLOB ('*[' || char(1) || '-' || char(8) || char(10) || '-' || char(31) || char(127) || ']*')),
  cc_addrs TEXT NOT NULL DEFAULT ''
    CONSTRAINT "cc_addrs: a text without control characters"
    CHECK (typeof(cc_addrs) = 'text' AND instr(cc_addrs, char(0)) = 0 AND cc_addrs NOT GLOB ('*[' || char(1) || '-' || char(8) || char(10) || '-' || char(31) || char(127) || ']*')),
  bcc_addrs TEXT NOT NULL DEFAULT ''
    CONSTRAINT "bcc_addrs: a text without control characters"
    CHECK (typeof(bcc_addrs) = 'text' AND instr(bcc_addrs, char(0)) = 0 AND bcc_addrs NOT GLOB ('*[' || char(1) || '-' || char(8) || char(10) || '-' || char(31) || char(127) || ']*')),
  -- For mailq. Who has the mail already (JSON array) and who was refused for good (JSON object with the server's words),
  -- when it is not the same for all.
  delivered TEXT
    CONSTRAINT "delivered: a JSON array"
    CHECK (delivered IS NULL OR (typeof(delivered) = 'text' AND CASE WHEN json_valid(delivered) THEN json_type(delivered) = 'array' ELSE 0 END)),
  refused TEXT
    CONSTRAINT "refused: a JSON object"
    CHECK (refused IS NULL OR (typeof(refused) = 'text' AND CASE WHEN json_valid(refused) THEN json_type(refused) = 'object' ELSE 0 END)),

  -- What is sent: the name of a template, its language, and its parameters (a JSON object). It is rendered when the mail
  -- is sent, so a corrected template corrects the waiting mails.
  template TEXT NOT NULL
    CONSTRAINT "template: a name" CHECK (typeof(template) = 'text' AND template <> '' AND length(template) <= 200 AND template NOT GLOB '*[^A-Za-z0-9_./-]*'),
  locale TEXT
    CONSTRAINT "locale: a language tag" CHECK (locale IS NULL OR (typeof(locale) = 'text' AND locale <> '' AND length(locale) <= 35 AND locale NOT GLOB '*[^A-Za-z0-9_-]*')),
  parameters TEXT NOT NULL DEFAULT '{}'
    CONSTRAINT "parameters: a JSON object"
    CHECK (typeof(parameters) = 'text' AND CASE WHEN json_valid(parameters) THEN json_type(parameters) = 'object' ELSE 0 END),
  -- A JSON array of {"filename", "content_type", "storage_ref"}: references to files below a configured
  -- attachment root, never the bytes.
  attachments TEXT NOT NULL DEFAULT '[]'
    CONSTRAINT "attachments: a JSON array"
    CHECK (typeof(attachments) = 'text' AND CASE WHEN json_valid(attachments) THEN json_type(attachments) = 'array' ELSE 0 END),
  -- More headers, a JSON object: {"List-Unsubscribe": "<https://…>"}.
  headers TEXT NOT NULL DEFAULT '{}'
    CONSTRAINT "headers: a JSON object"
    CHECK (typeof(headers) = 'text' AND CASE WHEN json_valid(headers) THEN json_type(headers) = 'object' ELSE 0 END),

  CONSTRAINT "a recipient in to_addrs, cc_addrs or bcc_addrs" CHECK (trim(to_addrs || cc_addrs || bcc_addrs, ' ,;' || char(9)) <> '')
);

-- Each of these serves one question, and its predicate stands word for word in the query that asks it.
CREATE INDEX IF NOT EXISTS email_messages_due ON email_messages (queue, next_attempt_at, id) WHERE status = 'PENDING';
CREATE INDEX IF NOT EXISTS email_messages_again ON email_messages (next_attempt_at) WHERE status = 'PENDING' AND attempt_count > 0;
CREATE INDEX IF NOT EXISTS email_messages_expiring ON email_messages (expires_at) WHERE status = 'PENDING' AND expires_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS email_messages_leased ON email_messages (locked_at) WHERE status = 'SENDING';
CREATE INDEX IF NOT EXISTS email_messages_sent ON email_messages (finished_at) WHERE status = 'SENT';
CREATE INDEX IF NOT EXISTS email_messages_failed ON email_messages (finished_at) WHERE status = 'FAILED';
CREATE INDEX IF NOT EXISTS email_messages_files ON email_messages (id) WHERE attachments <> '[]';
CREATE INDEX IF NOT EXISTS email_messages_group ON email_messages (group_name, status) WHERE group_name IS NOT NULL;
CREATE UNIQUE INDEX IF NOT EXISTS email_messages_key ON email_messages (idempotency_key) WHERE idempotency_key IS NOT NULL;

-- What mailq remembers about itself: the version of this schema.
CREATE TABLE IF NOT EXISTS mailq_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT OR IGNORE INTO mailq_meta (key, value) VALUES ('schema_version', '3');

-- Until when a smarthost is left alone, and why.
CREATE TABLE IF NOT EXISTS mailq_breaker (
  scope TEXT PRIMARY KEY,
  reason TEXT NOT NULL,
  since INTEGER NOT NULL,
  until INTEGER NOT NULL,
  tripped_at INTEGER NOT NULL,
  outages INTEGER NOT NULL DEFAULT 1
) WITHOUT ROWID;

-- What each attempt at a mail came to: when it began, how many milliseconds it took, at which server, how far the dialogue
-- got and what the server said; `recipients` where it was not the same for all. The first and the last attempts of a
-- mail are kept, and they leave with it.
CREATE TABLE IF NOT EXISTS mailq_attempts (
  mail INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  at INTEGER NOT NULL,
  ms INTEGER NOT NULL,
  relay TEXT,
  outcome TEXT NOT NULL,
  phase TEXT,
  code INTEGER,
  message TEXT,
  recipients TEXT,
  PRIMARY KEY (mail, attempt)
) WITHOUT ROWID;

-- The queues that an admin holds: nothing of them is claimed.
CREATE TABLE IF NOT EXISTS mailq_held (queue TEXT PRIMARY KEY, since INTEGER NOT NULL, reason TEXT) WITHOUT ROWID;

-- Who is to get no mail, in lower case.
CREATE TABLE IF NOT EXISTS mailq_suppressed (address TEXT PRIMARY KEY, since INTEGER NOT NULL, reason TEXT) WITHOUT ROWID;

-- How many mails a queue handed over in which slice of time, for `rate`.
CREATE TABLE IF NOT EXISTS mailq_rate (
  queue TEXT NOT NULL,
  slice INTEGER NOT NULL,
  at INTEGER NOT NULL,
  mails INTEGER NOT NULL,
  PRIMARY KEY (queue, slice, at)
) WITHOUT ROWID;

-- Repeats that `enqueue --suppress-for` left out: after which mail, until when, and how many so far.
CREATE TABLE IF NOT EXISTS mailq_repeats (
  key TEXT NOT NULL,
  template TEXT NOT NULL,
  mail INTEGER NOT NULL,
  until INTEGER NOT NULL,
  repeats INTEGER NOT NULL,
  PRIMARY KEY (key, template)
) WITHOUT ROWID;

-- When each command last ran to its end, and what it did (a JSON object).
CREATE TABLE IF NOT EXISTS mailq_runs (command TEXT PRIMARY KEY, at INTEGER NOT NULL, result TEXT NOT NULL) WITHOUT ROWID;

-- What has ever happened, for monitoring: these only grow, also when mails are pruned.
CREATE TABLE IF NOT EXISTS mailq_counter (
  name TEXT NOT NULL,
  queue TEXT NOT NULL,
  label TEXT NOT NULL,
  value INTEGER NOT NULL,
  PRIMARY KEY (name, queue, label)
) WITHOUT ROWID;

-- How many mails finished in which hour (finished_at / 3600000), kept by the triggers below so that `mailq stats` need
-- not count the archive; what waits is counted in its index. An upsert does its work under an INSERT OR … too; the conflict
-- clause of that statement takes the place of any other.
CREATE TABLE IF NOT EXISTS mailq_tally (
  queue TEXT NOT NULL,
  status TEXT NOT NULL,
  hour INTEGER NOT NULL,
  mails INTEGER NOT NULL,
  PRIMARY KEY (queue, status, hour)
) WITHOUT ROWID;

CREATE TRIGGER IF NOT EXISTS mailq_tally_insert AFTER INSERT ON email_messages WHEN NEW.status IN ('SENT', 'FAILED') BEGIN
  INSERT INTO mailq_tally (queue, status, hour, mails)
    VALUES (NEW.queue, NEW.status, coalesce(NEW.finished_at, 0) / 3600000, 1)
    ON CONFLICT (queue, status, hour) DO UPDATE SET mails = mails + 1;
END;

CREATE TRIGGER IF NOT EXISTS mailq_tally_update AFTER UPDATE OF queue, status, finished_at ON email_messages
WHEN OLD.status IN ('SENT', 'FAILED') OR NEW.status IN ('SENT', 'FAILED') BEGIN
  UPDATE mailq_tally SET mails = mails - 1
    WHERE OLD.status IN ('SENT', 'FAILED')
      AND queue = OLD.queue AND status = OLD.status AND hour = coalesce(OLD.finished_at, 0) / 3600000;
  INSERT INTO mailq_tally (queue, status, hour, mails)
    SELECT NEW.queue, NEW.status, coalesce(NEW.finished_at, 0) / 3600000, 1 WHERE NEW.status IN ('SENT', 'FAILED')
    ON CONFLICT (queue, status, hour) DO UPDATE SET mails = mails + 1;
END;

-- With a mail goes its history.
CREATE TRIGGER IF NOT EXISTS mailq_delete AFTER DELETE ON email_messages BEGIN
  DELETE FROM mailq_attempts WHERE mail = OLD.id;
  UPDATE mailq_tally SET mails = mails - 1
    WHERE OLD.status IN ('SENT', 'FAILED')
      AND queue = OLD.queue AND status = OLD.status AND hour = coalesce(OLD.finished_at, 0) / 3600000;
END;
