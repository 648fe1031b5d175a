//! The floors of the house, and the fences round the outside crates, read off the source text.
//!
//! The compiler lets any module name any other; this test is what keeps a part from naming a later one. It reads
//! tokens, not types: comments, strings and characters do not count, and code in `#[cfg(test)]` does.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The parts, lowest floor first. A part may name itself and the parts on lower floors.
const FLOORS: &[&[&str]] = &[
    &["domain"],
    &["store", "templates", "mime", "dkim", "spool", "transport", "host"],
    &["delivery"],
    &["config", "output"],
    &["exit"],
    &["commands"],
    &["main"],
];

/// What comes from outside, and the files that may name it. `std::env` and the clocks are fenced like crates.
const FENCES: &[(&str, &[&str])] = &[
    ("rusqlite", &["store"]),
    ("lettre", &["mime", "domain/address", "transport/sendmail", "transport/file"]),
    ("rustls", &["transport/smtp"]),
    ("rustls_native_certs", &["transport/smtp"]),
    ("smtp_proto", &["transport/smtp"]),
    ("ring", &["dkim"]),
    ("rustls_pki_types", &["dkim"]),
    ("handlebars", &["templates"]),
    ("clap", &["commands", "main"]),
    ("rand", &["host"]),
    (
        "rustix",
        &["store/place", "spool/take_in", "host/barrier", "transport/smtp/wire", "commands/hook"],
    ),
    ("std::env", &["config"]),
    ("SystemTime::now", &["host"]),
    ("Utc::now", &["host"]),
    ("Local::now", &["host"]),
];

/// Names that say where code lies and not what it does: everything ends up there.
const NO_NAMES: &[&str] = &["util", "utils", "common", "helpers", "types", "misc"];

const LINES: usize = 400;
const MAIN_LINES: usize = 40;

/// The source files: path below `src/`, text.
type Sources = BTreeMap<String, String>;

#[test]
fn the_house_stands() {
    let mut sources = Sources::new();
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    read(&src, &src, &mut sources);
    assert!(sources.contains_key("main.rs"));
    let faults = faults(&sources);
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn a_bad_house_is_seen() {
    let bad: &[(&str, &str, &[&str])] = &[
        (
            "domain/mod.rs",
            "//! D.\nfn f() { crate::store::open() }",
            &["domain/mod.rs: domain must not name store"],
        ),
        (
            "store/claim.rs",
            "//! S.\nuse crate::{domain::state, mime::{a, b}, output};",
            &[
                "store/claim.rs: store must not name mime",
                "store/claim.rs: store must not name output",
            ],
        ),
        (
            "transport/smtp/session.rs",
            "//! T.\nuse super::super::super::templates::X;\nuse super::super::file;",
            &["transport/smtp/session.rs: transport must not name templates"],
        ),
        ("config.rs", "//! C.\nuse super::output;", &["config.rs: config must not name output"]),
        (
            "delivery/run.rs",
            "//! D.\nuse rusqlite::Connection;\nuse std::{fs, env};\nfn f() { let t = SystemTime::now(); }",
            &[
                "delivery/run.rs: rusqlite is fenced in",
                "delivery/run.rs: std::env is fenced in",
                "delivery/run.rs: SystemTime::now is fenced in",
            ],
        ),
        (
            "mime.rs",
            "//! M.\nfn f() -> ::clap::Arg { std::env::args() }",
            &["mime.rs: clap is fenced in", "mime.rs: std::env is fenced in"],
        ),
        ("store/util.rs", "//! U.", &["store/util.rs: util says nothing"]),
        ("letters.rs", "//! L.", &["letters.rs: letters has no floor"]),
        ("output.rs", "fn f() {}", &["output.rs: no //! duty"]),
        (
            "exit.rs",
            "//! E.\n#[allow(dead_code)]\nfn f() {}\n#![cfg_attr(test, allow(x))]",
            &["exit.rs: allow, not expect", "exit.rs: allow, not expect"],
        ),
    ];
    for (path, text, expected) in bad {
        let found = faults(&Sources::from([(path.to_string(), text.to_string())]));
        assert_eq!(found.len(), expected.len(), "{path}: {found:#?}");
        for (found, expected) in found.iter().zip(*expected) {
            assert!(found.starts_with(expected), "{found:?}, not {expected:?}");
        }
    }
    let long = format!("//! L.\n{}", "\n".repeat(LINES));
    let found = faults(&Sources::from([
        ("main.rs".to_string(), long.clone()),
        ("host.rs".to_string(), long),
    ]));
    assert_eq!(found, ["host.rs: 401 lines", "main.rs: 400 lines"]);
}

#[test]
fn comments_strings_and_other_peoples_names_are_no_faults() {
    let good: &[(&str, &str)] = &[
        (
            "domain/mod.rs",
            "//! crate::store\n/* use rusqlite::X; /* crate::mime */ #[allow(x)] */\n// std::env\nconst A: &str = \"crate::store \\\" rusqlite::X\";\nconst B: &str = r#\"crate::store \"rusqlite::X\"#;\nconst C: char = '\"'; const D: char = '\\''; fn f<'a>(x: &'a str) { crate::domain::state(b\"rusqlite::\") }\n",
        ),
        (
            "store/mod.rs",
            "//! S.\nuse crate::domain::rusqlite;\nuse crate::domain::{store, clap};\nfn rand() { self.env(); env!(\"X\"); Instant::now(); }\n",
        ),
        ("delivery/tests.rs", "use rusqlite::Connection;"),
        ("commands/mod.rs", "//! C.\nuse clap::Parser;\nuse crate::exit;"),
        ("domain/state.rs", "//! S.\nmod tests { use super::super::outcome; use super::*; }"),
    ];
    let sources = good.iter().map(|(p, t)| (p.to_string(), t.to_string()));
    assert_eq!(faults(&sources.collect()), Vec::<String>::new());
}

fn read(root: &Path, dir: &Path, sources: &mut Sources) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(root, &path, sources);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap();
            sources.insert(name.to_owned(), fs::read_to_string(&path).unwrap());
        }
    }
}

/// Everything that is wrong with the house, one line a fault.
fn faults(sources: &Sources) -> Vec<String> {
    let mut faults = Vec::new();
    for (path, text) in sources {
        let mut fault = |what: String| faults.push(format!("{path}: {what}"));
        let module: Vec<&str> =
            path.trim_end_matches(".rs").trim_end_matches("/mod").split('/').collect();
        let part = module[0];
        // Tests in a file of their own may look at things with any crate, and have the duty of what they test.
        let is_test = module[1..].contains(&"tests");
        let (lines, limit) = match part {
            // Its doc is the architecture page, and may be as long as the house is large.
            "main" => {
                let code = text.lines().filter(|line| !line.starts_with("//!"));
                (code.count(), MAIN_LINES)
            }
            _ => (text.lines().count(), LINES),
        };
        if lines > limit {
            fault(format!("{lines} lines"));
        }
        if !is_test && !text.starts_with("//!") {
            fault("no //! duty at its head".to_owned());
        }
        for name in module.iter().filter(|name| NO_NAMES.contains(name)) {
            fault(format!("{name} says nothing of what is in it"));
        }
        let Some(floor) = floor_of(part) else {
            fault(format!("{part} has no floor; give it one in layers.rs"));
            continue;
        };
        let tokens = tokens(text);
        for named in parts_named(&tokens, if part == "main" { 0 } else { module.len() }) {
            if named != part && floor_of(named).is_some_and(|other| other >= floor) {
                fault(format!("{part} must not name {named}"));
            }
        }
        for (name, homes) in FENCES {
            let at_home = |home: &&str| *home == part || path.starts_with(*home);
            if !is_test && !homes.iter().any(at_home) && names_outside(&tokens, name) {
                fault(format!("{name} is fenced in: {}", homes.join(", ")));
            }
        }
        for _ in tokens.windows(3).filter(|w| matches!(w, ["[" | ",", "allow", "("])) {
            fault("allow, not expect with a reason".to_owned());
        }
    }
    faults
}

fn floor_of(part: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.contains(&part))
}

/// The names that follow `crate::`, or as many `super::` as lead from a module of this depth to the root, each once.
fn parts_named<'a>(tokens: &[&'a str], depth: usize) -> Vec<&'a str> {
    let mut named = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let climbs = match *token {
            "crate" => true,
            "super" => ups(&tokens[..=at]) >= depth,
            _ => false,
        };
        if climbs && tokens.get(at + 1) == Some(&"::") {
            for name in heads(&tokens[at + 2..]) {
                if !named.contains(&name) {
                    named.push(name);
                }
            }
        }
    }
    named
}

/// How many `super::` in a row end here.
fn ups(tokens: &[&str]) -> usize {
    match tokens {
        [before @ .., "super", "::", "super"] => 1 + ups(&tokens[..before.len() + 1]),
        [.., "super"] => 1,
        _ => 0,
    }
}

/// The first name of each path that begins here: one, or those of a `{…}` group.
fn heads<'a>(tokens: &[&'a str]) -> Vec<&'a str> {
    if tokens.first() != Some(&"{") {
        return tokens.first().copied().into_iter().collect();
    }
    let mut heads = Vec::new();
    let mut nesting = 0;
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "{" => nesting += 1,
            "}" => nesting -= 1,
            name if nesting == 1 && matches!(tokens[at - 1], "{" | ",") => heads.push(name),
            _ => {}
        }
        if nesting == 0 {
            break;
        }
    }
    heads
}

/// Whether `name` (a crate, or `a::b`) is named as something from outside.
fn names_outside(tokens: &[&str], name: &str) -> bool {
    let (first, second) = name.split_once("::").unwrap_or((name, ""));
    tokens.iter().enumerate().any(|(at, token)| {
        let before = at.checked_sub(1).map_or("", |i| tokens[i]);
        let before_that = at.checked_sub(2).map_or("", |i| tokens[i]);
        let after = tokens.get(at + 1).copied().unwrap_or_default();
        let inside_a_path = before == "::" && is_word(before_that) && before_that != "use";
        if *token != first {
            return false;
        }
        if second.is_empty() {
            return !inside_a_path && (after == "::" || before == "use");
        }
        after == "::" && heads(&tokens[at + 2..]).contains(&second)
    })
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// The words and signs of Rust code; comments, strings and characters are left out.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let taken = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if let Some(length) = raw_string(rest) {
            length
        } else if first == '"' {
            1 + quoted(&rest[1..], '"')
        } else if first == '\'' {
            character(rest)
        } else {
            let length = match word {
                0 if rest.starts_with("::") => 2,
                0 => first.len_utf8(),
                _ => word,
            };
            if !first.is_whitespace() {
                tokens.push(&rest[..length]);
            }
            length
        };
        rest = &rest[taken..];
    }
    tokens
}

fn block_comment(text: &str) -> usize {
    let mut nesting = 0;
    let mut at = 0;
    while at < text.len() {
        match &text.as_bytes()[at..] {
            [b'/', b'*', ..] => (nesting, at) = (nesting + 1, at + 2),
            [b'*', b'/', ..] => (nesting, at) = (nesting - 1, at + 2),
            _ => at += 1,
        }
        if nesting == 0 {
            break;
        }
    }
    at
}

fn raw_string(text: &str) -> Option<usize> {
    let prefix = ["r", "br", "cr"].into_iter().find(|p| {
        let after = text.strip_prefix(p);
        after.is_some_and(|t| t.trim_start_matches('#').starts_with('"'))
    })?;
    let hashes = text[prefix.len()..].find('"')?;
    let begin = prefix.len() + hashes + 1;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(text[begin..].find(&end).map_or(text.len(), |at| begin + at + end.len()))
}

/// The length up to and with the closing quote.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a character, or of the quote alone where it begins a lifetime.
fn character(text: &str) -> usize {
    let mut inside = text[1..].chars();
    match (inside.next(), inside.next()) {
        (Some('\\'), _) | (Some(_), Some('\'')) => 1 + quoted(&text[1..], '\''),
        _ => 1,
    }
}
