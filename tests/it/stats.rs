//! `mailq stats`: the figures as the contract names them, for people, programs and files.

use crate::support::rows::Rows;
use crate::support::sandbox::Sandbox;
use crate::support::smtp_sink::Script;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::MetadataExt;

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn an_empty_queue_has_nulls_and_no_nan() {
    let sandbox = Sandbox::new();
    Rows::of(&sandbox).run(include_str!("../../schema.sql"));
    let seen = sandbox.mailq(&["stats", "--json"]);
    let stats = seen.assert_code(0).json();
    assert_eq!(
        keys(&stats),
        [
            "schema",
            "at",
            "queues",
            "oldest_due_age_seconds",
            "failed_ratio",
            "send_duration_seconds",
            "attempts_per_mail",
            "sent_per_minute",
            "breakers",
            "sent_by_hour",
            "last_sent_at",
            "last_run_at",
            "runs",
            "rates",
            "reasons",
            "reasons_of_last",
            "reasons_untold",
        ]
    );
    // Fields may be added under the same number; none goes and none changes its meaning.
    assert_eq!(stats["schema"], 1);
    assert_eq!(stats["queues"], serde_json::json!([]));
    assert_eq!(keys(&stats["send_duration_seconds"]), ["p50", "p95", "p99"]);
    for empty in ["oldest_due_age_seconds", "failed_ratio", "attempts_per_mail"] {
        assert_eq!(stats[empty], Value::Null, "{empty}");
    }
    assert_eq!(stats["send_duration_seconds"]["p99"], Value::Null);
    for form in
        [&["stats"][..], &["stats", "--prometheus"], &["stats", "--html"], &["stats", "--json"]]
    {
        let seen = sandbox.mailq(form);
        seen.assert_code(0);
        assert!(!seen.out.contains("NaN") && !seen.out.contains("inf"), "{seen}");
    }
    sandbox.mailq(&["stats", "--max-pending-age", "1s", "--max-failed-ratio", "0%"]).assert_code(0);
}

#[test]
fn every_state_is_counted_by_queue() {
    let sandbox = Sandbox::new();
    for more in [&["--queue", "bulk"][..], &[], &[], &["--in", "1h"]] {
        sandbox.enqueue(&[&["--to", "a@example.com", "--subject", "S"], more].concat());
    }
    sandbox.mailq(&["send-batch", "--limit", "1", "--queue", "default"]).assert_code(0);
    let stats = sandbox.mailq(&["stats", "--json"]).assert_code(0).json();
    let queues = stats["queues"].as_array().unwrap();
    assert_eq!(queues.len(), 2);
    let of = |name: &str| queues.iter().find(|queue| queue["queue"] == name).unwrap().clone();
    let counts =
        [("pending", 2), ("due", 1), ("scheduled", 1), ("sending", 0), ("sent", 1), ("failed", 0)];
    for (name, count) in counts {
        assert_eq!(of("default")[name], count, "{name}");
    }
    assert_eq!(of("default")["attempts_per_mail"], 1.0);
    assert_eq!(of("bulk")["attempts_per_mail"], Value::Null);
    let hours = stats["sent_by_hour"].as_array().unwrap();
    assert_eq!((hours.len(), hours.iter().filter_map(Value::as_u64).sum::<u64>()), (24, 1));
    assert_eq!(of("bulk")["due"], 1);
    assert_eq!(stats["failed_ratio"], 0.0);
    assert_eq!(stats["attempts_per_mail"], 1.0);
    assert!(stats["send_duration_seconds"]["p50"].is_number());
    assert!(stats["oldest_due_age_seconds"].as_f64().unwrap() >= 0.0);
    let one = sandbox.mailq(&["stats", "--json", "--queue", "bulk"]).assert_code(0).json();
    assert_eq!(one["queues"].as_array().unwrap().len(), 1);
    let text = sandbox.mailq(&["stats", "--since", "1h"]).assert_code(0).out.clone();
    for word in [
        "queue",
        "due",
        "scheduled",
        "bulk",
        "oldest due mail",
        "send duration",
        "attempts per mail",
        "sent per minute",
        "last 1h",
    ] {
        assert!(text.contains(word), "{word}\n{text}");
    }
    let prometheus = sandbox.mailq(&["stats", "--prometheus"]).assert_code(0).out.clone();
    assert!(
        prometheus.contains("mailq_mails{queue=\"default\",state=\"sent\"} 1\n"),
        "{prometheus}"
    );
}

#[test]
fn what_finished_before_does_not_count() {
    let sandbox = Sandbox::new();
    sandbox.enqueue(&["--to", "a@example.com", "--subject", "S"]);
    Rows::of(&sandbox).run(
        "UPDATE email_messages SET status = 'FAILED', failure = 'rejected', finished_at = created_at - 7200000",
    );
    let ratio = |since: &str| {
        sandbox.mailq(&["stats", "--json", "--since", since]).json()["failed_ratio"].clone()
    };
    assert_eq!(ratio("1h"), Value::Null);
    assert_eq!(ratio("3h"), 1.0);
}

#[test]
fn a_file_is_replaced_as_a_whole() {
    let sandbox = Sandbox::new();
    sandbox.enqueue(&["--to", "a@example.com", "--subject", "S"]);
    let path = sandbox.write("s.json", "old");
    let before = fs::metadata(&path).unwrap().ino();
    let seen = sandbox.mailq(&["stats", "--json", "--output", "s.json"]);
    assert_eq!(seen.assert_code(0).out, "");
    assert_ne!(fs::metadata(&path).unwrap().ino(), before, "the old file was written into");
    let written: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(written["queues"][0]["pending"], 1);
    fs::create_dir(sandbox.path("folder")).unwrap();
    sandbox.mailq(&["stats", "--output", "folder"]).assert_code(73);
    let left: Vec<_> = fs::read_dir(sandbox.dir())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name.to_string_lossy().ends_with(".tmp"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn an_open_breaker_is_told() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let sandbox = Sandbox::with_smtp(port);
    sandbox.enqueue(&["--to", "a@example.com", "--subject", "S"]);
    let run = sandbox.mailq(&["send-batch"]);
    let words = format!("smarthost 127.0.0.1:{port} is out: connecting: ");
    assert!(run.assert_code(75).err.contains(&words), "{run}");
    assert!(sandbox.mailq(&["stats"]).out.contains(", 1 outage): connecting: "));
    let stats = sandbox.mailq(&["stats", "--json"]).assert_code(0).json();
    let breaker = &stats["breakers"][0];
    assert_eq!(breaker["open"], true, "{stats}");
    assert!(breaker["scope"].as_str().unwrap().contains(&port.to_string()), "{stats}");
    assert!(breaker["until"].as_i64() > breaker["since"].as_i64(), "{stats}");
    assert!(sandbox.mailq(&["stats"]).out.contains("is left alone until"));
    let why = format!("due, but smarthost 127.0.0.1:{port} is left alone until ");
    let show = sandbox.mailq(&["show", "1"]);
    assert!(show.out.contains(&why) && show.out.contains("connecting"), "{show}");
    // Another road is no reason for this one.
    Rows::of(&sandbox).run("UPDATE mailq_breaker SET scope = 'elsewhere:25'");
    assert!(sandbox.mailq(&["show", "1"]).out.contains("waiting for `mailq send-batch`"));
}

#[test]
fn the_plot_is_of_ascii_where_the_locale_is() {
    let sink = Script::new().start();
    let sandbox = Sandbox::with_smtp(sink.port);
    sandbox.enqueue(&["--to", "a@example.com", "--subject", "S"]);
    sandbox.mailq(&["send-batch"]).assert_code(0);
    let seen = |locale: &str| {
        let mut command = sandbox.mailq_command(&["stats"]);
        command.env("LC_ALL", locale);
        sandbox.run(command, b"").assert_code(0).out.clone()
    };
    let (plain, blocks) = (seen("C"), seen("C.UTF-8"));
    assert!(plain.is_ascii() && plain.contains("....8 "), "{plain}");
    assert!(blocks.contains("····█ ") && blocks.contains("in the last 24h"), "{blocks}");
}

/// The samples of one family of `stats --prometheus`.
fn samples(sandbox: &Sandbox, name: &str) -> Vec<String> {
    let text = sandbox.mailq(&["stats", "--prometheus"]).assert_code(0).out.clone();
    let start = format!("mailq_{name}");
    text.lines().filter(|line| line.starts_with(&start)).map(str::to_owned).collect()
}

#[test]
fn counters_for_prometheus_outlive_the_mails() {
    let sandbox = Sandbox::new();
    for to in ["a@example.com", "b@example.com"] {
        sandbox.enqueue(&["--to", to, "--subject", "S"]);
    }
    sandbox.mailq(&["cancel", "2"]).assert_code(0);
    sandbox.mailq(&["send-batch"]).assert_code(0);
    sandbox.mailq(&["prune", "--older-than", "0s"]).assert_code(0);
    assert!(Rows::of(&sandbox).statuses().is_empty());
    assert_eq!(samples(&sandbox, "sent_total"), ["mailq_sent_total{queue=\"default\"} 1"]);
    assert_eq!(samples(&sandbox, "enqueued_total"), ["mailq_enqueued_total 2"]);
    assert_eq!(
        samples(&sandbox, "failed_total"),
        ["mailq_failed_total{queue=\"default\",reason=\"cancelled\"} 1"]
    );
    assert_eq!(samples(&sandbox, "pruned_total").len(), 2);
    let duration = samples(&sandbox, "send_duration_seconds");
    assert_eq!(duration.len(), 12 + 3, "{duration:?}");
    assert_eq!(duration[12], "mailq_send_duration_seconds_bucket{queue=\"default\",le=\"+Inf\"} 1");
    assert_eq!(duration[14], "mailq_send_duration_seconds_count{queue=\"default\"} 1");
    assert_eq!(
        Rows::of(&sandbox).one::<i64>("SELECT count(*) FROM mailq_tally"),
        0,
        "empty hours go"
    );
}

#[test]
fn a_page_is_whole_and_asks_nobody_for_anything() {
    let sandbox = Sandbox::new();
    sandbox.enqueue(&["--to", "a@example.com", "--subject", "S"]);
    Rows::of(&sandbox).run(
        "UPDATE email_messages SET status = 'FAILED', failure = 'rejected', finished_at = created_at,
           error_message = 'a@example.com: 550 <img src=x onerror=alert(1)>'",
    );
    let page = sandbox.mailq(&["stats", "--html"]).assert_code(0).out.clone();
    for part in
        ["<!DOCTYPE html>", "prefers-color-scheme: dark", "width=device-width", "<svg ", "</html>"]
    {
        assert!(page.contains(part), "{part}");
    }
    for part in ["http://", "https://", "<script", "<img", "url("] {
        assert!(!page.contains(part), "{part}");
    }
    assert_eq!(page.matches("550 &lt;img").count(), 2, "the reason, and the mail");
}

#[test]
fn why_mails_failed_is_told_by_what_they_have_in_common() {
    let sandbox = Sandbox::new();
    for _ in 0..3 {
        sandbox.enqueue(&["--to", "a@example.com", "--subject", "S"]);
    }
    Rows::of(&sandbox).run(
        "UPDATE email_messages SET status = 'FAILED', failure = 'rejected', finished_at = created_at,
           error_message = 'user' || id || '@example.com: 550 no such user';
         UPDATE email_messages SET failure = 'render', error_message = 'x is missing' WHERE id = 3",
    );
    let reasons = sandbox.mailq(&["stats", "--json"]).json()["reasons"].clone();
    assert_eq!(
        reasons,
        serde_json::json!([
            {"failure": "rejected", "words": "550 no such user", "mails": 2},
            {"failure": "render", "words": "x is missing", "mails": 1}
        ])
    );
    let text = sandbox.mailq(&["stats"]).out;
    assert!(text.contains("why mails FAILED") && text.contains("550 no such user"), "{text}");
}

#[test]
fn what_is_not_looked_at_is_not_told_as_a_count() {
    let sandbox = Sandbox::new();
    let rows = Rows::of(&sandbox);
    rows.run(include_str!("../../schema.sql"));
    rows.run(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5007)
         INSERT INTO email_messages (to_addrs, template, status, failure, error_message, finished_at)
         SELECT 'a@x.example', 't', 'FAILED', 'rejected', iif(i <= 12, 'why ' || i, 'no'), created_at + 13 - min(i, 13)
         FROM (SELECT i, CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER) - 60000 AS created_at FROM n)",
    );
    let told = sandbox.mailq(&["stats", "--json"]).json();
    assert_eq!((&told["reasons_of_last"], &told["reasons_untold"]), (&5000.into(), &3.into()));
    let text = sandbox.mailq(&["stats"]).out;
    assert!(text.contains("why mails FAILED, the last 5000 of them\n"), "{text}");
    assert!(text.contains("\nand 8 more reasons\n"), "{text}");
}

#[test]
fn what_an_admin_cancelled_is_told_apart() {
    let sandbox = Sandbox::new();
    for _ in 0..4 {
        sandbox.enqueue(&["--to", "a@example.com", "--subject", "S", "--in", "1h"]);
    }
    let figures = |since: &str| {
        let told = sandbox.mailq(&["stats", "--json", "--since", since]).json();
        let queue = &told["queues"][0];
        (told["failed_ratio"].clone(), queue["failed"].clone(), queue["cancelled"].clone())
    };
    sandbox.mailq(&["cancel", "1", "2", "3"]).assert_code(0);
    for since in ["1m", "24h"] {
        assert_eq!(figures(since), (1.0.into(), 3.into(), 3.into()), "{since}");
    }
    Rows::of(&sandbox).run("UPDATE email_messages SET status = 'FAILED', failure = 'rejected', finished_at = created_at WHERE id = 4");
    assert_eq!(figures("24h"), (1.0.into(), 4.into(), 3.into()));
    let text = sandbox.mailq(&["stats"]).out;
    assert!(text.contains("4 FAILED (3 of them cancelled; 100.0%)"), "{text}");
    // One that is given another chance is cancelled no more, and nothing is left of the others with them.
    sandbox.mailq(&["retry", "1"]).assert_code(0);
    assert_eq!(figures("24h"), (1.0.into(), 3.into(), 2.into()));
    sandbox.mailq(&["prune", "--older-than", "0s", "--status", "FAILED"]).assert_code(0);
    assert_eq!(Rows::of(&sandbox).one::<i64>("SELECT count(*) FROM mailq_tally"), 0);
}

#[test]
fn nothing_is_coloured_that_no_terminal_shows() {
    let sandbox = Sandbox::new();
    sandbox.enqueue(&["--to", "a@example.com", "--subject", "S"]);
    for args in [&["stats"][..], &["list"], &["show", "1"]] {
        assert!(!sandbox.mailq(args).out.contains('\u{1b}'), "{args:?}");
    }
}

#[test]
fn a_rate_says_what_is_left_of_it() {
    let sandbox = Sandbox::new();
    let out = sandbox.path("out");
    sandbox.configure(&format!(
        "[transport]\nkind = \"file\"\ndirectory = \"{}\"\n[queues.news]\nrate = \"10/1h\"\n",
        out.display()
    ));
    for _ in 0..3 {
        sandbox.enqueue(&["--to", "a@example.com", "--subject", "S", "--queue", "news"]);
    }
    sandbox.mailq(&["send-batch"]).assert_code(0);
    let rates = sandbox.mailq(&["stats", "--json"]).json()["rates"].clone();
    let expected =
        serde_json::json!([{"queue": "news", "rate": "10/1h", "left": 7, "slowed_down": false}]);
    assert_eq!(rates, expected);
    assert!(sandbox.mailq(&["stats"]).out.contains("rate              news 10/1h, 7 left\n"));
}

#[test]
fn no_file_that_a_user_names_is_the_queue_or_a_device() {
    let sandbox = Sandbox::new();
    sandbox.enqueue(&["--to", "a@example.com", "--subject", "S"]);
    sandbox.write("bulk.jsonl", "{\"to\":\"b@example.com\",\"subject\":\"S\"}\n{\"to\":\"bad\"}\n");
    std::os::unix::fs::symlink("mailq.db", sandbox.path("link")).unwrap();
    fs::hard_link(sandbox.path("bulk.jsonl"), sandbox.path("same.jsonl")).unwrap();
    for args in [
        &["stats", "--output", "mailq.db"][..],
        &["stats", "--output", "./link"],
        &["stats", "--output", "mailq.db-wal"],
        &["prune", "--archive", "mailq.db"],
        &["enqueue", "--bulk", "bulk.jsonl", "--skip-bad", "mailq.db"],
        &["enqueue", "--bulk", "bulk.jsonl", "--skip-bad", "same.jsonl"],
    ] {
        let seen = sandbox.mailq(args);
        assert_eq!((seen.code, seen.out.as_str()), (64, ""), "{seen}");
    }
    assert_eq!(Rows::of(&sandbox).statuses(), [("PENDING".to_owned(), 1)].into());
    assert_eq!(fs::read_to_string(sandbox.path("bulk.jsonl")).unwrap().lines().count(), 2);

    // A link is followed, and a pipe written to.
    sandbox.write("real.txt", "old");
    std::os::unix::fs::symlink("real.txt", sandbox.path("to-real")).unwrap();
    sandbox.mailq(&["stats", "--output", "to-real"]).assert_code(0);
    assert!(fs::symlink_metadata(sandbox.path("to-real")).unwrap().is_symlink());
    assert!(fs::read_to_string(sandbox.path("real.txt")).unwrap().contains("default"));
    let seen = sandbox.mailq(&["stats", "--json", "--output", "-"]);
    assert_eq!(seen.assert_code(0).json()["schema"], 1);

    // Not all that is below /dev is a device.
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let page = memory.path().join("page");
    for _ in 0..2 {
        sandbox.mailq(&["stats", "--json", "--output", page.to_str().unwrap()]).assert_code(0);
    }
    assert_eq!(fs::read_to_string(page).unwrap().lines().count(), 1);
}

#[test]
fn no_form_hands_on_a_control_character() {
    let sandbox = Sandbox::new();
    sandbox.enqueue(&["--to", "a@example.com", "--subject", "S"]);
    sandbox.mailq(&["hold", "default", "--reason", "a\u{1b}[31m\u{9b}\u{7f}<b>"]).assert_code(0);
    // What the schema forbids can still be there.
    Rows::of(&sandbox)
        .run("PRAGMA ignore_check_constraints = ON; UPDATE email_messages SET queue = 'q' || char(27) || char(13, 10) || 'x\"'");
    let mut html = String::new();
    for form in ["--html", "--prometheus", "--json"] {
        let seen = sandbox.mailq(&["stats", form]);
        let is_tame = |c: char| c == '\n' || !c.is_control();
        assert!(seen.assert_code(0).out.chars().all(is_tame), "{form}: {seen}");
        match form {
            "--html" => html.clone_from(&seen.out),
            "--prometheus" => {
                let line = "mailq_mails{queue=\"q\\\\u{1b}\\\\r\\\\nx\\\"\",state=\"due\"} 1\n";
                assert!(seen.out.contains(line), "{seen}");
            }
            _ => {}
        }
    }
    assert!(html.contains("a\\u{1b}[31m\\u{9b}\\u{7f}&lt;b&gt;"), "{html}");
}
