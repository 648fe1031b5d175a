//! Text parts: canonical lines, and the transfer encoding that is safe on seven bits and smallest.
//!
//! A text that passes as it is has no line that a mail server or a mailbox file is known to change.

use super::content::push_base64;
use super::wire::Wire;

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
        self.out.extend_from_slice(b"; charset=utf-8\r\nContent-Transfer-Encoding: ");
        let word: &[u8] = match coding {
            Coding::SevenBit => b"7bit",
            Coding::Quoted => b"quoted-printable",
            Coding::Base64 => b"base64",
        };
        self.out.extend_from_slice(word);
        self.out.extend_from_slice(b"\r\n\r\n");
        match coding {
            Coding::SevenBit => self.out.extend_from_slice(lines.as_bytes()),
            Coding::Quoted => push_quoted(&mut self.out, lines.as_bytes()),
            Coding::Base64 => push_base64(&mut self.out, lines.as_bytes()),
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
    /// What canonical `lines` need.
    fn of(lines: &str) -> Self {
        // Two plain counts over all bytes take less time than one look at each.
        let is_common = |b: &&u8| matches!(**b, b'\t' | b'\n' | b'\r' | b' '..=b'~');
        let odd = lines.len() - lines.as_bytes().iter().filter(is_common).count();
        let signs = lines.as_bytes().iter().filter(|b| **b == b'=').count();
        // Boundaries begin so.
        let is_boundary_like = signs > 0 && lines.contains("=_");
        if odd == 0 && !is_boundary_like && lines.split_terminator('\n').all(is_safe) {
            return Coding::SevenBit;
        }
        let as_quoted = lines.len() + 2 * (odd + signs);
        let as_base64 = lines.len().div_ceil(3) * 4;
        // The line ends: two bytes in 78, and a soft line break's three in 79.
        if as_quoted * 79 / 76 <= as_base64 * 78 / 76 { Coding::Quoted } else { Coding::Base64 }
    }
}

/// Whether a line of common characters passes every server and mailbox file as it is: some cut blanks at its end, or
/// put a > before such a From.
fn is_safe(line: &str) -> bool {
    let line = line.strip_suffix('\r').unwrap_or(line);
    line.len() <= LONGEST_LINE && !line.ends_with([' ', '\t']) && !line.starts_with("From ")
}

/// `text` in lines that end in one CRLF each, the last one too, whatever ended them before: LF, CRLF, CR or several
/// CR and one LF. A text of no lines stays empty.
fn canonical(text: &str) -> String {
    let mut lines = String::with_capacity(text.len() + text.len() / 16 + 2);
    if text == "\n" {
        return lines;
    }
    if !text.contains('\r') {
        for line in text.split_terminator('\n') {
            lines.push_str(line);
            lines.push_str("\r\n");
        }
        return lines;
    }
    let mut rest = text;
    while let Some(end) = rest.find(['\r', '\n']) {
        lines.push_str(&rest[..end]);
        rest = &rest[end..];
        let after = rest.trim_start_matches('\r');
        let returns = rest.len() - after.len();
        let ends = match after.strip_prefix('\n') {
            Some(next) => {
                rest = next;
                1
            }
            None => {
                rest = after;
                returns
            }
        };
        (0..ends).for_each(|_| lines.push_str("\r\n"));
    }
    if !rest.is_empty() {
        lines.push_str(rest);
        lines.push_str("\r\n");
    } else if lines == "\r\n" {
        lines.clear();
    }
    lines
}

/// `byte` as quoted-printable and Q encoded-words write it.
pub(super) fn quoted_byte(byte: u8) -> [u8; 3] {
    const DIGITS: [u8; 16] = *b"0123456789ABCDEF";
    [b'=', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]
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
            out.extend_from_slice(&quoted_byte(byte));
        }
        column += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> String {
        canonical(text)
    }

    fn quoted(text: &str) -> String {
        let mut out = Vec::new();
        push_quoted(&mut out, canonical(text).as_bytes());
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
        assert_eq!(quoted(&"x".repeat(77)), format!("{}=\r\nxx\r\n", "x".repeat(75)));
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
