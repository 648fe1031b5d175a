//! Taking a file into the store.
//!
//! The copy is written under a name of its own, forced to the disk, and only then renamed to its digest: a crash leaves
//! a stray copy for the sweep, never half a file under a digest.

use super::{CHUNK, LONGEST_ERROR, Spool, Stamp, digest_of, open_regular};
use crate::domain::fault::{Fault, Kind, Need, folder_of, one_line, words_of};
use crate::domain::message::{Attachment, SPOOL_SCHEME, hexadecimal};
use rustix::fs::Mode;
use rustix::process::umask;
use sha2::{Digest, Sha256};
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// Whoever is in the group may take in a file and sweep it: the user who enqueues need not be the one who sends.
const FILE_MODE: u32 = 0o660;
const DIR_MODE: u32 = 0o770;
const SET_GROUP_ID: u32 = 0o2000;
/// Where copies are written until their digest is known.
pub(super) const UNFINISHED: &str = "tmp";

impl Spool {
    /// Copies the regular file `path` into the store and returns the reference to the copy. `name` is what receivers
    /// see (`None`: the file's own name), `limit` the most bytes the file may have.
    ///
    /// The copy is on the disk when this returns. It stays for the sweep's grace period even if no mail refers to it.
    pub fn take_in(
        &self,
        path: &Path,
        name: Option<&str>,
        limit: u64,
    ) -> Result<Attachment, Fault> {
        let mut source = open_source(path)?;
        let before = source.metadata().map_err(|error| unreadable(path, &error))?;
        check_limit(path, before.len(), limit)?;
        let (copy, digest) = self.copy(path, &mut source, before.len())?;
        let after = source.metadata().map_err(|error| unreadable(path, &error))?;
        if Stamp::of(&after) != Stamp::of(&before) {
            return Err(changing(path));
        }
        let dir = self.dir.join(&digest[..2]);
        self.put_in_place(copy, &dir, &digest).map_err(|error| self.unwritable(&dir, &error))?;
        Ok(reference(path, name, before.len(), digest))
    }

    /// Copies exactly `size` bytes into an unfinished file, and works out their digest.
    fn copy(
        &self,
        path: &Path,
        source: &mut File,
        size: u64,
    ) -> Result<(Unfinished, String), Fault> {
        let unfinished = self.dir.join(UNFINISHED);
        let mut copy = self
            .new_unfinished(&unfinished)
            .map_err(|error| self.unwritable(&unfinished, &error))?;
        let mut digest = Sha256::new();
        let mut chunk = vec![0u8; CHUNK];
        let mut copied = 0u64;
        loop {
            let count = match source.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(unreadable(path, &error)),
            };
            copied += count as u64;
            if copied > size {
                return Err(changing(path));
            }
            digest.update(&chunk[..count]);
            copy.file
                .write_all(&chunk[..count])
                .map_err(|error| self.unwritable(&unfinished, &error))?;
        }
        if copied < size {
            return Err(changing(path));
        }
        copy.file.sync_all().map_err(|error| self.unwritable(&unfinished, &error))?;
        Ok((copy, hexadecimal(&digest.finalize())))
    }

    fn new_unfinished(&self, dir: &Path) -> io::Result<Unfinished> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        self.make_dir(dir)?;
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = dir.join(format!("{}-{count}", process::id()));
            let opened =
                OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&path);
            match opened {
                Ok(file) => {
                    let copy = Unfinished { path: Some(path), file };
                    copy.file.set_permissions(Permissions::from_mode(FILE_MODE))?;
                    lend(&copy.file, dir);
                    return Ok(copy);
                }
                // A process with this number died and left its copy.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Gives the copy its name. One that is there already is replaced by the same bytes, so that its age begins anew:
    /// the row that refers to it is still to be written.
    fn put_in_place(&self, copy: Unfinished, dir: &Path, digest: &str) -> io::Result<()> {
        self.make_dir(dir)?;
        let lock = File::open(&self.dir)?;
        lock.lock_shared()?;
        copy.rename(&dir.join(digest))?;
        lock.unlock()?;
        File::open(dir)?.sync_all()
    }

    /// Makes a folder of the store, and the store itself.
    fn make_dir(&self, dir: &Path) -> io::Result<()> {
        if dir.is_dir() {
            return Ok(());
        }
        if !self.dir.is_dir() {
            if let Some(above) = self.dir.parent() {
                fs::create_dir_all(above)?;
            }
            make_shared(&self.dir)?;
        }
        make_shared(dir)?;
        File::open(&self.dir)?.sync_all()
    }

    /// The fault of `dir`, a folder of the store, that could not be written.
    fn unwritable(&self, dir: &Path, error: &io::Error) -> Fault {
        let told = format!("spool {}: {}", self.dir.display(), words_of(error));
        let told = one_line(&told, LONGEST_ERROR);
        let dir = if dir.is_dir() { dir } else { &self.dir };
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                Fault::new(Kind::TryAgain, told).hint("make room on the disk; nothing was queued")
            }
            ErrorKind::PermissionDenied => Fault::new(Kind::Permission, told)
                .hint("this user must be able to write there; `spool` in the configuration names the folder")
                .barred(dir, Need::Write),
            ErrorKind::ReadOnlyFilesystem
            | ErrorKind::NotADirectory
            | ErrorKind::AlreadyExists
            | ErrorKind::NotFound => Fault::new(Kind::CannotCreate, told)
                .hint("this user must be able to write there; `spool` in the configuration names the folder")
                .barred(dir, Need::Write),
            _ => Fault::new(Kind::Io, told),
        }
    }
}

/// What `take_in` would make of the file, without a copy. `limit` is the most bytes it may have.
pub fn look_at(path: &Path, limit: u64) -> Result<Attachment, Fault> {
    let mut source = open_source(path)?;
    let size = source.metadata().map_err(|error| unreadable(path, &error))?.len();
    check_limit(path, size, limit)?;
    let digest = digest_of(&mut source).map_err(|error| unreadable(path, &error))?;
    Ok(reference(path, None, size, digest))
}

/// The reference to the copy of `path` with this digest.
fn reference(path: &Path, name: Option<&str>, size: u64, digest: String) -> Attachment {
    let own_name =
        || path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Attachment {
        filename: name.map_or_else(own_name, str::to_owned),
        content_type: None,
        storage_ref: format!("{SPOOL_SCHEME}{digest}"),
        sha256: Some(digest),
        size: Some(size),
        cid: None,
    }
}

/// Makes a folder that its group may write, whatever the umask. The umask is set aside rather than the mode mended:
/// under `RestrictSUIDSGID=` nobody may set the set-group-ID bit that a folder inherits, so none must be lost. Only
/// `enqueue` makes folders, in its one thread.
fn make_shared(dir: &Path) -> io::Result<()> {
    let before = umask(Mode::from(0o007));
    let made = DirBuilder::new().mode(DIR_MODE).create(dir);
    umask(before);
    match made {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(()),
        made => made?,
    }
    // By descriptor, without following a link: root may be at work in somebody's folder.
    let folder = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW)
        .open(dir)?;
    lend(&folder, folder_of(dir));
    let mode = folder.metadata()?.permissions().mode();
    if mode & SET_GROUP_ID == 0 {
        // Without the bit its files belong to the group of whoever makes them, which is well where that is one user.
        let _ = folder.set_permissions(Permissions::from_mode(mode | SET_GROUP_ID));
    }
    Ok(())
}

/// Root leaves what it makes to whom the folder around it belongs. Who is not root cannot, and needs not.
fn lend(made: &File, around: &Path) {
    if let Ok(around) = fs::metadata(around) {
        let _ = fchown(made, Some(around.uid()), Some(around.gid()));
    }
}

/// A copy under way. It is deleted unless it was renamed.
struct Unfinished {
    path: Option<PathBuf>,
    file: File,
}

impl Unfinished {
    fn rename(mut self, to: &Path) -> io::Result<()> {
        if let Some(path) = &self.path {
            fs::rename(path, to)?;
        }
        self.path = None;
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // A copy that cannot be deleted is swept later.
            let _ = fs::remove_file(path);
        }
    }
}

/// Opens a file that somebody named, without touching what is no regular file.
fn open_source(path: &Path) -> Result<File, Fault> {
    // To look first keeps devices unopened: opening some of them does something.
    let looked = fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if !looked.is_file() {
        let what = if looked.is_dir() { "it is a directory" } else { "it is no regular file" };
        return Err(fault_about(path, Kind::NoInput, what));
    }
    open_regular(path, 0).map_err(|error| unreadable(path, &error))
}

fn check_limit(path: &Path, size: u64, limit: u64) -> Result<(), Fault> {
    if size <= limit {
        return Ok(());
    }
    let what = format!("it has {size} bytes; {limit} are allowed");
    Err(fault_about(path, Kind::Data, &what))
}

fn changing(path: &Path) -> Fault {
    fault_about(path, Kind::Io, "it changed while it was copied")
        .hint("try again when nobody writes to it")
}

fn unreadable(path: &Path, error: &io::Error) -> Fault {
    let kind = match error.kind() {
        ErrorKind::PermissionDenied => Kind::Permission,
        ErrorKind::NotFound
        | ErrorKind::NotADirectory
        | ErrorKind::IsADirectory
        | ErrorKind::InvalidInput => Kind::NoInput,
        _ if matches!(error.raw_os_error(), Some(libc::ELOOP | libc::ENAMETOOLONG)) => {
            Kind::NoInput
        }
        _ => Kind::Io,
    };
    fault_about(path, kind, &words_of(error)).barred(path, Need::Read)
}

fn fault_about(path: &Path, kind: Kind, what: &str) -> Fault {
    // A name may hold line ends; the quotes show where it ends. However long it is, what is wrong is told.
    let name = one_line(&path.display().to_string(), LONGEST_ERROR - what.len().min(200) - 20);
    let told = format!("attachment {name:?}: {what}");
    Fault::new(kind, one_line(&told, LONGEST_ERROR))
}
