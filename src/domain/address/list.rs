//! The parser of address lists: one pass, no recursion, linear in the length of the text.

use super::token::{Reader, Token, Word, Wrong, is_blank};
use super::{Address, Mailbox, host, is_atext, quoted};
use crate::domain::fault::Fault;

/// More recipients than this in one list are taken for a mistake.
const MOST_MAILBOXES: usize = 100_000;
/// RFC 5321, 4.5.3.1.1, in bytes.
const LONGEST_LOCAL: usize = 64;
/// RFC 5321, 4.5.3.1.3: a path is at most 256 bytes with its angle brackets.
const LONGEST_ADDRESS: usize = 254;

/// Reads a list of mailboxes.
pub(super) fn mailboxes(text: &str) -> Result<Vec<Mailbox>, Fault> {
    let mut list = Vec::new();
    let mut reader = Reader { text, at: 0 };
    reader.refuse_controls().map_err(|wrong| wrong.in_text(text))?;
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

impl Reader<'_> {
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
                other => return Err(other.instead_of_address(is_first, words.is_empty())),
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
            return Err(Wrong::new(format!("the address is longer than {LONGEST_ADDRESS} bytes")));
        }
        // lettre has the last word on what an address is: what it refuses here, no server is asked to take.
        lettre::Address::new(local, domain).map(Address).map_err(|e| Wrong::new(e.to_string()))
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
    if let Some(c) = text.chars().find(|c| is_invisible(*c)) {
        let code = u32::from(c);
        return Err(Wrong::new(format!(
            "there is the invisible character U+{code:04X} in the part before the @"
        ))
        .hint("it came with copying: type the address anew"));
    }
    let is_dotted_atom = text.split('.').all(|atom| !atom.is_empty() && atom.bytes().all(is_atext));
    if !is_dotted_atom && !word.is_quoted {
        return Err(Wrong::new(
            "a dot begins or ends the part before the @, or two are side by side",
        )
        .hint("such a local part is quoted: \"a..b\"@example.com"));
    }
    let local = if is_dotted_atom { text.to_owned() } else { quoted(text) };
    if local.len() > LONGEST_LOCAL {
        return Err(Wrong::new(format!(
            "the part before the @ is longer than {LONGEST_LOCAL} bytes"
        )));
    }
    Ok(local)
}

/// Whether `c` leaves no mark of its own, so that two addresses look alike: blanks without width, marks of direction,
/// joiners, the byte order mark. (RFC 8264 takes none of them into a user's name, save two joiners in some scripts.)
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}
