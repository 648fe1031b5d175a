//! What a new user gets wrong, and what `mailq check` and a run say of it; and that a check ends an outage.

use crate::support::rows::Rows;
use crate::support::sandbox::{Sandbox, Seen};
use crate::support::smtp_sink::Script;
use std::fs;

fn due(sandbox: &Sandbox) -> i64 {
    sandbox.enqueue(&["--to", "a@example.com", "--subject", "S"])[0]
}

fn smtp(port: u16, more: &str) -> String {
    format!("[smtp]\nhost = \"127.0.0.1\"\nport = {port}\ntls = \"none\"\n{more}")
}

fn assert_problem(seen: &Seen, line: &str, hint: &str) {
    let mut lines =
        seen.out.lines().skip_while(|one| !one.starts_with(&format!("PROBLEM  {line}")));
    assert!(lines.next().is_some(), "{line}\n{seen}");
    let told = lines.next().unwrap_or_default();
    assert!(told.starts_with("         hint: ") && told.contains(hint), "{hint}\n{seen}");
}

#[test]
fn a_user_name_without_a_password_sends_nothing() {
    let sink = Script::new().offers(&["AUTH PLAIN"]).start();
    let sandbox = Sandbox::new();
    let id = due(&sandbox);
    sandbox.write("credentials/smtp-password", "\n");
    let credentials = sandbox.path("credentials");
    let with = |args: &[&str], has_credentials: bool| {
        let mut command = sandbox.mailq_command(args);
        if has_credentials {
            command.env("CREDENTIALS_DIRECTORY", &credentials);
        }
        sandbox.run(command, b"")
    };
    sandbox.configure(&smtp(sink.port, "username = \"u\"\n"));
    for has_credentials in [false, true] {
        for offline in [&["check"][..], &["check", "--offline"]] {
            let seen = with(offline, has_credentials);
            assert_problem(
                seen.assert_code(78),
                "transport: no password for smtp.username = \"u\"",
                "smtp.password_file, smtp.password_command, the credential smtp-password of systemd, and $DIR/smtp-password",
            );
        }
        let seen = with(&["send-batch"], has_credentials);
        assert!(
            seen.assert_code(78).err.contains("hint: it is looked for in smtp.password_file"),
            "{seen}"
        );
    }
    assert_eq!(sink.connections(), 0);
    let rows = Rows::of(&sandbox);
    assert_eq!(rows.of_mail::<String>(id, "status"), "PENDING");
    assert_eq!(rows.one::<i64>("SELECT count(*) FROM mailq_breaker"), 0);
    // The unit hands an empty credential over where there is no password, which is nobody's fault without a user name.
    sandbox.configure(&smtp(sink.port, ""));
    with(&["check"], true).assert_code(0);
    with(&["send-batch"], true).assert_code(0);
    assert_eq!(rows.of_mail::<String>(id, "status"), "SENT");
}

#[test]
fn check_says_which_templates_are_built_in_and_misses_a_folder_that_was_named() {
    let sandbox = Sandbox::new();
    due(&sandbox);
    let seen = sandbox.mailq(&["check"]);
    assert!(seen.assert_code(0).out.contains("template hello: parses\n"), "{seen}");
    assert!(seen.out.contains("template welcome: parses (built in)\n"), "{seen}");
    fs::remove_dir_all(sandbox.path("templates")).unwrap();
    let seen = sandbox.mailq(&["check"]);
    assert_problem(seen.assert_code(78), "templates: templates = \"$DIR/templates\": ", "built in");
    sandbox.mailq(&["render", "--template", "welcome", "--needs"]).assert_code(0);
}

#[test]
fn check_agrees_with_a_run_about_commands_and_folders() {
    let sandbox = Sandbox::new();
    due(&sandbox);
    fs::remove_dir_all(sandbox.path("out")).unwrap();
    let seen = sandbox.mailq(&["check"]);
    assert!(
        seen.assert_code(0).out.contains("files in $DIR/out, which the first mail makes"),
        "{seen}"
    );
    sandbox.mailq(&["send-batch"]).assert_code(0);
    assert_eq!(sandbox.mails().len(), 1);
    for (command, code) in [("[\"sh\", \"-c\", \"true\"]", 0), ("[\"/no/such/program\"]", 78)] {
        sandbox.configure(&format!("on_failed = {command}\n"));
        let seen = sandbox.mailq(&["check", "--offline"]);
        seen.assert_code(code);
        if code != 0 {
            assert_problem(&seen, "on_failed: there is no program /no/such/program", "on_failed");
        }
    }
}

#[test]
fn each_trouble_with_a_smarthost_names_the_key_to_look_at() {
    let sink =
        Script::new().offers(&["AUTH PLAIN"]).on("AUTH", &["535 5.7.8 no such login"]).start();
    let sandbox = Sandbox::new();
    due(&sandbox);
    sandbox.write("secret", "wrong");
    let login = "username = \"u\"\npassword_file = \"secret\"\n";
    sandbox.configure(&smtp(sink.port, login));
    let seen = sandbox.mailq(&["check"]);
    assert_problem(
        seen.assert_code(75),
        "transport: 127.0.0.1:",
        "smtp.username, and at the password: smtp.password_file",
    );
    sandbox.configure("[smtp]\nhost = \"no.such.invalid\"\n");
    let seen = sandbox.mailq(&["check"]);
    assert_problem(seen.assert_code(75), "transport: no.such.invalid:25 ", "smtp.host");
    for (host, hint) in [("mail.example.com:587", "smtp.port = 587"), ("", "mail.example.com")] {
        sandbox.configure(&format!("[smtp]\nhost = \"{host}\"\n"));
        for verb in ["check", "send-batch"] {
            let seen = sandbox.mailq(&[verb]);
            seen.assert_code(78);
            assert!(seen.err.contains(&format!("smtp.host = {host:?} ")), "{seen}");
            assert!(seen.err.contains("hint: ") && seen.err.contains(hint), "{seen}");
        }
    }
}

#[test]
fn a_check_that_logs_in_ends_the_outage() {
    let sink = Script::new()
        .offers(&["AUTH PLAIN"])
        .on("AUTH", &["535 5.7.8 no such login", "454 4.7.0 later", "235 welcome"])
        .start();
    let sandbox = Sandbox::new();
    let id = due(&sandbox).to_string();
    sandbox.write("secret", "hunter2");
    sandbox.configure(&smtp(sink.port, "username = \"u\"\npassword_file = \"secret\"\n"));
    let rows = Rows::of(&sandbox);
    rows.run(
        "INSERT INTO mailq_breaker (scope, reason, since, until, tripped_at, outages) \
              VALUES ('old.example:25', 'another road', 0, 9000000000000, 0, 1)",
    );
    sandbox.mailq(&["send-batch"]).assert_code(75);
    let scope = format!("127.0.0.1:{}", sink.port);
    let alone = format!("due, but smarthost {scope} is left alone until ");
    let seen = sandbox.mailq(&["retry", &id]);
    assert!(seen.assert_code(0).out.starts_with(&format!("mail {id}: {alone}")), "{seen}");
    assert!(seen.out.ends_with(": run mailq check\n"), "{seen}");
    let seen = sandbox.mailq(&["show", &id]);
    assert!(seen.out.contains("535") && !seen.out.contains("another road"), "{seen}");
    // A check that does not get in changes nothing.
    sandbox.mailq(&["check"]).assert_code(75);
    sandbox.mailq(&["send-batch"]).assert_code(75);
    assert_eq!(sink.count("AUTH"), 2);
    let seen = sandbox.mailq(&["check"]);
    assert!(
        seen.assert_code(0).out.contains(&format!("{scope} answers; it was left alone until ")),
        "{seen}"
    );
    assert_eq!(rows.all::<String>("SELECT scope FROM mailq_breaker", []), ["old.example:25"]);
    let seen = sandbox.mailq(&["retry", &id]);
    assert_eq!(seen.assert_code(0).out, format!("mail {id}: due now\n"));
    sandbox.mailq(&["send-batch"]).assert_code(0);
    assert_eq!(rows.one::<String>("SELECT status FROM email_messages"), "SENT");
}

#[test]
fn a_damaged_database_is_told() {
    let sandbox = Sandbox::new();
    for _ in 0..50 {
        due(&sandbox);
    }
    let rows = Rows::of(&sandbox);
    rows.run("PRAGMA wal_checkpoint(TRUNCATE)");
    let root: i64 = rows
        .one("SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name = 'email_messages'");
    let page: i64 = rows.one("PRAGMA page_size");
    drop(rows);
    sandbox.mailq(&["check", "--offline"]).assert_code(0);
    let mut bytes = fs::read(sandbox.database()).unwrap();
    let at = usize::try_from((root - 1) * page).unwrap();
    // Where the cells of the page lie.
    bytes[at + 12..at + 40].fill(0xff);
    fs::write(sandbox.database(), bytes).unwrap();
    let seen = sandbox.mailq(&["check", "--offline"]);
    let line = "database: database $DIR/mailq.db is damaged: ";
    assert_problem(seen.assert_code(74), line, "restore a backup");
    assert!(!seen.out.contains("ok       database"), "{seen}");
}
