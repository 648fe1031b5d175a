//! The bytes of a message: what is known is kept, large files are encoded while they are written.
//!
//! The size is known before anything is read, and a file that is not what it was is an error before its last byte.

use crate::domain::fault::words_of;
use crate::domain::message::{Content, Enclosure, hexadecimal};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;

/// The bytes that one line of base64 stands for; the line has 76 characters.
const PER_LINE: usize = 57;
/// What is read from a file at once: whole lines.
const CHUNK: usize = PER_LINE * 512;

/// A stretch of a message.
pub(super) enum Piece {
    Bytes(Vec<u8>),
    File(Enclosure),
}

/// A message in stretches.
pub(super) struct Pieces(pub(super) Vec<Piece>);

impl Content for Pieces {
    fn size(&self) -> u64 {
        self.0
            .iter()
            .map(|piece| match piece {
                Piece::Bytes(bytes) => bytes.len() as u64,
                Piece::File(file) => base64_size(file.size),
            })
            .sum()
    }

    fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        for piece in &self.0 {
            match piece {
                Piece::Bytes(bytes) => out.write_all(bytes)?,
                Piece::File(file) => write_file(file, out)?,
            }
        }
        Ok(())
    }
}

/// How many bytes `size` bytes become, with their line ends.
fn base64_size(size: u64) -> u64 {
    let characters = size.div_ceil(3) * 4;
    characters + size.div_ceil(PER_LINE as u64) * 2
}

/// Appends `bytes` as lines of base64, each with its line end.
pub(super) fn push_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(usize::try_from(base64_size(bytes.len() as u64)).unwrap_or(0));
    let mut line = [0u8; 76];
    for part in bytes.chunks(PER_LINE) {
        let length = STANDARD.encode_slice(part, &mut line).expect("57 bytes become 76 characters");
        out.extend_from_slice(&line[..length]);
        out.extend_from_slice(b"\r\n");
    }
}

/// The bytes of `file` if they are there as they should be, else nothing: `write_to` then tells what is wrong.
pub(super) fn load(file: &Enclosure) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(file.size).ok()?);
    open(file).ok()?.take(file.size + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 == file.size).then_some(bytes)
}

/// Opens the file without following a link that was put in its place, or waiting for the writer of a pipe.
fn open(file: &Enclosure) -> io::Result<File> {
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(&file.path)
        .map_err(|error| {
            changed(file, &format!("it cannot be read any more ({})", words_of(&error)))
        })?;
    if opened.metadata()?.is_file() {
        Ok(opened)
    } else {
        Err(changed(file, "it is no regular file any more"))
    }
}

fn changed(file: &Enclosure, how: &str) -> io::Error {
    let path = file.path.display();
    io::Error::new(io::ErrorKind::InvalidData, format!("attachment {path}: {how}"))
}

/// Writes the file as base64. Its length, and its digest where one is known, are checked before the last line goes.
fn write_file(file: &Enclosure, out: &mut dyn Write) -> io::Result<()> {
    let mut source = open(file)?;
    let mut digest = Sha256::new();
    let mut chunk = vec![0u8; CHUNK];
    let mut lines = Vec::with_capacity(CHUNK / PER_LINE * 78);
    let mut left = file.size;
    loop {
        // One byte more than is due shows a file that grew.
        let want = usize::try_from(left.saturating_add(1)).map_or(CHUNK, |due| due.min(CHUNK));
        let got = read_full(&mut source, &mut chunk[..want]).map_err(|error| {
            changed(file, &format!("it cannot be read any more ({})", words_of(&error)))
        })?;
        let bytes = &chunk[..got];
        left = left
            .checked_sub(got as u64)
            .ok_or_else(|| changed(file, "it is longer than it was"))?;
        digest.update(bytes);
        let is_last = got < want;
        if is_last && left > 0 {
            return Err(changed(file, "it is shorter than it was"));
        }
        if is_last && !has_digest(file, digest.clone()) {
            return Err(changed(file, "its bytes are not the ones it had"));
        }
        lines.clear();
        push_base64(&mut lines, bytes);
        out.write_all(&lines)?;
        if is_last {
            return Ok(());
        }
    }
}

fn has_digest(file: &Enclosure, digest: Sha256) -> bool {
    file.attachment
        .sha256
        .as_ref()
        .is_none_or(|known| known.eq_ignore_ascii_case(&hexadecimal(&digest.finalize())))
}

/// Reads until `buffer` is full or the file ends.
fn read_full(source: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
