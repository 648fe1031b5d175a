//! The text part that is made from the HTML, for templates without a `text.hbs`.
//!
//! HTML that is larger or nested deeper than a mail's would cost the converter more stack or time than a mail is worth; it
//! goes out without a text part, which is a valid mail.

use html2text::config;
use std::panic::catch_unwind;

/// The width of a line; a long link may be wider.
const WIDTH: usize = 76;
/// The largest HTML that is converted, in bytes.
const LARGEST: usize = 256 << 10;
/// The most elements that are open at once.
const DEEPEST: usize = 120;

/// The most footnotes that are looked at once more.
const MOST_NOTES: usize = 300;

/// `html` as text, its links numbered and listed below. `None`: it cannot be converted.
pub(super) fn text_from(html: &str) -> Option<String> {
    if html.len() > LARGEST || open_elements(html) > DEEPEST {
        return None;
    }
    // What it still stumbles over must not end the run of a whole queue.
    let text = catch_unwind(|| convert(&without_traps(html))).ok()??;
    Some(without_blank_runs(&without_plain_links(&text)))
}

fn convert(html: &str) -> Option<String> {
    config::plain_no_decorate()
        // Mails are laid out in tables, which are no drawings; a list of items keeps its columns.
        .no_table_borders()
        .use_doc_css()
        .allow_width_overflow()
        .no_link_wrapping()
        .link_footnotes(true)
        .string_from_read(html.as_bytes(), WIDTH)
        .ok()
}

/// A link whose text is its own target needs no footnote; the others keep theirs, numbered anew.
fn without_plain_links(text: &str) -> String {
    let is_note = |line: &&str| line.starts_with('[') && line.contains("]: ");
    let notes: Vec<&str> = text.lines().rev().take_while(is_note).collect();
    let length: usize = notes.iter().map(|note| note.len() + 1).sum();
    let body = text.len().checked_sub(length).and_then(|end| text.get(..end));
    let (Some(body), true) = (body, notes.len() <= MOST_NOTES) else {
        return text.to_owned();
    };
    let mut body = body.to_owned();
    let mut kept = String::new();
    let mut number = 0;
    for note in notes.iter().rev() {
        let Some((mark, url)) = note[1..].split_once("]: ") else {
            continue;
        };
        let shown = url.strip_prefix("mailto:").unwrap_or(url);
        let plain = format!("[{shown}][{mark}]");
        if body.contains(&plain) {
            body = body.replacen(&plain, shown, 1);
        } else {
            number += 1;
            body = body.replacen(&format!("][{mark}]"), &format!("][{number}]"), 1);
            kept.push_str(&format!("[{number}]: {url}\n"));
        }
    }
    body + &kept
}

/// Text without two empty lines in a row, or any at its ends.
fn without_blank_runs(text: &str) -> String {
    let mut tidy = String::with_capacity(text.len());
    let mut blank = 0;
    for line in text.lines().map(str::trim_end) {
        blank = if line.is_empty() { blank + 1 } else { 0 };
        if blank < 2 && !(line.is_empty() && tidy.is_empty()) {
            tidy.push_str(line);
            tidy.push('\n');
        }
    }
    while tidy.ends_with("\n\n") {
        tidy.pop();
    }
    tidy
}

/// `html` without the attributes that the converter (html2text 0.17) can stumble over: a cell that spans rows below the
/// table's end, and a list that counts from the end of the integers. In text they mean little.
fn without_traps(html: &str) -> String {
    let mut calm = String::with_capacity(html.len());
    for (index, piece) in html.split('<').enumerate() {
        if index > 0 {
            calm.push('<');
        }
        let (tag, text) = piece.split_at(piece.find('>').unwrap_or(piece.len()));
        let lower = tag.to_ascii_lowercase();
        if index > 0 && (lower.contains("rowspan") || lower.starts_with("ol")) {
            let end = lower.find(|c: char| !c.is_ascii_alphanumeric());
            calm.push_str(&tag[..end.unwrap_or(tag.len())]);
        } else {
            calm.push_str(tag);
        }
        calm.push_str(text);
    }
    calm
}

/// An upper bound of how many elements are open at once: what is never closed counts to the end.
fn open_elements(html: &str) -> usize {
    const VOID: [&str; 9] = ["br", "img", "hr", "meta", "link", "input", "col", "wbr", "p"];
    let (mut open, mut most) = (0_usize, 0_usize);
    for tag in html.split('<').skip(1) {
        let name_of = |text: &str| -> String {
            text.chars()
                .take_while(char::is_ascii_alphanumeric)
                .collect::<String>()
                .to_ascii_lowercase()
        };
        if let Some(closing) = tag.strip_prefix('/') {
            if !VOID.contains(&name_of(closing).as_str()) {
                open = open.saturating_sub(1);
            }
        } else if tag.starts_with(|c: char| c.is_ascii_alphabetic())
            && !VOID.contains(&name_of(tag).as_str())
        {
            open += 1;
            most = most.max(open);
        }
    }
    most
}
