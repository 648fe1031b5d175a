//! The header of a message: what `mailq` owns, then what the row and the template add.

use super::wire::Wire;
use super::{LONGEST_ERROR, Parties, told};
use crate::domain::address::is_atext;
use crate::domain::fault::one_line;
use crate::domain::header::{check_header, is_control, is_structured};
use crate::domain::message::{Letter, Mail, hexadecimal};
use chrono::DateTime;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// The last millisecond of the year 9999, which RFC 5322 can still write.
const LAST_MS: i64 = 253_402_300_799_999;
/// A longer token is shortened, so that the `Message-ID` stays on one line that everybody reads.
const LONGEST_TOKEN: usize = 128;

impl Wire {
    /// Writes the fields that `mailq` owns. The error names what is wrong with the subject.
    pub(super) fn top(
        &mut self,
        parties: &Parties,
        subject: &str,
        message_id: &str,
        now_ms: i64,
        is_utf8: bool,
    ) -> Result<(), String> {
        let now = DateTime::from_timestamp_millis(now_ms.clamp(0, LAST_MS)).unwrap_or_default();
        self.plain("Date", &now.to_rfc2822());
        self.mailboxes("From", std::slice::from_ref(&parties.from), is_utf8);
        if !parties.reply_to.is_empty() {
            self.mailboxes("Reply-To", &parties.reply_to, is_utf8);
        }
        if !parties.to.is_empty() {
            self.mailboxes("To", &parties.to, is_utf8);
        } else if parties.cc.is_empty() {
            self.plain("To", "undisclosed-recipients:;");
        }
        if !parties.cc.is_empty() {
            self.mailboxes("Cc", &parties.cc, is_utf8);
        }
        self.unstructured("Subject", one_line_subject(subject)?);
        self.plain("Message-ID", &format!("<{message_id}>"));
        self.plain("MIME-Version", "1.0");
        Ok(())
    }

    /// Writes a header that has passed `check_header`.
    pub(super) fn extra_field(&mut self, name: &str, value: &str) {
        if is_structured(name) {
            self.plain(name, value);
        } else {
            self.unstructured(name, value);
        }
    }
}

/// The subject without the line end that a template file leaves.
fn one_line_subject(subject: &str) -> Result<&str, String> {
    let line = subject.trim_end_matches(['\r', '\n']);
    match line.chars().find(|c| is_control(*c)) {
        None => Ok(line),
        Some(c) => {
            let code = u32::from(c);
            let told = format!("subject: it holds the control character U+{code:04X}: {line:?}");
            Err(one_line(&told, LONGEST_ERROR))
        }
    }
}

/// The left side of the `Message-ID`: the row's token, made harmless if another program wrote a strange one.
pub(super) fn token(mail: &Mail) -> String {
    let token = mail.message_id.as_str();
    let is_dotted_atom = token
        .split('.')
        .all(|atom| !atom.is_empty() && atom.bytes().all(|b| b.is_ascii() && is_atext(b)));
    if is_dotted_atom && token.len() <= LONGEST_TOKEN {
        return token.to_owned();
    }
    // Different tokens stay different, whatever was left out of them.
    let digest = Sha256::digest(token.as_bytes());
    let mark = hexadecimal(&digest[..8]);
    let kept: String =
        token.chars().filter(char::is_ascii_alphanumeric).take(LONGEST_TOKEN / 2).collect();
    format!("mailq-{}-{kept}{mark}", mail.id)
}

/// The extra headers in order: the template's, then the row's, of which one with the same name replaces it.
pub(super) fn extra(mail: &Mail, letter: &Letter) -> Result<Vec<(String, String)>, String> {
    let mut headers: Vec<(String, String)> = Vec::with_capacity(letter.headers.len() + 2);
    for (name, value) in &letter.headers {
        add(&mut headers, "template headers", name, value)?;
    }
    let of_template = headers.len();
    for (name, value) in &of_row(&mail.headers)? {
        let Value::String(value) = value else {
            let told = format!("headers: the value of {name:?} is no text");
            return Err(one_line(&told, LONGEST_ERROR));
        };
        let replaced = headers[..of_template.min(headers.len())]
            .iter()
            .position(|(known, _)| known.eq_ignore_ascii_case(name));
        if let Some(at) = replaced {
            check_header(name, value).map_err(|fault| told("headers", &fault))?;
            headers[at].1.clone_from(value);
        } else {
            add(&mut headers, "headers", name, value)?;
        }
    }
    complete(&mut headers);
    Ok(headers)
}

/// The JSON object in the column `headers`.
fn of_row(column: &str) -> Result<Map<String, Value>, String> {
    if column == "{}" || column.is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_str(column)
        .map_err(|error| one_line(&format!("headers: no JSON object: {error}"), LONGEST_ERROR))
}

fn add(
    headers: &mut Vec<(String, String)>,
    source: &str,
    name: &str,
    value: &str,
) -> Result<(), String> {
    check_header(name, value).map_err(|fault| told(source, &fault))?;
    if find(headers, name).is_some() {
        return Err(format!("{source}: {name} is there twice"));
    }
    headers.push((name.to_owned(), value.to_owned()));
    Ok(())
}

fn find<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    headers
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.as_str())
}

/// Adds what follows from the headers that are there, and what every mail of a program says of itself (RFC 3834).
fn complete(headers: &mut Vec<(String, String)>) {
    for (name, value) in headers.iter_mut() {
        let is_bare_url = name.eq_ignore_ascii_case("List-Unsubscribe")
            && !value.contains(['<', '>', ' ', ','])
            && value.contains(':');
        if is_bare_url {
            *value = format!("<{value}>");
        }
    }
    let is_one_click = find(headers, "List-Unsubscribe")
        .is_some_and(|value| value.to_ascii_lowercase().contains("<https://"));
    if is_one_click && find(headers, "List-Unsubscribe-Post").is_none() {
        let post = ("List-Unsubscribe-Post", "List-Unsubscribe=One-Click");
        headers.push((post.0.to_owned(), post.1.to_owned()));
    }
    if find(headers, "Auto-Submitted").is_none() {
        headers.push(("Auto-Submitted".to_owned(), "auto-generated".to_owned()));
    }
}
