//! The man pages and the completions of shells are made from the definitions of the command line, and the ones in
//! contrib are the ones that would be made now. `MAILQ_REGENERATE=1 cargo test pages` writes them anew.

mod readme;

use super::Cli;
use clap::{Command, CommandFactory};
use clap_complete::{Shell, generate};
use clap_mangen::Man;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Set when the tests are compiled, since the environment is the configuration's.
const REGENERATE: Option<&str> = option_env!("MAILQ_REGENERATE");

/// When the pages were last read through.
const DATE: &str = "2026-11-29";

/// What a line of a page may be long at most.
const WIDTH: usize = 78;

#[test]
fn the_committed_ones_are_those_of_the_program() {
    let contrib = Path::new(env!("CARGO_MANIFEST_DIR")).join("contrib");
    let mut made = completions();
    made.extend(pages());
    for (name, text) in &made {
        let path = contrib.join(name);
        if REGENERATE.is_some() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
        }
        let committed = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == *text,
            "contrib/{name} is not what the program would make: MAILQ_REGENERATE=1 cargo test pages"
        );
    }
    for folder in ["man", "completions"] {
        for entry in fs::read_dir(contrib.join(folder)).unwrap() {
            let name = format!("{folder}/{}", entry.unwrap().file_name().to_str().unwrap());
            assert!(made.contains_key(&name), "contrib/{name} belongs to no command");
        }
    }
}

fn completions() -> BTreeMap<String, String> {
    let names = [
        (Shell::Bash, "completions/mailq.bash"),
        (Shell::Zsh, "completions/_mailq"),
        (Shell::Fish, "completions/mailq.fish"),
    ];
    let make = |(shell, name): (Shell, &str)| {
        let mut text = Vec::new();
        generate(shell, &mut Cli::command(), "mailq", &mut text);
        (name.to_owned(), tidy(&text))
    };
    names.into_iter().map(make).collect()
}

fn pages() -> BTreeMap<String, String> {
    // `help COMMAND` has no page of its own: it shows what is in the others.
    let mut root = Cli::command().disable_help_subcommand(true);
    root.build();
    let mut all = BTreeMap::from([("man/mailq.1".to_owned(), page(&root, "mailq"))]);
    for verb in root.get_subcommands() {
        let name = format!("mailq-{}", verb.get_name());
        for part in verb.get_subcommands() {
            let name = format!("{name}-{}", part.get_name());
            all.insert(format!("man/{name}.1"), page(part, &name));
        }
        all.insert(format!("man/{name}.1"), page(verb, &name));
    }
    all.insert("man/mailq-config.5".to_owned(), readme::config());
    all.insert("man/mailq-templates.7".to_owned(), readme::templates());
    all
}

fn page(command: &Command, name: &str) -> String {
    let more = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let command = command.clone().display_name(name.to_owned()).after_help("");
    let has_parts = command.has_subcommands();
    let man = Man::new(command)
        .title(name.to_uppercase())
        .date(DATE)
        .source(concat!("mailq ", env!("CARGO_PKG_VERSION")))
        .manual("mailq manual");
    let mut text = Vec::new();
    man.render_title(&mut text).unwrap();
    man.render_name_section(&mut text).unwrap();
    man.render_synopsis_section(&mut text).unwrap();
    man.render_description_section(&mut text).unwrap();
    man.render_options_section(&mut text).unwrap();
    if has_parts {
        man.render_subcommands_section(&mut text).unwrap();
    }
    let mut text = fill(&tidy(&text));
    text.push_str(&sections(&more));
    text.push_str(&match name {
        "mailq" => {
            see_also(&["mailq-config (5)", "mailq-templates (7)", "sysexits (3)", "sendmail (8)"])
        }
        _ => see_also(&["mailq (1)", "mailq-config (5)", "mailq-templates (7)"]),
    });
    text
}

fn see_also(pages: &[&str]) -> String {
    let last = pages.len() - 1;
    let lines = pages.iter().enumerate().map(|(at, page)| {
        format!(".BR {}{}\n", page.replace('-', "\\-"), if at < last { "," } else { "" })
    });
    lines.fold(".SH \"SEE ALSO\"\n".to_owned(), |text, line| text + &line)
}

/// The text behind the options: a line that ends with a colon opens a section; what is indented stands as it is.
fn sections(text: &str) -> String {
    let escaped = |line: &str| line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    let (mut page, mut verbatim, mut titled) = (String::new(), false, false);
    for line in text.lines() {
        let is_indented = line.starts_with(' ');
        if verbatim && !is_indented {
            page.push_str(".EE\n");
        }
        if !is_indented && line.ends_with(':') {
            page.push_str(&format!(".SH \"{}\"\n", line.trim_end_matches(':').to_uppercase()));
            titled = true;
        } else if is_indented {
            if !verbatim {
                page.push_str(".EX\n");
            }
            page.push_str(&escaped(&line[2..]));
            page.push('\n');
        } else if !line.is_empty() {
            if !titled {
                page.push_str(".SH NOTES\n");
                titled = true;
            }
            page.push_str(&fill(&escaped(line)));
        } else if !verbatim {
            page.push_str(if titled { ".PP\n" } else { "" });
        }
        verbatim = is_indented;
    }
    if verbatim {
        page.push_str(".EE\n");
    }
    page.replace(".PP\n.SH", ".SH")
}

/// The text with its long lines broken, each preamble but the first left out, and one line break where there were several.
fn fill(page: &str) -> String {
    let mut all: Vec<String> = Vec::new();
    for line in page.lines() {
        let is_again = line.contains(".ds Aq") && all.iter().any(|known| known == line);
        let last = all.last().map(String::as_str);
        if is_again || last == Some(".br") && (line.is_empty() || line == ".br") {
            continue;
        }
        if line.starts_with('.') {
            all.push(line.to_owned());
            continue;
        }
        let mut part = String::new();
        for word in line.split(' ') {
            if !part.is_empty() && part.len() + 1 + word.len() > WIDTH {
                all.push(std::mem::take(&mut part));
            }
            part.push_str(if part.is_empty() { "" } else { " " });
            part.push_str(word);
        }
        all.push(part);
    }
    all.join("\n") + "\n"
}

/// No blank at the end of a line, and one line end at the end.
fn tidy(text: &[u8]) -> String {
    let text = String::from_utf8(text.to_vec()).unwrap();
    let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
    lines.join("\n") + "\n"
}
