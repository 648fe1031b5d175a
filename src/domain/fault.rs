//! The one error type that reaches a user: what went wrong, and the next step.
//!
//! A `Fault` knows its kind, never its exit code: the table from kind to code is in `exit`.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What sort of trouble it is, in the words of sysexits(3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The command line is wrong (`EX_USAGE`).
    Usage,
    /// An address, JSON, a template or the text encoding is wrong (`EX_DATAERR`).
    Data,
    /// An input file, an attachment or a mail id is missing (`EX_NOINPUT`).
    NoInput,
    /// A bug in `mailq` (`EX_SOFTWARE`).
    Bug,
    /// A file cannot be created (`EX_CANTCREAT`).
    CannotCreate,
    /// Reading or writing failed (`EX_IOERR`).
    Io,
    /// It may work later: database busy, disk full, smarthost out (`EX_TEMPFAIL`).
    TryAgain,
    /// The user may not do this (`EX_NOPERM`).
    Permission,
    /// The configuration is wrong (`EX_CONFIG`).
    Config,
}

/// What the user wanted of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    Read,
    /// To read and to write it, and to make files beside it.
    Write,
}

/// A file that the user may not use, or that lies where the user may not go.
#[derive(Debug, Clone)]
pub struct Barred {
    pub path: PathBuf,
    pub need: Need,
}

/// A failure as the user sees it: one line that names the thing and the value, and a hint.
#[derive(Debug, Clone)]
pub struct Fault {
    kind: Kind,
    message: String,
    hint: Option<String>,
    barred: Option<Barred>,
}

impl Fault {
    /// A fault of `kind`, told in one line.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Fault { kind, message: message.into(), hint: None, barred: None }
    }

    /// The same fault with the next step for the user.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same fault with the file that permissions may be missing of: who may not, and what helps, is looked up when
    /// it is told.
    pub fn barred(mut self, path: &Path, need: Need) -> Self {
        self.barred = Some(Barred { path: path.to_owned(), need });
        self
    }

    /// The file that permissions may be missing of.
    pub fn missing_permission(&self) -> Option<&Barred> {
        self.barred.as_ref()
    }

    /// What sort of trouble it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The next step, where one is known.
    pub fn next_step(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

/// The folder that `path` lies in. Of a bare name it is the present one, where `Path::parent` gives an empty path that
/// nothing opens.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) => Path::new("."),
        None => path,
    }
}

/// What the system says about an error: in words, without "(os error N)".
pub fn words_of(error: &io::Error) -> String {
    let words = error.to_string();
    match words.split_once(" (os error") {
        Some((system, _)) => system.to_lowercase(),
        None => words,
    }
}

/// `text` on one line, without control characters, at most `limit` bytes: fit for a log or a column.
pub fn one_line(text: &str, limit: usize) -> String {
    let mut line = String::with_capacity(text.len().min(limit));
    let mut blank = false;
    for c in text.chars() {
        if c.is_control() || c.is_whitespace() || c == '\u{2028}' || c == '\u{2029}' {
            blank = !line.is_empty();
            continue;
        }
        if line.len() + usize::from(blank) + c.len_utf8() > limit {
            line.push('…');
            break;
        }
        if blank {
            line.push(' ');
            blank = false;
        }
        line.push(c);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_folds_controls_and_cuts_on_a_character() {
        assert_eq!(one_line("  a\r\n\tb\u{1b}[31m ", 100), "a b [31m");
        assert_eq!(one_line("ééé", 4), "éé…");
        assert_eq!(one_line("", 4), "");
    }

    #[test]
    fn the_system_speaks_in_words() {
        assert_eq!(words_of(&io::Error::from_raw_os_error(2)), "no such file or directory");
        assert_eq!(words_of(&io::Error::other("/A: no")), "/A: no");
    }
}
