//! `mailq prune`: finished mails leave, and attachments nobody refers to any more.

use super::{Context, value};
use crate::config::Config;
use crate::domain::fault::{Fault, Kind, words_of};
use crate::domain::retry::millis;
use crate::domain::state::Status;
use crate::exit;
use crate::host;
use crate::output::to_json;
use crate::spool::{GRACE, Spool};
use crate::store::{Access, Cut, Pruned, Pruning};
use anyhow::Result;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Debug, Args)]
pub struct PruneArgs {
    /// How long ago a mail must have finished [default: as configured, SENT 30d and FAILED 90d].
    #[arg(long, value_name = "DURATION", value_parser = value::duration(), allow_hyphen_values = true)]
    older_than: Option<Duration>,
    /// Only mails in this state [default: both].
    #[arg(long, value_name = "STATUS", ignore_case = true)]
    status: Vec<Finished>,
    /// How many mails a transaction deletes.
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    batch_size: u32,
    /// How long to leave others alone after each transaction, at least; as long as it took, if that is longer.
    #[arg(long, value_name = "DURATION", default_value = "2500us", value_parser = value::duration(), allow_hyphen_values = true)]
    pause: Duration,
    /// Append the mails to this JSON Lines file, on disk before they are deleted.
    #[arg(long, value_name = "FILE")]
    archive: Option<PathBuf>,
    /// Say what would be deleted; delete nothing.
    #[arg(long)]
    dry_run: bool,
}

/// The states that a mail can be pruned in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Finished {
    #[value(name = "SENT")]
    Sent,
    #[value(name = "FAILED")]
    Failed,
}

pub fn run(args: &PruneArgs, context: &Context) -> Result<u8> {
    let now = host::now_ms();
    let cuts = cuts(args, &context.config, now);
    let access = if args.dry_run { Access::Read } else { Access::Write };
    let mut store = context.store(access)?;
    let mut archive = match &args.archive {
        Some(path) if !args.dry_run => {
            context.spare("--archive", path)?;
            Some(Archive::open(path)?)
        }
        _ => None,
    };
    let mut keep = |rows: &[Value]| archive.as_mut().map_or(Ok(()), |archive| archive.append(rows));
    let mut total = Pruned::default();
    if context.output.is_watched() && !args.dry_run {
        total = store.prune(Pruning {
            cuts: &cuts,
            batch_size: args.batch_size as usize,
            pause: args.pause,
            archive: None,
            dry_run: true,
            gone: &|_| {},
        })?;
    }
    let progress = RefCell::new(context.output.progress("deleting", total.sent + total.failed));
    let pruned = store.prune(Pruning {
        cuts: &cuts,
        batch_size: args.batch_size as usize,
        pause: args.pause,
        archive: args.archive.is_some().then_some(&mut keep),
        dry_run: args.dry_run,
        gone: &|more| progress.borrow_mut().add(more),
    })?;
    drop(progress);
    let in_use = store.spooled_files()?;
    let spool = Spool::new(context.config.spool(), Vec::new());
    let mut is_used = |reference: &str| {
        let digest = reference.rsplit(':').next().unwrap_or_default();
        Ok(in_use.contains(digest))
    };
    let swept = spool.sweep(&mut is_used, GRACE, now, args.dry_run)?;
    let (sent, failed, files) = (pruned.sent, pruned.failed, swept.files);
    let mut result = json!({
        "sent": sent, "failed": failed, "attachments": files, "attachment_bytes": swept.bytes,
    });
    if !args.dry_run {
        context.note_run(&mut store, "prune", &result);
    }
    if context.json {
        result["dry_run"] = args.dry_run.into();
        context.output.json(&result)?;
        return Ok(exit::DONE);
    }
    let would = if args.dry_run { "would have " } else { "" };
    let total = sent + failed;
    context.output.line(&format!(
        "{would}deleted {total} mails ({sent} SENT, {failed} FAILED) and {files} attachments"
    ))?;
    Ok(exit::DONE)
}

/// What goes: of the queues with a retention of their own by that, of all others by the common one.
fn cuts(args: &PruneArgs, config: &Config, now: i64) -> Vec<Cut> {
    let apart: Vec<String> = match args.older_than {
        Some(_) => vec![],
        None => config
            .queues()
            .iter()
            .filter(|queue| config.has_own_retention(queue))
            .cloned()
            .collect(),
    };
    let mut cuts = Vec::new();
    for queue in std::iter::once(None).chain(apart.iter().map(|queue| Some(queue.as_str()))) {
        let kept = config.retention(queue);
        let states = [
            (Finished::Sent, Status::Sent, kept.sent),
            (Finished::Failed, Status::Failed, kept.failed),
        ];
        for (state, status, kept) in states {
            if args.status.is_empty() || args.status.contains(&state) {
                let before = now.saturating_sub(millis(args.older_than.unwrap_or(kept)));
                let queue = queue.map(str::to_owned);
                cuts.push(Cut { status, before, queue, apart: apart.clone() });
            }
        }
    }
    cuts
}

/// The JSON Lines file that mails are kept in.
struct Archive {
    file: File,
    path: PathBuf,
}

impl Archive {
    fn open(path: &Path) -> Result<Archive, Fault> {
        let file =
            OpenOptions::new().create(true).append(true).mode(0o640).open(path).map_err(|e| {
                Fault::new(
                    Kind::CannotCreate,
                    format!("cannot open archive {}: {}", path.display(), words_of(&e)),
                )
                .hint("nothing was deleted")
            })?;
        Ok(Archive { file, path: path.to_owned() })
    }

    /// Appends `rows` and has them on disk when it returns.
    fn append(&mut self, rows: &[Value]) -> Result<(), Fault> {
        let mut lines = String::new();
        for row in rows {
            lines.push_str(&to_json(row));
            lines.push('\n');
        }
        self.file.write_all(lines.as_bytes()).and_then(|()| self.file.sync_all()).map_err(|e| {
            let kind = match e.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Kind::TryAgain,
                _ => Kind::Io,
            };
            Fault::new(
                kind,
                format!("cannot write archive {}: {}", self.path.display(), words_of(&e)),
            )
            .hint("mails that were not archived were not deleted")
        })
    }
}
