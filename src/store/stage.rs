//! Checked mails on their way into the queue, kept on disk until all of them are known to be good.
//!
//! A private database of SQLite, gone with its owner: the queue is locked by nobody while a long input is read, and
//! memory does not grow with it.

use super::error;
use crate::domain::fault::{Fault, Kind};
use crate::domain::message::Draft;
use rusqlite::{Connection, params};
use std::path::Path;

pub struct Stage {
    kept: Kept,
    count: u64,
}

enum Kept {
    Few(Vec<Draft>),
    Many(Connection),
}

impl Stage {
    /// For the mail of one command: in memory, since a database of its own would be half of the work.
    pub fn of_one() -> Stage {
        Stage { kept: Kept::Few(Vec::new()), count: 0 }
    }

    pub fn open() -> Result<Stage, Fault> {
        let opened = Connection::open("").and_then(|conn| {
            conn.execute_batch(
                "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; \
                 CREATE TABLE drafts (n INTEGER PRIMARY KEY, draft TEXT NOT NULL, \
                 line INTEGER NOT NULL, raw BLOB NOT NULL); BEGIN",
            )?;
            Ok(conn)
        });
        opened.map(|conn| Stage { kept: Kept::Many(conn), count: 0 }).map_err(|e| fault(&e))
    }

    /// Adds a mail that came on line `line` as `raw`, and returns its number.
    pub fn add(&mut self, draft: &Draft, line: u64, raw: &[u8]) -> Result<u64, Fault> {
        match &mut self.kept {
            Kept::Few(few) => few.push(draft.clone()),
            Kept::Many(conn) => {
                let values = params![whole(self.count), text(draft)?, whole(line), raw];
                conn.prepare_cached(
                    "INSERT INTO drafts (n, draft, line, raw) VALUES (?1, ?2, ?3, ?4)",
                )
                .and_then(|mut add| add.execute(values))
                .map_err(|e| fault(&e))?;
            }
        }
        self.count += 1;
        Ok(self.count - 1)
    }

    /// Puts `draft` in the place of mail `number`.
    pub fn put(&mut self, number: u64, draft: &Draft) -> Result<(), Fault> {
        match &mut self.kept {
            Kept::Few(few) => {
                few.iter_mut().skip(number as usize).take(1).for_each(|one| one.clone_from(draft));
                Ok(())
            }
            Kept::Many(conn) => {
                let text = text(draft)?;
                conn.prepare_cached("UPDATE drafts SET draft = ?2 WHERE n = ?1")
                    .and_then(|mut update| update.execute(params![whole(number), text]))
                    .map(drop)
                    .map_err(|e| fault(&e))
            }
        }
    }

    /// The line on which mail `number` came, and how.
    pub fn came(&self, number: u64) -> Result<(i64, Vec<u8>), Fault> {
        let Kept::Many(conn) = &self.kept else { return Ok((0, Vec::new())) };
        conn.prepare_cached("SELECT line, raw FROM drafts WHERE n = ?1")
            .and_then(|mut select| {
                select.query_row([whole(number)], |row| Ok((row.get(0)?, row.get(1)?)))
            })
            .map_err(|e| fault(&e))
    }

    /// The mail `number`.
    pub fn get(&self, number: u64) -> Result<Draft, Fault> {
        let lost = || Fault::new(Kind::Bug, format!("mail {number} of the input was not kept"));
        let conn = match &self.kept {
            Kept::Few(few) => return few.get(number as usize).cloned().ok_or_else(lost),
            Kept::Many(conn) => conn,
        };
        let text: String = conn
            .prepare_cached("SELECT draft FROM drafts WHERE n = ?1")
            .and_then(|mut select| select.query_row([whole(number)], |row| row.get(0)))
            .map_err(|e| fault(&e))?;
        serde_json::from_str(&text)
            .map_err(|e| Fault::new(Kind::Bug, format!("a mail that was kept cannot be read: {e}")))
    }

    /// All mails in order, read one by one.
    pub fn drafts(&self) -> impl Iterator<Item = Result<Draft, Fault>> {
        (0..self.count).map(|number| self.get(number))
    }
}

fn text(draft: &Draft) -> Result<String, Fault> {
    serde_json::to_string(draft)
        .map_err(|e| Fault::new(Kind::Bug, format!("a mail cannot be kept: {e}")))
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn fault(e: &rusqlite::Error) -> Fault {
    error::fault(Path::new("(temporary)"), e)
}
