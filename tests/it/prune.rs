//! `mailq prune`: what finished long ago leaves, with its files, into the archive first; nothing else does.

use crate::support::rows::Rows;
use crate::support::sandbox::Sandbox;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

const DAY: i64 = 86_400_000;

/// A sandbox with a mail in each state, finished so many days ago: 1 SENT, 2 FAILED, 3 PENDING, 4 SENDING.
fn finished(days: i64) -> Sandbox {
    let sandbox = Sandbox::new();
    for n in 1..=4 {
        let name = format!("name={n}");
        sandbox.enqueue(&["--to", "a@example.com", "--template", "hello", "--param", &name]);
    }
    let ago = days * DAY;
    Rows::of(&sandbox).run(&format!(
        "UPDATE email_messages SET created_at = created_at - {ago}, next_attempt_at = next_attempt_at - {ago};
         UPDATE email_messages SET status = 'SENT', sent_at = created_at, finished_at = created_at WHERE id = 1;
         UPDATE email_messages SET status = 'FAILED', failure = 'rejected', finished_at = created_at WHERE id = 2;
         UPDATE email_messages SET status = 'SENDING', locked_at = created_at, locked_by = 'x' WHERE id = 4"
    ));
    sandbox
}

fn ids(sandbox: &Sandbox) -> Vec<i64> {
    Rows::of(sandbox).all("SELECT id FROM email_messages ORDER BY id", [])
}

#[test]
fn sent_and_failed_leave_after_their_times() {
    let sandbox = finished(31);
    let seen = sandbox.mailq(&["prune"]);
    assert_eq!(seen.assert_code(0).out, "deleted 1 mails (1 SENT, 0 FAILED) and 0 attachments\n");
    assert_eq!(ids(&sandbox), [2, 3, 4]);
    let sandbox = finished(91);
    sandbox.mailq(&["prune"]).assert_code(0);
    assert_eq!(ids(&sandbox), [3, 4]);
    let sandbox = finished(5);
    sandbox.mailq(&["prune"]).assert_code(0);
    assert_eq!(ids(&sandbox), [1, 2, 3, 4]);
    sandbox.configure("[retention]\nsent = \"6d\"\nfailed = \"4d\"\n");
    sandbox.mailq(&["prune"]).assert_code(0);
    assert_eq!(ids(&sandbox), [1, 3, 4]);
}

#[test]
fn options_narrow_it_down() {
    let sandbox = finished(5);
    let rehearsed = sandbox.mailq(&["prune", "--older-than", "4d", "--dry-run", "--json"]);
    assert_eq!(
        rehearsed.assert_code(0).json(),
        serde_json::json!({"sent": 1, "failed": 1, "attachments": 0, "attachment_bytes": 0, "dry_run": true})
    );
    assert_eq!(ids(&sandbox), [1, 2, 3, 4]);
    sandbox.mailq(&["prune", "--older-than", "6d"]).assert_code(0);
    assert_eq!(ids(&sandbox), [1, 2, 3, 4]);
    sandbox.mailq(&["prune", "--older-than", "4d", "--status", "FAILED"]).assert_code(0);
    assert_eq!(ids(&sandbox), [1, 3, 4]);
    sandbox
        .mailq(&[
            "prune",
            "--older-than",
            "0s",
            "--status",
            "sent",
            "--batch-size",
            "1",
            "--pause",
            "0s",
        ])
        .assert_code(0);
    assert_eq!(ids(&sandbox), [3, 4]);
}

#[test]
fn the_archive_has_every_mail_that_left() {
    let sandbox = finished(5);
    let prune = ["prune", "--older-than", "1d", "--archive", "kept.jsonl"];
    sandbox.mailq(&[&prune[..], &["--dry-run"]].concat()).assert_code(0);
    assert!(!sandbox.path("kept.jsonl").exists());
    sandbox.mailq(&[&prune[..], &["--status", "SENT"]].concat()).assert_code(0);
    sandbox.mailq(&prune).assert_code(0);
    let kept = fs::read_to_string(sandbox.path("kept.jsonl")).unwrap();
    let kept: Vec<serde_json::Value> =
        kept.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(kept.iter().map(|mail| mail["id"].as_i64().unwrap()).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(kept[0]["to_addrs"], "a@example.com");
    assert_eq!(kept[1]["failure"], "rejected");
}

#[test]
fn an_archive_that_cannot_be_written_keeps_the_mails() {
    let sandbox = finished(5);
    let seen = sandbox.mailq(&["prune", "--older-than", "1d", "--archive", "/dev/full"]);
    assert!(seen.err.contains("/dev/full") && seen.err.contains("hint: "), "{seen}");
    assert_ne!(seen.code, 0);
    assert_eq!(ids(&sandbox), [1, 2, 3, 4]);
}

/// The files of the spool, without the folders.
fn spooled(sandbox: &Sandbox) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![sandbox.path("spool")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found
}

#[test]
fn a_file_stays_while_a_mail_needs_it() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "shared");
    let mail = ["--to", "a@example.com", "--subject", "S", "--attach", "a.txt"];
    sandbox.enqueue(&mail);
    sandbox.enqueue(&[&mail[..], &["--in", "1h"]].concat());
    let [file] = &spooled(&sandbox)[..] else { panic!("the same file is kept twice") };
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    fs::File::open(file).unwrap().set_modified(old).unwrap();
    sandbox.mailq(&["send-batch"]).assert_code(0);
    let prune = ["prune", "--older-than", "0s"];
    let first = sandbox.mailq(&prune);
    assert_eq!(first.assert_code(0).out, "deleted 1 mails (1 SENT, 0 FAILED) and 0 attachments\n");
    sandbox.mailq(&["retry", "2"]).assert_code(0);
    sandbox.mailq(&["send-batch"]).assert_code(0);
    assert!(sandbox.mails().iter().all(|mail| mail.contains("a.txt")));
    let second = sandbox.mailq(&prune);
    assert_eq!(second.assert_code(0).out, "deleted 1 mails (1 SENT, 0 FAILED) and 1 attachments\n");
    assert_eq!(spooled(&sandbox), Vec::<PathBuf>::new());
    let next = sandbox.enqueue(&mail[..4]);
    assert_eq!(next, [3], "an id is used again");
}
