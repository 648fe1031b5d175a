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
    assert_eq!(listed(&sandbox, &["--until", "1h"]), [1]);
    assert_eq!(listed(&sandbox, &["--older-than", "1h"]), [1]);
    assert_eq!(
        listed(&sandbox, &["--since", "2020-01-01T00:00:00Z", "--until", "3000-01-01T00:00:00Z"])
            .len(),
        5
    );
    assert_eq!(listed(&sandbox, &["--key", "k"]), [4]);
    assert_eq!(listed(&sandbox, &["--template", "message", "--queue", "bulk"]), [1]);
    assert_eq!(listed(&sandbox, &["--template", "other"]), [0i64; 0]);
    Rows::of(&sandbox).run("UPDATE email_messages SET group_name = 'g' WHERE id IN (2, 5)");
    assert_eq!(listed(&sandbox, &["--group", "g"]), [2, 5]);
    assert_eq!(listed(&sandbox, &["--limit", "0"]).len(), 5);
    let wrong = sandbox.mailq(&["list", "--since", "yesterday"]);
    wrong.assert_code(64);
    assert!(wrong.err.contains("--since \"yesterday\"") && wrong.err.contains("hint: "), "{wrong}");
}

#[test]
fn an_order_is_kept_and_ids_are_for_pipes() {
    let sandbox = queue();
    assert_eq!(listed(&sandbox, &["--sort", "due", "--limit", "1"]), [2]);
    assert_eq!(listed(&sandbox, &["--sort", "attempts", "--limit", "2"]), [3, 4]);
    assert_eq!(listed(&sandbox, &["--sort", "finished", "--limit", "2"]), [3, 4]);
    let ids = sandbox.mailq(&["list", "--ids", "--status", "FAILED", "--status", "PENDING"]);
    assert_eq!(ids.assert_code(0).out, "1\n2\n3\n");
    let seen = sandbox.mailq_reading(&["retry", "-"], &ids.out);
    assert_eq!(
        seen.assert_code(0).out,
        "mail 1: due now\nmail 2: due now\nmail 3: back in the queue\n"
    );
}

#[test]
fn a_mail_has_the_names_that_postqueue_gives_it() {
    let sandbox = queue();
    Rows::of(&sandbox).run(
        "UPDATE email_messages SET to_addrs = 'ada@example.com, Bob <bob@example.com>', attempt_count = 1,
           error_message = '450 later', delivered = '[\"bob@example.com\"]' WHERE id = 1",
    );
    let lines = sandbox.mailq(&["list", "--json"]).assert_code(0).out.clone();
    let all: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let places: Vec<&str> = all.iter().map(|one| one["queue_name"].as_str().unwrap()).collect();
    assert_eq!(places, ["deferred", "hold", "failed", "sent", "active"]);
    let first = &all[0];
    assert_eq!(first["queue_id"], "1");
    assert_eq!(first["arrival_time"], first["created_at"].as_i64().unwrap() / 1000);
    assert_eq!(first["sender"], "sender@example.com");
    assert_eq!(
        first["recipients"],
        serde_json::json!([{"address": "ada@example.com", "delay_reason": "450 later"}])
    );
    assert!(first["message_size"].is_number() && first["forced_expire"] == false, "{first}");
}

#[test]
fn a_histogram_counts_what_waits_by_age() {
    let sandbox = queue();
    let table = |by: &str| sandbox.mailq(&["list", "--histogram", by]).assert_code(0).out.clone();
    let by_domain = table("domain");
    let rows: Vec<Vec<&str>> =
        by_domain.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["T", "5", "10", "20", "40", "80", "160", "320", "640", "1280", "1280+"]);
    assert_eq!(rows[1], ["TOTAL", "3", "2", "0", "0", "0", "0", "1", "0", "0", "0", "0"]);
    assert_eq!(rows[2][..2], ["example.com", "3"]);
    assert!(table("queue").contains("\nbulk "), "{}", table("queue"));
    assert!(table("template").contains("\nmessage "));
    let json = sandbox.mailq(&["list", "--histogram", "template", "--json"]).assert_code(0).json();
    assert_eq!((&json["name"], &json["total"]), (&"message".into(), &3.into()));
    let failed = sandbox.mailq(&["list", "--histogram", "queue", "--status", "FAILED", "--json"]);
    assert_eq!(failed.assert_code(0).json()["total"], 1);
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
    let next = |error: &str| {
        Rows::of(&sandbox).run(&format!(
            "UPDATE email_messages SET failure = 'render', error_message = '{error}' WHERE id = 3"
        ));
        let shown = sandbox.mailq(&["show", "3"]).out;
        shown.lines().find_map(|line| line.strip_prefix("next           ")).unwrap().to_owned()
    };
    assert_eq!(next("x.hbs:1:1: is open"), "correct the template, then: mailq retry 3");
    let missing = next("x.hbs:1:1: the parameter `a` is missing");
    assert!(missing.starts_with("let the template say {{optional …}} or "), "{missing}");
    assert!(missing.ends_with("then: mailq retry 3; or enqueue it again with the parameter"));
    Rows::of(&sandbox).run("UPDATE email_messages SET failure = 'rejected', error_message = '550 nobody here' WHERE id = 3");
    assert_eq!(why("4"), "a server accepted it at 2030-01-02 03:04:05 +00:00, in attempt 2");
    assert_eq!(
        why("5"),
        "being sent by gone/1/1/0/0, which is not running: `mailq reap` returns it"
    );
}

#[test]
fn show_takes_several_ids_and_says_which_is_not_there() {
    let sandbox = queue();
    let seen = sandbox.mailq(&["show", "4", "99", "3"]);
    let heads: Vec<&str> = seen.out.lines().filter(|line| line.starts_with("mail ")).collect();
    assert_eq!(heads, ["mail           4", "mail           3"], "{seen}");
    assert!(seen.assert_code(66).err.starts_with("mailq: no mail 99\n"), "{seen}");
    let json = sandbox.mailq_reading(&["show", "-", "--json"], "1 2\n");
    assert_eq!(json.assert_code(0).out.lines().count(), 2, "{json}");
    sandbox.mailq(&["show", "1", "2", "--raw"]).assert_code(64);
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
