//! Whether the file of the database is damaged.

use super::{Store, error};
use crate::domain::fault::{Fault, Kind};
use std::fs;

/// A larger database takes too long to look through, and nobody could empty its WAL meanwhile.
const LARGEST: u64 = 256 * 1024 * 1024;

impl Store {
    /// Looks through the whole file for damage; `false`: it is too large for that.
    ///
    /// # Errors
    /// `Io` with the first damage found.
    pub fn look_for_damage(&self) -> Result<bool, Fault> {
        if fs::metadata(&self.path).is_ok_and(|meta| meta.len() > LARGEST) {
            return Ok(false);
        }
        // A row that the schema forbids is no damage of the file; whoever reads it says what is wrong with it.
        self.conn
            .pragma_update(None, "ignore_check_constraints", "ON")
            .map_err(|e| error::fault(&self.path, &e))?;
        let found: String =
            self.read(|conn| conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)))?;
        let Some(damage) = found.lines().last().filter(|_| found != "ok") else { return Ok(true) };
        let db = self.path.display();
        Err(Fault::new(Kind::Io, format!("database {db} is damaged: {damage}")).hint(format!(
            "keep a copy of {db}*, then restore a backup or try: sqlite3 {db} .recover"
        )))
    }
}
