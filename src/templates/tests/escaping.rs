//! What a value may become in each part: text, mark-up, or a header, and never two headers.

use super::{Folder, text};

const ODD: &str = r#"{"name":"Smith & Sons <b>'\"=`","url":"https://x.example/?a=1&b=2"}"#;

const LONG: &str = "https://x.example/a-path-that-is-longer-than-a-line-of-a-mail-should-be-but-must-not-be-cut/0123456789";

#[test]
fn html_escapes_and_nothing_else_does() {
    let all = "{{> both}} {{{name}}} {{default none url}}";
    let folder = Folder::new()
        .with("t/subject.hbs", all)
        .with("t/text.hbs", all)
        .with("t/html.hbs", all)
        .with("t/headers.hbs", "X-Url: <{{url}}>")
        .with("_partials/both.hbs", "{{name}} {{url}}");
    let letter = folder.letter(ODD);
    let plain = "Smith & Sons <b>'\"=` https://x.example/?a=1&b=2 Smith & Sons <b>'\"=` https://x.example/?a=1&b=2";
    assert_eq!(letter.subject, plain);
    assert_eq!(letter.text.as_deref(), Some(plain));
    assert_eq!(
        letter.html.as_deref(),
        Some(
            "Smith &amp; Sons &lt;b&gt;&#39;&quot;=` https://x.example/?a=1&amp;b=2 Smith & Sons <b>'\"=` https://x.example/?a=1&amp;b=2"
        )
    );
    assert_eq!(letter.headers, [("X-Url".to_owned(), "<https://x.example/?a=1&b=2>".to_owned())]);
}

#[test]
fn the_subject_is_one_line_whatever_a_value_holds() {
    for (value, subject) in [
        ("x\\r\\nBcc: evil@example.org", "Hi x Bcc: evil@example.org"),
        ("x\\nX-Evil: 1", "Hi x X-Evil: 1"),
        ("x\\rY: 1", "Hi x Y: 1"),
        ("a\\u0000\\u001b[31mb\\u0085\\u2028c", "Hi a [31mb c"),
        ("août  zwei\\tLeer", "Hi août  zwei\tLeer"),
    ] {
        let folder = Folder::new().with("t/subject.hbs", "Hi {{{s}}}\r\n").with("t/text.hbs", "x");
        assert_eq!(folder.letter(&format!("{{\"s\":\"{value}\"}}")).subject, subject);
    }
    let two_lines = Folder::new()
        .with("t/subject.hbs", "\u{feff}{{!-- about --}}\none\ntwo\n\n")
        .with("t/text.hbs", "x");
    assert_eq!(two_lines.letter("{}").subject, "one two");
}

#[test]
fn a_value_makes_no_second_header() {
    let folder = text("x").with(
        "t/headers.hbs",
        "{{!-- for lists --}}\nList-Unsubscribe: <{{{u}}}>,\n <mailto:{{m}}>\nX-Empty: {{optional e}}\n\n{{#each tags}}\nX-Tag: {{this}}\n{{/each}}",
    );
    let letter = folder.letter(r#"{"u":"a\r\nBcc: x@y","m":"b\nX-Evil: 1","tags":["1","2\n3"]}"#);
    let names: Vec<&str> = letter.headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["List-Unsubscribe", "X-Tag", "X-Tag"]);
    assert_eq!(letter.headers[0].1, "<a Bcc: x@y>, <mailto:b X-Evil: 1>");
    assert_eq!(letter.headers[2].1, "2 3");
    let bad = text("x").with("t/headers.hbs", "X-A: 1\nno header here\n");
    assert!(bad.error("{}").starts_with("t/headers.hbs: line 2 "));
}

#[test]
fn the_text_is_made_from_the_html_where_there_is_none() {
    let folder = Folder::new().with("t/subject.hbs", "S").with(
        "t/html.hbs",
        "<html><head><title>TITLE</title><style>p{}</style></head><body><div style=\"display:none\">hid</div>\
         <table><tr><td><h1>Hello {{n}}</h1><p>Go <a href=\"https://x.example/?a=1&amp;b=2\">here</a>. Or write to <a href=\"mailto:help@x.example\">help@x.example</a>, \
         or see <a href=\"https://x.example/\">https://x.example/</a>.</p><p><a href=\"{{long}}\">there</a></p></td></tr></table></body></html>",
    );
    let letter = folder.letter(&format!("{{\"n\":\"A & B\",\"long\":\"{LONG}\"}}"));
    let made = letter.text.unwrap();
    assert!(made.contains("Hello A & B"), "{made}");
    assert!(made.contains("[here][1]"), "{made}");
    assert!(made.contains("[1]: https://x.example/?a=1&b=2"), "{made}");
    assert!(made.contains("Or write to help@x.example, or see\nhttps://x.example/."), "{made}");
    assert!(made.contains("[there][2]") && made.contains(&format!("[2]: {LONG}\n")), "{made}");
    assert!(!made.contains("TITLE") && !made.contains("hid"), "{made}");
}

#[test]
fn a_blank_part_is_left_out_where_the_other_speaks() {
    let folder = Folder::new()
        .with("t/subject.hbs", "S")
        .with("t/text.hbs", "{{optional a}}\n")
        .with("t/html.hbs", "{{optional b}}\n");
    let only_text = folder.letter(r#"{"a":"x"}"#);
    assert_eq!((only_text.text.as_deref(), only_text.html), (Some("x\n"), None));
    let only_html = folder.letter(r#"{"b":"y"}"#);
    assert_eq!(only_html.text.as_deref(), Some("y\n"));
    assert!(only_html.html.is_some());
    let none = folder.letter("{}");
    assert_eq!((none.text.as_deref(), none.html), (Some("\n"), None));
}

#[test]
fn crlf_and_a_byte_order_mark_in_a_file_do_not_show() {
    let folder = text("\u{feff}a\r\n{{#if x}}\r\nb\r\n{{/if}}\r\nc\r\n");
    assert_eq!(folder.letter(r#"{"x":1}"#).text.unwrap(), "a\nb\nc\n");
}
