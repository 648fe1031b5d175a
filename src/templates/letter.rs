//! From a compiled template and the parameters of one mail to its letter.
//!
//! A value brings no line end into the subject or into a header, and no part grows without bound.

use super::compile::{Compiled, Part, breaks_line};
use super::plain;
use super::strict::{self, Bounded};
use super::trouble::{Place, Trouble, nearest};
use crate::domain::message::Letter;
use handlebars::{Context, RenderContext, RenderError, RenderErrorReason, Renderable};
use serde_json::Value;

/// The largest text or HTML, in bytes.
const LARGEST_PART: usize = 10 << 20;
/// The largest subject and the largest set of headers, in bytes.
const LARGEST_HEAD: usize = 256 << 10;
/// The largest set of parameters, in bytes of JSON.
const LARGEST_PARAMETERS: usize = 8 << 20;

/// Reads the `parameters` column.
pub(super) fn parameters(text: &str) -> Result<Value, Trouble> {
    if text.len() > LARGEST_PARAMETERS {
        return Err(Trouble::new(format!(
            "the parameters are {} bytes long; at most {LARGEST_PARAMETERS} are rendered",
            text.len()
        )));
    }
    let value: Value = serde_json::from_str(text)
        .map_err(|error| Trouble::new(format!("the parameters are no JSON: {error}")))?;
    match value {
        Value::Object(_) => Ok(value),
        _ => Err(Trouble::new("the parameters are no JSON object")),
    }
}

/// Renders every part for one mail.
pub(super) fn write(template: &Compiled, parameters: Value) -> Result<Letter, Trouble> {
    let context = Context::from(parameters);
    let subject = render(&template.subject, &context, LARGEST_HEAD)?;
    let headers = match &template.headers {
        Some(part) => headers(part, &render(part, &context, LARGEST_HEAD)?)?,
        None => Vec::new(),
    };
    let part = |part: &Option<Part>| match part {
        Some(part) => render(part, &context, LARGEST_PART).map(Some),
        None => Ok(None),
    };
    let text = part(&template.text)?;
    let html = part(&template.html)?;
    Ok(finish(&subject, text, html, headers))
}

/// A letter from its rendered parts. A blank part is left out where the other one says something.
pub(super) fn finish(
    subject: &str,
    text: Option<String>,
    html: Option<String>,
    headers: Vec<(String, String)>,
) -> Letter {
    let says = |part: &String| !part.trim().is_empty();
    let html = html.filter(says);
    let text = match text {
        Some(text) if says(&text) || html.is_none() => Some(text),
        Some(_) | None => html.as_deref().and_then(plain::text_from),
    };
    let text = text.or_else(|| html.is_none().then(String::new));
    Letter { subject: subject_line(subject), text, html, headers }
}

/// The subject on one line: the line end of the file is cut, any other becomes a space.
fn subject_line(rendered: &str) -> String {
    let trimmed = rendered.trim_matches(|c| c == '\n' || c == '\r');
    let mut line = String::with_capacity(trimmed.len());
    let mut broken = false;
    for c in trimmed.chars() {
        if breaks_line(c) {
            broken = true;
            continue;
        }
        if std::mem::take(&mut broken) && !line.is_empty() {
            line.push(' ');
        }
        line.push(c);
    }
    line
}

/// Reads `Name: value` lines. A line that begins with a space continues the one before; an empty value sets no header.
fn headers(part: &Part, rendered: &str) -> Result<Vec<(String, String)>, Trouble> {
    let mut headers: Vec<(String, String)> = Vec::new();
    for (index, line) in rendered.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        if line.starts_with([' ', '\t'])
            && let Some((_, value)) = headers.last_mut()
        {
            value.push(' ');
            value.push_str(line.trim());
            continue;
        }
        let named = line
            .split_once(':')
            .filter(|(name, _)| !name.is_empty() && name.bytes().all(|b| b.is_ascii_graphic()));
        let Some((name, value)) = named else {
            return Err(Trouble::new(format!(
                "{}: line {} of the result is no `Name: value`: {line:?}",
                part.file,
                index + 1
            )));
        };
        let value = value.chars().filter(|c| !breaks_line(*c));
        let value: String = value.collect();
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    headers.retain(|(_, value)| !value.is_empty());
    Ok(headers)
}

fn render(part: &Part, context: &Context, limit: usize) -> Result<String, Trouble> {
    strict::refill();
    let mut out = Bounded::new(limit);
    let template = part.template();
    let mut state = RenderContext::new(template.name.as_ref());
    template
        .render(part.registry(), context, &mut state, &mut out)
        .map_err(|error| told(part, &error, context.data()))?;
    Ok(out.into_text())
}

/// An error of handlebars in the words of a template's author.
fn told(part: &Part, error: &RenderError, parameters: &Value) -> Trouble {
    let place = Place {
        file: part.file_of(error.template_name.as_deref()).to_owned(),
        line: error.line_no.unwrap_or(1),
        column: error.column_no.unwrap_or(1),
    };
    let what = match error.reason() {
        RenderErrorReason::MissingVariable(Some(name)) => {
            return missing(&place, name, parameters);
        }
        RenderErrorReason::MissingVariable(None) => "there is no such entry to look up".to_owned(),
        RenderErrorReason::InvalidJsonIndex(key) => {
            format!("`{key}` is asked of a list, which has only numbers")
        }
        RenderErrorReason::PartialBlockNotFound => {
            "{{> @partial-block}} is used by a partial that was included without a block".to_owned()
        }
        RenderErrorReason::IOError(error) => error.to_string(),
        other => other.to_string(),
    };
    Trouble::new(format!("{place}: {what}"))
}

/// What to say when a parameter is missing.
pub(super) fn missing(place: &Place, name: &str, parameters: &Value) -> Trouble {
    let trouble =
        |more: &str| Trouble::new(format!("{place}: the parameter `{name}` is missing{more}"));
    if parameters.get(name).is_some() {
        return trouble("").hint(format!(
            "`{name}` was given as one flat key: write {{{{[{name}]}}}}, or give an object with --param-json"
        ));
    }
    let may_be_missing = format!(
        "let the template say that it may be missing: {{{{default {name} \"…\"}}}}, {{{{#if (optional {name})}}}}"
    );
    let parts: Vec<&str> = name.split(['.', '/']).collect();
    if let [first, _, ..] = parts[..]
        && let Some((at, found)) = deepest(&parts, parameters)
    {
        // The way to it is known, and so is where it ends.
        let owner = parts[..at].join(".");
        let asked = parts[at];
        let more = match found {
            Value::Object(members) => nearest(asked, members.keys().map(String::as_str))
                .map_or(format!("; `{owner}` has no `{asked}`"), |like| {
                    format!("; `{owner}` has `{like}`: did you mean `{asked}`?")
                }),
            Value::Null => format!("; `{owner}` is null"),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                format!("; `{owner}` is no object, so it has no `{asked}`")
            }
        };
        return trouble(&more)
            .hint(format!("give it with --param-json '{first}={{…}}', or {may_be_missing}"));
    }
    let mut keys = Vec::new();
    collect_keys(parameters, &mut keys);
    let wanted = match parameters.as_object() {
        // Of a path whose head was not given, the head is what was misspelt.
        Some(object)
            if parts.len() > 1
                && nearest(parts[0], object.keys().map(String::as_str)).is_some() =>
        {
            keys = object.keys().map(String::as_str).collect();
            parts[0]
        }
        _ => parts[parts.len() - 1],
    };
    let like = nearest(wanted, keys)
        .map(|like| format!("; `{like}` was given: did you mean `{wanted}`?"))
        .unwrap_or_default();
    trouble(&like).hint(format!("give it, or {may_be_missing}"))
}

/// How many parts of a path lead to a value, at least one and not all, and that value.
fn deepest<'a>(parts: &[&str], parameters: &'a Value) -> Option<(usize, &'a Value)> {
    let mut found = None;
    let mut value = parameters;
    for (at, part) in parts.iter().enumerate() {
        match value.get(part) {
            Some(member) => value = member,
            None => break,
        }
        found = Some((at + 1, value));
    }
    found.filter(|(at, _)| *at < parts.len())
}

/// The keys at every depth, as far as a hint is worth it.
fn collect_keys<'a>(value: &'a Value, keys: &mut Vec<&'a str>) {
    if keys.len() > 500 {
        return;
    }
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                keys.push(key);
                collect_keys(value, keys);
            }
        }
        Value::Array(list) => list.iter().take(3).for_each(|item| collect_keys(item, keys)),
        _ => {}
    }
}
