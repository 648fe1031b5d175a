//! `mailq` is killed (SIGKILL) at every step of a run; afterwards every mail is SENT and arrived once, save the one a
//! connection whose final dot was unanswered, which may have arrived twice, with the same `Message-ID`.
//!
//! The steps are the phases of the SMTP dialogue, where the server holds its reply back while the process dies, and the
//! calls that write to the disk, which strace makes deadly one after the other.

use crate::support::rows::Rows;
use crate::support::sandbox::{Sandbox, skipped};
use crate::support::smtp_sink::{Message, Script, Sink};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

const MAILS: i64 = 5;

/// A sandbox with mails for n1, n2, … in the queue and one connection to `port`.
fn queued(port: u16, mails: i64) -> Sandbox {
    let sandbox = Sandbox::with_smtp(port);
    let rows = Rows::of(&sandbox);
    rows.run("PRAGMA journal_mode = WAL");
    rows.run(include_str!("../../schema.sql"));
    for n in 1..=mails {
        rows.run(&format!(
            r#"INSERT INTO email_messages (to_addrs, template, parameters)
               VALUES ('n{n}@example.com', 'hello', '{{"name":"{n}"}}')"#
        ));
    }
    sandbox
}

/// What time does: the leases of the dead are over, and so is every wait.
fn later(rows: &Rows) {
    rows.run("UPDATE email_messages SET locked_at = locked_at - 3600000 WHERE status = 'SENDING'");
    rows.run("UPDATE email_messages SET next_attempt_at = created_at WHERE status = 'PENDING'");
    rows.run("DELETE FROM mailq_breaker");
}

/// Reaps and sends until all is SENT.
fn recover(sandbox: &Sandbox, mails: i64, told: &str) {
    let rows = Rows::of(sandbox);
    let all: i64 = rows.one("SELECT count(*) FROM email_messages");
    assert_eq!(all, mails, "{told}: a mail vanished");
    for _ in 0..3 {
        later(&rows);
        sandbox.mailq(&["reap"]).assert_code(0);
        sandbox.mailq(&["send-batch"]).assert_code(0);
    }
    assert_eq!(rows.statuses(), [("SENT".to_owned(), mails)].into(), "{told}");
    assert_eq!(rows.one::<String>("PRAGMA integrity_check"), "ok", "{told}");
}

/// How often each recipient got its mail. All copies of one mail must have one Message-ID.
fn copies(messages: &[Message]) -> BTreeMap<String, usize> {
    let mut ids: BTreeMap<String, String> = BTreeMap::new();
    let mut copies = BTreeMap::new();
    for message in messages {
        let text = String::from_utf8_lossy(&message.bytes).into_owned();
        let id = text.lines().find(|line| line.starts_with("Message-ID: ")).unwrap().to_owned();
        for recipient in &message.recipients {
            let first = ids.entry(recipient.clone()).or_insert_with(|| id.clone());
            assert_eq!(*first, id, "a second copy for {recipient} has another Message-ID");
            *copies.entry(recipient.clone()).or_default() += 1;
        }
    }
    copies
}

/// Everybody has the mail; at most `doubtful` have it twice.
fn assert_delivered(sink: &Sink, mails: i64, doubtful: usize, told: &str) {
    let copies = copies(&sink.accepted());
    let expected: Vec<String> = (1..=mails).map(|n| format!("n{n}@example.com")).collect();
    let mut got: Vec<String> = copies.keys().cloned().collect();
    got.sort_by_key(|name| (name.len(), name.clone()));
    assert_eq!(got, expected, "{told}");
    let twice: Vec<_> = copies.iter().filter(|(_, n)| **n > 1).collect();
    assert!(copies.values().all(|n| *n <= 2), "{told}: {twice:?}");
    assert!(twice.len() <= doubtful, "{told}: {twice:?} may not be more than {doubtful}");
}

/// Waits for `path`, as long as the process lives. False if it ended without.
fn reached(path: &Path, child: &mut Child) -> bool {
    let end = Instant::now() + Duration::from_secs(60);
    while !path.exists() {
        if child.try_wait().unwrap().is_some() {
            return path.exists();
        }
        assert!(Instant::now() < end, "neither {} nor an end", path.display());
        thread::sleep(Duration::from_millis(1));
    }
    true
}

/// Kills the run while the server holds back its `nth` reply to `verb`.
fn killed_at(verb: &str, reply: &str, nth: usize, extensions: &[&str]) {
    let told = format!("killed at {verb} number {nth} with {extensions:?}");
    let place = tempfile::tempdir().unwrap();
    let here = place.path().join("here");
    let go = place.path().join("go");
    let held = format!("!touch{}|!wait{}|{reply}", here.display(), go.display());
    let mut replies = vec![reply; nth - 1];
    replies.extend([held.as_str(), reply]);
    let sink = Script::new().offers(extensions).on(verb, &replies).start();
    let sandbox = queued(sink.port, MAILS);

    let mut run = sandbox.start(&["send-batch", "--concurrency", "1"]);
    assert!(reached(&here, &mut run), "{told}: it was never asked");
    // The mails before are recorded although the server now says nothing: only the one in hand is in doubt.
    let before = if verb == "QUIT" { MAILS } else { i64::try_from(nth).unwrap() - 1 };
    let rows = Rows::of(&sandbox);
    let end = Instant::now() + Duration::from_secs(60);
    while rows.statuses().get("SENT").copied().unwrap_or_default() < before {
        assert!(Instant::now() < end, "{told}: {:?}", rows.statuses());
        thread::sleep(Duration::from_millis(1));
    }
    drop(rows);
    run.kill().unwrap();
    let seen = sandbox.finish(run);
    assert_eq!(seen.code, 128 + 9, "{told}: {seen}");
    fs::write(&go, "").unwrap();

    recover(&sandbox, MAILS, &told);
    assert_delivered(&sink, MAILS, usize::from(verb == "DOT"), &told);
    if verb == "DOT" {
        // The server took this one: were the test not in the window at all, nothing would come twice.
        let twice = copies(&sink.accepted()).values().filter(|n| **n == 2).count();
        assert_eq!(twice, 1, "{told}");
    }
}

#[test]
fn a_run_killed_in_any_phase_of_the_dialogue_loses_nothing() {
    for extensions in [&["PIPELINING", "8BITMIME"][..], &[]] {
        killed_at("GREET", "220 sink", 1, extensions);
        for nth in [1, 3, 5] {
            killed_at("MAIL", "250 ok", nth, extensions);
            killed_at("RCPT", "250 ok", nth, extensions);
            killed_at("DATA", "354 go", nth, extensions);
            killed_at("DOT", "250 ok", nth, extensions);
        }
        killed_at("QUIT", "221 bye", 1, extensions);
    }
}

#[test]
fn a_run_killed_at_ehlo_loses_nothing() {
    killed_at("EHLO", "250-sink|250 PIPELINING", 1, &[]);
}

/// The calls that change a file.
const CALLS: [&str; 6] = ["pwrite64", "write", "fsync", "fdatasync", "ftruncate", "unlink"];

/// Whether strace works here.
fn can_trace(sandbox: &Sandbox) -> bool {
    let there = sandbox.command("strace").args(["-o", "/dev/null", "true"]).output();
    let works = there.is_ok_and(|output| output.status.success());
    if !works {
        skipped("strace is not installed, or may not trace");
    }
    works
}

/// Runs `mailq` so that its `nth` call of `call` kills it. False when there are not so many.
fn killed_at_call(sandbox: &Sandbox, call: &str, nth: usize, args: &[&str]) -> (bool, String) {
    let mut strace = sandbox.command("strace");
    strace
        .args(["-f", "-qq", "-o", "/dev/null", "-e"])
        .arg(format!("trace={call}"))
        .arg("-e")
        .arg(format!("inject={call}:signal=KILL:when={nth}"))
        .arg(env!("CARGO_BIN_EXE_mailq"))
        .args(args);
    let seen = sandbox.finish(strace.spawn().unwrap());
    (seen.code != 0, seen.out)
}

#[test]
fn a_run_killed_at_any_write_loses_nothing() {
    const FEW: i64 = 3;
    if !can_trace(&Sandbox::new()) {
        return;
    }
    let mut points = 0;
    for call in CALLS {
        for nth in 1.. {
            let sink = Script::new().start();
            let sandbox = queued(sink.port, FEW);
            let told = format!("killed at {call} number {nth}");
            let args = ["send-batch", "--concurrency", "1"];
            let (was_killed, _) = killed_at_call(&sandbox, call, nth, &args);
            if !was_killed {
                break;
            }
            recover(&sandbox, FEW, &told);
            assert_delivered(&sink, FEW, 1, &told);
            points += 1;
        }
    }
    assert!(points > 10, "only {points} points");
}

#[test]
fn an_id_that_enqueue_printed_is_in_the_queue_wherever_it_is_killed() {
    if !can_trace(&Sandbox::new()) {
        return;
    }
    let mut points = 0;
    for call in CALLS {
        for nth in 1.. {
            let sandbox = Sandbox::new();
            sandbox.write("a.txt", "attached");
            let args = [
                "enqueue",
                "--to",
                "a@example.com",
                "--subject",
                "S",
                "--body",
                "B",
                "--attach",
                "a.txt",
            ];
            let (was_killed, printed) = killed_at_call(&sandbox, call, nth, &args);
            let rows = Rows::of(&sandbox);
            for id in printed.lines() {
                let id: i64 = id.parse().unwrap();
                assert_eq!(rows.of_mail::<String>(id, "status"), "PENDING", "{call} number {nth}");
            }
            if !was_killed {
                break;
            }
            // What is left behind does not stop the next one, and what is in the queue can be sent.
            let again = sandbox.enqueue(&args[1..]);
            sandbox.mailq(&["send-batch"]).assert_code(0);
            assert_eq!(rows.of_mail::<String>(again[0], "status"), "SENT", "{call} number {nth}");
            let sent = rows.statuses().get("SENT").copied();
            assert_eq!(
                sent,
                Some(rows.one("SELECT count(*) FROM email_messages")),
                "{call} number {nth}"
            );
            points += 1;
        }
    }
    assert!(points > 10, "only {points} points");
}
