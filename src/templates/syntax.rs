//! What may stand in a template, which helpers there are, and the rewriting that makes every template strict.
//!
//! Handlebars lets a missing parameter pass in `{{#if x}}` and in arguments, and prints an object as `[object]`. So each
//! parsed template is rewritten once: a printed value goes through `PRINT`, an argument through `NEED`, and the body of
//! each block begins with `STEP`, which spends from the budget of the render. No name of a helper or of a partial comes
//! from a parameter, and there are no partials within a file, so that the partials form a graph that can be checked.

use super::facts::{Facts, Include, Scope};
use super::trouble::{Place, Trouble, nearest};
use handlebars::template::{
    BlockParam, DecoratorTemplate, HelperTemplate, Parameter, Subexpression, TemplateElement,
};
use handlebars::{Path, PathSeg, Template};
use std::collections::HashMap;

/// Prints a value. No author can write this name.
pub(super) const PRINT: &str = "%print";
/// Hands an argument on, if it is there.
pub(super) const NEED: &str = "%need";
/// The same for `each`: a list, an object, or nothing.
pub(super) const LIST: &str = "%list";
/// Spends from the budget.
pub(super) const STEP: &str = "%step";

/// Where a helper may stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Value,
    Block,
    Both,
}

/// How a helper is called: its name, the fewest and the most arguments, its `key=` arguments, its form.
type Signature = (&'static str, usize, usize, &'static [&'static str], Form);

const HELPERS: &[Signature] = &[
    ("if", 1, 1, &["includeZero"], Form::Block),
    ("unless", 1, 1, &["includeZero"], Form::Block),
    ("each", 1, 1, &[], Form::Block),
    ("with", 1, 1, &[], Form::Block),
    ("raw", 0, 0, &[], Form::Block),
    ("eq", 2, 2, &[], Form::Both),
    ("ne", 2, 2, &[], Form::Both),
    ("gt", 2, 2, &[], Form::Both),
    ("gte", 2, 2, &[], Form::Both),
    ("lt", 2, 2, &[], Form::Both),
    ("lte", 2, 2, &[], Form::Both),
    ("and", 2, 2, &[], Form::Both),
    ("or", 2, 2, &[], Form::Both),
    ("not", 1, 1, &[], Form::Both),
    ("len", 1, 1, &[], Form::Value),
    ("lookup", 2, 2, &[], Form::Value),
    ("default", 2, 2, &[], Form::Value),
    ("optional", 1, 1, &[], Form::Value),
    ("date", 1, 2, &["tz"], Form::Value),
    ("money", 1, 1, &["currency", "locale"], Form::Value),
    ("plural", 3, 3, &[], Form::Value),
    ("urlencode", 1, 1, &[], Form::Value),
    ("truncate", 2, 2, &[], Form::Value),
];

/// Rewrites `template`, which is the file `label`, and says what it uses.
pub(super) fn settle(template: &mut Template, label: &str, html: bool) -> Result<Facts, Trouble> {
    let mut walk =
        Walk { label, html, facts: Facts::default(), at: (1, 1), list: None, sure: false };
    walk.body(template, Scope::top())?;
    Ok(walk.facts)
}

struct Walk<'a> {
    label: &'a str,
    html: bool,
    facts: Facts,
    at: (usize, usize),
    /// The list whose items are the context here, as `articles[]`, and whether this is rendered for each of them.
    list: Option<String>,
    sure: bool,
}

impl Walk<'_> {
    fn wrong(&self, what: impl AsRef<str>) -> Trouble {
        Trouble::new(format!("{}: {}", self.place(), what.as_ref()))
    }

    fn place(&self) -> Place {
        Place { file: self.label.to_owned(), line: self.at.0, column: self.at.1 }
    }

    fn body(&mut self, template: &mut Template, scope: Scope) -> Result<(), Trouble> {
        let before = self.at;
        let mut bytes = 0;
        for (index, element) in template.elements.iter_mut().enumerate() {
            if let Some(mapping) = template.mapping.get(index) {
                self.at = (mapping.0, mapping.1);
            }
            if let TemplateElement::RawString(text) = element {
                bytes += text.len();
            }
            self.element(element, scope)?;
        }
        self.at = before;
        let cost = Parameter::Literal(serde_json::Value::from(bytes as u64));
        let step = Subexpression::new(Parameter::Name(STEP.into()), vec![cost], HashMap::new());
        template.elements.insert(0, *step.element);
        if let Some(first) = template.mapping.first().cloned() {
            template.mapping.insert(0, first);
        }
        Ok(())
    }

    fn element(&mut self, element: &mut TemplateElement, scope: Scope) -> Result<(), Trouble> {
        match element {
            TemplateElement::RawString(_) | TemplateElement::Comment(_) => Ok(()),
            TemplateElement::HtmlExpression(helper) => {
                self.value(helper, scope)?;
                // Outside HTML nothing is escaped but line ends in headers, and that must hold for `{{{x}}}` too.
                if !self.html {
                    *element = TemplateElement::Expression(helper.clone());
                }
                Ok(())
            }
            TemplateElement::Expression(helper) => self.value(helper, scope),
            TemplateElement::HelperBlock(helper) => self.block(helper, scope),
            TemplateElement::PartialExpression(partial)
            | TemplateElement::PartialBlock(partial) => self.partial(partial, scope),
            TemplateElement::DecoratorExpression(_) | TemplateElement::DecoratorBlock(_) => {
                Err(self
                    .wrong("partials within a file (`{{#*inline}}`) are not supported")
                    .hint("put it into a file of its own below _partials/"))
            }
            _ => Err(self.wrong("this tag is not supported")),
        }
    }

    /// `{{name}}` and `{{helper …}}`.
    fn value(&mut self, helper: &mut HelperTemplate, scope: Scope) -> Result<(), Trouble> {
        if helper.params.is_empty() && helper.hash.is_empty() {
            // A bare name is a parameter, also where a helper is called the same: no helper does without arguments.
            let name = std::mem::replace(&mut helper.name, Parameter::Name(PRINT.into()));
            let path = match name {
                Parameter::Path(path) => path,
                Parameter::Name(name) => Path::parse(&name)
                    .map_err(|_| self.wrong(format!("{name:?} is no parameter name")))?,
                Parameter::Subexpression(_) | Parameter::Literal(_) => {
                    return Err(self
                        .wrong("brackets around a whole tag name no helper")
                        .hint("write it without them"));
                }
                _ => return Err(self.wrong("this tag is not supported")),
            };
            self.needs(&path, scope);
            helper.params.push(Parameter::Path(path));
            return Ok(());
        }
        let name = self.call(&helper.name, helper.params.len(), &helper.hash, Form::Value)?;
        self.arguments(&name, &mut helper.params, &mut helper.hash, scope)?;
        if matches!(name.as_str(), "default" | "optional" | "lookup") {
            // These hand out any value there is; `PRINT` knows how to write it.
            let inner = Subexpression::new(
                std::mem::replace(&mut helper.name, Parameter::Name(PRINT.into())),
                std::mem::take(&mut helper.params),
                std::mem::take(&mut helper.hash),
            );
            helper.params.push(Parameter::Subexpression(inner));
        }
        Ok(())
    }

    fn block(&mut self, helper: &mut HelperTemplate, scope: Scope) -> Result<(), Trouble> {
        let name = self.call(&helper.name, helper.params.len(), &helper.hash, Form::Block)?;
        if helper.block_param.is_some() && !matches!(name.as_str(), "each" | "with") {
            return Err(self.wrong(format!("`{name}` has no `as |name|`")));
        }
        let outer = (self.list.clone(), self.sure);
        let list = match (name.as_str(), helper.params.first()) {
            ("each", Some(Parameter::Path(path))) if helper.block_param.is_none() => {
                plain(path).map(|path| format!("{}[]", self.field(&path)))
            }
            // These change nothing about the context.
            ("if" | "unless", _) => outer.0.clone(),
            _ => None,
        };
        self.arguments(&name, &mut helper.params, &mut helper.hash, scope)?;
        if name == "each" {
            let list = Subexpression::new(
                Parameter::Name(LIST.into()),
                std::mem::take(&mut helper.params),
                HashMap::new(),
            );
            helper.params.push(Parameter::Subexpression(list));
        }
        if matches!(name.as_str(), "each" | "with") && helper.inverse.is_none() {
            // Without an `else`, handlebars takes an empty value for a missing one.
            helper.inverse = Some(Template::new());
        }
        let inner = scope.within();
        (self.list, self.sure) = (list, name == "each");
        for body in [&mut helper.template, &mut helper.inverse].into_iter().flatten() {
            self.facts.depth = self.facts.depth.max(inner.depth);
            self.body(body, inner)?;
        }
        (self.list, self.sure) = outer;
        match &helper.block_param {
            Some(BlockParam::Single(name)) => self.facts.bind(name),
            Some(BlockParam::Pair((value, key))) => {
                self.facts.bind(value);
                self.facts.bind(key);
            }
            _ => {}
        }
        Ok(())
    }

    /// Checks a call against its helper's signature and gives the helper's name.
    fn call(
        &self,
        name: &Parameter,
        arguments: usize,
        keys: &HashMap<String, Parameter>,
        form: Form,
    ) -> Result<String, Trouble> {
        let name = match name {
            Parameter::Name(_) | Parameter::Path(_) => name.as_name().unwrap_or_default(),
            _ => return Err(self.wrong("a helper's name stands in the template itself")),
        };
        let names = || HELPERS.iter().map(|(name, ..)| *name);
        let Some((_, fewest, most, known, forms)) = HELPERS.iter().find(|entry| entry.0 == name)
        else {
            let trouble = self.wrong(format!("there is no helper `{name}`"));
            return Err(match nearest(name, names()) {
                Some(like) => trouble.hint(format!("did you mean `{like}`?")),
                None => trouble
                    .hint(format!("the helpers are: {}", names().collect::<Vec<_>>().join(", "))),
            });
        };
        if *forms != Form::Both && *forms != form {
            return Err(self.wrong(match forms {
                Form::Block => format!("`{name}` is a block: {{{{#{name} …}}}} … {{{{/{name}}}}}"),
                _ => format!("`{name}` is no block: {{{{{name} …}}}}"),
            }));
        }
        if arguments < *fewest || arguments > *most {
            let takes =
                if fewest == most { fewest.to_string() } else { format!("{fewest} to {most}") };
            return Err(self.wrong(format!("`{name}` takes {takes} arguments, not {arguments}")));
        }
        if let Some(key) = keys.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(self.wrong(format!("`{name}` has no argument `{key}=`")));
        }
        Ok(name.to_owned())
    }

    fn arguments(
        &mut self,
        helper: &str,
        params: &mut [Parameter],
        hash: &mut HashMap<String, Parameter>,
        scope: Scope,
    ) -> Result<(), Trouble> {
        let may_be_missing = matches!(helper, "default" | "optional");
        for (index, argument) in params.iter_mut().enumerate() {
            if index == 0
                && may_be_missing
                && let Parameter::Path(path) = argument
            {
                self.facts.mention(path);
                self.item(path, false);
            } else {
                self.argument(argument, scope)?;
            }
        }
        for argument in hash.values_mut() {
            self.argument(argument, scope)?;
        }
        Ok(())
    }

    fn argument(&mut self, argument: &mut Parameter, scope: Scope) -> Result<(), Trouble> {
        match argument {
            Parameter::Path(path) => {
                self.needs(path, scope);
                let path = std::mem::replace(argument, Parameter::Literal(false.into()));
                let name = Parameter::Name(NEED.into());
                let need = Subexpression::new(name, vec![path], HashMap::new());
                *argument = Parameter::Subexpression(need);
                Ok(())
            }
            Parameter::Subexpression(inner) => {
                let TemplateElement::Expression(call) = inner.element.as_mut() else {
                    return Err(self.wrong("this argument is not supported"));
                };
                if call.params.is_empty() && call.hash.is_empty() {
                    let name = call.name.as_name().unwrap_or("…").to_owned();
                    return Err(self
                        .wrong(format!("`({name})` calls nothing"))
                        .hint(format!("write `{name}` without the brackets")));
                }
                let name = self.call(&call.name, call.params.len(), &call.hash, Form::Value)?;
                self.arguments(&name, &mut call.params, &mut call.hash, scope)
            }
            Parameter::Literal(_) => Ok(()),
            _ => Err(self.wrong("this argument is not supported")),
        }
    }

    fn partial(&mut self, partial: &mut DecoratorTemplate, scope: Scope) -> Result<(), Trouble> {
        let name = match &partial.name {
            Parameter::Name(name) => name.clone(),
            Parameter::Path(_) => partial.name.as_name().unwrap_or_default().to_owned(),
            _ => {
                return Err(self
                    .wrong("the name of a partial cannot be computed")
                    .hint("choose with {{#if}} between two partials"));
            }
        };
        let mut inner = scope.deeper();
        if name != "@partial-block" {
            if super::source::legal_name(&name).is_err() {
                return Err(self.wrong(format!("{name:?} is no name of a partial")));
            }
            if partial.params.len() > 1 {
                return Err(self.wrong(format!("the partial `{name}` takes one context at most")));
            }
            self.facts.includes.push(Include {
                partial: name,
                place: self.place(),
                depth: scope.depth,
                certain: scope.certain && partial.params.is_empty(),
                bound: partial.hash.keys().cloned().collect(),
            });
            if !partial.params.is_empty() || !partial.hash.is_empty() {
                inner.certain = false;
            }
        }
        for argument in partial.params.iter_mut().chain(partial.hash.values_mut()) {
            self.argument(argument, scope)?;
        }
        match &mut partial.template {
            Some(body) => {
                self.facts.depth = self.facts.depth.max(inner.depth);
                self.body(body, inner)
            }
            None => Ok(()),
        }
    }

    /// `path` as it is seen from the parameters.
    fn field(&self, path: &str) -> String {
        self.list.as_ref().map_or(path.to_owned(), |list| format!("{list}.{path}"))
    }

    fn item(&mut self, path: &Path, needed: bool) {
        if let (Some(path), true) = (plain(path), self.list.is_some()) {
            self.facts.item(self.field(&path), needed);
        }
    }

    fn needs(&mut self, path: &Path, scope: Scope) {
        self.facts.mention(path);
        self.item(path, self.sure);
        if let (Path::Relative((segs, raw)), true) = (path, scope.certain) {
            let names: Option<Vec<String>> = segs
                .iter()
                .map(|seg| match seg {
                    PathSeg::Named(name) => Some(name.clone()),
                    _ => None,
                })
                .collect();
            if let Some(names) = names.filter(|names| !names.is_empty()) {
                let place = self.place();
                self.facts.require(names, raw.clone(), place);
            }
        }
    }
}

/// A path of names alone, as the template writes it.
fn plain(path: &Path) -> Option<String> {
    match path {
        Path::Relative((segs, raw)) => {
            let is_plain = segs.iter().all(|seg| matches!(seg, PathSeg::Named(_)));
            (is_plain && !segs.is_empty()).then(|| raw.clone())
        }
        Path::Local(_) => None,
    }
}
