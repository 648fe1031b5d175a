//! Mails as files in a directory: for trying things out, for tests, and for programs that pick mail up.
//!
//! One mail is one `.eml` file. Above the message stand the lines that say who sent it and who is to get it
//! (`Return-Path`, and `X-Envelope-To` for each recipient, Bcc included), as a local delivery adds them; the message
//! below them is untouched. Invariant: a file with this name is complete and on disk, and the same mail handed over
//! twice is one file.

use super::Relay;
use crate::domain::fault::{one_line, words_of};
use crate::domain::message::Outgoing;
use crate::domain::outcome::{Defect, Fate, Outcome, Trouble};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A road into a directory, which is made when the first mail comes.
pub struct FileRelay {
    directory: PathBuf,
}

impl FileRelay {
    /// A relay into `directory`.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        FileRelay { directory: directory.into() }
    }

    fn road(&self, error: &io::Error) -> Outcome {
        let words = format!("{}: {}", self.directory.display(), words_of(error));
        Outcome::Road(Trouble::new(words, false))
    }
}

/// How writing failed: the directory's fault, or the mail's.
enum Failure {
    Directory(io::Error),
    Content(io::Error),
}

impl Relay for FileRelay {
    fn deliver(
        &mut self,
        mail: &Outgoing,
        _next: Option<&Outgoing>,
        before_end: &mut dyn FnMut() -> bool,
    ) -> Outcome {
        let name = name(mail);
        let draft = self.directory.join(format!(".{name}.new"));
        let written = fs::create_dir_all(&self.directory)
            .map_err(Failure::Directory)
            .and_then(|()| write(&draft, mail));
        let ended = match written {
            Ok(()) if before_end() => self.publish(&draft, &name).map_err(Failure::Directory),
            Ok(()) => Err(Failure::Directory(io::Error::other("stopped"))),
            Err(failure) => Err(failure),
        };
        let Err(failure) = ended else {
            return Outcome::Answered(vec![Fate::Accepted; mail.envelope.recipients.len()]);
        };
        // Best effort: a draft that stays is overwritten by the next attempt.
        let _ = fs::remove_file(&draft);
        match failure {
            Failure::Directory(error) => self.road(&error),
            Failure::Content(error) => Outcome::Defective {
                defect: Defect::Attachment,
                words: one_line(&words_of(&error), 500),
            },
        }
    }

    fn close(&mut self) {}
}

impl FileRelay {
    fn publish(&self, draft: &Path, name: &str) -> io::Result<()> {
        fs::rename(draft, self.directory.join(name))?;
        // The name is on disk only when the directory is.
        File::open(&self.directory)?.sync_all()
    }
}

/// `ID-TOKEN.eml`: sorts by id, and is the same on each attempt. The token keeps the mails of two databases apart.
fn name(mail: &Outgoing) -> String {
    let token: String = mail
        .message_id
        .chars()
        .take(80)
        .map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '@' => c,
            '.' => '.',
            _ => '_',
        })
        .collect();
    format!("{:08}-{token}.eml", mail.id.0)
}

fn write(path: &Path, mail: &Outgoing) -> Result<(), Failure> {
    let file = File::create(path).map_err(Failure::Directory)?;
    let mut out = Tracked { out: BufWriter::with_capacity(64 * 1024, file), has_failed: false };
    let written = envelope(mail, &mut out).and_then(|()| mail.content.write_to(&mut out));
    if let Err(error) = written {
        return Err(match out.has_failed {
            true => Failure::Directory(error),
            false => Failure::Content(error),
        });
    }
    out.flush().map_err(Failure::Directory)?;
    out.out.get_ref().sync_all().map_err(Failure::Directory)
}

/// Who sent the mail and who is to get it, as headers.
fn envelope(mail: &Outgoing, out: &mut dyn Write) -> io::Result<()> {
    let clean = |address: String| one_line(&address, 900);
    let sender = clean(mail.envelope.sender.to_string());
    write!(out, "Return-Path: <{sender}>\r\n")?;
    for recipient in &mail.envelope.recipients {
        write!(out, "X-Envelope-To: {}\r\n", clean(recipient.to_string()))?;
    }
    Ok(())
}

/// Tells a disk that is full from an attachment that is gone: both come back as an error of the same call.
struct Tracked {
    out: BufWriter<File>,
    has_failed: bool,
}

impl Write for Tracked {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes).inspect_err(|_| self.has_failed = true)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush().inspect_err(|_| self.has_failed = true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::samples::{Broken, mail};
    use tempfile::tempdir;

    fn files(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_mail_handed_over_twice_is_one_complete_file() {
        let home = tempdir().unwrap();
        let directory = home.path();
        let target = directory.join("not/yet/there");
        let mut relay = FileRelay::new(&target);
        let mail = mail(7, &["a@x.example", "b@x.example"]);
        for _ in 0..2 {
            let outcome = relay.deliver(&mail, None, &mut || true);
            assert_eq!(outcome, Outcome::Answered(vec![Fate::Accepted, Fate::Accepted]));
        }
        assert_eq!(files(&target), ["00000007-m7@x.example.eml"]);
        let text = fs::read_to_string(target.join("00000007-m7@x.example.eml")).unwrap();
        let mut expected = Vec::new();
        mail.content.write_to(&mut expected).unwrap();
        let message = text
            .strip_prefix(
                "Return-Path: <me@x.example>\r\nX-Envelope-To: a@x.example\r\nX-Envelope-To: b@x.example\r\n",
            )
            .unwrap();
        assert_eq!(message.as_bytes(), expected);
    }

    #[test]
    fn a_directory_that_cannot_be_written_is_an_outage() {
        let home = tempdir().unwrap();
        let directory = home.path();
        let target = directory.join("a-file");
        fs::write(&target, "").unwrap();
        let mut relay = FileRelay::new(&target);
        let outcome = relay.deliver(&mail(1, &["a@x.example"]), None, &mut || true);
        let Outcome::Road(trouble) = outcome else { panic!("{outcome:?}") };
        assert!(trouble.words.contains("a-file"), "{}", trouble.words);
    }

    #[test]
    fn nothing_is_left_of_a_mail_that_was_stopped_or_whose_attachment_changed() {
        let home = tempdir().unwrap();
        let directory = home.path();
        let mut relay = FileRelay::new(directory);
        let mut mail = mail(1, &["a@x.example"]);
        let outcome = relay.deliver(&mail, None, &mut || false);
        assert!(matches!(outcome, Outcome::Road(_)), "{outcome:?}");
        mail.content = Box::new(Broken);
        let outcome = relay.deliver(&mail, None, &mut || true);
        let Outcome::Defective { defect, words } = outcome else { panic!("{outcome:?}") };
        assert_eq!((defect, words.as_str()), (Defect::Attachment, "it changed"));
        assert!(files(directory).is_empty());
    }

    #[test]
    fn a_name_stays_in_its_directory() {
        let mut mail = mail(3, &["a@x.example"]);
        mail.message_id = "../../etc/passwd\0@x".into();
        assert_eq!(name(&mail), "00000003-.._.._etc_passwd_@x.eml");
    }
}
