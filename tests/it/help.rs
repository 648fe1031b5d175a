//! Help: every option of the contract is told, lines fit a terminal, and examples can be parsed.

use crate::support::sandbox::Sandbox;

const VERBS: [&str; 15] = [
    "enqueue",
    "send-batch",
    "reap",
    "prune",
    "stats",
    "list",
    "show",
    "retry",
    "cancel",
    "hold",
    "release",
    "wait",
    "suppress",
    "render",
    "check",
];

#[test]
fn every_option_of_the_contract_is_told() {
    let sandbox = Sandbox::new();
    for (verb, options) in [
        (
            "enqueue",
            "--to --cc --bcc --from --reply-to --template --param --param-json --params --subject --body --html --attach \
             --inline --header --queue --at --in --expires-in --key --max-attempts --strict --dry-run",
        ),
        ("send-batch", "--queue --limit --batch-size --concurrency --time-limit --dry-run"),
        ("reap", "--older-than --dry-run"),
        ("prune", "--older-than --status --batch-size --pause --archive --dry-run"),
        (
            "stats",
            "--since --queue --json --prometheus --html --output --max-pending-age --max-failed-ratio --max-silence",
        ),
        (
            "list",
            "--status --queue --failure --to --template --key --group --since --until --sort --limit --ids --histogram",
        ),
        ("show", "--rendered --raw"),
        ("hold", "--reason"),
        ("wait", "--timeout"),
        ("render", "--mail --output --needs"),
        ("retry", "--yes --status --queue --failure --to --template --key --group --since --until"),
        ("cancel", "--yes --status --queue --failure --to --since"),
        ("check", "--offline"),
    ] {
        let seen = sandbox.mailq(&[verb, "--help"]);
        let words: Vec<&str> = seen.assert_code(0).out.split_whitespace().collect();
        for option in options.split_whitespace().chain(["--config", "--db", "--json", "-v,", "-q,"])
        {
            assert!(words.contains(&option), "{verb} {option}\n{seen}");
        }
    }
}

#[test]
fn help_fits_a_terminal_and_goes_to_stdout() {
    let sandbox = Sandbox::new();
    for verb in VERBS.iter().copied().chain([""]) {
        let args = [verb, "--help"];
        let seen = sandbox.mailq(if verb.is_empty() { &args[1..] } else { &args });
        seen.assert_code(0);
        assert_eq!(seen.err, "");
        for line in seen.out.lines() {
            assert!(line.chars().count() <= 100, "{verb:?}: {line}");
        }
    }
}

#[test]
fn the_exit_codes_are_told() {
    let sandbox = Sandbox::new();
    let help = sandbox.mailq(&["--help"]).out;
    let (_, table) = help.split_once("Exit codes:\n").unwrap();
    let codes: Vec<i32> =
        table.lines().map_while(|line| line.split_whitespace().next()?.parse().ok()).collect();
    assert_eq!(codes, [0, 64, 65, 66, 70, 73, 74, 75, 77, 78]);
    for verb in VERBS {
        assert!(help.lines().any(|line| line.trim_start().starts_with(verb)), "{verb}\n{help}");
    }
}

/// The examples below `Examples:`, those that go over two lines put together.
fn examples(help: &str) -> Vec<String> {
    let (_, examples) = help.split_once("Examples:\n").unwrap_or_default();
    let joined = examples.replace("\\\n", " ");
    joined
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("mailq "))
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_examples_are_no_wrong_usage() {
    let sandbox = Sandbox::new();
    sandbox.write("order.json", "{}");
    sandbox.write("backup.log", "log");
    let binary = env!("CARGO_BIN_EXE_mailq");
    for verb in VERBS {
        let help = sandbox.mailq(&[verb, "--help"]).out;
        let examples = examples(&help);
        assert!(!examples.is_empty(), "{verb}");
        for example in examples {
            let seen = sandbox.other(
                "sh",
                &["-c", &format!("mailq() {{ '{binary}' \"$@\"; }}; {example}")],
                "",
            );
            assert_ne!(seen.code, 64, "{example}\n{seen}");
            assert!(!seen.err.contains("panicked"), "{example}\n{seen}");
        }
    }
}

#[test]
fn the_version_is_that_of_the_package() {
    let sandbox = Sandbox::new();
    assert_eq!(
        sandbox.mailq(&["--version"]).assert_code(0).out,
        format!("mailq {}\n", env!("CARGO_PKG_VERSION"))
    );
    assert!(sandbox.mailq(&["-h"]).assert_code(0).out.contains("Usage: mailq"));
}

#[test]
fn a_page_for_each_command_is_in_contrib() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    for verb in VERBS {
        assert!(root.join(format!("contrib/man/mailq-{verb}.1")).exists(), "{verb}");
    }
}
