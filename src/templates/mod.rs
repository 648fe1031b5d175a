//! The templates room: a template and the parameters of one mail become a letter.
//!
//! A template is a folder `NAME` with `subject.hbs`, `text.hbs`, `html.hbs` (one of the two may be absent) and maybe
//! `headers.hbs`, whose lines are `Name: value`. `NAME/LOCALE/` holds the files that differ in a language, file by file:
//! `pt-BR` looks in `pt-BR`, `pt`, then `NAME` itself. Partials are `_partials/NAME.hbs` and are used as `{{> NAME}}`.
//!
//! **Strict.** A missing parameter is an error wherever it is named, in `{{#if x}}` and in arguments too. What may be
//! missing is said so: `{{default x "…"}}` (also for null and an empty text), `{{optional x}}`, `{{#if (optional x)}}`.
//! Null is not missing; it prints nothing. Numbers print as they were written, lists joined by `, `; an object has no text.
//! A dotted name is a path: `{{user.name}}` wants an object `user`. The flat key `user.name` is written `{{[user.name]}}`.
//!
//! **Escaping.** In `html.hbs` a value has `& < > " '` escaped, unless it is written `{{{x}}}`. In text nothing is. In the
//! subject and the headers a line end becomes a space.
//!
//! **Helpers.** The blocks `if`, `unless`, `each`, `with`; `eq ne gt gte lt lte and or not len lookup`; and
//! `date VALUE "%d.%m.%Y" tz="Europe/Berlin"`, `money VALUE currency="EUR" locale="de"`, `plural n "item" "items"`,
//! `urlencode VALUE`, `truncate VALUE n`. A bare `{{date}}` is always the parameter `date`. Braces: `\{{` prints `{{`.
//!
//! Invariant: parameters are data, never a template, a partial or a helper's name; and nothing that a template or a
//! parameter holds overflows the stack, fills the memory or runs without end.

mod built_in;
mod compile;
mod embedded;
mod facts;
mod format;
mod letter;
mod plain;
mod scan;
mod source;
mod strict;
mod syntax;
mod trouble;

#[cfg(test)]
mod tests;

use crate::domain::fault::Fault;
use crate::domain::message::{BUILT_IN_TEMPLATE, Letter};
use compile::Compiled;
use serde_json::Value;
use source::Library;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use trouble::Trouble;
pub use trouble::nearest;

type Known = Arc<Result<Compiled, Trouble>>;

/// What a template asks of whoever uses it, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needs {
    /// Without one of these no render succeeds.
    pub required: Vec<String>,
    /// What else is named anywhere in it: parts of the former, and what it can do without.
    pub optional: Vec<String>,
}

/// All templates of a run. Each is read and parsed once, when it is first asked for; senders share it.
pub struct Templates {
    library: Library,
    known: RwLock<HashMap<String, Known>>,
    /// Whether the built-in `message` serves; asked of the folder once, as everything else is.
    built_in: OnceLock<bool>,
}

impl Templates {
    /// Templates from `dir`, and behind them the ones that are compiled in. Reads nothing yet.
    pub fn new(dir: Option<PathBuf>) -> Templates {
        Templates {
            library: Library::new(dir),
            known: RwLock::default(),
            built_in: OnceLock::new(),
        }
    }

    /// Checks for `enqueue` that a mail can be rendered, as far as that is certain without rendering it, and gives warnings.
    ///
    /// An error of kind `Data` says that the template is not there or not sound, or that a parameter is missing.
    pub fn check(
        &self,
        name: &str,
        locale: Option<&str>,
        parameters: &Value,
    ) -> Result<Vec<String>, Fault> {
        let object = parameters
            .as_object()
            .ok_or_else(|| Trouble::new("the parameters are no JSON object").fault())?;
        if self.is_built_in(name) {
            built_in::write(parameters).map_err(|trouble| trouble.fault())?;
            let unused = built_in::unused(parameters);
            return Ok(unused.iter().map(|key| unused_warning(key, name, None)).collect());
        }
        let known = self.compiled(name, locale);
        let template = known.as_ref().as_ref().map_err(Trouble::fault)?;
        if let Some(first) = template.facts.missing(parameters).first() {
            let trouble = letter::missing(&first.place, &first.written, parameters);
            return Err(trouble.fault());
        }
        let mut warnings = Vec::new();
        if template.foreign {
            warnings.push(format!(
                "the template `{name}` has nothing for the locale `{}`; its own files serve",
                locale.unwrap_or_default()
            ));
        }
        if !template.facts.whole {
            let mentioned = &template.facts.mentioned;
            for key in object.keys().filter(|key| !mentioned.contains(*key)) {
                let like = nearest(key, mentioned.iter().map(String::as_str));
                warnings.push(unused_warning(key, name, like));
            }
        }
        Ok(warnings)
    }

    /// The parameters of a template. An error of kind `Data` says that it is not there or not sound.
    pub fn needs(&self, name: &str, locale: Option<&str>) -> Result<Needs, Fault> {
        if self.is_built_in(name) {
            return Ok(built_in::needs());
        }
        let known = self.compiled(name, locale);
        let facts = &known.as_ref().as_ref().map_err(Trouble::fault)?.facts;
        let mut required: Vec<String> =
            facts.required.iter().map(|need| need.written.clone()).collect();
        let of_items = |wanted: bool| {
            let items = facts.items.iter().filter(move |(_, needed)| **needed == wanted);
            items.map(|(field, _)| field.clone())
        };
        required.extend(of_items(true));
        let is_part = |key: &&String| {
            facts.required.iter().any(|need| need.keys.contains(key) || need.written == **key)
                || facts.items.keys().any(|field| field.ends_with(&format!("].{key}")))
        };
        let optional = facts.mentioned.iter().filter(|key| !is_part(key)).cloned();
        let optional = optional.chain(of_items(false)).collect();
        Ok(Needs { required, optional })
    }

    /// Renders one mail. `parameters` is the JSON object of its row; the error is one line for `error_message`.
    pub fn render(
        &self,
        name: &str,
        locale: Option<&str>,
        parameters: &str,
    ) -> Result<Letter, String> {
        self.letter(name, locale, parameters).map_err(|trouble| trouble.line())
    }

    /// Whether the HTML of a template shows images that come with the mail: whether `cid:` stands in one of its files.
    pub fn shows_images(&self, name: &str, locale: Option<&str>) -> bool {
        !self.is_built_in(name)
            && self.compiled(name, locale).as_ref().as_ref().is_ok_and(|made| made.shows_images)
    }

    /// Whether the files of a template are there and sound, whatever its parameters will be.
    pub fn parse(&self, name: &str) -> Result<(), Fault> {
        match self.is_built_in(name) {
            true => Ok(()),
            false => {
                self.compiled(name, None).as_ref().as_ref().map(|_| ()).map_err(Trouble::fault)
            }
        }
    }

    /// The names of all templates, sorted; the built-in one included.
    pub fn names(&self) -> Vec<String> {
        let mut names = self.library.names();
        if let Err(at) = names.binary_search_by(|name| name.as_str().cmp(BUILT_IN_TEMPLATE)) {
            names.insert(at, BUILT_IN_TEMPLATE.to_owned());
        }
        names
    }

    /// Whether a template is the program's own, since the folder has none of that name.
    pub fn is_compiled_in(&self, name: &str) -> bool {
        !self.library.has_own(name)
    }

    fn letter(
        &self,
        name: &str,
        locale: Option<&str>,
        parameters: &str,
    ) -> Result<Letter, Trouble> {
        let parameters = letter::parameters(parameters)?;
        if self.is_built_in(name) {
            return built_in::write(&parameters);
        }
        match self.compiled(name, locale).as_ref() {
            Ok(template) => letter::write(template, parameters),
            Err(trouble) => Err(trouble.clone()),
        }
    }

    /// A folder's own `message` wraps what is typed in the company's layout.
    fn is_built_in(&self, name: &str) -> bool {
        let serves = || !self.library.has_own(BUILT_IN_TEMPLATE);
        name == BUILT_IN_TEMPLATE && *self.built_in.get_or_init(serves)
    }

    fn compiled(&self, name: &str, locale: Option<&str>) -> Known {
        let key = format!("{name}\n{}", locale.unwrap_or_default());
        // A sender that panicked left the map whole: an entry is complete or not there.
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(&key) {
            return Arc::clone(found);
        }
        drop(known);
        let made = Arc::new(compile::compile(&self.library, name, locale));
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(key).or_insert(made))
    }
}

fn unused_warning(key: &str, template: &str, like: Option<&str>) -> String {
    let hint = like.map(|like| format!("; did you mean `{like}`?")).unwrap_or_default();
    format!("the template `{template}` does not use the parameter `{key}`{hint}")
}
