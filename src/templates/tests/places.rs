//! Names, locales and files: what is found where, and what is refused.

use super::{Folder, text};
use crate::domain::fault::Kind;
use serde_json::json;

#[test]
fn a_name_cannot_leave_the_folder() {
    let folder = text("x").with("t/inner/subject.hbs", "S").with("t/inner/text.hbs", "x");
    for name in
        ["../t", "t/inner", "/etc", "", ".", "..", ".t", "_partials", "t\0", "t\\u", "té", "-t"]
    {
        let error = folder.templates().render(name, None, "{}").unwrap_err();
        assert!(error.contains("name"), "{name:?}: {error}");
    }
    for locale in ["../t", "..", "a/b", ".", "_partials", "x\0"] {
        let error = folder.templates().render("t", Some(locale), "{}").unwrap_err();
        assert!(error.contains("is no locale"), "{locale:?}: {error}");
    }
}

#[test]
fn an_unknown_name_gets_the_nearest() {
    let folder = Folder::new().with("invoice/subject.hbs", "S").with("invoice/text.hbs", "x");
    let fault = folder.templates().check("invioce", None, &json!({})).unwrap_err();
    assert_eq!(fault.kind(), Kind::Data);
    assert!(fault.to_string().starts_with("no template `invioce` ("), "{fault}");
    assert!(fault.to_string().ends_with("invioce/subject.hbs is missing)"), "{fault}");
    assert_eq!(fault.next_step(), Some("did you mean `invoice`?"));
}

#[test]
fn a_locale_is_picked_file_by_file() {
    let folder = Folder::new()
        .with("t/subject.hbs", "base")
        .with("t/text.hbs", "base {{> foot}}")
        .with("t/pt/subject.hbs", "pt")
        .with("t/pt-BR/text.hbs", "br {{> foot}}")
        .with("_partials/foot.hbs", "foot")
        .with("_partials/pt/foot.hbs", "rodapé");
    let templates = folder.templates();
    let seen = |locale| {
        let letter = templates.render("t", locale, "{}").unwrap();
        (letter.subject, letter.text.unwrap())
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(seen(None), pair("base", "base foot"));
    assert_eq!(seen(Some("pt")), pair("pt", "base rodapé"));
    assert_eq!(seen(Some("pt-BR")), pair("pt", "br rodapé"));
    assert_eq!(seen(Some("pt_BR")), pair("pt", "br rodapé"));
    assert_eq!(seen(Some("tr")), pair("base", "base foot"));
    let warnings = templates.check("t", Some("tr"), &json!({})).unwrap();
    assert!(warnings[0].contains("`tr`"), "{warnings:?}");
    assert!(templates.check("t", Some("pt"), &json!({})).unwrap().is_empty());
}

#[test]
fn files_that_are_no_templates_are_told() {
    let latin = text("x").with("t/text.hbs", b"a\nb\xff");
    assert_eq!(latin.error("{}"), "t/text.hbs:2: not UTF-8 (save the file as UTF-8)");
    let folder = Folder::new().with("t/subject.hbs", "S").with("t/text.hbs/file", "").error("{}");
    assert!(folder.contains("t/text.hbs is no regular file"), "{folder}");
    let none = Folder::new().with("t/subject.hbs", "S").error("{}");
    assert!(none.contains("neither text.hbs nor html.hbs"), "{none}");
    let no_subject = Folder::new().with("t/text.hbs", "S").error("{}");
    assert!(no_subject.contains("t/subject.hbs is missing"), "{no_subject}");
}

#[test]
fn a_corrected_template_serves_the_next_run() {
    let folder = text("{{#if x");
    let error = folder.error(r#"{"x":1}"#);
    assert!(error.starts_with("t/text.hbs:1:"), "{error}");
    let folder = folder.with("t/text.hbs", "ok {{x}}");
    assert_eq!(folder.letter(r#"{"x":1}"#).text.unwrap(), "ok 1");
}

#[test]
fn a_template_is_read_once_a_run_and_the_folder_goes_first() {
    let folder = text("one").with("welcome/subject.hbs", "own").with("welcome/text.hbs", "own");
    let templates = folder.templates();
    assert_eq!(templates.render("t", None, "{}").unwrap().text.unwrap(), "one");
    let folder = folder.with("t/text.hbs", "two");
    assert_eq!(templates.render("t", None, "{}").unwrap().text.unwrap(), "one");
    assert_eq!(folder.letter("{}").text.unwrap(), "two");
    assert_eq!(templates.render("welcome", None, "{}").unwrap().subject, "own");
    assert!(templates.names().contains(&"t".to_owned()));
    assert!(templates.names().contains(&"message".to_owned()));
    assert!(folder.path().is_dir());
}

#[test]
fn message_prints_what_was_typed() {
    let templates = super::super::Templates::new(None);
    let render = |parameters: &str| templates.render("message", None, parameters);
    let letter = render(r#"{"subject":"{{x}} & é\n","body":"{{#if y}} <b>\r\n"}"#).unwrap();
    assert_eq!(letter.subject, "{{x}} & é");
    assert_eq!(letter.text.as_deref(), Some("{{#if y}} <b>\r\n"));
    assert_eq!(letter.html, None);
    let html = render(r#"{"subject":"s","html":"<p>{{x}} &amp; <b>y</b></p>"}"#).unwrap();
    assert_eq!(html.html.as_deref(), Some("<p>{{x}} &amp; <b>y</b></p>"));
    assert!(html.text.unwrap().contains("{{x}} & y"));
    assert_eq!(render(r#"{"subject":"s","body":""}"#).unwrap().text.as_deref(), Some(""));
    assert!(render(r#"{"subject":"s"}"#).unwrap_err().contains("`body` is missing"));
    assert!(render(r#"{"body":"s"}"#).unwrap_err().contains("`subject` is missing"));
    assert!(render("[1]").unwrap_err().contains("no JSON object"));
    assert!(render("not json").unwrap_err().contains("no JSON"));
    let unused = templates.check("message", None, &json!({"subject": 1, "body": "b", "x": 1}));
    assert_eq!(unused.unwrap().len(), 1);
}

#[test]
fn a_folders_own_message_wraps_what_is_typed() {
    let folder = Folder::new()
        .with("message/subject.hbs", "[Acme] {{subject}}")
        .with("message/text.hbs", "{{optional body}}")
        .with("message/html.hbs", "{{#> layout}}{{{optional html}}}{{/layout}}");
    let letter = folder
        .templates()
        .render("message", None, r#"{"subject":"s","html":"<b>{{x}}</b>"}"#)
        .unwrap();
    assert_eq!(letter.subject, "[Acme] s");
    assert!(letter.html.unwrap().contains("<b>{{x}}</b>"));
    assert!(letter.text.unwrap().contains("{{x}}"));
}

#[test]
fn senders_share_one_set_of_templates() {
    let templates = super::super::Templates::new(None);
    std::thread::scope(|scope| {
        for sender in 0..4 {
            let templates = &templates;
            scope.spawn(move || {
                for mail in 0..50 {
                    let name = format!("{sender}-{mail}");
                    let parameters = json!({ "name": name }).to_string();
                    let letter = templates.render("welcome", None, &parameters).unwrap();
                    assert_eq!(letter.subject, format!("Welcome, {name}"));
                }
            });
        }
    });
}
