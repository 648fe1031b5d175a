//! The command line: what can be asked for, and who does it. Commands translate; they never decide.

mod cancel;
mod check;
mod clock;
mod enqueue;
mod help;
mod hold;
mod hook;
mod lazy;
mod list;
mod mail;
mod named;
#[cfg(test)]
mod pages;
mod prune;
mod queue;
mod reap;
mod release;
mod render;
mod replace;
mod retry;
mod send_batch;
mod show;
mod stats;
mod suppress;
mod usage;
mod value;
mod wait;

use crate::config::Config;
use crate::domain::fault::Fault;
use crate::exit;
use crate::host;
use crate::output::{Level, Output};
use crate::store::{self, Access, Store};
use clap::{Args, Parser, Subcommand};
use lazy::Lazy;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Where the help shows what every command takes: behind the command's own options.
const GLOBAL: &str = "Global options";

/// A durable outgoing e-mail queue for one host, on SQLite. Without a command: the queue, as Postfix's mailq shows it.
#[derive(Debug, Parser)]
#[command(name = "mailq", version, about, after_help = help::EXIT_CODES)]
pub struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Args)]
pub struct Global {
    /// The configuration [default: $MAILQ_CONFIG, else /etc/mailq/config.toml, which may be missing].
    #[arg(long, value_name = "FILE", global = true, help_heading = GLOBAL, display_order = 100)]
    config: Option<PathBuf>,
    /// The database [default: $MAILQ_DB, else `database` in the configuration, else /var/lib/mailq/mailq.db].
    #[arg(long, value_name = "FILE", global = true, help_heading = GLOBAL, display_order = 100)]
    db: Option<PathBuf>,
    /// Print results as JSON.
    #[arg(long, global = true, help_heading = GLOBAL, display_order = 100)]
    json: bool,
    /// Say more on stderr.
    #[arg(short, long, global = true, help_heading = GLOBAL, display_order = 100, conflicts_with = "quiet")]
    verbose: bool,
    /// Say only what is wrong on stderr.
    #[arg(short, long, global = true, help_heading = GLOBAL, display_order = 100)]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Put a mail into the queue. Prints its id when it is on disk.
    #[command(after_help = help::ENQUEUE)]
    Enqueue(Box<Lazy<enqueue::EnqueueArgs>>),
    /// Send what is due, until nothing is.
    #[command(after_help = help::SEND_BATCH)]
    SendBatch(Lazy<send_batch::SendBatchArgs>),
    /// Return the mails of senders that died.
    #[command(after_help = help::REAP)]
    Reap(Lazy<reap::ReapArgs>),
    /// Delete mails that finished long ago, and attachments nobody refers to.
    #[command(after_help = help::PRUNE)]
    Prune(Lazy<prune::PruneArgs>),
    /// Count mails by queue and state; age, ratios, durations.
    #[command(after_help = help::STATS)]
    Stats(Lazy<stats::StatsArgs>),
    /// List mails.
    #[command(after_help = help::LIST)]
    List(Lazy<list::ListArgs>),
    /// Show all of one mail, and why it did not go out.
    #[command(after_help = help::SHOW)]
    Show(Lazy<show::ShowArgs>),
    /// Give FAILED mails another chance; make waiting ones due now.
    #[command(after_help = help::RETRY)]
    Retry(Lazy<retry::RetryArgs>),
    /// Take waiting mails out of the queue.
    #[command(after_help = help::CANCEL)]
    Cancel(Lazy<cancel::CancelArgs>),
    /// Hold queues: nothing of them is sent until they are released.
    #[command(after_help = help::HOLD)]
    Hold(Lazy<hold::HoldArgs>),
    /// Release queues that are held.
    #[command(after_help = help::RELEASE)]
    Release(Lazy<release::ReleaseArgs>),
    /// Wait until mails are SENT or FAILED.
    #[command(after_help = help::WAIT)]
    Wait(Lazy<wait::WaitArgs>),
    /// Say who is to get no mail.
    #[command(after_help = help::SUPPRESS)]
    Suppress(suppress::SuppressArgs),
    /// Show what a template makes of parameters.
    #[command(after_help = help::RENDER)]
    Render(Lazy<render::RenderArgs>),
    /// Look over configuration, database, templates, spool and smarthost.
    #[command(after_help = help::CHECK)]
    Check(Lazy<check::CheckArgs>),
}

/// What every command has at hand.
pub struct Context {
    pub config: Config,
    pub output: Output,
    pub json: bool,
}

impl Context {
    /// Refuses to write into the queue, where `option` names one of its files.
    pub fn spare(&self, option: &str, path: &Path) -> Result<(), Fault> {
        replace::spare(option, path, self.config.database())
    }

    /// Opens the database of the configuration.
    pub fn store(&self, access: Access) -> Result<Store, Fault> {
        let path = self.config.database();
        if access == Access::Create
            && !path.exists()
            && let Some(warning) = store::network_warning(path)
        {
            self.output.say(Level::Warning, &warning);
        }
        let store = Store::open(path, access)?;
        if let Some([from, to]) = store.upgraded {
            let words = format!("database {}: schema version {from} became {to}", path.display());
            self.output.say(Level::Notice, &words);
        }
        Ok(store)
    }
}

impl Context {
    /// Notes what a run did, for `stats`. The work is done: that this cannot be noted takes nothing of it back.
    fn note_run(&self, store: &mut Store, command: &str, result: &Value) {
        if let Err(fault) = store.note_run(command, &result.to_string(), host::now_ms()) {
            self.output.say(Level::Warning, &format!("cannot note this run: {fault}"));
        }
    }
}

/// Reads the command line, does what it asks for, and says with which code to end.
pub fn main() -> u8 {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let journal = crate::config::journal_stream();
            return usage::explain(&error, &Output::new(Level::Error, journal.as_deref()));
        }
    };
    let most = match (cli.global.verbose, cli.global.quiet) {
        (true, _) => Level::Detail,
        (_, true) => Level::Error,
        _ => Level::Notice,
    };
    let output = Output::new(most, crate::config::journal_stream().as_deref())
        .painting(crate::config::may_paint());
    let Global { config, db, json, .. } = cli.global;
    match Config::load(config, db) {
        Ok(config) => {
            let output = output.with_json_log(config.has_json_log());
            let result = dispatch(cli.verb, &Context { config, output, json });
            result.unwrap_or_else(|error| exit::report(&error, &output))
        }
        Err(fault) => exit::report(&fault.into(), &output),
    }
}

fn dispatch(verb: Option<Verb>, context: &Context) -> anyhow::Result<u8> {
    match verb {
        None => queue::run(context),
        Some(Verb::Enqueue(args)) => enqueue::run(&args.0, context),
        Some(Verb::SendBatch(args)) => send_batch::run(args.0, context),
        Some(Verb::Reap(args)) => reap::run(&args.0, context),
        Some(Verb::Prune(args)) => prune::run(&args.0, context),
        Some(Verb::Stats(args)) => stats::run(&args.0, context),
        Some(Verb::List(args)) => list::run(&args.0, context),
        Some(Verb::Show(args)) => show::run(&args.0, context),
        Some(Verb::Retry(args)) => retry::run(&args.0, context),
        Some(Verb::Cancel(args)) => cancel::run(&args.0, context),
        Some(Verb::Hold(args)) => hold::run(&args.0, context),
        Some(Verb::Release(args)) => release::run(&args.0, context),
        Some(Verb::Wait(args)) => wait::run(&args.0, context),
        Some(Verb::Suppress(args)) => suppress::run(&args, context),
        Some(Verb::Render(args)) => render::run(args.0, context),
        Some(Verb::Check(args)) => check::run(&args.0, context),
    }
}
