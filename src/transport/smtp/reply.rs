//! Bytes from the server → replies, and the EHLO reply → what the server can do.
//!
//! The lines are told apart here, bounded and lenient (a bare code, a bare LF, bytes that are not UTF-8); the codes and
//! words in them are read by `smtp-proto`. Invariant: however much a server sends, no more than [`MAX_REPLY`] bytes of
//! it are held, and nothing is taken for a reply that does not begin with three digits.

use crate::domain::fault::one_line;
use crate::domain::outcome::Reply;
use smtp_proto::response::parser::ResponseReceiver;
use smtp_proto::{
    AUTH_LOGIN, AUTH_PLAIN, AUTH_XOAUTH2, EXT_PIPELINING, EXT_SIZE, EXT_SMTP_UTF8, EXT_START_TLS,
    EhloResponse,
};

/// The longest reply that is taken, in bytes; all its lines together.
pub(super) const MAX_REPLY: usize = 64 * 1024;
/// How much of the words of a reply is kept for errors and columns, in bytes.
const MAX_WORDS: usize = 500;
/// How much of one line is read for its words, in bytes. The rest of an endless line is not worth more.
const MAX_LINE: usize = 510;
/// What `smtp-proto` takes as one reply, less some room.
const MAX_TEXT: usize = 4000;

/// What the bytes at hand are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Parsed {
    Reply(Reply),
    /// Not the beginning of a reply, or one without an end: the first of it.
    Garbage(String),
    /// The reply is not complete yet.
    More,
}

/// What was received and not yet read as a reply.
#[derive(Default)]
pub(super) struct Input {
    bytes: Vec<u8>,
    /// Where the next unread byte is.
    at: usize,
    /// The lines of the last reply, as they came.
    lines: Vec<String>,
}

impl Input {
    /// Takes in what was received.
    pub(super) fn push(&mut self, received: &[u8]) {
        if self.at == self.bytes.len() {
            self.bytes.clear();
            self.at = 0;
        } else if self.at > MAX_REPLY {
            self.bytes.drain(..self.at);
            self.at = 0;
        }
        self.bytes.extend_from_slice(received);
    }

    /// Whether everything that was received has been read.
    pub(super) fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// The unread bytes as they are told in an error. Nothing is taken away.
    pub(super) fn preview(&self) -> String {
        let rest = &self.bytes[self.at..];
        let rest = &rest[..rest.len().min(120)];
        one_line(&String::from_utf8_lossy(rest), 100)
    }

    /// The lines of the reply that was read last, without codes.
    pub(super) fn last_lines(&self) -> &[String] {
        &self.lines
    }

    /// Reads the next reply, if all of it is there.
    pub(super) fn next_reply(&mut self) -> Parsed {
        let mut text = Vec::new();
        let mut at = self.at;
        self.lines.clear();
        loop {
            let rest = &self.bytes[at..];
            let Some(end) = rest.iter().position(|&b| b == b'\n') else {
                let held = self.bytes.len() - self.at;
                if held > MAX_REPLY || !begins_well(rest) {
                    return Parsed::Garbage(self.preview());
                }
                return Parsed::More;
            };
            let line = trim_end(&rest[..end]);
            at += end + 1;
            let Some((code, is_last, words)) = split(line) else {
                return Parsed::Garbage(self.preview());
            };
            let words = &words[..words.len().min(MAX_LINE)];
            self.lines.push(String::from_utf8_lossy(words).trim().to_owned());
            if text.len() + words.len() + 6 <= MAX_TEXT || is_last {
                let room = MAX_TEXT.saturating_sub(text.len());
                let sign = if is_last { b' ' } else { b'-' };
                text.extend_from_slice(&[&line[..3], &[sign][..]].concat());
                text.extend_from_slice(&words[..words.len().min(room)]);
                text.extend_from_slice(b"\r\n");
            }
            if is_last {
                self.at = at;
                return assemble(code, &text);
            }
            if at - self.at > MAX_REPLY {
                return Parsed::Garbage(self.preview());
            }
        }
    }
}

/// Whether an incomplete line may still become one of a reply.
fn begins_well(line: &[u8]) -> bool {
    line.iter().take(3).all(u8::is_ascii_digit)
        && line.get(3).is_none_or(|&b| matches!(b, b' ' | b'-' | b'\r'))
}

fn trim_end(line: &[u8]) -> &[u8] {
    let cut = line.iter().rposition(|&b| b != b'\r').map_or(0, |at| at + 1);
    &line[..cut]
}

/// The code of a line, whether it is the last of its reply, and its words.
fn split(line: &[u8]) -> Option<(u16, bool, &[u8])> {
    let (digits, rest) = line.split_at_checked(3)?;
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let code = digits.iter().fold(0, |code, digit| code * 10 + u16::from(digit - b'0'));
    match rest.first() {
        None => Some((code, true, rest)),
        Some(b' ') => Some((code, true, &rest[1..])),
        Some(b'-') => Some((code, false, &rest[1..])),
        Some(_) => None,
    }
}

/// The reply that the normalised lines `text` say. `smtp-proto` keeps the code of the first line; where a server
/// changes its mind between the lines, the last one counts.
fn assemble(code: u16, text: &[u8]) -> Parsed {
    let parsed = ResponseReceiver::default().parse(&mut text.iter());
    match parsed {
        Ok(response) if (100..600).contains(&code) => Parsed::Reply(Reply {
            code,
            enhanced: (response.esc != [0, 0, 0]).then_some((
                response.esc[0],
                response.esc[1],
                response.esc[2],
            )),
            text: one_line(&response.message, MAX_WORDS),
        }),
        _ => Parsed::Garbage(one_line(&String::from_utf8_lossy(text), 100)),
    }
}

/// What a server said it can do. Nothing, until it was asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Capabilities {
    pub(super) pipelining: bool,
    pub(super) smtputf8: bool,
    pub(super) starttls: bool,
    /// Whether `SIZE` may be said on MAIL, and the largest message in bytes where there is a limit.
    pub(super) size: Option<Option<u64>>,
    pub(super) plain: bool,
    pub(super) login: bool,
    pub(super) xoauth2: bool,
}

impl Capabilities {
    /// Reads the lines of an EHLO reply, each on its own: one that makes no sense hides no other.
    pub(super) fn read(lines: &[String]) -> Self {
        let mut found = Capabilities::default();
        for line in lines.iter().skip(1) {
            // Some old servers say `AUTH=LOGIN PLAIN`.
            let line = line.replacen("AUTH=", "AUTH ", 1);
            let reply = format!("250-x\r\n250 {line}\r\n");
            let Ok(said) = EhloResponse::parse(&mut reply.as_bytes().iter()) else {
                continue;
            };
            let has = |extension: u32| said.capabilities & extension != 0;
            found.pipelining |= has(EXT_PIPELINING);
            found.smtputf8 |= has(EXT_SMTP_UTF8);
            found.starttls |= has(EXT_START_TLS);
            if has(EXT_SIZE) && (said.size > 0 || found.size.is_none()) {
                found.size = Some((said.size > 0).then_some(said.size as u64));
            }
            found.plain |= said.auth_mechanisms & AUTH_PLAIN != 0;
            found.login |= said.auth_mechanisms & AUTH_LOGIN != 0;
            found.xoauth2 |= said.auth_mechanisms & AUTH_XOAUTH2 != 0;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Parsed {
        let mut input = Input::default();
        input.push(bytes);
        input.next_reply()
    }

    fn reply(bytes: &[u8]) -> (u16, Option<(u8, u8, u8)>, String) {
        match read(bytes) {
            Parsed::Reply(reply) => (reply.code, reply.enhanced, reply.text),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn replies_of_every_shape_are_read() {
        assert_eq!(reply(b"250\r\n"), (250, None, String::new()));
        assert_eq!(reply(b"250 \r\n"), (250, None, String::new()));
        assert_eq!(reply(b"354\n"), (354, None, String::new()));
        assert_eq!(
            reply(b"550 5.1.1 no such user\r\n"),
            (550, Some((5, 1, 1)), "no such user".into())
        );
        assert_eq!(reply(b"250-a\r\n250-\r\n250 b\r\n"), (250, None, "a b".into()));
        assert_eq!(reply(b"250-a\n250\n"), (250, None, "a".into()));
        assert_eq!(reply(b"250 f\xfcr\r\r\n"), (250, None, "f\u{fffd}r".into()));
        assert_eq!(
            reply(b"220-hi\r\n521 5.7.1 blocked\r\n"),
            (521, Some((5, 7, 1)), "hi blocked".into()),
            "the last line's code counts"
        );
    }

    #[test]
    fn what_is_no_reply_is_garbage_as_soon_as_that_is_clear() {
        for bytes in [
            &b"hello\r\n"[..],
            b"\r\n250 ok\r\n",
            b"25",
            b"HTTP/1.1 400",
            b"250ok\r\n",
            b"2x0 ok\r\n",
            b"999 what\r\n",
            b"250-a\r\nb\r\n",
        ] {
            let parsed = read(bytes);
            let text = String::from_utf8_lossy(bytes);
            if bytes == b"25" {
                assert_eq!(parsed, Parsed::More);
            } else {
                assert!(matches!(parsed, Parsed::Garbage(_)), "{text} {parsed:?}");
            }
        }
    }

    #[test]
    fn a_reply_in_pieces_and_two_in_one_piece() {
        let mut input = Input::default();
        for byte in b"250-a\r\n250 2.0.0 ok\r" {
            input.push(&[*byte]);
            assert_eq!(input.next_reply(), Parsed::More);
        }
        input.push(b"\n354 go\r\n");
        assert!(matches!(input.next_reply(), Parsed::Reply(r) if r.code == 250));
        assert!(!input.is_empty());
        assert!(matches!(input.next_reply(), Parsed::Reply(r) if r.code == 354));
        assert!(input.is_empty());
    }

    #[test]
    fn long_replies_are_cut_and_endless_ones_refused() {
        let mut long = b"250 ".to_vec();
        long.resize(20_000, b'x');
        long.extend_from_slice(b"\r\n");
        let (code, _, text) = reply(&long);
        assert_eq!((code, text.len() < 600), (250, true));
        let many = b"250-a line of some words\r\n".repeat(1000);
        let (code, _, _) = reply(&[&many[..], b"550 5.1.1 no\r\n"].concat());
        assert_eq!(code, 550);
        let mut endless = b"250 ".to_vec();
        endless.resize(MAX_REPLY + 2, b'x');
        assert!(matches!(read(&endless), Parsed::Garbage(_)));
        let endless = b"250-a\r\n".repeat(MAX_REPLY / 7 + 2);
        assert!(matches!(read(&endless), Parsed::Garbage(_)));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_trouble(
            pieces in proptest::collection::vec(r"([0-9]{0,4}[ -]?.{0,9}(\r?\n)?|(250-|AUTH |SIZE |\n|\PC){0,40})", 0..20)
        ) {
            let mut input = Input::default();
            for piece in pieces {
                input.push(piece.as_bytes());
                while let Parsed::Reply(reply) = input.next_reply() {
                    assert!((100..600).contains(&reply.code) && reply.text.len() <= MAX_WORDS + 3);
                    Capabilities::read(input.last_lines());
                }
            }
        }
    }

    #[test]
    fn capabilities_are_read_line_by_line() {
        let lines: Vec<String> = [
            "sink.example PIPELINING",
            "SIZE 1000",
            "SIZE nonsense",
            "AUTH=LOGIN",
            "auth plain XOAUTH2",
            "\u{fffd}\u{fffd}",
            "STARTTLS",
        ]
        .map(str::to_owned)
        .to_vec();
        let found = Capabilities::read(&lines);
        assert!(!found.pipelining, "the greeting line names no extension");
        assert_eq!(found.size, Some(Some(1000)));
        assert!(found.login && found.plain && found.xoauth2 && found.starttls && !found.smtputf8);
        let lines = ["x", "size", "pipelining", "SMTPUTF8"].map(str::to_owned);
        let found = Capabilities::read(&lines);
        assert!(found.pipelining && found.smtputf8);
        assert_eq!(found.size, Some(None));
    }
}
