//! What a mail says: a template with its parameters, or a subject with its text.

use super::json;
use crate::commands::value;
use crate::domain::fault::{Fault, Kind};
use crate::domain::message::BUILT_IN_TEMPLATE;
use clap::Args;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// A template with its parameters, or a subject with its text.
#[derive(Debug, Args)]
#[group(skip)]
pub struct Content {
    /// The template.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["subject", "body", "html"], value_parser = value::text())]
    pub template: Option<String>,
    /// Its language: NAME/LOCALE/ is used over NAME/.
    #[arg(long, value_name = "LOCALE", value_parser = value::text())]
    pub locale: Option<String>,
    /// A parameter that is a text.
    #[arg(long, value_name = "K=V", allow_hyphen_values = true, value_parser = value::text())]
    pub param: Vec<String>,
    /// A parameter that is any JSON.
    #[arg(long, value_name = "K=JSON", allow_hyphen_values = true, value_parser = value::text())]
    pub param_json: Vec<String>,
    /// All parameters as a JSON object: the text, `@FILE`, or `-` for stdin.
    #[arg(long, value_name = "JSON|@FILE|-", allow_hyphen_values = true, value_parser = value::text())]
    pub params: Option<String>,
    /// The subject of a mail without a template.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = value::text())]
    pub subject: Option<String>,
    /// Its text: the text, `@FILE`, or `-` for stdin; `@@` begins a text with an @.
    #[arg(long, value_name = "TEXT|@FILE|-", requires = "subject", allow_hyphen_values = true, value_parser = value::text())]
    pub body: Option<String>,
    /// Its HTML: the text or `@FILE`; `@@` begins a text with an @.
    #[arg(long, value_name = "TEXT|@FILE", requires = "subject", allow_hyphen_values = true, value_parser = value::text())]
    pub html: Option<String>,
}

/// Neither a template nor a subject was given.
pub fn nothing_to_say() -> Fault {
    Fault::new(Kind::Usage, "no template and no subject")
        .hint("name a template with --template, or write --subject and --body")
}

/// Two options whose value is `-` would both read stdin, and the second finds nothing.
pub(super) fn stdin_is_read_once(options: &[(&str, &Option<String>)]) -> Result<(), Fault> {
    let mut readers = options.iter().filter(|(_, value)| value.as_deref() == Some("-"));
    match (readers.next(), readers.next()) {
        (Some((one, _)), Some((other, _))) => {
            Err(Fault::new(Kind::Usage, format!("{one} - and {other} - both want stdin"))
                .hint("give one of them as a file"))
        }
        _ => Ok(()),
    }
}

/// The parameters of the options.
pub(super) fn parameters(args: &Content) -> Result<Map<String, Value>, Fault> {
    stdin_is_read_once(&[("--params", &args.params), ("--body", &args.body)])?;
    let mut parameters = match &args.params {
        Some(text) => object(&value::text_or_file("--params", text, true)?)?,
        None => Map::new(),
    };
    let mut seen = BTreeSet::new();
    let texts = args.param.iter().map(|pair| ("--param", pair));
    for (option, pair) in texts.chain(args.param_json.iter().map(|pair| ("--param-json", pair))) {
        let (key, text) = key_and_value(option, pair)?;
        if !seen.insert(key.clone()) {
            return Err(Fault::new(Kind::Usage, format!("{option}: {key:?} is given twice"))
                .hint("a list is one value: --param-json 'names=[\"a\", \"b\"]'"));
        }
        let parsed = match option {
            "--param" => Value::String(text),
            _ => json::read(&text).map_err(|e| match e.is_data() {
                true => Fault::new(Kind::Data, format!("{option} {key}: {e}"))
                    .hint("leave one of them; a list is written [\"a\", \"b\"]"),
                false => Fault::new(Kind::Data, format!("{option} {key}: not JSON: {e}"))
                    .hint(format!("a text needs no JSON: --param {key}=…")),
            })?,
        };
        parameters.insert(key, parsed);
    }
    Ok(parameters)
}

/// The template and its parameters.
pub fn content(args: &Content) -> Result<(String, Map<String, Value>), Fault> {
    let parameters = parameters(args)?;
    if let Some(template) = &args.template {
        return Ok((template.clone(), parameters));
    }
    let Some(subject) = &args.subject else {
        return Err(Fault::new(Kind::Usage, "no --template is named, and no --subject is given")
            .hint("--template NAME, or --subject TEXT with --body or --html, says what the mail holds"));
    };
    if !parameters.is_empty() {
        return Err(Fault::new(Kind::Usage, "--subject is sent as it is; it has no parameters")
            .hint("use --template for a mail with parameters"));
    }
    let body =
        args.body.as_deref().map(|text| value::text_or_file("--body", text, true)).transpose()?;
    let html =
        args.html.as_deref().map(|text| value::text_or_file("--html", text, false)).transpose()?;
    Ok((BUILT_IN_TEMPLATE.to_owned(), plain(subject, body, html)))
}

/// The parameters of the built-in template.
pub(super) fn plain(
    subject: &str,
    body: Option<String>,
    html: Option<String>,
) -> Map<String, Value> {
    let mut parameters = Map::new();
    parameters.insert("subject".into(), subject.into());
    if let Some(body) = body.or_else(|| html.is_none().then(String::new)) {
        parameters.insert("body".into(), body.into());
    }
    if let Some(html) = html {
        parameters.insert("html".into(), html.into());
    }
    parameters
}

/// What is odd about a subject and its text: nothing to read, or more lines than a subject has.
pub(super) fn blanks(parameters: &Map<String, Value>, has_files: bool) -> Vec<String> {
    let text = |key: &str| parameters.get(key).and_then(Value::as_str).unwrap_or_default().trim();
    let subject = text("subject");
    let mut warnings = Vec::new();
    match (subject.is_empty(), text("body").is_empty() && text("html").is_empty() && !has_files) {
        (true, true) => warnings.push("--subject and --body are empty: nothing is in the mail"),
        (true, false) => warnings.push("--subject is empty"),
        (false, true) => {
            warnings.push("--body is empty or not given: only a subject is in the mail")
        }
        (false, false) => {}
    }
    if subject.contains(['\n', '\r']) {
        warnings.push("--subject has more than one line: it is sent as one, with spaces between");
    }
    warnings.into_iter().map(str::to_owned).collect()
}

fn object(text: &str) -> Result<Map<String, Value>, Fault> {
    // `"$(cat FILE)"` hands a byte order mark on.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match json::read(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => {
            Err(Fault::new(Kind::Data, "--params is no JSON object")
                .hint("write {\"name\": \"Ada\"}"))
        }
        Err(e) => {
            let is_twice = e.is_data();
            let told = if is_twice {
                format!("--params: {e}")
            } else {
                format!("--params is not JSON: {e}")
            };
            Err(Fault::new(Kind::Data, told).hint(if is_twice {
                "leave one of them; a list is written [\"a\", \"b\"]"
            } else {
                "write {\"name\": \"Ada\"}, or @FILE for a file"
            }))
        }
    }
}

fn key_and_value(option: &str, pair: &str) -> Result<(String, String), Fault> {
    match pair.split_once('=') {
        Some(("", _)) => {
            Err(Fault::new(Kind::Usage, format!("{option} {pair:?} has no key before the =")))
        }
        Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
        None => Err(Fault::new(Kind::Usage, format!("{option} {pair:?} has no ="))
            .hint(format!("write {option} key=value"))),
    }
}
