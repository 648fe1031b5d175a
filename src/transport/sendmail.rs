//! Mails handed to a local `sendmail` program, as sendmail, Postfix, Exim, OpenSMTPD, msmtp and others install one.
//!
//! It takes the message on its standard input, with this system's line ends, and says by its exit status (sysexits(3))
//! what became of it. It answers for all recipients together. Invariant: no address is ever taken for an option or
//! seen by a shell; the program never outlives its deadline, and sees no end of a message that is not complete.

use super::Relay;
use crate::domain::fault::{one_line, words_of};
use crate::domain::message::Outgoing;
use crate::domain::outcome::{Defect, Fate, Outcome, Trouble};
use std::io::{self, BufWriter, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// How much of what the program complains is read, in bytes.
const MAX_COMPLAINT: u64 = 16 * 1024;
/// How long the complaint is waited for once the program ended: something that it left behind may hold the pipe open.
const COMPLAINT_LIMIT: Duration = Duration::from_secs(1);

/// A road through a program.
pub struct SendmailRelay {
    program: PathBuf,
    limit: Duration,
}

impl SendmailRelay {
    /// Where the program is, unless something else is set.
    pub const PROGRAM: &'static str = "/usr/sbin/sendmail";

    /// A relay through `program`, which is killed when it takes longer than `limit` for one mail.
    pub fn new(program: impl Into<PathBuf>, limit: Duration) -> Self {
        SendmailRelay { program: program.into(), limit }
    }

    fn road(&self, why: &str, in_hand: bool) -> Outcome {
        let words = format!("{}: {}", self.program.display(), one_line(why, 500));
        Outcome::Road(Trouble::new(words, in_hand))
    }

    /// The running program and its standard input: a socket, since a write to one can be given a time limit.
    fn start(&self, mail: &Outgoing) -> io::Result<(Child, UnixStream)> {
        let recipients = mail.envelope.recipients.iter().map(ToString::to_string);
        let (ours, its) = UnixStream::pair()?;
        let child = Command::new(&self.program)
            .args(["-i", "-f", &mail.envelope.sender.to_string(), "--"])
            .args(recipients)
            .stdin(OwnedFd::from(its))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            // With a group of its own it can be ended with all that it started, and a ^C is not meant for it.
            .process_group(0)
            .spawn()?;
        Ok((child, ours))
    }

    /// It did not end in time. If it had the whole message it may have passed it on.
    fn overdue(&self, mail: &Outgoing, written: io::Result<()>) -> Outcome {
        let limit = humantime::format_duration(self.limit);
        match written {
            Ok(()) => Outcome::Unknown {
                fates: vec![Fate::Accepted; mail.envelope.recipients.len()],
                words: format!(
                    "{} had the whole message and did not end within {limit}",
                    self.program.display()
                ),
            },
            Err(_) => self.road(&format!("did not read the message within {limit}"), true),
        }
    }

    /// What an exit status means for the mail.
    fn judge(&self, status: ExitStatus, complaint: &str, mail: &Outgoing) -> Outcome {
        let said = match complaint {
            "" => status.to_string(),
            complaint => format!("{complaint} ({status})"),
        };
        let all = |fate: Fate| Outcome::Answered(vec![fate; mail.envelope.recipients.len()]);
        let words = format!("{}: {said}", self.program.display());
        match status.code() {
            Some(0) => all(Fate::Accepted),
            // Data error, no such user, no such host, not permitted: about this mail.
            Some(65 | 67 | 68 | 77) => all(Fate::Refused(words)),
            // Try again, or an error of the system while the mail was taken: it may pass.
            Some(71 | 74 | 75) => all(Fate::Deferred(words)),
            // Usage, unavailable, bug, no queue, configuration, or a signal: says nothing about the mail.
            _ => self.road(&said, true),
        }
    }
}

impl Relay for SendmailRelay {
    fn deliver(
        &mut self,
        mail: &Outgoing,
        _next: Option<&Outgoing>,
        before_end: &mut dyn FnMut() -> bool,
    ) -> Outcome {
        let end = Instant::now() + self.limit.min(Duration::from_secs(86_400));
        let (mut child, input) = match self.start(mail) {
            Ok(started) => started,
            Err(error) => return self.road(&words_of(&error), false),
        };
        let complaint = listen(&mut child);
        let mut out = Unix::new(Timed { input, end });
        let written = mail.content.write_to(&mut out).and_then(|()| out.flush());
        let has_content_failed = written.is_err() && !out.has_failed;
        if has_content_failed {
            // Its input is still open: it cannot have taken the mail as complete, and will not.
            end_it(&mut child);
            let why = written.err().map(|error| words_of(&error));
            return Outcome::Defective {
                defect: Defect::Attachment,
                words: one_line(&why.unwrap_or_default(), 500),
            };
        }
        if !before_end() {
            end_it(&mut child);
            return self.road("stopped before the end of the message", false);
        }
        drop(out);
        let Some(status) = wait(&mut child, end) else {
            return self.overdue(mail, written);
        };
        let complaint = complaint.and_then(|hear| hear.recv_timeout(COMPLAINT_LIMIT).ok());
        let outcome = self.judge(status, &complaint.unwrap_or_default(), mail);
        match (&outcome, written) {
            // It ended well, but without having read the message.
            (Outcome::Answered(fates), Err(error)) if fates.contains(&Fate::Accepted) => {
                self.road(&words_of(&error), true)
            }
            _ => outcome,
        }
    }

    fn close(&mut self) {}
}

/// Gathers what the program complains, so that a full pipe does not stop it.
fn listen(child: &mut Child) -> Option<mpsc::Receiver<String>> {
    let mut stderr = child.stderr.take()?;
    let (tell, hear) = mpsc::channel();
    thread::Builder::new()
        .spawn(move || {
            let mut said = Vec::new();
            let read = (&mut stderr).take(MAX_COMPLAINT).read_to_end(&mut said);
            let said = String::from_utf8_lossy(&said);
            let said = read.map_or_else(|error| words_of(&error), |_| one_line(&said, 400));
            // Nobody hears it when the program was killed.
            let _ = tell.send(said);
            let _ = io::copy(&mut stderr, &mut io::sink());
        })
        .ok()?;
    Some(hear)
}

/// Waits until the program ends; kills it at `end` and gives `None`.
fn wait(child: &mut Child, end: Instant) -> Option<ExitStatus> {
    let mut pause = Duration::from_millis(1);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < end => {}
            Ok(None) | Err(_) => {
                end_it(child);
                return None;
            }
        }
        thread::sleep(pause.min(end.saturating_duration_since(Instant::now())));
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// Kills the program and all that it started.
fn end_it(child: &mut Child) {
    // Any of this may have ended by itself. The shell is there for its `kill`: std knows no process groups.
    let group = format!("kill -s KILL -- -{}", child.id());
    let _ = Command::new("/bin/sh").args(["-c", &group]).stderr(Stdio::null()).status();
    let _ = child.kill();
    let _ = child.wait();
}

/// The program's input, which is written until `end` and no longer.
struct Timed {
    input: UnixStream,
    end: Instant,
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.input.set_write_timeout(Some(left))?;
        self.input.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// CRLF becomes LF on the way to the program.
struct Unix<W: Write> {
    out: BufWriter<W>,
    has_cr: bool,
    /// Whether the program did not take it, rather than the message could not be read.
    has_failed: bool,
}

impl<W: Write> Unix<W> {
    fn new(out: W) -> Self {
        Unix { out: BufWriter::with_capacity(64 * 1024, out), has_cr: false, has_failed: false }
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        for line in bytes.split_inclusive(|&b| b == b'\r') {
            if self.has_cr && line[0] != b'\n' {
                self.out.write_all(b"\r")?;
            }
            let (text, has_cr) = match line {
                [text @ .., b'\r'] => (text, true),
                text => (text, false),
            };
            self.out.write_all(text)?;
            self.has_cr = has_cr;
        }
        Ok(())
    }
}

impl<W: Write> Write for Unix<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.put(bytes) {
            Ok(()) => Ok(bytes.len()),
            Err(error) => {
                self.has_failed = true;
                Err(error)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush().inspect_err(|_| self.has_failed = true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::samples::{Broken, mail};
    use std::fs;
    use std::path::Path;
    use tempfile::tempdir;

    /// A program that does what `script` says; `$0.args` and `$0.mail` are for what it is given.
    fn program(directory: &Path, script: &str) -> PathBuf {
        let path = directory.join("sendmail");
        // Written by another process: a file that this one has open for writing, even in a fork, cannot be run.
        let status = Command::new("/bin/sh")
            .args(["-c", r#"printf '%s\n' "$1" >"$2" && chmod 755 "$2""#, "sh"])
            .arg(format!("#!/bin/sh\n{script}"))
            .arg(&path)
            .status();
        assert!(status.unwrap().success());
        path
    }

    fn relay(program: PathBuf) -> SendmailRelay {
        SendmailRelay::new(program, Duration::from_secs(20))
    }

    #[test]
    fn the_program_gets_the_envelope_and_the_message_with_its_line_ends() {
        let home = tempdir().unwrap();
        let directory = home.path();
        let path = program(directory, r#"printf '%s\n' "$@" >"$0.args"; cat >"$0.mail""#);
        let mail = mail(1, &["-a@x.example", "b@x.example"]);
        let outcome = relay(path).deliver(&mail, None, &mut || true);
        assert_eq!(outcome, Outcome::Answered(vec![Fate::Accepted; 2]));
        assert_eq!(
            fs::read_to_string(directory.join("sendmail.args")).unwrap(),
            "-i\n-f\nme@x.example\n--\n-a@x.example\nb@x.example\n"
        );
        assert_eq!(
            fs::read_to_string(directory.join("sendmail.mail")).unwrap(),
            "Message-ID: <m1@x.example>\nSubject: mail 1\n\n.hello\n"
        );
    }

    #[test]
    fn each_exit_status_has_its_meaning() {
        let home = tempdir().unwrap();
        let directory = home.path();
        for (script, expected) in [
            ("cat >/dev/null; echo gone >&2; exit 67", "refused"),
            ("cat >/dev/null; echo later >&2; exit 75", "deferred"),
            ("cat >/dev/null; echo what >&2; exit 64", "road"),
            ("cat >/dev/null; exit 78", "road"),
            ("exit 67", "refused"),
            ("kill -9 $$", "road"),
        ] {
            let path = program(directory, script);
            let outcome = relay(path).deliver(&mail(1, &["a@x.example"]), None, &mut || true);
            let (what, words) = match outcome {
                Outcome::Answered(fates) => match fates[0].clone() {
                    Fate::Refused(words) => ("refused", words),
                    Fate::Deferred(words) => ("deferred", words),
                    other => panic!("{script}: {other:?}"),
                },
                Outcome::Road(trouble) => ("road", trouble.words),
                other => panic!("{script}: {other:?}"),
            };
            assert_eq!(what, expected, "{script}: {words}");
            if let Some((_, said)) = script.split_once("echo ") {
                let said = said.split(' ').next().unwrap();
                assert!(words.contains(said), "{script}: {words}");
            }
        }
        let missing = relay(directory.join("missing"));
        let outcome = { missing }.deliver(&mail(1, &["a@x.example"]), None, &mut || true);
        assert!(matches!(outcome, Outcome::Road(_)), "{outcome:?}");
    }

    #[test]
    fn a_program_that_hangs_is_ended() {
        let home = tempdir().unwrap();
        let directory = home.path();
        let mut large = mail(1, &["a@x.example"]);
        large.content = Box::new(b"0123456789abcde\r\n".repeat(50_000));
        for (script, mail) in
            [("cat >/dev/null; exec sleep 600", mail(1, &["a@x.example"])), ("sleep 600", large)]
        {
            let path = program(directory, script);
            let mut relay = SendmailRelay::new(path, Duration::from_millis(300));
            let outcome = relay.deliver(&mail, None, &mut || true);
            assert!(
                matches!(outcome, Outcome::Unknown { .. } | Outcome::Road(_)),
                "{script}: {outcome:?}"
            );
        }
    }

    #[test]
    fn a_stopped_or_broken_mail_is_not_taken() {
        let home = tempdir().unwrap();
        let directory = home.path();
        let path = program(directory, r#"cat >/dev/null && touch "$0.taken""#);
        let mut mail = mail(1, &["a@x.example"]);
        let outcome = relay(path.clone()).deliver(&mail, None, &mut || false);
        assert!(matches!(outcome, Outcome::Road(_)), "{outcome:?}");
        mail.content = Box::new(Broken);
        let outcome = relay(path).deliver(&mail, None, &mut || true);
        assert!(matches!(outcome, Outcome::Defective { .. }), "{outcome:?}");
        assert!(!directory.join("sendmail.taken").exists());
    }
}
