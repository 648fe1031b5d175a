//! The files that go with mails: copied once at enqueue, kept by the SHA-256 of their bytes, and found again at send.
//!
//! A file in the store never changes: it appears complete, under the name of its digest, or not at all. What is
//! opened for sending is the spooled file whose bytes were checked, or a file below an attachment root.

mod sweep;
mod take_in;

use crate::domain::fault::{one_line, words_of};
use crate::domain::message::{Attachment, Enclosure, SPOOL_SCHEME, hexadecimal};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Seek};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

pub use sweep::GRACE;
pub use take_in::look_at;

/// The longest error text, in bytes.
const LONGEST_ERROR: usize = 300;
/// How many digests are remembered: enough for what many mails share, and little memory for what they do not.
const MOST_DIGESTS: usize = 1024;
/// How much of a file is read at once, in bytes.
const CHUNK: usize = 64 * 1024;

/// The store of attachments, and the folders that an application's own references may point into.
#[derive(Debug)]
pub struct Spool {
    dir: PathBuf,
    attachment_roots: Vec<PathBuf>,
    /// The digests that were worked out in this run, by path, each for one state of its file.
    digests: Mutex<HashMap<PathBuf, (Stamp, String)>>,
}

/// What changes when somebody writes to a file or puts another in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Stamp {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

impl Spool {
    /// The store in `dir`, which need not exist yet. Without `attachment_roots` only spooled files are opened.
    pub fn new(dir: PathBuf, attachment_roots: Vec<PathBuf>) -> Self {
        Spool { dir, attachment_roots, digests: Mutex::default() }
    }

    /// Finds the file that `attachment` refers to and checks that it is the one that was meant: below its root, a
    /// regular file, and of the size and the digest that are known.
    ///
    /// The error is one line that names the file, for `error_message`.
    pub fn open(&self, attachment: &Attachment) -> Result<Enclosure, String> {
        self.find(attachment).map_err(|what| {
            let told = format!("attachment {:?}: {what}", attachment.filename);
            one_line(&told, LONGEST_ERROR)
        })
    }

    fn find(&self, attachment: &Attachment) -> Result<Enclosure, String> {
        let (path, digest) = match attachment.storage_ref.strip_prefix(SPOOL_SCHEME) {
            // Every link in the path of the other kind has been followed by then; a new one is somebody's trick.
            Some(digest) => (self.spooled(digest)?, Some(digest.to_owned())),
            None => (self.below_root(&attachment.storage_ref)?, None),
        };
        let shown = path.display();
        let told = |error: &io::Error| format!("{shown}: {}", words_of(error));
        let file = open_regular(&path, libc::O_NOFOLLOW).map_err(|error| told(&error))?;
        let metadata = file.metadata().map_err(|error| told(&error))?;
        let size = metadata.len();
        if let Some(known) = attachment.size.filter(|known| *known != size) {
            return Err(format!("{shown} has {size} bytes, not {known} as at enqueue"));
        }
        let known = attachment.sha256.as_ref();
        for wanted in known.into_iter().chain(digest.as_ref()) {
            let found = self
                .digest(&path, file.try_clone(), Stamp::of(&metadata))
                .map_err(|error| told(&error))?;
            if !found.eq_ignore_ascii_case(wanted) {
                return Err(format!(
                    "{shown} is not what it was at enqueue: its SHA-256 is {found}"
                ));
            }
        }
        Ok(Enclosure {
            attachment: Attachment {
                sha256: attachment.sha256.clone().or(digest),
                ..attachment.clone()
            },
            path,
            size,
        })
    }

    /// Where the file with the digest `digest` is kept.
    fn spooled(&self, digest: &str) -> Result<PathBuf, String> {
        let is_digest = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        if digest.len() != 64 || !digest.bytes().all(is_digest) {
            return Err(format!(
                "storage_ref {SPOOL_SCHEME}{digest} names no SHA-256 in hexadecimal"
            ));
        }
        Ok(self.dir.join(&digest[..2]).join(digest))
    }

    /// The path that an application's `reference` means, with every link followed, below one of the roots.
    fn below_root(&self, reference: &str) -> Result<PathBuf, String> {
        if self.attachment_roots.is_empty() {
            return Err(format!(
                "{reference} is not spooled, and the configuration names no attachment_roots"
            ));
        }
        let mut missing = None;
        for root in &self.attachment_roots {
            // An absolute reference replaces the root here, and is checked like any other.
            match root.join(reference).canonicalize() {
                Ok(path) => {
                    let is_below = |root: &PathBuf| {
                        root.canonicalize()
                            .is_ok_and(|root| path.starts_with(&root) && path != root)
                    };
                    if self.attachment_roots.iter().any(is_below) {
                        return Ok(path);
                    }
                }
                Err(error) => missing = missing.or(Some(error)),
            }
        }
        Err(match missing {
            Some(error) => format!("{reference}: {}", words_of(&error)),
            None => format!("{reference} is not below any of the attachment_roots"),
        })
    }

    /// The SHA-256 of the open file in hexadecimal, from memory where the file is still as it was.
    fn digest(&self, path: &Path, file: io::Result<File>, stamp: Stamp) -> io::Result<String> {
        if let Ok(digests) = self.digests.lock()
            && let Some((known, digest)) = digests.get(path)
            && *known == stamp
        {
            return Ok(digest.clone());
        }
        let mut file = file?;
        // It may have been read once: what was remembered then is of another file by now.
        file.rewind()?;
        let digest = digest_of(&mut file)?;
        if let Ok(mut digests) = self.digests.lock() {
            if digests.len() >= MOST_DIGESTS {
                digests.clear();
            }
            digests.insert(path.to_owned(), (stamp, digest.clone()));
        }
        Ok(digest)
    }
}

/// Opens a regular file for reading, with `flags` of open(2) besides. Nothing else is opened: a pipe would wait for its
/// writer, a device has no end.
fn open_regular(path: &Path, flags: i32) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | flags)
        .open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() {
        Ok(file)
    } else if kind.is_dir() {
        Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"))
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"))
    }
}

/// The SHA-256 of what `source` still holds, in hexadecimal.
fn digest_of(source: &mut File) -> io::Result<String> {
    let mut digest = Sha256::new();
    let mut chunk = vec![0u8; CHUNK];
    loop {
        match source.read(&mut chunk) {
            Ok(0) => return Ok(hexadecimal(&digest.finalize())),
            Ok(count) => digest.update(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests;
