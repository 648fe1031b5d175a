mod headers;
mod parties;
mod properties;
mod structure;

use super::*;
use crate::domain::message::{Attachment, MailId};
use mail_parser::{Message, MessageParser};
use std::collections::BTreeMap;
use std::path::Path;

/// Thu, 1 Jan 2026 00:00:00 UTC.
const NOW: i64 = 1_767_225_600_000;

fn mail() -> Mail {
    Mail {
        id: MailId(7),
        queue: "default".to_owned(),
        from: Some("Shop <shop@example.com>".to_owned()),
        reply_to: None,
        to: "b@example.net".to_owned(),
        cc: String::new(),
        bcc: String::new(),
        template: "t".to_owned(),
        locale: None,
        parameters: "{}".to_owned(),
        attachments: "[]".to_owned(),
        headers: "{}".to_owned(),
        attempt_count: 0,
        reap_count: 0,
        max_attempts: None,
        created_at: 0,
        next_attempt_at: 0,
        expires_at: None,
        message_id: "0123456789abcdef".to_owned(),
        delivered: Vec::new(),
        refused: BTreeMap::new(),
    }
}

fn letter(subject: &str, text: &str) -> Letter {
    Letter { subject: subject.to_owned(), text: Some(text.to_owned()), ..Letter::default() }
}

fn enclosure(path: &Path, filename: &str, cid: Option<&str>) -> Enclosure {
    Enclosure {
        attachment: Attachment {
            filename: filename.to_owned(),
            content_type: None,
            storage_ref: path.display().to_string(),
            sha256: None,
            size: None,
            cid: cid.map(str::to_owned),
        },
        path: path.to_owned(),
        size: path.metadata().unwrap().len(),
    }
}

fn bytes_of(outgoing: &Outgoing) -> Vec<u8> {
    let mut bytes = Vec::new();
    outgoing.content.write_to(&mut bytes).unwrap();
    assert_eq!(outgoing.content.size(), bytes.len() as u64);
    bytes
}

/// The message as text, after a look for faults on the wire.
fn wire(mail: &Mail, letter: &Letter, enclosures: Vec<Enclosure>) -> String {
    let outgoing = build(mail, letter, enclosures, &Defaults::default(), NOW).unwrap();
    let bytes = bytes_of(&outgoing);
    assert_eq!(faults(&bytes), Vec::<String>::new());
    String::from_utf8(bytes).unwrap()
}

/// The lines of one header field, unfolded.
fn field(message: &str, name: &str) -> Option<String> {
    let (header, _) = message.split_once("\r\n\r\n").unwrap();
    let unfolded = header.replace("\r\n ", " ");
    let start = format!("{name}: ");
    let mut found = unfolded.split("\r\n").filter_map(|line| line.strip_prefix(&start));
    let value = found.next().map(str::to_owned);
    assert_eq!(found.next(), None, "two {name} fields");
    value
}

fn parse(message: &str) -> Message<'_> {
    MessageParser::default().parse(message.as_bytes()).unwrap()
}

/// Everything about the bytes that a server or a reader may object to.
fn faults(bytes: &[u8]) -> Vec<String> {
    let mut faults = Vec::new();
    if !bytes.ends_with(b"\r\n") {
        faults.push("no line end at the end".to_owned());
    }
    for line in bytes.split_inclusive(|b| *b == b'\n') {
        let Some(line) = line.strip_suffix(b"\r\n") else {
            faults.push(format!("bare LF after {line:?}"));
            continue;
        };
        if line.len() > 998 {
            faults.push(format!("a line of {} bytes", line.len()));
        }
        if let Some(byte) = line.iter().find(|b| !matches!(b, b'\t' | b' '..=b'~')) {
            faults.push(format!("byte {byte:#x} in {line:?}"));
        }
    }
    let head = String::from_utf8_lossy(bytes).into_owned();
    let head = head.split("\r\n\r\n").next().unwrap_or_default();
    for line in head.split("\r\n") {
        if line.contains("=?") && line.len() > 76 {
            faults.push(format!("an encoded-word on a line of {} bytes", line.len()));
        }
        if line.trim().is_empty() {
            faults.push("a blank folded line".to_owned());
        }
        for word in line.split(' ').filter(|word| word.starts_with("=?")) {
            if word.len() > 75 {
                faults.push(format!("an encoded-word of {} bytes", word.len()));
            }
        }
    }
    faults
}
