//! The configuration from outside: flags over environment over file, unknown keys with the nearest one.

use crate::support::sandbox::Sandbox;
use std::path::Path;

/// The database that `mailq check --offline` looks at with this environment and these flags.
fn database(sandbox: &Sandbox, environment: &[(&str, &Path)], flags: &[&str]) -> String {
    let mut command = sandbox.mailq_command(&["check", "--offline", "--json"]);
    command.args(flags).envs(environment.iter().copied());
    let seen = sandbox.run(command, b"");
    let line =
        seen.out.lines().find(|line| line.contains("\"check\":\"database\"")).expect(&seen.err);
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    let detail = line["detail"].as_str().unwrap();
    detail.trim_start_matches("no database at ").rsplit('/').next().unwrap().to_owned()
}

#[test]
fn flags_win_over_the_environment_which_wins_over_the_file() {
    let sandbox = Sandbox::new();
    let (db, key) = (sandbox.path("env.db"), sandbox.path("key.db"));
    assert_eq!(database(&sandbox, &[], &[]), "mailq.db");
    assert_eq!(database(&sandbox, &[("MAILQ_DATABASE", &key)], &[]), "key.db");
    assert_eq!(database(&sandbox, &[("MAILQ_DATABASE", &key), ("MAILQ_DB", &db)], &[]), "env.db");
    assert_eq!(database(&sandbox, &[("MAILQ_DB", &db)], &["--db", "flag.db"]), "flag.db");
    assert_eq!(database(&sandbox, &[("MAILQ_DB", Path::new(""))], &[]), "mailq.db");
    let other = sandbox.write("other.toml", "database = \"of_other.db\"\n");
    assert_eq!(database(&sandbox, &[("MAILQ_CONFIG", &other)], &[]), "of_other.db");
    assert_eq!(database(&sandbox, &[], &["--config", "other.toml"]), "of_other.db");
}

#[test]
fn nothing_falls_back_to_another_database() {
    let sandbox = Sandbox::new();
    sandbox.enqueue(&["--to", "a@example.com", "--subject", "S"]);
    let seen = sandbox.mailq(&["--db", "absent.db", "stats"]);
    seen.assert_code(66);
    assert!(seen.err.contains("absent.db") && !sandbox.path("absent.db").exists(), "{seen}");
}

#[test]
fn every_key_can_come_from_the_environment() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.mailq_command(&["check", "--offline", "--json"]);
    command
        .env("MAILQ_TRANSPORT__KIND", "smtp")
        .env("MAILQ_SMTP__HOST", "mail.example")
        .env("MAILQ_SMTP__PORT", "2525")
        .env("MAILQ_QUEUES__BULK__SMTP__HOST", "bulk.example");
    let seen = sandbox.run(command, b"");
    assert!(
        seen.out.contains("mail.example:2525") && seen.out.contains("bulk.example:2525"),
        "{seen}"
    );
}

#[test]
fn unknown_keys_name_the_nearest_and_no_value() {
    let sandbox = Sandbox::new();
    for (text, place, nearest) in [
        (
            "[smtp]\npasword_file = \"hunter2\"\n",
            "config.toml:6: unknown key \"smtp.pasword_file\"",
            "smtp.password_file",
        ),
        (
            "[smtp]\npassword = \"hunter2\"\n",
            "config.toml:6: unknown key \"smtp.password\"",
            "smtp.password_",
        ),
        (
            "[queues.bulk]\nrat = \"hunter2\"\n",
            "unknown key \"queues.bulk.rat\"",
            "queues.bulk.rate",
        ),
        ("tempaltes = \"hunter2\"\n", "unknown key \"tempaltes\"", "templates"),
    ] {
        sandbox.configure(text);
        let seen = sandbox.mailq(&["stats"]);
        seen.assert_code(78);
        assert!(seen.err.contains(place), "{place}\n{seen}");
        assert!(
            seen.err.contains(&format!("hint: the nearest known key is \"{nearest}")),
            "{seen}"
        );
        assert!(!seen.err.contains("hunter2"), "{seen}");
    }
    sandbox.configure("");
    for (name, value) in [("MAILQ_SMTP__HSOT", "hunter2"), ("MAILQ_TEMPALTES", "hunter2")] {
        let mut command = sandbox.mailq_command(&["stats"]);
        command.env(name, value);
        let seen = sandbox.run(command, b"");
        seen.assert_code(78);
        assert!(
            seen.err.contains(&format!("${name}: unknown key")) && !seen.err.contains("hunter2"),
            "{seen}"
        );
    }
}

#[test]
fn other_peoples_variables_and_a_bare_machine_are_no_mistake() {
    let sandbox = Sandbox::new();
    let mut command =
        sandbox.mailq_command(&["enqueue", "--to", "a@example.com", "--subject", "S"]);
    command
        .env("MAILQ_BIN", "x")
        .env_remove("HOME")
        .env("TMPDIR", "/nonexistent")
        .env("TERM", "dumb")
        .env("MAILQ_DB", sandbox.path("dir with space.db"));
    sandbox.run(command, b"").assert_code(0);
    assert!(sandbox.path("dir with space.db").exists());
}

#[test]
fn stderr_of_a_service_carries_priorities() {
    let sandbox = Sandbox::new();
    let script = "JOURNAL_STREAM=$(stat -L -c %d:%i /dev/stderr) \"$1\" --db no.db stats";
    let seen = sandbox.other("sh", &["-c", script, "sh", env!("CARGO_BIN_EXE_mailq")], "");
    assert!(seen.err.starts_with("<3>mailq: no database at "), "{seen}");
}

#[test]
fn quiet_and_verbose_turn_the_volume() {
    let sandbox = Sandbox::new();
    let enqueue = [
        "enqueue",
        "--to",
        "a@example.com",
        "--template",
        "hello",
        "--param",
        "name=x",
        "--param",
        "y=z",
    ];
    assert!(sandbox.mailq(&enqueue).err.contains("warning: "));
    assert_eq!(sandbox.mailq(&[&enqueue[..], &["-q"]].concat()).assert_code(0).err, "");
    assert!(sandbox.mailq(&[&["--quiet"], &enqueue[..4]].concat()).err.contains("--template"));
    let wrong = sandbox.mailq(&["-q", "show", "77"]);
    assert!(wrong.err.contains("no database") || wrong.err.contains("no mail 77"), "{wrong}");
}

#[test]
fn the_header_of_the_token_is_none_that_mailq_writes() {
    let sandbox = Sandbox::new();
    for (name, code) in [("Bcc", 78), ("X-Key: a", 78), ("Idempotency-Key", 0), ("", 0)] {
        for section in ["smtp", "queues.bulk.smtp"] {
            sandbox.configure(&format!("[{section}]\nidempotency_header = \"{name}\"\n"));
            let seen = sandbox.mailq(&["enqueue", "--to", "a@example.com", "--subject", "s"]);
            seen.assert_code(code);
            assert!(
                code == 0 || seen.err.contains(&format!("idempotency_header = {name:?}: ")),
                "{seen}"
            );
        }
    }
}
