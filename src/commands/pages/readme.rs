//! The pages about the configuration and the templates: the README's chapters, so that both say the same.

use super::{DATE, fill, see_also};

const README: &str = include_str!("../../../README.md");
const EXAMPLE: &str = include_str!("../../../contrib/examples/config.toml");

/// mailq-config(5).
pub fn config() -> String {
    let mut page = head("mailq-config", 5, "the configuration of mailq");
    page.push_str(&from_markdown(chapter("Configuration")));
    page.push_str(".SH EXAMPLE\n");
    page.push_str(&verbatim(EXAMPLE.lines()));
    page.push_str(".SH FILES\n");
    for (file, what) in [
        ("/etc/mailq/config.toml", "the configuration"),
        ("/etc/mailq/smtp-password", "the password of the smarthost, which root alone may read"),
        ("/etc/mailq/templates", "the templates"),
        ("/var/lib/mailq/mailq.db", "the queue"),
    ] {
        page.push_str(&format!(".TP\n.I {}\n{what}\n", escape(file)));
    }
    page.push_str(&see_also(&["mailq (1)", "mailq-templates (7)", "mailq-check (1)"]));
    without_empty_paragraphs(&page)
}

/// mailq-templates(7).
pub fn templates() -> String {
    let mut page = head("mailq-templates", 7, "the templates of mailq");
    page.push_str(&from_markdown(chapter("Templates")));
    page.push_str(".SH FILES\n");
    for (file, what) in [
        ("/etc/mailq/templates", "your own"),
        ("/usr/share/mailq/templates", "those to start from, which are compiled in, too"),
    ] {
        page.push_str(&format!(".TP\n.I {}\n{what}\n", escape(file)));
    }
    page.push_str(&see_also(&["mailq (1)", "mailq-render (1)", "mailq-config (5)"]));
    without_empty_paragraphs(&page)
}

fn head(name: &str, section: u8, what: &str) -> String {
    format!(
        ".TH {} {section} \"{DATE}\" \"mailq {}\" \"mailq manual\"\n.SH NAME\n{} \\- {what}\n.SH DESCRIPTION\n",
        escape(&name.to_uppercase()),
        env!("CARGO_PKG_VERSION"),
        escape(name)
    )
}

/// The chapter of the README with this title.
fn chapter(title: &str) -> &'static str {
    let (_, rest) = README.split_once(&format!("\n## {title}\n")).unwrap();
    rest.split("\n## ").next().unwrap()
}

/// Paragraphs, titles, examples and tables as a page shows them.
fn from_markdown(text: &str) -> String {
    let mut page = String::new();
    for block in blocks(text) {
        let first = block[0];
        if first.starts_with("```") {
            page.push_str(&verbatim(block[1..block.len() - 1].iter().copied()));
        } else if let Some(title) = first.strip_prefix("### ") {
            page.push_str(&format!(".SS {}\n", escape(title)));
        } else if first.starts_with('|') {
            // Behind the titles and the line under them.
            block[2..].iter().for_each(|row| page.push_str(&entry(row)));
        } else {
            let lead = if page.is_empty() || page.ends_with(".EE\n") { "" } else { ".PP\n" };
            page.push_str(lead);
            page.push_str(&fill(&inline(&block.join(" "))));
        }
    }
    page
}

/// A title is no end of a paragraph.
fn without_empty_paragraphs(page: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for line in page.lines() {
        let is_after_title = lines.last().is_some_and(|last| last.starts_with(".S"));
        if line != ".PP" || !is_after_title {
            lines.push(line);
        }
    }
    lines.join("\n") + "\n"
}

/// The lines of each paragraph, table or example.
fn blocks(text: &str) -> Vec<Vec<&str>> {
    let (mut all, mut block, mut in_example) = (Vec::new(), Vec::new(), false);
    for line in text.lines() {
        let is_fence = line.starts_with("```");
        if line.is_empty() && !in_example || (is_fence && !in_example && !block.is_empty()) {
            all.push(std::mem::take(&mut block));
        }
        if !line.is_empty() || in_example {
            block.push(line);
        }
        in_example ^= is_fence;
        if is_fence && !in_example {
            all.push(std::mem::take(&mut block));
        }
    }
    all.push(block);
    all.retain(|block| !block.is_empty());
    all
}

/// A row of a table: its first cell, and below it the others.
fn entry(row: &str) -> String {
    let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
    let rest: Vec<String> = match cells[..] {
        [_, default, meaning] if cells[0].contains("{{") => {
            let becomes =
                if default.is_empty() { String::new() } else { format!("becomes {default}: ") };
            vec![format!("{becomes}{meaning}")]
        }
        [_, default, meaning] => {
            let stop = if meaning.is_empty() { "" } else { ". " };
            let default = if default.is_empty() { "none" } else { default };
            vec![format!("{meaning}{stop}Default: {default}")]
        }
        _ => cells[1..].iter().map(|cell| (*cell).to_owned()).collect(),
    };
    let body = fill(&inline(&rest.join(" ")));
    format!(".TP\n{}\n{}", inline(cells[0]), if body.trim().is_empty() { "\\&\n" } else { &body })
}

fn verbatim<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let lines: Vec<String> = lines
        .map(escape)
        .map(|line| if line.starts_with('.') { format!("\\&{line}") } else { line })
        .collect();
    format!(".PP\n.EX\n{}\n.EE\n", lines.join("\n"))
}

/// What stands in backticks in bold; a link as its words.
fn inline(text: &str) -> String {
    let mut out = String::new();
    for (at, part) in text.split('`').enumerate() {
        match at % 2 {
            1 => out.push_str(&format!("\\fB{}\\fR", escape(part))),
            _ => out.push_str(&escape(&without_links(part).replace("**", ""))),
        }
    }
    if out.starts_with('.') { format!("\\&{out}") } else { out }
}

fn without_links(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        let Some((words, behind)) = link.split_once("](") else { break };
        let (_, after) = behind.split_once(')').unwrap();
        out.push_str(before);
        out.push_str(words);
        rest = after;
    }
    out + rest
}

fn escape(text: &str) -> String {
    let plain = text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    plain.replace('…', "\\[u2026]").replace('€', "\\[u20AC]")
}
