//! The schema as an application meets it: a plain INSERT enqueues, a wrong value is refused in that program, and its
//! database stays its own.

use crate::support::rows::Rows;
use crate::support::sandbox::{Sandbox, Seen, skipped};
use std::fs;
use std::path::Path;

const SCHEMA: &str = include_str!("../../schema.sql");

/// A sandbox whose database an application made: with a table of its own, and ours beside it.
fn application() -> Sandbox {
    let sandbox = Sandbox::new();
    let rows = Rows::of(&sandbox);
    rows.run("CREATE TABLE orders (number INTEGER)");
    rows.run(SCHEMA);
    sandbox
}

/// Runs another program, if this machine has it: none of them is needed to build and test `mailq`.
fn other(sandbox: &Sandbox, program: &str, args: &[&str], input: &str) -> Option<Seen> {
    let there = sandbox.command(program).arg("--version").output();
    if there.is_ok_and(|output| output.status.success()) {
        return Some(sandbox.other(program, args, input));
    }
    skipped(&format!("{program} is not installed"));
    None
}

fn assert_one_order_and_its_mail(sandbox: &Sandbox) {
    sandbox.mailq(&["send-batch"]).assert_code(0);
    let mails = sandbox.mails();
    assert_eq!(mails.len(), 1, "{mails:#?}");
    assert!(mails[0].contains("Subject: Hello Ada"), "{}", mails[0]);
    let rows = Rows::of(sandbox);
    assert_eq!(rows.all::<i64>("SELECT number FROM orders", []), [1]);
    assert_eq!(rows.statuses(), [("SENT".to_owned(), 1)].into());
}

#[test]
fn python_enqueues_in_its_own_transaction() {
    let sandbox = application();
    let script = r#"
import sqlite3, json
db = sqlite3.connect("mailq.db")
def order(number, name):
    db.execute("INSERT INTO orders VALUES (?)", (number,))
    db.execute("INSERT INTO email_messages (to_addrs, template, parameters) VALUES (?, ?, ?)",
               (f"{name} <{name.lower()}@example.com>", "hello", json.dumps({"name": name})))
with db:
    order(1, "Ada")
try:
    with db:
        order(2, "Bob")
        raise RuntimeError("the application changed its mind")
except RuntimeError:
    pass
try:
    with db:
        order(3, "Eve\r\nBcc: x@example.org")
    print("accepted")
except sqlite3.IntegrityError as refused:
    print("refused:", refused)
"#;
    if let Some(seen) = other(&sandbox, "python3", &["-"], script) {
        seen.assert_snapshot(
            "exit 0\n--- stdout\n\
             refused: CHECK constraint failed: to_addrs: a text without control characters\n--- stderr",
        );
        assert_one_order_and_its_mail(&sandbox);
    }
}

#[test]
fn the_sqlite3_shell_enqueues_in_its_own_transaction() {
    let sandbox = application();
    let script = r#"
BEGIN;
INSERT INTO orders VALUES (1);
INSERT INTO email_messages (to_addrs, template, parameters) VALUES ('ada@example.com', 'hello', '{"name":"Ada"}');
COMMIT;
BEGIN;
INSERT INTO orders VALUES (2);
INSERT INTO email_messages (to_addrs, template, parameters) VALUES ('bob@example.com', 'hello', '{"name":"Bob"}');
ROLLBACK;
INSERT INTO email_messages (to_addrs, template, parameters) VALUES ('eve@example.com', 'hello', '{name: 1');
"#;
    if let Some(seen) = other(&sandbox, "sqlite3", &["mailq.db"], script) {
        assert_ne!(seen.code, 0, "{seen}");
        assert!(seen.err.contains("parameters: a JSON object"), "{seen}");
        assert_one_order_and_its_mail(&sandbox);
    }
}

#[test]
fn a_wrong_value_is_refused_in_the_program_that_writes_it() {
    let sandbox = application();
    let rows = Rows::of(&sandbox);
    // The columns and values beside those of a good mail, and what the refusal must name.
    let wrong = [
        ("parameters", "'no JSON'", "parameters"),
        ("parameters", "'[1, 2]'", "parameters"),
        ("parameters", "'\"x\"'", "parameters"),
        ("parameters", "'null'", "parameters"),
        ("parameters", "''", "parameters"),
        ("parameters", "NULL", "parameters"),
        ("parameters", "x'7b7d'", "parameters"),
        ("headers", "'[]'", "headers"),
        ("attachments", "'{}'", "attachments"),
        ("attachments", "'[}'", "attachments"),
        ("delivered", "'{}'", "delivered"),
        ("refused", "'[]'", "refused"),
        ("next_attempt_at", "'2026-11-29 10:00:00'", "next_attempt_at"),
        ("next_attempt_at", "'2026-11-29T10:00:00.000Z'", "next_attempt_at"),
        ("next_attempt_at", "'now'", "next_attempt_at"),
        ("next_attempt_at", "''", "next_attempt_at"),
        ("next_attempt_at", "NULL", "next_attempt_at"),
        ("next_attempt_at", "1764410400", "next_attempt_at"),
        ("next_attempt_at", "1764410400.5", "next_attempt_at"),
        ("next_attempt_at", "1764410400000000", "next_attempt_at"),
        ("next_attempt_at", "-1", "next_attempt_at"),
        ("created_at", "1764410400", "created_at"),
        ("expires_at", "'tomorrow'", "expires_at"),
        ("expires_at", "1764410400", "expires_at"),
        ("id", "0", "id"),
        ("id", "9223372036854775807", "id"),
        ("status", "'QUEUED'", "status"),
        ("status", "'pending'", "status"),
        ("status", "NULL", "status"),
        ("failure", "'bored'", "failure"),
        ("attempt_count", "'abc'", "attempt_count"),
        ("attempt_count", "9223372036854775807", "attempt_count"),
        ("attempt_count", "-1", "attempt_count"),
        ("max_attempts", "0", "max_attempts"),
        ("max_attempts", "1.5", "max_attempts"),
        ("to_addrs", "''", "a recipient"),
        ("to_addrs", "' , '", "a recipient"),
        ("to_addrs", "NULL", "to_addrs"),
        ("to_addrs", "x'6140622e63'", "to_addrs"),
        ("to_addrs", "'a@b.example' || char(13, 10) || 'Bcc: x@y.example'", "to_addrs"),
        ("to_addrs", "'a@b.example' || char(10)", "to_addrs"),
        ("to_addrs", "'a@b.example' || char(0)", "to_addrs"),
        ("cc_addrs", "'E' || char(27) || '<e@b.example>'", "cc_addrs"),
        ("bcc_addrs", "'a@b.example' || char(127)", "bcc_addrs"),
        ("from_addr", "'a@b.example' || char(13)", "from_addr"),
        ("reply_to", "'a@b.example' || char(10)", "reply_to"),
        ("template", "NULL", "template"),
        ("template", "''", "template"),
        ("template", "'../../etc;'", "template"),
        ("queue", "''", "queue"),
        ("queue", "'a b'", "queue"),
        ("message_id", "'a' || char(10) || 'b'", "message_id"),
        ("message_id", "'a@b'", "message_id"),
        ("idempotency_key", "''", "idempotency_key"),
    ];
    let insert = |column: &str, value: &str| {
        let good = [
            ("to_addrs", "'ada@example.com'"),
            ("template", "'hello'"),
            ("parameters", "'{\"name\":\"Ada\"}'"),
        ];
        let mut columns = vec![column];
        let mut values = vec![value];
        for (name, text) in good.into_iter().filter(|(name, _)| *name != column) {
            columns.push(name);
            values.push(text);
        }
        format!(
            "INSERT INTO email_messages ({}) VALUES ({})",
            columns.join(", "),
            values.join(", ")
        )
    };
    for (column, value, named) in wrong {
        match rows.refusal(&insert(column, value)) {
            Some(told) => assert!(told.contains(named), "{column} = {value}: {told}"),
            None => panic!("{column} = {value} was taken"),
        }
    }
    // The same statement is taken where the value is right, so that the refusals above are about the value.
    for (column, value) in [
        ("queue", "'bulk'"),
        ("next_attempt_at", "1764410400000"),
        ("next_attempt_at", "0"),
        ("to_addrs", "'\"Doe, Jóhn\"' || char(9) || '<j@example.com>'"),
        ("max_attempts", "1"),
        ("idempotency_key", "'order 17'"),
    ] {
        assert_eq!(rows.refusal(&insert(column, value)), None, "{column} = {value}");
    }
    let twice = insert("idempotency_key", "'order 17'");
    assert!(rows.refusal(&twice).unwrap().contains("idempotency_key"));
}

/// What an application set up in its own file, and what is none of ours.
fn character(rows: &Rows) -> (String, i64, i64, i64, Vec<String>) {
    (
        rows.one("PRAGMA journal_mode"),
        rows.one("PRAGMA user_version"),
        rows.one("PRAGMA application_id"),
        rows.one("PRAGMA auto_vacuum"),
        rows.all(
            "SELECT sql FROM sqlite_master WHERE name NOT LIKE 'email%' AND name NOT LIKE 'mailq%'
             AND sql IS NOT NULL AND name NOT LIKE 'sqlite%' ORDER BY name",
            [],
        ),
    )
}

#[test]
fn the_database_of_an_application_stays_its_own() {
    for mode in ["delete", "truncate", "persist", "wal"] {
        let sandbox = Sandbox::new();
        let path = sandbox.path("app.db");
        let before = {
            let rows = Rows::open(&path);
            rows.run(
                "PRAGMA auto_vacuum = 2; PRAGMA user_version = 7; PRAGMA application_id = 99;",
            );
            rows.run(&format!("PRAGMA journal_mode = {mode}"));
            rows.run(
                "CREATE TABLE orders (number INTEGER); CREATE VIEW many AS SELECT * FROM orders;",
            );
            rows.run("INSERT INTO orders VALUES (17)");
            character(&rows)
        };
        assert_eq!(before.1, 7);
        let database = path.to_str().unwrap();
        for args in [
            &["enqueue", "--to", "ada@example.com", "--template", "hello", "--param", "name=Ada"][..],
            &["stats"],
            &["send-batch"],
            &["reap"],
            &["prune", "--older-than", "1d"],
        ] {
            let args: Vec<&str> = ["--db", database].iter().chain(args).copied().collect();
            sandbox.mailq(&args).assert_code(0);
        }
        assert_eq!(sandbox.mails().len(), 1);
        let rows = Rows::open(&path);
        // `truncate` and `persist` are settings of a connection; in the file they are `delete`.
        let mode = if mode == "wal" { "wal" } else { "delete" };
        assert_eq!(character(&rows), (mode.to_owned(), before.1, before.2, before.3, before.4));
        assert_eq!(rows.all::<i64>("SELECT number FROM orders", []), [17]);
        assert_eq!(rows.one::<String>("PRAGMA integrity_check"), "ok");
    }
}

#[test]
fn a_newer_schema_is_refused_and_untouched() {
    let sandbox = application();
    {
        let rows = Rows::of(&sandbox);
        rows.run(
            "INSERT INTO email_messages (to_addrs, template) VALUES ('ada@example.com', 'hello')",
        );
        rows.run("UPDATE mailq_meta SET value = '999' WHERE key = 'schema_version'");
    }
    let before = fs::read(sandbox.database()).unwrap();
    for args in [
        &["enqueue", "--to", "a@example.com", "--subject", "S", "--body", "B"][..],
        &["send-batch"],
        &["reap"],
        &["prune", "--older-than", "0s"],
        &["stats"],
        &["list"],
        &["show", "1"],
        &["cancel", "1"],
        &["retry", "1"],
    ] {
        let seen = sandbox.mailq(args);
        assert_eq!(seen.code, 78, "{args:?}: {seen}");
        assert!(seen.err.contains("schema version 999"), "{args:?}: {seen}");
        assert_eq!(fs::read(sandbox.database()).unwrap(), before, "{args:?}");
    }
    let beside = ["mailq.db-wal", "mailq.db-shm", "mailq.db-journal"];
    assert!(beside.iter().all(|name| !sandbox.path(name).exists()));
    assert_eq!(sandbox.mails(), Vec::<String>::new());
}

#[test]
fn reap_brings_an_earlier_schema_up_to_date_and_says_so() {
    let sandbox = Sandbox::new();
    Rows::of(&sandbox).run(include_str!("../schemas/v1.sql"));
    let seen = sandbox.mailq(&["reap"]);
    assert!(seen.code == 0 && seen.err.contains("schema version 1 became 3"), "{seen}");
    let again = sandbox.mailq(&["reap"]);
    assert!(again.code == 0 && again.err.is_empty(), "{again}");
}

#[test]
fn a_mail_of_each_earlier_schema_is_sent() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemas");
    let mut versions = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let schema = fs::read_to_string(entry.unwrap().path()).unwrap();
        let sandbox = Sandbox::new();
        let rows = Rows::of(&sandbox);
        rows.run(&schema);
        rows.run(
            r#"INSERT INTO email_messages (to_addrs, template, parameters)
               VALUES ('ada@example.com', 'hello', '{"name":"Ada"}')"#,
        );
        sandbox.mailq(&["send-batch"]).assert_code(0);
        assert_eq!(sandbox.mails().len(), 1);
        let current = Rows::open(&sandbox.path("current.db"));
        current.run(SCHEMA);
        let version = "SELECT value FROM mailq_meta WHERE key = 'schema_version'";
        assert_eq!(rows.one::<String>(version), current.one::<String>(version));
        versions += 1;
    }
    assert!(versions > 0);
}
