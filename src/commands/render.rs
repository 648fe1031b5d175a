//! `mailq render`: what a template makes of parameters, before anybody gets it.

use super::enqueue::{Content, content, nothing_to_say};
use super::{Context, named};
use crate::domain::fault::{Fault, Kind};
use crate::exit;
use crate::output::Level;
use crate::store::Access;
use crate::templates::Templates;
use anyhow::Result;
use clap::{ArgGroup, Args};
use serde_json::{Value, json};

#[derive(Debug, Args)]
#[group(skip)]
#[command(group = ArgGroup::new("letter").args(["template", "subject", "mail"]).required(true))]
pub struct RenderArgs {
    #[command(flatten)]
    content: Content,
    /// Render this mail of the queue instead.
    #[arg(long, value_name = "ID", conflicts_with_all = ["param", "param_json", "params", "locale"], value_parser = super::value::text())]
    mail: Option<String>,
}

pub fn run(args: RenderArgs, context: &Context) -> Result<u8> {
    let templates = Templates::new(Some(context.config.templates()));
    let (template, locale, parameters) = match &args.mail {
        Some(text) => {
            let id = named::id(text)?;
            let record = context.store(Access::Read)?.show(id)?;
            let record =
                record.ok_or_else(|| Fault::new(Kind::NoInput, format!("no mail {id}")))?;
            let mail = record
                .map_err(|why| Fault::new(Kind::Data, format!("mail {id} cannot be read: {why}")))?
                .mail;
            (mail.template, mail.locale, mail.parameters)
        }
        None => {
            let (template, parameters) = content(&args.content)?;
            if template.is_empty() {
                return Err(nothing_to_say().into());
            }
            let parameters = Value::Object(parameters);
            for warning in
                templates.check(&template, args.content.locale.as_deref(), &parameters)?
            {
                context.output.say(Level::Warning, &warning);
            }
            (template, args.content.locale, parameters.to_string())
        }
    };
    let letter = templates
        .render(&template, locale.as_deref(), &parameters)
        .map_err(|words| Fault::new(Kind::Data, words))?;
    if context.json {
        context.output.json(&json!({
            "subject": letter.subject, "text": letter.text, "html": letter.html, "headers": letter.headers,
        }))?;
        return Ok(exit::DONE);
    }
    let mut text = format!("Subject: {}\n", letter.subject);
    for (name, value) in &letter.headers {
        text.push_str(&format!("{name}: {value}\n"));
    }
    for (title, part) in [("text", &letter.text), ("html", &letter.html)] {
        if let Some(part) = part {
            text.push_str(&format!("\n--- {title} ---\n{}\n", part.trim_end_matches('\n')));
        }
    }
    context.output.print(&text)?;
    Ok(exit::DONE)
}
