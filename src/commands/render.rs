//! `mailq render`: what a template makes of parameters, before anybody gets it.

use super::enqueue::{Content, content, nothing_to_say};
use super::send_batch::ready;
use super::{Context, named, replace};
use crate::domain::fault::{Fault, Kind};
use crate::domain::message::{Letter, Mail, MailId};
use crate::exit;
use crate::host;
use crate::output::Level;
use crate::store::Access;
use crate::templates::Templates;
use anyhow::Result;
use clap::{ArgGroup, Args};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[group(skip)]
#[command(group = ArgGroup::new("letter").args(["template", "subject", "mail"]).required(true))]
pub struct RenderArgs {
    #[command(flatten)]
    content: Content,
    /// Render this mail of the queue instead.
    #[arg(long, value_name = "ID", conflicts_with_all = ["param", "param_json", "params", "locale"], value_parser = super::value::text())]
    mail: Option<String>,
    /// Put it into this file: the whole message for a name that ends in `.eml`, its HTML for `.html`, its text for `.txt`.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// List the parameters that the template needs, and those that it can do without, instead.
    #[arg(long, requires = "template", conflicts_with_all = ["param", "param_json", "params", "output"])]
    needs: bool,
}

pub fn run(args: RenderArgs, context: &Context) -> Result<u8> {
    if let (true, Some(template)) = (args.needs, &args.content.template) {
        return needs(template, args.content.locale.as_deref(), context);
    }
    let mail = match &args.mail {
        Some(text) => queued(text, context)?,
        None => asked_for(args.content, context)?,
    };
    if let Some(path) = &args.output {
        return write(path, &mail, context);
    }
    let letter = letter(&mail.template, mail.locale.as_deref(), &mail.parameters, context)?;
    match context.json {
        true => context.output.json(&as_json(&letter))?,
        false => context.output.print(&as_text(&letter))?,
    }
    Ok(exit::DONE)
}

/// The mail of the queue with this id.
fn queued(text: &str, context: &Context) -> Result<Mail> {
    let id = named::id(text)?;
    let record = context.store(Access::Read)?.show(id)?;
    let record = record.ok_or_else(|| {
        Fault::new(Kind::NoInput, format!("no mail {id}"))
            .hint("it may be pruned; `mailq list` shows what is there")
    })?;
    let unreadable = |why| Fault::new(Kind::Data, format!("mail {id} cannot be read: {why}"));
    Ok(record.map_err(unreadable)?.mail)
}

/// A mail that is not in the queue, from the configured sender to itself.
fn asked_for(asked: Content, context: &Context) -> Result<Mail> {
    let (template, parameters) = content(&asked)?;
    if template.is_empty() {
        return Err(nothing_to_say().into());
    }
    let parameters = Value::Object(parameters);
    let templates = Templates::new(Some(context.config.templates()));
    for warning in templates.check(&template, asked.locale.as_deref(), &parameters)? {
        context.output.say(Level::Warning, &warning);
    }
    let now = host::now_ms();
    Ok(Mail {
        id: MailId(0),
        queue: "default".to_owned(),
        from: None,
        reply_to: None,
        to: context.config.from(None),
        cc: String::new(),
        bcc: String::new(),
        template,
        locale: asked.locale,
        parameters: parameters.to_string(),
        attachments: "[]".to_owned(),
        headers: "{}".to_owned(),
        attempt_count: 0,
        reap_count: 0,
        max_attempts: None,
        created_at: now,
        next_attempt_at: now,
        expires_at: None,
        message_id: "preview".to_owned(),
        delivered: Vec::new(),
        refused: Default::default(),
    })
}

/// What the template of a mail makes of its parameters.
pub fn letter(
    template: &str,
    locale: Option<&str>,
    parameters: &str,
    context: &Context,
) -> Result<Letter> {
    let templates = Templates::new(Some(context.config.templates()));
    let letter = templates.render(template, locale, parameters);
    Ok(letter.map_err(|words| Fault::new(Kind::Data, words))?)
}

pub fn as_json(letter: &Letter) -> Value {
    json!({
        "subject": letter.subject, "text": letter.text, "html": letter.html, "headers": letter.headers,
    })
}

pub fn as_text(letter: &Letter) -> String {
    let mut text = format!("Subject: {}\n", letter.subject);
    for (name, value) in &letter.headers {
        text.push_str(&format!("{name}: {value}\n"));
    }
    for (title, part) in [("text", &letter.text), ("html", &letter.html)] {
        if let Some(part) = part {
            text.push_str(&format!("\n--- {title} ---\n{}\n", part.trim_end_matches('\n')));
        }
    }
    text
}

/// Puts what the name of the file asks for into it.
fn write(path: &Path, mail: &Mail, context: &Context) -> Result<u8> {
    let part = |part: Option<String>, what: &str| {
        part.ok_or_else(|| {
            Fault::new(Kind::Data, format!("template {} has no {what}", mail.template))
        })
    };
    let letter = || letter(&mail.template, mail.locale.as_deref(), &mail.parameters, context);
    let bytes = match path.extension().and_then(|extension| extension.to_str()) {
        Some("eml") => {
            let mut bytes = Vec::new();
            ready(mail, context)?.content.write_to(&mut bytes)?;
            bytes
        }
        Some("html") => part(letter()?.html, "HTML")?.into_bytes(),
        Some("txt") => part(letter()?.text, "text")?.into_bytes(),
        _ => {
            let words = format!("--output {}: is no .eml, .html or .txt", path.display());
            return Err(Fault::new(Kind::Usage, words)
                .hint("the end of the name tells what to write: --output preview.eml")
                .into());
        }
    };
    context.spare("--output", path)?;
    replace::file(path, &bytes)?;
    Ok(exit::DONE)
}

fn needs(template: &str, locale: Option<&str>, context: &Context) -> Result<u8> {
    let templates = Templates::new(Some(context.config.templates()));
    let needs = templates.needs(template, locale)?;
    if context.json {
        let told =
            json!({ "template": template, "required": needs.required, "optional": needs.optional });
        context.output.json(&told)?;
        return Ok(exit::DONE);
    }
    let mut text = String::new();
    for name in &needs.required {
        text.push_str(&format!("{name}\n"));
    }
    for name in &needs.optional {
        text.push_str(&format!("{name} (optional)\n"));
    }
    context.output.print(&text)?;
    Ok(exit::DONE)
}
