//! `mailq enqueue`: check everything, copy the attachments, store the mail, print its id.

mod bulk;
mod content;
mod fields;
mod files;
mod json;
mod line;
mod records;

pub use content::{Content, content, nothing_to_say};

use super::{Context, replace, value};
use crate::domain::address;
use crate::domain::fault::{Fault, Kind};
use crate::domain::message::{BUILT_IN_TEMPLATE, Draft};
use crate::exit;
use crate::host;
use crate::output::{Level, Unwritable};
use crate::spool::Spool;
use crate::store::{Access, Enqueued, Stage};
use crate::templates::Templates;
use anyhow::Result;
use clap::{ArgGroup, Args};
use files::{Taken, Wanted};
use serde_json::{Map, Value, json};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
#[group(skip)]
#[command(group = ArgGroup::new("letter").args(["template", "subject", "bulk"]).required(true).multiple(true))]
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
    #[arg(long, value_name = "ADDR", allow_hyphen_values = true, value_parser = value::text())]
    from: Option<String>,
    /// Where answers go.
    #[arg(long, value_name = "ADDR", allow_hyphen_values = true, value_parser = value::text())]
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
    /// Where a reader's mail program unsubscribes: an https address, at which one POST does it (RFC 8058).
    #[arg(long, value_name = "URL", value_parser = value::text())]
    list_unsubscribe: Option<String>,
    /// The queue it waits in.
    #[arg(long, value_name = "QUEUE", default_value = "default", value_parser = value::text())]
    queue: String,
    /// When to send it: `2026-12-24T09:00:00+01:00`, `2026-12-24 09:00 Europe/Berlin`, or `+2d`.
    #[arg(long, value_name = "TIME", conflicts_with = "in", allow_hyphen_values = true, value_parser = value::text())]
    at: Option<String>,
    /// How long from now to send it.
    #[arg(long, value_name = "DURATION", value_parser = value::duration(), allow_hyphen_values = true)]
    r#in: Option<Duration>,
    /// Do not send it later than so long after it is due.
    #[arg(long, value_name = "DURATION", value_parser = value::positive_duration(), allow_hyphen_values = true)]
    expires_in: Option<Duration>,
    /// A name for this mail: the same one again stores no second mail, and prints the first one's id.
    #[arg(long, value_name = "KEY", allow_hyphen_values = true, value_parser = value::text())]
    key: Option<String>,
    /// With --key: one mail of this key and template in so long; the others are counted, and the next mail tells how
    /// many (the parameter `repeats`).
    #[arg(long, value_name = "DURATION", requires = "key", conflicts_with = "bulk", value_parser = value::positive_duration(), allow_hyphen_values = true)]
    suppress_for: Option<Duration>,
    /// A name for mails that belong together.
    #[arg(long, value_name = "GROUP", value_parser = value::text())]
    group: Option<String>,
    /// After how many attempts to give up [default: as configured].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    max_attempts: Option<u32>,
    /// One mail a line of JSON Lines or CSV, over the other options as defaults: all of them or none; `-` is stdin.
    #[arg(long, value_name = "FILE|-", conflicts_with = "key")]
    bulk: Option<PathBuf>,
    /// With --bulk: store the good lines, and write the bad ones into this file.
    #[arg(long, value_name = "FILE", requires = "bulk")]
    skip_bad: Option<PathBuf>,
    /// Treat warnings as errors.
    #[arg(long)]
    strict: bool,
    /// Check all and show what would be stored; store nothing.
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: &EnqueueArgs, context: &Context) -> Result<u8> {
    let house = House {
        context,
        templates: Templates::new(Some(context.config.templates())),
        now: host::now_ms(),
        told_time: Cell::new(false),
    };
    let bulk = args.bulk.as_ref().map(|path| path.to_string_lossy().into_owned());
    let Content { params, body, .. } = &args.content;
    content::stdin_is_read_once(&[("--bulk", &bulk), ("--params", params), ("--body", body)])?;
    if let Some(path) = &args.skip_bad {
        context.spare("--skip-bad", path)?;
        if args.bulk.as_ref().is_some_and(|source| replace::is_same(path, source)) {
            let words = format!("--skip-bad {} is the file of --bulk", path.display());
            return Err(Fault::new(Kind::Usage, words)
                .hint("the bad lines go into a file of their own")
                .into());
        }
    }
    let mut stage = if args.bulk.is_some() { Stage::open()? } else { Stage::of_one() };
    // The files of each mail that has some: they are copied when all mails are known to be good.
    let mut wanted: Vec<(u64, Vec<Wanted>)> = Vec::new();
    let mut take = |draft: Draft, files: Vec<Wanted>, line: u64, raw: &[u8]| {
        let number = stage.add(&draft, line, raw)?;
        if !files.is_empty() {
            wanted.push((number, files));
        }
        Ok(())
    };
    let mut warnings = BTreeSet::new();
    let lines = match &args.bulk {
        Some(source) => Some(bulk::read(source, args, &house, &mut warnings, &mut take)?),
        None => {
            let mut told = Vec::new();
            let (draft, files) = Request::of(args, &house)?.check(&house, &mut told)?;
            warnings.extend(told);
            // A corrected template may mend it before it is sent.
            let locale = draft.locale.as_deref();
            if let Err(why) = house.templates.render(&draft.template, locale, &draft.parameters) {
                warnings.insert(format!("as it is, this mail would be FAILED `render`: {why}"));
            }
            take(draft, files, 0, &[])?;
            None
        }
    };
    let more = warnings.len().saturating_sub(bulk::MOST_TOLD);
    for warning in warnings.into_iter().take(bulk::MOST_TOLD) {
        if args.strict {
            return Err(Fault::new(Kind::Data, warning)
                .hint("--strict makes warnings errors")
                .into());
        }
        context.output.say(Level::Warning, &warning);
    }
    if more > 0 {
        context.output.say(Level::Warning, &format!("… and {more} more"));
    }
    let limit = context.config.max_message_size();
    let spool = (!args.dry_run).then(|| Spool::new(context.config.spool(), Vec::new()));
    let mut taken = Taken::default();
    for (number, files) in wanted {
        let attachments = files::take(files, spool.as_ref(), limit, &mut taken)?;
        let draft = stage.get(number)?;
        stage.put(number, &Draft { attachments, ..draft })?;
    }
    if args.dry_run {
        context.output.say(Level::Notice, "dry run: nothing is stored");
        for draft in stage.drafts() {
            context.output.json(&preview(&draft?))?;
        }
        return Ok(exit::DONE);
    }
    let mut store = context.store(Access::Create)?;
    let stored =
        store.enqueue_all(stage.drafts(), house.now, |clashes| match (lines, clashes) {
            (Some(lines), _) => lines.refuse(clashes, &stage, context),
            (None, [one, ..]) => Err(one.fault()),
            (None, []) => Ok(()),
        })?;
    drop(store);
    print(&stored, context)
}

/// What every mail of one command is checked with.
struct House<'a> {
    context: &'a Context,
    templates: Templates,
    now: i64,
    /// Whether the user was told how a time was taken.
    told_time: Cell<bool>,
}

/// One mail as it is asked for: by the options alone, or by a line of `--bulk` over them.
#[derive(Clone)]
struct Request {
    to: Vec<String>,
    cc: Vec<String>,
    bcc: Vec<String>,
    from: Option<String>,
    reply_to: Option<String>,
    template: String,
    locale: Option<String>,
    parameters: Map<String, Value>,
    /// Whether its HTML was typed, so that it is worth a look for images.
    has_html: bool,
    wanted: Vec<Wanted>,
    headers: BTreeMap<String, String>,
    queue: String,
    due: fields::Due,
    expires_in: Option<Duration>,
    key: Option<String>,
    suppress_for: Option<Duration>,
    group: Option<String>,
    max_attempts: Option<u32>,
}

impl Request {
    fn of(args: &EnqueueArgs, house: &House<'_>) -> Result<Request> {
        let Content { template, subject, .. } = &args.content;
        let (template, parameters) =
            match args.bulk.is_some() && template.is_none() && subject.is_none() {
                // Each line names its own.
                true => (String::new(), content::parameters(&args.content)?),
                false => content(&args.content)?,
            };
        Ok(Request {
            to: args.to.clone(),
            cc: args.cc.clone(),
            bcc: args.bcc.clone(),
            from: args.from.clone(),
            reply_to: args.reply_to.clone(),
            template,
            // An empty one is what an unset shell variable leaves.
            locale: args.content.locale.clone().filter(|locale| !locale.is_empty()),
            parameters,
            has_html: args.content.html.is_some(),
            wanted: files::wanted(args)?,
            headers: fields::headers(&args.header, args.list_unsubscribe.as_deref())?,
            queue: args.queue.clone(),
            due: match (args.r#in, &args.at) {
                (Some(later), _) => (Some(fields::after(house.now, later)), None),
                (None, Some(at)) => fields::at("--at", at, house)?,
                (None, None) => (None, None),
            },
            expires_in: args.expires_in,
            key: args.key.clone(),
            suppress_for: args.suppress_for,
            group: args.group.clone(),
            max_attempts: args.max_attempts,
        })
    }

    /// Checks all of it. The files that it wants are not opened yet.
    fn check(
        self,
        house: &House<'_>,
        warnings: &mut Vec<String>,
    ) -> Result<(Draft, Vec<Wanted>), Fault> {
        let config = &house.context.config;
        let to = fields::list("--to", &self.to)?;
        let cc = fields::list("--cc", &self.cc)?;
        let bcc = fields::list("--bcc", &self.bcc)?;
        if to.is_empty() && cc.is_empty() && bcc.is_empty() {
            return Err(
                Fault::new(Kind::Usage, "no recipient").hint("name one with --to, --cc or --bcc")
            );
        }
        if self.template.is_empty() {
            return Err(nothing_to_say());
        }
        let from = self.from.as_deref().map(|text| fields::one("--from", text)).transpose()?;
        if from.is_none() && !config.has_from(&self.queue) {
            let from = config.from(Some(&self.queue));
            warnings.push(format!(
                "no sender is configured, so the mail will be from {from}; set `from`, or give --from"
            ));
        }
        let reply_to = self.reply_to.map(|text| fields::list("--reply-to", &[text])).transpose()?;
        let locale = self.locale.as_deref();
        if self.template == BUILT_IN_TEMPLATE {
            warnings.extend(content::blanks(&self.parameters, !self.wanted.is_empty()));
        }
        let mut parameters = Value::Object(self.parameters);
        let mut checked = house.templates.check(&self.template, locale, &parameters);
        if self.suppress_for.is_some() && checked.is_err() {
            // The count is known when the mail is stored; a template may need it.
            parameters["repeats"] = 0.into();
            checked = house.templates.check(&self.template, locale, &parameters);
        }
        warnings.extend(checked?);
        let parameters_text = parameters.to_string();
        let is_of_images = self.has_html
            || self.wanted.iter().any(|one| one.cid.is_some())
            || house.templates.shows_images(&self.template, locale);
        // What cannot be rendered yet fails, or is mended, when it is sent.
        if is_of_images
            && let Ok(letter) = house.templates.render(&self.template, locale, &parameters_text)
        {
            warnings.extend(files::mismatches(&self.wanted, letter.html.as_deref()));
        }
        fields::check_name("--queue", &self.queue)?;
        self.group.as_deref().map_or(Ok(()), |group| fields::check_name("--group", group))?;
        if self.key.as_deref() == Some("") {
            return Err(Fault::new(Kind::Usage, "--key is empty"));
        }
        let (due, named_at) = self.due;
        let draft = Draft {
            queue: self.queue,
            from: from.map(|one| address::write_list(&[one])),
            reply_to: reply_to.map(|all| address::write_list(&all)),
            to: address::write_list(&to),
            cc: address::write_list(&cc),
            bcc: address::write_list(&bcc),
            template: self.template,
            locale: self.locale,
            parameters: parameters_text,
            attachments: Vec::new(),
            headers: self.headers,
            max_attempts: self.max_attempts,
            next_attempt_at: due,
            named_at,
            expires_at: self.expires_in.map(|later| fields::after(due.unwrap_or(house.now), later)),
            idempotency_key: self.key,
            suppress_for: self.suppress_for,
            group: self.group,
        };
        Ok((draft, self.wanted))
    }
}

/// Ids are printed after the commit; a mail whose id nobody could read is queued all the same.
fn print(stored: &[Enqueued], context: &Context) -> Result<u8> {
    for one in stored {
        let id = one.id;
        let printed = match context.json {
            true => {
                let mut told = json!({ "id": id.0, "existed": one.existed });
                if let Some(repeats) = one.repeats {
                    told["repeats"] = repeats.into();
                }
                context.output.json(&told)
            }
            false => context.output.line(&id.to_string()),
        };
        if let Err(unwritable) = printed {
            return Err(lost_id(&unwritable, &id.to_string()).into());
        }
        if let Some(repeats) = one.repeats {
            let words = format!("repeat {repeats} of mail {id} is counted, not stored");
            context.output.say(Level::Detail, &words);
        } else if one.existed {
            context.output.say(Level::Detail, &format!("mail {id} was there already"));
        }
    }
    Ok(exit::DONE)
}

fn lost_id(unwritable: &Unwritable, id: &str) -> Fault {
    Fault::new(Kind::Io, format!("{unwritable}; mail {id} is queued"))
        .hint("with --key, running the command again queues no second one")
}

/// What would be stored.
fn preview(draft: &Draft) -> Value {
    json!({
        "queue": draft.queue, "from": draft.from, "reply_to": draft.reply_to, "to": draft.to, "cc": draft.cc,
        "bcc": draft.bcc, "template": draft.template, "locale": draft.locale,
        "parameters": serde_json::from_str::<Value>(&draft.parameters).unwrap_or_default(),
        "attachments": draft.attachments, "headers": draft.headers, "max_attempts": draft.max_attempts,
        "next_attempt_at": draft.next_attempt_at, "expires_at": draft.expires_at, "key": draft.idempotency_key, "group": draft.group,
    })
}
