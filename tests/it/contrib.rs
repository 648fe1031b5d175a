//! What is in contrib works: the examples enqueue, and its README leaves nothing out.

use crate::support::rows::Rows;
use crate::support::sandbox::{Sandbox, skipped};
use std::fs;
use std::path::{Path, PathBuf};

const SCHEMA: &str = include_str!("../../schema.sql");

fn contrib() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("contrib")
}

#[test]
fn everything_in_contrib_has_a_line() {
    for folder in [contrib(), contrib().join("examples")] {
        let text = fs::read_to_string(folder.join("README.md")).unwrap();
        for entry in fs::read_dir(&folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let told = text.contains(&format!("[{name}")) || text.contains(&format!("({name})"));
            assert!(told || name == "README.md", "{name} in {}", folder.display());
        }
    }
}

#[test]
fn the_examples_enqueue_with_their_order_or_not_at_all() {
    // Program, its arguments before the file, a call that tells whether it can run the example at all.
    let examples: [(&str, &[&str], &str, &[&str]); 4] = [
        ("python3", &[], "order.py", &["-c", "import sqlite3"]),
        ("php", &[], "order.php", &["-r", "exit((int)!extension_loaded('pdo_sqlite'));"]),
        ("node", &[], "order.mjs", &["-e", "require('node:sqlite')"]),
        ("sqlite3", &["app.db", "-cmd"], "order.sql", &["--version"]),
    ];
    for (program, before, name, probe) in examples {
        let sandbox = Sandbox::new();
        let file = contrib().join("examples").join(name);
        let file = file.to_str().unwrap();
        let there = sandbox.command(program).args(probe).output();
        if !there.is_ok_and(|output| output.status.success()) {
            skipped(&format!("{program} cannot run {name} here"));
            continue;
        }
        let rows = Rows::open(&sandbox.path("app.db"));
        rows.run(SCHEMA);
        let read = format!(".read {file}");
        let argument = if program == "sqlite3" { read.as_str() } else { file };
        let args: Vec<&str> = before.iter().copied().chain([argument]).collect();
        let seen = sandbox.other(program, &args, "");
        assert_eq!(seen.code, 0, "{name}: {seen}");
        assert_eq!(rows.all::<i64>("SELECT number FROM orders", []), [17], "{name}: {seen}");
        let keys: Vec<String> = rows.all("SELECT idempotency_key FROM email_messages", []);
        assert_eq!(keys, ["order-17"], "{name}: {seen}");
        if program == "sqlite3" {
            // A mail that is refused takes its order with it.
            rows.run("DELETE FROM orders; DELETE FROM mailq_tally; DELETE FROM email_messages");
            rows.run("CREATE TRIGGER no BEFORE INSERT ON email_messages BEGIN SELECT raise(ABORT, 'no'); END");
            let seen = sandbox.other(program, &args, "");
            assert_ne!(seen.code, 0, "{seen}");
            assert!(rows.all::<i64>("SELECT number FROM orders", []).is_empty(), "{seen}");
        }
        assert_eq!(seen.out.contains("refused"), program != "sqlite3", "{seen}");
    }
}

#[test]
fn the_shop_sells_with_its_mails_or_not_at_all() {
    let sandbox = Sandbox::new();
    let there = sandbox.command("python3").args(["-c", "import sqlite3"]).output();
    if !there.is_ok_and(|output| output.status.success()) {
        return skipped("python3 cannot run the shop here");
    }
    let script = contrib().join("examples/shop/run.sh");
    let args = [script.to_str().unwrap(), env!("CARGO_BIN_EXE_mailq")];
    let seen = sandbox.other("sh", &args, "");
    assert!(seen.code == 0 && seen.out.ends_with("two orders, four mails\n"), "{seen}");
}

#[test]
fn recurring_mail_that_runs_twice_is_stored_once() {
    let sandbox = Sandbox::new();
    let schedules = contrib().join("examples/schedules");
    let reminder = fs::read_to_string(schedules.join("templates/reminder/text.hbs")).unwrap();
    sandbox.template("reminder", "Reminder: {{what}}", &reminder, None);
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
    for folder in ["newsletter", "_partials"] {
        std::os::unix::fs::symlink(shipped.join(folder), sandbox.path("templates").join(folder))
            .unwrap();
    }
    sandbox.write(
        "readers.csv",
        "to,name,unsubscribe_url\nada@example.com,Ada,https://example.com/u/1\nbob@example.com,Bob,https://example.com/u/2\n",
    );
    sandbox.write("issue.json", r#"{"title":"News","articles":[{"title":"One","text":"Text"}]}"#);
    sandbox.write(
        "dates.csv",
        "key,at,to,name,what\nv-1,2099-12-24 09:00 Europe/Berlin,ada@example.com,Ada,\"dentist, 2\"\n",
    );
    fs::create_dir(sandbox.path("bin")).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_mailq"), sandbox.path("bin/mailq")).unwrap();
    sandbox.enqueue(&["--to", "first@example.com", "--subject", "S"]);
    for _ in 0..2 {
        for call in [
            "weekly-newsletter.sh readers.csv issue.json",
            "reminder.sh dates.csv",
            "daily-summary.sh ops@example.com",
        ] {
            let script = format!(
                "PATH=\"{}:$PATH\" exec sh {}/{call}",
                sandbox.path("bin").display(),
                schedules.display()
            );
            let seen = sandbox.other("sh", &["-c", &script], "");
            assert_eq!((seen.code, seen.out.as_str()), (0, ""), "{call}: {seen}");
        }
    }
    let rows = Rows::of(&sandbox);
    let keys: Vec<String> =
        rows.all("SELECT idempotency_key FROM email_messages WHERE id > 1 ORDER BY id", []);
    assert_eq!(keys.len(), 4, "{keys:?}");
    assert!(
        keys[0].starts_with("newsletter-") && keys[0].ends_with("-ada@example.com"),
        "{keys:?}"
    );
    assert_eq!(keys[2..], ["v-1 2099-12-24 09:00 Europe/Berlin", "daily-summary"]);
    assert_eq!(rows.of_mail::<i64>(4, "next_attempt_at"), 4_101_782_400_000);
    // The appointment moves: the reminder goes at the new time, and not at the old one.
    let list = fs::read_to_string(sandbox.path("dates.csv")).unwrap().replace("12-24", "12-25");
    sandbox.write("dates.csv", &list);
    let script = format!(
        "PATH=\"{}:$PATH\" exec sh {}/reminder.sh dates.csv",
        sandbox.path("bin").display(),
        schedules.display()
    );
    let seen = sandbox.other("sh", &["-c", &script], "");
    assert_eq!((seen.code, seen.out.as_str()), (0, ""), "{seen}");
    assert_eq!(rows.of_mail::<String>(4, "failure"), "cancelled");
    assert_eq!(rows.of_mail::<i64>(6, "next_attempt_at"), 4_101_868_800_000);
}
