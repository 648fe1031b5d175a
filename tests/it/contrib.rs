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
        assert_eq!(seen.out.contains("refused"), program != "sqlite3", "{seen}");
    }
}
