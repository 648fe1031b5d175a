//! Opens a database that `mailq` wrote in SQLite 3.31, as an application with an older SQLite would, and enqueues,
//! reads and checks there. One word of the schema that 3.31 does not know would make the whole file "malformed".
//!
//! `sqlite331 DATABASE` prints the id of the mail that it inserted.

use rusqlite::{Connection, Result, params};

fn main() -> Result<()> {
    let version = rusqlite::version();
    assert!(version.starts_with("3.31."), "this is SQLite {version}, not 3.31");
    let path = std::env::args_os().nth(1).expect("usage: sqlite331 DATABASE");
    let mut db = Connection::open(path)?;

    let objects: i64 = db.query_row(
        "SELECT count(*) FROM sqlite_master WHERE name LIKE 'email_messages%'",
        params![],
        |row| row.get(0),
    )?;
    assert!(objects > 0, "this is no database of mailq");

    let transaction = db.transaction()?;
    transaction.execute_batch("CREATE TABLE application (note TEXT)")?;
    transaction.execute("INSERT INTO application VALUES ('the order')", params![])?;
    transaction.execute(
        "INSERT INTO email_messages (to_addrs, template, parameters) VALUES (?1, ?2, ?3)",
        params!["old@example.com", "message", r#"{"subject":"3.31","body":"from 3.31"}"#],
    )?;
    let id = transaction.last_insert_rowid();
    transaction.commit()?;

    let (status, token, due): (String, String, i64) = db.query_row(
        "SELECT status, message_id, next_attempt_at FROM email_messages WHERE id = ?1",
        params![id],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    assert_eq!(status, "PENDING");
    assert!(!token.is_empty());
    assert!(due > 1_600_000_000_000, "{due} is no time in milliseconds since 1970");
    let refused = db.execute(
        "INSERT INTO email_messages (to_addrs, template, parameters) VALUES ('a@example.com', 'message', 'no JSON')",
        params![],
    );
    assert!(refused.is_err(), "the CHECK does not work in 3.31");

    let views: Vec<String> = db
        .prepare("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")?
        .query_map(params![], |row| row.get(0))?
        .collect::<Result<_>>()?;
    for name in views {
        db.query_row(&format!("SELECT count(*) FROM \"{name}\""), params![], |_| Ok(()))?;
    }
    let sound: String = db.query_row("PRAGMA integrity_check", params![], |row| row.get(0))?;
    assert_eq!(sound, "ok");
    println!("{id}");
    Ok(())
}
