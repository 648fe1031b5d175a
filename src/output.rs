//! The only writer to stdout and stderr: results on the one, everything else on the other.
//!
//! Control characters that came with data never reach a terminal as they are, nothing but a page on a terminal is
//! coloured, a line is written in one piece, and a reader that went away ends the command quietly.

mod page;
mod progress;
mod record;

pub use page::{Page, Piece, Table, Tone};
pub use progress::Progress;

use crate::domain::fault::words_of;
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::iter;
use std::mem;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

/// What a pipe takes in one piece, whoever else writes into it: PIPE_BUF on Linux.
const PIECE: usize = 4096;

/// How much a line on stderr matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Error,
    Warning,
    Notice,
    /// Only with `-v`.
    Detail,
}

impl Level {
    /// The priority of sd-daemon(3), which journald reads at the beginning of a line.
    fn priority(self) -> u8 {
        match self {
            Level::Error => 3,
            Level::Warning => 4,
            Level::Notice => 6,
            Level::Detail => 7,
        }
    }
}

/// Where a command writes.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    most: Level,
    to_journal: bool,
    may_paint: bool,
    /// What goes to stderr is JSON, an object a line.
    as_json: bool,
}

/// stdout cannot be written.
#[derive(Debug)]
pub struct Unwritable(io::Error);

impl Unwritable {
    /// Whether the reader went away, as `head` does: nobody is left to be told.
    pub fn is_closed(&self) -> bool {
        self.0.kind() == io::ErrorKind::BrokenPipe
    }
}

impl fmt::Display for Unwritable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot write to stdout: {}", words_of(&self.0))
    }
}

impl std::error::Error for Unwritable {}

impl Output {
    /// Writes lines on stderr up to `most`; `journal` is the value of `$JOURNAL_STREAM`.
    pub fn new(most: Level, journal: Option<&str>) -> Output {
        Output {
            most,
            to_journal: journal.is_some_and(is_stderr),
            may_paint: false,
            as_json: false,
        }
    }

    /// Lets a page be coloured where a terminal shows it.
    pub fn painting(self, may_paint: bool) -> Output {
        Output { may_paint, ..self }
    }

    /// How many columns the terminal has that stdout goes to; `None` where it goes elsewhere.
    pub fn width(&self) -> Option<usize> {
        let stdout = io::stdout();
        let size = stdout.is_terminal().then(|| terminal_size::terminal_size_of(&stdout)).flatten();
        size.map(|(width, _)| usize::from(width.0))
    }

    /// Writes a page to stdout.
    pub fn page(&self, page: &Page) -> Result<(), Unwritable> {
        let paint = self.may_paint && io::stdout().is_terminal();
        write_out(page.show(self.width(), paint).as_bytes())
    }

    /// Writes bytes to stdout as they are.
    pub fn bytes(&self, bytes: &[u8]) -> Result<(), Unwritable> {
        write_out(bytes)
    }

    /// The same with lines of JSON on stderr, if `as_json`.
    pub fn with_json_log(self, as_json: bool) -> Output {
        Output { as_json, ..self }
    }

    /// Writes `text`, which may have several lines, to stdout.
    pub fn print(&self, text: &str) -> Result<(), Unwritable> {
        write_out(tame(text).as_bytes())
    }

    /// Writes one line of a result to stdout.
    pub fn line(&self, line: &str) -> Result<(), Unwritable> {
        let mut text = tame_line(line);
        text.push('\n');
        write_out(text.as_bytes())
    }

    /// Writes a document to stdout byte for byte, unless a terminal shows it.
    pub fn document(&self, text: &str) -> Result<(), Unwritable> {
        if io::stdout().is_terminal() { self.print(text) } else { write_out(text.as_bytes()) }
    }

    /// Writes `value` as JSON on one line to stdout.
    pub fn json(&self, value: &impl Serialize) -> Result<(), Unwritable> {
        let mut text = to_json(value);
        text.push('\n');
        write_out(text.as_bytes())
    }

    /// Writes one line to stderr, if it matters enough. That stderr cannot be written stops nobody.
    pub fn say(&self, level: Level, message: &str) {
        if level > self.most {
            return;
        }
        if self.as_json {
            return self.record(level, &[("message", json!(message))]);
        }
        let word = if level == Level::Warning { "warning: " } else { "" };
        self.tell(level, &format!("mailq: {word}{message}"));
    }

    /// Writes the next step for the user to stderr.
    pub fn hint(&self, hint: &str) {
        if self.as_json {
            return self.record(Level::Error, &[("hint", json!(hint))]);
        }
        self.tell(Level::Error, &format!("hint: {hint}"));
    }

    /// Writes one line of `key=value` to stderr, if it matters enough.
    pub fn record(&self, level: Level, pairs: &[(&str, Value)]) {
        self.records(iter::once((level, pairs)));
    }

    /// Writes a line of `key=value` each, those that matter enough, with as few calls of the system as a pipe keeps whole.
    pub fn records<'a, P: AsRef<[(&'a str, Value)]>>(
        &self,
        records: impl Iterator<Item = (Level, P)>,
    ) {
        let mut text = String::new();
        for (level, pairs) in records.filter(|(level, _)| *level <= self.most) {
            let pairs = pairs.as_ref();
            let line = if self.as_json { record::json(level, pairs) } else { record::text(pairs) };
            let line = self.log_line(level, &line);
            if text.len() + line.len() > PIECE {
                write_err(&mem::take(&mut text));
            }
            text.push_str(&line);
        }
        write_err(&text);
    }

    /// Begins to show how far a command is, on a terminal.
    pub fn progress(&self, verb: &'static str, total: u64) -> Progress {
        Progress::begin(verb, total, self.most < Level::Notice)
    }

    /// Whether somebody looks: to count beforehand is only worth it then.
    pub fn is_watched(&self) -> bool {
        self.most >= Level::Notice && io::stderr().is_terminal()
    }

    fn tell(&self, level: Level, line: &str) {
        write_err(&self.log_line(level, line));
    }

    /// The line as stderr gets it: with the priority that the journal reads.
    fn log_line(&self, level: Level, line: &str) -> String {
        let line = tame_line(line);
        match self.to_journal {
            true => format!("<{}>{line}\n", level.priority()),
            false => format!("{line}\n"),
        }
    }
}

fn write_err(text: &str) {
    if !text.is_empty() {
        let text = format!("{}{text}", progress::clear());
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }
}

fn write_out(bytes: &[u8]) -> Result<(), Unwritable> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(Unwritable)
}

/// Whether `stream`, a device and an inode number, is what stderr goes to.
fn is_stderr(stream: &str) -> bool {
    let seen = || {
        let stderr = io::stderr().as_fd().try_clone_to_owned().ok()?;
        std::fs::File::from(stderr).metadata().ok()
    };
    seen().is_some_and(|meta| stream == format!("{}:{}", meta.dev(), meta.ino()))
}

/// `value` as JSON on one line. Control characters that JSON allows in a text are escaped all the same.
pub fn to_json(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if is_unsafe(c) => safe.push_str(&format!("\\u{:04x}", c as u32)),
            c => safe.push(c),
        }
    }
    safe
}

/// Control characters, and those that turn the direction of a line round.
fn is_unsafe(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn tame(text: &str) -> String {
    escape(text, |c| c != '\n' && c != '\t')
}

/// `line` with nothing in it that could move a cursor or begin another line.
pub fn tame_line(line: &str) -> String {
    escape(line, |c| c != '\t')
}

fn escape(text: &str, also: impl Fn(char) -> bool) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if is_unsafe(c) && also(c) => safe.extend(c.escape_default()),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_move_the_cursor_is_shown_instead() {
        assert_eq!(tame("a\n\tb\u{1b}[31m\u{9b}"), "a\n\tb\\u{1b}[31m\\u{9b}");
        assert_eq!(tame_line("a\nb\rc"), "a\\nb\\rc");
        assert_eq!(tame_line("Grüße \u{202e}txt"), "Grüße \\u{202e}txt");
    }

    #[test]
    fn json_stays_json_and_shows_no_control_character() {
        let text = to_json(&"\u{1b}\u{7f}\u{9b}\u{202e}ü\n");
        assert!(text.chars().all(|c| !is_unsafe(c)), "{text}");
        let back: String = serde_json::from_str(&text).unwrap();
        assert_eq!(back, "\u{1b}\u{7f}\u{9b}\u{202e}ü\n");
    }

    #[test]
    fn another_stream_is_not_the_journal() {
        assert!(!is_stderr("0:0"));
        assert!(!is_stderr(""));
        assert!(!Output::new(Level::Notice, None).to_journal);
    }
}
