//! The parts of a message: `mixed( related( alternative( text, html ), inline… ), attachments… )`, and of these only
//! what the mail has.
//!
//! A boundary holds `=_`, which no encoded body contains, and a body that contains it is encoded.

use super::content::{Piece, load, push_base64};
use super::wire::Wire;
use crate::domain::fault::one_line;
use crate::domain::header::is_control;
use crate::domain::message::{Enclosure, Letter};
use mime_guess::from_path;

/// A file up to this many bytes becomes part of the message in memory; a larger one is read while it is written.
const LARGEST_LOADED: u64 = 256 * 1024;
/// What all the files of one mail may take of memory.
const MOST_LOADED: usize = 1024 * 1024;
/// RFC 2046, 5.1.1 allows 70 characters of a boundary; the rest of it is ours.
const LONGEST_SEED: usize = 40;
const ANY_TYPE: &str = "application/octet-stream";

impl Wire {
    /// Writes the rest of the header and the body. `token` tells this message's boundaries from all others.
    pub(super) fn message(
        &mut self,
        letter: &Letter,
        enclosures: Vec<Enclosure>,
        token: &str,
    ) -> Result<(), String> {
        let seed: String =
            token.chars().filter(char::is_ascii_alphanumeric).take(LONGEST_SEED).collect();
        // Without an HTML part nothing refers to an image.
        let (inline, attached): (Vec<Enclosure>, Vec<Enclosure>) = enclosures
            .into_iter()
            .partition(|file| file.attachment.cid.is_some() && letter.html.is_some());
        if attached.is_empty() {
            return self.related(letter, inline, &seed);
        }
        let boundary = self.multipart("mixed", "x", &seed, None);
        self.delimiter(&boundary);
        self.related(letter, inline, &seed)?;
        for file in attached {
            self.delimiter(&boundary);
            self.file(file, "attachment")?;
        }
        self.close(&boundary);
        Ok(())
    }

    fn related(
        &mut self,
        letter: &Letter,
        inline: Vec<Enclosure>,
        seed: &str,
    ) -> Result<(), String> {
        if inline.is_empty() {
            self.alternative(letter, seed);
            return Ok(());
        }
        let root = match letter.text {
            Some(_) => "multipart/alternative",
            None => "text/html",
        };
        let boundary = self.multipart("related", "r", seed, Some(root));
        self.delimiter(&boundary);
        self.alternative(letter, seed);
        for file in inline {
            self.delimiter(&boundary);
            self.file(file, "inline")?;
        }
        self.close(&boundary);
        Ok(())
    }

    fn alternative(&mut self, letter: &Letter, seed: &str) {
        match (&letter.text, &letter.html) {
            (Some(text), Some(html)) => {
                let boundary = self.multipart("alternative", "a", seed, None);
                self.delimiter(&boundary);
                self.text("plain", text);
                self.delimiter(&boundary);
                self.text("html", html);
                self.close(&boundary);
            }
            (None, Some(html)) => self.text("html", html),
            (text, None) => self.text("plain", text.as_deref().unwrap_or_default()),
        }
    }

    /// Writes the header of a multipart and returns its boundary.
    fn multipart(&mut self, subtype: &str, mark: &str, seed: &str, root: Option<&str>) -> String {
        let boundary = format!("=_{mark}_{seed}");
        self.begin("Content-Type");
        self.word(&format!("multipart/{subtype}"));
        if let Some(root) = root {
            self.parameter("type", root);
        }
        self.parameter("boundary", &boundary);
        self.end();
        boundary
    }

    /// Begins the next part. The line end before the two hyphens is the delimiter's own.
    fn delimiter(&mut self, boundary: &str) {
        for part in ["\r\n--", boundary, "\r\n"] {
            self.out.extend_from_slice(part.as_bytes());
        }
    }

    fn close(&mut self, boundary: &str) {
        for part in ["\r\n--", boundary, "--\r\n"] {
            self.out.extend_from_slice(part.as_bytes());
        }
    }

    /// The bytes of the message that are in memory.
    fn held(&self) -> usize {
        let before: usize = self
            .pieces
            .iter()
            .map(|piece| match piece {
                Piece::Bytes(bytes) => bytes.len(),
                Piece::File(_) => 0,
            })
            .sum();
        before + self.out.len()
    }

    fn file(&mut self, file: Enclosure, disposition: &str) -> Result<(), String> {
        let attachment = &file.attachment;
        let filename = safe_name(&attachment.filename);
        let loaded = if file.size <= LARGEST_LOADED && self.held() < MOST_LOADED {
            load(&file)
        } else {
            None
        };
        let mut media = match &attachment.content_type {
            Some(given) => media_type(given)?,
            None => vec![guessed(&filename)],
        };
        let is_utf8 = || loaded.as_deref().is_some_and(|bytes| std::str::from_utf8(bytes).is_ok());
        if media.len() == 1 && media[0].starts_with("text/") && is_utf8() {
            media.push("charset=utf-8".to_owned());
        }
        self.plain("Content-Type", &media.join("; "));
        self.plain("Content-Transfer-Encoding", "base64");
        self.begin("Content-Disposition");
        self.word(disposition);
        self.parameter("filename", &filename);
        self.end();
        if let Some(cid) = &attachment.cid {
            self.plain("Content-ID", &format!("<{}>", content_id(cid)?));
        }
        self.out.extend_from_slice(b"\r\n");
        match loaded {
            Some(bytes) => push_base64(&mut self.out, &bytes),
            None => {
                let before = std::mem::take(&mut self.out);
                self.pieces.push(Piece::Bytes(before));
                self.pieces.push(Piece::File(file));
            }
        }
        Ok(())
    }
}

/// The name without directories, and without characters that a mail program or a shell may take for something else.
fn safe_name(filename: &str) -> String {
    let last = filename.rsplit('/').next().unwrap_or_default();
    let name: String = last
        .chars()
        .map(|c| match c {
            '\\' | '\u{fffd}' => '_',
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '_',
            c if is_control(c) || c == '\t' => '_',
            c => c,
        })
        .collect();
    match name.trim() {
        "" | "." | ".." => "attachment".to_owned(),
        name => name.to_owned(),
    }
}

/// The media type that the name of a file tells.
fn guessed(filename: &str) -> String {
    let media = from_path(filename).first_raw().unwrap_or(ANY_TYPE);
    if is_opaque(media) { media } else { ANY_TYPE }.to_owned()
}

/// Whether bytes of this type may be sent as base64 (RFC 2045, 6.4: no message and no multipart may).
fn is_opaque(media: &str) -> bool {
    !media.starts_with("message/") && !media.starts_with("multipart/")
}

/// The type and the parameters of a `content_type`, or what is wrong with it.
fn media_type(given: &str) -> Result<Vec<String>, String> {
    let wrong = || {
        let told = format!("attachments: content_type {given:?} is not of the form type/subtype");
        one_line(&told, 200)
    };
    let is_token = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&b))
    };
    let mut words = Vec::new();
    for (nth, part) in given.split(';').map(str::trim).enumerate() {
        let separator = if nth == 0 { '/' } else { '=' };
        let (left, right) = part.split_once(separator).ok_or_else(wrong)?;
        let bare = right
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'))
            .filter(|_| nth > 0)
            .unwrap_or(right);
        if !is_token(left) || !is_token(bare) || part.len() > 128 {
            return Err(wrong());
        }
        words.push(if nth == 0 {
            part.to_ascii_lowercase()
        } else {
            format!("{}={bare}", left.to_ascii_lowercase())
        });
    }
    if is_opaque(&words[0]) { Ok(words) } else { Ok(vec![ANY_TYPE.to_owned()]) }
}

/// The `cid` without its brackets, or what is wrong with it.
fn content_id(cid: &str) -> Result<&str, String> {
    let bare = cid.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')).unwrap_or(cid);
    let is_plain = |b: u8| b.is_ascii_graphic() && !b"<>\"()\\,;:[]".contains(&b);
    if bare.is_empty() || bare.len() > 200 || !bare.bytes().all(is_plain) {
        let told = format!("attachments: cid {cid:?} is not made of letters, digits and .-_@");
        return Err(one_line(&told, 200));
    }
    Ok(bare)
}
