//! The one integration binary: everything that is tried from outside, on the built executable.
//!
//! One file a command or a promise. `support` holds the parts that tests stand on: a sandbox for the process, a view
//! on the rows, a server to talk to. No test looks at another one's directory, environment or port.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic, in its helpers too")]

mod support {
    pub mod rows;
    pub mod sandbox;
    #[expect(dead_code, reason = "the unit tests of the SMTP road use the rest of it")]
    pub mod smtp_sink;
}

mod bulk;
mod cases_cli;
mod cases_storage;
mod cases_wire;
mod check;
mod command_line;
mod concurrency;
mod config;
mod contrib;
mod crash;
mod enqueue;
mod enqueue_refusals;
mod exit_codes;
mod help;
mod hold_wait;
mod hook;
mod keys;
mod layers;
mod list_show;
mod poison;
mod prune;
mod queue_listing;
mod queues;
mod rates;
mod readme;
mod reap;
mod render_check;
mod retry_cancel;
mod schema;
mod send_batch;
mod stats;
mod stopped;
mod story;
mod suppress;
mod thresholds;
mod work;

use std::fs;
use std::path::Path;

/// Durations that no option may take (BC-081): too long, negative, without a unit, a month for a minute, other digits.
const TRAPS: [&str; 12] = [
    "18446744073709551615s",
    "18446744073709551615s 1000000000ns",
    "1000000 years",
    "300y",
    "-5m",
    "5",
    "",
    "1.5h",
    "1M",
    "５m",
    "five minutes",
    "s",
];

/// A file that no `mod` line names compiles nowhere, so its tests would never run and nobody would see it.
#[test]
fn no_file_is_forgotten() {
    let forgotten =
        forgotten(include_str!("main.rs"), &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it"));
    assert_eq!(forgotten, Vec::<String>::new());
}

#[test]
fn a_forgotten_file_is_seen() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("support")).unwrap();
    for name in ["main.rs", "named.rs", "lost.rs", "support/lost_too.rs"] {
        fs::write(dir.path().join(name), "").unwrap();
    }
    assert_eq!(forgotten("mod named;\n// mod lost;\n", dir.path()), ["lost", "lost_too"]);
}

/// The modules below `dir`, two floors deep, that no line of `main` declares.
fn forgotten(main: &str, dir: &Path) -> Vec<String> {
    let declared = |name: &str| {
        main.lines()
            .map(str::trim)
            .any(|line| line == format!("mod {name};") || line == format!("pub mod {name};"))
    };
    let mut names: Vec<String> = [dir.to_owned(), dir.join("support")]
        .iter()
        .flat_map(|dir| fs::read_dir(dir).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "rs"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .filter(|name| name != "main" && !declared(name))
        .collect();
    names.sort();
    names
}
