//! `mailq send-batch`: limits, queues, the last line, a dry run, and an outage that costs nobody an attempt.

use crate::support::rows::Rows;
use crate::support::sandbox::Sandbox;
use crate::support::smtp_sink::{Script, Sink};

/// A sandbox with `count` mails for `sink`.
fn queued(sink: &Sink, count: usize) -> Sandbox {
    let sandbox = Sandbox::with_smtp(sink.port);
    for n in 0..count {
        let name = format!("name={n}");
        sandbox.enqueue(&["--to", "a@example.com", "--template", "hello", "--param", &name]);
    }
    sandbox
}

#[test]
fn everything_due_is_sent_and_counted() {
    let sink = Script::new().start();
    let sandbox = queued(&sink, 3);
    sandbox.enqueue(&["--to", "later@example.com", "--subject", "S", "--in", "1h"]);
    let seen = sandbox.mailq(&["send-batch"]);
    seen.assert_code(0);
    let lines: Vec<&str> = seen.err.lines().collect();
    assert_eq!(lines.len(), 3, "{seen}");
    assert!(lines[0].starts_with("id=1 queue=default to=a@example.com relay="), "{seen}");
    assert!(lines[0].contains(" attempt=1 status=sent code=250 delay="), "{seen}");
    let line = seen.out.trim_end();
    assert!(
        line.starts_with("sent 3, deferred 0, failed 0, outage no in ") && line.ends_with("/s)"),
        "{seen}"
    );
    assert_eq!(sink.accepted().len(), 3);
    let again = sandbox.mailq(&["send-batch", "--json"]);
    let told = again.assert_code(0).json();
    assert_eq!(again.err, "", "a run with nothing to do says nothing");
    for (key, value) in [("sent", 0), ("deferred", 0), ("failed", 0), ("reaped", 0), ("expired", 0)]
    {
        assert_eq!(told[key], value, "{key}");
    }
    assert_eq!(told["outage"], false);
    assert!(told["seconds"].is_number() && told["per_second"].is_number(), "{told}");
    assert_eq!(sink.accepted().len(), 3);
}

#[test]
fn limits_and_queues_are_kept() {
    let sink = Script::new().start();
    let sandbox = queued(&sink, 5);
    let bulk = ["--to", "a@example.com", "--subject", "S", "--queue", "bulk"];
    sandbox.enqueue(&bulk);
    sandbox.enqueue(&[&bulk[..5], &["other"]].concat());
    let sent = |more: &[&str]| {
        let before = sink.accepted().len();
        sandbox.mailq(&[&["send-batch"], more].concat()).assert_code(0);
        sink.accepted().len() - before
    };
    assert_eq!(
        sent(&["--queue", "default", "--limit", "2", "--batch-size", "1", "--concurrency", "1"]),
        2
    );
    assert_eq!(sent(&["--queue", "bulk"]), 1);
    assert_eq!(sent(&["--queue", "bulk", "--queue", "other"]), 1);
    assert_eq!(sent(&["--limit", "0"]), 0);
    assert_eq!(sent(&["--concurrency", "8", "--time-limit", "10m"]), 3);
    assert_eq!(Rows::of(&sandbox).statuses(), [("SENT".to_owned(), 7)].into());
}

#[test]
fn a_dry_run_renders_and_sends_nothing() {
    let sink = Script::new().start();
    let sandbox = queued(&sink, 2);
    Rows::of(&sandbox).run(
        "INSERT INTO email_messages (to_addrs, template, parameters) VALUES ('a@example.com', 'hello', '{}')",
    );
    let before: Vec<String> = Rows::of(&sandbox)
        .all("SELECT json_array(status, attempt_count, locked_at) FROM email_messages", []);
    let seen = sandbox.mailq(&["send-batch", "--dry-run", "-v"]);
    assert_eq!(seen.assert_code(0).out, "would send 2, would fail 1\n");
    assert!(
        seen.err.contains("warning: mail 3 would fail: ") && seen.err.contains("`name`"),
        "{seen}"
    );
    assert!(seen.err.contains("mail 1: 1 recipient, "), "{seen}");
    let json = sandbox.mailq(&["send-batch", "--dry-run", "--json", "--limit", "1"]);
    assert_eq!(json.assert_code(0).out, "{\"would_send\":1,\"would_fail\":0}\n");
    assert_eq!(sink.connections(), 0);
    let after: Vec<String> = Rows::of(&sandbox)
        .all("SELECT json_array(status, attempt_count, locked_at) FROM email_messages", []);
    assert_eq!(before, after);
}

#[test]
fn verdicts_are_deferred_or_failed_with_exit_0() {
    let sink = Script::new()
        .on("RCPT:no@example.com", &["550 5.1.1 nobody here"])
        .on("RCPT:wait@example.com", &["451 4.7.1 greylisted"])
        .start();
    let sandbox = queued(&sink, 1);
    for to in ["no@example.com", "wait@example.com"] {
        sandbox.enqueue(&["--to", to, "--subject", "S"]);
    }
    let seen = sandbox.mailq(&["send-batch"]);
    assert!(
        seen.assert_code(0).out.starts_with("sent 1, deferred 1, failed 1, outage no in "),
        "{seen}"
    );
    let rows = Rows::of(&sandbox);
    assert_eq!(rows.of_mail::<String>(2, "failure"), "rejected");
    assert!(rows.of_mail::<String>(2, "error_message").contains("nobody here"));
    assert_eq!(rows.of_mail::<i64>(3, "attempt_count"), 1);
    assert!(rows.of_mail::<String>(3, "error_message").contains("greylisted"));
}

#[test]
fn a_corrected_template_corrects_what_waits() {
    let sink = Script::new().start();
    let sandbox = queued(&sink, 1);
    sandbox.template("hello", "Corrected {{name}}", "x", None);
    sandbox.mailq(&["send-batch"]).assert_code(0);
    let mail = String::from_utf8(sink.accepted()[0].bytes.clone()).unwrap();
    assert!(mail.contains("Subject: Corrected 0"), "{mail}");
}

#[test]
fn no_secret_is_in_any_output() {
    let sink = Script::new()
        .offers(&["AUTH PLAIN LOGIN", "PIPELINING"])
        .on("AUTH", &["535 5.7.8 no such login"])
        .start();
    let smtp = |source: &str| {
        format!(
            "[smtp]\nhost = \"127.0.0.1\"\nport = {}\ntls = \"none\"\nusername = \"user\"\n{source}\n",
            sink.port
        )
    };
    for source in [
        "password_file = \"secret\"",
        "password_command = \"echo hunter2; echo hunter2 >/dev/null\"",
    ] {
        let sandbox = Sandbox::new();
        sandbox.write("secret", "hunter2\n");
        sandbox.configure(&smtp(source));
        sandbox.enqueue(&["--to", "a@example.com", "--subject", "S", "-v"]);
        let mut all = String::new();
        for args in [
            &["send-batch", "-v"][..],
            &["check", "-v"],
            &["check", "--json"],
            &["show", "1"],
            &["stats"],
            &["list"],
            &[],
        ] {
            all.push_str(&sandbox.mailq(args).to_string());
        }
        assert!(all.contains("535"), "{all}");
        let stored = std::fs::read(sandbox.database()).unwrap();
        let stored = String::from_utf8_lossy(&stored);
        for secret in ["hunter2", "AHVzZXIAaHVudGVyMg", "aHVudGVyMg"] {
            assert!(!all.contains(secret), "{secret}\n{all}");
            assert!(!stored.contains(secret), "{secret} is in the database");
        }
    }
    assert!(sink.count("AUTH") > 0);
}

#[test]
fn a_password_command_that_fails_keeps_its_output_to_itself() {
    let sink = Script::new().offers(&["AUTH PLAIN"]).start();
    let sandbox = Sandbox::new();
    sandbox.configure(&format!(
        "[smtp]\nhost = \"127.0.0.1\"\nport = {}\ntls = \"none\"\nusername = \"user\"\n\
         password_command = \"echo hunter2; echo vault locked >&2; exit 3\"\n",
        sink.port
    ));
    sandbox.enqueue(&["--to", "a@example.com", "--subject", "S"]);
    let seen = sandbox.mailq(&["send-batch", "-v"]);
    assert!(!seen.to_string().contains("hunter2"), "{seen}");
    assert!(seen.err.contains("vault locked"), "{seen}");
    assert_eq!(Rows::of(&sandbox).of_mail::<i64>(1, "attempt_count"), 0);
}

#[test]
fn each_attempt_and_recipient_has_a_line_without_a_secret() {
    let sink = Script::new()
        .on("RCPT:no@example.com", &["550 5.1.1 nobody here", "550 5.1.1 nobody here"])
        .on("RCPT:wait@example.com", &["451 4.7.1 greylisted", "451 4.7.1 greylisted"])
        .start();
    let sandbox = queued(&sink, 0);
    sandbox.template("code", "S", "{{date code}}", None);
    let to = ["--to", "yes@example.com", "--to", "no@example.com", "--cc", "wait@example.com"];
    sandbox.enqueue(&[&to[..], &["--subject", "S", "--body", "h1dden"]].concat());
    sandbox.enqueue(&["--to", "a@example.com", "--template", "code", "--param", "code=s3cret"]);
    let seen = sandbox.mailq(&["send-batch", "-v"]);
    let line = |of: &str| {
        let mut lines = seen.err.lines().filter(|line| line.contains(of));
        let found = lines.next().unwrap_or_else(|| panic!("no {of}: {seen}"));
        assert_eq!(lines.next(), None, "{of}: {seen}");
        found
    };
    assert!(line("to=yes@").contains(" attempt=1 status=sent code=250 "), "{seen}");
    assert!(line("to=no@").contains(" status=failed code=550 "), "{seen}");
    assert!(line("to=no@").contains("message=\"550 5.1.1 nobody here "), "{seen}");
    assert!(line("to=wait@").contains(" status=deferred code=451 "), "{seen}");
    let delays = line("to=yes@").split(" delays=").nth(1).unwrap().split(' ').next().unwrap();
    assert_eq!(delays.split('/').filter(|part| part.parse::<f64>().is_ok()).count(), 3, "{seen}");
    assert!(
        line("id=2 queue=default to=a@example.com").contains("status=failed code=- "),
        "{seen}"
    );
    assert!(line("id=2 ").contains("render: code/text.hbs"), "{seen}");
    let quiet = ["h1dden", "s3cret"].iter().all(|secret| !seen.err.contains(secret));
    assert!(quiet, "{seen}");
}

#[test]
fn what_ends_without_a_server_has_a_line_for_each_recipient_too() {
    let sink = Script::new().start();
    let sandbox = queued(&sink, 0);
    for to in ["old@example.com", "lost@example.com", "bad@example.com"] {
        sandbox.enqueue(&["--to", to, "--cc", "c@example.com", "--subject", "S"]);
    }
    sandbox.enqueue(&["--to", "never@example.com", "--subject", "S"]);
    sandbox.mailq(&["suppress", "add", "never@example.com"]).assert_code(0);
    let rows = Rows::of(&sandbox);
    rows.run("UPDATE email_messages SET expires_at = created_at - 1 WHERE id = 1");
    rows.run(
        "UPDATE email_messages SET status = 'SENDING', locked_by = 'gone/1/1/0/0', reap_count = 2, locked_at = 1 \
         WHERE id = 2",
    );
    rows.run("UPDATE email_messages SET template = 'gone' WHERE id = 3");
    let seen = sandbox.mailq(&["send-batch"]);
    assert!(seen.assert_code(0).out.starts_with("sent 0, deferred 0, failed 4"), "{seen}");
    let told: Vec<&str> = seen.err.lines().filter(|line| line.contains("status=failed")).collect();
    for (id, to, words) in [
        (1, "old@example.com", "expired: "),
        (1, "c@example.com", "expired: "),
        (2, "lost@example.com", "worker-lost: "),
        (2, "c@example.com", "worker-lost: "),
        (3, "bad@example.com", "render: "),
        (3, "c@example.com", "render: "),
        (4, "never@example.com", "suppressed: "),
    ] {
        let begin = format!("id={id} queue=default to={to} ");
        let of = told.iter().filter(|line| line.contains(&begin));
        let is_it = |line: &&&str| line.contains(&format!("message=\"{words}"));
        assert_eq!(of.filter(is_it).count(), 1, "{begin} {words} {seen}");
    }
    assert_eq!(told.len(), 7, "{seen}");
}

#[test]
fn an_attachment_that_is_none_is_told_without_the_words_of_a_programmer() {
    let sink = Script::new().start();
    let sandbox = queued(&sink, 1);
    Rows::of(&sandbox).run("UPDATE email_messages SET attachments = '[1]'");
    let seen = sandbox.mailq(&["send-batch"]);
    let words = "expected an object with filename and storage_ref, at column 2";
    assert!(seen.err.contains(words) && !seen.err.contains("struct"), "{seen}");
}

#[test]
fn the_log_is_json_on_wish() {
    let sink = Script::new().start();
    let sandbox = queued(&sink, 1);
    let mut command = sandbox.mailq_command(&["send-batch"]);
    command.env("MAILQ_LOG", "json");
    let seen = sandbox.run(command, b"");
    let line: serde_json::Value = serde_json::from_str(seen.assert_code(0).err.trim()).unwrap();
    assert_eq!((&line["level"], &line["id"]), (&"info".into(), &1.into()), "{seen}");
    assert_eq!((&line["status"], &line["code"]), (&"sent".into(), &250.into()), "{seen}");
    let mut command = sandbox.mailq_command(&["show", "99"]);
    command.env("MAILQ_LOG", "json");
    let seen = sandbox.run(command, b"");
    let lines = seen.assert_code(66).err.lines();
    assert!(lines.clone().all(|line| line.starts_with("{\"level\":\"error\",")), "{seen}");
    assert_eq!(lines.count(), 2, "{seen}");
}
