//! The built-in template `message`, which serves `enqueue --subject/--body/--html`.
//!
//! What the user typed is data: nothing in it is rendered or escaped.

use super::Needs;
use super::letter;
use super::strict::text_of;
use super::trouble::{Trouble, nearest};
use crate::domain::message::{BUILT_IN_TEMPLATE, Letter};
use serde_json::Value;

/// The parameters of `message`.
const KNOWN: [&str; 3] = ["subject", "body", "html"];

/// The letter from `subject` and at least one of `body` and `html`.
pub(super) fn write(parameters: &Value) -> Result<Letter, Trouble> {
    let part = |name: &str| match parameters.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => text_of(value)
            .map(Some)
            .map_err(|why| Trouble::new(format!("{BUILT_IN_TEMPLATE}: `{name}` {why}"))),
    };
    let absent = |name: &str| {
        let trouble =
            Trouble::new(format!("{BUILT_IN_TEMPLATE}: the parameter `{name}` is missing"));
        let keys = parameters.as_object().into_iter().flat_map(|map| map.keys());
        match nearest(name, keys.map(String::as_str)) {
            Some(like) => trouble.hint(format!("`{like}` was given: did you mean `{name}`?")),
            None => {
                trouble.hint("the built-in template takes `subject`, and `body` or `html` or both")
            }
        }
    };
    let subject = part("subject")?.ok_or_else(|| absent("subject"))?;
    let (text, html) = (part("body")?, part("html")?);
    if text.is_none() && html.is_none() {
        return Err(absent("body"));
    }
    Ok(letter::finish(&subject, text, html, Vec::new()))
}

/// What `message` takes.
pub(super) fn needs() -> Needs {
    let [subject, parts @ ..] = KNOWN.map(str::to_owned);
    Needs { required: vec![subject], optional: parts.to_vec() }
}

/// The given parameters that mean nothing here.
pub(super) fn unused(parameters: &Value) -> Vec<&str> {
    let keys = parameters.as_object().into_iter().flat_map(|map| map.keys());
    keys.map(String::as_str).filter(|key| !KNOWN.contains(key)).collect()
}
