//! Header fields as lines: folded at 76 where white space allows, encoded where a word is not plain ASCII.
//!
//! Nothing written here holds a control character or a line over 998 bytes, whatever the value.

use super::body::quoted_byte;
use super::content::Piece;
use crate::domain::address::{Mailbox, is_phrase, quoted};

/// A line with an encoded-word has at most 76 characters (RFC 2047, 2); all others are kept as short.
const LINE: usize = 76;
/// The payload of an encoded-word of 75 characters with the charset utf-8.
const PAYLOAD: usize = 63;
/// With less room than this the next encoded-word begins on a line of its own.
const LEAST_PAYLOAD: usize = 24;
/// A longer word without a space is encoded, because only an encoded value can be cut anywhere.
const LONGEST_WORD: usize = 250;
/// A longer name is encoded rather than quoted, because a quoted one is kept on one line.
const LONGEST_QUOTED: usize = 60;

/// A message while it is written.
pub(super) struct Wire {
    pub(super) out: Vec<u8>,
    pub(super) pieces: Vec<Piece>,
    /// Where the current line begins in `out`.
    line: usize,
    /// Whether the current line can be ended before the next word.
    can_fold: bool,
}

impl Wire {
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Wire { out: Vec::with_capacity(bytes), pieces: Vec::new(), line: 0, can_fold: false }
    }

    /// Begins the field `name`.
    pub(super) fn begin(&mut self, name: &str) {
        self.line = self.out.len();
        self.can_fold = false;
        self.out.extend_from_slice(name.as_bytes());
        self.out.push(b':');
    }

    /// Ends the field.
    pub(super) fn end(&mut self) {
        self.out.extend_from_slice(b"\r\n");
        self.line = self.out.len();
    }

    fn column(&self) -> usize {
        self.out.len() - self.line
    }

    fn fold(&mut self) {
        self.end();
        self.can_fold = false;
    }

    /// Writes the space before a word of `length` bytes, on a new line if the word would not fit on this one.
    fn space(&mut self, length: usize) {
        if self.can_fold && self.column() + 1 + length > LINE {
            self.fold();
        }
        self.out.push(b' ');
        self.can_fold = true;
    }

    /// Writes a word that is plain and stays whole.
    pub(super) fn word(&mut self, word: &str) {
        self.space(word.len());
        self.out.extend_from_slice(word.as_bytes());
    }

    /// A field whose value is plain: words with one space between them.
    pub(super) fn plain(&mut self, name: &str, value: &str) {
        self.begin(name);
        for word in value.split([' ', '\t']).filter(|word| !word.is_empty()) {
            self.word(word);
        }
        self.end();
    }

    /// A field whose value is text: a reader gets it back byte for byte.
    pub(super) fn unstructured(&mut self, name: &str, value: &str) {
        if is_plain(value) {
            return self.plain(name, value);
        }
        self.begin(name);
        self.encoded(value);
        self.end();
    }

    /// Writes `text` as encoded-words of whole characters.
    fn encoded(&mut self, text: &str) {
        let as_q: usize = text.bytes().map(q_length).sum();
        let is_q = as_q <= text.len().div_ceil(3) * 4;
        let mut rest = text;
        while !rest.is_empty() {
            let mut room = LINE.saturating_sub(self.column() + 1 + 12).min(PAYLOAD);
            if room < LEAST_PAYLOAD {
                self.fold();
                room = PAYLOAD;
            }
            let (part, after) = rest.split_at(fitting(rest, room, is_q));
            if is_q {
                self.out.extend_from_slice(b" =?utf-8?q?");
                part.bytes().for_each(|byte| self.push_q(byte));
            } else {
                self.out.extend_from_slice(b" =?utf-8?b?");
                let payload = base64::Engine::encode(
                    &base64::engine::general_purpose::STANDARD,
                    part.as_bytes(),
                );
                self.out.extend_from_slice(payload.as_bytes());
            }
            self.out.extend_from_slice(b"?=");
            self.can_fold = true;
            rest = after;
            if !rest.is_empty() {
                self.fold();
            }
        }
    }

    fn push_q(&mut self, byte: u8) {
        match byte {
            b' ' => self.out.push(b'_'),
            _ if q_length(byte) == 1 => self.out.push(byte),
            _ => self.out.extend_from_slice(&quoted_byte(byte)),
        }
    }

    /// A field that lists mailboxes. Without `is_utf8` an address that only SMTPUTF8 can carry is shown as the name
    /// of an empty group (RFC 6857), so that the header stays ASCII for the other recipients.
    pub(super) fn mailboxes(&mut self, name: &str, list: &[Mailbox], is_utf8: bool) {
        self.begin(name);
        for (nth, mailbox) in list.iter().enumerate() {
            let comma = if nth + 1 < list.len() { "," } else { "" };
            let address = &mailbox.address;
            if address.needs_smtputf8() && !is_utf8 {
                self.encoded(&match &mailbox.name {
                    Some(shown) => format!("{shown} {address}"),
                    None => address.to_string(),
                });
                self.word(if comma.is_empty() { ":;" } else { ":;," });
                continue;
            }
            let (open, close) = match &mailbox.name {
                Some(shown) => {
                    self.phrase(shown);
                    ("<", ">")
                }
                None => ("", ""),
            };
            let (local, domain) = (address.local(), address.domain());
            self.space(open.len() + local.len() + 1 + domain.len() + close.len() + comma.len());
            for part in [open, local, "@", domain, close, comma] {
                self.out.extend_from_slice(part.as_bytes());
            }
        }
        self.end();
    }

    /// Writes the name of a mailbox: atoms, a quoted-string or encoded-words, whichever is needed.
    fn phrase(&mut self, name: &str) {
        if is_plain(name) && is_phrase(name) {
            name.split(' ').for_each(|word| self.word(word));
        } else if is_plain(name) && name.len() <= LONGEST_QUOTED {
            self.word(&quoted(name));
        } else {
            self.encoded(name);
        }
    }

    /// Writes `; name=value` after the value of a field, as RFC 2231 says where the value is not a short plain word.
    pub(super) fn parameter(&mut self, name: &str, value: &str) {
        self.out.push(b';');
        // Many readers decode what looks like an encoded-word even inside quotes.
        let is_plain = !value.contains("=?")
            && value
                .bytes()
                .all(|b| (0x20..0x7f).contains(&b) && b != b'"' && b != b'\\' && b != b'%');
        if is_plain && name.len() + value.len() + 4 < LINE {
            return self.word(&format!("{name}=\"{value}\""));
        }
        let percented: usize = value.bytes().map(percent_length).sum();
        if name.len() + percented + 11 < LINE {
            let mut word = format!("{name}*=utf-8''");
            value.chars().for_each(|c| push_percent(&mut word, c));
            return self.word(&word);
        }
        let mut section = 0;
        let mut word = format!("{name}*0*=utf-8''");
        for c in value.chars() {
            let mut next = String::new();
            push_percent(&mut next, c);
            if word.len() + next.len() + 2 > LINE {
                word.push(';');
                self.word(&word);
                section += 1;
                word = format!("{name}*{section}*=");
            }
            word.push_str(&next);
        }
        self.word(&word);
    }
}

/// Whether `value` can be written as it is and comes back as it is: printable ASCII, no word that is too long or looks
/// encoded, and single spaces inside.
fn is_plain(value: &str) -> bool {
    let mut word = 0;
    for &byte in value.as_bytes() {
        match byte {
            b' ' if word == 0 => return false,
            b' ' => word = 0,
            0x21..=0x7e if word < LONGEST_WORD => word += 1,
            _ => return false,
        }
    }
    (word > 0 || value.is_empty()) && !value.contains("=?")
}

/// The bytes that `byte` takes in a Q encoded-word. Only what is allowed in a phrase too stands for itself
/// (RFC 2047, 5 (3)).
fn q_length(byte: u8) -> usize {
    if byte.is_ascii_alphanumeric() || b" !*+-/".contains(&byte) { 1 } else { 3 }
}

/// How many bytes of `text`, whole characters and at least one, fit into a payload of `room` bytes.
fn fitting(text: &str, room: usize, is_q: bool) -> usize {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        used += text[at..end].bytes().map(q_length).sum::<usize>();
        let payload = if is_q { used } else { end.div_ceil(3) * 4 };
        if payload > room && at > 0 {
            return at;
        }
    }
    text.len()
}

/// The bytes that `byte` takes in an extended parameter value (RFC 2231, 7: attribute-char).
fn percent_length(byte: u8) -> usize {
    if byte.is_ascii_alphanumeric() || b"!#$&+-.^_`{|}~".contains(&byte) { 1 } else { 3 }
}

fn push_percent(word: &mut String, c: char) {
    let mut bytes = [0; 4];
    for byte in c.encode_utf8(&mut bytes).bytes() {
        if percent_length(byte) == 1 {
            word.push(char::from(byte));
        } else {
            word.push_str(&format!("%{byte:02X}"));
        }
    }
}
