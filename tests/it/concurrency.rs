//! Many at once: senders, reapers and enqueuers on one queue; each mail is delivered once, and none is ever missing.

use crate::support::rows::Rows;
use crate::support::sandbox::Sandbox;
use crate::support::smtp_sink::Script;
use rusqlite::params;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

const SENDERS: usize = 8;
const REAPERS: usize = 2;
const ENQUEUERS: i64 = 4;
/// How many mails each enqueuer makes: some with the program, the others by INSERT, ten a transaction.
const BY_PROGRAM: i64 = 20;
const BY_INSERT: i64 = 1_230;
const MAILS: i64 = ENQUEUERS * (BY_PROGRAM + BY_INSERT);

/// Between two starts of a program or two looks at the queue, so that the work itself gets the processor.
const PAUSE: Duration = Duration::from_millis(50);

#[test]
fn many_senders_reapers_and_enqueuers_deliver_each_mail_once() {
    let sink = Script::new().start();
    let sandbox = Sandbox::with_smtp(sink.port);
    let first = sandbox.enqueue(&[
        "--to",
        "first@example.com",
        "--template",
        "hello",
        "--param",
        "name=First",
    ]);
    assert_eq!(first, [1]);
    // What an enqueuer was told is in the queue; counted after the commit.
    let enqueued = AtomicI64::new(1);
    let all_enqueued = AtomicBool::new(false);
    let all_sent = AtomicBool::new(false);
    let is_broken = AtomicBool::new(false);

    thread::scope(|scope| {
        let enqueuers: Vec<_> = (0..ENQUEUERS)
            .map(|who| {
                let (sandbox, enqueued) = (&sandbox, &enqueued);
                scope.spawn(move || enqueue(sandbox, who, enqueued))
            })
            .collect();
        for _ in 0..SENDERS {
            scope.spawn(|| {
                let _alarm = Alarm(&is_broken);
                while !all_sent.load(SeqCst) {
                    sandbox.mailq(&["send-batch", "--concurrency", "2"]).assert_code(0);
                    thread::sleep(PAUSE);
                }
            });
        }
        for _ in 0..REAPERS {
            scope.spawn(|| {
                let _alarm = Alarm(&is_broken);
                while !all_sent.load(SeqCst) {
                    sandbox.mailq(&["reap"]).assert_code(0);
                    thread::sleep(PAUSE);
                }
            });
        }
        let watch = scope.spawn(|| {
            let rows = Rows::of(&sandbox);
            while !is_broken.load(SeqCst) {
                let complete = all_enqueued.load(SeqCst);
                let promised = enqueued.load(SeqCst);
                let statuses = rows.statuses();
                let there: i64 = statuses.values().sum();
                assert!(there >= promised, "{there} mails of {promised}: {statuses:?}");
                assert_eq!(statuses.get("FAILED"), None, "{statuses:?}");
                thread::sleep(PAUSE);
                if complete && statuses.get("SENT") == Some(&there) {
                    break;
                }
            }
        });
        let mut failed = false;
        for enqueuer in enqueuers {
            failed |= enqueuer.join().is_err();
        }
        all_enqueued.store(true, SeqCst);
        failed |= !failed && watch.join().is_err();
        all_sent.store(true, SeqCst);
        assert!(!failed, "see above");
    });

    let mut copies: BTreeMap<String, usize> = BTreeMap::new();
    for message in sink.accepted() {
        assert_eq!(message.faults, Vec::<String>::new());
        for recipient in message.recipients {
            *copies.entry(recipient).or_default() += 1;
        }
    }
    let twice: Vec<_> = copies.iter().filter(|(_, n)| **n != 1).collect();
    assert!(twice.is_empty(), "not once: {twice:?}");
    assert_eq!(copies.len(), 1 + usize::try_from(MAILS).unwrap());
    let rows = Rows::of(&sandbox);
    assert_eq!(rows.statuses(), [("SENT".to_owned(), MAILS + 1)].into());
    rows.assert_conserved(&(1..=MAILS + 1).collect::<Vec<_>>());
    let stats = sandbox.mailq(&["stats", "--json"]).json();
    assert_eq!(stats["queues"][0]["sent"], MAILS + 1, "{stats}");
    let tried = "SELECT count(*) FROM email_messages WHERE attempt_count <> 1 OR reap_count <> 0";
    assert_eq!(rows.one::<i64>(tried), 0);
    assert_eq!(rows.one::<String>("PRAGMA integrity_check"), "ok");
}

/// Tells the others when its thread ends by a panic, so that they do not wait for it.
struct Alarm<'a>(&'a AtomicBool);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, SeqCst);
        }
    }
}

fn enqueue(sandbox: &Sandbox, who: i64, enqueued: &AtomicI64) {
    let mut rows = Rows::of(sandbox);
    let name = |n: i64| format!("m{who}.{n}@example.com");
    for n in 0..BY_PROGRAM {
        let args = ["--to", &name(n), "--template", "hello", "--param", "name=P"];
        assert_eq!(sandbox.enqueue(&args).len(), 1);
        enqueued.fetch_add(1, SeqCst);
        let begin = BY_PROGRAM + n * BY_INSERT / BY_PROGRAM;
        let end = BY_PROGRAM + (n + 1) * BY_INSERT / BY_PROGRAM;
        let transaction = rows.transaction();
        for n in begin..end {
            transaction
                .execute(
                    "INSERT INTO email_messages (to_addrs, template, parameters) VALUES (?1, 'hello', ?2)",
                    params![name(n), r#"{"name":"I"}"#],
                )
                .unwrap();
        }
        transaction.commit().unwrap();
        enqueued.fetch_add(end - begin, SeqCst);
    }
}
