//! One line of `--bulk`: what it may say, and the mail that it makes of the options' defaults.

use super::content::plain;
use super::files::Wanted;
use super::{House, Request, fields, json};
use crate::config::units;
use crate::domain::fault::{Fault, Kind};
use crate::domain::message::{BUILT_IN_TEMPLATE, Draft};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What a line may say; everything else comes from the options.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Line {
    to: Option<OneOrMany>,
    cc: Option<OneOrMany>,
    bcc: Option<OneOrMany>,
    from: Option<String>,
    reply_to: Option<String>,
    template: Option<String>,
    locale: Option<String>,
    params: Option<Map<String, Value>>,
    subject: Option<String>,
    body: Option<String>,
    html: Option<String>,
    attach: Option<OneOrMany>,
    headers: Option<BTreeMap<String, String>>,
    queue: Option<String>,
    at: Option<String>,
    r#in: Option<String>,
    expires_in: Option<String>,
    key: Option<String>,
    max_attempts: Option<u32>,
    group: Option<String>,
    list_unsubscribe: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "an address list is a text, or a list of texts")]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    fn into_vec(self) -> Vec<String> {
        match self {
            OneOrMany::One(one) => vec![one],
            OneOrMany::Many(many) => many,
        }
    }
}

/// A record by its columns: the known ones are options, every other one is a parameter. An empty option is not given.
pub(super) fn of_columns(columns: &[String], record: &[&str]) -> Result<Line, String> {
    let mut line = Line::default();
    let mut params = Map::new();
    for (column, text) in columns.iter().zip(record) {
        let given = (!text.is_empty()).then(|| (*text).to_owned());
        match column.as_str() {
            "to" => line.to = given.map(OneOrMany::One),
            "cc" => line.cc = given.map(OneOrMany::One),
            "bcc" => line.bcc = given.map(OneOrMany::One),
            "from" => line.from = given,
            "reply_to" => line.reply_to = given,
            "template" => line.template = given,
            "locale" => line.locale = given,
            "queue" => line.queue = given,
            "at" => line.at = given,
            "in" => line.r#in = given,
            "expires_in" => line.expires_in = given,
            "key" => line.key = given,
            "group" => line.group = given,
            "list_unsubscribe" => line.list_unsubscribe = given,
            "attach" => line.attach = given.map(OneOrMany::One),
            "params" | "headers" => {
                let Some(given) = given else { continue };
                let wrong = |e: serde_json::Error| {
                    format!("{column} is no JSON object of the right form: {e}")
                };
                if column == "params" {
                    line.params = Some(json::read(&given).map_err(wrong)?);
                } else {
                    line.headers = Some(json::read(&given).map_err(wrong)?);
                }
            }
            _ => drop(params.insert(column.clone(), Value::String((*text).to_owned()))),
        }
    }
    let all = line.params.get_or_insert_default();
    for (key, text) in params {
        if all.insert(key.clone(), text).is_some() {
            return Err(format!("{key:?} is a column, and a key in params"));
        }
    }
    Ok(line)
}

/// The mail of one line.
pub(super) fn mail(
    line: Line,
    base: &Request,
    house: &House<'_>,
    warnings: &mut Vec<String>,
) -> Result<(Draft, Vec<Wanted>), Fault> {
    let mut mail = base.clone();
    let lists = [(&mut mail.to, line.to), (&mut mail.cc, line.cc), (&mut mail.bcc, line.bcc)];
    for (list, given) in lists {
        if let Some(given) = given {
            *list = given.into_vec();
        }
    }
    let fields = [
        (&mut mail.from, line.from),
        (&mut mail.reply_to, line.reply_to),
        (&mut mail.locale, line.locale),
        (&mut mail.key, line.key),
        (&mut mail.group, line.group),
    ];
    for (field, given) in fields {
        *field = given.or(field.take());
    }
    if let Some(template) = line.template {
        mail.template = template;
    }
    let params = line.params.unwrap_or_default();
    let has_params = !params.is_empty();
    mail.parameters.extend(params);
    match line.subject {
        Some(_) if has_params => {
            return Err(Fault::new(Kind::Data, "a subject is sent as it is; it has no params"));
        }
        Some(subject) => {
            mail.has_html = line.html.is_some();
            mail.template = BUILT_IN_TEMPLATE.to_owned();
            mail.parameters = plain(&subject, line.body, line.html);
        }
        None if line.body.is_some() || line.html.is_some() => {
            return Err(Fault::new(Kind::Data, "body and html go with a subject"));
        }
        None => {}
    }
    if let Some(files) = line.attach {
        mail.wanted = files
            .into_vec()
            .into_iter()
            .map(|path| Wanted { path: PathBuf::from(path), cid: None })
            .collect();
    }
    for (name, value) in line.headers.unwrap_or_default() {
        mail.headers.retain(|known, _| !known.eq_ignore_ascii_case(&name));
        fields::header(&mut mail.headers, &name, &value)?;
    }
    if let Some(url) = line.list_unsubscribe {
        mail.headers.retain(|known, _| !known.eq_ignore_ascii_case("List-Unsubscribe"));
        fields::unsubscribe(&mut mail.headers, &url)?;
    }
    if let Some(queue) = line.queue {
        mail.queue = queue;
    }
    let duration = |key: &str, text: &str| {
        units::duration(text).map_err(|why| Fault::new(Kind::Data, format!("{key} {text:?} {why}")))
    };
    mail.due = match (line.at, line.r#in) {
        (Some(_), Some(_)) => return Err(Fault::new(Kind::Data, "at and in exclude each other")),
        (Some(at), None) => fields::at("--at", &at, house)?,
        (None, Some(later)) => (Some(fields::after(house.now, duration("--in", &later)?)), None),
        (None, None) => mail.due,
    };
    if let Some(later) = line.expires_in {
        mail.expires_in = Some(duration("--expires-in", &later)?);
    }
    mail.max_attempts = line.max_attempts.or(mail.max_attempts);
    mail.check(house, warnings)
}
