//! From SQLite's errors to what a user is told.

use crate::domain::fault::{Fault, Kind, Need};
use rusqlite::ErrorCode;
use std::path::Path;

/// What `e` means for whoever uses the database at `path`.
pub fn fault(path: &Path, e: &rusqlite::Error) -> Fault {
    let db = path.display();
    if let rusqlite::Error::SqlInputError { msg, .. } = e {
        let words = format!("database {db} does not fit this mailq: {msg}");
        return Fault::new(Kind::Config, words).hint(
            "a table, column or trigger of another program is in the way; see schema.sql, or name another database with --db",
        );
    }
    let Some(code) = e.sqlite_error() else {
        return Fault::new(Kind::Bug, format!("database {db}: {e}"))
            .hint("this is a bug in mailq; please report it with this line");
    };
    let words = e.to_string();
    match code.code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Fault::new(
            Kind::TryAgain,
            format!("database {db} is busy: another program is writing it"),
        )
        .hint("nothing was changed; try again, and see who holds it: fuser DATABASE"),
        // The index of the WAL is a file that grows when the database is opened: where it cannot, the disk is full.
        ErrorCode::SystemIoFailure if GROWTH.contains(&code.extended_code) => full(&db.to_string()),
        ErrorCode::DiskFull => full(&db.to_string()),
        ErrorCode::ReadOnly => read_only(path),
        ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied => {
            Fault::new(Kind::Permission, format!("database {db}: permission denied"))
                .hint("run as the user or group that owns it")
                .barred(path, Need::Write)
        }
        ErrorCode::CannotOpen => Fault::new(
            Kind::Permission,
            format!("cannot open database {db} or the files beside it"),
        )
        .hint(format!("its directory and its -wal and -shm files must be yours too: ls -ld {db}*"))
        .barred(path, Need::Write),
        ErrorCode::DatabaseCorrupt => {
            Fault::new(Kind::Io, format!("database {db} is malformed: {words}")).hint(format!(
                "keep a copy of {db}*, then restore a backup or try: sqlite3 {db} .recover"
            ))
        }
        ErrorCode::NotADatabase => Fault::new(Kind::Io, format!("{db} is not a database"))
            .hint("name the right file with --db, $MAILQ_DB or `database` in the configuration"),
        ErrorCode::SystemIoFailure => {
            Fault::new(Kind::Io, format!("reading or writing database {db} failed: {words}"))
                .hint("see the kernel's log for the disk; nothing that was confirmed is lost")
        }
        ErrorCode::ConstraintViolation => {
            Fault::new(Kind::Data, format!("database {db} refused a value: {words}"))
                .hint("schema.sql tells what each column takes")
        }
        ErrorCode::FileLockingProtocolFailed => {
            Fault::new(Kind::Io, format!("database {db} cannot be locked: {words}"))
                .hint("is it on a network file system? SQLite needs a local one")
        }
        _ => Fault::new(Kind::Io, format!("database {db}: {words}"))
            .hint("see `mailq check`, and the permissions of the database and its directory"),
    }
}

/// A database that this user may not write.
pub fn read_only(path: &Path) -> Fault {
    let db = path.display();
    Fault::new(Kind::Permission, format!("database {db} is read-only for this user"))
        .hint(format!("check who owns it and its -wal and -shm files: ls -l {db}*"))
        .barred(path, Need::Write)
}

/// SQLITE_IOERR_SHMSIZE and SQLITE_IOERR_SHMMAP.
const GROWTH: [i32; 2] = [4874, 5386];

fn full(db: &str) -> Fault {
    Fault::new(Kind::TryAgain, format!("the disk is full: cannot write database {db}"))
        .hint("nothing was changed; free some space and try again")
}

/// Whether the same statement may succeed later: somebody else writes, or the disk is full.
pub fn is_passing(e: &rusqlite::Error) -> bool {
    matches!(
        e.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::DiskFull
                | ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
        )
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi;

    #[test]
    fn a_disk_too_full_to_open_the_database_is_full() {
        for code in [ffi::SQLITE_FULL, GROWTH[0], GROWTH[1]] {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            assert_eq!(fault(Path::new("q.db"), &error).kind(), Kind::TryAgain, "{code}");
        }
        let error = rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_IOERR_READ), None);
        assert_eq!(fault(Path::new("q.db"), &error).kind(), Kind::Io);
    }
}
