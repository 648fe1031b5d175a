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
        let (media, mut parameters) = match &attachment.content_type {
            Some(given) => media_type(given)?,
            None => (guessed(&filename), Vec::new()),
        };
        let is_utf8 = || loaded.as_deref().is_some_and(|bytes| std::str::from_utf8(bytes).is_ok());
        let is_told = parameters.iter().any(|(name, _)| name == "charset");
        if media.starts_with("text/") && !is_told && is_utf8() {
            parameters.push(("charset".to_owned(), "utf-8".to_owned()));
        }
        self.begin("Content-Type");
        self.word(&media);
        for (name, value) in parameters {
            if is_token(&value) && value.len() < 60 {
                self.out.push(b';');
                self.word(&format!("{name}={value}"));
            } else {
                self.parameter(&name, &value);
            }
        }
        self.end();
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

/// Whether `text` needs no quotes.
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&b))
}

/// The type of a `content_type` and its parameters, each once, or what is wrong with it.
fn media_type(given: &str) -> Result<(String, Vec<(String, String)>), String> {
    let parse = || {
        let (media, mut rest) = given.split_once(';').unwrap_or((given, ""));
        let media = media.trim().to_ascii_lowercase();
        let (left, right) = media.split_once('/')?;
        if !is_token(left) || !is_token(right) || media.len() > 128 {
            return None;
        }
        let mut all: Vec<(String, String)> = Vec::new();
        loop {
            // An empty parameter, as behind a last semicolon, says nothing.
            rest = rest.trim_start_matches([' ', '\t', ';']);
            if rest.is_empty() {
                break;
            }
            let (name, value, after) = media_parameter(rest)?;
            if value.chars().any(is_control) || name.len() > 64 {
                return None;
            }
            rest = after;
            // One that is encoded as RFC 2231 says can only be a name or a text, and the name is told elsewhere.
            if name.split_once('*').is_some_and(|(name, _)| is_token(name)) {
                continue;
            }
            if !is_token(&name) {
                return None;
            }
            if all.iter().all(|(known, _)| *known != name) {
                all.push((name, value));
            }
        }
        Some((media, all))
    };
    let (media, parameters) = parse().ok_or_else(|| {
        let told = format!("attachments: content_type {given:?} is not of the form type/subtype");
        one_line(&told, 200)
    })?;
    match is_opaque(&media) {
        true => Ok((media, parameters)),
        false => Ok((ANY_TYPE.to_owned(), Vec::new())),
    }
}

/// The name and the value of the first parameter in `text`, and what comes behind it.
fn media_parameter(text: &str) -> Option<(String, String, &str)> {
    let (name, rest) = text.split_once('=')?;
    let (name, rest) = (name.trim().to_ascii_lowercase(), rest.trim_start());
    let Some(quoted) = rest.strip_prefix('"') else {
        let (value, after) = rest.split_once(';').unwrap_or((rest, ""));
        let value = value.trim();
        return (!value.is_empty() && !value.contains('"'))
            .then(|| (name, value.to_owned(), after));
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    loop {
        match characters.next()? {
            (_, '\\') => value.push(characters.next()?.1),
            (at, '"') => {
                let after = quoted[at + 1..].trim_start();
                return (after.is_empty() || after.starts_with(';'))
                    .then_some((name, value, after));
            }
            (_, c) => value.push(c),
        }
    }
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
