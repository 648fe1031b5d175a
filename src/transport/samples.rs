//! Mails for the tests of the transports.

use crate::domain::address::Address;
use crate::domain::message::{Content, Envelope, MailId, Outgoing};
use std::io;

/// A small mail with a line that begins with a dot.
pub fn mail(id: i64, recipients: &[&str]) -> Outgoing {
    let body = format!("Message-ID: <m{id}@x.example>\r\nSubject: mail {id}\r\n\r\n.hello\r\n");
    Outgoing {
        id: MailId(id),
        envelope: Envelope {
            sender: Address::parse("me@x.example").unwrap(),
            recipients: recipients.iter().map(|address| Address::parse(address).unwrap()).collect(),
        },
        content: Box::new(body.into_bytes()),
        message_id: format!("m{id}@x.example"),
    }
}

/// A message whose attachment changes while it is written.
pub struct Broken;

impl Content for Broken {
    fn size(&self) -> u64 {
        300_000
    }

    fn write_to(&self, out: &mut dyn io::Write) -> io::Result<()> {
        out.write_all(&b"half of it is there\r\n".repeat(5_000))?;
        Err(io::Error::new(io::ErrorKind::InvalidData, "it changed"))
    }
}
