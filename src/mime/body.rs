//! Text parts: canonical lines, and the transfer encoding that is safe on seven bits and smallest.
//!
//! A text that passes as it is has no line that a mail server or a mailbox file is known to change.

use super::content::push_base64;
use super::wire::Wire;
use std::io::Write as _;

/// RFC 5322, 2.1.1, without the line end.
const LONGEST_LINE: usize = 998;
/// A line of quoted-printable, with its soft line break (RFC 2045, 6.7).
const QUOTED_LINE: usize = 76;

impl Wire {
    /// Writes the fields and the body of a text part of type `text/SUBTYPE`.
    pub(super) fn text(&mut self, subtype: &str, text: &str) {
        let lines = canonical(text);
        let coding = Coding::of(&lines);
        self.out.extend_from_slice(b"Content-Type: text/");
        self.out.extend_from_slice(subtype.as_bytes());
        self.out
            .extend_from_slice(b"; charset=utf-8\r\nContent-Transfer-Encoding: ");
        let word: &[u8] = match coding {
            Coding::SevenBit => b"7bit",
            Coding::Quoted => b"quoted-printable",
            Coding::Base64 => b"base64",
        };
        self.out.extend_from_slice(word);
        self.out.extend_from_slice(b"\r\n\r\n");
        match coding {
            Coding::SevenBit => self.out.extend_from_slice(&lines),
            Coding::Quoted => push_quoted(&mut self.out, &lines),
            Coding::Base64 => push_base64(&mut self.out, &lines),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Coding {
    SevenBit,
    Quoted,
    Base64,
}

impl Coding {
    /// What `lines` need.
    fn of(lines: &[u8]) -> Self {
        let mut coded = 0;
        let mut is_safe = true;
        let mut line = 0;
        let mut before = b'\n';
        for (at, &byte) in lines.iter().enumerate() {
            match byte {
                b'\n' => line = 0,
                b'\r' => is_safe &= before != b' ' && before != b'\t',
                b' '..=b'~' | b'\t' => line += 1,
                _ => {
                    coded += 1;
                    is_safe = false;
                }
            }
            let is_mailbox_mark = byte == b'F' && line == 1 && lines[at..].starts_with(b"From ");
            let is_boundary_like = byte == b'_' && before == b'=';
            is_safe &= !is_mailbox_mark && !is_boundary_like && line <= LONGEST_LINE;
            coded += usize::from(byte == b'=');
            before = byte;
        }
        if is_safe {
            Coding::SevenBit
        } else if (lines.len() + 2 * coded) * 79 / 76 <= lines.len().div_ceil(3) * 4 * 78 / 76 {
            Coding::Quoted
        } else {
            Coding::Base64
        }
    }
}

/// `text` in lines that end in one CRLF each, the last one too, whatever ended them before: LF, CRLF, CR or several
/// CR and one LF. A text of no lines stays empty.
fn canonical(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut lines = Vec::with_capacity(bytes.len() + bytes.len() / 16 + 2);
    let mut start = 0;
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'\r' && bytes[at] != b'\n' {
            at += 1;
            continue;
        }
        lines.extend_from_slice(&bytes[start..at]);
        let returns = bytes[at..].iter().take_while(|b| **b == b'\r').count();
        if bytes.get(at + returns) == Some(&b'\n') {
            lines.extend_from_slice(b"\r\n");
            at += returns + 1;
        } else {
            for _ in 0..returns {
                lines.extend_from_slice(b"\r\n");
            }
            at += returns;
        }
        start = at;
    }
    if start < bytes.len() {
        lines.extend_from_slice(&bytes[start..]);
        lines.extend_from_slice(b"\r\n");
    } else if lines == b"\r\n" {
        lines.clear();
    }
    lines
}

/// Appends canonical `lines` as quoted-printable.
fn push_quoted(out: &mut Vec<u8>, lines: &[u8]) {
    let mut column = 0;
    let mut at = 0;
    while at < lines.len() {
        let rest = &lines[at..];
        at += 1;
        if rest.starts_with(b"\r\n") {
            out.extend_from_slice(b"\r\n");
            column = 0;
            at += 1;
            continue;
        }
        let byte = rest[0];
        let ends_line = rest[1..].starts_with(b"\r\n");
        let mut is_plain = match byte {
            b' ' | b'\t' => !ends_line,
            b'=' => false,
            _ => (b'!'..=b'~').contains(&byte),
        };
        let mut length = if is_plain { 1 } else { 3 };
        let room = QUOTED_LINE - usize::from(!ends_line);
        if column + length > room {
            out.extend_from_slice(b"=\r\n");
            column = 0;
        }
        if column == 0 && (byte == b'.' || rest.starts_with(b"From ")) {
            is_plain = false;
            length = 3;
        }
        if is_plain {
            out.push(byte);
        } else {
            write!(out, "={byte:02X}").expect("a Vec takes every write");
        }
        column += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> String {
        String::from_utf8(canonical(text)).unwrap()
    }

    fn quoted(text: &str) -> String {
        let mut out = Vec::new();
        push_quoted(&mut out, &canonical(text));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_line_ends_in_one_crlf() {
        for (text, want) in [
            ("", ""),
            ("\n", ""),
            ("\r\n", ""),
            ("a", "a\r\n"),
            ("a\n", "a\r\n"),
            ("a\r\n", "a\r\n"),
            ("a\r\r\n", "a\r\n"),
            ("a\r", "a\r\n"),
            ("a\rb", "a\r\nb\r\n"),
            ("a\r\rb", "a\r\n\r\nb\r\n"),
            ("a\n\nb\n\n", "a\r\n\r\nb\r\n\r\n"),
            ("a\r\r\nb\n\rc", "a\r\nb\r\n\r\nc\r\n"),
            ("hello\n.\n..x\n", "hello\r\n.\r\n..x\r\n"),
        ] {
            assert_eq!(lines(text), want, "{text:?}");
        }
    }

    #[test]
    fn the_coding_is_safe_and_small() {
        let of = |text: &str| Coding::of(&canonical(text));
        assert_eq!(of("plain\n.\n\ttext"), Coding::SevenBit);
        assert_eq!(of(""), Coding::SevenBit);
        assert_eq!(of(&"x".repeat(998)), Coding::SevenBit);
        assert_eq!(of(&"x".repeat(999)), Coding::Quoted);
        for text in [
            "a \nb",
            "a\t\nb",
            "From me",
            "x\nFrom me",
            "a\0b",
            "a\u{1b}[31m",
            "a\u{7f}",
            "été",
            "--=_m",
        ] {
            assert_ne!(of(text), Coding::SevenBit, "{text:?}");
        }
        assert_eq!(of("not From me"), Coding::SevenBit);
        assert_eq!(of("un été, rien"), Coding::Quoted);
        assert_eq!(of("Восстановление"), Coding::Base64);
    }

    #[test]
    fn quoted_printable_has_short_lines_without_blanks_at_their_end() {
        assert_eq!(quoted("é = \t\n."), "=C3=A9 =3D =09\r\n=2E\r\n");
        assert_eq!(quoted("From é\n"), "=46rom =C3=A9\r\n");
        assert_eq!(quoted("a\0b"), "a=00b\r\n");
        assert_eq!(quoted("="), "=3D\r\n");
        assert_eq!(quoted(&"x".repeat(76)), format!("{}\r\n", "x".repeat(76)));
        assert_eq!(
            quoted(&"x".repeat(77)),
            format!("{}=\r\nxx\r\n", "x".repeat(75))
        );
        assert_eq!(
            quoted(&format!("{}=y", "x".repeat(75))),
            format!("{}=\r\n=3Dy\r\n", "x".repeat(75))
        );
        let dots = quoted(&format!("{}.y", "x".repeat(75)));
        assert_eq!(dots, format!("{}=\r\n=2Ey\r\n", "x".repeat(75)));
        for line in quoted(&"é".repeat(2000)).split("\r\n") {
            assert!(line.len() <= 76, "{line}");
        }
    }
}
