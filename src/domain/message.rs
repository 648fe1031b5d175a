//! A mail as it is asked for (`Draft`), as it is stored (`Mail`), and as it is handed over (`Outgoing`).
//!
//! A `Mail` holds the text of its columns: what it means is worked out once, by the thread that sends it.

use super::address::Address;
use super::state::Status;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// The number of a mail, as `enqueue` prints it. Never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MailId(pub i64);

impl fmt::Display for MailId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A checked mail on its way into the queue. All times are milliseconds since 1970, UTC.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Draft {
    pub queue: String,
    pub from: Option<String>,
    pub reply_to: Option<String>,
    /// Address lists in canonical form, ready for the row.
    pub to: String,
    pub cc: String,
    pub bcc: String,
    pub template: String,
    pub locale: Option<String>,
    /// A JSON object.
    pub parameters: String,
    pub attachments: Vec<Attachment>,
    pub headers: BTreeMap<String, String>,
    pub max_attempts: Option<u32>,
    /// `None`: now.
    pub next_attempt_at: Option<i64>,
    /// The time that was named, as against one so long from now.
    pub named_at: Option<i64>,
    pub expires_at: Option<i64>,
    pub idempotency_key: Option<String>,
    /// Repeats of its key and template within this time are counted, not stored.
    pub suppress_for: Option<Duration>,
    pub group: Option<String>,
}

/// A file that goes with a mail: a reference, never the bytes.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(expecting = "an object with filename and storage_ref")]
pub struct Attachment {
    pub filename: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// `spool:SHA256` for a file that `enqueue` copied, else a path below an attachment root.
    pub storage_ref: String,
    /// The SHA-256 of the bytes in hexadecimal; the mail is not sent with others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// For an inline image: what `cid:` in the HTML names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cid: Option<String>,
}

/// A digest as `Attachment` keeps it: hexadecimal, in lower case.
pub fn hexadecimal(digest: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    digest
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|half| char::from(DIGITS[usize::from(half)]))
        .collect()
}

/// An attachment that was found where its reference points, ready to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enclosure {
    pub attachment: Attachment,
    pub path: PathBuf,
    /// The size in bytes; the mail is not sent if the file has another when it is read.
    pub size: u64,
}

/// The scheme of a `storage_ref` that names a spooled file.
pub const SPOOL_SCHEME: &str = "spool:";

/// Whether `name` may name a queue, or a group: as the CHECKs of the schema say.
pub fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b))
}

/// What `Mail::refused` says of a recipient who is suppressed begins with this word, a server's words with a code.
pub const SUPPRESSED: &str = "suppressed";

/// The name of the built-in template that serves `--subject`, `--body` and `--html`.
pub const BUILT_IN_TEMPLATE: &str = "message";

/// One row of `email_messages`, its columns as they stand there.
#[derive(Debug, Clone, PartialEq)]
pub struct Mail {
    pub id: MailId,
    pub queue: String,
    pub from: Option<String>,
    pub reply_to: Option<String>,
    pub to: String,
    pub cc: String,
    pub bcc: String,
    pub template: String,
    pub locale: Option<String>,
    pub parameters: String,
    pub attachments: String,
    pub headers: String,
    pub attempt_count: u32,
    pub reap_count: u32,
    pub max_attempts: Option<u32>,
    pub created_at: i64,
    pub next_attempt_at: i64,
    pub expires_at: Option<i64>,
    /// The token that the `Message-ID` derives from.
    pub message_id: String,
    /// Addresses that have the mail already.
    pub delivered: Vec<String>,
    /// Addresses that the server refused for good, with its words, and those that are suppressed.
    pub refused: BTreeMap<String, String>,
}

/// A mail as `list`, `show` and `stats` see it: everything, whatever its state.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    pub mail: Mail,
    pub status: Status,
    pub failure: Option<String>,
    pub error_message: Option<String>,
    pub locked_at: Option<i64>,
    pub locked_by: Option<String>,
    pub sent_at: Option<i64>,
    pub finished_at: Option<i64>,
    pub idempotency_key: Option<String>,
    /// How long the last hand-over took, in milliseconds.
    pub send_ms: Option<i64>,
    pub group_name: Option<String>,
}

/// What a template became for one mail.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Letter {
    pub subject: String,
    pub text: Option<String>,
    pub html: Option<String>,
    /// Headers that the template sets (`headers.hbs`), in order.
    pub headers: Vec<(String, String)>,
}

/// Who sends and who receives, as SMTP is told: nothing else reaches `MAIL FROM` and `RCPT TO`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    pub sender: Address,
    pub recipients: Vec<Address>,
}

/// The bytes of a message with CRLF line ends, the last line's too, not dot-stuffed. Large attachments are read while they are written.
pub trait Content: Send {
    /// The number of bytes that `write_to` writes.
    fn size(&self) -> u64;
    /// Writes the message. An error of kind `InvalidData` says that an attachment changed meanwhile.
    fn write_to(&self, out: &mut dyn io::Write) -> io::Result<()>;
}

impl Content for Vec<u8> {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn write_to(&self, out: &mut dyn io::Write) -> io::Result<()> {
        out.write_all(self)
    }
}

/// A mail that is ready to go.
pub struct Outgoing {
    pub id: MailId,
    pub envelope: Envelope,
    pub content: Box<dyn Content>,
    /// The `Message-ID` without its brackets: also the token against copies that some providers know.
    pub message_id: String,
}
