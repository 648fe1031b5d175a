//! `mailq enqueue`: check everything, copy the attachments, store the mail, print its id.

use super::Context;
use super::value::{self, Moment};
use crate::domain::address::{self, Mailbox};
use crate::domain::fault::{Fault, Kind};
use crate::domain::header::check_header;
use crate::domain::message::{Attachment, BUILT_IN_TEMPLATE, Draft};
use crate::exit;
use crate::host;
use crate::output::{Level, Unwritable};
use crate::spool::Spool;
use crate::store::{Access, Enqueued};
use crate::templates::Templates;
use anyhow::Result;
use clap::Args;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub struct EnqueueArgs {
    /// Recipients: RFC 5322 address lists (`Ada <ada@example.com>, bob@example.com`).
    #[arg(long, value_name = "ADDR", num_args = 1.., value_parser = value::text())]
    to: Vec<String>,
    /// More recipients, shown to all.
    #[arg(long, value_name = "ADDR", num_args = 1.., value_parser = value::text())]
    cc: Vec<String>,
    /// Recipients whom nobody sees.
    #[arg(long, value_name = "ADDR", num_args = 1.., value_parser = value::text())]
    bcc: Vec<String>,
    /// The sender [default: `from` in the configuration].
    #[arg(long, value_name = "ADDR", value_parser = value::text())]
    from: Option<String>,
    /// Where answers go.
    #[arg(long, value_name = "ADDR", value_parser = value::text())]
    reply_to: Option<String>,
    #[command(flatten)]
    content: Content,
    /// Attach a file: it is copied now.
    #[arg(long, value_name = "PATH", allow_hyphen_values = true)]
    attach: Vec<PathBuf>,
    /// An image in the HTML, shown where it says `cid:CID`.
    #[arg(long, value_name = "CID=PATH", allow_hyphen_values = true)]
    inline: Vec<OsString>,
    /// A further header (`Name: value`).
    #[arg(long, value_name = "NAME: VALUE", allow_hyphen_values = true, value_parser = value::text())]
    header: Vec<String>,
    /// The queue it waits in.
    #[arg(long, value_name = "QUEUE", default_value = "default", value_parser = value::text())]
    queue: String,
    /// When to send it: a time with its zone, or `+2d`.
    #[arg(long, value_name = "TIME", conflicts_with = "in", allow_hyphen_values = true, value_parser = value::text())]
    at: Option<String>,
    /// How long from now to send it.
    #[arg(long, value_name = "DURATION", value_parser = value::duration, allow_hyphen_values = true)]
    r#in: Option<Duration>,
    /// Do not send it later than so long after it is due.
    #[arg(long, value_name = "DURATION", value_parser = value::positive_duration, allow_hyphen_values = true)]
    expires_in: Option<Duration>,
    /// A name for this mail: the same one again stores no second mail, and prints the first one's id.
    #[arg(long, value_name = "KEY", allow_hyphen_values = true, value_parser = value::text())]
    key: Option<String>,
    /// After how many attempts to give up [default: as configured].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    max_attempts: Option<u32>,
    /// Treat warnings as errors.
    #[arg(long)]
    strict: bool,
    /// Check all and show what would be stored; store nothing.
    #[arg(long)]
    dry_run: bool,
}

/// A template with its parameters, or a subject with its text.
#[derive(Debug, Args)]
pub struct Content {
    /// The template.
    #[arg(long, value_name = "NAME", required_unless_present = "subject", conflicts_with_all = ["subject", "body", "html"], value_parser = value::text())]
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
    /// Its text: the text, `@FILE`, or `-` for stdin.
    #[arg(long, value_name = "TEXT|@FILE|-", requires = "subject", allow_hyphen_values = true, value_parser = value::text())]
    pub body: Option<String>,
    /// Its HTML: the text or `@FILE`.
    #[arg(long, value_name = "TEXT|@FILE", requires = "subject", allow_hyphen_values = true, value_parser = value::text())]
    pub html: Option<String>,
}

pub fn run(args: EnqueueArgs, context: &Context) -> Result<u8> {
    let now = host::now_ms();
    let mut warnings = Vec::new();
    let mut draft = draft(&args, context, now, &mut warnings)?;
    for warning in &warnings {
        if args.strict {
            return Err(Fault::new(Kind::Data, warning.clone())
                .hint("--strict makes warnings errors")
                .into());
        }
        context.output.say(Level::Warning, warning);
    }
    let spool = Spool::new(context.config.spool(), Vec::new());
    draft.attachments = attachments(&args, &spool, context.config.max_message_size())?;
    if args.dry_run {
        context.output.say(Level::Notice, "dry run: nothing is stored");
        context.output.json(&preview(&draft))?;
        return Ok(exit::DONE);
    }
    let mut store = context.store(Access::Create)?;
    let stored = store.enqueue(&[draft], now)?;
    drop(store);
    print(&stored, context)
}

/// Ids are printed after the commit; a mail whose id nobody could read is queued all the same.
fn print(stored: &[Enqueued], context: &Context) -> Result<u8> {
    for one in stored {
        let id = one.id;
        let printed = match context.json {
            true => context.output.json(&json!({ "id": id.0, "existed": one.existed })),
            false => context.output.line(&id.to_string()),
        };
        if let Err(unwritable) = printed {
            return Err(lost_id(&unwritable, &id.to_string()).into());
        }
        if one.existed {
            context.output.say(Level::Detail, &format!("mail {id} was there already"));
        }
    }
    Ok(exit::DONE)
}

fn lost_id(unwritable: &Unwritable, id: &str) -> Fault {
    Fault::new(Kind::Io, format!("{unwritable}; mail {id} is queued"))
        .hint("with --key, running the command again queues no second one")
}

fn draft(
    args: &EnqueueArgs,
    context: &Context,
    now: i64,
    warnings: &mut Vec<String>,
) -> Result<Draft> {
    let (to, cc, bcc) =
        (list("--to", &args.to)?, list("--cc", &args.cc)?, list("--bcc", &args.bcc)?);
    if to.is_empty() && cc.is_empty() && bcc.is_empty() {
        return Err(Fault::new(Kind::Usage, "no recipient")
            .hint("name one with --to, --cc or --bcc")
            .into());
    }
    let from = args.from.as_deref().map(|text| one("--from", text)).transpose()?;
    if from.is_none() && !context.config.has_from() {
        let from = context.config.from();
        warnings.push(format!(
            "no sender is configured, so the mail will be from {from}; set `from`, or give --from"
        ));
    }
    let reply_to = args
        .reply_to
        .as_ref()
        .map(|text| list("--reply-to", std::slice::from_ref(text)))
        .transpose()?;
    let (template, parameters) = content(&args.content)?;
    let templates = Templates::new(Some(context.config.templates()));
    let told = templates.check(
        &template,
        args.content.locale.as_deref(),
        &Value::Object(parameters.clone()),
    )?;
    warnings.extend(told);
    let due = due(args, context, now)?;
    let expires = args.expires_in.map(|after| {
        due.unwrap_or(now).saturating_add(i64::try_from(after.as_millis()).unwrap_or(i64::MAX / 4))
    });
    check_queue(&args.queue)?;
    if args.key.as_deref() == Some("") {
        return Err(Fault::new(Kind::Usage, "--key is empty").into());
    }
    Ok(Draft {
        queue: args.queue.clone(),
        from: from.map(|one| address::write_list(&[one])),
        reply_to: reply_to.map(|all| address::write_list(&all)),
        to: address::write_list(&to),
        cc: address::write_list(&cc),
        bcc: address::write_list(&bcc),
        template,
        locale: args.content.locale.clone(),
        parameters: Value::Object(parameters).to_string(),
        attachments: Vec::new(),
        headers: headers(&args.header)?,
        max_attempts: args.max_attempts,
        next_attempt_at: due,
        expires_at: expires,
        idempotency_key: args.key.clone(),
    })
}

/// Reads the address lists of an option, which may be given several times.
fn list(option: &str, texts: &[String]) -> Result<Vec<Mailbox>, Fault> {
    let mut all = Vec::new();
    for text in texts {
        let found = address::parse_list(text).map_err(|fault| named(option, &fault))?;
        if found.is_empty() {
            return Err(Fault::new(Kind::Data, format!("{option} is empty: {text:?}"))
                .hint("give an address, or leave the option out"));
        }
        all.extend(found);
    }
    Ok(all)
}

fn one(option: &str, text: &str) -> Result<Mailbox, Fault> {
    let mut all = list(option, &[text.to_owned()])?;
    match (all.pop(), all.is_empty()) {
        (Some(only), true) => Ok(only),
        _ => Err(Fault::new(Kind::Data, format!("{option} takes one address: {text:?}"))),
    }
}

/// `fault` with the option that it is about.
fn named(option: &str, fault: &Fault) -> Fault {
    let told = Fault::new(fault.kind(), format!("{option}: {fault}"));
    match fault.next_step() {
        Some(hint) => told.hint(hint),
        None => told,
    }
}

fn check_queue(queue: &str) -> Result<(), Fault> {
    let is_sound = !queue.is_empty()
        && queue.len() <= 64
        && queue.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b));
    match is_sound {
        true => Ok(()),
        false => Err(Fault::new(Kind::Usage, format!("--queue {queue:?} is no name of a queue"))
            .hint("letters, digits, _, - and . only, at most 64")),
    }
}

fn due(args: &EnqueueArgs, context: &Context, now: i64) -> Result<Option<i64>, Fault> {
    if let Some(later) = args.r#in {
        return Ok(Some(
            now.saturating_add(i64::try_from(later.as_millis()).unwrap_or(i64::MAX / 4)),
        ));
    }
    let Some(text) = &args.at else { return Ok(None) };
    let Moment { at_ms, assumed_local } = value::moment("--at", text, now)?;
    if assumed_local {
        let shown = value::show_moment(at_ms);
        context.output.say(
            Level::Notice,
            &format!("--at {text:?} names no zone: taken as {shown}, this host's time"),
        );
    }
    Ok(Some(at_ms))
}

/// The template and its parameters.
pub fn content(args: &Content) -> Result<(String, Map<String, Value>), Fault> {
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
            _ => serde_json::from_str(&text).map_err(|e| {
                Fault::new(Kind::Data, format!("{option} {key}: not JSON: {e}"))
                    .hint(format!("a text needs no JSON: --param {key}=…"))
            })?,
        };
        parameters.insert(key, parsed);
    }
    let Some(subject) = &args.subject else {
        return Ok((args.template.clone().unwrap_or_default(), parameters));
    };
    if !parameters.is_empty() {
        return Err(Fault::new(Kind::Usage, "--subject is sent as it is; it has no parameters")
            .hint("use --template for a mail with parameters"));
    }
    let body =
        args.body.as_deref().map(|text| value::text_or_file("--body", text, true)).transpose()?;
    let html =
        args.html.as_deref().map(|text| value::text_or_file("--html", text, false)).transpose()?;
    parameters.insert("subject".into(), subject.clone().into());
    if let Some(body) = body.or_else(|| html.is_none().then(String::new)) {
        parameters.insert("body".into(), body.into());
    }
    if let Some(html) = html {
        parameters.insert("html".into(), html.into());
    }
    Ok((BUILT_IN_TEMPLATE.to_owned(), parameters))
}

fn object(text: &str) -> Result<Map<String, Value>, Fault> {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => {
            Err(Fault::new(Kind::Data, "--params is no JSON object")
                .hint("write {\"name\": \"Ada\"}"))
        }
        Err(e) => Err(Fault::new(Kind::Data, format!("--params is not JSON: {e}"))
            .hint("write {\"name\": \"Ada\"}, or @FILE for a file")),
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

fn headers(texts: &[String]) -> Result<BTreeMap<String, String>, Fault> {
    let mut all = BTreeMap::new();
    for text in texts {
        let (name, value) = text.split_once(':').ok_or_else(|| {
            Fault::new(Kind::Usage, format!("--header {text:?} has no colon"))
                .hint("write --header 'Name: value'")
        })?;
        let value = value.trim_matches([' ', '\t']);
        check_header(name, value).map_err(|fault| named("--header", &fault))?;
        let is_twice = all.keys().any(|known: &String| known.eq_ignore_ascii_case(name));
        if is_twice {
            return Err(Fault::new(Kind::Usage, format!("--header {name} is given twice")));
        }
        all.insert(name.to_owned(), value.to_owned());
    }
    Ok(all)
}

/// Copies the attachments into the spool, all of which must fit into one message.
fn attachments(args: &EnqueueArgs, spool: &Spool, limit: u64) -> Result<Vec<Attachment>, Fault> {
    let mut left = limit;
    let mut all = Vec::new();
    let mut take_in = |path: &std::path::Path, cid: Option<String>| -> Result<(), Fault> {
        let taken = spool.take_in(path, None, left)?;
        // base64 makes four bytes of three.
        left = left.saturating_sub(taken.size.unwrap_or_default().saturating_mul(4) / 3);
        all.push(Attachment { cid, ..taken });
        Ok(())
    };
    for path in &args.attach {
        take_in(path, None)?;
    }
    for pair in &args.inline {
        let bytes = pair.as_bytes();
        let wrong = || {
            Fault::new(Kind::Usage, format!("--inline {:?} is no CID=PATH", pair.to_string_lossy()))
                .hint("write --inline logo=logo.png, and <img src=\"cid:logo\"> in the HTML")
        };
        let at = bytes.iter().position(|b| *b == b'=').ok_or_else(wrong)?;
        let cid = std::str::from_utf8(&bytes[..at]).map_err(|_| wrong())?;
        let is_sound = !cid.is_empty()
            && cid.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-@".contains(&b));
        if !is_sound {
            return Err(wrong());
        }
        take_in(
            &PathBuf::from(OsString::from_vec(bytes[at + 1..].to_vec())),
            Some(cid.to_owned()),
        )?;
    }
    Ok(all)
}

/// What would be stored.
fn preview(draft: &Draft) -> Value {
    json!({
        "queue": draft.queue, "from": draft.from, "reply_to": draft.reply_to, "to": draft.to, "cc": draft.cc,
        "bcc": draft.bcc, "template": draft.template, "locale": draft.locale,
        "parameters": serde_json::from_str::<Value>(&draft.parameters).unwrap_or_default(),
        "attachments": draft.attachments, "headers": draft.headers, "max_attempts": draft.max_attempts,
        "next_attempt_at": draft.next_attempt_at, "expires_at": draft.expires_at, "key": draft.idempotency_key,
    })
}
