//! `mailq enqueue`: check everything, copy the attachments, store the mail, print its id.

mod content;
mod fields;
mod files;

pub use content::{Content, content};

use super::{Context, value};
use crate::domain::address;
use crate::domain::fault::{Fault, Kind};
use crate::domain::message::Draft;
use crate::exit;
use crate::host;
use crate::output::{Level, Unwritable};
use crate::spool::Spool;
use crate::store::{Access, Enqueued};
use crate::templates::Templates;
use anyhow::Result;
use clap::Args;
use files::Wanted;
use serde_json::{Value, json};
use std::ffi::OsString;
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

pub fn run(args: EnqueueArgs, context: &Context) -> Result<u8> {
    let now = host::now_ms();
    let mut warnings = Vec::new();
    let wanted = files::wanted(&args)?;
    let mut draft = draft(&args, &wanted, context, now, &mut warnings)?;
    for warning in &warnings {
        if args.strict {
            return Err(Fault::new(Kind::Data, warning.clone())
                .hint("--strict makes warnings errors")
                .into());
        }
        context.output.say(Level::Warning, warning);
    }
    let limit = context.config.max_message_size();
    if args.dry_run {
        draft.attachments = files::take(wanted, None, limit)?;
        context.output.say(Level::Notice, "dry run: nothing is stored");
        context.output.json(&preview(&draft))?;
        return Ok(exit::DONE);
    }
    let spool = Spool::new(context.config.spool(), Vec::new());
    draft.attachments = files::take(wanted, Some(&spool), limit)?;
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
    wanted: &[Wanted],
    context: &Context,
    now: i64,
    warnings: &mut Vec<String>,
) -> Result<Draft> {
    let (to, cc, bcc) = (
        fields::list("--to", &args.to)?,
        fields::list("--cc", &args.cc)?,
        fields::list("--bcc", &args.bcc)?,
    );
    if to.is_empty() && cc.is_empty() && bcc.is_empty() {
        return Err(Fault::new(Kind::Usage, "no recipient")
            .hint("name one with --to, --cc or --bcc")
            .into());
    }
    let from = args.from.as_deref().map(|text| fields::one("--from", text)).transpose()?;
    if from.is_none() && !context.config.has_from() {
        let from = context.config.from();
        warnings.push(format!(
            "no sender is configured, so the mail will be from {from}; set `from`, or give --from"
        ));
    }
    let reply_to = args
        .reply_to
        .as_ref()
        .map(|text| fields::list("--reply-to", std::slice::from_ref(text)))
        .transpose()?;
    let (template, parameters) = content(&args.content)?;
    let templates = Templates::new(Some(context.config.templates()));
    let told = templates.check(
        &template,
        args.content.locale.as_deref(),
        &Value::Object(parameters.clone()),
    )?;
    warnings.extend(told);
    let parameters = Value::Object(parameters);
    let is_of_images = args.content.html.is_some() || wanted.iter().any(|one| one.cid.is_some());
    // What cannot be rendered yet fails, or is mended, when it is sent.
    if is_of_images
        && let Ok(letter) =
            templates.render(&template, args.content.locale.as_deref(), &parameters.to_string())
    {
        warnings.extend(files::mismatches(wanted, letter.html.as_deref()));
    }
    let due = fields::due(args, context, now)?;
    let expires = args.expires_in.map(|after| {
        due.unwrap_or(now).saturating_add(i64::try_from(after.as_millis()).unwrap_or(i64::MAX / 4))
    });
    fields::check_queue(&args.queue)?;
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
        parameters: parameters.to_string(),
        attachments: Vec::new(),
        headers: fields::headers(&args.header)?,
        max_attempts: args.max_attempts,
        next_attempt_at: due,
        expires_at: expires,
        idempotency_key: args.key.clone(),
    })
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
