//! Arguments that people met trouble with: values that look like options, keys that come twice, words that come close.

use crate::support::rows::Rows;
use crate::support::sandbox::Sandbox;

#[test]
fn a_key_that_stands_twice_in_params_is_refused() {
    let sandbox = Sandbox::new();
    let enqueue = |params: &str| {
        let args = ["enqueue", "--to", "a@example.com", "--template", "hello", "--params", params];
        sandbox.mailq(&args)
    };
    let seen = enqueue(r#"{"name":"Ada","name":"Bob"}"#);
    seen.assert_code(65);
    assert!(seen.err.contains("\"name\" is there twice"), "{seen}");
    // Big numbers come through as they were written, and an object inside may use the same key.
    enqueue(r#"{"name":12345678901234567890.10,"x":{"name":1}}"#).assert_code(0);
    let stored: String = Rows::of(&sandbox).one("SELECT parameters FROM email_messages");
    assert!(stored.contains("12345678901234567890.10"), "{stored}");
    enqueue("[]").assert_code(65);
}

#[test]
fn help_is_a_command_too_and_hints_fit() {
    let sandbox = Sandbox::new();
    let said = |args: &[&str], code| {
        let seen = sandbox.mailq(args);
        seen.assert_code(code);
        (seen.out, seen.err)
    };
    assert_eq!(said(&["help"], 0), said(&["--help"], 0));
    assert_eq!(said(&["help", "enqueue"], 0), said(&["enqueue", "--help"], 0));
    let (_, bare) = said(&["enqueue", "a@example.com"], 64);
    assert!(bare.contains("hint: recipients go with --to: --to 'a@example.com'"), "{bare}");
    for args in [&["enqueue", "a@example.com"][..], &["wait", "-z"], &["list", "x"]] {
        assert!(!said(args, 64).1.contains("begins with -"), "{args:?}");
    }
}

#[test]
fn an_address_may_begin_with_a_hyphen() {
    let sandbox = Sandbox::new();
    let seen = sandbox.mailq(&["enqueue", "--to", "-a@example.com", "--subject", "s"]);
    seen.assert_code(64);
    assert!(seen.err.contains("--to=-a@example.com"), "{seen}");
    for args in [
        ["--to=-a@example.com", "--from=-b@example.com", "--reply-to=-c@example.com"].as_slice(),
        &["--to=-a@example.com", "--from", "-b@example.com", "--reply-to", "-c@example.com"],
    ] {
        let all = [&["enqueue", "--subject", "s"], args].concat();
        sandbox.mailq(&all).assert_code(0);
    }
    sandbox.mailq(&["send-batch"]).assert_code(0);
    let mails = sandbox.mails();
    assert_eq!(mails.len(), 2);
    for line in
        ["To: -a@example.com\r\n", "From: -b@example.com\r\n", "Reply-To: -c@example.com\r\n"]
    {
        assert!(mails.iter().all(|mail| mail.contains(line)), "{mails:?}");
    }
}

#[test]
fn a_name_of_one_letter_is_not_said_to_be_another_one() {
    let sandbox = Sandbox::new();
    sandbox.template("letters", "{{m}}", "T", None);
    let args = ["enqueue", "--to", "a@example.com", "--template", "letters", "--param", "a=1"];
    let seen = sandbox.mailq(&args);
    seen.assert_code(65);
    assert!(seen.err.contains("`m` is missing") && !seen.err.contains("did you mean"), "{seen}");
}

#[test]
fn a_key_that_stands_twice_is_refused_wherever_it_was_typed() {
    let sandbox = Sandbox::new();
    let usual = ["enqueue", "--to", "a@example.com", "--template", "hello"];
    for (option, value) in [
        ("--params", r#"{"name":"Ada","x":[{"k":1,"k":2}]}"#),
        ("--param-json", r#"name={"k":1,"k":2}"#),
    ] {
        let seen = sandbox.mailq(&[&usual[..], &[option, value]].concat());
        seen.assert_code(65);
        assert!(seen.err.contains(option) && seen.err.contains("\"k\" is there twice"), "{seen}");
    }
    for (lines, what) in [
        (
            r#"{"to":"a@example.com","params":{"name":{"k":1,"k":2}}}"#,
            "stdin:1: the key \"k\" is there",
        ),
        (
            r#"{"to":"a@example.com","to":"b@example.com"}"#,
            "stdin:1: the key \"to\" is there twice",
        ),
        (
            "to,name,name\na@example.com,a,b\n",
            "stdin:1: the head line has the column \"name\" twice",
        ),
        (
            "to,params,name\na@example.com,\"{\"\"name\"\":1}\",b\n",
            "stdin:2: \"name\" is a column, and a key in params",
        ),
    ] {
        let seen = sandbox.mailq_reading(&["enqueue", "--template", "hello", "--bulk", "-"], lines);
        seen.assert_code(65);
        assert!(seen.err.contains(what), "{seen}");
    }
    assert!(!sandbox.database().exists());
}

#[test]
fn stdin_is_read_by_one_option() {
    let sandbox = Sandbox::new();
    let to = ["enqueue", "--to", "a@example.com"];
    for (args, what) in [
        (&["--subject", "s", "--params", "-", "--body", "-"][..], "--params - and --body - both"),
        (&["--template", "hello", "--bulk", "-", "--params", "-"], "--bulk - and --params - both"),
        (&["--subject", "s", "--bulk", "-", "--body", "-"], "--bulk - and --body - both"),
    ] {
        let seen = sandbox.mailq_reading(&[&to[..], args].concat(), r#"{"to":"a@example.com"}"#);
        seen.assert_code(64);
        assert!(seen.err.contains(what), "{seen}");
    }
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_text() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("p.json", "\u{feff}{\"name\":\"Ada\"}");
    let body = sandbox.write("body.txt", "\u{feff}hello");
    let to = ["enqueue", "--to", "a@example.com"];
    for args in [
        &["--template", "hello", "--params", &format!("@{}", file.display())][..],
        &["--template", "hello", "--params", "\u{feff}{\"name\":\"Ada\"}"],
        &["--subject", "s", "--body", &format!("@{}", body.display())],
    ] {
        sandbox.mailq(&[&to[..], args].concat()).assert_code(0);
    }
    sandbox.mailq(&["send-batch"]).assert_code(0);
    let mails = sandbox.mails();
    assert_eq!(mails.len(), 3);
    let ends = |words: &str| mails.iter().filter(|mail| mail.ends_with(words)).count();
    assert_eq!((ends("Dear Ada,\r\nwelcome.\r\n"), ends("\r\n\r\nhello\r\n")), (2, 1), "{mails:?}");
}

#[test]
fn a_day_without_a_time_is_told_so() {
    let sandbox = Sandbox::new();
    let args = ["enqueue", "--to", "a@example.com", "--subject", "s", "--at", "2026-12-24"];
    let seen = sandbox.mailq(&args);
    seen.assert_code(64);
    assert!(seen.err.contains("--at \"2026-12-24\": is a day without a time"), "{seen}");
    assert!(seen.err.contains("hint: write 2026-12-24T09:00:00+01:00"), "{seen}");
}

#[test]
fn the_system_is_quoted_without_its_numbers() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("a.txt", "a");
    let file = file.to_str().unwrap();
    let long = "n".repeat(300);
    let usual = ["enqueue", "--to", "a@example.com", "--subject", "s", "--attach"];
    let seen = sandbox.mailq(&[&usual[..], &[long.as_str()]].concat());
    seen.assert_code(66);
    assert!(seen.err.contains("file name too long"), "{seen}");
    sandbox.mailq(&[&usual[..], &[file]].concat()).assert_code(0);
    std::fs::remove_dir_all(sandbox.path("spool")).unwrap();
    sandbox.mailq(&["send-batch"]).assert_code(0);
    let told: String = Rows::of(&sandbox).one("SELECT error_message FROM email_messages");
    assert!(told.ends_with(": no such file or directory"), "{told}");
    std::fs::write(sandbox.path("out.txt"), "").unwrap();
    for args in [
        &["send-batch", "--config", "/proc/self/mem"][..],
        &["stats", "--output", "/no/such/file"],
        &["prune", "--archive", "/no/such/file"],
        &["enqueue", "--to", "a@example.com", "--subject", "s", "--db", "/no/such/dir/q.db"],
    ] {
        let seen = sandbox.mailq(args);
        assert!(seen.code != 0 && !seen.err.contains("os error"), "{seen}");
    }
}

#[test]
fn a_password_that_everybody_can_read_is_told_by_a_run_too() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    let password = sandbox.write("password", "secret");
    let smtp = "host = \"127.0.0.1\"\nport = 1\ntls = \"none\"\nusername = \"u\"";
    sandbox.configure(&format!("[smtp]\n{smtp}\npassword_file = \"{}\"\n", password.display()));
    sandbox.enqueue(&["--to", "a@example.com", "--subject", "s", "--in", "1d"]);
    for (mode, is_told) in [(0o644, true), (0o600, false)] {
        std::fs::set_permissions(&password, std::fs::Permissions::from_mode(mode)).unwrap();
        let seen = sandbox.mailq(&["send-batch"]);
        seen.assert_code(0);
        assert_eq!(
            seen.err.contains("everybody on this host can read the password file"),
            is_told,
            "{seen}"
        );
    }
}
