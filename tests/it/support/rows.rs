//! The database as any other program sees it: plain SQL, no code of `mailq`.

use super::sandbox::Sandbox;
use rusqlite::{Connection, Params, Transaction, TransactionBehavior, types::FromSql};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// A database opened by a test, in the place of an application.
pub struct Rows {
    connection: Connection,
}

impl Rows {
    /// The sandbox's database; it is made if it is not there.
    pub fn of(sandbox: &Sandbox) -> Rows {
        Rows::open(&sandbox.database())
    }

    /// The database in this file; it is made if it is not there.
    pub fn open(path: &Path) -> Rows {
        let connection = Connection::open(path).unwrap();
        connection.busy_timeout(Duration::from_secs(60)).unwrap();
        Rows { connection }
    }

    /// Begins a transaction that will write.
    pub fn transaction(&mut self) -> Transaction<'_> {
        self.connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap()
    }

    /// Runs one or more statements, which must work.
    #[track_caller]
    pub fn run(&self, sql: &str) {
        if let Err(error) = self.connection.execute_batch(sql) {
            panic!("{error}: {sql}");
        }
    }

    /// Runs one statement and tells how the database refused it, if it did.
    pub fn refusal(&self, sql: &str) -> Option<String> {
        self.connection.execute_batch(sql).err().map(|error| error.to_string())
    }

    /// The first column of all rows of a query.
    #[track_caller]
    pub fn all<T: FromSql>(&self, sql: &str, params: impl Params) -> Vec<T> {
        let mut statement = self.connection.prepare(sql).unwrap();
        let rows = statement.query_map(params, |row| row.get(0)).unwrap();
        rows.map(|row| row.unwrap()).collect()
    }

    /// The one value that a query has.
    #[track_caller]
    pub fn one<T: FromSql>(&self, sql: &str) -> T {
        match self.connection.query_row(sql, [], |row| row.get(0)) {
            Ok(value) => value,
            Err(error) => panic!("{error}: {sql}"),
        }
    }

    /// One column of one mail.
    #[track_caller]
    pub fn of_mail<T: FromSql>(&self, id: i64, column: &str) -> T {
        self.one(&format!("SELECT {column} FROM email_messages WHERE id = {id}"))
    }

    /// How many mails there are in each state.
    pub fn statuses(&self) -> BTreeMap<String, i64> {
        let mut statement = self
            .connection
            .prepare("SELECT status, count(*) FROM email_messages GROUP BY status")
            .unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.map(|row| row.unwrap()).collect()
    }

    /// R3: every one of `ids` is there, in one of the four states.
    #[track_caller]
    pub fn assert_conserved(&self, ids: &[i64]) {
        let there: Vec<i64> = self.all(
            "SELECT id FROM email_messages WHERE status IN ('PENDING', 'SENDING', 'SENT', 'FAILED')",
            [],
        );
        let lost: Vec<&i64> = ids.iter().filter(|id| !there.contains(id)).collect();
        assert_eq!(lost, Vec::<&i64>::new(), "mails that are in no state");
    }
}
