//! The verbs of the store on real database files.

mod lease;
mod model;
mod plans;
mod rate;
mod story;
mod time;

use super::prune::Pruned;
use super::turn::Turned;
use super::*;
use crate::domain::attempt::Attempt;
use crate::domain::fault::Kind;
use crate::domain::message::{Draft, Mail, MailId};
use crate::domain::outcome::{Fate, Outcome};
use crate::domain::retry::Policy;
use crate::domain::state::{self, Change, Status};
use std::sync::Arc;

pub const NOW: i64 = 1_800_000_000_000;

pub struct Bench {
    pub store: Store,
    pub dir: tempfile::TempDir,
}

pub fn bench() -> Bench {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("q.db"), Access::Create).unwrap();
    Bench { store, dir }
}

pub fn draft() -> Draft {
    Draft {
        queue: "default".into(),
        to: "a@x.example".into(),
        template: "t".into(),
        parameters: "{}".into(),
        ..Draft::default()
    }
}

/// All queues' mails in `status` that finished before.
pub fn cut(status: Status, before: i64) -> Cut {
    Cut { status, before, queue: None, apart: vec![] }
}

/// Deletes what `cuts` say, ten at a time.
pub fn pruning(cuts: &[Cut]) -> Pruning<'_> {
    Pruning {
        cuts,
        batch_size: 10,
        pause: Duration::ZERO,
        archive: None,
        dry_run: false,
        gone: &|_| {},
    }
}

impl Store {
    /// What another program does to the database.
    pub fn execute(&self, sql: &str) {
        self.conn.execute_batch(sql).unwrap();
    }

    /// A number that a query has.
    pub fn number(&self, sql: &str) -> i64 {
        self.conn.query_row(sql, [], |row| row.get(0)).unwrap()
    }
}

impl Bench {
    pub fn enqueue(&mut self, count: usize) -> Vec<MailId> {
        let drafts = vec![draft(); count];
        self.store.enqueue(&drafts, NOW).unwrap().iter().map(|one| one.id).collect()
    }

    pub fn claim(&mut self, holder: &str, now: i64) -> Vec<Claimed> {
        self.turn(holder, vec![], now).claimed
    }

    pub fn turn(&mut self, holder: &str, settled: Vec<Settled>, now: i64) -> Turned {
        let holder: Arc<str> = holder.into();
        let turn = Turn { settled, renew: &[], mark: &[], charges: &[], holder: &holder, now };
        let mut choose = |due: &[String]| {
            let arm = |queue: &String| Arm { queue: queue.clone(), limit: 100, ..Arm::default() };
            Choice { arms: due.iter().map(arm).collect(), budget: 100 }
        };
        self.store.turn(turn, &mut choose).unwrap()
    }

    pub fn record(&mut self, settled: Settled, now: i64) -> Recorded {
        let holder: Arc<str> = "recorder".into();
        let turn = Turn {
            settled: vec![settled],
            renew: &[],
            mark: &[],
            charges: &[],
            holder: &holder,
            now,
        };
        self.store.turn(turn, &mut |_| Choice::default()).unwrap().recorded.remove(0).1
    }

    pub fn sql(&self, sql: &str) {
        self.store.execute(sql);
    }

    pub fn text(&self, sql: &str) -> String {
        self.store.conn.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap()
    }

    pub fn status(&self, id: MailId) -> String {
        self.text(&format!("SELECT status FROM email_messages WHERE id = {id}"))
    }
}

pub fn accepted(mail: &Mail) -> Change {
    answered(mail, Fate::Accepted)
}

pub fn answered(mail: &Mail, fate: Fate) -> Change {
    let recipients = ["a@x.example".to_owned()];
    state::decide(mail, &recipients, &Outcome::Answered(vec![fate]), &Policy::default(), NOW, 0.5)
}

pub fn attempt(fate: Fate) -> Attempt {
    let outcome = Outcome::Answered(vec![fate]);
    Attempt::new(&outcome, &["a@x.example".to_owned()], None, "mx:25", (NOW, 5))
}

pub fn settle(claimed: Claimed) -> Settled {
    let change = accepted(claimed.mail.as_ref().unwrap());
    Settled { lease: claimed.lease, change, attempt: Some(attempt(Fate::Accepted)) }
}

#[test]
fn a_mail_goes_from_enqueue_to_sent() {
    let mut bench = bench();
    let ids = bench.enqueue(3);
    let claimed = bench.claim("w", NOW);
    assert_eq!(claimed.iter().map(|one| one.lease.id()).collect::<Vec<_>>(), ids);
    assert!(bench.claim("other", NOW).is_empty(), "claimed twice");
    for one in claimed {
        assert_eq!(bench.record(settle(one), NOW + 5), Recorded::Done);
    }
    let stats = bench.store.stats(&[], NOW - 60_000, NOW + 10).unwrap();
    assert_eq!((stats.queues[0].sent, stats.queues[0].pending), (3, 0));
    assert_eq!((stats.recent.send_ms, stats.recent.failed_ratio), (Some([5, 5, 5]), Some(0.0)));
}

#[test]
fn a_key_names_one_mail() {
    let mut bench = bench();
    let keyed = Draft { idempotency_key: Some("k".into()), ..draft() };
    let first = bench.store.enqueue(std::slice::from_ref(&keyed), NOW).unwrap()[0];
    let again = bench.store.enqueue(std::slice::from_ref(&keyed), NOW + 1).unwrap()[0];
    assert_eq!((again.id, again.existed), (first.id, true));
    let other = Draft { to: "b@x.example".into(), ..keyed };
    let fault = bench.store.enqueue(&[draft(), other], NOW).unwrap_err();
    assert!(fault.to_string().contains("\"k\"") && fault.to_string().contains("in to"), "{fault}");
    assert_eq!(bench.text("SELECT count(*) || '' FROM email_messages"), "1", "all or none");
}

#[test]
fn a_row_that_cannot_be_read_is_told_and_costs_no_other() {
    let mut bench = bench();
    bench.enqueue(1);
    bench.sql("INSERT INTO email_messages (to_addrs, template, error_message) VALUES (CAST(x'6140ff' AS TEXT), 't', NULL)");
    let claimed = bench.claim("w", NOW + 1_000_000_000_000);
    assert_eq!(claimed.len(), 2);
    let words = claimed.iter().find_map(|one| one.mail.as_ref().err()).unwrap();
    assert!(words.contains("to_addrs is not UTF-8"), "{words}");
}

#[test]
fn prune_deletes_only_what_finished_before() {
    let mut bench = bench();
    let ids = bench.enqueue(5);
    bench.sql(&format!(
        "UPDATE email_messages SET status = 'SENT', finished_at = {old} WHERE id = 1;
         UPDATE email_messages SET status = 'SENT', finished_at = {NOW} WHERE id = 2;
         UPDATE email_messages SET status = 'FAILED', finished_at = {old} WHERE id = 3;
         UPDATE email_messages SET status = 'SENDING', locked_at = 0, finished_at = {old} WHERE id = 4;
         UPDATE email_messages SET created_at = 0, finished_at = {old} WHERE id = 5",
        old = NOW - 1_000
    ));
    let cuts = [cut(Status::Sent, NOW), cut(Status::Pending, NOW), cut(Status::Sending, NOW)];
    let mut prune = |dry_run, archive| {
        let pruning = Pruning { batch_size: 1, archive, dry_run, ..pruning(&cuts) };
        bench.store.prune(pruning).unwrap()
    };
    let mut archived = Vec::new();
    assert_eq!(prune(true, None), Pruned { sent: 1, failed: 0 });
    let mut keep = |rows: &[serde_json::Value]| {
        archived.extend(rows.to_vec());
        Ok(())
    };
    assert_eq!(prune(false, Some(&mut keep)), Pruned { sent: 1, failed: 0 });
    assert_eq!(archived[0]["id"], 1);
    assert_eq!(bench.text("SELECT group_concat(id) FROM email_messages"), "2,3,4,5");
    assert_eq!(ids.len(), 5);
    bench.enqueue(1);
    assert_eq!(
        bench.text("SELECT max(id) || '' FROM email_messages"),
        "6",
        "an id is never reused"
    );
}

#[test]
fn a_queue_with_a_time_of_its_own_is_pruned_by_that_alone() {
    let mut bench = bench();
    bench.enqueue(6);
    bench.sql(
        "UPDATE email_messages SET status = 'SENT', finished_at = id * 100;
         UPDATE email_messages SET queue = 'audit' WHERE id IN (1, 2, 4)",
    );
    let of = |queue: Option<&str>, before| Cut {
        queue: queue.map(str::to_owned),
        apart: vec!["audit".to_owned()],
        ..cut(Status::Sent, before)
    };
    let cuts = [of(None, 550), of(Some("audit"), 150)];
    for dry_run in [true, false] {
        let pruning = Pruning { batch_size: 1, dry_run, ..pruning(&cuts) };
        assert_eq!(bench.store.prune(pruning).unwrap(), Pruned { sent: 3, failed: 0 });
    }
    assert_eq!(bench.text("SELECT group_concat(id) FROM email_messages"), "2,4,6");
}

#[test]
fn an_archive_that_fails_deletes_nothing() {
    let mut bench = bench();
    bench.enqueue(1);
    bench.sql("UPDATE email_messages SET status = 'SENT', finished_at = 0");
    let mut fail = |_: &[serde_json::Value]| Err(Fault::new(Kind::Io, "no"));
    let cuts = [cut(Status::Sent, NOW)];
    let pruning = Pruning { archive: Some(&mut fail), ..pruning(&cuts) };
    assert_eq!(bench.store.prune(pruning).unwrap_err().to_string(), "no");
    assert_eq!(bench.text("SELECT count(*) || '' FROM email_messages"), "1");
}

#[test]
fn the_tally_is_the_count() {
    let mut bench = bench();
    bench.enqueue(10);
    bench.sql(&format!(
        "UPDATE email_messages SET status = 'SENT', finished_at = {NOW} WHERE id <= 4;
         UPDATE email_messages SET status = 'FAILED', finished_at = {NOW} - 7200000 WHERE id IN (5, 6);
         UPDATE email_messages SET queue = 'bulk' WHERE id = 7;
         DELETE FROM email_messages WHERE id IN (1, 10);
         INSERT OR REPLACE INTO email_messages (to_addrs, template) VALUES ('c@x.example', 't');
         INSERT OR IGNORE INTO email_messages (to_addrs, template) VALUES ('c@x.example', 't');
         INSERT OR IGNORE INTO email_messages (to_addrs, template, status, finished_at)
           VALUES ('c@x.example', 't', 'SENT', {NOW}), ('c@x.example', 't', 'SENT', {NOW});
         UPDATE OR REPLACE email_messages SET status = 'SENT', finished_at = {NOW} WHERE id IN (5, 8);
         UPDATE OR IGNORE email_messages SET status = 'PENDING', finished_at = NULL WHERE id = 2"
    ));
    let by = "SELECT group_concat(line) FROM (SELECT queue || status || sum(n) AS line FROM (";
    let end =
        ") WHERE status IN ('SENT', 'FAILED') GROUP BY queue, status HAVING sum(n) > 0 ORDER BY 1)";
    let counted =
        bench.text(&format!("{by} SELECT queue, status, 1 AS n FROM email_messages {end}"));
    let tallied =
        bench.text(&format!("{by} SELECT queue, status, mails AS n FROM mailq_tally {end}"));
    assert_eq!(tallied, counted);
    let stats = bench.store.stats(&[], NOW - 60_000, NOW + 1).unwrap();
    assert_eq!(stats.recent.failed_ratio, Some(0.0), "the failures are older than a minute");
    let stats = bench.store.stats(&[], NOW - 10_000_000, NOW + 1).unwrap();
    assert_eq!(stats.recent.failed_ratio, Some(1.0 / 7.0));
    let none = bench.store.stats(&["nobody".into()], NOW - 1, NOW).unwrap();
    assert_eq!((none.queues[0].pending, none.recent.failed_ratio), (0, None));
}

#[test]
fn a_missing_database_is_not_created_by_a_reader() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("typo.db");
    for access in [Access::Read, Access::Write] {
        assert_eq!(Store::open(&path, access).err().unwrap().kind(), Kind::NoInput);
    }
    assert!(!path.exists());
    let nowhere = dir.path().join("no/such/dir/q.db");
    assert_eq!(Store::open(&nowhere, Access::Create).err().unwrap().kind(), Kind::CannotCreate);
    let file = dir.path().join("text");
    fs::write(&file, "this is no database, however long it may be, not at all ".repeat(20))
        .unwrap();
    assert_eq!(Store::open(&file, Access::Create).err().unwrap().kind(), Kind::Io);
}

#[test]
fn the_database_is_the_groups_too() {
    let bench = bench();
    let mode = |name: &str| {
        fs::metadata(bench.dir.path().join(name)).unwrap().permissions().mode() & 0o777
    };
    assert_eq!((mode("q.db"), mode("q.db-shm")), (0o660, 0o660));
}
