//! What counts as missing, what may be, and how values print.

use super::{Folder, refused, rendered, text};
use serde_json::json;

#[test]
fn a_missing_parameter_is_an_error_wherever_it_is_named() {
    for source in [
        "{{name}}",
        "{{{name}}}",
        "{{#if name}}x{{/if}}",
        "{{#unless name}}x{{/unless}}",
        "{{#each name}}x{{/each}}",
        "{{#each name}}x{{else}}y{{/each}}",
        "{{#with name}}x{{/with}}",
        "{{#with name}}x{{else}}y{{/with}}",
        "{{#if a}}x{{else if name}}y{{/if}}",
        "{{#if (eq name 1)}}x{{/if}}",
        "{{#eq a name}}x{{/eq}}",
        "{{#if (and a (not name))}}x{{/if}}",
        "{{len name}}",
        "{{lookup name \"x\"}}",
        "{{date name}}",
        "{{date a tz=name}}",
        "{{plural 1 name \"b\"}}",
        "{{default a name}}",
        "{{truncate (urlencode name) 3}}",
        "{{> p name}}",
        "{{> p x=name}}",
        "{{#> b}}{{name}}{{/b}}",
        "{{#with user}}{{name}}{{/with}}",
        "{{#each list}}{{../name}}{{/each}}",
        "{{@root.name}}",
    ] {
        let error = text(&format!("line\n{source}"))
            .with("_partials/p.hbs", "p")
            .with("_partials/b.hbs", "{{> @partial-block}}")
            .error(r#"{"a":false,"user":{"k":1},"list":[{"k":1}],"nmae":"x"}"#);
        assert!(error.starts_with("t/text.hbs:2:"), "{source}: {error}");
        assert!(error.contains("name"), "{source}: {error}");
        assert!(error.contains("is missing"), "{source}: {error}");
        assert!(error.contains("`nmae` was given: did you mean `"), "{source}: {error}");
    }
}

#[test]
fn a_path_that_ends_early_is_told_where_it_ends() {
    for (source, parameters, told) in [
        (
            "{{user.name}}",
            r#"{"user":{"nmae":1},"name":2}"#,
            "`user` has `nmae`: did you mean `name`?",
        ),
        ("{{user.name}}", r#"{"user":{"k":1},"nmae":2}"#, "`user` has no `name` "),
        ("{{user.name}}", r#"{"user":"Ada"}"#, "`user` is no object, so it has no `name`"),
        ("{{user.name}}", r#"{"user":null}"#, "`user` is null"),
        ("{{user.name}}", r#"{"usr":{"name":1}}"#, "`usr` was given: did you mean `user`?"),
        ("{{a.b.c}}", r#"{"a":{"b":{}}}"#, "`a.b` has no `c` "),
        ("{{a.b.c}}", r#"{"a":{}}"#, "`a` has no `b` "),
    ] {
        let error = text(source).error(parameters);
        assert!(error.contains(told), "{source} {parameters}: {error}");
        let is_nested = !parameters.contains("usr");
        assert_eq!(error.contains("--param-json '"), is_nested, "{error}");
    }
}

#[test]
fn what_may_be_missing_is_said_so() {
    assert_eq!(rendered("[{{default name \"x\"}}]", "{}"), "[x]");
    assert_eq!(rendered("[{{default name \"x\"}}]", r#"{"name":""}"#), "[x]");
    assert_eq!(rendered("[{{default name \"x\"}}]", r#"{"name":"Ada"}"#), "[Ada]");
    assert_eq!(rendered("[{{optional user.name}}]", "{}"), "[]");
    assert_eq!(rendered("{{#if (optional a)}}y{{else}}n{{/if}}", "{}"), "n");
    assert_eq!(rendered("{{#if (optional a)}}y{{else}}n{{/if}}", r#"{"a":"0"}"#), "y");
    let each = "{{#each (optional list)}}{{k}},{{else}}none{{/each}}";
    assert_eq!(rendered(each, "{}"), "none");
    assert_eq!(rendered(each, r#"{"list":[{"k":1},{"k":2}]}"#), "1,2,");
    let with = "{{#with (optional user)}}{{name}}{{/with}}";
    assert_eq!(rendered(with, "{}"), "");
    assert_eq!(rendered(with, r#"{"user":{"name":"Ada"}}"#), "Ada");
}

#[test]
fn null_is_not_missing_and_prints_nothing() {
    let null = r#"{"name":null}"#;
    assert_eq!(rendered("[{{name}}]", null), "[]");
    assert_eq!(rendered("{{#if name}}y{{else}}n{{/if}}", null), "n");
    assert_eq!(rendered("[{{#each name}}x{{/each}}]", null), "[]");
    assert_eq!(rendered("[{{#with name}}x{{/with}}]", null), "[]");
    assert_eq!(rendered("{{#each list}}x{{else}}none{{/each}}", r#"{"list":[]}"#), "none");
    assert_eq!(rendered("[{{#each list}}x{{/each}}]", r#"{"list":[]}"#), "[]");
}

#[test]
fn values_print_as_they_were_written() {
    let parameters = r#"{"n":0.1,"big":12345678901234567890,"f":1.0,"e":1e21,"m":10.50,"neg":-0.0,"t":true,
        "arr":["a",2.50,null,false],"plz":"01067","iban":"12345678901234567890","v":"1e3"}"#;
    let source = "{{n}} {{big}} {{f}} {{e}} {{m}} {{neg}} {{t}} [{{arr}}] {{plz}} {{iban}} {{v}}";
    assert_eq!(
        rendered(source, parameters),
        "0.1 12345678901234567890 1.0 1e21 10.50 -0.0 true [a, 2.50, , false] 01067 12345678901234567890 1e3"
    );
    assert_eq!(
        rendered("{{#each arr}}{{@index}}{{this}};{{/each}}", r#"{"arr":[1.0,"x"]}"#),
        "01.0;1x;"
    );
    for source in ["{{obj}}", "{{optional obj}}", "{{default obj 1}}", "{{this}}"] {
        let error = refused(source, r#"{"obj":{"k":1}}"#);
        assert!(error.contains("is an object"), "{source}: {error}");
    }
    assert!(refused("{{l}}", r#"{"l":[{"k":1}]}"#).contains("`l` is a list of"));
    assert!(refused("{{#each s}}x{{/each}}", r#"{"s":"text"}"#).contains("wants a list"));
}

#[test]
fn a_flat_dotted_key_is_told_from_a_path() {
    let flat = r#"{"user.name":"X"}"#;
    assert_eq!(rendered("{{[user.name]}}", flat), "X");
    let error = refused("{{user.name}}", flat);
    assert!(error.contains("`user.name` is missing"), "{error}");
    assert!(error.contains("{{[user.name]}}"), "{error}");
    assert_eq!(rendered("{{user.name}}", r#"{"user":{"name":"X"}}"#), "X");
}

#[test]
fn a_parameter_named_like_a_helper_is_the_parameter() {
    let parameters = r#"{"date":"2026-11-29","if":"I","lookup":"L","len":"N"}"#;
    assert_eq!(rendered("{{date}} {{if}} {{lookup}} {{len}}", parameters), "2026-11-29 I L N");
    assert_eq!(rendered("{{date date \"%d.%m.\"}}", parameters), "29.11.");
    assert!(refused("{{date}}", "{}").contains("`date` is missing"));
}

#[test]
fn a_parameter_is_never_a_template_a_partial_or_a_helper() {
    let parameters = r#"{"v":"{{secret}} {{> p}}","p":"p","secret":"S"}"#;
    assert_eq!(rendered("{{v}}", parameters), "{{secret}} {{> p}}");
    for source in [
        "{{> (lookup this \"p\")}}",
        "{{#> (optional p)}}x{{/}}",
        "{{(optional p) 1}}",
        "{{(optional p)}}",
        "{{#if (p)}}x{{/if}}",
        "{{p secret}}",
        "{{#p}}x{{/p}}",
        "{{#*inline \"p\"}}x{{/inline}}",
        "{{> \"../t/text\"}}",
        "{{> ../secret}}",
        "{{> %print}}",
        "{{%print p}}",
        "{{[%print] p}}",
    ] {
        let error = text(source).with("_partials/p.hbs", "p").error(parameters);
        assert!(error.starts_with("t/text.hbs:1:"), "{source}: {error}");
    }
}

#[test]
fn check_says_at_enqueue_what_is_certainly_missing() {
    let folder = text("Dear {{name}}, {{#if vip}}{{gift}}{{/if}}\n{{> foot}}\n")
        .with("_partials/foot.hbs", "--\n{{company.name}} {{#each links}}{{url}}{{/each}}");
    let templates = folder.templates();
    let fault = |parameters| templates.check("t", None, &parameters).unwrap_err();
    let typo = fault(json!({"nmae": "x", "vip": false, "company": {"name": "C"}, "links": []}));
    assert!(typo.to_string().starts_with("t/text.hbs:1:6: the parameter `name` is missing"));
    assert!(typo.to_string().contains("`nmae`"), "{typo}");
    let nested = fault(json!({"name": 1, "vip": 1, "company": {}, "links": []}));
    assert!(nested.to_string().starts_with("_partials/foot.hbs:2:1"), "{nested}");
    let complete =
        json!({"name": null, "vip": true, "company": {"name": "C"}, "links": [], "gfit": 1});
    let warnings = templates.check("t", None, &complete).unwrap();
    assert_eq!(
        warnings,
        ["the template `t` does not use the parameter `gfit`; did you mean `gift`?"]
    );
    assert!(templates.check("t", None, &json!([1])).is_err());
}

#[test]
fn check_takes_nothing_for_certain_that_a_tag_gives() {
    let folder = Folder::new()
        .with("t/subject.hbs", "S")
        .with(
            "t/text.hbs",
            "{{#> box title=\"T\"}}{{title}}{{/box}}{{> p user}}{{#each l as |x|}}{{x}}{{/each}}",
        )
        .with("_partials/box.hbs", "{{title}}: {{> @partial-block}}")
        .with("_partials/p.hbs", "{{first}}");
    let parameters = json!({"user": {"first": "A"}, "l": [1], "title": "unused but named"});
    assert_eq!(folder.templates().check("t", None, &parameters).unwrap(), [""; 0]);
    assert_eq!(folder.letter(&parameters.to_string()).text.unwrap(), "T: TA1");
}
