//! The text part that is made from the HTML, for templates without a `text.hbs`.
//!
//! HTML that is larger or nested deeper than a mail's would cost the converter more stack or time than a mail is worth; it
//! goes out without a text part, which is a valid mail.

use html2text::config;

/// The width of a line; a long link may be wider.
const WIDTH: usize = 76;
/// The largest HTML that is converted, in bytes.
const LARGEST: usize = 1 << 20;
/// The most elements that are open at once.
const DEEPEST: usize = 120;

/// `html` as text, its links numbered and listed below. `None`: it cannot be converted.
pub(super) fn text_from(html: &str) -> Option<String> {
    if html.len() > LARGEST || open_elements(html) > DEEPEST {
        return None;
    }
    let text = config::plain_no_decorate()
        // Mails are laid out in tables: each cell is a paragraph of its own, not a column of a drawing.
        .raw_mode(true)
        .use_doc_css()
        .allow_width_overflow()
        .no_link_wrapping()
        .link_footnotes(true)
        .string_from_read(html.as_bytes(), WIDTH)
        .ok()?;
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
    Some(tidy)
}

/// An upper bound of how many elements are open at once: what is never closed counts to the end.
fn open_elements(html: &str) -> usize {
    const VOID: [&str; 9] = [
        "br", "img", "hr", "meta", "link", "input", "col", "wbr", "p",
    ];
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
