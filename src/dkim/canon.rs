//! The canonical form of a message that is signed: `relaxed` for the header and the body (RFC 6376, 3.4).
//!
//! The body is digested while it passes, so that a large attachment is never in memory.

use sha2::{Digest, Sha256};
use std::io::{self, Write};

/// Takes a message in and keeps its header and the digest of its body.
#[derive(Default)]
pub(super) struct Intake {
    /// The header's lines, each with its line end, without the empty line behind them.
    header: Vec<u8>,
    has_header: bool,
    body: Body,
}

impl Intake {
    /// The header as it came, and the digest of the canonical body.
    pub(super) fn finish(self) -> (Vec<u8>, [u8; 32]) {
        (self.header, self.body.finish())
    }
}

impl Write for Intake {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.has_header {
            self.body.take(bytes);
            return Ok(bytes.len());
        }
        // The empty line may have begun in what came before.
        let from = self.header.len().saturating_sub(3);
        self.header.extend_from_slice(bytes);
        if let Some(at) = self.header[from..].windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = self.header.split_off(from + at + 2);
            self.body.take(&rest[2..]);
            self.has_header = true;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The digest of a body (3.4.4). What may yet turn out to be the end of a line or of the body is held back as counts.
#[derive(Default)]
struct Body {
    digest: Sha256,
    is_begun: bool,
    /// Line ends that count only if something follows them.
    ends: u64,
    /// White space that counts only if the line goes on.
    has_blank: bool,
    /// A CR that is half of a line end if an LF follows.
    has_return: bool,
}

impl Body {
    fn take(&mut self, mut bytes: &[u8]) {
        while let Some(&first) = bytes.first() {
            let mut length = 1;
            match first {
                b'\n' if self.has_return => {
                    (self.has_return, self.has_blank) = (false, false);
                    self.ends += 1;
                }
                _ if self.has_return => {
                    self.has_return = false;
                    self.put(b"\r");
                    length = 0;
                }
                b'\r' => self.has_return = true,
                b' ' | b'\t' => self.has_blank = true,
                _ => {
                    length = bytes
                        .iter()
                        .skip(1)
                        .position(|b| matches!(b, b' ' | b'\t' | b'\r'))
                        .map_or(bytes.len(), |at| at + 1);
                    self.put(&bytes[..length]);
                }
            }
            bytes = &bytes[length..];
        }
    }

    fn put(&mut self, bytes: &[u8]) {
        for _ in 0..std::mem::take(&mut self.ends) {
            self.digest.update(b"\r\n");
        }
        if std::mem::take(&mut self.has_blank) {
            self.digest.update(b" ");
        }
        self.digest.update(bytes);
        self.is_begun = true;
    }

    fn finish(mut self) -> [u8; 32] {
        if self.has_return {
            self.put(b"\r");
        }
        if self.is_begun {
            self.digest.update(b"\r\n");
        }
        self.digest.finalize().into()
    }
}

/// The fields of a header: name, and all that follows the colon, folds included.
pub(super) fn fields(header: &[u8]) -> Vec<(&[u8], &[u8])> {
    let mut fields = Vec::new();
    let mut rest = header;
    while !rest.is_empty() {
        let mut end = 0;
        loop {
            end = match rest[end..].windows(2).position(|two| two == b"\r\n") {
                Some(at) => end + at + 2,
                None => rest.len(),
            };
            if !matches!(rest.get(end), Some(b' ' | b'\t')) {
                break;
            }
        }
        let (field, after) = rest.split_at(end);
        if let Some(colon) = field.iter().position(|b| *b == b':') {
            fields.push((&field[..colon], &field[colon + 1..]));
        }
        rest = after;
    }
    fields
}

/// Appends a field in canonical form (3.4.2), without its line end.
pub(super) fn push_field(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    out.extend(name.trim_ascii_end().to_ascii_lowercase());
    out.push(b':');
    let words = value.split(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n'));
    for (nth, word) in words.filter(|word| !word.is_empty()).enumerate() {
        if nth > 0 {
            out.push(b' ');
        }
        out.extend_from_slice(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn field(name: &str, value: &str) -> String {
        let mut out = Vec::new();
        push_field(&mut out, name.as_bytes(), value.as_bytes());
        String::from_utf8(out).unwrap()
    }

    /// The digest of a body that comes in pieces of `size` bytes, behind a header.
    fn body(body: &[u8], size: usize) -> [u8; 32] {
        let mut intake = Intake::default();
        for piece in [b"A: b\r\n\r\n", body].concat().chunks(size) {
            intake.write_all(piece).unwrap();
        }
        let (header, digest) = intake.finish();
        assert_eq!(header, b"A: b\r\n");
        digest
    }

    fn sha256(text: &[u8]) -> [u8; 32] {
        Sha256::digest(text).into()
    }

    #[test]
    fn the_example_of_rfc_6376_3_4_5_holds() {
        let message = b"A: X\r\nB : Y\t\r\n\tZ  \r\n\r\n C \r\nD \t E\r\n\r\n\r\n";
        let mut intake = Intake::default();
        intake.write_all(message).unwrap();
        let (header, digest) = intake.finish();
        let mut canonical = Vec::new();
        for (name, value) in fields(&header) {
            push_field(&mut canonical, name, value);
            canonical.extend_from_slice(b"\r\n");
        }
        assert_eq!(canonical, b"a:X\r\nb:Y Z\r\n");
        assert_eq!(digest, sha256(b" C\r\nD E\r\n"));
    }

    #[test]
    fn bodies_are_relaxed_wherever_they_are_cut() {
        for (given, canonical) in [
            (&b""[..], &b""[..]),
            (b"\r\n\r\n", b""),
            (b" \t\r\n\r\n", b""),
            (b"a", b"a\r\n"),
            (b"a\r\n", b"a\r\n"),
            (b"a\r\n\r\n \r\n", b"a\r\n"),
            (b"\r\n\r\na", b"\r\n\r\na\r\n"),
            (b"  a \t b\t\r\n\tc ", b" a b\r\n c\r\n"),
            (b"a\rb\r", b"a\rb\r\r\n"),
            (b"a\r\r\n", b"a\r\r\n"),
            (b"a\nb", b"a\nb\r\n"),
        ] {
            for size in [1, 2, 3, 100] {
                assert_eq!(body(given, size), sha256(canonical), "{given:?} by {size}");
            }
        }
    }

    #[test]
    fn fields_are_relaxed() {
        assert_eq!(field("SubJect \t", " a\r\n\t b  c \r\n"), "subject:a b c");
        assert_eq!(field("X", "\r\n"), "x:");
        let folded = fields(b"A: 1\r\n 2\r\nB:3\r\n");
        assert_eq!(folded, [(&b"A"[..], &b" 1\r\n 2\r\n"[..]), (b"B", b"3\r\n")]);
        assert_eq!(fields(b"no colon\r\nA:1"), [(&b"A"[..], &b"1"[..])]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// The plain reading of 3.4.4, line by line, against the one that streams.
        #[test]
        fn the_stream_digests_what_the_rules_say(
            lines in prop::collection::vec("[ \ta=.]{0,6}", 0..8),
            size in 1usize..9,
        ) {
            let text = lines.iter().map(|line| format!("{line}\r\n")).collect::<String>();
            let relaxed: Vec<String> = lines
                .iter()
                .map(|line| {
                    let words: Vec<&str> = line.split_ascii_whitespace().collect();
                    let lead = if line.starts_with([' ', '\t']) && !words.is_empty() { " " } else { "" };
                    format!("{lead}{}", words.join(" "))
                })
                .collect();
            let kept = relaxed.iter().rposition(|line| !line.is_empty()).map_or(0, |at| at + 1);
            let canonical: String = relaxed[..kept].iter().map(|line| format!("{line}\r\n")).collect();
            prop_assert_eq!(body(text.as_bytes(), size), sha256(canonical.as_bytes()));
        }
    }
}
