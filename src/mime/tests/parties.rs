use super::*;

#[test]
fn sixty_recipients_are_folded_between_addresses() {
    for form in [
        |n: usize| format!("user{n:03}.with.long.local.part@subdomain.example.net"),
        |n: usize| format!("\"Änne {n:03}\" <u{n:03}@example.net>"),
        |n: usize| format!("\"Doe, John {n:03}\" <u{n:03}@example.net>"),
    ] {
        let list: Vec<String> = (0..60).map(form).collect();
        let row = Mail { to: list.join(", "), ..mail() };
        let message = wire(&row, &letter("s", "t"), Vec::new());
        let parsed = parse(&message);
        let got: Vec<_> = parsed.to().unwrap().iter().collect();
        let want = parse_list(&row.to).unwrap();
        assert_eq!(got.len(), 60);
        for (got, want) in got.iter().zip(&want) {
            assert_eq!(got.address().unwrap(), want.address.to_string());
            assert_eq!(got.name(), want.name.as_deref());
        }
        assert!(message.split("\r\n").all(|line| line.len() <= 78));
        assert_eq!(recipients(&row).unwrap().len(), 60);
    }
}

#[test]
fn names_are_atoms_quoted_or_encoded() {
    for (name, want) in [
        ("Ada Lovelace", "Ada Lovelace <a@x.example>"),
        ("\"Doe, Jane\"", "\"Doe, Jane\" <a@x.example>"),
        (r#""a \"b\" \\""#, r#""a \"b\" \\" <a@x.example>"#),
        ("\"Doe, Jóhn\"", "=?utf-8?q?Doe=2C_J=C3=B3hn?= <a@x.example>"),
        ("=?utf-8?q?x?=", "=?utf-8?b?PT91dGYtOD9xP3g/PQ==?= <a@x.example>"),
        ("Ж", "=?utf-8?b?0JY=?= <a@x.example>"),
    ] {
        let row = Mail { to: format!("{name} <a@x.example>"), ..mail() };
        let message = wire(&row, &letter("s", "t"), Vec::new());
        assert_eq!(field(&message, "To").unwrap(), want);
        assert!(!message.contains("\"=?"));
    }
}

#[test]
fn each_address_once_and_bcc_in_the_envelope_only() {
    let row = Mail {
        to: "b@example.net, b@Example.net, a@x.example".to_owned(),
        cc: "B@EXAMPLE.NET, a@x.example".to_owned(),
        bcc: "b@example.net, hidden@x.example".to_owned(),
        ..mail()
    };
    let outgoing = build(&row, &letter("s", "t"), Vec::new(), &Defaults::default(), NOW).unwrap();
    let told: Vec<String> = outgoing.envelope.recipients.iter().map(Address::to_string).collect();
    assert_eq!(told, ["b@example.net", "a@x.example", "B@example.net", "hidden@x.example"]);
    assert_eq!(outgoing.envelope.sender.to_string(), "shop@example.com");
    let message = String::from_utf8(bytes_of(&outgoing)).unwrap();
    assert_eq!(field(&message, "To").unwrap(), "b@example.net, a@x.example");
    assert_eq!(field(&message, "Cc").unwrap(), "B@example.net");
    assert!(!message.contains("hidden") && !message.to_lowercase().contains("bcc"));

    let rest = Mail {
        delivered: vec!["b@EXAMPLE.net".to_owned()],
        refused: BTreeMap::from([("a@x.example".to_owned(), "550".to_owned())]),
        ..row
    };
    let left: Vec<String> = recipients(&rest).unwrap().iter().map(Address::to_string).collect();
    assert_eq!(left, ["B@example.net", "hidden@x.example"]);
    // The header still names everybody the mail is for.
    let message = wire(&rest, &letter("s", "t"), Vec::new());
    assert_eq!(field(&message, "To").unwrap(), "b@example.net, a@x.example");
}

#[test]
fn a_mail_to_nobody_in_sight_has_a_valid_header() {
    let row = Mail { to: String::new(), bcc: "c@example.org".to_owned(), ..mail() };
    let message = wire(&row, &letter("s", "t"), Vec::new());
    assert_eq!(field(&message, "To").unwrap(), "undisclosed-recipients:;");
    let copied = Mail { cc: "d@example.org".to_owned(), ..row };
    let message = wire(&copied, &letter("s", "t"), Vec::new());
    assert_eq!(field(&message, "To"), None);
    let nobody = Mail { to: String::new(), ..mail() };
    assert!(build(&nobody, &letter("s", "t"), Vec::new(), &Defaults::default(), NOW).is_err());
}

#[test]
fn the_sender_comes_from_the_row_or_the_defaults() {
    let row = Mail { from: None, ..mail() };
    let none = build(&row, &letter("s", "t"), Vec::new(), &Defaults::default(), NOW);
    assert!(none.map(|_| ()).unwrap_err().starts_with("from_addr"));
    let defaults = Defaults {
        from: parse_list("Default <d@bücher.example>").unwrap().pop(),
        reply_to: parse_list("r@example.com").unwrap(),
    };
    let outgoing = build(&row, &letter("s", "t"), Vec::new(), &defaults, NOW).unwrap();
    assert_eq!(outgoing.message_id, "0123456789abcdef@xn--bcher-kva.example");
    let message = String::from_utf8(bytes_of(&outgoing)).unwrap();
    assert_eq!(field(&message, "From").unwrap(), "Default <d@xn--bcher-kva.example>");
    assert_eq!(field(&message, "Reply-To").unwrap(), "r@example.com");
    let two = Mail { from: Some("a@x.example, b@x.example".to_owned()), ..mail() };
    assert!(build(&two, &letter("s", "t"), Vec::new(), &defaults, NOW).is_err());
}

#[test]
fn a_local_part_beyond_ascii_is_raw_only_where_nobody_else_is_asked() {
    let row = Mail { to: "Jörg <jörg@example.de>".to_owned(), ..mail() };
    let outgoing = build(&row, &letter("s", "t"), Vec::new(), &Defaults::default(), NOW).unwrap();
    let message = String::from_utf8(bytes_of(&outgoing)).unwrap();
    assert_eq!(field(&message, "To").unwrap(), "=?utf-8?b?SsO2cmc=?= <jörg@example.de>");
    let mixed = Mail { to: "Jörg <jörg@example.de>, a@x.example".to_owned(), ..mail() };
    let message = wire(&mixed, &letter("s", "t"), Vec::new());
    assert_eq!(
        field(&message, "To").unwrap(),
        "=?utf-8?b?SsO2cmcgasO2cmdAZXhhbXBsZS5kZQ==?= :;, a@x.example"
    );
}

/// Everybody who is still to get `mail`.
fn recipients(mail: &Mail) -> Result<Vec<Address>, String> {
    Lists::of(mail).map(|lists| lists.waiting(mail))
}
