//! A template with all its partials, parsed and checked once.
//!
//! The partials a template reaches form a graph without a cycle and of bounded depth, and every name in it is resolved here:
//! a render reads no file and looks nothing up by a name that a parameter holds.

use super::facts::{Facts, Include};
use super::source::{self, Library, Source};
use super::trouble::{Place, Trouble};
use super::{format, scan, strict, syntax};
use handlebars::{Handlebars, Template, TemplateErrorReason};
use std::cell::Cell;
use std::collections::HashMap;

/// The longest chain of partials.
const LONGEST_CHAIN: usize = 20;
/// The deepest nesting of blocks through all partials; the stack of a thread holds several times as much.
pub(super) const DEEPEST: usize = 60;

/// What becomes of a value, by the kind of the part it is printed in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The subject and the headers: a value brings no line end.
    Head,
    /// Text: as it is.
    Text,
    /// HTML: a value brings no mark-up.
    Html,
}

/// One file of a template, ready to render.
pub(super) struct Part {
    registry: Handlebars<'static>,
    /// The file, relative to the template folder; also its name in the registry.
    pub(super) file: String,
    /// The file of each partial.
    partials: HashMap<String, String>,
}

impl Part {
    pub(super) fn registry(&self) -> &Handlebars<'static> {
        &self.registry
    }

    pub(super) fn template(&self) -> &Template {
        self.registry.get_template(&self.file).expect("a part is registered when it is made")
    }

    /// The file of the template that handlebars calls `name`.
    pub(super) fn file_of(&self, name: Option<&str>) -> &str {
        name.and_then(|name| self.partials.get(name)).map_or(self.file.as_str(), String::as_str)
    }
}

/// A template that is ready to render.
pub(super) struct Compiled {
    pub(super) subject: Part,
    pub(super) headers: Option<Part>,
    pub(super) text: Option<Part>,
    pub(super) html: Option<Part>,
    /// What all parts together use.
    pub(super) facts: Facts,
    /// Whether its HTML, partials included, shows images that come with the mail (`cid:`).
    pub(super) shows_images: bool,
    /// Whether a locale was asked for that the template has no file for.
    pub(super) foreign: bool,
}

/// Reads, parses and checks the template `name` for a mail in `locale`.
pub(super) fn compile(
    library: &Library,
    name: &str,
    locale: Option<&str>,
) -> Result<Compiled, Trouble> {
    source::legal_name(name)?;
    let locales = source::locales(locale)?;
    let shop = Workshop { library, locales: &locales, locale, shows_images: Cell::new(false) };
    let find = |part| library.part(name, &locales, part);
    let Some(subject) = find("subject")? else {
        return Err(library.missing(name));
    };
    let mut facts = Facts::default();
    let mut part = |source: Option<Source>, kind| match source {
        Some(source) => shop.part(&source, kind, &mut facts).map(Some),
        None => Ok(None),
    };
    let subject = part(Some(subject), Kind::Head)?;
    let headers = part(find("headers")?, Kind::Head)?;
    let text = part(find("text")?, Kind::Text)?;
    let html = part(find("html")?, Kind::Html)?;
    if text.is_none() && html.is_none() {
        return Err(Trouble::new(format!(
            "the template `{name}` has neither text.hbs nor html.hbs"
        )));
    }
    Ok(Compiled {
        subject: subject.expect("it was given a source"),
        headers,
        text,
        html,
        facts,
        shows_images: shop.shows_images.get(),
        foreign: !locales.is_empty() && !library.speaks(name, &locales),
    })
}

/// What every part of a template is made with.
struct Workshop<'a> {
    library: &'a Library,
    locales: &'a [String],
    locale: Option<&'a str>,
    shows_images: Cell<bool>,
}

impl Workshop<'_> {
    fn part(&self, source: &Source, kind: Kind, all: &mut Facts) -> Result<Part, Trouble> {
        let mut registry = Handlebars::new();
        strict::register(&mut registry);
        format::register(&mut registry, self.locale);
        registry.register_escape_fn(match kind {
            Kind::Head => one_line,
            Kind::Text => handlebars::no_escape,
            Kind::Html => escape_html,
        });
        let mut assembly = Assembly {
            shop: self,
            kind,
            registry,
            partials: HashMap::new(),
            known: HashMap::new(),
            chain: Vec::new(),
        };
        let file = source.label.clone();
        let facts = assembly.add(&file, source)?;
        all.join(facts);
        Ok(Part { registry: assembly.registry, file, partials: assembly.partials })
    }
}

struct Assembly<'a> {
    shop: &'a Workshop<'a>,
    kind: Kind,
    registry: Handlebars<'static>,
    partials: HashMap<String, String>,
    known: HashMap<String, Facts>,
    /// The partials that are being read, outermost first.
    chain: Vec<String>,
}

impl Assembly<'_> {
    /// Registers `source` as `name`, and before it the partials that it includes.
    fn add(&mut self, name: &str, source: &Source) -> Result<Facts, Trouble> {
        let (template, mut facts) = parse(name, source, self.kind == Kind::Html)?;
        if self.kind == Kind::Html && source.text.contains("cid:") {
            self.shop.shows_images.set(true);
        }
        for include in std::mem::take(&mut facts.includes) {
            self.include(&include)?;
            facts.absorb(&include, &self.known[&include.partial]);
            if facts.depth > DEEPEST {
                return Err(Trouble::new(format!(
                    "{}: with `{}` the blocks nest deeper than {DEEPEST}",
                    include.place, include.partial
                )));
            }
        }
        self.registry.register_template(name, template);
        Ok(facts)
    }

    fn include(&mut self, include: &Include) -> Result<(), Trouble> {
        let Include { partial, place, .. } = include;
        if self.chain.contains(partial) {
            let chain = self.chain.join(" > ");
            return Err(Trouble::new(format!(
                "{place}: partials include each other: {chain} > {partial}"
            )));
        }
        if self.known.contains_key(partial) {
            return Ok(());
        }
        if self.chain.len() >= LONGEST_CHAIN {
            return Err(Trouble::new(format!(
                "{place}: more than {LONGEST_CHAIN} partials within each other"
            )));
        }
        let source = self
            .shop
            .library
            .partial(partial, self.shop.locales)
            .map_err(|trouble| trouble.at(place))?;
        self.partials.insert(partial.clone(), source.label.clone());
        self.chain.push(partial.clone());
        let facts = self.add(partial, &source)?;
        self.chain.pop();
        self.known.insert(partial.clone(), facts);
        Ok(())
    }
}

/// Parses one file and rewrites it to be strict.
fn parse(name: &str, source: &Source, html: bool) -> Result<(Template, Facts), Trouble> {
    let Source { label, text } = source;
    scan::nesting(text).map_err(|deep| {
        Trouble::new(format!(
            "{label}:{}: {} nest deeper than {}",
            deep.line, deep.what, deep.limit
        ))
    })?;
    let mut template = Template::compile_with_name(text, name.to_owned()).map_err(|error| {
        let (line, column) = error.pos().unwrap_or((1, 1));
        let file = label.clone();
        let place = Place { file, line, column };
        Trouble::new(match error.reason() {
            TemplateErrorReason::MismatchingClosedHelper(open, close) => {
                format!("{place}: {{{{/{close}}}}} closes {{{{#{open}}}}}")
            }
            TemplateErrorReason::InvalidSyntax(what) => {
                let what = what.trim_start_matches(|c: char| c.is_whitespace());
                format!("{place}: the template does not parse: {what}")
            }
            other => format!("{place}: the template does not parse: {other}"),
        })
    })?;
    let facts = syntax::settle(&mut template, label, html)?;
    Ok((template, facts))
}

/// A value without line ends and other controls, so that it can neither end a header nor hide in one.
fn one_line(value: &str) -> String {
    if !value.chars().any(breaks_line) {
        return value.to_owned();
    }
    let mut line = String::with_capacity(value.len());
    for c in value.chars() {
        if !breaks_line(c) {
            line.push(c);
        } else if !line.ends_with(' ') {
            line.push(' ');
        }
    }
    line
}

/// Whether a character may not stand in a header. A tab may.
pub(super) fn breaks_line(c: char) -> bool {
    (c.is_control() && c != '\t') || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Text that is text in HTML, in an attribute too.
fn escape_html(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len() + value.len() / 8);
    for c in value.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}
