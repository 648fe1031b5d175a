//! The README holds: its examples run, and its tables say what the program says.
//!
//! A block that begins with ```` ```sh runnable ```` is run in a sandbox with the templates of this repository, all of
//! them in one, top to bottom. An ```` ```output ```` block after it is what it prints.

use crate::support::sandbox::Sandbox;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

const README: &str = include_str!("../../README.md");
const KEYS: &str = include_str!("../../src/config/keys.rs");

/// The fenced blocks: what stands after the three backquotes, and the lines inside.
fn blocks(text: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in text.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(info), None) => open = Some((info.to_owned(), String::new())),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some((_, inside))) => {
                inside.push_str(line);
                inside.push('\n');
            }
            (None, None) => {}
        }
    }
    blocks
}

#[test]
fn the_examples_run() {
    let sandbox = Sandbox::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    symlink(root.join("templates"), sandbox.path("shipped")).unwrap();
    let config = fs::read_to_string(sandbox.path("config.toml")).unwrap();
    let own = sandbox.path("templates");
    let shipped = sandbox.path("shipped");
    let config = config.replace(own.to_str().unwrap(), shipped.to_str().unwrap());
    let blocks = blocks(README);
    let queues = blocks.iter().find(|(info, text)| info == "toml" && text.contains("[queues."));
    sandbox.write("config.toml", config + &queues.unwrap().1);
    let reader = |n: usize| format!("reader{n}@example.com,Reader {n},https://example.com/u/{n}\n");
    let readers: String = (0..10_000).map(reader).collect();
    sandbox.write("subscribers.csv", format!("to,name,unsubscribe_url\n{readers}"));
    sandbox.write("issue.json", include_str!("../../contrib/examples/schedules/issue.json"));
    sandbox.write("invoice.pdf", "%PDF-1.4\n");
    fs::create_dir(sandbox.path("bin")).unwrap();
    symlink(env!("CARGO_BIN_EXE_mailq"), sandbox.path("bin/mailq")).unwrap();

    let mut ran = 0;
    for (at, (_, script)) in
        blocks.iter().enumerate().filter(|(_, (info, _))| info == "sh runnable")
    {
        let script = format!("set -eu\nPATH=\"{}:$PATH\"\n{script}", sandbox.path("bin").display());
        let seen = sandbox.other("sh", &["-s"], &script);
        assert_eq!(seen.code, 0, "{script}\n{seen}");
        assert!(!seen.err.contains("panicked at"), "{seen}");
        if let Some((_, output)) = blocks.get(at + 1).filter(|(info, _)| info == "output") {
            assert_eq!(&seen.out, output, "{script}");
        }
        ran += 1;
    }
    assert!(ran >= 3, "only {ran} examples");
}

#[test]
fn the_exit_codes_are_those_of_the_program() {
    let told: Vec<i32> = README
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(' ').next()?.parse().ok())
        .collect();
    assert_eq!(told, [0, 64, 65, 66, 70, 73, 74, 75, 77, 78]);
}

#[test]
fn every_key_of_the_configuration_is_told() {
    let keys: Vec<(&str, &str)> = KEYS
        .split("const KEYS")
        .nth(1)
        .unwrap()
        .split("];")
        .next()
        .unwrap()
        .split("(\n        \"")
        .flat_map(|chunk| chunk.split("    (\""))
        .filter_map(|entry| {
            let (name, rest) = entry.split_once("\", ").or_else(|| entry.split_once("\",\n"))?;
            let place = rest.split_once("Place::")?.1.split(')').next()?;
            Some((name, place))
        })
        .collect();
    assert!(keys.len() > 30, "{keys:?}");
    for (key, place) in keys {
        let told = match place {
            "Queue" => format!("`queues.NAME.{key}`"),
            "Domain" => format!("`dkim.DOMAIN.{key}`"),
            _ => format!("`{key}`"),
        };
        let row = README.lines().any(|line| line.starts_with("| `") && line.contains(&told));
        assert!(row, "the README has no {told}");
    }
}

#[test]
fn the_helpers_of_templates_do_what_is_told() {
    let sandbox = Sandbox::new();
    let rows: Vec<(&str, &str)> = README
        .lines()
        .filter_map(|line| line.strip_prefix("| `{{")?.split_once("` | "))
        .map(|(helper, rest)| {
            (helper, rest.split('|').next().unwrap_or_default().trim_matches([' ', '`']))
        })
        .collect();
    assert!(rows.len() >= 10, "{rows:?}");
    let parameters = r#"{"at": "2026-12-24T08:00:00Z", "total": "1234.5", "count": 2, "title": "The lost mailbox",
        "query": "a&b c", "items": [1, 2, 3], "names": {"ada": "Ada"}, "done": false}"#;
    for (helper, becomes) in rows {
        sandbox.write("templates/helper/subject.hbs", "S");
        sandbox.write("templates/helper/text.hbs", format!("[{{{{{helper}]"));
        let seen = sandbox.mailq(&["render", "--template", "helper", "--params", parameters]);
        let told = format!("[{becomes}]");
        assert!(seen.out.replace('\u{a0}', " ").contains(&told), "{{{{{helper}: {told}\n{seen}");
    }
}
