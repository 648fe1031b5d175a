//! What `mailq enqueue` refuses: each wrong value is named with a hint, and leaves nothing behind.

use crate::support::sandbox::{Sandbox, Seen};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

/// Runs `enqueue` for a mail from the template `hello`, with these options more.
fn hello(sandbox: &Sandbox, more: &[&str]) -> Seen {
    let usual = ["enqueue", "--to", "a@example.com", "--template", "hello", "--param", "name=Ada"];
    sandbox.mailq(&[&usual, more].concat())
}

/// Runs `enqueue` for a mail without a template, with these options more.
fn plain(sandbox: &Sandbox, more: &[&str]) -> Seen {
    sandbox.mailq(&[&["enqueue", "--to", "a@example.com", "--subject", "S"], more].concat())
}

/// The run was refused with `code`, named `what`, gave a hint, and stored nothing.
#[track_caller]
fn assert_refused(sandbox: &Sandbox, seen: &Seen, code: i32, what: &str) {
    seen.assert_code(code);
    assert!(seen.err.contains(what), "no {what:?}\n{seen}");
    assert!(seen.err.starts_with("mailq: ") && seen.err.contains("\nhint: "), "{seen}");
    assert_eq!(seen.out, "");
    assert!(!sandbox.database().exists(), "{seen}");
}

#[test]
fn a_mail_that_cannot_be_rendered_is_warned_of() {
    let sandbox = Sandbox::new();
    sandbox.template("goods", "Goods", "{{#each items}}{{name}}{{/each}}", None);
    let mail = ["enqueue", "--to", "a@example.com", "--template", "goods", "--param", "items=tea"];
    let seen = sandbox.mailq(&mail);
    assert_eq!((seen.code, seen.out.as_str()), (0, "1\n"), "{seen}");
    assert!(seen.err.contains("this mail would be FAILED `render`: "), "{seen}");
    sandbox.mailq(&[&mail[..], &["--strict"]].concat()).assert_code(65);
}

#[test]
fn wrong_usage_is_named_and_stores_nothing() {
    let sandbox = Sandbox::new();
    for (more, what) in [
        (&["--param", "=x"][..], "\"=x\" has no key"),
        (&["--param", "novalue"], "\"novalue\" has no ="),
        (&["--param", "name=again"], "\"name\" is given twice"),
        (&["--param-json", "name=1"], "\"name\" is given twice"),
        (&["--queue", "a b"], "--queue \"a b\""),
        (&["--queue", ""], "--queue \"\""),
        (&["--key", ""], "--key"),
        (&["--max-attempts", "0"], "'0' for '--max-attempts <N>'"),
        (&["--max-attempts", "many"], "'many' for '--max-attempts <N>'"),
        (&["--header", "no colon"], "--header \"no colon\""),
        (&["--header", "X-A: 1", "--header", "x-a: 2"], "x-a is given twice"),
        (&["--inline", "x"], "--inline \"x\""),
        (&["--inline", "a b=x"], "--inline \"a b=x\""),
        (&["--inline", "a=x", "--inline", "a=y"], "--inline a is given twice"),
        (&["--in", "1h", "--at", "+1h"], "--at <TIME>"),
        (&["--subject", "S"], "--subject <TEXT>"),
        (&["--attahc", "x"], "--attahc"),
        (&["--at", "tomorrow"], "--at \"tomorrow\""),
        (&["--at", "1800000000"], "--at \"1800000000\""),
    ] {
        assert_refused(&sandbox, &hello(&sandbox, more), 64, what);
    }
    let none = sandbox.mailq(&["enqueue", "--subject", "S"]);
    assert_refused(&sandbox, &none, 64, "no recipient");
    let neither = sandbox.mailq(&["enqueue", "--to", "a@example.com"]);
    assert_refused(&sandbox, &neither, 64, "--template");
    let mixed = plain(&sandbox, &["--param", "a=b"]);
    assert_refused(&sandbox, &mixed, 64, "--subject");
}

#[test]
fn wrong_data_is_named_and_stores_nothing() {
    let sandbox = Sandbox::new();
    sandbox.template("broken", "{{#if}", "x", None);
    sandbox.write("latin1", b"caf\xe9");
    for (more, what) in [
        (&["--to", "nonsense"][..], "--to: address \"nonsense\""),
        (&["--to", ""], "--to is empty"),
        (&["--cc", "a@example.com, b@"], "--cc: "),
        (&["--bcc", "a@b@c"], "--bcc: "),
        (&["--from", "a@example.com, b@example.com"], "--from takes one address"),
        (&["--reply-to", "x"], "--reply-to: "),
        (&["--param-json", "n={"], "--param-json n"),
        (&["--header", "Bcc: x@example.com"], "--header: "),
        (&["--list-unsubscribe", "http://example.com/u"], "--list-unsubscribe \"http:"),
        (&["--list-unsubscribe", "https://example.com/>,<mailto:x@y>"], "is no https address"),
        (&["--list-unsubscribe", "https://é.example/"], "is no https address"),
        (&["--header", "X-A: a\r\nBcc: b@example.com"], "--header: "),
    ] {
        assert_refused(&sandbox, &hello(&sandbox, more), 65, what);
    }
    let to = ["enqueue", "--to", "a@example.com"];
    for (more, what) in [
        (&["--template", "helo"][..], "no template `helo`"),
        (&["--template", "hello"], "the parameter `name` is missing"),
        (&["--template", "hello", "--param", "nmae=x"], "the parameter `name` is missing"),
        (&["--template", "broken"], "broken/subject.hbs"),
        (&["--template", "../hello"], "../hello"),
        (&["--template", "hello", "--params", "[1]"], "--params is no JSON object"),
        (&["--template", "hello", "--params", "{"], "--params is not JSON"),
        (&["--template", "hello", "--params", "-"], "--params is not JSON"),
        (&["--subject", "S", "--body", "@latin1"], "is not UTF-8 at byte 3"),
    ] {
        assert_refused(&sandbox, &sandbox.mailq(&[&to, more].concat()), 65, what);
    }
    let close = sandbox.mailq(&["enqueue", "--to", "a@example.com", "--template", "helo"]);
    assert!(close.err.contains("did you mean `hello`?"), "{close}");
}

#[test]
fn what_is_not_there_is_named_and_stores_nothing() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("folder")).unwrap();
    sandbox.other("mkfifo", &["pipe"], "").assert_code(0);
    for (more, what) in [
        (&["--attach", "no.pdf"][..], "\"no.pdf\""),
        (&["--attach", "folder"], "\"folder\": it is a directory"),
        (&["--attach", "pipe"], "\"pipe\": it is no regular file"),
        (&["--attach", "/dev/null"], "\"/dev/null\": it is no regular file"),
        (&["--inline", "x=no.png"], "\"no.png\""),
        (&["--params", "@no.json"], "--params @no.json"),
        (&["--params", "@folder"], "--params @folder: is a directory"),
    ] {
        assert_refused(&sandbox, &hello(&sandbox, more), 66, what);
    }
    assert_eq!(fs::read_dir(sandbox.path("spool")).unwrap().count(), 0);
}

#[test]
fn durations_that_trap_are_refused_for_every_option() {
    let sandbox = Sandbox::new();
    for option in ["--in", "--expires-in"] {
        for value in crate::TRAPS {
            let seen = hello(&sandbox, &[option, value]);
            assert_refused(&sandbox, &seen, 64, option);
        }
    }
    assert_refused(&sandbox, &hello(&sandbox, &["--expires-in", "0s"]), 64, "--expires-in");
    for value in crate::TRAPS {
        assert_refused(&sandbox, &hello(&sandbox, &["--at", &format!("+{value}")]), 64, "--at");
    }
    hello(&sandbox, &["--in", "0s"]).assert_code(0);
}

#[test]
fn text_that_is_not_utf8_is_refused_and_paths_are_taken() {
    let sandbox = Sandbox::new();
    let odd = |text: &[u8]| OsStr::from_bytes(text).to_owned();
    let usual = ["enqueue", "--template", "hello", "--to", "a@example.com", "--param", "name=x"];
    for (option, value) in [
        ("--param", &b"n=\xff"[..]),
        ("--param-json", b"n=\xff"),
        ("--to", b"\xff@x.example"),
        ("--cc", b"\xff"),
        ("--bcc", b"\xff"),
        ("--from", b"\xff"),
        ("--reply-to", b"\xff"),
        ("--key", b"\xff"),
        ("--queue", b"\xff"),
        ("--header", b"X: \xff"),
        ("--at", b"\xff"),
        ("--in", b"\xff"),
        ("--expires-in", b"\xff"),
        ("--params", b"\xff"),
        ("--locale", b"\xff"),
    ] {
        let mut command = sandbox.mailq_command(&usual);
        command.arg(option).arg(odd(value)).env("LC_ALL", "C");
        let seen = sandbox.run(command, b"");
        assert_refused(&sandbox, &seen, 65, option);
    }
    let file = odd(b"f\xff.txt");
    fs::write(sandbox.path(&file), "x").unwrap();
    let mut command = sandbox.mailq_command(&usual);
    command.arg("--attach").arg(&file).arg("--db").arg(odd(b"dir q\xff.db"));
    sandbox.run(command, b"").assert_code(0);
    assert!(sandbox.path(odd(b"dir q\xff.db")).exists());
    let mut command = sandbox.mailq_command(&usual);
    command.arg("--attach").arg(&file);
    sandbox.run(command, b"").assert_code(0);
    sandbox.mailq(&["send-batch"]).assert_code(0);
    let mail = &sandbox.mails()[0];
    assert!(mail.contains("filename") && mail.is_ascii(), "{mail}");
}
