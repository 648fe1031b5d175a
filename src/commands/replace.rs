//! A file that is replaced all at once.

use crate::domain::fault::{Fault, Kind, words_of};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process;

/// Puts `bytes` into `path` so that a reader sees the old file or the new one, whole.
pub fn file(path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", process::id()));
    let draft = path.with_file_name(name);
    let write = || {
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o644).open(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, path)
    };
    write().map_err(|e: io::Error| {
        // What could not become the file must not stay beside it.
        fs::remove_file(&draft).ok();
        Fault::new(Kind::CannotCreate, format!("cannot write {}: {}", path.display(), words_of(&e)))
    })
}
