//! Deleting what no mail refers to any more.
//!
//! A file younger than the grace period stays whoever refers to it: its mail may still be on its way into the queue.

use super::Spool;
use super::take_in::UNFINISHED;
use crate::domain::message::SPOOL_SCHEME;
use anyhow::{Context, Result};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How old a file that no mail refers to must be before it is deleted.
pub const GRACE: Duration = Duration::from_secs(60 * 60);

/// What a sweep deleted, or would have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    pub files: u64,
    pub bytes: u64,
}

impl Spool {
    /// Deletes the spooled files last taken in longer than `older_than` before `now_ms` (milliseconds since 1970, UTC)
    /// for which `in_use`, asked with the `storage_ref`, says no; and copies that were never finished.
    ///
    /// A store or a file that is not there is no error, and a file that `mailq` did not make is left alone.
    pub fn sweep(
        &self,
        in_use: &mut dyn FnMut(&str) -> Result<bool>,
        older_than: Duration,
        now_ms: i64,
        dry_run: bool,
    ) -> Result<Swept> {
        let older_than = i64::try_from(older_than.as_millis()).unwrap_or(i64::MAX);
        let before_ms = now_ms.saturating_sub(older_than);
        let mut swept = Swept::default();
        for dir in entries(&self.dir)? {
            let name = file_name(&dir);
            let is_unfinished = name == UNFINISHED;
            if !is_unfinished && name.len() != 2 {
                continue;
            }
            for path in entries(&dir)? {
                let file = file_name(&path);
                if !is_unfinished && (self.spooled(&file).ok() != Some(path.clone())) {
                    continue;
                }
                if age_of(&path)?.is_none_or(|(at, _)| at >= before_ms) {
                    continue;
                }
                if !is_unfinished && in_use(&format!("{SPOOL_SCHEME}{file}"))? {
                    continue;
                }
                if let Some(bytes) = self.delete(&path, before_ms, dry_run)? {
                    swept.files += 1;
                    swept.bytes += bytes;
                }
            }
        }
        Ok(swept)
    }

    /// Deletes a file unless it was taken in again meanwhile, and returns its size.
    fn delete(&self, path: &Path, before_ms: i64, dry_run: bool) -> Result<Option<u64>> {
        let told = || format!("cannot delete {}", path.display());
        if dry_run {
            return Ok(age_of(path)?.map(|(_, bytes)| bytes));
        }
        // Whoever puts a file in place holds this lock shared.
        let lock = File::open(&self.dir).with_context(told)?;
        lock.lock().with_context(told)?;
        match age_of(path)? {
            Some((at, bytes)) if at < before_ms => {
                fs::remove_file(path)
                    .or_else(|error| not_found_is(error, ()))
                    .with_context(told)?;
                Ok(Some(bytes))
            }
            _ => Ok(None),
        }
    }
}

/// When the file was last taken in (milliseconds since 1970) and its size. `None`: it is gone, or is no file.
fn age_of(path: &Path) -> Result<Option<(i64, u64)>> {
    let looked = fs::symlink_metadata(path)
        .map(Some)
        .or_else(|error| not_found_is(error, None))
        .with_context(|| format!("cannot look at {}", path.display()))?;
    Ok(looked.filter(fs::Metadata::is_file).map(|metadata| {
        let at =
            metadata.mtime().saturating_mul(1000).saturating_add(metadata.mtime_nsec() / 1_000_000);
        (at, metadata.len())
    }))
}

/// The paths in `dir`, of which those that are no folder have none.
fn entries(dir: &Path) -> Result<Vec<PathBuf>> {
    let list = || -> io::Result<Vec<PathBuf>> {
        fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect()
    };
    list()
        .or_else(|error| match error.kind() {
            ErrorKind::NotADirectory | ErrorKind::NotFound => Ok(Vec::new()),
            _ => Err(error),
        })
        .with_context(|| format!("cannot read the spool {}", dir.display()))
}

fn not_found_is<T>(error: io::Error, value: T) -> io::Result<T> {
    match error.kind() {
        ErrorKind::NotFound => Ok(value),
        _ => Err(error),
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
