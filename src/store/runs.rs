//! When each command last ran to its end, for whoever watches the timers.
//!
//! A run that did something writes a row. One that found nothing to do must not touch the database, which would wake
//! whoever waits for a change of it: it touches an empty file beside it, whose time is all that it says.

use super::{Store, row};
use crate::domain::fault::Fault;
use rusqlite::params;
use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

/// The last run of a command that did something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub command: String,
    /// When it ended, in milliseconds since 1970.
    pub at: i64,
    /// What it did, a JSON object.
    pub result: String,
}

impl Store {
    /// Notes that `command` ran to its end and what it did.
    pub fn note_run(&mut self, command: &str, result: &str, now: i64) -> Result<(), Fault> {
        self.write(|tx| {
            tx.execute(
                "INSERT INTO mailq_runs (command, at, result) VALUES (?1, ?2, ?3) \
                 ON CONFLICT (command) DO UPDATE SET at = excluded.at, result = excluded.result",
                params![command, now, result],
            )?;
            Ok(())
        })
    }

    /// Notes that `send-batch` ran to its end and found nothing to do. Writes nothing into the database and waits for
    /// no disk.
    ///
    /// # Errors
    /// The file beside the database cannot be made or opened.
    pub fn note_idle_run(&self) -> io::Result<()> {
        let path = self.stamp();
        // Emptying an empty file moves its time, and asks for no more than the right to write it.
        match OpenOptions::new().write(true).truncate(true).open(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                let options = OpenOptions::new()
                    .write(true)
                    .create(true)
                    .truncate(true)
                    .mode(super::MODE)
                    .open(&path)?;
                // Whatever the umask: the next run may be another user of the group.
                options.set_permissions(Permissions::from_mode(super::MODE))
            }
            opened => opened.map(drop),
        }
    }

    /// The last runs of all commands, and when `send-batch` last found nothing to do, in milliseconds since 1970.
    pub fn runs(&self) -> Result<(Vec<Run>, Option<i64>), Fault> {
        let runs = self.read(|conn| {
            let mut statement =
                conn.prepare_cached("SELECT command, at, result FROM mailq_runs ORDER BY command")?;
            let runs = statement.query_map([], |found| {
                Ok(Run {
                    command: row::lossy(found, 0)?.unwrap_or_default(),
                    at: found.get_ref(1)?.as_i64().unwrap_or_default(),
                    result: row::lossy(found, 2)?.unwrap_or_default(),
                })
            })?;
            runs.collect::<Result<Vec<Run>, _>>()
        })?;
        let touched = fs::metadata(self.stamp()).and_then(|meta| meta.modified()).ok();
        let since = touched.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Ok((runs, since.and_then(|since| i64::try_from(since.as_millis()).ok())))
    }

    fn stamp(&self) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push("-idle");
        PathBuf::from(name)
    }
}
