//! What can be said to this server at all: looked at before a mail is offered.
//!
//! Invariant: a command line is made of checked addresses only, so that nothing in one becomes another command or a
//! parameter of this one.

use super::reply::Capabilities;
use super::settings::Settings;
use crate::domain::address::Address;
use crate::domain::fault::one_line;
use crate::domain::message::{Envelope, Outgoing};
use crate::domain::outcome::{Defect, Fate, Outcome};

/// A mail as it can be offered to one server.
pub(super) struct Screened {
    /// The recipients to ask, as places in the envelope.
    pub(super) asked: Vec<usize>,
    /// One for each recipient of the envelope; set where it needs no asking.
    pub(super) fates: Vec<Option<Fate>>,
    /// The bytes of the message, our header included.
    pub(super) size: u64,
    pub(super) needs_utf8: bool,
}

impl Screened {
    /// Looks at `mail`. The error is its outcome, known without asking anybody.
    pub(super) fn look(
        mail: &Outgoing,
        can: Capabilities,
        settings: &Settings,
    ) -> Result<Screened, Outcome> {
        let envelope = &mail.envelope;
        if let Some(words) = flaw(envelope) {
            return Err(Outcome::Defective { defect: Defect::Invalid, words });
        }
        let all = |words: String| {
            Outcome::Answered(vec![Fate::Refused(words); envelope.recipients.len()])
        };
        let size = mail.content.size() + header(mail, settings).len() as u64;
        if let Some(Some(limit)) = can.size
            && size > limit
        {
            return Err(all(format!(
                "message of {size} bytes is over the server's limit of {limit}"
            )));
        }
        let no_utf8 = |address: &Address| !can.smtputf8 && needs_utf8(address);
        let why = "needs SMTPUTF8, which the server does not offer";
        if no_utf8(&envelope.sender) {
            return Err(all(format!("the sender {} {why}", envelope.sender)));
        }
        let fates: Vec<Option<Fate>> = envelope
            .recipients
            .iter()
            .map(|address| no_utf8(address).then(|| Fate::Refused(why.into())))
            .collect();
        let asked: Vec<usize> = (0..fates.len()).filter(|at| fates[*at].is_none()).collect();
        if asked.is_empty() {
            return Err(Outcome::Answered(fates.into_iter().flatten().collect()));
        }
        let needs_utf8 = needs_utf8(&envelope.sender)
            || asked.iter().any(|at| needs_utf8(&envelope.recipients[*at]));
        Ok(Screened { asked, fates, size, needs_utf8 })
    }
}

/// Why this envelope can be offered to no server, if so.
fn flaw(envelope: &Envelope) -> Option<String> {
    let mut everybody = std::iter::once(&envelope.sender).chain(&envelope.recipients);
    if let Some(address) = everybody.find(|address| !is_sayable(&address.to_string())) {
        let address = one_line(&address.to_string(), 100);
        return Some(format!("the address {address:?} cannot be said in SMTP"));
    }
    envelope.recipients.is_empty().then(|| "the mail has no recipient".to_owned())
}

/// The header line that goes above the message, or nothing.
pub(super) fn header(mail: &Outgoing, settings: &Settings) -> String {
    let is_name = |name: &&String| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_graphic() && b != b':')
    };
    match settings.idempotency_header.as_ref().filter(is_name) {
        Some(name) => format!("{name}: {}\r\n", one_line(&mail.message_id, 900)),
        None => String::new(),
    }
}

fn needs_utf8(address: &Address) -> bool {
    !address.local().is_ascii() || !address.domain().is_ascii()
}

/// Addresses were checked when they were read; this is the lock on the door itself.
fn is_sayable(text: &str) -> bool {
    let mut in_quotes = false;
    let mut escaped = false;
    for c in text.chars() {
        if c.is_control() {
            return false;
        }
        match c {
            _ if escaped => escaped = false,
            '\\' if in_quotes => escaped = true,
            '"' => in_quotes = !in_quotes,
            '<' | '>' | ' ' if !in_quotes => return false,
            _ => {}
        }
    }
    !in_quotes && text.len() <= 512
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_an_address_becomes_another_command() {
        for text in
            ["a@x.example", "\"odd user\"@x.example", "\"a>b\\\"c\"@x.example", "-a@x.example"]
        {
            assert!(is_sayable(text), "{text}");
        }
        for text in [
            "a@x.example\r\nRCPT TO:<b@y.example",
            "a@x.example> SIZE=1",
            "a b@x.example",
            "\"a\r\n\"@x.example",
            "\"a\\\"@x.example",
            "<a@x.example",
        ] {
            assert!(!is_sayable(text), "{text}");
        }
        assert!(!is_sayable(&"a".repeat(600)));
    }
}
