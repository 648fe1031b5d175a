//! Values that look like something else: options, files, moments, bytes that are no text (BC-081, BC-097, BC-099,
//! BC-101). What is refused stores nothing.

use super::support::rows::Rows;
use super::support::sandbox::{Sandbox, Seen};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;

const TO: [&str; 3] = ["enqueue", "--to", "ada@example.com"];

fn enqueue(sandbox: &Sandbox, more: &[&str]) -> Seen {
    sandbox.mailq(&[&TO, more].concat())
}

/// The parameters of the mail that was stored last.
fn stored(sandbox: &Sandbox) -> Value {
    let text: String =
        Rows::of(sandbox).one("SELECT parameters FROM email_messages ORDER BY id DESC LIMIT 1");
    serde_json::from_str(&text).unwrap()
}

fn count(sandbox: &Sandbox) -> i64 {
    Rows::of(sandbox).one("SELECT count(*) FROM email_messages")
}

#[test]
fn a_parameter_is_what_stands_behind_the_first_equals_sign() {
    let sandbox = Sandbox::new();
    let long = "x".repeat(100_000);
    for (key, value) in [
        ("sign", "-5"),
        ("s", "--help"),
        ("eq", "a=b=c"),
        ("empty", ""),
        ("k ey", "v"),
        ("multi\nline", "1"),
        ("ключ", "знач"),
        ("plz", "01067"),
        ("b", "true"),
        ("long", &long),
    ] {
        let pair = format!("{key}={value}");
        let args = ["--template", "hello", "--param", "name=Ada", "--param", &pair];
        enqueue(&sandbox, &args).assert_code(0);
        assert_eq!(stored(&sandbox)[key], json!(value));
    }
    let before = count(&sandbox);
    for pair in ["=x", "novalue", "", "name=twice"] {
        let args = ["--template", "hello", "--param", "name=Ada", "--param", pair];
        let seen = enqueue(&sandbox, &args);
        seen.assert_code(64);
        assert!(seen.err.contains("--param"), "{seen}");
    }
    assert_eq!(count(&sandbox), before);
}

#[test]
fn a_text_may_begin_with_a_hyphen_or_an_at_sign() {
    let sandbox = Sandbox::new();
    for subject in [["--subject", "-10% today"].as_slice(), &["--subject=-10% today"]] {
        enqueue(&sandbox, &[subject, &["--body", "@@all: hi"]].concat()).assert_code(0);
        assert_eq!(stored(&sandbox), json!({ "subject": "-10% today", "body": "@all: hi" }));
    }
    sandbox.write("-file.txt", "data");
    enqueue(&sandbox, &["--subject", "x", "--attach", "-file.txt"]).assert_code(0);
    for args in [["enqueue", "--to", "--foo"].as_slice(), &["enqueue", "--to", "--subject", "x"]] {
        sandbox.mailq(args).assert_code(64);
    }
}

#[test]
fn bytes_that_are_no_text_are_refused_in_texts_and_work_in_paths() {
    let sandbox = Sandbox::new();
    let odd = |bytes: &'static [u8]| OsStr::from_bytes(bytes);
    let run = |args: &[&OsStr]| {
        let all: Vec<&OsStr> = TO.map(OsStr::new).into_iter().chain(args.iter().copied()).collect();
        sandbox.mailq(&all)
    };
    for (option, value) in [
        ("--param", odd(b"name=\xff")),
        ("--cc", odd(b"\xff@example.com")),
        ("--header", odd(b"X-A: \xff")),
    ] {
        let seen = run(&["--template".as_ref(), "hello".as_ref(), option.as_ref(), value]);
        seen.assert_code(65);
        assert!(seen.err.starts_with("mailq: ") && seen.err.contains(option), "{seen}");
    }
    assert!(!sandbox.database().exists());
    sandbox.write(odd(b"f\xff.txt"), "data");
    run(&["--subject".as_ref(), "x".as_ref(), "--attach".as_ref(), odd(b"f\xff.txt")])
        .assert_code(0);
    run(&["--subject".as_ref(), "x".as_ref(), "--db".as_ref(), odd(b"q \xff.db")]).assert_code(0);
    assert!(sandbox.path(odd(b"q \xff.db")).exists());
}

#[test]
fn a_duration_that_traps_is_refused_by_every_option() {
    let sandbox = Sandbox::new();
    enqueue(&sandbox, &["--subject", "x"]).assert_code(0);
    for wrong in [
        "18446744073709551615s",
        "18446744073709551615s 1000000000ns",
        "1000000 years",
        "-5m",
        "5",
        "",
        "1.5h",
        "1M",
        "５m",
    ] {
        for command in [
            &[&TO[..], &["--subject", "x", "--in", wrong]].concat(),
            &[&TO[..], &["--subject", "x", "--expires-in", wrong]].concat(),
            &[&TO[..], &["--subject", "x", "--at", &format!("+{wrong}")]].concat(),
            &vec!["prune", "--older-than", wrong],
            &vec!["reap", "--older-than", wrong],
            &vec!["send-batch", "--time-limit", wrong],
            &vec!["stats", "--since", wrong],
            &vec!["stats", "--max-pending-age", wrong],
        ] {
            let seen = sandbox.mailq(command);
            seen.assert_code(64);
            let option = command.iter().rfind(|arg| arg.starts_with("--")).unwrap();
            assert!(seen.err.contains(option), "{seen}");
        }
    }
    assert_eq!(count(&sandbox), 1);
}

#[test]
fn stdin_is_read_once_and_a_closed_one_is_empty() {
    let sandbox = Sandbox::new();
    let args = [&TO[..], &["--template", "hello", "--params", "-"]].concat();
    sandbox.mailq_reading(&args, "{\"name\": \"Ada\"}").assert_code(0);
    assert_eq!(stored(&sandbox), json!({ "name": "Ada" }));
    for (input, code) in [(b"\xff\x00".as_slice(), 65), (b"[1]", 65), (b"", 65)] {
        sandbox.mailq_reading(&args, input).assert_code(code);
    }
    enqueue(&sandbox, &["--subject", "x", "--body", "-", "--params", "-"]).assert_code(64);
    // With descriptor 0 closed the first file that is opened must not become the standard input.
    let mailq = env!("CARGO_BIN_EXE_mailq");
    let line = format!("'{mailq}' enqueue --to ada@example.com --subject x --body - <&-");
    let mut command = sandbox.command("sh");
    command.args(["-c", &line]).stdin(Stdio::null());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(stored(&sandbox), json!({ "subject": "x", "body": "" }));
}

#[test]
fn a_mail_of_the_queue_is_rendered_without_naming_its_template() {
    let sandbox = Sandbox::new();
    let id =
        sandbox.enqueue(&["--to", "a@example.com", "--template", "hello", "--param", "name=Ada"]);
    let seen = sandbox.mailq(&["render", "--mail", &id[0].to_string(), "--json"]);
    assert_eq!(seen.assert_code(0).json()["subject"], json!("Hello Ada"));
    sandbox.mailq(&["render"]).assert_code(64);
    sandbox.mailq(&["render", "--mail", "99"]).assert_code(66);
}

#[test]
fn thresholds_are_told_once_and_end_as_monitoring_expects() {
    let sandbox = Sandbox::new();
    let ids: Vec<String> = (0..4)
        .map(|_| sandbox.enqueue(&["--to", "a@example.com", "--subject", "x"])[0].to_string())
        .collect();
    sandbox.mailq(&["cancel", &ids[0]]).assert_code(0);
    sandbox.mailq(&["send-batch"]).assert_code(0);
    for (limit, code, words) in [
        ("25%", 0, "MAILQ OK - 25.0% FAILED, at most 25.0% | "),
        ("20%", 1, "MAILQ WARNING - 25.0% FAILED, more than 20.0% | "),
        ("0.1", 2, "MAILQ CRITICAL - 25.0% FAILED, more than 10.0% | "),
    ] {
        let seen = sandbox.mailq(&["stats", "--max-failed-ratio", limit]);
        assert_eq!((seen.code, seen.err.as_str()), (code, ""), "{seen}");
        assert!(seen.out.starts_with(words), "{seen}");
        assert_eq!(seen.out.matches("MAILQ").count(), 1, "{seen}");
    }
}

#[test]
fn an_id_that_nobody_could_read_is_told_and_the_mail_is_queued() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.mailq_command(&[&TO[..], &["--subject", "x"]].concat());
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    command.stdout(full);
    let seen = sandbox.run(command, b"");
    seen.assert_code(74);
    assert!(seen.err.contains("mail 1 is queued"), "{seen}");
    assert_eq!(count(&sandbox), 1);
}
