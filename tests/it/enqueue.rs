//! `mailq enqueue`: every option reaches its column, and nothing more is done than that.

use crate::support::rows::Rows;
use crate::support::sandbox::{Sandbox, Seen};
use std::fs;

/// Runs `enqueue` for a mail from the template `hello`, with these options more.
fn hello(sandbox: &Sandbox, more: &[&str]) -> Seen {
    let usual = ["enqueue", "--to", "a@example.com", "--template", "hello", "--param", "name=Ada"];
    sandbox.mailq(&[&usual, more].concat())
}

/// Runs `enqueue` for a mail without a template, with these options more.
fn plain(sandbox: &Sandbox, more: &[&str]) -> Seen {
    sandbox.mailq(&[&["enqueue", "--to", "a@example.com", "--subject", "S"], more].concat())
}

#[test]
fn every_option_reaches_its_column() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "attached");
    sandbox.write("logo.png", "image");
    sandbox.template("full", "S", "T {{name}} {{n}} {{x}}", Some("<img src=\"cid:logo\">"));
    sandbox.write("params.json", r#"{"name":"file","x":1.50}"#);
    let seen = sandbox.mailq(&[
        "enqueue",
        "--to",
        "Ada <ada@example.com>",
        "bob@example.com",
        "--cc",
        "c@example.com",
        "--bcc",
        "d@example.com, e@example.com",
        "--from",
        "F <f@example.com>",
        "--reply-to",
        "r@example.com",
        "--template",
        "full",
        "--locale",
        "de",
        "--params",
        "@params.json",
        "--param",
        "name=option",
        "--param-json",
        "n=[1, 2]",
        "--attach",
        "a.txt",
        "--inline",
        "logo=logo.png",
        "--header",
        "List-Id: <l.example.com>",
        "--list-unsubscribe",
        "https://example.com/u?t=1",
        "--queue",
        "bulk",
        "--at",
        "2030-01-02T03:04:05+01:00",
        "--expires-in",
        "1h",
        "--key",
        "k1",
        "--max-attempts",
        "7",
    ]);
    seen.assert_code(0);
    assert_eq!(seen.out, "1\n");
    let rows = Rows::of(&sandbox);
    let text = |column: &str| rows.of_mail::<String>(1, column);
    assert_eq!(text("to_addrs"), "Ada <ada@example.com>, bob@example.com");
    assert_eq!(text("cc_addrs"), "c@example.com");
    assert_eq!(text("bcc_addrs"), "d@example.com, e@example.com");
    assert_eq!(text("from_addr"), "F <f@example.com>");
    assert_eq!(text("reply_to"), "r@example.com");
    assert_eq!(text("template"), "full");
    assert_eq!(text("locale"), "de");
    assert_eq!(text("parameters"), r#"{"name":"option","x":1.50,"n":[1,2]}"#);
    assert_eq!(
        text("headers"),
        r#"{"List-Id":"<l.example.com>","List-Unsubscribe":"<https://example.com/u?t=1>"}"#
    );
    assert_eq!(text("queue"), "bulk");
    assert_eq!(text("idempotency_key"), "k1");
    assert_eq!(rows.of_mail::<i64>(1, "max_attempts"), 7);
    assert_eq!(rows.of_mail::<i64>(1, "next_attempt_at"), 1_893_549_845_000);
    assert_eq!(rows.of_mail::<i64>(1, "expires_at"), 1_893_549_845_000 + 3_600_000);
    let attachments: serde_json::Value = serde_json::from_str(&text("attachments")).unwrap();
    assert_eq!(attachments[0]["filename"], "a.txt");
    assert_eq!(attachments[1]["cid"], "logo");
    let reference = attachments[0]["storage_ref"].as_str().unwrap().strip_prefix("spool:").unwrap();
    let spooled = sandbox.path("spool").join(&reference[..2]).join(reference);
    assert_eq!(fs::read(spooled).unwrap(), b"attached");
}

#[test]
fn a_mail_without_a_template_takes_its_text_from_anywhere() {
    let sandbox = Sandbox::new();
    sandbox.write("body", "from a file");
    let body = |more: &[&str], input: &str| {
        let args = [&["enqueue", "--to", "a@example.com", "--subject", "S"], more].concat();
        let seen = sandbox.mailq_reading(&args, input);
        seen.assert_code(0);
        let id: i64 = seen.out.trim().parse().unwrap();
        Rows::of(&sandbox).of_mail::<String>(id, "parameters")
    };
    assert_eq!(body(&["--body", "text"], ""), r#"{"subject":"S","body":"text"}"#);
    assert_eq!(body(&["--body", "@body"], ""), r#"{"subject":"S","body":"from a file"}"#);
    assert_eq!(body(&["--body", "-"], "piped\n"), r#"{"subject":"S","body":"piped\n"}"#);
    assert_eq!(body(&["--html", "<p>"], ""), r#"{"subject":"S","html":"<p>"}"#);
    assert_eq!(
        body(&["--html", "@body", "--body", ""], ""),
        r#"{"subject":"S","body":"","html":"from a file"}"#
    );
}

#[test]
fn parameters_keep_odd_keys_and_values() {
    let sandbox = Sandbox::new();
    let long = format!("long={}", "x".repeat(100_000));
    let pairs = [
        "sign=-5",
        "s=--help",
        "eq=a=b=c",
        "empty=",
        "k ey=v",
        "multi\nline=1",
        "ключ=знач",
        "--dash=1",
        &long,
    ];
    let mut args =
        vec!["enqueue", "--to", "a@example.com", "--template", "hello", "--param", "name=x"];
    for pair in pairs {
        args.extend(["--param", pair]);
    }
    let seen = sandbox.mailq(&args);
    seen.assert_code(0);
    assert!(seen.err.contains("does not use the parameter"), "{seen}");
    let stored: serde_json::Value =
        serde_json::from_str(&Rows::of(&sandbox).of_mail::<String>(1, "parameters")).unwrap();
    for pair in pairs {
        let (key, value) = pair.split_once('=').unwrap();
        assert_eq!(stored[key], value, "{key}");
    }
}

#[test]
fn large_values_come_by_file_and_by_stdin() {
    let sandbox = Sandbox::new();
    let large = format!(r#"{{"name":"{}"}}"#, "ü".repeat(1_500_000));
    sandbox.write("p.json", &large);
    let args = ["enqueue", "--to", "a@example.com", "--template", "hello", "--params"];
    sandbox.mailq(&[&args[..], &["@p.json"]].concat()).assert_code(0);
    sandbox.mailq_reading(&[&args[..], &["-"]].concat(), &large).assert_code(0);
    let lengths: Vec<i64> =
        Rows::of(&sandbox).all("SELECT length(parameters) FROM email_messages", []);
    assert_eq!(lengths, [1_500_011, 1_500_011]);
}

#[test]
fn texts_may_begin_with_a_dash() {
    let sandbox = Sandbox::new();
    sandbox.write("-file.txt", "x");
    let seen = sandbox.mailq(&[
        "enqueue",
        "--to",
        "a@example.com",
        "--subject",
        "-10% today",
        "--body",
        "-- \nbye",
        "--attach",
        "-file.txt",
        "--key",
        "-k",
    ]);
    seen.assert_code(0);
    let rows = Rows::of(&sandbox);
    let parameters = rows.of_mail::<String>(1, "parameters");
    assert_eq!(parameters, r#"{"subject":"-10% today","body":"-- \nbye"}"#);
    assert_eq!(rows.of_mail::<String>(1, "idempotency_key"), "-k");
}

#[test]
fn times_are_what_was_said() {
    let sandbox = Sandbox::new();
    let due = |more: &[&str]| {
        let seen = hello(&sandbox, more);
        seen.assert_code(0);
        let id: i64 = seen.out.trim().parse().unwrap();
        let rows = Rows::of(&sandbox);
        let of = |column| rows.of_mail::<Option<i64>>(id, column);
        (of("next_attempt_at").unwrap(), of("created_at").unwrap(), of("expires_at"), seen.err)
    };
    let (at, .., said) = due(&["--at", "2030-01-02T03:04:05Z"]);
    assert_eq!((at, said.as_str()), (1_893_553_445_000, ""));
    let (at, .., said) = due(&["--at", "2030-01-02 03:04"]);
    assert_eq!(at, 1_893_553_440_000);
    assert!(said.contains("names no zone: taken as 2030-01-02 03:04:00 +00:00"), "{said}");
    let (at, created, expires, _) = due(&["--in", "2h", "--expires-in", "30m"]);
    assert_eq!(at - created, 7_200_000);
    assert_eq!(expires, Some(at + 1_800_000));
    let (at, created, expires, _) = due(&[]);
    assert_eq!((at, expires), (created, None));
    let quiet = hello(&sandbox, &["--at", "2030-01-02 03:04", "--quiet"]);
    assert_eq!(quiet.assert_code(0).err, "");
    let mut east = sandbox.mailq_command(&[
        "enqueue",
        "--to",
        "a@example.com",
        "--subject",
        "S",
        "--at",
        "2030-01-02 03:04",
    ]);
    east.env("TZ", "JST-9");
    let seen = sandbox.run(east, b"");
    assert!(seen.assert_code(0).err.contains("taken as 2030-01-02 03:04:00 +09:00"), "{seen}");
}

#[test]
fn a_key_stores_one_mail() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "one");
    let order = |more: &[&str]| {
        hello(&sandbox, &[&["--key", "order-17", "--attach", "a.txt"], more].concat())
    };
    assert_eq!(order(&[]).assert_code(0).out, "1\n");
    assert_eq!(order(&["--in", "1h"]).assert_code(0).out, "1\n");
    let json = order(&["--json", "-v"]);
    assert_eq!(json.assert_code(0).json()["existed"], true);
    assert!(json.err.contains("mail 1 was there already"), "{json}");
    let other = order(&["--cc", "b@example.com"]);
    other.assert_code(65);
    assert!(
        other.err.contains("\"order-17\"")
            && other.err.contains("mail 1")
            && other.err.contains(" cc"),
        "{other}"
    );
    sandbox.write("a.txt", "two");
    let changed = order(&[]);
    changed.assert_code(65);
    assert!(changed.err.contains("attachments"), "{changed}");
    sandbox.write("a.txt", "one");
    sandbox.mailq(&["send-batch"]).assert_code(0);
    assert_eq!(order(&[]).assert_code(0).out, "1\n");
    assert_eq!(Rows::of(&sandbox).statuses(), [("SENT".to_owned(), 1)].into());
}

#[test]
fn a_dry_run_writes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "one");
    let seen = hello(&sandbox, &["--attach", "a.txt", "--dry-run"]);
    seen.assert_code(0);
    let shown = seen.json();
    assert_eq!(shown["to"], "a@example.com");
    assert_eq!(shown["attachments"][0]["size"], 3);
    assert_eq!(shown["parameters"]["name"], "Ada");
    assert!(!sandbox.database().exists());
    assert_eq!(fs::read_dir(sandbox.path("spool")).unwrap().count(), 0);
    hello(&sandbox, &["--attach", "no", "--dry-run"]).assert_code(66);
    hello(&sandbox, &["--to", "x", "--dry-run"]).assert_code(65);
}

#[test]
fn strict_makes_warnings_errors() {
    let sandbox = Sandbox::new();
    let more = ["--param", "nmae=x"];
    let warned = hello(&sandbox, &more);
    assert!(
        warned.err.contains(
            "warning: the template `hello` does not use the parameter `nmae`; did you mean `name`?"
        ),
        "{warned}"
    );
    warned.assert_code(0);
    let strict = hello(&sandbox, &[&more[..], &["--strict"]].concat());
    strict.assert_code(65);
    assert!(strict.err.contains("`nmae`") && strict.err.contains("hint: --strict"), "{strict}");
    assert_eq!(Rows::of(&sandbox).statuses()["PENDING"], 1);
    sandbox.write("config.toml", "");
    let nobody = sandbox.mailq(&[
        "--db",
        "q.db",
        "enqueue",
        "--to",
        "a@example.com",
        "--subject",
        "S",
        "--body",
        "B",
        "--strict",
    ]);
    nobody.assert_code(65);
    assert!(nobody.err.contains("no sender is configured"), "{nobody}");
}

#[test]
fn an_empty_mail_and_a_subject_of_two_lines_are_warned_of() {
    let sandbox = Sandbox::new();
    let said = |more: &[&str], input: &str| {
        let args = [&["enqueue", "--to", "a@example.com"], more].concat();
        let seen = sandbox.mailq_reading(&args, input);
        let strict = sandbox.mailq_reading(&[&args[..], &["--strict"]].concat(), input);
        assert_eq!(strict.code, if seen.err.is_empty() { 0 } else { 65 }, "{strict}");
        seen.assert_code(0).err.clone()
    };
    let only = "warning: --body is empty or not given: only a subject is in the mail";
    assert!(said(&["--subject", "S"], "").contains(only));
    assert!(said(&["--subject", "S", "--body", "-"], " \n").contains(only));
    assert!(said(&["--subject", "", "--body", ""], "").contains("nothing is in the mail"));
    assert!(said(&["--subject", "", "--body", "B"], "").contains("--subject is empty"));
    let lines = "warning: --subject has more than one line";
    assert!(said(&["--subject", "a\nb", "--body", "B"], "").contains(lines));
    sandbox.write("a.txt", "x");
    assert_eq!(said(&["--subject", "S", "--attach", "a.txt"], ""), "");
    assert_eq!(said(&["--subject", "S\n", "--html", "<p>x</p>"], ""), "");
}

#[test]
fn images_and_html_fit_together() {
    let sandbox = Sandbox::new();
    sandbox.write("l.png", "image");
    let image = ["--inline", "logo=l.png"];
    let with = |more: &[&str]| plain(&sandbox, &[&image[..], more].concat());
    assert_eq!(with(&["--html", "<img src=\"cid:logo\">"]).assert_code(0).err, "");
    let unused = with(&["--html", "<p>"]);
    assert!(unused.err.contains("the HTML does not mention cid:logo"), "{unused}");
    let textual = with(&["--body", "text"]);
    assert!(textual.err.contains("warning: --inline logo: the mail has no HTML"), "{textual}");
    let missing = plain(&sandbox, &["--html", "<img src='cid:other'>"]);
    assert!(missing.err.contains("the HTML shows cid:other"), "{missing}");
    plain(&sandbox, &["--html", "<img src='cid:other'>", "--strict"]).assert_code(65);
    let of_template = hello(&sandbox, &image);
    assert!(of_template.err.contains("the mail has no HTML"), "{of_template}");
}

#[test]
fn standard_streams_may_be_closed() {
    let sandbox = Sandbox::new();
    let run = |redirect: &str| {
        let script = format!("\"$1\" enqueue --to a@example.com --subject S --body - {redirect}");
        let args = ["-c", &script, "sh", env!("CARGO_BIN_EXE_mailq")];
        sandbox.other("sh", &args, "piped")
    };
    for redirect in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", "</dev/null"] {
        assert_eq!(run(redirect).code, 0, "{redirect}");
    }
    assert_eq!(Rows::of(&sandbox).statuses()["PENDING"], 5);
    let full = run("> /dev/full");
    full.assert_code(74);
    assert!(full.err.contains("mail 6 is queued") && full.err.contains("hint: "), "{full}");
    assert_eq!(Rows::of(&sandbox).statuses()["PENDING"], 6);
}

#[test]
fn an_id_is_printed_for_people_and_for_programs() {
    let sandbox = Sandbox::new();
    assert_eq!(
        hello(&sandbox, &[]).assert_code(0).to_string(),
        "exit 0\n--- stdout\n1\n--- stderr\n"
    );
    assert_eq!(hello(&sandbox, &["--json"]).assert_code(0).out, "{\"id\":2,\"existed\":false}\n");
}

#[test]
fn no_secret_certificate_or_other_template_is_opened_and_no_thread_started() {
    let sandbox = Sandbox::new();
    sandbox.template("other", "{{#if}", "broken", None);
    sandbox.write("secret", "hunter2\n");
    sandbox.write("ca.pem", "no certificate");
    let ran = sandbox.path("ran");
    let config = format!(
        "[smtp]\nhost = \"mail.example\"\nusername = \"u\"\npassword_file = \"secret\"\nca_file = \"ca.pem\"\n\
         [queues.bulk.smtp]\nusername = \"v\"\npassword_command = \"touch {}\"\n",
        ran.display()
    );
    sandbox.configure(&config);
    hello(&sandbox, &["--queue", "bulk"]).assert_code(0);
    assert!(!ran.exists());
    let args = ["enqueue", "--to", "a@example.com", "--template", "hello", "--param", "name=x"];
    let calls = ["trace=openat,open,execve,clone,clone3,socket"];
    let Some((seen, trace)) = sandbox.traced(&calls, &args) else { return };
    seen.assert_code(0);
    let trace = trace.join("\n");
    assert!(trace.contains("templates/hello/subject.hbs"), "{trace}");
    for name in ["/secret", "/ca.pem", "/etc/ssl", "templates/other", "/bin/sh", "clone", "socket"]
    {
        assert!(!trace.contains(name), "{name} in\n{trace}");
    }
}
