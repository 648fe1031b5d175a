//! The way out: which transport, which smarthost, and how to speak with it.
//!
//! The defaults are safe whoever listens: a password leaves this host only encrypted, unless `tls = "none"` is
//! written out.

use super::value::Value;
use super::{Config, Secret, path_of};
use crate::domain::fault::{Fault, Kind};
use crate::transport::sendmail::SendmailRelay;
use crate::transport::smtp::{Auth, Tls};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The way out.
#[derive(Debug, Clone, PartialEq)]
pub enum Road {
    Smtp(Smtp),
    Sendmail { program: PathBuf },
    File { directory: PathBuf },
}

/// The smarthost and how to speak with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Smtp {
    pub host: String,
    pub port: u16,
    pub tls: Tls,
    /// Whether `tls` was written out, which is what lets a password go over a plain connection.
    pub tls_is_chosen: bool,
    pub auth: Auth,
    pub username: Option<String>,
    pub password: Option<Secret>,
    pub ca_file: Option<PathBuf>,
    pub hello_name: Option<String>,
    pub timeout: Option<Duration>,
    pub mail_timeout: Option<Duration>,
    pub idle_timeout: Option<Duration>,
    pub max_messages_per_connection: Option<u64>,
    pub idempotency_header: Option<String>,
}

impl Config {
    /// The way out for mails of `queue`.
    pub fn road(&self, queue: Option<&str>) -> Road {
        match self.text(None, "transport.kind").as_deref() {
            Some("sendmail") => Road::Sendmail {
                program: self
                    .path("transport.program")
                    .unwrap_or_else(|| SendmailRelay::PROGRAM.into()),
            },
            Some("file") => Road::File {
                directory: self.path("transport.directory").unwrap_or_else(|| ".".into()),
            },
            _ => Road::Smtp(self.smtp(queue)),
        }
    }

    /// What is wrong with how the passwords of all ways out are kept.
    pub fn exposed_passwords(&self) -> BTreeSet<String> {
        let queues = self.queues().iter().filter(|queue| self.has_own_road(queue));
        std::iter::once(None)
            .chain(queues.map(|queue| Some(queue.as_str())))
            .filter_map(|queue| match self.road(queue) {
                Road::Smtp(smtp) => smtp.password?.warning(),
                Road::Sendmail { .. } | Road::File { .. } => None,
            })
            .collect()
    }

    /// That each way out with a user name has a password too.
    pub fn check_passwords(&self) -> Result<(), Fault> {
        let queues = self.queues().iter().filter(|queue| self.has_own_road(queue));
        std::iter::once(None)
            .chain(queues.map(|queue| Some(queue.as_str())))
            .try_for_each(|queue| self.check_password(queue))
    }

    /// That the way out of `queue` has a password if it has a user name. A command is not asked before a connection
    /// needs it.
    pub fn check_password(&self, queue: Option<&str>) -> Result<(), Fault> {
        let Road::Smtp(Smtp { username: Some(name), password, .. }) = self.road(queue) else {
            return Ok(());
        };
        let none = format!("no password for smtp.username = {name:?}");
        let message = match &password {
            None => none,
            Some(secret) => match secret.probe() {
                Err(fault) if fault.kind() == Kind::Config => format!("{none}: {fault}"),
                other => return other,
            },
        };
        Err(Fault::new(Kind::Config, message).hint(format!(
            "it is looked for in smtp.password_file, smtp.password_command, {}",
            Secret::usual_places(self.file().map(PathBuf::as_path))
        )))
    }

    /// That `smtp.host` of `queue` is a host and nothing more.
    pub(super) fn check_host(&self, queue: Option<&str>) -> Result<(), Fault> {
        let Some(host) = self.text(queue, "smtp.host") else { return Ok(()) };
        let wrong = |why: &str| Fault::new(Kind::Config, format!("smtp.host = {host:?} {why}"));
        if host.trim().is_empty() {
            return Err(wrong("is empty").hint("name the smarthost, such as mail.example.com"));
        }
        let is_address = host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        match host.rsplit_once(':') {
            Some((name, port)) if !is_address => Err(wrong("is more than the name of a host")
                .hint(match port.parse::<u16>() {
                    Ok(port) => format!("smtp.host = {name:?} and smtp.port = {port}"),
                    Err(_) => "the port is named by smtp.port, encryption by smtp.tls".to_owned(),
                })),
            _ => Ok(()),
        }
    }

    fn smtp(&self, queue: Option<&str>) -> Smtp {
        let text = |key| self.text(queue, key);
        let path = |key| path_of(self.entries.get(queue, key));
        let host = text("smtp.host").unwrap_or_else(|| "localhost".to_owned());
        let username = text("smtp.username").filter(|name| !name.is_empty());
        let port = self.number(queue, "smtp.port").and_then(|n| n.try_into().ok());
        let chosen = text("smtp.tls").map(|word| match word.as_str() {
            "none" => Tls::None,
            "starttls" => Tls::StartTls,
            "implicit" => Tls::Implicit,
            _ => Tls::Opportunistic,
        });
        let tls = chosen.unwrap_or_else(|| match port {
            Some(465) => Tls::Implicit,
            // A password for another host never depends on what that host (or someone between) offers.
            _ if username.is_some() && !is_loopback(&host) => Tls::StartTls,
            _ => Tls::Opportunistic,
        });
        let command = match self.entries.get(queue, "smtp.password_command") {
            Some(Value::Command(argv)) => Some(argv.clone()),
            _ => None,
        };
        let password = username
            .is_some()
            .then(|| {
                Secret::choose(
                    path("smtp.password_file"),
                    command,
                    self.file().map(PathBuf::as_path),
                )
            })
            .flatten();
        Smtp {
            port: port.unwrap_or(match tls {
                Tls::Implicit => 465,
                Tls::StartTls if username.is_some() => 587,
                _ => 25,
            }),
            host,
            tls,
            tls_is_chosen: chosen.is_some(),
            auth: match text("smtp.auth").as_deref() {
                Some("plain") => Auth::Plain,
                Some("login") => Auth::Login,
                Some("xoauth2") => Auth::XOauth2,
                _ => Auth::Auto,
            },
            username,
            password,
            ca_file: path("smtp.ca_file"),
            hello_name: text("smtp.hello_name"),
            timeout: self.duration(queue, "smtp.timeout"),
            mail_timeout: self.duration(queue, "smtp.mail_timeout"),
            idle_timeout: self.duration(queue, "smtp.idle_timeout"),
            max_messages_per_connection: self.number(queue, "smtp.max_messages_per_connection"),
            idempotency_header: text("smtp.idempotency_header").filter(|name| !name.is_empty()),
        }
    }
}

/// Whether `host` is this machine without asking anybody.
pub fn is_loopback(host: &str) -> bool {
    let name = host.trim_matches(['[', ']']).trim_end_matches('.');
    match name.parse::<IpAddr>() {
        Ok(ip) => ip.is_loopback(),
        Err(_) => {
            let name = name.to_ascii_lowercase();
            name == "localhost" || name.ends_with(".localhost")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn smtp(text: &str) -> Smtp {
        match Config::from_text(text).road(None) {
            Road::Smtp(smtp) => smtp,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_password_for_another_host_needs_tls_by_default() {
        let remote = smtp("[smtp]\nhost = 'mail.example'\nusername = 'u'\n");
        assert_eq!((remote.tls, remote.port), (Tls::StartTls, 587));
        assert!(!remote.tls_is_chosen);
        let open = smtp("[smtp]\nhost = 'mail.example'\n");
        assert_eq!((open.tls, open.port), (Tls::Opportunistic, 25));
        let local = smtp("[smtp]\nhost = '127.0.0.1'\nusername = 'u'\n");
        assert_eq!((local.tls, local.port), (Tls::Opportunistic, 25));
        let bare = smtp("");
        assert_eq!(
            (bare.host.as_str(), bare.port, bare.tls),
            ("localhost", 25, Tls::Opportunistic)
        );
        let implicit = smtp("[smtp]\nhost = 'mail.example'\nport = 465\n");
        assert_eq!(implicit.tls, Tls::Implicit);
        let chosen = smtp("[smtp]\nhost = 'mail.example'\nusername = 'u'\ntls = 'none'\n");
        assert_eq!((chosen.tls, chosen.port, chosen.tls_is_chosen), (Tls::None, 25, true));
    }

    #[test]
    fn a_host_is_a_host_and_nothing_more() {
        for (host, is_good) in [
            ("mail.example", true),
            ("::1", true),
            ("[::1]", true),
            ("mail.example:587", false),
            ("[::1]:587", false),
            ("smtp://mail.example", false),
            ("", false),
            (" ", false),
        ] {
            let mut config = Config::from_text("");
            let text = format!("[queues.bulk.smtp]\nhost = '{host}'\n");
            super::super::file::parse(&text, "test.toml", &mut config.entries).unwrap();
            assert_eq!(config.check_host(Some("bulk")).is_ok(), is_good, "{host}");
        }
        let hint = |host: &str| {
            let mut config = Config::from_text("");
            let text = format!("smtp.host = '{host}'");
            super::super::file::parse(&text, "test.toml", &mut config.entries).unwrap();
            config.check_host(None).unwrap_err().next_step().unwrap().to_owned()
        };
        assert_eq!(hint("mail.example:587"), "smtp.host = \"mail.example\" and smtp.port = 587");
        assert!(hint("smtp://mail.example").contains("smtp.port"));
    }

    #[test]
    fn loopback_is_told_without_looking_up_a_name() {
        for host in ["localhost", "LOCALHOST.", "a.localhost", "127.8.9.1", "::1", "[::1]"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["localhost.example", "10.0.0.1", "mail.example", "", "::2"] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[test]
    fn a_queue_goes_its_own_way_and_keeps_the_rest() {
        let config = Config::from_text(
            "[smtp]\nhost = 'a.example'\nhello_name = 'h.example'\n[queues.bulk.smtp]\nhost = 'b.example'\n",
        );
        let Road::Smtp(bulk) = config.road(Some("bulk")) else {
            panic!("another transport");
        };
        assert_eq!(bulk.host, "b.example");
        assert_eq!(bulk.hello_name.as_deref(), Some("h.example"));
        assert!(config.has_own_road("bulk") && !config.has_own_road("default"));
    }
}
