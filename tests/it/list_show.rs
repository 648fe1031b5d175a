//! `mailq list` and `mailq show`: which mails there are, and why one did not go out.

use crate::support::rows::Rows;
use crate::support::sandbox::Sandbox;

/// 1 waits in `bulk`, 2 is scheduled, 3 FAILED, 4 SENT, 5 is being sent.
fn queue() -> Sandbox {
    let sandbox = Sandbox::new();
    for more in [
        &["--to", "ada@example.com", "--queue", "bulk"][..],
        &["--to", "bob@example.com", "--in", "1h"],
        &["--bcc", "Carol <carol@example.com>"],
        &["--to", "dan@example.com", "--key", "k"],
        &["--to", "eve@example.com"],
    ] {
        sandbox.enqueue(&[&["--subject", "S"], more].concat());
    }
    Rows::of(&sandbox).run(
        "UPDATE email_messages SET created_at = created_at - 7200000 WHERE id = 1;
         UPDATE email_messages SET status = 'FAILED', failure = 'rejected', error_message = '550 nobody here',
           attempt_count = 1, finished_at = created_at WHERE id = 3;
         UPDATE email_messages SET status = 'SENT', attempt_count = 2, sent_at = 1893553445000,
           finished_at = 1893553445000 WHERE id = 4;
         UPDATE email_messages SET status = 'SENDING', locked_at = created_at, locked_by = 'gone/1/1/0/0' WHERE id = 5",
    );
    sandbox
}

/// The ids that `list` prints with these options.
fn listed(sandbox: &Sandbox, more: &[&str]) -> Vec<i64> {
    let text = sandbox.mailq(&[&["list"], more].concat()).assert_code(0).out.clone();
    let json = sandbox.mailq(&[&["list", "--json"], more].concat()).assert_code(0).out.clone();
    let ids: Vec<i64> = text
        .lines()
        .skip(1)
        .map(|line| line.split_whitespace().next().unwrap().parse().unwrap())
        .collect();
    let of_json: Vec<i64> = json
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].as_i64().unwrap()
        })
        .collect();
    assert_eq!(ids, of_json);
    ids
}

#[test]
fn each_filter_narrows_it_down() {
    let sandbox = queue();
    assert_eq!(listed(&sandbox, &[]), [1, 2, 3, 4, 5]);
    assert_eq!(listed(&sandbox, &["--limit", "2"]), [4, 5]);
    assert_eq!(listed(&sandbox, &["--status", "pending"]), [1, 2]);
    assert_eq!(listed(&sandbox, &["--status", "SENT", "--status", "FAILED"]), [3, 4]);
    assert_eq!(listed(&sandbox, &["--queue", "bulk"]), [1]);
    assert_eq!(listed(&sandbox, &["--failure", "rejected"]), [3]);
    assert_eq!(listed(&sandbox, &["--to", "CAROL@"]), [3]);
    assert_eq!(listed(&sandbox, &["--since", "1h"]), [2, 3, 4, 5]);
    assert_eq!(listed(&sandbox, &["--to", "%"]), [0i64; 0]);
}

#[test]
fn show_answers_why() {
    let sandbox = queue();
    let why = |id: &str| {
        let seen = sandbox.mailq(&["show", id]);
        let line = seen.assert_code(0).out.lines().find(|line| line.starts_with("why ")).unwrap();
        line.trim_start_matches("why").trim().to_owned()
    };
    assert!(why("1").starts_with("due, and waiting for `mailq send-batch`"));
    assert!(why("2").starts_with("scheduled for "));
    assert_eq!(why("3"), "rejected: 550 nobody here");
    assert_eq!(why("4"), "a server accepted it at 2030-01-02 03:04:05 +00:00, in attempt 2");
    assert_eq!(
        why("5"),
        "being sent by gone/1/1/0/0, which is not running: `mailq reap` returns it"
    );
}

#[test]
fn show_tells_every_column() {
    let sandbox = queue();
    let shown = sandbox.mailq(&["show", "4", "--json"]).assert_code(0).json();
    let columns: Vec<String> =
        Rows::of(&sandbox).all("SELECT name FROM pragma_table_info('email_messages')", []);
    for column in columns {
        let is_told = shown.get(&column).is_some() || column == "dot_at";
        assert!(is_told, "no {column} in {shown}");
    }
    assert_eq!(shown["parameters"]["subject"], "S");
    assert_eq!(shown["idempotency_key"], "k");
    let text = sandbox.mailq(&["show", "3"]).assert_code(0).out.clone();
    assert!(text.contains("bcc            Carol <carol@example.com>"), "{text}");
}

#[test]
fn what_came_with_data_moves_no_cursor() {
    let sandbox = queue();
    Rows::of(&sandbox).run("UPDATE email_messages SET error_message = 'a' || char(27) || '[31m' || char(155) || 'b' WHERE id = 3");
    for args in [&["list"][..], &["show", "3"], &["show", "3", "--json"], &["list", "--json"], &[]]
    {
        let seen = sandbox.mailq(args);
        let unsafe_one = seen.out.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(unsafe_one, None, "{seen}");
    }
}

#[test]
fn a_row_that_cannot_be_read_is_told_and_hides_no_other() {
    let sandbox = queue();
    Rows::of(&sandbox).run(
        "PRAGMA ignore_check_constraints = 1; UPDATE email_messages SET to_addrs = CAST(x'ff41' AS TEXT) WHERE id = 1",
    );
    let seen = sandbox.mailq(&["list"]);
    assert!(
        seen.assert_code(0).out.contains("unreadable") && seen.out.contains("bob@example.com"),
        "{seen}"
    );
    assert!(sandbox.mailq(&["show", "1"]).assert_code(0).out.contains("mail 1 cannot be read"));
    assert!(sandbox.mailq(&[] as &[&str]).assert_code(0).out.contains("bob@example.com"));
}
