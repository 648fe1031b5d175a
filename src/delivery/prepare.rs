//! A row becomes a message: render, fetch the attachments, build, sign.

use crate::dkim::Signers;
use crate::domain::message::{Attachment, Mail, Outgoing};
use crate::domain::outcome::Defect;
use crate::mime::{self, Defaults};
use crate::spool::Spool;
use crate::templates::Templates;
use std::collections::HashMap;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What every sender thread needs to build messages, shared by all: each template is compiled once a run.
pub struct Workshop {
    pub templates: Templates,
    pub spool: Spool,
    pub defaults: Defaults,
    /// Those of queues with their own.
    pub own_defaults: HashMap<String, Defaults>,
    pub signers: Signers,
    /// The largest message in bytes that is sent.
    pub max_message_size: u64,
}

impl Workshop {
    /// The message of `mail` as of `now_ms`, or why there can be none.
    pub fn prepare(&self, mail: &Mail, now_ms: i64) -> Result<Outgoing, (Defect, String)> {
        // A panic is a bug, but one mail's bug must not cost the others theirs.
        catch_unwind(AssertUnwindSafe(|| self.build(mail, now_ms))).unwrap_or_else(|_| {
            Err((Defect::Invalid, "mailq has a bug that this mail meets".to_owned()))
        })
    }

    fn build(&self, mail: &Mail, now_ms: i64) -> Result<Outgoing, (Defect, String)> {
        let letter = self
            .templates
            .render(&mail.template, mail.locale.as_deref(), &mail.parameters)
            .map_err(|words| (Defect::Render, words))?;
        let mut enclosures = Vec::new();
        if mail.attachments != "[]" {
            let attachments: Vec<Attachment> =
                serde_json::from_str(&mail.attachments).map_err(|e| {
                    let words = e.to_string().replace(" at line 1 column ", ", at column ");
                    (Defect::Attachment, format!("attachments cannot be read: {words}"))
                })?;
            for attachment in &attachments {
                let enclosure =
                    self.spool.open(attachment).map_err(|words| (Defect::Attachment, words))?;
                enclosures.push(enclosure);
            }
        }
        let defaults = self.own_defaults.get(&mail.queue).unwrap_or(&self.defaults);
        let mut outgoing = mime::build(mail, &letter, enclosures, defaults, now_ms)
            .map_err(|words| (Defect::Invalid, words))?;
        outgoing.content = self
            .signers
            // The envelope's sender is the author of From.
            .sign(outgoing.envelope.sender.domain(), outgoing.content, now_ms)
            .map_err(|error| match error.kind() {
                // As `Content` says: an attachment changed.
                ErrorKind::InvalidData => (Defect::Attachment, error.to_string()),
                _ => (Defect::Invalid, error.to_string()),
            })?;
        let size = outgoing.content.size();
        if size > self.max_message_size {
            let limit = self.max_message_size;
            return Err((
                Defect::Invalid,
                format!("message of {size} bytes is over max_message_size, {limit}"),
            ));
        }
        Ok(outgoing)
    }
}

#[cfg(test)]
mod tests;
