//! What a session needs to know about its server, and for how long it waits for it.
//!
//! Invariant: the password is read when a connection is made and at no other time, and no type here shows it.

use super::tls::Clients;
use crate::domain::fault::Fault;
use crate::domain::outcome::Phase;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How the connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::enum_variant_names, reason = "STARTTLS is the command's name")]
pub enum Tls {
    /// Not at all: written out by the administrator.
    None,
    /// By STARTTLS where the server offers it. The certificate is checked only where a password goes to another host.
    Opportunistic,
    /// By STARTTLS, or nothing is sent.
    StartTls,
    /// From the first byte on.
    Implicit,
}

/// How the user name and the password are said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auth {
    /// The first that the server offers of PLAIN, LOGIN and XOAUTH2.
    Auto,
    Plain,
    Login,
    /// The password is an OAuth access token.
    XOauth2,
}

/// The way to the password. It is gone anew for each connection, and nothing of it shows.
#[derive(Clone)]
pub struct Secret(Arc<dyn Fn() -> Result<String, Fault> + Send + Sync>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// `read` gives the password (for XOAUTH2: the token), or says, without it, why not.
    pub fn new(read: impl Fn() -> Result<String, Fault> + Send + Sync + 'static) -> Self {
        Secret(Arc::new(read))
    }

    pub(super) fn read(&self) -> Result<String, Fault> {
        (self.0)()
    }
}

/// One server, and how to talk to it. Shared by the threads that do.
pub struct Settings {
    /// A name or an address.
    pub host: String,
    pub port: u16,
    pub tls: Tls,
    pub auth: Auth,
    /// With a password: who logs in.
    pub username: Option<String>,
    pub password: Option<Secret>,
    /// The certificates to trust, in PEM; `None`: the system's.
    pub ca_file: Option<PathBuf>,
    /// What EHLO says: this host's name, or an address literal.
    pub hello_name: String,
    /// A cap on every wait. `None`: the limits of RFC 5321 4.5.3.2 alone.
    pub timeout: Option<Duration>,
    /// The limit for one mail, from its first command (or the connection made for it) to the last reply.
    pub mail_timeout: Duration,
    /// After so many mails the connection is closed and another one opened.
    pub max_messages_per_connection: Option<u32>,
    /// A connection that was idle for longer is not used again.
    pub idle_limit: Duration,
    /// The name of a header that is put above the message with the message's id as value.
    pub idempotency_header: Option<String>,
    /// Set when the run is to end: nothing is waited for any more unless a mail was offered.
    pub stop: Arc<AtomicBool>,
    pub(super) clients: Clients,
}

impl Settings {
    /// A server that asks for no password, with everything else at its default.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Settings {
            host: host.into(),
            port,
            tls: Tls::Opportunistic,
            auth: Auth::Auto,
            username: None,
            password: None,
            ca_file: None,
            hello_name: "localhost".to_owned(),
            timeout: None,
            mail_timeout: Duration::from_secs(30 * 60),
            max_messages_per_connection: None,
            idle_limit: Duration::from_secs(60),
            idempotency_header: None,
            stop: Arc::default(),
            clients: Clients::default(),
        }
    }

    /// The name of the road for the breaker: `host:port`.
    pub fn scope(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// How long a reply, or progress, is waited for at `phase` (RFC 5321 4.5.3.2).
    pub(super) fn wait(&self, phase: Phase) -> Duration {
        let seconds = match phase {
            Phase::Connect => 30,
            Phase::Tls => 60,
            Phase::Greeting
            | Phase::Ehlo
            | Phase::StartTls
            | Phase::Auth
            | Phase::Mail
            | Phase::Rcpt => 300,
            Phase::Data => 120,
            Phase::Body => 180,
            Phase::Dot => 600,
        };
        let limit = Duration::from_secs(seconds);
        self.timeout.map_or(limit, |cap| limit.min(cap))
    }

    /// The user name and where the password comes from, where both are set.
    pub(super) fn credentials(&self) -> Option<(&str, &Secret)> {
        self.username.as_deref().zip(self.password.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cap_shortens_every_wait_and_lengthens_none() {
        let mut settings = Settings::new("mx.example", 25);
        assert_eq!(settings.wait(Phase::Dot), Duration::from_secs(600));
        settings.timeout = Some(Duration::from_secs(100));
        assert_eq!(settings.wait(Phase::Dot), Duration::from_secs(100));
        assert_eq!(settings.wait(Phase::Connect), Duration::from_secs(30));
        assert_eq!(settings.scope(), "mx.example:25");
    }
}
