//! Files that a user names for us to write: replaced all at once, and never the queue itself.

use crate::domain::fault::{Fault, Kind, folder_of, words_of};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::process;

/// Puts `bytes` into `path` so that a reader sees the old file or the new one, whole. A link is followed; what is no
/// file (a device, a pipe, `-` for stdout) is written to.
pub fn file(path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    let cannot = |e: io::Error| {
        Fault::new(Kind::CannotCreate, format!("cannot write {}: {}", path.display(), words_of(&e)))
    };
    let path = if path == Path::new("-") { Path::new("/dev/stdout") } else { path };
    let is_file = fs::metadata(path).map_or(true, |meta| meta.is_file());
    // What these lead to is open already, and a file there would be replaced behind its back.
    let is_open = ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc"];
    if !is_file || is_open.iter().any(|open| path.starts_with(open)) {
        let mut out = OpenOptions::new().append(true).open(path).map_err(cannot)?;
        return out.write_all(bytes).map_err(cannot);
    }
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", process::id()));
    let draft = path.with_file_name(name);
    let write = || {
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o644).open(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, &path)
    };
    write().map_err(|e: io::Error| {
        // What could not become the file must not stay beside it.
        fs::remove_file(&draft).ok();
        cannot(e)
    })
}

/// Refuses to write into the queue: `path`, which `option` names, is the database or a file that belongs to it.
pub fn spare(option: &str, path: &Path, database: &Path) -> Result<(), Fault> {
    let folder = |path: &Path| fs::canonicalize(folder_of(path)).ok();
    for suffix in ["", "-wal", "-shm", "-journal", "-outcomes", "-idle"] {
        let mut part = database.as_os_str().to_owned();
        part.push(suffix);
        let part = Path::new(&part);
        let is_there = folder(part) == folder(path) && part.file_name() == path.file_name();
        if is_there || is_same(path, part) {
            let words = format!("{option} {} is a file of the queue", path.display());
            return Err(Fault::new(Kind::Usage, words).hint("name a file of its own"));
        }
    }
    Ok(())
}

/// Whether two names, links of any kind included, are one file. Nothing is opened: that would drop SQLite's locks.
pub fn is_same(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).map(|meta| (meta.dev(), meta.ino())).ok();
    identity(one).is_some_and(|one| Some(one) == identity(other))
}
