//! Templates and parameters that are anything at all: a letter or one line that says why not.

use super::*;
use proptest::prelude::*;

/// Any text, and what means something in a template.
fn source() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        2 => any::<String>(),
        8 => prop::sample::select(vec![
            "{{", "}}", "{{{", "}}}", "{{a}}", "{{a.b.c}}", "{{../a}}", "{{this}}", "{{@index}}", "{{#if a}}",
            "{{/if}}", "{{else}}", "{{#each a}}", "{{/each}}", "{{#with a}}", "{{/with}}", "{{> p}}", "{{!-- ",
            "--}}", "{{~", "~}}", "{{date a \"%Y\" tz=\"Europe/Berlin\"}}", "{{money a locale=\"de\"}}",
            "{{plural a \"x\" \"y\"}}", "{{default a \"x\"}}", "{{truncate a 3}}", "{{urlencode a}}",
            "{{#if (optional a)}}", "{{lookup a b}}", "{{a.[0]}}", "\\{{a}}", "(", ")", "\"", "=", "<p>", "&",
        ]).prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn parameters() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        any::<f64>()
            .prop_filter("JSON has no others", |n| n.is_finite())
            .prop_map(|n| n.to_string()),
        any::<i64>().prop_map(|n| n.to_string()),
        any::<String>().prop_map(|text| serde_json::Value::from(text).to_string()),
        Just("99999999999999999999999999".to_owned()),
        Just("1e999".to_owned()),
    ];
    let value = leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|all| format!("[{}]", all.join(","))),
            (inner.clone(), inner).prop_map(|(a, b)| format!("{{\"a\":{a},\"b\":{b}}}")),
        ]
    });
    prop_oneof![
        8 => (value.clone(), value).prop_map(|(a, b)| format!("{{\"a\":{a},\"b\":{b}}}")),
        1 => any::<String>(),
    ]
}

fn cases() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: usual.cases.max(1_000), failure_persistence: None, ..usual }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn any_template_renders_or_says_why_not_in_one_line(
        subject in source(),
        text in source(),
        html in source(),
        partial in source(),
        parameters in parameters(),
    ) {
        let folder = Folder::new()
            .with("t/subject.hbs", subject)
            .with("t/text.hbs", text)
            .with("t/html.hbs", html)
            .with("_partials/p.hbs", partial);
        let templates = folder.templates();
        if let Ok(value) = serde_json::from_str(&parameters) {
            // What it finds is tried by `render` too.
            let _ = templates.check("t", None, &value);
        }
        if let Err(words) = templates.render("t", None, &parameters) {
            prop_assert!(!words.contains(char::is_control) && words.len() < 2_000, "{:?}", words);
        }
    }
}
