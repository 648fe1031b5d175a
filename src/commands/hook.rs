//! `on_failed`: a command of the admin's that is told which mails a run could not send.
//!
//! It is run once, after the run, with a document on its standard input. Whatever becomes of it changes nothing.

use crate::domain::message::{MailId, Record};
use crate::output::{Level, Output, to_json};
use crate::store::Store;
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long the command may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// More mails than this are only counted.
const MOST_TOLD: usize = 1_000;

/// Tells `command` of the mails `failed`, if there are any.
pub fn tell(command: &[String], failed: &[MailId], store: &Store, output: &Output) {
    let Some((program, arguments)) = command.split_first() else { return };
    if failed.is_empty() {
        return;
    }
    let warn = |words: &str| output.say(Level::Warning, &format!("on_failed: {words}"));
    let told: Vec<Value> = failed.iter().take(MOST_TOLD).map(|id| mail(*id, store)).collect();
    let document = to_json(&json!({ "count": failed.len(), "failed": told }));
    let started =
        Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
    match started {
        Err(e) => warn(&format!("{program} cannot be run: {e}")),
        Ok(child) => match finish(child, document) {
            Ok(Some(status)) if status.success() => {}
            Ok(Some(status)) => warn(&format!("the command ended with {status}")),
            Ok(None) => {
                warn(&format!("the command took more than {}s, and was ended", PATIENCE.as_secs()))
            }
            Err(e) => warn(&format!("the command cannot be waited for: {e}")),
        },
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

/// Feeds the command and waits for its end; `None`: it took too long.
fn finish(mut child: Child, document: String) -> std::io::Result<Option<ExitStatus>> {
    if let Some(mut stdin) = child.stdin.take() {
        // A command that does not read may fill the pipe. The thread ends with the command, or with this process.
        thread::spawn(move || stdin.write_all(document.as_bytes()));
    }
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= end {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(10));
    }
}
