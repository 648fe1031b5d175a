//! What a session needs to know about its server, and for how long it waits for it.
//!
//! Invariant: the password is read when a connection is made and at no other time, and no type here shows it.

use super::tls::Clients;
use crate::domain::outcome::Phase;
use std::fmt;
use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

/// How the connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// Where the password comes from. It is read anew for each connection and never shown.
#[derive(Clone)]
pub struct Secret(Arc<dyn Fn() -> Result<String, String> + Send + Sync>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// How long a password command may take.
const COMMAND_LIMIT: Duration = Duration::from_secs(30);
/// More than any password or token.
const MAX_SECRET: u64 = 64 * 1024;

impl Secret {
    /// `read` gives the password, or says in one line, without it, why not.
    pub fn new(read: impl Fn() -> Result<String, String> + Send + Sync + 'static) -> Self {
        Secret(Arc::new(read))
    }

    /// The content of a file, without the line end.
    pub fn file(path: PathBuf) -> Self {
        Secret::new(move || match fs::read_to_string(&path) {
            Ok(text) => Ok(text.trim_end_matches(['\r', '\n']).to_owned()),
            Err(error) => Err(format!(
                "password_file {} cannot be read: {error}",
                path.display()
            )),
        })
    }

    /// The first line that a shell command prints. What it writes to stderr goes where ours goes.
    pub fn command(line: String) -> Self {
        Secret::new(move || run(&line).map_err(|why| format!("password_command {why}")))
    }

    pub(super) fn read(&self) -> Result<String, String> {
        (self.0)()
    }
}

fn run(line: &str) -> Result<String, String> {
    let mut child = Command::new("/bin/sh")
        .args(["-c", line])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot be started: {error}"))?;
    let printed = first_line(&mut child, COMMAND_LIMIT);
    if printed.is_none() {
        // It may have ended meanwhile; then there is nothing to kill.
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    let printed = printed.ok_or_else(|| format!("took longer than {COMMAND_LIMIT:?}"))?;
    if !status.success() {
        return Err(format!("failed: {status}"));
    }
    let line = printed.lines().next().unwrap_or_default();
    if line.is_empty() {
        return Err("printed nothing".to_owned());
    }
    Ok(line.to_owned())
}

/// What `child` prints until it closes its output; `None` when that takes too long.
fn first_line(child: &mut Child, limit: Duration) -> Option<String> {
    let output = child.stdout.take()?;
    let (tell, hear) = mpsc::channel();
    thread::Builder::new()
        .spawn(move || {
            let mut printed = Vec::new();
            let read = output.take(MAX_SECRET).read_to_end(&mut printed);
            // Nobody hears it after the time limit.
            let _ = tell.send(read.map(|_| printed));
        })
        .ok()?;
    let printed = hear.recv_timeout(limit).ok()?.ok()?;
    String::from_utf8(printed).ok()
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
    fn a_command_gives_its_first_line_and_an_error_never_holds_it() {
        let secret = Secret::command("echo s3cret; echo more".into());
        assert_eq!(secret.read().as_deref(), Ok("s3cret"));
        assert_eq!(format!("{secret:?}"), "Secret");
        let error = Secret::command("echo s3cret; exit 3".into())
            .read()
            .unwrap_err();
        assert!(error.contains('3') && !error.contains("s3cret;"), "{error}");
        assert!(Secret::command("true".into()).read().is_err());
    }

    #[test]
    fn a_slow_command_is_ended() {
        let mut child = Command::new("sleep")
            .arg("600")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        assert_eq!(first_line(&mut child, Duration::from_millis(50)), None);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_file_loses_its_line_end_and_a_missing_one_is_named() {
        let path = std::env::temp_dir().join(format!("mailq-secret-{}", std::process::id()));
        fs::write(&path, " s3cret \r\n").unwrap();
        assert_eq!(Secret::file(path.clone()).read().as_deref(), Ok(" s3cret "));
        fs::remove_file(&path).unwrap();
        let error = Secret::file(path.clone()).read().unwrap_err();
        assert!(error.contains(path.to_str().unwrap()), "{error}");
    }

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
