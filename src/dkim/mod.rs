//! DKIM (RFC 6376, RFC 8463): a message whose sender's domain has a key is signed.
//!
//! All keys are read when the signers are made, before a mail is touched: a key that cannot be used ends the run, and no
//! mail goes out unsigned for want of one. What is signed streams by: the message is read once more than it is sent,
//! and never held.

mod canon;
mod key;

use crate::domain::fault::Fault;
use crate::domain::message::Content;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use canon::{Intake, fields, push_field};
use key::Key;
use std::io::{self, Write};
use std::path::Path;

/// The fields that are signed where they are there: those that `mailq` writes and a reader sees or acts upon (5.4.1).
const SIGNED: [&str; 14] = [
    "From",
    "Reply-To",
    "To",
    "Cc",
    "Subject",
    "Date",
    "Message-ID",
    "MIME-Version",
    "Content-Type",
    "In-Reply-To",
    "References",
    "List-Id",
    "List-Unsubscribe",
    "List-Unsubscribe-Post",
];
/// Signed once more than it is there, so that none can be added (8.15).
const OVERSIGNED: &str = "From";
const LINE: usize = 76;

/// The keys of a run. Without any, nothing is signed.
#[derive(Default)]
pub struct Signers(Vec<Signer>);

/// A domain that signs.
pub struct Signer {
    domain: String,
    selector: String,
    key: Key,
}

impl Signer {
    /// Reads the key for `domain` (lower case, A-labels), which DNS has under `selector`, from a PEM file: RSA as
    /// PKCS#8 or PKCS#1, Ed25519 as PKCS#8.
    ///
    /// # Errors
    /// The file cannot be read, or has no key that can be used; the fault names domain and file.
    pub fn read(domain: &str, selector: &str, key_file: &Path) -> Result<Signer, Fault> {
        let key = Key::read(domain, key_file)?;
        Ok(Signer { domain: domain.to_owned(), selector: selector.to_owned(), key })
    }

    /// How it signs, in the words of the signature.
    pub fn algorithm(&self) -> &'static str {
        self.key.algorithm()
    }

    fn is_for(&self, sender: &str) -> bool {
        let above = sender.strip_suffix(self.domain.as_str());
        above.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    }

    /// The `DKIM-Signature` of `content`, with its line end, as of `now_ms`.
    fn field(&self, content: &dyn Content, now_ms: i64) -> io::Result<Vec<u8>> {
        let mut intake = Intake::default();
        content.write_to(&mut intake)?;
        let (header, body) = intake.finish();
        let fields = fields(&header);

        let mut names: Vec<&str> = Vec::with_capacity(SIGNED.len() + 1);
        let mut text = Vec::with_capacity(header.len() + 512);
        for name in SIGNED {
            // From the last to the first, as 5.4.2 says for a field that is there several times.
            let found = fields
                .iter()
                .rev()
                .filter(|(found, _)| found.trim_ascii_end().eq_ignore_ascii_case(name.as_bytes()));
            for (found, value) in found {
                push_field(&mut text, found, value);
                text.extend_from_slice(b"\r\n");
                names.push(name);
            }
            if name == OVERSIGNED {
                names.push(name);
            }
        }
        let mut field = Folded::new("DKIM-Signature:");
        for tag in [
            "v=1;".to_owned(),
            format!("a={};", self.key.algorithm()),
            "c=relaxed/relaxed;".to_owned(),
            format!("d={};", self.domain),
            format!("s={};", self.selector),
            format!("t={};", now_ms.max(0) / 1000),
        ] {
            field.word(&tag);
        }
        field.pieces("h=", names.join(":").split_inclusive(':'));
        field.push(";");
        field.word(&format!("bh={};", STANDARD.encode(body)));
        field.word("b=");

        // The field signs itself, its signature taken as empty and its line end left out (3.7).
        push_field(&mut text, b"DKIM-Signature", &field.out["DKIM-Signature:".len()..]);
        let signature = STANDARD.encode(self.key.sign(&text)?);
        field.characters(&signature);
        field.out.extend_from_slice(b"\r\n");
        Ok(field.out)
    }
}

impl Signers {
    pub fn new(signers: Vec<Signer>) -> Self {
        Signers(signers)
    }

    /// `content` with the signature of `sender`, the domain of its From (lower case, A-labels), before it; as it is
    /// where neither that domain nor one above it has a key. The nearest one signs.
    ///
    /// # Errors
    /// Those of `content`, or the key does not sign.
    pub fn sign(
        &self,
        sender: &str,
        content: Box<dyn Content>,
        now_ms: i64,
    ) -> io::Result<Box<dyn Content>> {
        let nearest =
            self.0.iter().filter(|one| one.is_for(sender)).max_by_key(|one| one.domain.len());
        let Some(signer) = nearest else {
            return Ok(content);
        };
        let field = signer.field(content.as_ref(), now_ms)?;
        Ok(Box::new(Signed { field, content }))
    }
}

/// A message with its signature before it.
struct Signed {
    field: Vec<u8>,
    content: Box<dyn Content>,
}

impl Content for Signed {
    fn size(&self) -> u64 {
        self.field.len() as u64 + self.content.size()
    }

    fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.field)?;
        self.content.write_to(out)
    }
}

/// A field in lines of 76, as long as its words allow.
struct Folded {
    out: Vec<u8>,
    column: usize,
}

impl Folded {
    fn new(name: &str) -> Self {
        Folded { out: name.as_bytes().to_vec(), column: name.len() }
    }

    fn push(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
        self.column += text.len();
    }

    fn fold(&mut self) {
        self.out.extend_from_slice(b"\r\n ");
        self.column = 1;
    }

    fn word(&mut self, word: &str) {
        if self.column + 1 + word.len() > LINE {
            self.fold()
        } else {
            self.push(" ")
        }
        self.push(word);
    }

    /// A word that may be cut between its pieces. The sign that follows it still fits.
    fn pieces<'a>(&mut self, begin: &str, pieces: impl Iterator<Item = &'a str>) {
        self.word(begin);
        for piece in pieces {
            if self.column + piece.len() >= LINE {
                self.fold();
            }
            self.push(piece);
        }
    }

    /// Text that may be cut anywhere.
    fn characters(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            if self.column >= LINE {
                self.fold();
            }
            let (part, after) = rest.split_at(rest.len().min(LINE - self.column));
            self.push(part);
            rest = after;
        }
    }
}

#[cfg(test)]
mod tests;
