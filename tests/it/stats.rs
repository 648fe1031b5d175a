//! `mailq stats`: the figures as the contract names them, for people, programs and files.

use crate::support::rows::Rows;
use crate::support::sandbox::Sandbox;
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
        ]
    );
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
    assert_eq!(
        of("default"),
        serde_json::json!({"queue": "default", "pending": 2, "due": 1, "scheduled": 1, "sending": 0, "sent": 1, "failed": 0})
    );
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
        "pending",
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
    sandbox.mailq(&["send-batch"]).assert_code(75);
    let stats = sandbox.mailq(&["stats", "--json"]).assert_code(0).json();
    let breaker = &stats["breakers"][0];
    assert_eq!(breaker["open"], true, "{stats}");
    assert!(breaker["scope"].as_str().unwrap().contains(&port.to_string()), "{stats}");
    assert!(breaker["until"].as_i64() > breaker["since"].as_i64(), "{stats}");
    assert!(sandbox.mailq(&["stats"]).out.contains("is left alone until"));
}

#[test]
fn what_a_rate_leaves_is_told() {
    let sandbox = Sandbox::new();
    let out = sandbox.path("out");
    sandbox.configure(&format!(
        "[transport]\nkind = \"file\"\ndirectory = \"{}\"\n[queues.default]\nrate = \"5/1h\"\n",
        out.display()
    ));
    for _ in 0..2 {
        sandbox.enqueue(&["--to", "a@example.com", "--subject", "S"]);
    }
    sandbox.mailq(&["send-batch"]).assert_code(0);
    let stats = sandbox.mailq(&["stats", "--json"]).assert_code(0).json();
    assert_eq!(
        stats["rates"],
        serde_json::json!([{ "queue": "default", "rate": "5/1h", "left": 3 }])
    );
    for form in [&["stats"][..], &["stats", "--html"]] {
        let seen = sandbox.mailq(form);
        assert!(seen.assert_code(0).out.contains("5/1h, 3 left"), "{seen}");
    }
}
