//! `on_failed`: a command of the admin's that is told which mails a run could not send.
//!
//! It is run once, after the run, with a document on its standard input. Whatever becomes of it changes nothing, and it
//! holds nothing of ours: its words on stderr come over a pipe, so that whoever reads ours need not wait for what it leaves
//! behind.

use crate::domain::message::{MailId, Record};
use crate::output::{Level, Output, to_json};
use crate::store::Store;
use rustix::io::ioctl_fionbio;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long the command may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long it has to clean up once it was told to end.
const GRACE: Duration = Duration::from_millis(500);

/// More bytes than these of what it says on stderr are not told.
const MOST_SAID: usize = 16 * 1024;

/// More mails than this are only counted.
const MOST_TOLD: usize = 1_000;

/// Tells `command` of the mails `failed`, if there are any. A signal that sets `stop` ends it.
pub fn tell(
    command: &[String],
    failed: &[MailId],
    store: &Store,
    output: &Output,
    stop: &AtomicBool,
) {
    let Some((program, arguments)) = command.split_first() else { return };
    if failed.is_empty() {
        return;
    }
    let warn = |words: &str| output.say(Level::Warning, &format!("on_failed: {words}"));
    let told: Vec<Value> = failed.iter().take(MOST_TOLD).map(|id| mail(*id, store)).collect();
    let document = to_json(&json!({ "count": failed.len(), "failed": told }));
    // What stopped the run is no reason to tell nobody.
    stop.store(false, Ordering::Relaxed);
    let mut said = Vec::new();
    let ended = start(Command::new(program).args(arguments).stdout(Stdio::null()))
        .map(|child| finish(child, document, PATIENCE, stop, &mut said));
    let is_well = matches!(ended, Ok(Ok(End::Itself(status))) if status.success());
    let level = if is_well { Level::Notice } else { Level::Warning };
    for line in String::from_utf8_lossy(&said).lines() {
        output.say(level, &format!("on_failed: {line}"));
    }
    match ended {
        Err(e) => warn(&format!("{program} cannot be run: {e}")),
        Ok(Err(e)) => warn(&format!("the command cannot be waited for: {e}")),
        Ok(Ok(End::Itself(status))) if status.success() => {}
        Ok(Ok(End::Itself(status))) => warn(&format!("the command ended with {status}")),
        Ok(Ok(End::TooLate)) => {
            warn(&format!("the command took more than {}s, and was ended", PATIENCE.as_secs()))
        }
        Ok(Ok(End::Stopped)) => warn("the command was ended by a signal to send-batch"),
    }
}

fn mail(id: MailId, store: &Store) -> Value {
    let Ok(Some(Ok(Record { mail, failure, error_message, idempotency_key, .. }))) = store.show(id)
    else {
        return json!({ "id": id.0 });
    };
    json!({
        "id": id.0, "queue": mail.queue, "to": mail.to, "template": mail.template, "key": idempotency_key,
        "failure": failure, "error": error_message,
    })
}

/// How the command ended.
#[derive(Debug)]
enum End {
    Itself(ExitStatus),
    TooLate,
    Stopped,
}

/// Starts the command in a process group of its own, so that it can be ended with all that it started.
fn start(command: &mut Command) -> io::Result<Child> {
    command.process_group(0).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn()
}

/// Feeds the command and waits for its end, for `limit` at most; `said` takes what it says on stderr.
fn finish(
    mut child: Child,
    document: String,
    limit: Duration,
    stop: &AtomicBool,
    said: &mut Vec<u8>,
) -> io::Result<End> {
    if let Some(mut stdin) = child.stdin.take() {
        // A command that does not read may fill the pipe. The thread ends with the command, or with this process.
        thread::spawn(move || stdin.write_all(document.as_bytes()));
    }
    let mut stderr = child.stderr.take();
    if let Some(stderr) = &stderr {
        ioctl_fionbio(stderr, true)?;
    }
    let until = Instant::now() + limit;
    let end = loop {
        let ended = child.try_wait()?;
        hear(&mut stderr, said);
        if let Some(status) = ended {
            break End::Itself(status);
        }
        let is_stopped = stop.load(Ordering::Relaxed);
        if is_stopped || Instant::now() >= until {
            end_group(&mut child)?;
            hear(&mut stderr, said);
            break if is_stopped { End::Stopped } else { End::TooLate };
        }
        thread::sleep(Duration::from_millis(10));
    };
    Ok(end)
}

/// Reads what is there now: once, as much as a pipe holds, since a command may say more than can be read.
fn hear(stderr: &mut Option<ChildStderr>, said: &mut Vec<u8>) {
    let mut bytes = vec![0; 64 * 1024];
    let read = stderr.as_mut().map_or(0, |stderr| stderr.read(&mut bytes).unwrap_or_default());
    let room = MOST_SAID.saturating_sub(said.len());
    said.extend(bytes.iter().take(read.min(room)));
}

/// Ends the command and all that it started. It is waited for last: until then nobody else can get the group's number.
fn end_group(child: &mut Child) -> io::Result<()> {
    let group = Pid::from_child(child);
    kill_process_group(group, Signal::TERM)?;
    thread::sleep(GRACE);
    kill_process_group(group, Signal::KILL)?;
    child.wait().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How a shell with this script ends, what it says on stderr, and what anything it started says on stdout.
    fn run(script: &str, limit: Duration, is_stopped: bool) -> (End, String, String) {
        let mut child =
            start(Command::new("sh").args(["-c", script]).stdout(Stdio::piped())).unwrap();
        let (mut stdout, mut said) = (child.stdout.take().unwrap(), Vec::new());
        let stop = AtomicBool::new(is_stopped);
        let end = finish(child, "{}".to_owned(), limit, &stop, &mut said).unwrap();
        let mut out = String::new();
        stdout.read_to_string(&mut out).unwrap();
        (end, String::from_utf8(said).unwrap(), out)
    }

    #[test]
    fn what_takes_too_long_is_ended_with_all_that_it_started() {
        // What ignores TERM too; whoever lives on would say so.
        let script = "trap '' TERM; (sleep 8; echo alive) & sleep 8; echo alive";
        let (end, _, out) = run(script, Duration::from_millis(50), false);
        assert!(matches!(end, End::TooLate) && out.is_empty(), "{end:?} {out}");
        let (end, _, out) = run(script, PATIENCE, true);
        assert!(matches!(end, End::Stopped) && out.is_empty(), "{end:?} {out}");
    }

    #[test]
    fn what_it_says_is_heard_as_far_as_it_goes() {
        let (end, said, _) = run("cat >&2; exit 4", PATIENCE, false);
        assert!(matches!(end, End::Itself(status) if status.code() == Some(4)), "{end:?}");
        assert_eq!(said, "{}");
        let (end, said, _) = run("yes | head -c 1000000 >&2", PATIENCE, false);
        assert!(matches!(end, End::Itself(status) if status.success()), "{end:?}");
        assert_eq!(said.len(), MOST_SAID);
    }
}
