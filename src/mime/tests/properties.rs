use super::*;
use crate::domain::address::quoted;
use crate::domain::header::is_control;
use mail_parser::{HeaderForm, HeaderName, MimeHeaders as _};
use proptest::prelude::*;
use tempfile::TempDir;

/// Any text, with what is special on the wire more often than by chance.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<String>(),
        "[ -~]{0,100}",
        Just("\r\n.\r\n".to_owned()),
        Just("\r".to_owned()),
        Just("\n".to_owned()),
        Just("=?utf-8?q?x?=".to_owned()),
        Just("From ".to_owned()),
        Just(" \t".to_owned()),
        Just("\0".to_owned()),
        Just("--=_a_0123456789abcdef".to_owned()),
        "é{0,90}",
        "x{0,1100}",
    ];
    prop::collection::vec(piece, 0..5).prop_map(|pieces| pieces.concat())
}

/// The same without what a header may not hold.
fn line() -> impl Strategy<Value = String> {
    text().prop_map(|text| text.chars().filter(|c| !is_control(*c)).collect())
}

/// What the lines of a text are, however they end.
fn lines(text: &str) -> Vec<String> {
    let mut text = text.to_owned();
    while text.contains("\r\r\n") {
        text = text.replace("\r\r\n", "\r\n");
    }
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let text = text.strip_suffix('\n').unwrap_or(&text);
    text.split('\n').map(str::to_owned).collect()
}

/// A header that the parser does not know, decoded.
fn of_text(message: &Message, name: &'static str) -> String {
    let values = message.header_as(HeaderName::Other(name.into()), HeaderForm::Text);
    values[0].as_text().unwrap_or_default().to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_letter_comes_back_and_is_sound_on_the_wire(subject in line(), body in text(), html in text()) {
        let letter = Letter { html: Some(html.clone()), ..letter(&subject, &body) };
        let message = wire(&mail(), &letter, Vec::new());
        let parsed = parse(&message);
        prop_assert_eq!(parsed.subject().unwrap_or_default(), &subject);
        for (part, want) in [(&parsed.parts[1], &body), (&parsed.parts[2], &html)] {
            let got = String::from_utf8(part.contents().to_vec()).unwrap();
            prop_assert_eq!(lines(&got), lines(want));
        }
    }

    #[test]
    fn any_name_comes_back(name in line(), extra in line()) {
        let name = name.replace('\t', " ");
        let name = name.trim_matches(' ');
        let row = Mail {
            to: format!("{} <a@x.example>, b@x.example", quoted(name)),
            headers: serde_json::json!({ "X-Extra": format!("x{extra}x") }).to_string(),
            ..mail()
        };
        let message = wire(&row, &letter("s", "t"), Vec::new());
        let parsed = parse(&message);
        let to = parsed.to().unwrap().first().unwrap();
        prop_assert_eq!(to.name().unwrap_or_default(), name);
        prop_assert_eq!(to.address().unwrap(), "a@x.example");
        prop_assert_eq!(parsed.to().unwrap().iter().count(), 2);
        prop_assert_eq!(of_text(&parsed, "X-Extra"), format!("x{extra}x"));
    }

    #[test]
    fn any_file_name_comes_back(name in "\\PC{0,120}") {
        let room = TempDir::new().unwrap();
        let path = room.path().join("f");
        std::fs::write(&path, b"abc").unwrap();
        let message = wire(&mail(), &letter("s", "t"), vec![enclosure(&path, &name, None)]);
        let parsed = parse(&message);
        let got = parsed.attachment(0).unwrap().attachment_name().unwrap();
        let last = name.rsplit('/').next().unwrap().trim();
        prop_assert!(got.chars().zip(last.chars()).all(|(got, want)| got == want || got == '_')
            || got == "attachment", "{:?} for {:?}", got, name);
        prop_assert!(got.chars().count() == last.chars().count() || got == "attachment");
        prop_assert_eq!(parsed.attachment(0).unwrap().contents(), b"abc");
    }

    #[test]
    fn no_row_makes_a_panic_or_a_fault(to in text(), headers in text(), token in text(), subject in text()) {
        let row = Mail { to, headers, message_id: token, ..mail() };
        let built = build(&row, &letter(&subject, "t"), Vec::new(), &Defaults::default(), NOW);
        match built {
            Ok(outgoing) => prop_assert_eq!(faults(&bytes_of(&outgoing)), Vec::<String>::new()),
            Err(told) => prop_assert!(!told.contains(|c: char| c.is_control())),
        }
    }
}
