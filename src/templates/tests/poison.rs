//! Templates, parameters and HTML that would overflow a stack, fill the memory or never end.

use super::{Folder, refused, rendered, text};
use crate::templates::compile::DEEPEST;

/// As small a stack as a thread of the standard library has.
fn on_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new().stack_size(2 << 20);
    thread.spawn(work).unwrap().join().unwrap()
}

#[test]
fn partials_that_include_each_other_are_refused() {
    let two = text("{{> a}}")
        .with("_partials/a.hbs", "{{#if x}}{{> b}}{{/if}}")
        .with("_partials/b.hbs", "\n{{> a}}");
    let error = two.error(r#"{"x":0}"#);
    assert!(
        error.contains("_partials/b.hbs:2:1: partials include each other: a > b > a"),
        "{error}"
    );
    let itself = text("{{> a}}").with("_partials/a.hbs", "{{> a}}");
    assert!(itself.error("{}").contains("a > a"));
}

#[test]
fn a_long_chain_of_partials_is_refused() {
    let mut folder = text("{{> p0}}");
    for at in 0..30 {
        folder = folder.with(&format!("_partials/p{at}.hbs"), format!("{{{{> p{}}}}}", at + 1));
    }
    assert!(folder.error("{}").contains("more than 20 partials"));
}

#[test]
fn the_deepest_template_that_is_allowed_fits_a_senders_stack() {
    let blocks = |n: usize, inner: &str| {
        format!("{}{inner}{}", "{{#each l}}".repeat(n), "{{/each}}".repeat(n))
    };
    let deep = DEEPEST - 31;
    let folder = Folder::new()
        .with("t/subject.hbs", "S")
        .with("t/html.hbs", blocks(30, "{{> p}}"))
        .with("_partials/p.hbs", blocks(deep, "{{@index}}"));
    let l = (0..DEEPEST).fold("[1]".to_owned(), |l, _| format!("[{l}]"));
    let parameters = format!("{{\"l\":{l}}}");
    let told = on_a_thread(move || folder.templates().render("t", None, &parameters));
    assert!(told.unwrap_err().contains("asked of a list"));
    let ifs = format!(
        "{}x{}",
        "{{#if (not (not (not (not (not (not l))))))}}".repeat(40),
        "{{/if}}".repeat(40)
    );
    let chain = format!("{{{{#if n}}}}{}{{{{/if}}}}", "{{else if n}}".repeat(38));
    let folder = text(&(ifs + &chain));
    let letter = on_a_thread(move || folder.letter(r#"{"l":1,"n":0}"#));
    assert_eq!(letter.text.unwrap(), "x");
    let over = text(&blocks(30, "{{> p}}")).with("_partials/p.hbs", blocks(deep + 1, ""));
    assert!(over.error("{}").contains("nest deeper than"));
}

#[test]
fn a_deep_nest_is_refused_with_its_line() {
    for source in [
        "{{#if x}}".repeat(2000) + &"{{/if}}".repeat(2000),
        "{{#if x}}".repeat(2000),
        format!("{{{{#if {}x{}}}}}y{{{{/if}}}}", "(not ".repeat(2000), ")".repeat(2000)),
        format!("{{{{len {}1{}}}}}", "[".repeat(2000), "]".repeat(2000)),
        format!("{{{{#if a}}}}{}{{{{/if}}}}", "{{else if b}}".repeat(2000)),
    ] {
        let error = on_a_thread(move || refused(&source, r#"{"x":1}"#));
        assert!(error.starts_with("t/text.hbs:1: "), "{error}");
        assert!(error.contains("nest deeper than"), "{error}");
    }
    let deep_value = format!("{{\"x\":{}1{}}}", "[".repeat(5000), "]".repeat(5000));
    assert!(
        on_a_thread(move || refused("{{x}}", &deep_value)).contains("no JSON: recursion limit")
    );
}

#[test]
fn a_huge_file_and_a_huge_parameter_are_clean_errors() {
    assert!(refused(&"x".repeat(2 << 20), "{}").contains("t/text.hbs is larger than"));
    let long = |n: usize| format!("{{\"x\":\"{}\"}}", "x".repeat(n));
    assert_eq!(rendered("{{x}}", &long(3 << 20)).len(), 3 << 20);
    assert!(refused("{{x}}", &long(50 << 20)).contains("at most 8388608"));
    assert!(refused("{{x}}{{x}}{{x}}", &long(4 << 20)).contains("larger than 10485760"));
}

#[test]
fn a_template_that_repeats_itself_ends() {
    let list = format!("{{\"l\":[{}]}}", vec!["1"; 1000].join(","));
    for body in ["", "{{#if @root.l}}{{/if}}"] {
        let loops = format!("{}{body}{}", "{{#each @root.l}}".repeat(6), "{{/each}}".repeat(6));
        assert!(refused(&loops, &list).contains("the template does too much"));
    }
    let mut doubling = text("{{> p0}}");
    for at in 0..19 {
        let twice = format!("{{{{> p{0}}}}}{{{{> p{0}}}}}", at + 1).repeat(3);
        doubling = doubling.with(&format!("_partials/p{at}.hbs"), twice);
    }
    let doubling = doubling.with("_partials/p19.hbs", "");
    assert!(doubling.error("{}").contains("the template does too much"));
    let block =
        text("{{#> b}}{{#each l}}{{#each @root.l}}xxxxxxxxxxxxxxxx{{/each}}{{/each}}{{/b}}")
            .with("_partials/b.hbs", "");
    assert!(block.error(&list).contains("does too much"));
}

#[test]
fn html_that_would_cost_too_much_goes_without_a_text_part() {
    for html in [
        "<div>".repeat(100_000),
        "<table><tr><td>".repeat(20_000),
        "<b><i><a href=x>".repeat(20_000),
        "<p>x".repeat(1 << 20),
    ] {
        let template = Folder::new().with("t/subject.hbs", "S").with("t/html.hbs", "{{{h}}}");
        let parameters = format!("{{\"h\":\"{html}\"}}");
        let letter = on_a_thread(move || template.letter(&parameters));
        assert_eq!(letter.text, None);
        assert!(letter.html.is_some());
    }
    let near = "<table><tr><td>".repeat(39) + "x";
    let template = Folder::new().with("t/subject.hbs", "S").with("t/html.hbs", near);
    assert!(on_a_thread(move || template.letter("{}")).text.unwrap().contains('x'));
}

#[test]
fn html_that_trips_the_converter_still_becomes_text() {
    for html in [
        "<ol start=9223372036854775807><li>x<li>y</ol>",
        "<ol start=-9223372036854775808><li>x<li>y</ol>",
        "<table><tr><td>x<td colspan=3>y<tr><td ROWSPAN=2>z<td rowspan='999999'>end<tr><td rowspan=2></table>",
        "<table><td rowspan=5><td colspan=3><td colspan=0></td><th>x<td rowspan=2><tr><td>y<td rowspan=9></table>",
    ] {
        let folder = Folder::new().with("t/subject.hbs", "S").with("t/html.hbs", html);
        let made = folder.letter("{}").text.unwrap();
        assert!(made.contains('x') && made.contains('y'), "{html}: {made}");
    }
}
