use super::*;
use sha2::{Digest, Sha256};
use std::fs;
use std::io;
use tempfile::TempDir;

fn both(html: &str) -> Letter {
    Letter { html: Some(html.to_owned()), ..letter("s", "text\n") }
}

/// The types of the parts, indented by depth.
fn tree(message: &str) -> Vec<String> {
    let mut depth = 0;
    let mut tree = Vec::new();
    let mut open: Vec<String> = Vec::new();
    for line in message.replace("\r\n ", " ").split("\r\n") {
        if let Some(rest) = line.strip_prefix("Content-Type: ") {
            let media = rest.split(';').next().unwrap_or_default();
            tree.push(format!("{}{media}", " ".repeat(depth)));
            if let Some((_, boundary)) = rest.split_once("boundary=\"") {
                open.push(format!("--{}--", boundary.trim_end_matches('"')));
                depth += 1;
            }
        } else if open.last().is_some_and(|end| end == line) {
            open.pop();
            depth -= 1;
        }
    }
    assert!(open.is_empty(), "an open multipart: {open:?}");
    tree
}

#[test]
fn the_parts_are_nested_as_readers_expect() {
    let room = TempDir::new().unwrap();
    let path = room.path().join("logo.png");
    fs::write(&path, b"\x89PNG").unwrap();
    let logo = || enclosure(&path, "logo.png", Some("logo"));
    let pdf = || enclosure(&path, "a.pdf", None);
    let of = |letter: &Letter, files| tree(&wire(&mail(), letter, files));
    assert_eq!(of(&letter("s", "t"), vec![]), ["text/plain"]);
    assert_eq!(of(&both("<p>"), vec![]), ["multipart/alternative", " text/plain", " text/html"]);
    assert_eq!(
        of(&both("<p>"), vec![pdf(), enclosure(&path, "b.txt", None)]),
        [
            "multipart/mixed",
            " multipart/alternative",
            "  text/plain",
            "  text/html",
            " application/pdf",
            " text/plain"
        ]
    );
    assert_eq!(
        of(&both("<img src=cid:logo>"), vec![pdf(), logo()]),
        [
            "multipart/mixed",
            " multipart/related",
            "  multipart/alternative",
            "   text/plain",
            "   text/html",
            "  image/png",
            " application/pdf"
        ]
    );
    assert_eq!(
        of(&letter("s", "t"), vec![logo()]),
        ["multipart/mixed", " text/plain", " image/png"]
    );
    let html = Letter { text: None, ..both("<p>") };
    assert_eq!(of(&html, vec![logo()]), ["multipart/related", " text/html", " image/png"]);
    assert_eq!(of(&Letter::default(), vec![]), ["text/plain"]);
}

#[test]
fn a_nested_mail_byte_for_byte() {
    let room = TempDir::new().unwrap();
    let path = room.path().join("x");
    fs::write(&path, b"abc").unwrap();
    let files = vec![enclosure(&path, "l.png", Some("logo")), enclosure(&path, "a b.pdf", None)];
    let message = wire(&mail(), &both("<p>é"), files);
    let at = message.find("Content-Type").unwrap();
    assert_eq!(
        &message[at..],
        "Content-Type: multipart/mixed; boundary=\"=_x_0123456789abcdef\"\r\n\
         \r\n--=_x_0123456789abcdef\r\n\
         Content-Type: multipart/related; type=\"multipart/alternative\";\r\n \
         boundary=\"=_r_0123456789abcdef\"\r\n\
         \r\n--=_r_0123456789abcdef\r\n\
         Content-Type: multipart/alternative; boundary=\"=_a_0123456789abcdef\"\r\n\
         \r\n--=_a_0123456789abcdef\r\n\
         Content-Type: text/plain; charset=utf-8\r\n\
         Content-Transfer-Encoding: 7bit\r\n\r\n\
         text\r\n\
         \r\n--=_a_0123456789abcdef\r\n\
         Content-Type: text/html; charset=utf-8\r\n\
         Content-Transfer-Encoding: quoted-printable\r\n\r\n\
         <p>=C3=A9\r\n\
         \r\n--=_a_0123456789abcdef--\r\n\
         \r\n--=_r_0123456789abcdef\r\n\
         Content-Type: image/png\r\n\
         Content-Transfer-Encoding: base64\r\n\
         Content-Disposition: inline; filename=\"l.png\"\r\n\
         Content-ID: <logo>\r\n\r\n\
         YWJj\r\n\
         \r\n--=_r_0123456789abcdef--\r\n\
         \r\n--=_x_0123456789abcdef\r\n\
         Content-Type: application/pdf\r\n\
         Content-Transfer-Encoding: base64\r\n\
         Content-Disposition: attachment; filename=\"a b.pdf\"\r\n\r\n\
         YWJj\r\n\
         \r\n--=_x_0123456789abcdef--\r\n"
    );
}

#[test]
fn a_text_that_looks_like_a_boundary_is_encoded() {
    let text = "x\n--=_a_0123456789abcdef--\ny\n";
    let body = Letter { text: Some(text.to_owned()), ..both("<p>") };
    let message = wire(&mail(), &body, Vec::new());
    assert_eq!(message.matches("\r\n--=_a_0123456789abcdef--\r\n").count(), 1);
    assert_eq!(parse(&message).body_text(0).unwrap(), text.replace('\n', "\r\n"));
}

#[test]
fn file_names_come_back_without_what_could_harm() {
    let room = TempDir::new().unwrap();
    let path = room.path().join("x");
    fs::write(&path, b"abc").unwrap();
    let long = format!("{}.pdf", "größe ".repeat(40));
    for (name, want) in [
        ("Töööst.pdf", "Töööst.pdf"),
        ("今日は世.txt", "今日は世.txt"),
        ("😀.txt", "😀.txt"),
        ("it's 100%.txt", "it's 100%.txt"),
        ("semi;colon.pdf", "semi;colon.pdf"),
        ("report.txt\"; filename=\"payload.exe", "report.txt\"; filename=\"payload.exe"),
        ("back\\slash.txt", "back_slash.txt"),
        ("a\r\nX-Evil: 1.txt", "a__X-Evil: 1.txt"),
        ("../../etc/passwd", "passwd"),
        ("exe\u{202e}fdp.exe", "exe_fdp.exe"),
        ("", "attachment"),
        ("..", "attachment"),
        (&long, &long),
        (&"x".repeat(255), &"x".repeat(255)),
    ] {
        let message = wire(&mail(), &letter("s", "t"), vec![enclosure(&path, name, None)]);
        let parsed = parse(&message);
        let got: Vec<_> = parsed.attachments().collect();
        assert_eq!(got.len(), 1);
        use mail_parser::MimeHeaders as _;
        assert_eq!(got[0].attachment_name().unwrap(), want);
        assert!(!message.contains("\r\nX-Evil"));
        assert!(message.split("\r\n").all(|line| line.len() <= 78), "{message}");
    }
}

#[test]
fn types_come_from_the_row_or_the_name() {
    let room = TempDir::new().unwrap();
    let path = room.path().join("x");
    fs::write(&path, "é").unwrap();
    let bad = room.path().join("bad");
    fs::write(&bad, b"\xff").unwrap();
    let of = |path: &Path, name: &str, given: Option<&str>| {
        let mut file = enclosure(path, name, None);
        file.attachment.content_type = given.map(str::to_owned);
        let built = build(&mail(), &letter("s", "t"), vec![file], &Defaults::default(), NOW);
        let message = String::from_utf8(bytes_of(&built?)).unwrap();
        let (_, part) = message.rsplit_once("Content-Type: ").unwrap();
        Ok::<_, String>(part.split("\r\n").next().unwrap_or_default().to_owned())
    };
    for (name, given, want) in [
        ("a.pdf", None, "application/pdf"),
        ("a", None, "application/octet-stream"),
        ("a.eml", None, "application/octet-stream"),
        ("a.csv", None, "text/csv; charset=utf-8"),
        (
            "a",
            Some("Text/Calendar; method=\"REQUEST\""),
            "text/calendar; method=REQUEST; charset=utf-8",
        ),
        ("a", Some("message/rfc822"), "application/octet-stream"),
        ("a", Some("message/rfc822; name=x"), "application/octet-stream"),
        ("a", Some("text/plain;"), "text/plain; charset=utf-8"),
        ("a", Some("text/plain ; ; charset = \"UTF-8\" ;charset=x"), "text/plain; charset=UTF-8"),
        ("a", Some("text/plain; name=\"a b; c\""), "text/plain; name=\"a b; c\"; charset=utf-8"),
        ("a", Some("a/b; name*0*=utf-8''%C3%A9; name*1=x; x=1"), "a/b; x=1"),
        ("a", Some("a/b; name=a b.pdf; x=1"), "a/b; name=\"a b.pdf\"; x=1"),
        ("a", Some("a/b; name=\"d\\\"é\""), "a/b; name*=utf-8''d%22%C3%A9"),
    ] {
        assert_eq!(of(&path, name, given).unwrap(), want, "{name} {given:?}");
    }
    assert_eq!(of(&bad, "a.txt", None).unwrap(), "text/plain");
    for given in [
        "",
        "text",
        "text/",
        "a/b\r\nX-Evil: 1",
        "a/b; x",
        "a/b; c=\"d",
        "é/b",
        "a/b; =x",
        "a/b; x=",
        "a/b; x=\"a\"b",
    ] {
        let told = of(&path, "a", Some(given)).unwrap_err();
        assert!(told.starts_with("attachments: ") && !told.contains('\r'), "{told}");
    }
}

#[test]
fn a_cid_that_is_no_content_id_is_an_error() {
    let room = TempDir::new().unwrap();
    let path = room.path().join("x");
    fs::write(&path, b"abc").unwrap();
    for cid in ["", "a b", "a>\r\nX-Evil: 1", "é", "<>"] {
        let files = vec![enclosure(&path, "x.png", Some(cid))];
        let built = build(&mail(), &both("<p>"), files, &Defaults::default(), NOW);
        assert!(built.map(|_| ()).unwrap_err().contains("cid"), "{cid:?}");
    }
}

#[test]
fn a_large_file_is_read_while_it_is_written_and_must_be_what_it_was() {
    let room = TempDir::new().unwrap();
    let path = room.path().join("large.bin");
    let bytes: Vec<u8> = (0..700_001u32).map(|n| (n % 251) as u8).collect();
    fs::write(&path, &bytes).unwrap();
    let mut file = enclosure(&path, "large.bin", None);
    let digest = Sha256::digest(&bytes);
    file.attachment.sha256 = Some(digest.iter().map(|b| format!("{b:02x}")).collect());
    let outgoing =
        build(&mail(), &letter("s", "t"), vec![file], &Defaults::default(), NOW).unwrap();
    let message = String::from_utf8(bytes_of(&outgoing)).unwrap();
    assert_eq!(faults(message.as_bytes()), Vec::<String>::new());
    assert_eq!(parse(&message).attachment(0).unwrap().contents(), bytes);
    // Twice is the same.
    assert_eq!(bytes_of(&outgoing), message.as_bytes());

    let told = |content: &dyn Content| {
        let error = content.write_to(&mut io::sink()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        error.to_string()
    };
    let mut other = bytes.clone();
    other[650_000] ^= 1;
    for (bytes, word) in [
        (&bytes[..700_000], "shorter"),
        (&[&bytes[..], b"x"].concat(), "longer"),
        (&other[..], "not the ones"),
    ] {
        fs::write(&path, bytes).unwrap();
        let told = told(&*outgoing.content);
        assert!(told.contains(word) && told.contains("large.bin"), "{told}");
    }
    fs::remove_file(&path).unwrap();
    assert!(told(&*outgoing.content).contains("no such file"));
}

#[test]
fn every_size_about_a_line_and_a_chunk_is_told_before() {
    let room = TempDir::new().unwrap();
    for size in
        [0, 1, 2, 3, 56, 57, 58, 114, 115, 29_183, 29_184, 29_185, 262_144, 262_145, 291_840]
    {
        let path = room.path().join("f");
        let bytes: Vec<u8> = (0..size).map(|n| (n % 253) as u8).collect();
        fs::write(&path, &bytes).unwrap();
        let files = vec![enclosure(&path, "f.bin", None)];
        let message = wire(&mail(), &letter("s", "t"), files);
        assert_eq!(parse(&message).attachment(0).unwrap().contents(), bytes, "{size}");
    }
}

#[test]
fn a_small_file_that_changes_before_it_is_read_is_told_of_when_it_is_written() {
    let room = TempDir::new().unwrap();
    let path = room.path().join("f");
    fs::write(&path, b"abc").unwrap();
    let file = enclosure(&path, "f.bin", None);
    fs::write(&path, b"abcd").unwrap();
    let outgoing =
        build(&mail(), &letter("s", "t"), vec![file], &Defaults::default(), NOW).unwrap();
    let error = outgoing.content.write_to(&mut io::sink()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
}
