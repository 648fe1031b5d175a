use super::*;

#[test]
fn a_plain_mail_byte_for_byte() {
    assert_eq!(
        wire(&mail(), &letter("Hello", "Hi,\n.\nbye\n"), Vec::new()),
        "Date: Thu, 1 Jan 2026 00:00:00 +0000\r\n\
         From: Shop <shop@example.com>\r\n\
         To: b@example.net\r\n\
         Subject: Hello\r\n\
         Message-ID: <0123456789abcdef@example.com>\r\n\
         MIME-Version: 1.0\r\n\
         Auto-Submitted: auto-generated\r\n\
         Content-Type: text/plain; charset=utf-8\r\n\
         Content-Transfer-Encoding: 7bit\r\n\
         \r\n\
         Hi,\r\n.\r\nbye\r\n"
    );
}

#[test]
fn the_date_can_be_written_whatever_the_clock_says() {
    for (now, want) in [
        (i64::MIN, "Thu, 1 Jan 1970 00:00:00 +0000"),
        (2_147_483_648_000, "Tue, 19 Jan 2038 03:14:08 +0000"),
        (i64::MAX, "Fri, 31 Dec 9999 23:59:59 +0000"),
    ] {
        let outgoing =
            build(&mail(), &letter("s", "t"), Vec::new(), &Defaults::default(), now).unwrap();
        let message = String::from_utf8(bytes_of(&outgoing)).unwrap();
        assert_eq!(field(&message, "Date").unwrap(), want);
    }
}

#[test]
fn subjects_come_back_byte_for_byte() {
    let long = "x".repeat(1200);
    let words = "word ".repeat(240);
    for subject in [
        "Livraison retardée. Arrivée prévue : 5 août, 11h48",
        "Straße 5  (zwei  Leerzeichen)",
        "é a é  b é",
        "tab→é",
        "tab\tin it",
        "=?utf-8?q?literal?=",
        "two  spaces",
        &"😀".repeat(40),
        &"👨‍👩‍👧‍👦".repeat(8),
        "Восстановление Вашего пароля для учётной записи",
        &"é".repeat(300),
        &long,
        words.trim_end(),
        "",
    ] {
        let message = wire(&mail(), &letter(subject, "t"), Vec::new());
        assert_eq!(parse(&message).subject().unwrap_or_default(), subject);
    }
    let message = wire(&mail(), &letter("ends in a line end\r\n", "t"), Vec::new());
    assert_eq!(field(&message, "Subject").unwrap(), "ends in a line end");
}

#[test]
fn words_are_folded_at_76_characters() {
    let message = wire(&mail(), &letter("word ".repeat(30).trim_end(), "t"), Vec::new());
    let lines: Vec<&str> = message.split("\r\n").filter(|line| line.contains("word")).collect();
    assert_eq!(lines.len(), 3);
    assert!(lines.iter().all(|line| line.len() <= 76), "{lines:?}");
    assert!(lines[1].starts_with(" word"));
}

#[test]
fn control_characters_are_an_error_that_names_their_place() {
    for bad in ["a\r\nBcc: evil@example.org", "a\nb", "a\rb", "a\0b", "a\u{1b}b", "a\u{85}b"] {
        let told = |mail: &Mail, subject: &str| {
            let mut letter = letter(subject, "t");
            letter.html = Some("h".to_owned());
            let built = build(mail, &letter, Vec::new(), &Defaults::default(), NOW);
            let told = built.map(|_| ()).unwrap_err();
            assert!(!told.contains(|c: char| c.is_control()), "{told:?}");
            told
        };
        assert!(told(&mail(), bad).starts_with("subject: "));
        let address = format!("\"{bad}\" <e@example.org>");
        let to = Mail { to: address.clone(), ..mail() };
        assert!(told(&to, "s").starts_with("to_addrs: "));
        let bcc = Mail { bcc: address.clone(), ..mail() };
        assert!(told(&bcc, "s").starts_with("bcc_addrs: "));
        let from = Mail { from: Some(address.clone()), ..mail() };
        assert!(told(&from, "s").starts_with("from_addr: "));
        let reply_to = Mail { reply_to: Some(address), ..mail() };
        assert!(told(&reply_to, "s").starts_with("reply_to: "));
        let headers = serde_json::json!({ "X-A": bad }).to_string();
        let headers = Mail { headers, ..mail() };
        assert!(told(&headers, "s").starts_with("headers: "));
    }
}

#[test]
fn a_strange_token_becomes_a_harmless_one_of_its_own() {
    let id = |token: &str| {
        let row = Mail { message_id: token.to_owned(), ..mail() };
        let message = wire(&row, &letter("s", "t"), Vec::new());
        field(&message, "Message-ID").unwrap()
    };
    assert_eq!(id("abc-1.2"), "<abc-1.2@example.com>");
    let mut seen = HashSet::new();
    for strange in ["", "a b", "<a@b.example>", "a\r\nBcc: x", "é", "a..b", &"x".repeat(500), "ab"]
    {
        let got = id(strange);
        assert!(got.len() < 150 && got.ends_with("@example.com>"), "{got}");
        assert!(seen.insert(got));
        assert_eq!(id(strange), id(strange));
    }
}

#[test]
fn extra_headers_are_those_of_the_template_then_of_the_row() {
    let mut letter = letter("s", "t");
    letter.headers = vec![
        ("X-One".to_owned(), "of the template".to_owned()),
        ("list-unsubscribe".to_owned(), "https://example.com/u?id=1".to_owned()),
    ];
    let headers = r#"{"x-one":"of the row","X-Ünicode":"x"}"#.replace('Ü', "U");
    let row = Mail { headers, ..mail() };
    let message = wire(&row, &letter, Vec::new());
    assert_eq!(field(&message, "X-One").unwrap(), "of the row");
    assert_eq!(field(&message, "X-Unicode").unwrap(), "x");
    assert_eq!(field(&message, "list-unsubscribe").unwrap(), "<https://example.com/u?id=1>");
    assert_eq!(field(&message, "List-Unsubscribe-Post").unwrap(), "List-Unsubscribe=One-Click");
    let silent = Mail { headers: r#"{"auto-submitted":"no"}"#.to_owned(), ..mail() };
    let message = wire(&silent, &super::letter("s", "t"), Vec::new());
    assert_eq!(field(&message, "auto-submitted").unwrap(), "no");
    assert_eq!(field(&message, "Auto-Submitted"), None);
}

#[test]
fn headers_that_are_not_the_users_or_not_readable_are_an_error() {
    for headers in [
        r#"{"Bcc":"x@example.org"}"#,
        r#"{"X-A":1}"#,
        "[1]",
        "nonsense",
        r#"{"X-A":"1","x-a":"2"}"#,
    ] {
        let row = Mail { headers: headers.to_owned(), ..mail() };
        let built = build(&row, &letter("s", "t"), Vec::new(), &Defaults::default(), NOW);
        let told = built.map(|_| ()).unwrap_err();
        assert!(told.starts_with("headers: ") && !told.contains('\n'), "{told}");
    }
}
