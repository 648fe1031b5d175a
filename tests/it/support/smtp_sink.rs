//! A scriptable SMTP server on loopback, for tests: it says what its script tells and remembers all it heard.
//!
//! A script maps a verb (GREET EHLO HELO MAIL RCPT DATA DOT NOOP RSET QUIT AUTH STARTTLS, LINE for anything else, and
//! `RCPT:address` for one recipient) to replies; one is used up at each use over the whole run and the last one stays.
//! A reply is made of parts joined by `|`: text is sent with CRLF, and these do something: `!close`, `!rst`,
//! `!sleepSECONDS`, `!dripTEXT` (a byte each 50 ms), `!rawTEXT` (no CRLF), `!touchPATH` (makes a file), `!waitPATH` (until
//! the file exists). Each char of a text is one byte: `\u{fc}` is the byte FC.

#[path = "smtp_sink/certificate.rs"]
mod certificate;
#[path = "smtp_sink/talk.rs"]
mod talk;

pub use certificate::Certificate;

use rustls::ServerConfig;
use std::collections::HashMap;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};
use talk::{Stream, Talk};

/// What the server is to do. Everything is accepted where nothing else is said.
#[derive(Default, Clone)]
pub struct Script {
    replies: HashMap<String, Vec<String>>,
    max_recipients: Option<usize>,
    max_messages: Option<usize>,
    is_strict: bool,
    tls: Option<Arc<ServerConfig>>,
    is_implicit: bool,
}

impl Script {
    pub fn new() -> Self {
        Script::default()
    }

    /// `verb` is answered with `replies`, one after the other.
    pub fn on(mut self, verb: &str, replies: &[&str]) -> Self {
        let replies = replies.iter().map(|reply| reply.to_string()).collect();
        self.replies.insert(verb.to_owned(), replies);
        self
    }

    /// EHLO offers just these extensions.
    pub fn offers(self, extensions: &[&str]) -> Self {
        let mut lines: Vec<String> = vec!["250-sink.example".to_owned()];
        lines.extend(extensions.iter().map(|name| format!("250-{name}")));
        let last = lines.pop().unwrap_or_default().replacen('-', " ", 1);
        lines.push(last);
        let reply = lines.join("|");
        self.on("EHLO", &[&reply])
    }

    /// The recipients beyond so many in one transaction get 452.
    pub fn max_recipients(mut self, count: usize) -> Self {
        self.max_recipients = Some(count);
        self
    }

    /// The MAIL after so many messages on one connection gets 421 and the end.
    pub fn max_messages(mut self, count: usize) -> Self {
        self.max_messages = Some(count);
        self
    }

    /// A nested MAIL, RCPT without MAIL and DATA without a recipient get 503.
    pub fn strict(mut self) -> Self {
        self.is_strict = true;
        self
    }

    /// STARTTLS works.
    pub fn tls(mut self, certificate: &Certificate) -> Self {
        self.tls = Some(certificate.server.clone());
        self
    }

    /// TLS from the first byte.
    pub fn implicit_tls(mut self, certificate: &Certificate) -> Self {
        self.is_implicit = true;
        self.tls(certificate)
    }

    /// Begins to listen.
    pub fn start(self) -> Sink {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            replies: Mutex::new(self.replies.clone()),
            script: self,
            log: Mutex::new(Log::default()),
            changed: Condvar::new(),
        });
        let server = shared.clone();
        thread::spawn(move || server.serve(&listener));
        Sink { port, shared }
    }
}

/// A message as it was received, dot-unstuffed.
#[derive(Debug, Clone)]
pub struct Message {
    /// Which connection it came on; the first is 1.
    pub connection: usize,
    pub sender: String,
    pub recipients: Vec<String>,
    pub bytes: Vec<u8>,
    /// When its last line was here.
    pub at: Instant,
    /// Whether the dot was answered with 2xx.
    pub accepted: bool,
    /// What is wrong with it on the wire.
    pub faults: Vec<String>,
}

#[derive(Default)]
struct Log {
    connections: usize,
    open: HashMap<usize, TcpStream>,
    commands: Vec<(usize, String)>,
    messages: Vec<Message>,
    /// How often bytes were waited for and came: an upper bound of the client's round trips.
    reads: usize,
    handshakes: usize,
    is_over: bool,
}

struct Shared {
    script: Script,
    replies: Mutex<HashMap<String, Vec<String>>>,
    log: Mutex<Log>,
    changed: Condvar,
}

/// The running server. It ends when this is dropped.
pub struct Sink {
    pub port: u16,
    shared: Arc<Shared>,
}

impl Sink {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.shared.log.lock().unwrap()
    }

    pub fn connections(&self) -> usize {
        self.log().connections
    }

    pub fn handshakes(&self) -> usize {
        self.log().handshakes
    }

    /// How often the server had to wait for the client.
    pub fn reads(&self) -> usize {
        self.log().reads
    }

    /// All command lines, without line ends.
    pub fn commands(&self) -> Vec<String> {
        self.log().commands.iter().map(|(_, line)| line.clone()).collect()
    }

    /// How many commands begin with `start`.
    pub fn count(&self, start: &str) -> usize {
        self.commands().iter().filter(|line| line.starts_with(start)).count()
    }

    pub fn messages(&self) -> Vec<Message> {
        self.log().messages.clone()
    }

    /// The messages whose dot was answered with 2xx, in the order in which they came.
    pub fn accepted(&self) -> Vec<Message> {
        let mut all = self.messages();
        all.retain(|message| message.accepted);
        all.sort_by_key(|message| message.at);
        all
    }

    /// Waits until `is_so`, at most ten seconds; whether it came to that.
    pub fn wait_until(&self, is_so: impl Fn(&Sink) -> bool) -> bool {
        let end = Instant::now() + Duration::from_secs(10);
        while !is_so(self) {
            if Instant::now() >= end {
                return false;
            }
            let log = self.log();
            drop(self.shared.changed.wait_timeout(log, Duration::from_millis(20)).unwrap());
        }
        true
    }

    /// Hangs up on everybody, as a server does that is idle or restarted.
    pub fn hang_up(&self) {
        for tcp in self.log().open.values() {
            let _ = tcp.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.log().is_over = true;
        self.hang_up();
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl Shared {
    fn serve(self: &Arc<Self>, listener: &TcpListener) {
        for tcp in listener.incoming().flatten() {
            let number = {
                let mut log = self.log.lock().unwrap();
                if log.is_over {
                    return;
                }
                log.connections += 1;
                let number = log.connections;
                log.open.insert(number, tcp.try_clone().unwrap());
                number
            };
            let shared = self.clone();
            thread::spawn(move || {
                let _ = tcp.set_nodelay(true);
                let stream = Stream::Plain(tcp);
                let mut talk = Talk::new(&shared, stream, number);
                // However the talk ends, the client sees it.
                let _ = talk.run();
                talk.shared.note(|log| {
                    if let Some(tcp) = log.open.remove(&number) {
                        let _ = tcp.shutdown(Shutdown::Both);
                    }
                });
            });
        }
    }

    fn note(&self, change: impl FnOnce(&mut Log)) {
        change(&mut self.log.lock().unwrap());
        self.changed.notify_all();
    }

    fn pick(&self, key: &str) -> Option<String> {
        let mut replies = self.replies.lock().unwrap();
        let list = replies.get_mut(key)?;
        if list.len() > 1 { Some(list.remove(0)) } else { list.first().cloned() }
    }
}
