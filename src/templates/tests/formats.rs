//! The helpers, and the wrong calls of them that are told when a template is read.

use super::{refused, rendered};

fn one(source: &str) -> String {
    rendered(source, "{}")
}

#[test]
fn dates_take_a_pattern_and_a_zone() {
    let at = r#"{"at":"2026-11-29T23:30:00Z","ms":1795995000000,"text":"1795995000000","day":"2026-02-28"}"#;
    let berlin = "{{date at \"%d.%m.%Y %H:%M %Z\" tz=\"Europe/Berlin\"}}";
    assert_eq!(rendered(berlin, at), "30.11.2026 00:30 CET");
    assert_eq!(rendered("{{date at}}", at), "2026-11-29");
    assert_eq!(
        rendered("{{date ms \"%F %T\"}}|{{date text \"%F %T\"}}", at),
        "2026-11-29 23:30:00|2026-11-29 23:30:00"
    );
    assert_eq!(
        rendered("{{date day \"%A %-d %B\" tz=\"America/New_York\"}}", at),
        "Saturday 28 February"
    );
    assert_eq!(one("{{date \"2026-11-29 10:00:00+02:00\" \"%H:%M\"}}"), "08:00");
    assert_eq!(rendered("[{{date x}}]", r#"{"x":null}"#), "[]");
    for (source, word) in [
        ("{{date \"tomorrow\"}}", "\"tomorrow\""),
        ("{{date \"2026-11-29 10:00:00\"}}", "no RFC 3339"),
        ("{{date \"2026-11-29\" \"%Q\"}}", "%Q"),
        ("{{date \"2026-11-29\" \"%H:%M\"}}", "%H:%M"),
        ("{{date \"2026-11-29\" tz=\"Mars/Base\"}}", "Mars/Base"),
        ("{{date 99999999999999999999}}", "99999999999999999999"),
    ] {
        let error = refused(source, "{}");
        assert!(error.starts_with("t/text.hbs:1:1: `date`:"), "{error}");
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn money_has_a_locales_separators_and_exact_digits() {
    for (source, right) in [
        ("{{money \"1234567.5\" currency=\"EUR\" locale=\"de\"}}", "1.234.567,50\u{a0}€"),
        ("{{money 1234567.50 currency=\"USD\"}}", "$1,234,567.50"),
        ("{{money 1234 currency=\"CHF\" locale=\"de-CH\"}}", "CHF\u{a0}1’234.00"),
        ("{{money 1234 currency=\"JPY\" locale=\"ja\"}}", "¥1,234"),
        ("{{money \"1234567\" currency=\"INR\" locale=\"en-IN\"}}", "₹12,34,567.00"),
        ("{{money \"-0.005\" currency=\"EUR\" locale=\"fr\"}}", "-0,01\u{a0}€"),
        ("{{money \"-0.004\" currency=\"EUR\" locale=\"en\"}}", "€0.00"),
        ("{{money \"99999999999999999999.995\" locale=\"en\"}}", "100,000,000,000,000,000,000.00"),
        ("{{money \"0.1\" currency=\"KWD\" locale=\"en\"}}", "KWD\u{a0}0.100"),
        ("{{money 10 currency=\"TRY\" locale=\"tr\"}}", "₺10,00"),
        ("{{money 10 currency=\"BRL\" locale=\"pt-BR\"}}", "R$\u{a0}10,00"),
    ] {
        assert_eq!(one(source), right, "{source}");
    }
    for source in
        ["{{money \"12a\"}}", "{{money \"1e3\"}}", "{{money \"1,5\"}}", "{{money \"\u{661}\"}}"]
    {
        assert!(refused(source, "{}").contains("is no decimal number"), "{source}");
    }
    assert!(refused("{{money 1 locale=\"xx\"}}", "{}").contains("\"xx\""));
}

#[test]
fn the_mails_locale_is_moneys_own() {
    let folder = super::text("{{money 1.5 currency=\"EUR\"}}");
    let letter = folder.templates().render("t", Some("de-DE"), "{}").unwrap();
    assert_eq!(letter.text.unwrap(), "1,50\u{a0}€");
}

#[test]
fn small_helpers() {
    assert_eq!(
        one(
            "{{plural 1 \"item\" \"items\"}} {{plural \"1\" \"a\" \"b\"}} {{plural 0 \"a\" \"b\"}} {{plural 1.5 \"a\" \"b\"}}"
        ),
        "item a b b"
    );
    assert_eq!(one("{{urlencode \"a b&c=é/?~-_.\"}}"), "a%20b%26c%3D%C3%A9%2F%3F~-_.");
    assert_eq!(
        one(
            "{{truncate \"ééééé\" 3}} {{truncate \"abc\" 3}} {{truncate \"ab cd\" 4}}[{{truncate \"a\" 0}}]"
        ),
        "éé… abc ab…[]"
    );
    assert_eq!(
        rendered("{{len l}} {{len s}}{{#if (gt (len l) 1)}}!{{/if}}", r#"{"l":[1,2],"s":"éé"}"#),
        "2 2!"
    );
    assert_eq!(
        rendered(
            "{{#if (eq n 1)}}a{{/if}}{{#ne n \"2\"}}b{{/ne}}{{#if (len e)}}c{{/if}}",
            r#"{"n":"1","e":[]}"#
        ),
        "ab"
    );
    assert_eq!(one("\\{{name}} {{{{raw}}}}{{x}}{{{{/raw}}}}"), "{{name}} {{x}}");
    assert_eq!(rendered("{{lookup m k}}", r#"{"m":{"a":1.50},"k":"a"}"#), "1.50");
    assert!(refused("{{plural \"x\" \"a\" \"b\"}}", "{}").contains("\"x\""));
    assert!(refused("{{truncate \"x\" \"y\"}}", "{}").contains("\"y\""));
}

#[test]
fn a_wrong_call_is_told_when_the_template_is_read() {
    for (source, word) in [
        ("{{dat x \"y\"}}", "did you mean `date`?"),
        ("{{date}}{{date 1 2 3}}", "`date` takes 1 to 2 arguments, not 3"),
        ("{{money 1 curency=\"EUR\"}}", "`money` has no argument `curency=`"),
        ("{{#date 1}}x{{/date}}", "`date` is no block"),
        ("{{if x 1}}", "`if` is a block"),
        ("{{#if}}x{{/if}}", "`if` takes 1 arguments, not 0"),
        ("{{log 1}}", "there is no helper `log`"),
        ("{{#if x}}", "1:"),
        ("{{#if x}}a{{/each}}", "{{/each}} closes {{#if}}"),
        ("{{> nix}}", "no partial `nix`"),
        ("{{/if}}", "does not parse"),
        ("{{else}}", "does not parse"),
        ("{{x", "does not parse"),
    ] {
        let error = refused(source, r#"{"x":1}"#);
        assert!(error.starts_with("t/text.hbs:1:"), "{source}: {error}");
        assert!(error.contains(word), "{source}: {error}");
    }
}
