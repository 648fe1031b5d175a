//! The schema's version: created, migrated, or refused.
//!
//! `schema.sql` is the whole current schema. A version only adds: tables, columns with a default, words to a CHECK. So
//! one way leads from every earlier version to it: the rows move into the table as it is now, if it was another then, and
//! the triggers are made anew. `user_version`,
//! `application_id`, `journal_mode` and `auto_vacuum` of a database we did not create stay alone.

use super::{PATIENCE, Store, error};
use crate::domain::fault::{Fault, Kind};
use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction};
use std::thread;
use std::time::{Duration, Instant};

const SCHEMA: &str = include_str!("../../schema.sql");

const CURRENT: usize = 3;

/// The version that brought the table of the mails as it is now.
const TABLE: usize = 2;

/// What was not written by any mailq up to this one.
const NO_NUMBER: usize = usize::MAX;

/// Creates what is missing and migrates what is old. `created`: the file is ours, so WAL is too.
pub fn ensure(store: &mut Store, created: bool) -> Result<(), Fault> {
    if created {
        write_ahead(&store.conn).map_err(|e| error::fault(&store.path, &e))?;
    }
    if version(store)?.is_none() {
        store.write(|tx| tx.execute_batch(SCHEMA))?;
    }
    migrate(store)
}

/// SQLite does not wait here for others who look into the new file: it asks for the whole file while it reads it.
fn write_ahead(conn: &Connection) -> Result<(), rusqlite::Error> {
    let since = Instant::now();
    loop {
        match conn.pragma_update(None, "journal_mode", "WAL") {
            Err(e)
                if e.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && since.elapsed() < PATIENCE =>
            {
                thread::sleep(Duration::from_millis(1));
            }
            result => return result,
        }
    }
}

/// Migrates a database that has our tables; one without is refused.
pub fn migrate(store: &mut Store) -> Result<(), Fault> {
    let Some(found) = version(store)? else {
        return Err(no_tables(store));
    };
    if found == CURRENT {
        return Ok(());
    }
    not_newer(store, found)?;
    // Neither can be set inside a transaction. A reference or a view of the application goes on meaning the table of
    // this name, and what got past the CHECKs moves as it is.
    loosen(store, true)?;
    let moved = store.write(|tx| {
        // Another process may have been faster.
        match read_version(tx)? {
            Some(CURRENT) => Ok(false),
            Some(TABLE..) => replace(tx, "'trigger'", |tx| tx.execute_batch(SCHEMA)).map(|()| true),
            _ => replace(tx, "'index', 'trigger'", move_rows).map(|()| true),
        }
    });
    loosen(store, false)?;
    store.upgraded = moved?.then_some([found, CURRENT]);
    Ok(())
}

fn loosen(store: &Store, on: bool) -> Result<(), Fault> {
    let pragmas =
        [("foreign_keys", !on), ("legacy_alter_table", on), ("ignore_check_constraints", on)];
    pragmas
        .into_iter()
        .try_for_each(|(name, value)| store.conn.pragma_update(None, name, value))
        .map_err(|e| error::fault(&store.path, &e))
}

/// Drops what of the kinds `objects` stands on the table, and lets `work` make all of it as `SCHEMA` has it. Indexes and
/// triggers that the application put on the table stay.
fn replace(
    tx: &Transaction<'_>,
    objects: &str,
    work: impl FnOnce(&Transaction<'_>) -> Result<(), rusqlite::Error>,
) -> Result<(), rusqlite::Error> {
    let of_table = format!(
        "FROM sqlite_master WHERE tbl_name = 'email_messages' AND sql IS NOT NULL AND type IN ({objects})"
    );
    let drops = texts(tx, &format!("SELECT format('DROP %s \"%w\";', type, name) {of_table}"))?;
    let foreign = format!(
        "SELECT sql {of_table} AND name NOT GLOB 'email_messages_*' AND name NOT GLOB 'mailq_*'"
    );
    let foreign = texts(tx, &foreign)?;
    tx.execute_batch(&drops.concat())?;
    work(tx)?;
    tx.execute_batch(&format!(
        "UPDATE mailq_meta SET value = '{CURRENT}' WHERE key = 'schema_version';"
    ))?;
    foreign.iter().try_for_each(|sql| tx.execute_batch(sql))
}

/// Moves the rows into the table of `SCHEMA`, whose triggers count anew what is finished. The highest id ever given stays.
fn move_rows(tx: &Transaction<'_>) -> Result<(), rusqlite::Error> {
    let columns = texts(tx, "SELECT name FROM pragma_table_info('email_messages')")?.join(", ");
    tx.execute_batch(
        "ALTER TABLE email_messages RENAME TO mailq_earlier; DELETE FROM mailq_tally;",
    )?;
    tx.execute_batch(SCHEMA)?;
    tx.execute_batch(&format!(
        "INSERT INTO email_messages ({columns}) SELECT {columns} FROM mailq_earlier;
         INSERT INTO sqlite_sequence (name, seq) SELECT 'email_messages', 0
           WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'email_messages');
         UPDATE sqlite_sequence SET seq = max(seq, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'mailq_earlier'), 0))
           WHERE name = 'email_messages';
         DROP TABLE mailq_earlier;"
    ))
}

fn texts(tx: &Transaction<'_>, sql: &str) -> Result<Vec<String>, rusqlite::Error> {
    let mut statement = tx.prepare(sql)?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// For a reader: the tables are there and not newer than this program.
pub fn expect_readable(store: &Store) -> Result<(), Fault> {
    match version(store)? {
        None => Err(no_tables(store)),
        Some(CURRENT) => Ok(()),
        Some(found) => {
            not_newer(store, found)?;
            Err(Fault::new(
                Kind::Config,
                format!(
                    "database {} has schema version {found}, older than {CURRENT}",
                    store.path.display()
                ),
            )
            .hint("any writing command brings it up to date: mailq reap"))
        }
    }
}

fn no_tables(store: &Store) -> Fault {
    Fault::new(Kind::NoInput, format!("database {} has no mail queue", store.path.display()))
        .hint("`mailq enqueue` creates the tables; or name another database with --db")
}

fn not_newer(store: &Store, found: usize) -> Result<(), Fault> {
    if found <= CURRENT {
        return Ok(());
    }
    let db = store.path.display();
    let words = match found {
        NO_NUMBER => format!("database {db} has a schema version that is no number"),
        _ => format!(
            "database {db} has schema version {found}, newer than this mailq knows ({CURRENT})"
        ),
    };
    Err(Fault::new(Kind::Config, words).hint("nothing was changed; upgrade mailq"))
}

fn version(store: &Store) -> Result<Option<usize>, Fault> {
    read_version(&store.conn).map_err(|e| error::fault(&store.path, &e))
}

fn read_version(conn: &Connection) -> Result<Option<usize>, rusqlite::Error> {
    let sql = "SELECT value FROM mailq_meta WHERE key = 'schema_version'";
    let text: Result<Option<String>, _> = conn
        .prepare_cached(sql)
        .and_then(|mut version| version.query_row([], |row| row.get(0)).optional());
    match text {
        Ok(text) => Ok(text.map(|text| text.parse().unwrap_or(NO_NUMBER))),
        // Looked for only now, since nearly every database has it.
        Err(_) if !conn.table_exists(None, "mailq_meta")? => Ok(None),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Access;
    use std::fs;

    fn objects(conn: &Connection) -> Vec<(String, String)> {
        let sql = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name";
        let mut statement = conn.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.map(Result::unwrap).collect()
    }

    #[test]
    fn each_earlier_version_becomes_the_current_one() {
        let dir = tempfile::tempdir().unwrap();
        let fresh = Store::open(&dir.path().join("fresh.db"), Access::Create).unwrap();
        for version in 1..=CURRENT {
            let sql = fs::read_to_string(format!("tests/schemas/v{version}.sql")).unwrap();
            let path = dir.path().join(format!("v{version}.db"));
            Connection::open(&path).unwrap().execute_batch(&sql).unwrap();
            let migrated = Store::open(&path, Access::Write).unwrap();
            assert_eq!(objects(&migrated.conn), objects(&fresh.conn), "from version {version}");
            assert_eq!(read_version(&migrated.conn).unwrap(), Some(CURRENT));
        }
        assert!(
            !std::path::Path::new(&format!("tests/schemas/v{}.sql", CURRENT + 1)).exists(),
            "a schema that no migration leads to"
        );
    }

    #[test]
    fn mails_ids_and_what_an_application_tied_to_them_survive_a_migration() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("app.db");
        let app = Connection::open(&path).unwrap();
        app.execute_batch(&fs::read_to_string("tests/schemas/v1.sql").unwrap()).unwrap();
        app.execute_batch(
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, mail INTEGER REFERENCES email_messages (id) ON DELETE CASCADE);
             CREATE VIEW waiting AS SELECT id FROM email_messages WHERE status = 'PENDING';
             CREATE INDEX by_template ON email_messages (template);
             CREATE TABLE heard (mail INTEGER);
             CREATE TRIGGER hear AFTER UPDATE OF status ON email_messages BEGIN INSERT INTO heard VALUES (NEW.id); END;
             INSERT INTO email_messages (to_addrs, template) VALUES ('a@x.example', 't'), ('b@x.example', 't'), ('c@x.example', 't');
             UPDATE email_messages SET status = 'SENT', finished_at = 7200000 WHERE id = 1;
             DELETE FROM email_messages WHERE id = 3;
             INSERT INTO orders (mail) VALUES (1), (2);
             PRAGMA ignore_check_constraints = ON;
             UPDATE email_messages SET locale = '' WHERE id = 2;",
        )
        .unwrap();
        drop(app);
        let store = Store::open(&path, Access::Write).unwrap();
        let number = |sql: &str| store.conn.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(number("SELECT count(*) FROM orders JOIN email_messages m ON m.id = mail"), 2);
        assert_eq!(number("SELECT id FROM waiting"), 2);
        assert_eq!(number("SELECT sum(mails) FROM mailq_tally"), 1);
        assert_eq!(number("SELECT mails FROM mailq_tally WHERE status = 'SENT' AND hour = 2"), 1);
        store.execute("UPDATE email_messages SET status = 'FAILED', finished_at = 1 WHERE id = 2");
        assert_eq!(number("SELECT count(*) FROM heard WHERE mail = 2"), 1);
        assert_eq!(number("SELECT count(*) FROM sqlite_master WHERE name = 'by_template'"), 1);
        assert_eq!(number("PRAGMA foreign_keys"), 1);
        assert_eq!(number("PRAGMA ignore_check_constraints"), 0);
        store
            .execute("INSERT INTO email_messages (to_addrs, template) VALUES ('d@x.example', 't')");
        assert_eq!(number("SELECT max(id) FROM email_messages"), 4, "an id was given twice");
    }

    #[test]
    fn where_the_table_is_the_same_its_rows_stay_where_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("app.db");
        let app = Connection::open(&path).unwrap();
        app.execute_batch(&fs::read_to_string("tests/schemas/v2.sql").unwrap()).unwrap();
        app.execute_batch(
            "CREATE TABLE heard (mail INTEGER);
             CREATE TRIGGER hear AFTER INSERT ON email_messages BEGIN INSERT INTO heard VALUES (NEW.id); END;
             INSERT INTO email_messages (to_addrs, template) VALUES ('a@x.example', 't'), ('b@x.example', 't');
             UPDATE email_messages SET status = 'SENT', finished_at = 7200000;",
        )
        .unwrap();
        let root = "SELECT rootpage FROM sqlite_master WHERE name = 'email_messages'";
        let number = |conn: &Connection, sql: &str| {
            conn.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap()
        };
        let before = number(&app, root);
        drop(app);
        let store = Store::open(&path, Access::Write).unwrap();
        assert_eq!(number(&store.conn, root), before);
        store.execute("UPDATE email_messages SET status = 'FAILED', finished_at = 1 WHERE id = 2");
        store
            .execute("INSERT INTO email_messages (to_addrs, template) VALUES ('c@x.example', 't')");
        assert_eq!(number(&store.conn, "SELECT count(*) FROM heard"), 3);
        let tally = "SELECT group_concat(status || mails) FROM mailq_tally WHERE mails > 0";
        let tally: String = store.conn.query_row(tally, [], |row| row.get(0)).unwrap();
        assert_eq!(tally, "FAILED1,SENT1");
    }

    #[test]
    fn a_newer_schema_is_refused_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("q.db");
        let store = Store::open(&path, Access::Create).unwrap();
        let newer = (CURRENT + 1).to_string();
        store.conn.execute("UPDATE mailq_meta SET value = ?1", [&newer]).unwrap();
        drop(store);
        let before = fs::read(&path).unwrap();
        for access in [Access::Create, Access::Write, Access::Read] {
            let Err(fault) = Store::open(&path, access) else { panic!("{access:?} was let in") };
            assert_eq!(fault.kind(), Kind::Config);
            assert!(fault.to_string().contains(&newer), "{fault}");
        }
        assert_eq!(fs::read(&path).unwrap(), before);
    }

    #[test]
    fn a_version_that_is_no_number_is_told_as_such() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("q.db");
        let store = Store::open(&path, Access::Create).unwrap();
        store.execute("UPDATE mailq_meta SET value = 'two'");
        drop(store);
        let Err(fault) = Store::open(&path, Access::Write) else { panic!("it was let in") };
        assert!(fault.to_string().ends_with("a schema version that is no number"), "{fault}");
    }

    #[test]
    fn a_table_of_the_same_name_is_told_as_such_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("app.db");
        let app = Connection::open(&path).unwrap();
        app.execute_batch("CREATE TABLE email_messages (id INTEGER PRIMARY KEY, x)").unwrap();
        let before = objects(&app);
        let Err(fault) = Store::open(&path, Access::Create) else { panic!("it was let in") };
        assert_eq!(fault.kind(), Kind::Config);
        assert!(!fault.to_string().contains('\n'), "{fault}");
        assert_eq!(objects(&app), before);
    }

    #[test]
    fn an_application_keeps_its_own_settings() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("app.db");
        let app = Connection::open(&path).unwrap();
        app.execute_batch(
            "PRAGMA user_version = 7; PRAGMA application_id = 99; CREATE TABLE orders (id)",
        )
        .unwrap();
        drop(app);
        let store = Store::open(&path, Access::Create).unwrap();
        let number = |pragma| {
            store.conn.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)).unwrap()
        };
        assert_eq!((number("user_version"), number("application_id")), (7, 99));
        let mode: String =
            store.conn.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        assert_eq!(mode, "delete");
    }
}
