//! The words and signs of an address list.
//!
//! The reader only goes forward: whatever the text, reading it takes time in proportion to its length.

use super::is_atext;
use crate::domain::fault::{Fault, Kind};
use std::borrow::Cow;

/// How much of a bad list its error shows, in bytes.
const SHOWN: usize = 80;

const QUOTE_THE_NAME: &str = "a name that holds other characters than letters, digits \
     and spaces is quoted: \"Doe, Jane\" <jane@example.com>";

/// What is wrong with a text, and the next step.
pub(super) struct Wrong {
    what: Cow<'static, str>,
    hint: Option<&'static str>,
}

impl Wrong {
    pub(super) fn new(what: impl Into<Cow<'static, str>>) -> Self {
        Wrong { what: what.into(), hint: None }
    }

    pub(super) fn hint(mut self, hint: &'static str) -> Self {
        self.hint = Some(hint);
        self
    }

    /// The fault that shows the beginning of `text`, where the wrong is.
    pub(super) fn in_text(self, text: &str) -> Fault {
        let text = text.trim_start();
        let mut end = text.len().min(SHOWN);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let dots = if end < text.len() { "…" } else { "" };
        let fault =
            Fault::new(Kind::Data, format!("address {:?}{dots}: {}", &text[..end], self.what));
        match self.hint {
            Some(hint) => fault.hint(hint),
            None => fault,
        }
    }
}

/// A word of a name or a local part.
pub(super) struct Word<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) is_quoted: bool,
}

pub(super) enum Token<'a> {
    Word(Word<'a>),
    /// A character with a meaning of its own.
    Sign(u8),
    End,
}

impl Token<'_> {
    /// What is wrong when this comes before an address is complete.
    pub(super) fn instead_of_address(&self, is_first: bool, is_empty: bool) -> Wrong {
        let what = match self {
            Token::Sign(b':') => {
                return Wrong::new("it is a group, and groups are not taken")
                    .hint("name each member of the group; for hidden recipients use bcc");
            }
            Token::Sign(b';') => return separated_by_commas(),
            Token::Sign(b',') if is_empty && is_first => "the list begins with a comma",
            Token::Sign(b',') if is_empty => "two commas stand side by side",
            Token::End if is_empty && !is_first => "the list ends with a comma",
            Token::Sign(b',') | Token::End => {
                return Wrong::new("it has no @").hint(QUOTE_THE_NAME);
            }
            Token::Sign(byte) => {
                let what = format!("{:?} is out of place", char::from(*byte));
                return Wrong::new(what).hint(QUOTE_THE_NAME);
            }
            Token::Word(_) => "it has no @",
        };
        Wrong::new(what)
    }

    /// What is wrong when this comes where a comma was due.
    pub(super) fn after_address(&self) -> Wrong {
        match self {
            Token::Sign(b';') => separated_by_commas(),
            Token::Sign(b'<') => {
                Wrong::new("an address stands where the name of another is").hint(QUOTE_THE_NAME)
            }
            _ => Wrong::new("something follows the address")
                .hint("addresses are separated by commas"),
        }
    }
}

fn separated_by_commas() -> Wrong {
    Wrong::new("there is a semicolon").hint("addresses are separated by commas")
}

pub(super) fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// Goes through a text once, token by token.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    /// How far it is read, in bytes.
    pub(super) at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Refuses every control character, save tabs and the line ends of folded white space.
    pub(super) fn refuse_controls(&self) -> Result<(), Wrong> {
        let bytes = self.text.as_bytes();
        if bytes.iter().all(|b| (0x20..0x7f).contains(b)) {
            return Ok(());
        }
        for (at, c) in self.text.char_indices() {
            let is_folding = match c {
                '\t' => true,
                '\r' => bytes.get(at + 1) == Some(&b'\n'),
                '\n' => {
                    at > 0
                        && bytes[at - 1] == b'\r'
                        && bytes.get(at + 1).copied().is_some_and(is_blank)
                }
                _ => false,
            };
            if (c.is_control() || c == '\u{2028}' || c == '\u{2029}') && !is_folding {
                return Err(Wrong::new(format!(
                    "it holds the control character U+{:04X}",
                    u32::from(c)
                )));
            }
        }
        Ok(())
    }

    /// The next token, and whether white space or a comment stood before it.
    pub(super) fn token(&mut self) -> Result<(Token<'a>, bool), Wrong> {
        let start = self.at;
        self.skip_blanks()?;
        let is_spaced = self.at > start;
        let token = match self.peek() {
            None => Token::End,
            Some(b'"') => {
                Token::Word(Word { text: Cow::Owned(self.quoted_string()?), is_quoted: true })
            }
            Some(byte) if is_atext(byte) || byte == b'.' => {
                Token::Word(Word { text: Cow::Borrowed(self.atom()), is_quoted: false })
            }
            Some(byte) => {
                self.at += 1;
                Token::Sign(byte)
            }
        };
        Ok((token, is_spaced))
    }

    /// Skips white space, folded or not, and comments, nested or not.
    pub(super) fn skip_blanks(&mut self) -> Result<(), Wrong> {
        let mut depth = 0usize;
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => {}
                b'(' => depth += 1,
                b')' if depth > 0 => depth -= 1,
                b'\\' if depth > 0 => self.at += 1,
                _ if depth > 0 => {}
                _ => return Ok(()),
            }
            self.at += 1;
        }
        if depth > 0 {
            return Err(
                Wrong::new("a comment is not closed: the ) is missing").hint(QUOTE_THE_NAME)
            );
        }
        self.at = self.text.len();
        Ok(())
    }

    /// Atoms and the dots between them.
    pub(super) fn atom(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let length = rest.bytes().position(|b| !is_atext(b) && b != b'.').unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// The text of a quoted-string, without its quotes and escapes.
    fn quoted_string(&mut self) -> Result<String, Wrong> {
        let mut text = String::new();
        let mut is_escaped = false;
        for (at, c) in self.text[self.at + 1..].char_indices() {
            match c {
                '\r' | '\n' => return Err(Wrong::new("a quoted text holds a line end")),
                '\t' => text.push(' '),
                '\\' if !is_escaped => {
                    is_escaped = true;
                    continue;
                }
                '"' if !is_escaped => {
                    self.at += at + 2;
                    return Ok(text);
                }
                _ => text.push(c),
            }
            is_escaped = false;
        }
        Err(Wrong::new("the closing quote is missing"))
    }
}
