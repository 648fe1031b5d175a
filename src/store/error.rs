//! From SQLite's errors to what a user is told.

use crate::domain::fault::{Fault, Kind};
use rusqlite::ErrorCode;
use std::io;
use std::path::Path;

/// What `e` means for whoever uses the database at `path`.
pub fn fault(path: &Path, e: &rusqlite::Error) -> Fault {
    let db = path.display();
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
        ErrorCode::DiskFull => {
            Fault::new(Kind::TryAgain, format!("the disk is full: cannot write database {db}"))
                .hint("nothing was changed; free some space and try again")
        }
        ErrorCode::ReadOnly => {
            Fault::new(Kind::Permission, format!("database {db} is read-only for this user"))
                .hint(format!("check who owns it and its -wal and -shm files: ls -l {db}*"))
        }
        ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied => {
            Fault::new(Kind::Permission, format!("database {db}: permission denied"))
                .hint("run as the user or group that owns it")
        }
        ErrorCode::CannotOpen => Fault::new(
            Kind::Permission,
            format!("cannot open database {db} or the files beside it"),
        )
        .hint(format!("its directory and its -wal and -shm files must be yours too: ls -ld {db}*")),
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

/// The system's words for an error, without "(os error N)".
pub fn os_words(e: &io::Error) -> String {
    let words = e.to_string();
    words.split(" (os error").next().unwrap_or(&words).to_lowercase()
}
