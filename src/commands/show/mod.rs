//! `mailq show`: all of one mail, what was tried with it, and why it did not go out.

mod story;
mod why;

use super::mail::Scene;
use super::send_batch::{ready, scope_of};
use super::{Context, named, value};
use crate::domain::fault::{Fault, Kind};
use crate::domain::message::{Mail, MailId, Record};
use crate::domain::state::Status;
use crate::exit;
use crate::host;
use crate::output::{Page, Piece, Tone};
use crate::store::{Access, Store};
use anyhow::Result;
use clap::Args;
use why::Obstacle;

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The mails' ids; `-` reads them from stdin.
    #[arg(required = true, value_parser = value::text())]
    id: Vec<String>,
    /// Show one mail as it would go out now: who gets it, subject and text.
    #[arg(long, conflicts_with_all = ["raw"])]
    rendered: bool,
    /// Print the bytes that would go out now, attachments and signature included.
    #[arg(long, conflicts_with = "json")]
    raw: bool,
}

pub fn run(args: &ShowArgs, context: &Context) -> Result<u8> {
    let ids = named::read_some_ids(&args.id)?;
    let store = context.store(Access::Read)?;
    if args.raw || args.rendered {
        let [id] = ids.as_slice() else {
            return Err(Fault::new(Kind::Usage, "--raw and --rendered show one mail").into());
        };
        let record = store.show(*id)?.ok_or_else(|| gone(*id))?;
        let record = record
            .map_err(|why| Fault::new(Kind::Data, format!("mail {id} cannot be read: {why}")))?;
        drop(store);
        return if args.raw { raw(&record.mail, context) } else { rendered(&record.mail, context) };
    }
    let scene = Scene::of(context, &store)?;
    let (mut is_first, mut missing) = (true, None);
    for id in ids {
        match store.show(id)? {
            None => missing = missing.or(Some(id)),
            Some(record) => {
                if !is_first && !context.json {
                    context.output.line("")?;
                }
                is_first = false;
                show(id, &record, &scene, &store, context)?;
            }
        }
    }
    missing.map_or(Ok(exit::DONE), |id| Err(gone(id).into()))
}

fn gone(id: MailId) -> Fault {
    Fault::new(Kind::NoInput, format!("no mail {id}"))
        .hint("it may be pruned; `mailq list` shows what is there")
}

fn show(
    id: MailId,
    record: &Result<Record, String>,
    scene: &Scene,
    store: &Store,
    context: &Context,
) -> Result<()> {
    let history = store.history(id)?;
    if context.json {
        let mut told = scene.json(id, record);
        told["history"] = story::json(&history);
        context.output.json(&told)?;
        return Ok(());
    }
    let mut page = Page::default();
    match record {
        Err(why) => page.line([format!("mail {id} cannot be read: {why}").into()]),
        Ok(record) => {
            let obstacle = obstacle(&record.mail.queue, store, context)?;
            for (name, value) in lines(record, &obstacle, scene) {
                let tone = match (name, record.status) {
                    ("why", Status::Failed) => Tone::Bad,
                    ("why", Status::Sent) => Tone::Good,
                    ("why", _) => Tone::Title,
                    _ => Tone::Plain,
                };
                let name = Piece::new(format!("{name:<14} "), Tone::Faint);
                page.hanging(15, [name, Piece::new(value, tone)]);
            }
        }
    }
    story::tell(&history, &mut page);
    if let Ok(record) = record
        && record.status == Status::Failed
    {
        page.line([]);
        let name = Piece::new(format!("{:<14} ", "next"), Tone::Faint);
        page.hanging(15, [name, Piece::new(why::next(record), Tone::Title)]);
    }
    context.output.page(&page)?;
    Ok(())
}

/// The bytes of a mail, to the last of them.
fn raw(mail: &Mail, context: &Context) -> Result<u8> {
    let outgoing = ready(mail, context)?;
    let mut bytes = Vec::new();
    outgoing.content.write_to(&mut bytes)?;
    context.output.bytes(&bytes)?;
    Ok(exit::DONE)
}

/// A mail as it would go out now, for a person.
fn rendered(mail: &Mail, context: &Context) -> Result<u8> {
    let outgoing = ready(mail, context)?;
    let envelope = &outgoing.envelope;
    let letter =
        super::render::letter(&mail.template, mail.locale.as_deref(), &mail.parameters, context)?;
    let recipients: Vec<String> = envelope.recipients.iter().map(ToString::to_string).collect();
    if context.json {
        let mut told = super::render::as_json(&letter);
        told["envelope_from"] = envelope.sender.to_string().into();
        told["envelope_to"] = recipients.into();
        told["message_id"] = outgoing.message_id.clone().into();
        told["size"] = outgoing.content.size().into();
        context.output.json(&told)?;
        return Ok(exit::DONE);
    }
    let mut text = format!("Envelope from: {}\n", envelope.sender);
    text.push_str(&format!("Envelope to: {}\n", recipients.join(", ")));
    text.push_str(&format!("Message-ID: <{}>\n", outgoing.message_id));
    text.push_str(&format!("Size: {} bytes\n", outgoing.content.size()));
    text.push_str(&super::render::as_text(&letter));
    context.output.print(&text)?;
    Ok(exit::DONE)
}

/// What keeps the mails of `queue` back, even when they are due.
fn obstacle(queue: &str, store: &Store, context: &Context) -> Result<Obstacle, Fault> {
    let (config, now) = (&context.config, host::now_ms());
    Ok(Obstacle {
        breaker: store.open_breaker(&scope_of(config, queue), now)?,
        limited: store.limited(queue, &config.rates(queue), now)?,
    })
}

fn lines(record: &Record, obstacle: &Obstacle, scene: &Scene) -> Vec<(&'static str, String)> {
    let mail = &record.mail;
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".into());
    let moment = |value: Option<i64>| value.map_or("-".into(), value::show_moment);
    let mut lines = vec![
        ("mail", mail.id.to_string()),
        ("status", record.status.to_string()),
        ("why", why::why(record, obstacle, scene)),
        ("queue", mail.queue.clone()),
        ("from", text(&mail.from)),
        ("to", mail.to.clone()),
        ("cc", mail.cc.clone()),
        ("bcc", mail.bcc.clone()),
        ("template", mail.template.clone()),
        ("locale", text(&mail.locale)),
        ("parameters", mail.parameters.clone()),
        ("attachments", mail.attachments.clone()),
        ("headers", mail.headers.clone()),
        ("attempts", mail.attempt_count.to_string()),
        ("deaths", mail.reap_count.to_string()),
        ("failure", text(&record.failure)),
        ("last error", text(&record.error_message)),
        ("created", value::show_moment(mail.created_at)),
        ("due", value::show_moment(mail.next_attempt_at)),
        ("expires", moment(mail.expires_at)),
        ("sent", moment(record.sent_at)),
        ("finished", moment(record.finished_at)),
        ("held by", text(&record.locked_by)),
        ("held since", moment(record.locked_at)),
        ("message id", mail.message_id.clone()),
        ("key", text(&record.idempotency_key)),
        ("group", text(&record.group_name)),
    ];
    lines.extend(mail.delivered.iter().map(|who| ("has it", who.clone())));
    lines.extend(mail.refused.iter().map(|(who, words)| ("refused", format!("{who}: {words}"))));
    // What is nothing is not told, nor what stands in `why` already.
    let is_told = record.status == Status::Failed;
    lines.retain(|(name, value)| match (*name, value.as_str()) {
        (_, "" | "-" | "[]" | "{}") | ("deaths", "0") => false,
        ("failure" | "last error", _) => !is_told,
        _ => true,
    });
    lines
}
