//! A letter and its attachments become the bytes on the wire.
//!
//! The message is ASCII with CRLF line ends of at most 998 bytes, unless its sender or all of its recipients need
//! SMTPUTF8. Nothing a column, a template or a file name holds becomes a header, a recipient or a part of its own.
//!
//! The lines are written here and not by lettre's builder, which panics on a control character in a name, writes an
//! address list or a long word as one line of any length, sends NUL and bare CR as they are, and holds every
//! attachment in memory.

mod body;
mod content;
mod fields;
mod parts;
mod wire;

use crate::domain::address::{Address, Mailbox, parse_list};
use crate::domain::fault::{Fault, one_line};
use crate::domain::message::{Content, Enclosure, Envelope, Letter, Mail, Outgoing};
use content::{Piece, Pieces};
use std::collections::HashSet;
use wire::Wire;

/// What a mail gets that does not say otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Defaults {
    /// The author, for a row without `from_addr`. `None`: such a row cannot be sent.
    pub from: Option<Mailbox>,
    /// Where answers go, for a row without `reply_to`. Empty: to the author.
    pub reply_to: Vec<Mailbox>,
}

/// The longest error text, in bytes.
const LONGEST_ERROR: usize = 300;

/// Builds the message of `mail`, dated `now_ms` (milliseconds since 1970, UTC), for those who do not have it yet.
///
/// The error is one line for `error_message`: the mail is `invalid`.
pub fn build(
    mail: &Mail,
    letter: &Letter,
    enclosures: Vec<Enclosure>,
    defaults: &Defaults,
    now_ms: i64,
) -> Result<Outgoing, String> {
    let parties = Parties::of(mail, defaults)?;
    if parties.recipients.is_empty() {
        return Err("nobody is left to send to".to_owned());
    }
    let is_utf8 = parties.from.address.needs_smtputf8()
        || parties.recipients.iter().all(Address::needs_smtputf8);
    let token = fields::token(mail);
    let message_id = format!("{token}@{}", parties.from.address.domain());

    let mut wire = Wire::with_capacity(room_for(letter));
    wire.top(&parties, &letter.subject, &message_id, now_ms, is_utf8)?;
    for (name, value) in fields::extra(mail, letter)? {
        wire.extra_field(&name, &value);
    }
    wire.message(letter, enclosures, &token)?;
    Ok(Outgoing {
        id: mail.id,
        envelope: Envelope { sender: parties.from.address, recipients: parties.recipients },
        content: wire.finish(),
        message_id,
    })
}

/// A guess at the bytes of the message without its attachments.
fn room_for(letter: &Letter) -> usize {
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let text = length(&letter.text) + length(&letter.html);
    1024 + letter.subject.len() + text + text / 8
}

/// Who a mail is from, to, and for.
struct Parties {
    from: Mailbox,
    reply_to: Vec<Mailbox>,
    to: Vec<Mailbox>,
    cc: Vec<Mailbox>,
    recipients: Vec<Address>,
}

impl Parties {
    fn of(mail: &Mail, defaults: &Defaults) -> Result<Self, String> {
        let from = match &mail.from {
            None => defaults.from.clone().ok_or_else(|| {
                "from_addr: the mail names no sender and the configuration has no `from`".to_owned()
            })?,
            Some(text) => match read("from_addr", text)?.as_slice() {
                [one] => one.clone(),
                list => {
                    let count = list.len();
                    return Err(format!("from_addr: one address is needed, it has {count}"));
                }
            },
        };
        let reply_to = match &mail.reply_to {
            None => defaults.reply_to.clone(),
            Some(text) => read("reply_to", text)?,
        };
        let lists = Lists::of(mail)?;
        Ok(Parties { from, reply_to, recipients: lists.waiting(mail), to: lists.to, cc: lists.cc })
    }
}

/// The recipients by column, each address in the first of its columns only.
struct Lists {
    to: Vec<Mailbox>,
    cc: Vec<Mailbox>,
    bcc: Vec<Mailbox>,
}

impl Lists {
    fn of(mail: &Mail) -> Result<Self, String> {
        let mut lists = Lists {
            to: read("to_addrs", &mail.to)?,
            cc: read("cc_addrs", &mail.cc)?,
            bcc: read("bcc_addrs", &mail.bcc)?,
        };
        if lists.to.len() + lists.cc.len() + lists.bcc.len() > 1 {
            let mut seen = HashSet::new();
            for list in [&mut lists.to, &mut lists.cc, &mut lists.bcc] {
                list.retain(|mailbox| seen.insert(mailbox.address.clone()));
            }
        }
        Ok(lists)
    }

    fn waiting(&self, mail: &Mail) -> Vec<Address> {
        let done: HashSet<Address> = mail
            .delivered
            .iter()
            .chain(mail.refused.keys())
            .filter_map(|text| Address::parse(text).ok())
            .collect();
        [&self.to, &self.cc, &self.bcc]
            .into_iter()
            .flatten()
            .map(|mailbox| &mailbox.address)
            .filter(|address| !done.contains(*address))
            .cloned()
            .collect()
    }
}

/// The list in the column `column`.
fn read(column: &str, text: &str) -> Result<Vec<Mailbox>, String> {
    parse_list(text).map_err(|fault| told(column, &fault))
}

/// `fault` as one line that names the column.
fn told(column: &str, fault: &Fault) -> String {
    one_line(&format!("{column}: {fault}"), LONGEST_ERROR)
}

impl Wire {
    /// The whole message, ready to be written.
    fn finish(mut self) -> Box<dyn Content> {
        if self.pieces.is_empty() {
            return Box::new(self.out);
        }
        self.pieces.push(Piece::Bytes(self.out));
        Box::new(Pieces(self.pieces))
    }
}

#[cfg(test)]
mod tests;
