//! The parser of address lists: one pass, no recursion, linear in the length of the text.

use super::{Address, Mailbox, host, is_atext, quoted};
use crate::domain::fault::{Fault, Kind};
use std::borrow::Cow;

/// More recipients than this in one list are taken for a mistake.
const MOST_MAILBOXES: usize = 100_000;
/// RFC 5321, 4.5.3.1.1, in bytes.
const LONGEST_LOCAL: usize = 64;
/// RFC 5321, 4.5.3.1.3: a path is at most 256 bytes with its angle brackets.
const LONGEST_ADDRESS: usize = 254;
/// How much of a bad list its error shows, in bytes.
const SHOWN: usize = 80;

const QUOTE_THE_NAME: &str = "a name that holds other characters than letters, digits and spaces is quoted: \"Doe, Jane\" <jane@example.com>";

/// Reads a list of mailboxes.
pub(super) fn mailboxes(text: &str) -> Result<Vec<Mailbox>, Fault> {
    let mut list = Vec::new();
    let mut reader = Reader { text, at: 0 };
    reader
        .refuse_controls()
        .map_err(|wrong| wrong.in_text(text))?;
    if text.bytes().all(is_blank) {
        return Ok(list);
    }
    loop {
        let start = reader.at;
        let is_first = list.is_empty();
        let fault = |wrong: Wrong| wrong.in_text(&text[start..]);
        list.push(reader.mailbox(is_first).map_err(fault)?);
        match reader.token().map_err(fault)?.0 {
            Token::End => return Ok(list),
            Token::Sign(b',') if list.len() < MOST_MAILBOXES => {}
            Token::Sign(b',') => {
                let wrong = Wrong::new(format!("more than {MOST_MAILBOXES} addresses"));
                return Err(wrong.in_text(text));
            }
            other => return Err(fault(other.after_address())),
        }
    }
}

/// Reads `local@domain` and nothing else.
pub(super) fn address(text: &str) -> Result<Address, Fault> {
    let mut reader = Reader { text, at: 0 };
    let mut read = || {
        reader.refuse_controls()?;
        let (Token::Word(local), false) = reader.token()? else {
            return Err(Wrong::new("it is not of the form local@domain"));
        };
        if reader.peek() != Some(b'@') {
            return Err(Wrong::new("it is not of the form local@domain"));
        }
        reader.at += 1;
        if reader.peek().is_some_and(|b| is_blank(b) || b == b'(') {
            return Err(Wrong::new("there is white space after the @"));
        }
        let address = reader.domain_of(&local)?;
        if reader.at < text.len() {
            return Err(Wrong::new("something follows the address"));
        }
        Ok(address)
    };
    read().map_err(|wrong| wrong.in_text(text))
}

/// What is wrong with a text, and the next step.
struct Wrong {
    what: Cow<'static, str>,
    hint: Option<&'static str>,
}

impl Wrong {
    fn new(what: impl Into<Cow<'static, str>>) -> Self {
        Wrong {
            what: what.into(),
            hint: None,
        }
    }

    fn hint(mut self, hint: &'static str) -> Self {
        self.hint = Some(hint);
        self
    }

    /// The fault that shows the beginning of `text`, where the wrong is.
    fn in_text(self, text: &str) -> Fault {
        let text = text.trim_start();
        let mut end = text.len().min(SHOWN);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let dots = if end < text.len() { "…" } else { "" };
        let fault = Fault::new(
            Kind::Data,
            format!("address {:?}{dots}: {}", &text[..end], self.what),
        );
        match self.hint {
            Some(hint) => fault.hint(hint),
            None => fault,
        }
    }
}

/// A word of a name or a local part.
struct Word<'a> {
    text: Cow<'a, str>,
    is_quoted: bool,
}

enum Token<'a> {
    Word(Word<'a>),
    /// A character with a meaning of its own.
    Sign(u8),
    End,
}

impl Token<'_> {
    /// What is wrong when this comes where a comma was due.
    fn after_address(&self) -> Wrong {
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

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Refuses every control character, save tabs and the line ends of folded white space.
    fn refuse_controls(&self) -> Result<(), Wrong> {
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
    fn token(&mut self) -> Result<(Token<'a>, bool), Wrong> {
        let start = self.at;
        self.skip_blanks()?;
        let is_spaced = self.at > start;
        let token = match self.peek() {
            None => Token::End,
            Some(b'"') => Token::Word(Word {
                text: Cow::Owned(self.quoted_string()?),
                is_quoted: true,
            }),
            Some(byte) if is_atext(byte) || byte == b'.' => Token::Word(Word {
                text: Cow::Borrowed(self.atom()),
                is_quoted: false,
            }),
            Some(byte) => {
                self.at += 1;
                Token::Sign(byte)
            }
        };
        Ok((token, is_spaced))
    }

    /// Skips white space, folded or not, and comments, nested or not.
    fn skip_blanks(&mut self) -> Result<(), Wrong> {
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
    fn atom(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let length = rest
            .bytes()
            .position(|b| !is_atext(b) && b != b'.')
            .unwrap_or(rest.len());
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

    fn mailbox(&mut self, is_first: bool) -> Result<Mailbox, Wrong> {
        let mut name = String::new();
        let mut words: Vec<Word> = Vec::new();
        loop {
            let (token, is_spaced) = self.token()?;
            match token {
                Token::Word(word) => {
                    if is_spaced && !words.is_empty() {
                        name.push(' ');
                    }
                    name.push_str(&word.text);
                    words.push(word);
                }
                Token::Sign(b'<') => {
                    let name = name.trim_matches(' ');
                    return Ok(Mailbox {
                        name: (!name.is_empty()).then(|| name.to_owned()),
                        address: self.angle_address()?,
                    });
                }
                Token::Sign(b'@') => {
                    return Ok(Mailbox {
                        name: None,
                        address: self.domain_of(only_word(&words)?)?,
                    });
                }
                Token::Sign(b':') => {
                    return Err(Wrong::new("it is a group, and groups are not taken")
                        .hint("name each member of the group; for hidden recipients use bcc"));
                }
                Token::Sign(b';') => return Err(separated_by_commas()),
                Token::Sign(b',') if words.is_empty() && is_first => {
                    return Err(Wrong::new("the list begins with a comma"));
                }
                Token::Sign(b',') if words.is_empty() => {
                    return Err(Wrong::new("two commas stand side by side"));
                }
                Token::End if words.is_empty() && !is_first => {
                    return Err(Wrong::new("the list ends with a comma"));
                }
                Token::Sign(b',') | Token::End => {
                    return Err(Wrong::new(format!("{name:?} has no @")).hint(QUOTE_THE_NAME));
                }
                Token::Sign(byte) => {
                    return Err(
                        Wrong::new(format!("{:?} is out of place", char::from(byte)))
                            .hint(QUOTE_THE_NAME),
                    );
                }
            }
        }
    }

    /// What follows a `<`.
    fn angle_address(&mut self) -> Result<Address, Wrong> {
        let local = match self.token()?.0 {
            Token::Word(word) => word,
            Token::Sign(b'>') => return Err(Wrong::new("there is nothing between < and >")),
            Token::Sign(b'@') => {
                return Err(Wrong::new("it is a source route, and routes are not taken"));
            }
            _ => return Err(Wrong::new("there is no address between < and >")),
        };
        match self.token()?.0 {
            Token::Sign(b'@') => {}
            Token::Word(_) => return Err(spaced_local()),
            _ => return Err(Wrong::new("the address between < and > has no @")),
        }
        let address = self.domain_of(&local)?;
        match self.token()?.0 {
            Token::Sign(b'>') => Ok(address),
            Token::End | Token::Sign(b',') => Err(Wrong::new("the closing > is missing")),
            _ => Err(Wrong::new("something follows the address before the >")),
        }
    }

    /// Reads what follows the `@` of an address with the local part `local`.
    fn domain_of(&mut self, local: &Word) -> Result<Address, Wrong> {
        let local = canonical_local(local)?;
        self.skip_blanks()?;
        let domain = if self.peek() == Some(b'[') {
            let rest = &self.text[self.at + 1..];
            let end = rest
                .find(']')
                .ok_or_else(|| Wrong::new("the ] of the address literal is missing"))?;
            self.at += end + 2;
            host::literal(&rest[..end])
        } else {
            host::name(self.atom())
        };
        let domain = domain.map_err(Wrong::new)?;
        if local.len() + 1 + domain.len() > LONGEST_ADDRESS {
            return Err(Wrong::new(format!(
                "the address is longer than {LONGEST_ADDRESS} bytes"
            )));
        }
        Ok(Address { local, domain })
    }
}

fn spaced_local() -> Wrong {
    Wrong::new("there is white space in the part before the @")
        .hint("such a local part is quoted: \"odd user\"@example.com")
}

/// The one word before an `@`.
fn only_word<'w, 'a>(words: &'w [Word<'a>]) -> Result<&'w Word<'a>, Wrong> {
    match words {
        [] => Err(Wrong::new("there is nothing before the @")),
        [word] => Ok(word),
        _ => Err(spaced_local()),
    }
}

/// The local part as it goes into SMTP: quoted only where it must be.
fn canonical_local(word: &Word) -> Result<String, Wrong> {
    let text = word.text.as_ref();
    if text.is_empty() {
        return Err(Wrong::new("there is nothing before the @"));
    }
    // Servers that read up to the first `>` would see another address than is meant.
    if text.contains(['<', '>']) {
        return Err(Wrong::new("there is < or > in the part before the @"));
    }
    if text.chars().any(|c| c.is_whitespace() && c != ' ') {
        return Err(Wrong::new("there is an uncommon white space before the @"));
    }
    let is_dotted_atom = text
        .split('.')
        .all(|atom| !atom.is_empty() && atom.bytes().all(is_atext));
    if !is_dotted_atom && !word.is_quoted {
        return Err(Wrong::new(
            "a dot begins or ends the part before the @, or two are side by side",
        )
        .hint("such a local part is quoted: \"a..b\"@example.com"));
    }
    let local = if is_dotted_atom {
        text.to_owned()
    } else {
        quoted(text)
    };
    if local.len() > LONGEST_LOCAL {
        return Err(Wrong::new(format!(
            "the part before the @ is longer than {LONGEST_LOCAL} bytes"
        )));
    }
    Ok(local)
}
