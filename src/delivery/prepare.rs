//! A row becomes a message: render, fetch the attachments, build, sign.

use crate::dkim::Signers;
use crate::domain::message::{Attachment, Mail, Outgoing};
use crate::domain::outcome::Defect;
use crate::mime::{self, Defaults};
use crate::spool::Spool;
use crate::templates::Templates;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What every sender thread needs to build messages, shared by all: each template is compiled once a run.
pub struct Workshop {
    pub templates: Templates,
    pub spool: Spool,
    pub defaults: Defaults,
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
            let attachments: Vec<Attachment> = serde_json::from_str(&mail.attachments)
                .map_err(|e| (Defect::Attachment, format!("attachments cannot be read: {e}")))?;
            for attachment in &attachments {
                let enclosure =
                    self.spool.open(attachment).map_err(|words| (Defect::Attachment, words))?;
                enclosures.push(enclosure);
            }
        }
        let mut outgoing = mime::build(mail, &letter, enclosures, &self.defaults, now_ms)
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
mod tests {
    use super::*;
    use crate::dkim::Signer;
    use crate::domain::address::parse_list;
    use crate::domain::message::MailId;
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    const SIZE: u64 = 300 * 1024;

    /// A mail with a file that is too large to be held.
    fn mail(dir: &Path) -> Mail {
        fs::write(dir.join("large"), vec![b'x'; SIZE as usize]).unwrap();
        Mail {
            id: MailId(1),
            queue: "default".into(),
            from: None,
            reply_to: None,
            to: "you@example.net".into(),
            cc: String::new(),
            bcc: String::new(),
            template: "message".into(),
            locale: None,
            parameters: r#"{"subject":"s","body":"b"}"#.into(),
            attachments: r#"[{"filename":"large","storage_ref":"large"}]"#.into(),
            headers: "{}".into(),
            attempt_count: 0,
            reap_count: 0,
            max_attempts: None,
            created_at: 0,
            next_attempt_at: 0,
            expires_at: None,
            message_id: "token".into(),
            delivered: vec![],
            refused: BTreeMap::new(),
        }
    }

    fn workshop(dir: &Path, signing: Option<&str>) -> Workshop {
        let key = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/dkim/tests/rsa.pem");
        let signers = signing.map(|domain| Signer::read(domain, "s", &key).unwrap());
        Workshop {
            templates: Templates::new(None),
            spool: Spool::new(dir.join("spool"), vec![dir.to_owned()]),
            defaults: Defaults {
                from: parse_list("me@x.example").unwrap().pop(),
                reply_to: vec![],
            },
            signers: Signers::new(signers.into_iter().collect()),
            max_message_size: 2 * SIZE,
        }
    }

    fn bytes(outgoing: &Outgoing) -> String {
        let mut out = Vec::new();
        outgoing.content.write_to(&mut out).unwrap();
        assert_eq!(out.len() as u64, outgoing.content.size());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_mail_is_signed_for_its_senders_domain_only() {
        let dir = tempfile::tempdir().unwrap();
        let mail = mail(dir.path());
        let made = |signing| workshop(dir.path(), signing).prepare(&mail, 0).map(|o| bytes(&o));
        let bare = made(None).unwrap();
        assert!(bare.starts_with("Date:"), "{bare:.100}");
        assert_eq!(made(Some("y.example")).unwrap(), bare);
        let signed = made(Some("x.example")).unwrap();
        assert!(signed.starts_with("DKIM-Signature: v=1; a=rsa-sha256;"), "{signed:.100}");
        assert!(signed.ends_with(&bare));
    }

    #[test]
    fn a_file_that_changed_fails_its_mail_whoever_reads_it() {
        let dir = tempfile::tempdir().unwrap();
        let mut mail = mail(dir.path());
        let digest = "0".repeat(64);
        mail.attachments = mail.attachments.replace("}]", &format!(r#","sha256":"{digest}"}}]"#));
        let made = workshop(dir.path(), Some("x.example")).prepare(&mail, 0);
        let (defect, words) = made.err().expect("its bytes are others");
        assert_eq!(defect, Defect::Attachment);
        assert!(words.contains("large"), "{words}");
    }
}
