//! The queue on disk: the only room that speaks SQL.
//!
//! Every write is a `BEGIN IMMEDIATE` transaction with `synchronous=FULL`; each UPDATE names in its WHERE the state it
//! leaves and the lease it holds, and its row count is checked. The hot statements stand beside the functions that
//! bind them, with the predicate of their partial index written out; a test asserts their query plans.

mod admin;
mod breaker;
mod claim;
mod counter;
mod enqueue;
mod error;
mod group;
mod history;
mod hold;
mod journal;
mod place;
mod prune;
mod rate;
mod read;
mod reap;
mod recent;
mod record;
mod repeats;
mod row;
mod runs;
mod schema;
mod soundness;
mod stage;
mod stats;
mod suppress;
mod turn;

pub use admin::{Cancelled, Retried};
pub use breaker::Breaker;
pub use claim::{Arm, Choice, Claimed, Lease};
pub use counter::{Counter, Counters, DURATIONS};
pub use enqueue::{Clash, Enqueued};
pub use group::{LATELY_MS, Progress};
pub use history::Past;
pub use hold::Held;
pub use place::warning as network_warning;
pub use prune::{Cut, Pruned, Pruning};
pub use rate::{Charge, Limited};
pub use read::{Filter, Found, Order, Shape};
pub use recent::{Recent, first_hour};
pub use record::{Recorded, Settled};
pub use runs::Run;
pub use stage::Stage;
pub use stats::{QueueStats, Stats};
pub use turn::Turn;

use crate::domain::fault::{Fault, Kind, Need, folder_of, words_of};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use std::cell::Cell;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// What a command wants of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read and write; a database that is missing is created.
    Create,
    /// Read and write a database that is there.
    Write,
    /// Read only.
    Read,
}

/// An open queue. Used by one thread.
pub struct Store {
    conn: Connection,
    path: PathBuf,
    /// The versions between which opening it moved its schema.
    pub upgraded: Option<[usize; 2]>,
}

/// The time that every write loop leaves to others after a commit: a writer that begins again at once starves them.
pub const COURTESY: Duration = Duration::from_micros(200);

/// How long a statement waits for another writer before it gives up.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a new database may be read and written by, whatever the umask: its owner and its group. SQLite gives the
/// `-wal` and `-shm` files the same mode, so a reader of the group does not lock the owner out.
const MODE: u32 = 0o660;

impl Store {
    /// Opens the database at `path`.
    ///
    /// # Errors
    /// `NoInput` when it is missing (and `access` is not `Create`), `CannotCreate`, `Permission`, `Config` for a newer
    /// schema, `TryAgain` when it is locked or the disk is full, `Io` when it is damaged.
    pub fn open(path: &Path, access: Access) -> Result<Store, Fault> {
        let mut tries = 0;
        loop {
            match place::shared(|| Store::try_open(path, access)) {
                // Another program has just made the files beside the database, and not given them their mode yet.
                Err(fault)
                    if fault.kind() == Kind::Permission
                        && tries < 20
                        && place::is_writable(path) =>
                {
                    tries += 1;
                    thread::sleep(Duration::from_millis(5));
                }
                result => return result,
            }
        }
    }

    fn try_open(path: &Path, access: Access) -> Result<Store, Fault> {
        let created = match access {
            Access::Create => create(path)?,
            Access::Write | Access::Read => {
                present(path)?;
                false
            }
        };
        let mut flags = OpenFlags::SQLITE_OPEN_NO_MUTEX;
        flags |= match access {
            Access::Create | Access::Write => {
                writable_without_harm(path)?;
                OpenFlags::SQLITE_OPEN_READ_WRITE
            }
            Access::Read => {
                readable_without_harm(path)?;
                OpenFlags::SQLITE_OPEN_READ_ONLY
            }
        };
        let opened = Connection::open_with_flags(path, flags).and_then(|mut conn| {
            conn.busy_handler(Some(wait_for_others))?;
            // Else each binding of a value that a partial index could depend on compiles the statement anew: a third of
            // the writer's time.
            conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
            conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true)?;
            conn.set_prepared_statement_cache_capacity(64);
            conn.pragma_update(None, "synchronous", "FULL")?;
            Ok(conn)
        });
        let conn = opened.map_err(|e| error::fault(path, &e))?;
        let mut store = Store { conn, path: path.to_owned(), upgraded: None };
        match access {
            Access::Create => schema::ensure(&mut store, created)?,
            Access::Write => schema::migrate(&mut store)?,
            Access::Read => schema::expect_readable(&store)?,
        }
        Ok(store)
    }

    /// Runs `work` in one `IMMEDIATE` transaction; nothing of it is kept unless all of it is.
    fn write<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, rusqlite::Error>,
    ) -> Result<T, Fault> {
        self.try_write(work).map_err(|e| error::fault(&self.path, &e))
    }

    fn try_write<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, rusqlite::Error>,
    ) -> Result<T, rusqlite::Error> {
        let tx = self.conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let result = work(&tx)?;
        tx.commit()?;
        Ok(result)
    }

    /// Runs `look` in one read transaction, so that its statements see one moment.
    fn read<T>(
        &self,
        look: impl FnOnce(&Connection) -> Result<T, rusqlite::Error>,
    ) -> Result<T, Fault> {
        let result = self.conn.unchecked_transaction().and_then(|tx| {
            let result = look(&self.conn)?;
            tx.commit()?;
            Ok(result)
        });
        result.map_err(|e| error::fault(&self.path, &e))
    }
}

thread_local! {
    static WAITING_SINCE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// The busy handler: looks again every 100 µs at first, then every 500 µs. SQLite's own sleeps up to 100 ms a try.
fn wait_for_others(tries: i32) -> bool {
    let since = match WAITING_SINCE.get() {
        Some(since) if tries > 0 => since,
        _ => {
            let now = Instant::now();
            WAITING_SINCE.set(Some(now));
            now
        }
    };
    if since.elapsed() >= PATIENCE {
        return false;
    }
    thread::sleep(Duration::from_micros(if tries < 20 { 100 } else { 500 }));
    true
}

/// Creates an empty file with our mode where there is none, and says whether it did.
fn create(path: &Path) -> Result<bool, Fault> {
    // SQLite holds no lock of this process on the file yet, so closing this descriptor drops none.
    match OpenOptions::new().write(true).create_new(true).mode(MODE).open(path) {
        Ok(file) => {
            let set = file.set_permissions(fs::Permissions::from_mode(MODE));
            set.map_err(|e| cannot_create(path, &e))?;
            lend(&file, path);
            Ok(true)
        }
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            present(path)?;
            Ok(false)
        }
        Err(e) => Err(cannot_create(path, &e)),
    }
}

/// Root leaves what it makes to whom the folder belongs, as SQLite does with the files beside a database: else a root's
/// cron job that comes first locks out all others. Who is not root cannot, and needs not: the folder's set-group-ID bit
/// gives the file to the group.
fn lend(file: &fs::File, path: &Path) {
    if let Ok(folder) = fs::metadata(folder_of(path)) {
        let _ = fchown(file, Some(folder.uid()), Some(folder.gid()));
    }
}

fn cannot_create(path: &Path, e: &io::Error) -> Fault {
    let parent = folder_of(path);
    match e.kind() {
        io::ErrorKind::PermissionDenied => Fault::new(
            Kind::Permission,
            format!("cannot create database {}: permission denied", path.display()),
        )
        .hint(format!("run as the user that owns {}, or name another with --db", parent.display()))
        .barred(path, Need::Write),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Fault::new(
            Kind::TryAgain,
            format!("cannot create database {}: disk full", path.display()),
        )
        .hint("free some space and try again"),
        _ => Fault::new(
            Kind::CannotCreate,
            format!("cannot create database {}: {}", path.display(), words_of(e)),
        )
        .hint(format!("create the directory first: mkdir -p {}", parent.display())),
    }
}

/// The database must be a regular file.
fn present(path: &Path) -> Result<(), Fault> {
    match fs::metadata(path) {
        Ok(meta) if meta.is_file() => Ok(()),
        Ok(_) => Err(Fault::new(Kind::NoInput, format!("database {} is not a file", path.display()))
            .hint("name the database file with --db, $MAILQ_DB or `database` in the configuration")),
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Err(Fault::new(
            Kind::Permission,
            format!("cannot open database {}: permission denied", path.display()),
        )
        .hint("run as the user or group that owns it")
        .barred(path, Need::Write)),
        Err(_) => Err(Fault::new(Kind::NoInput, format!("no database at {}", path.display())).hint(
            "`mailq enqueue` creates it; or name it with --db, $MAILQ_DB or `database` in the configuration",
        )),
    }
}

/// SQLite would open a database that this user may only read, and leave side files with its mode behind: one more thing to
/// mend for others.
fn writable_without_harm(path: &Path) -> Result<(), Fault> {
    match place::is_writable(path) {
        true => Ok(()),
        false => Err(error::read_only(path)),
    }
}

/// Whether reading would leave side files that lock the owner out: SQLite creates `-wal` and `-shm` as whoever reads
/// first. A reader that may not write the database itself must find them there.
fn readable_without_harm(path: &Path) -> Result<(), Fault> {
    let side = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    if place::is_writable(path) || side("-shm").exists() || !is_wal(path) {
        return Ok(());
    }
    Err(Fault::new(
        Kind::Permission,
        format!("database {} may only be read by users who may write it", path.display()),
    )
    .hint(format!(
        "in WAL mode a reader creates {}; run as its owner, or give the group write access: chmod g+w {}",
        side("-shm").display(),
        path.display()
    ))
    .barred(path, Need::Write))
}

/// Whether the header says WAL: bytes 18 and 19, the file format's write and read version, are 2.
fn is_wal(path: &Path) -> bool {
    use std::io::Read;
    let mut header = [0u8; 20];
    fs::File::open(path).and_then(|mut file| file.read_exact(&mut header)).is_ok()
        && header[18..] == [2, 2]
}

#[cfg(test)]
mod tests;
