//! Addresses and address lists (RFC 5322), checked once and then trusted.
//!
//! One parser serves the command line, the row at enqueue and the row at send, so that what was accepted can be sent.
//! An `Address` never holds a control character, and its domain is what a reader of RFC 5321 takes it for.

mod host;
mod list;
mod token;

use super::fault::Fault;
use std::fmt;

/// One mailbox's address. The domain is in lower case, as A-labels, so that equal domains compare equal. The local
/// part is kept as it was written: only the receiving host knows whether `Ada` and `ada` are one (RFC 5321, 2.4).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address(lettre::Address);

impl Address {
    /// Reads `local@domain` and nothing else: no name, no angle brackets, no white space, no comment.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        list::address(text)
    }

    /// The part before the `@`, quoted where it must be.
    pub fn local(&self) -> &str {
        self.0.user()
    }

    /// The part after the `@`: lower case, A-labels, or an address literal with its brackets.
    pub fn domain(&self) -> &str {
        self.0.domain()
    }

    /// The address all in lower case, for a list of people: there `Ada@` and `ada@` are one.
    pub fn folded(&self) -> String {
        format!("{}@{}", self.local().to_lowercase(), self.domain())
    }

    /// Whether only a server that offers SMTPUTF8 (RFC 6531) can be told this address.
    pub fn needs_smtputf8(&self) -> bool {
        !self.local().is_ascii()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An address with the name that is shown for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mailbox {
    /// Never empty, without control characters.
    pub name: Option<String>,
    pub address: Address,
}

impl fmt::Display for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(name) = &self.name else {
            return self.address.fmt(f);
        };
        if is_phrase(name) {
            f.write_str(name)?;
        } else {
            f.write_str(&quoted(name))?;
        }
        write!(f, " <{}>", self.address)
    }
}

/// Reads an RFC 5322 address list (`Ada <ada@example.com>, bob@example.com`). An empty text is an empty list.
///
/// Encoded-words in a name are text like any other. Groups, source routes and empty places between commas are
/// refused by name.
pub fn parse_list(text: &str) -> Result<Vec<Mailbox>, Fault> {
    list::mailboxes(text)
}

/// The list in the form that is kept in a row: `parse_list` reads it back to the same value.
pub fn write_list(list: &[Mailbox]) -> String {
    let mut text = String::new();
    for (nth, mailbox) in list.iter().enumerate() {
        if nth > 0 {
            text.push_str(", ");
        }
        text.push_str(&mailbox.to_string());
    }
    text
}

/// What an atom is made of (RFC 5322, 3.2.3, and RFC 6532 for what is not ASCII).
pub fn is_atext(byte: u8) -> bool {
    byte >= 0x80 || byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte)
}

/// Whether `name` can stand before an angle address as it is: atoms with one space between them.
pub fn is_phrase(name: &str) -> bool {
    name.split(' ').all(|word| !word.is_empty() && word.bytes().all(is_atext))
}

/// `text` as a quoted-string.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        if c == '"' || c == '\\' {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests;
