//! The templates that are compiled in, with the least and with the most that they take.

use super::super::embedded;
use crate::domain::message::Letter;
use crate::templates::Templates;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A name that escaping would change.
const NAME: &str = "Ada O'Neil & Söhne";

fn frame(mut parameters: Value) -> Value {
    for (key, value) in [
        ("product", "Acme <Cloud>"),
        ("company", "Acme Ltd."),
        ("address", "1 Long Street, Springfield"),
        ("support", "help@acme.example"),
        ("lang", "en"),
        ("url", "https://acme.example/go?a=1&b=2"),
    ] {
        parameters[key] = json!(value);
    }
    parameters
}

/// Each template with the least it takes, and with everything.
fn samples() -> Vec<(&'static str, Value, Value)> {
    let items = json!([
        {"name": "Tea & cakes", "quantity": 2, "price": "10.50"},
        {"name": "A kettle with a very long name that has to break somewhere", "quantity": 1, "price": 1234.5},
    ]);
    let articles = json!([
        {"title": "One & only", "text": "First text.", "url": "https://acme.example/1?x=1&y=2"},
        {"title": "Two", "text": "Second text, without a link."},
    ]);
    let order = json!({"number": "00042", "items": items, "total": "1255.50"});
    let mut full_order = frame(order.clone());
    for (key, value) in [
        ("name", json!(NAME)),
        ("currency", json!("USD")),
        ("date", json!("2026-11-29T10:00:00Z")),
        ("shipping", json!("4.90")),
        ("tax", json!("200.46")),
        ("deliver_to", json!([NAME, "2 Short Street", "Springfield"])),
    ] {
        full_order[key] = value;
    }
    let letter = json!({"title": "News & views", "articles": articles, "unsubscribe_url": "https://acme.example/u/1?t=x&l=2"});
    let mut full_letter = frame(letter.clone());
    full_letter["intro"] = json!("What happened in November, and what comes next.");
    full_letter["preheader"] = json!("Two things to read.");
    full_letter["list_id"] = json!("news.acme.example");
    let alert = json!({"host": "db1", "service": "disk", "state": "CRITICAL", "message": "/ 97% used\n<10 GB & falling"});
    let mut full_alert = frame(alert.clone());
    full_alert["at"] = json!("2026-11-29T10:00:00Z");
    let reset = json!({"url": "https://acme.example/r?t=1&u=2"});
    let mut full_reset = frame(json!({"name": NAME, "valid": "one hour"}));
    full_reset["from"] = json!("192.0.2.1");
    vec![
        ("alert", alert, full_alert),
        ("newsletter", letter, full_letter),
        ("order_confirmation", order, full_order),
        ("password_reset", reset, full_reset),
        ("welcome", json!({"name": NAME}), frame(json!({"name": NAME}))),
    ]
}

fn render(name: &str, parameters: &Value) -> Letter {
    let templates = Templates::new(None);
    assert_eq!(templates.check(name, None, parameters).unwrap(), [""; 0], "{name}");
    templates.render(name, None, &parameters.to_string()).unwrap()
}

#[test]
fn every_shipped_template_renders_with_the_least_and_with_everything() {
    for (name, least, most) in samples() {
        for parameters in [&least, &most] {
            let letter = render(name, parameters);
            let (text, html) = (letter.text.unwrap(), letter.html.unwrap());
            for (part, shown) in [("subject", &letter.subject), ("text", &text), ("html", &html)] {
                for mark in ["{{", "}}", "[object", "parameters are told"] {
                    assert!(!shown.contains(mark), "{name} {part}: {shown}");
                }
                assert!(!shown.trim().is_empty(), "{name} {part}");
            }
            for shown in [&letter.subject, &text] {
                assert!(!shown.contains("&amp;") && !shown.contains("&#"), "{name}: {shown}");
            }
            assert!(!html.contains("<Cloud>") && !html.contains("& S"), "{name}: {html}");
            assert!(!text.contains("\n\n\n"), "{name}: two empty lines: {text}");
            assert!(!text.starts_with('\n') && text.ends_with('\n'), "{name}: {text:?}");
            assert!(html.starts_with("<!DOCTYPE html>"), "{name}: {html}");
            assert!(!html.contains("<img") && !html.contains("url("), "{name}: loads something");
        }
        let required = Templates::new(None).check(name, None, &json!({})).unwrap_err();
        assert!(required.to_string().starts_with(name), "{required}");
    }
}

#[test]
fn the_texts_read_as_meant() {
    let welcome = render("welcome", &json!({"name": "Ada"}));
    assert_eq!(welcome.subject, "Welcome, Ada");
    assert_eq!(
        welcome.text.unwrap(),
        "Hello Ada,\n\nwelcome! Your account is ready.\n\n\
         If you did not sign up, you need not do anything: just delete this mail.\n"
    );
    let (_, _, order) = samples().remove(2);
    let text = render("order_confirmation", &order).text.unwrap();
    assert!(text.contains("  2 x Tea & cakes\n      $10.50 each\n"), "{text}");
    assert!(text.contains("\n  Total: $1,255.50\n  Tax included: $200.46\n"), "{text}");
    let alert = render("alert", &samples().remove(0).1);
    assert_eq!(alert.subject, "CRITICAL: disk on db1");
    assert!(alert.text.unwrap().ends_with("\n/ 97% used\n<10 GB & falling\n"));
}

#[test]
fn the_newsletter_can_be_left_with_one_click() {
    let (_, least, most) = samples().remove(1);
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let two = [
        pair("List-Unsubscribe", "<https://acme.example/u/1?t=x&l=2>"),
        pair("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"),
    ];
    assert_eq!(render("newsletter", &least).headers, two);
    let headers = render("newsletter", &most).headers;
    assert_eq!(headers[2], pair("List-Id", "<news.acme.example>"));
}

#[test]
fn every_file_of_the_folder_is_compiled_in() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
    let mut there = BTreeSet::new();
    for folder in fs::read_dir(&root).unwrap() {
        let folder = folder.unwrap().path();
        for file in fs::read_dir(&folder).unwrap() {
            let path = file.unwrap().path();
            let path = path.strip_prefix(&root).unwrap().to_str().unwrap();
            there.insert(path.to_owned());
        }
    }
    let compiled: BTreeSet<String> = embedded::names().map(str::to_owned).collect();
    assert_eq!(compiled, there);
    let names = Templates::new(None).names();
    let shipped =
        ["alert", "message", "newsletter", "order_confirmation", "password_reset", "welcome"];
    assert_eq!(names, shipped);
}
