use super::*;
use crate::domain::fault::Kind;
use proptest::prelude::*;

/// The list as (name, wire form) pairs.
fn read(text: &str) -> Vec<(Option<String>, String)> {
    parse_list(text)
        .unwrap_or_else(|fault| panic!("{text:?}: {fault}"))
        .into_iter()
        .map(|mailbox| (mailbox.name, mailbox.address.to_string()))
        .collect()
}

fn one(text: &str) -> (Option<String>, String) {
    let mut list = read(text);
    assert_eq!(list.len(), 1, "{text:?}");
    list.remove(0)
}

fn named(name: &str, address: &str) -> (Option<String>, String) {
    (Some(name.to_owned()), address.to_owned())
}

fn bare(address: &str) -> (Option<String>, String) {
    (None, address.to_owned())
}

#[test]
fn lists_are_read_as_rfc_5322_writes_them() {
    assert_eq!(read(""), []);
    assert_eq!(read(" \t "), []);
    assert_eq!(
        read("Ada <ada@example.com>, bob@example.com,<c@d.example>"),
        [named("Ada", "ada@example.com"), bare("bob@example.com"), bare("c@d.example")]
    );
    for (text, want) in [
        (r#""Doe, Jóhn" <john@example.com>"#, named("Doe, Jóhn", "john@example.com")),
        (r#""a (b) \"c\" \\d" <x@y.example>"#, named(r#"a (b) "c" \d"#, "x@y.example")),
        ("Grace  \t Hopper <g@x.example>", named("Grace Hopper", "g@x.example")),
        ("John Q. Public <j@x.example>", named("John Q. Public", "j@x.example")),
        ("Änne Müller <a@x.example>", named("Änne Müller", "a@x.example")),
        (r#""" <a@x.example>"#, bare("a@x.example")),
        (r#""  " <a@x.example>"#, bare("a@x.example")),
        ("a@x.example (Ada (the \\) first))", bare("a@x.example")),
        ("(c) Ada (d) <(e)a(f)@(g)x.example(h)>", named("Ada", "a@x.example")),
        ("Ada\r\n <ada@example.com>", named("Ada", "ada@example.com")),
        ("=?utf-8?q?Ada?= <a@x.example>", named("=?utf-8?q?Ada?=", "a@x.example")),
        ("root@localhost", bare("root@localhost")),
        ("-x@example.com", bare("-x@example.com")),
        ("--@example.com", bare("--@example.com")),
        ("\"tab\there\" <a@x.example>", named("tab here", "a@x.example")),
    ] {
        assert_eq!(one(text), want, "{text:?}");
    }
}

#[test]
fn domains_become_a_labels_in_lower_case() {
    for (text, want) in [
        ("user@bücher.example", "user@xn--bcher-kva.example"),
        ("user@BÜCHER.Example", "user@xn--bcher-kva.example"),
        ("user@XN--BCHER-KVA.example", "user@xn--bcher-kva.example"),
        ("User@EXAMPLE.NET", "User@example.net"),
        ("a@日本。例え", "a@xn--wgv71a.xn--r8jz45g"),
        ("a@[192.0.2.1]", "a@[192.0.2.1]"),
        ("a@[ipv6:2001:DB8:0::1]", "a@[IPv6:2001:db8::1]"),
    ] {
        assert_eq!(one(text), bare(want), "{text:?}");
        assert_eq!(Address::parse(text).unwrap().to_string(), want);
    }
}

#[test]
fn local_parts_are_quoted_only_where_they_must_be() {
    for (text, want) in [
        (r#""odd user"@example.com"#, r#""odd user"@example.com"#),
        (r#""simple"@example.com"#, "simple@example.com"),
        (r#""s\i\mple"@example.com"#, "simple@example.com"),
        (r#""a\"b\\"@example.com"#, r#""a\"b\\"@example.com"#),
        (r#""a..b"@example.com"#, r#""a..b"@example.com"#),
        (
            r#""victim@attacker.example x"@internal.example"#,
            r#""victim@attacker.example x"@internal.example"#,
        ),
    ] {
        let address = Address::parse(text).unwrap();
        assert_eq!(address.to_string(), want);
        assert_eq!(one(text).1, want);
        assert_eq!(Address::parse(want).unwrap(), address);
    }
    let odd = Address::parse(r#""victim@attacker.example x"@internal.example"#).unwrap();
    assert_eq!(odd.domain(), "internal.example");
    assert_ne!(Address::parse("B@EXAMPLE.NET").unwrap(), Address::parse("b@example.net").unwrap());
}

#[test]
fn smtputf8_is_needed_for_the_local_part_only() {
    assert!(Address::parse("jörg@example.de").unwrap().needs_smtputf8());
    assert!(!Address::parse("jorg@bücher.example").unwrap().needs_smtputf8());
}

#[test]
fn what_is_no_list_is_refused_and_says_why() {
    for (text, word) in [
        ("undisclosed-recipients:;", "group"),
        ("team: a@x.example, b@y.example;", "group"),
        ("a@x.example,", "ends with a comma"),
        (",a@x.example", "begins with a comma"),
        ("a@x.example,,b@x.example", "two commas"),
        ("a@x.example; b@x.example", "semicolon"),
        (r#""Ada <a@x.example>"#, "closing quote"),
        ("Ada (oops <a@x.example>", "comment is not closed"),
        ("<@a.example,@b.example:c@d.example>", "source route"),
        ("<>", "nothing between"),
        ("nonsense", "has no @"),
        ("Doe, John <j@x.example>", "has no @"),
        ("@example.com", "nothing before"),
        ("a@", "no domain"),
        ("a@ ", "no domain"),
        ("a b@example.com", "white space"),
        ("<a b@example.com>", "white space"),
        ("a@b@example.com", "follows"),
        ("a@x.example b@x.example", "follows"),
        ("a@x.example <b@x.example>", "name of another"),
        ("Ada <a@x.example", "closing >"),
        ("Ada [x] <a@x.example>", "out of place"),
        ("a..b@example.com", "dot"),
        (".a@example.com", "dot"),
        ("a@exam_ple.com", "letters, digits"),
        ("a@-x.example", "hyphens"),
        ("a@x..example", "empty part"),
        ("a@x.example.", "empty part"),
        ("a@192.0.2.1", "number"),
        ("a@[300.1.1.1]", "literal"),
        ("a@[192.0.2.1", "]"),
        (r#""foo@attacker.example> ORCPT=admin@x.example"@test.example"#, "< or >"),
        ("Eve\nX <e@example.org>", "U+000A"),
        ("Eve\r\nBcc: evil@example.org <e@example.org>", "U+000A"),
        ("Eve\r <e@example.org>", "U+000D"),
        ("Eve\0 <e@example.org>", "U+0000"),
        ("\"Eve\u{1b}[31m\" <e@example.org>", "U+001B"),
        ("\"Eve\r\n x\" <e@example.org>", "line end"),
        ("\"Eve\u{85}\" <e@example.org>", "U+0085"),
    ] {
        let fault = parse_list(text).unwrap_err();
        assert_eq!(fault.kind(), Kind::Data);
        let told = fault.to_string();
        assert!(told.contains(word), "{text:?}: {told}");
        assert!(!told.contains(|c: char| c.is_control()), "{told:?}");
    }
}

#[test]
fn lengths_are_limited() {
    let local = "l".repeat(64);
    assert!(Address::parse(&format!("{local}@example.com")).is_ok());
    assert!(Address::parse(&format!("l{local}@example.com")).is_err());
    let label = "d".repeat(63);
    assert!(Address::parse(&format!("a@{label}.example")).is_ok());
    assert!(Address::parse(&format!("a@d{label}.example")).is_err());
    let domain = [label.as_str(); 4].join(".");
    assert!(Address::parse(&format!("a@{domain}")).is_err());
    assert!(Address::parse(&format!("a@{}", "ü".repeat(1_000_000))).is_err());
    let many = vec!["a@x.example"; 100_001].join(",");
    assert!(parse_list(&many).unwrap_err().to_string().contains("100000"));
    let deep = "(".repeat(1_000_000);
    assert!(parse_list(&deep).is_err());
}

#[test]
fn a_single_address_is_nothing_but_an_address() {
    for text in [
        "",
        "a",
        "<a@x.example>",
        " a@x.example",
        "a@x.example ",
        "a@ x.example",
        "a@(c)x.example",
        "a@x.example, b@x.example",
        "Ada a@x.example",
    ] {
        assert!(Address::parse(text).is_err(), "{text:?}");
    }
}

#[test]
fn the_canonical_form_is_short_and_plain() {
    let list = parse_list(
        "\"Ada\"   Lovelace <ada@example.com> (x),b@EXAMPLE.net, \"Q. x\" <c@d.example>",
    )
    .unwrap();
    assert_eq!(
        write_list(&list),
        "Ada Lovelace <ada@example.com>, b@example.net, \"Q. x\" <c@d.example>"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_canonical_form_reads_back(names in prop::collection::vec("\\PC{0,20}", 0..4), local in "[ -~éß]{1,20}") {
        let list: Vec<Mailbox> = names.iter().filter_map(|name| {
            let address = Address::parse(&format!("{}@example.com", quoted(&local))).ok()?;
            let name = name.trim_matches(' ');
            Some(Mailbox { name: (!name.is_empty()).then(|| name.to_owned()), address })
        }).collect();
        let text = write_list(&list);
        match parse_list(&text) {
            Ok(again) => prop_assert_eq!(again, list),
            // Line separators are no control characters to the generator.
            Err(fault) => prop_assert!(fault.to_string().contains("U+202"), "{}", fault),
        }
    }

    #[test]
    fn a_domain_is_ascii_and_stays_what_it_is(text in prop_oneof!["\\PC{1,12}", "[a-zßüıς-]{1,8}\\.[日本語éΣ]{1,4}", "xn--[a-z0-9-]{1,9}"]) {
        if let Ok(address) = Address::parse(&format!("a@{text}")) {
            let is_host = |b: u8| b.is_ascii_alphanumeric() || b"-.[]:".contains(&b);
            prop_assert!(address.domain().bytes().all(is_host), "{}", address);
            prop_assert_eq!(Address::parse(&address.to_string()).unwrap(), address);
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "[a@<>,:;()\\[\\]\"\\\\. \r\n\té]{0,40}") {
        if let Ok(list) = parse_list(&text) {
            prop_assert_eq!(parse_list(&write_list(&list)).unwrap(), list);
        }
        let _ = Address::parse(&text);
    }
}
