//! The schema's version: created, migrated, or refused.
//!
//! `schema.sql` is the whole current schema. `MIGRATIONS` only ever grows: entry `n` leads from version `n + 1` to the
//! next. `user_version`, `application_id`, `journal_mode` and `auto_vacuum` of a database we did not create stay alone.

use super::{Store, error};
use crate::domain::fault::{Fault, Kind};
use rusqlite::{Connection, OptionalExtension};

const SCHEMA: &str = include_str!("../../schema.sql");

/// Append only.
const MIGRATIONS: &[&str] = &[];

const CURRENT: usize = MIGRATIONS.len() + 1;

/// Creates what is missing and migrates what is old. `created`: the file is ours, so WAL is too.
pub fn ensure(store: &mut Store, created: bool) -> Result<(), Fault> {
    if created {
        store
            .conn
            .pragma_update(None, "journal_mode", "WAL")
            .map_err(|e| error::fault(&store.path, &e))?;
    }
    if version(store)?.is_none() {
        store.write(|tx| tx.execute_batch(SCHEMA))?;
    }
    migrate(store)
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
    store.write(|tx| {
        // Another process may have been faster.
        let found = read_version(tx)?.unwrap_or(CURRENT);
        for step in MIGRATIONS.iter().skip(found.saturating_sub(1)) {
            tx.execute_batch(step)?;
        }
        tx.execute(
            "UPDATE mailq_meta SET value = ?1 WHERE key = 'schema_version'",
            [CURRENT.to_string()],
        )?;
        Ok(())
    })
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
    Err(Fault::new(
        Kind::Config,
        format!(
            "database {} has schema version {found}, newer than this mailq knows ({CURRENT})",
            store.path.display()
        ),
    )
    .hint("nothing was changed; upgrade mailq"))
}

fn version(store: &Store) -> Result<Option<usize>, Fault> {
    read_version(&store.conn).map_err(|e| error::fault(&store.path, &e))
}

fn read_version(conn: &Connection) -> Result<Option<usize>, rusqlite::Error> {
    let known: bool = conn
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'mailq_meta')")?
        .query_row([], |row| row.get(0))?;
    if !known {
        return Ok(None);
    }
    let text: Option<String> = conn
        .prepare_cached("SELECT value FROM mailq_meta WHERE key = 'schema_version'")?
        .query_row([], |row| row.get(0))
        .optional()?;
    // A version that is no number was not written by any mailq up to this one.
    Ok(text.map(|text| text.parse().unwrap_or(usize::MAX)))
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
