//! `mailq show`: what was tried with a mail and when it goes again, and what would go out now.

use crate::support::rows::Rows;
use crate::support::sandbox::Sandbox;
use crate::support::smtp_sink::Script;
use serde_json::Value;

/// The history of a mail as `show --json` tells it.
fn history(sandbox: &Sandbox, id: i64) -> Vec<Value> {
    let shown = sandbox.mailq(&["show", &id.to_string(), "--json"]).assert_code(0).json();
    shown["history"].as_array().unwrap().clone()
}

/// Makes everything due, whatever put it off.
fn make_due(sandbox: &Sandbox) {
    Rows::of(sandbox)
        .run("UPDATE email_messages SET next_attempt_at = created_at; DELETE FROM mailq_breaker");
}

#[test]
fn each_attempt_says_where_it_ended_and_what_the_server_said() {
    let sink = Script::new()
        .on("MAIL", &["451 4.3.0 come back", "250 ok"])
        .on("RCPT:b@example.com", &["550 5.1.1 nobody here"])
        .on("DOT", &["250 2.0.0 Ok: queued as 4F1Xyz"])
        .start();
    let sandbox = Sandbox::with_smtp(sink.port);
    let id = sandbox.enqueue(&["--to", "a@example.com, b@example.com", "--subject", "S"])[0];
    sandbox.mailq(&["send-batch"]).assert_code(0);
    let waits = sandbox.mailq(&["show", &id.to_string()]).assert_code(0).out.clone();
    assert!(waits.contains("attempt 1 did not work, the next is due "), "{waits}");
    make_due(&sandbox);
    sandbox.mailq(&["send-batch"]).assert_code(0);
    let told = history(&sandbox, id);
    assert_eq!(told.len(), 2, "{told:?}");
    let relay = format!("127.0.0.1:{}", sink.port);
    for (at, outcome, phase, code, message) in [
        (0, "deferred", "mail", 451, "451 4.3.0 come back"),
        (1, "partly", "dot", 250, "250 2.0.0 Ok: queued as 4F1Xyz"),
    ] {
        let one = &told[at];
        assert_eq!(one["attempt"], at + 1);
        assert_eq!((&one["outcome"], &one["phase"]), (&outcome.into(), &phase.into()), "{one}");
        assert_eq!((&one["code"], &one["message"]), (&code.into(), &message.into()), "{one}");
        assert_eq!(one["relay"], relay);
        assert!(one["at"].as_i64() > Some(1_500_000_000_000) && one["ms"].is_number(), "{one}");
    }
    assert_eq!(told[0]["recipients"], Value::Null);
    assert_eq!(told[1]["recipients"]["a@example.com"], "250 2.0.0 Ok: queued as 4F1Xyz");
    assert_eq!(told[1]["recipients"]["b@example.com"], "550 5.1.1 nobody here (at RCPT TO)");
    let text = sandbox.mailq(&["show", &id.to_string()]).assert_code(0).out.clone();
    assert!(text.contains("b@example.com: 550 5.1.1 nobody here"), "{text}");
}

#[test]
fn an_outage_a_defect_and_an_unknown_outcome_are_told_too() {
    let sink =
        Script::new().on("GREET", &["554 5.3.2 closed", "220 hi"]).on("DOT", &["!close"]).start();
    let sandbox = Sandbox::with_smtp(sink.port);
    let id = sandbox.enqueue(&["--to", "a@example.com", "--subject", "S"])[0];
    sandbox.mailq(&["send-batch"]).assert_code(75);
    make_due(&sandbox);
    sandbox.mailq(&["send-batch"]).assert_code(0);
    let told = history(&sandbox, id);
    let outcomes: Vec<&str> = told.iter().map(|one| one["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["outage", "unknown"]);
    assert_eq!((&told[0]["phase"], &told[0]["code"]), (&"greeting".into(), &554.into()));
    assert_eq!(told[1]["phase"], "dot");
    Rows::of(&sandbox)
        .run("INSERT INTO email_messages (to_addrs, template) VALUES ('a@example.com', 'hello')");
    sandbox.mailq(&["send-batch"]).assert_code(0);
    let told = history(&sandbox, id + 1);
    assert_eq!((told.len(), &told[0]["outcome"]), (1, &"render".into()));
    assert!(told[0]["message"].as_str().unwrap().contains("`name`"), "{told:?}");
    Rows::of(&sandbox).run("DELETE FROM email_messages");
    assert_eq!(Rows::of(&sandbox).one::<i64>("SELECT count(*) FROM mailq_attempts"), 0);
}

#[test]
fn what_would_go_out_is_shown_and_its_bytes_are_those_that_go_out() {
    let sink = Script::new().start();
    let sandbox = Sandbox::with_smtp(sink.port);
    sandbox.write("note.txt", "attached\n");
    let id = sandbox.enqueue(&[
        "--to",
        "Ada <ada@example.com>",
        "--bcc",
        "b@example.com",
        "--template",
        "hello",
        "--param",
        "name=Ada",
        "--attach",
        "note.txt",
    ])[0];
    let id = id.to_string();
    let rendered = sandbox.mailq(&["show", &id, "--rendered"]).assert_code(0).out.clone();
    for line in [
        "Envelope from: sender@example.com",
        "Envelope to: ada@example.com, b@example.com",
        "Subject: Hello Ada",
        "Dear Ada,",
    ] {
        assert!(rendered.lines().any(|one| one == line), "{line}\n{rendered}");
    }
    let json = sandbox.mailq(&["show", &id, "--rendered", "--json"]).assert_code(0).json();
    assert_eq!(json["envelope_to"], serde_json::json!(["ada@example.com", "b@example.com"]));
    let raw = sandbox.mailq(&["show", &id, "--raw"]).assert_code(0).out.clone();
    sandbox.mailq(&["send-batch"]).assert_code(0);
    let sent = String::from_utf8(sink.accepted().remove(0).bytes).unwrap();
    let body = |text: &str| text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
    let head = |text: &str, name: &str| {
        text.lines().find(|line| line.starts_with(name)).map(str::to_owned)
    };
    assert_eq!(head(&raw, "Message-ID:"), head(&sent, "Message-ID:"));
    // The borders between the parts are drawn from the message's id too.
    assert_eq!(body(&raw), body(&sent), "{raw}");
    assert!(sandbox.mailq(&["show", &id]).out.contains("a server accepted it"));
    sandbox.mailq(&["show", "99", "--raw"]).assert_code(66);
    sandbox.template("hello", "Hello {{surname}}", "x", None);
    let broken = sandbox.mailq(&["show", &id, "--raw"]);
    broken.assert_code(65);
    assert!(broken.out.is_empty() && broken.err.contains("`surname`"), "{broken}");
}
