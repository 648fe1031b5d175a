//! Flags, environment and file become typed settings: flags win over the environment, which wins over the file.
//!
//! The only reader of the environment. Every key is checked when the configuration is read, but nothing that a key
//! names is opened: no password, no certificate, no name of a host is looked up here.

mod dkim;
mod environment;
mod file;
mod keys;
pub mod program;
mod road;
mod secret;
pub mod units;
mod value;

pub use dkim::Dkim;
pub use road::{Road, Smtp};
pub use secret::Secret;

use crate::domain::address;
use crate::domain::fault::{Fault, Kind};
use crate::domain::header::check_header;
use crate::domain::rate::Rate;
use crate::domain::retry::{OnUnknown, Policy};
use crate::host;
use keys::Entries;
use std::path::PathBuf;
use std::time::Duration;
use value::Value;

const DEFAULT_FILE: &str = "/etc/mailq/config.toml";
const DEFAULT_DATABASE: &str = "/var/lib/mailq/mailq.db";
const DEFAULT_TEMPLATES: &str = "/etc/mailq/templates";
const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The whole configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// The file that was read, if any.
    file: Option<PathBuf>,
    database: PathBuf,
    entries: Entries,
}

/// How a run sends, whatever the queue.
#[derive(Debug, Clone, PartialEq)]
pub struct Send {
    pub batch_size: usize,
    pub lease: Duration,
    pub time_limit: Option<Duration>,
}

/// How long finished mails are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    pub sent: Duration,
    pub failed: Duration,
}

/// Where systemd connected this process's stderr to its journal, if it did.
pub fn journal_stream() -> Option<String> {
    environment::variable("JOURNAL_STREAM")?.into_string().ok()
}

/// Whether a terminal may be coloured: not under `$NO_COLOR`, nor on one that cannot.
pub fn may_paint() -> bool {
    let says_no = environment::variable("NO_COLOR").is_some_and(|value| !value.is_empty());
    !says_no && environment::variable("TERM").is_none_or(|kind| kind != "dumb")
}

/// Whether the locale names another encoding than UTF-8; one that is not set is no word against it.
pub fn has_plain_locale() -> bool {
    let set = |name| environment::variable(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
    locale.is_some_and(|locale| {
        let locale = locale.to_ascii_uppercase();
        let locale = locale.to_string_lossy();
        !locale.contains("UTF-8") && !locale.contains("UTF8")
    })
}

impl Config {
    /// Reads the file that `file` names (a flag), else `$MAILQ_CONFIG`, else the one of the system, which may be
    /// missing; then the environment. `database` is the flag that wins over both.
    pub fn load(file: Option<PathBuf>, database: Option<PathBuf>) -> Result<Config, Fault> {
        let named = file.or_else(|| environment::variable("MAILQ_CONFIG").map(PathBuf::from));
        let path = named.clone().unwrap_or_else(|| DEFAULT_FILE.into());
        let mut entries = Entries::default();
        let is_there = file::read(&path, &mut entries)?;
        if !is_there && named.is_some() {
            let message = format!("the configuration {} does not exist", path.display());
            return Err(Fault::new(Kind::Config, message)
                .hint("name another one with --config or $MAILQ_CONFIG"));
        }
        if let Some(folder) = path.parent() {
            entries.rebase(folder);
        }
        environment::read(environment::all(), &mut entries)?;
        let config = Config {
            file: is_there.then_some(path),
            database: database
                .or_else(|| environment::variable("MAILQ_DB").map(PathBuf::from))
                .or_else(|| path_of(entries.get(None, "database")))
                .unwrap_or_else(|| DEFAULT_DATABASE.into()),
            entries,
        };
        config.check()?;
        Ok(config)
    }

    /// What can only be seen in several keys together, or needs an address to be read.
    fn check(&self) -> Result<(), Fault> {
        let queues = self.queues().iter().map(|queue| Some(queue.as_str()));
        for queue in std::iter::once(None).chain(queues) {
            for key in ["from", "reply_to"] {
                let Some(list) = self.text(queue, key) else { continue };
                let told =
                    |why: String| Fault::new(Kind::Config, format!("{key} = {list:?}: {why}"));
                let boxes = address::parse_list(&list).map_err(|fault| told(fault.to_string()))?;
                if key == "from" && boxes.len() != 1 {
                    return Err(told("must be one address".to_owned()));
                }
            }
            self.check_host(queue)?;
            let key = "smtp.idempotency_header";
            if let Some(name) = self.text(queue, key).filter(|name| !name.is_empty()) {
                check_header(&name, "token").map_err(|fault| {
                    Fault::new(Kind::Config, format!("{key} = {name:?}: {fault}"))
                })?;
            }
        }
        if self.text(None, "transport.kind").as_deref() == Some("file")
            && self.path("transport.directory").is_none()
        {
            let message = "transport.kind = \"file\" needs transport.directory";
            return Err(Fault::new(Kind::Config, message));
        }
        self.dkim().map(drop)
    }

    /// The file that was read.
    pub fn file(&self) -> Option<&PathBuf> {
        self.file.as_ref()
    }

    pub fn database(&self) -> &PathBuf {
        &self.database
    }

    /// Whether the folder of the templates was configured.
    pub fn names_templates(&self) -> bool {
        self.path("templates").is_some()
    }

    /// The folder of the templates.
    pub fn templates(&self) -> PathBuf {
        self.path("templates").unwrap_or_else(|| DEFAULT_TEMPLATES.into())
    }

    /// The folder of the attachments that `enqueue` copied. One a database, since `prune` empties it by the
    /// database that it knows.
    pub fn spool(&self) -> PathBuf {
        self.path("spool").unwrap_or_else(|| {
            let mut name = self.database.clone().into_os_string();
            name.push("-spool");
            name.into()
        })
    }

    /// The folders below which the `storage_ref` of an application's own row may lie.
    pub fn attachment_roots(&self) -> Vec<PathBuf> {
        match self.entries.get(None, "attachment_roots") {
            Some(Value::Paths(paths)) => paths.clone(),
            _ => Vec::new(),
        }
    }

    /// The largest message in bytes, attachments included.
    pub fn max_message_size(&self) -> u64 {
        self.number(None, "max_message_size").unwrap_or(25 << 20)
    }

    /// The sender of mails of `queue` that name none. Without the key it is this host's own, as mail systems do.
    pub fn from(&self, queue: Option<&str>) -> String {
        self.text(queue, "from").unwrap_or_else(|| format!("mailq@{}", host::name()))
    }

    /// Whether `from` was configured for mails of `queue`.
    pub fn has_from(&self, queue: &str) -> bool {
        self.text(Some(queue), "from").is_some()
    }

    pub fn reply_to(&self, queue: Option<&str>) -> Option<String> {
        self.text(queue, "reply_to")
    }

    /// Whether `queue` has a sender or a `reply_to` of its own.
    pub fn has_own_sender(&self, queue: &str) -> bool {
        self.entries.sets(queue, "from") || self.entries.sets(queue, "reply_to")
    }

    /// Whether the lines on stderr are JSON.
    pub fn has_json_log(&self) -> bool {
        self.text(None, "log").as_deref() == Some("json")
    }

    /// The command that is told of the mails that a run could not send.
    pub fn on_failed(&self) -> Vec<String> {
        match self.entries.get(None, "on_failed") {
            Some(Value::Command(command)) => command.clone(),
            _ => Vec::new(),
        }
    }

    /// The queues that were named, the first is the most urgent.
    pub fn queues(&self) -> &[String] {
        self.entries.queues()
    }

    /// Whether `queue` goes another way than the rest.
    pub fn has_own_road(&self, queue: &str) -> bool {
        self.entries.sets(queue, "smtp.")
    }

    /// How much of `queue` may be handed over; empty: there is no limit.
    pub fn rates(&self, queue: &str) -> Vec<Rate> {
        match self.entries.get(Some(queue), "rate") {
            Some(Value::Rates(rates)) => rates.clone(),
            _ => Vec::new(),
        }
    }

    /// How many connections `queue` may use itself; `None` where it shares those of the rest.
    pub fn own_concurrency(&self, queue: &str) -> Option<usize> {
        let own = self.number(Some(queue), "concurrency");
        let nested = || {
            self.entries
                .sets(queue, "send.concurrency")
                .then(|| self.number(Some(queue), "send.concurrency"))
                .flatten()
        };
        own.or_else(nested).map(|n| n as usize)
    }

    /// How many mails of `queue` to one domain may be in hand at once.
    pub fn max_per_domain(&self, queue: &str) -> Option<usize> {
        let own = self.number(Some(queue), "max_per_domain");
        own.and_then(|n| usize::try_from(n).ok())
    }

    /// How many connections a run uses.
    pub fn concurrency(&self) -> usize {
        self.number(None, "send.concurrency").unwrap_or(4) as usize
    }

    pub fn send(&self) -> Send {
        Send {
            batch_size: self.number(None, "send.batch_size").unwrap_or(100) as usize,
            lease: self.duration(None, "send.lease").unwrap_or(2 * MINUTE),
            time_limit: self.duration(None, "send.time_limit"),
        }
    }

    /// How long finished mails of `queue` are kept.
    pub fn retention(&self, queue: Option<&str>) -> Retention {
        Retention {
            sent: self.duration(queue, "retention.sent").unwrap_or(30 * DAY),
            failed: self.duration(queue, "retention.failed").unwrap_or(90 * DAY),
        }
    }

    pub fn has_own_retention(&self, queue: &str) -> bool {
        self.entries.sets(queue, "retention.")
    }

    /// How often and how long a mail of `queue` is tried.
    pub fn policy(&self, queue: Option<&str>) -> Policy {
        let usual = Policy::default();
        Policy {
            max_attempts: self
                .number(queue, "retry.max_attempts")
                .and_then(|n| n.try_into().ok())
                .unwrap_or(usual.max_attempts),
            backoff: match self.entries.get(queue, "retry.backoff") {
                Some(Value::Durations(waits)) => waits.clone(),
                _ => usual.backoff,
            },
            jitter: match self.entries.get(queue, "retry.jitter") {
                Some(Value::Share(share)) => *share,
                _ => usual.jitter,
            },
            max_age: self.duration(queue, "retry.max_age").unwrap_or(usual.max_age),
            on_unknown: match self.text(queue, "send.on_unknown").as_deref() {
                Some("hold") => OnUnknown::Hold,
                _ => OnUnknown::Retry,
            },
        }
    }

    fn text(&self, queue: Option<&str>, key: &'static str) -> Option<String> {
        match self.entries.get(queue, key) {
            Some(Value::Text(text)) => Some(text.clone()),
            _ => None,
        }
    }

    fn path(&self, key: &'static str) -> Option<PathBuf> {
        path_of(self.entries.get(None, key))
    }

    fn number(&self, queue: Option<&str>, key: &'static str) -> Option<u64> {
        match self.entries.get(queue, key) {
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        }
    }

    fn duration(&self, queue: Option<&str>, key: &'static str) -> Option<Duration> {
        match self.entries.get(queue, key) {
            Some(Value::Duration(duration)) => Some(*duration),
            _ => None,
        }
    }
}

fn path_of(value: Option<&Value>) -> Option<PathBuf> {
    match value {
        Some(Value::Path(path)) => Some(path.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Config {
        /// What a file with this text, and nothing else, makes.
        pub(super) fn from_text(text: &str) -> Config {
            let mut entries = Entries::default();
            file::parse(text, "test.toml", &mut entries).unwrap();
            let config = Config { file: None, database: "q.db".into(), entries };
            config.check().unwrap();
            config
        }
    }

    #[test]
    fn the_defaults_are_those_of_the_contract() {
        let config = Config::from_text("");
        assert_eq!(config.policy(None), Policy::default());
        let send = config.send();
        assert_eq!((send.batch_size, send.lease), (100, 2 * MINUTE));
        let kept = config.retention(None);
        assert_eq!((kept.sent, kept.failed), (30 * DAY, 90 * DAY));
        assert_eq!(config.spool(), PathBuf::from("q.db-spool"));
        assert!(!config.has_from("default"));
        assert_eq!(address::parse_list(&config.from(None)).unwrap().len(), 1);
    }

    #[test]
    fn a_queue_has_its_own_policy_rate_and_connections() {
        let config = Config::from_text(
            "[retry]\nmax_attempts = 9\n[send]\nconcurrency = 8\n\
             [queues.bulk]\nrate = ['600/1m', '9/1s']\nconcurrency = 2\nretry.backoff = ['1m']\nsend.on_unknown = 'hold'\n\
             [queues.news.send]\nconcurrency = 3\n",
        );
        let bulk = config.policy(Some("bulk"));
        assert_eq!((bulk.max_attempts, bulk.backoff), (9, vec![MINUTE]));
        assert_eq!(bulk.on_unknown, OnUnknown::Hold);
        assert_eq!(config.policy(Some("news")).on_unknown, OnUnknown::Retry);
        let counts = |queue| config.rates(queue).iter().map(|rate| rate.count).collect::<Vec<_>>();
        assert_eq!((counts("bulk"), counts("news")), (vec![600, 9], vec![]));
        assert_eq!(config.own_concurrency("bulk"), Some(2));
        assert_eq!(config.own_concurrency("news"), Some(3));
        assert_eq!(config.own_concurrency("default"), None);
        assert_eq!(config.concurrency(), 8);
    }

    #[test]
    fn keys_are_checked_together() {
        for text in
            ["from = 'nonsense'", "from = 'a@b.example, c@d.example'", "transport.kind = 'file'"]
        {
            let mut entries = Entries::default();
            file::parse(text, "test.toml", &mut entries).unwrap();
            let config = Config { file: None, database: "q.db".into(), entries };
            assert_eq!(config.check().unwrap_err().kind(), Kind::Config, "{text}");
        }
    }
}
