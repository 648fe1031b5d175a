//! A connection on which every read and write ends by a given moment.
//!
//! Invariant: a wait is measured from its beginning to its end on the monotonic clock, however many small pieces come
//! in between; no call here can outlast the `until` that it was given.

use super::aside::aside;
use super::reply::{Input, Parsed};
use crate::domain::fault::{one_line, words_of};
use crate::domain::outcome::{Answer, Reply};
use rustix::net::RecvFlags;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
#[cfg(target_os = "linux")]
use std::os::linux::net::TcpStreamExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The moment `wait` from now; far away where that cannot be said.
pub(super) fn after(wait: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(30 * 86_400);
    Instant::now() + wait.min(FAR)
}

/// How often a wait before the first mail looks whether the run is stopped.
pub(super) const GLANCE: Duration = Duration::from_millis(250);
pub(super) const STOPPED: &str = "the run is stopped";

/// The TCP side. Reads and writes fail with `TimedOut` at `until`, with `WouldBlock` only while `is_polled`.
struct Socket {
    tcp: TcpStream,
    until: Instant,
    is_polled: bool,
    /// The time outs that the kernel was told.
    told: [Option<Duration>; 2],
    /// Whether something was read since the last write.
    has_read: bool,
    /// Set when the run is to end. Heeded until the first mail is offered.
    stop: Option<Arc<AtomicBool>>,
}

const READING: usize = 0;
const WRITING: usize = 1;

impl Socket {
    /// Tells the kernel to wake us before `until`. It is told again only when what it knows is of no use: the same
    /// wake-up serves mail after mail, and one that comes too early costs a turn of the loop, nothing else.
    fn arm(&mut self, side: usize) -> io::Result<()> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        let least = self.stop.as_ref().map_or(left / 16, |_| Duration::ZERO);
        if self.told[side].is_some_and(|told| told <= left && told >= least) {
            return Ok(());
        }
        let wait = if left > Duration::from_secs(4) {
            left / 2
        } else {
            left.max(Duration::from_millis(1))
        };
        let wait = if self.stop.is_some() { wait.min(GLANCE) } else { wait };
        match side {
            READING => self.tcp.set_read_timeout(Some(wait))?,
            _ => self.tcp.set_write_timeout(Some(wait))?,
        }
        self.told[side] = Some(wait);
        Ok(())
    }

    fn persist(
        &mut self,
        side: usize,
        mut step: impl FnMut(&mut TcpStream) -> io::Result<usize>,
    ) -> io::Result<usize> {
        loop {
            if !self.is_polled {
                if self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                    return Err(io::Error::other(STOPPED));
                }
                self.arm(side)?;
            }
            match step(&mut self.tcp) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock && !self.is_polled => {}
                done => return done,
            }
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.has_read && !self.is_polled {
            // A server that sends its replies one by one, with Nagle's algorithm on, keeps the next one until this
            // one is acknowledged, which the kernel puts off for 40 ms.
            #[cfg(target_os = "linux")]
            self.tcp.set_quickack(true)?;
        }
        self.has_read = true;
        let flags = if self.is_polled { RecvFlags::DONTWAIT } else { RecvFlags::empty() };
        self.persist(READING, |tcp| Ok(rustix::net::recv(tcp, &mut *buffer, flags)?.1))
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.has_read = false;
        self.persist(WRITING, |tcp| tcp.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

enum Stream {
    Plain(Socket),
    Tls(Box<StreamOwned<ClientConnection, Socket>>),
}

/// What a glance at the connection shows.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Glance {
    Quiet,
    /// Bytes are waiting: their beginning.
    Talking(String),
    /// The connection has ended: why.
    Ended(String),
}

/// Bytes that did not all leave.
pub(super) struct Unsent {
    /// How many may have left. On an encrypted connection this is not known, so it is all of them.
    pub(super) sent: usize,
    pub(super) answer: Answer,
}

/// A connection to a server and what was read from it.
pub(super) struct Wire {
    stream: Stream,
    input: Input,
    peer: SocketAddr,
}

impl Wire {
    /// Connects to the first address of `host` that answers. Name resolution and each address have `limit`, all of it
    /// together ends at `until`, or when `stop` is set; the wire heeds it until `begin`.
    pub(super) fn connect(
        host: &str,
        port: u16,
        limit: Duration,
        until: Instant,
        stop: &Arc<AtomicBool>,
    ) -> Result<Wire, Answer> {
        let addresses = resolve(host, port, after(limit).min(until), stop)?;
        let mut failure = Answer::Lost(format!("{host} has no address"));
        for peer in addresses {
            let begun = Instant::now();
            let left = after(limit).min(until).saturating_duration_since(begun);
            if left.is_zero() {
                return Err(Answer::Silence(limit));
            }
            let connect = move || TcpStream::connect_timeout(&peer, left);
            // It ends by itself in `left`, and what it says then is to be heard.
            let heard = after(left + GLANCE);
            match aside("connect", heard, stop, connect)?.and_then(|tcp| {
                tcp.set_nodelay(true)?;
                Ok(tcp)
            }) {
                Ok(tcp) => return Ok(Wire::new(tcp, peer, Arc::clone(stop))),
                Err(error) if error.kind() == ErrorKind::TimedOut => {
                    failure = Answer::Silence(waited(begun));
                }
                Err(error) if address(host).is_some() => failure = Answer::Lost(words_of(&error)),
                Err(error) => {
                    failure = Answer::Lost(format!("{}: {}", peer.ip(), words_of(&error)))
                }
            }
        }
        Err(failure)
    }

    fn new(tcp: TcpStream, peer: SocketAddr, stop: Arc<AtomicBool>) -> Wire {
        let (until, stop) = (Instant::now(), Some(stop));
        let socket =
            Socket { tcp, until, is_polled: false, told: [None; 2], has_read: false, stop };
        Wire { stream: Stream::Plain(socket), input: Input::default(), peer }
    }

    /// From here on mails are offered, and each is finished.
    pub(super) fn begin(&mut self) {
        self.socket().stop = None;
    }

    /// The same connection, encrypted. What was received before is not taken over: nobody vouches for it.
    pub(super) fn secure(
        self,
        config: Arc<ClientConfig>,
        host: &str,
        until: Instant,
    ) -> Result<Wire, Answer> {
        let Stream::Plain(mut socket) = self.stream else {
            return Err(Answer::Garbage("a second TLS handshake".to_owned()));
        };
        let begun = Instant::now();
        socket.until = until;
        let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned())
            .map_err(|error| Answer::Lost(format!("{host}: {error}")))?;
        let mut tls =
            ClientConnection::new(config, name).map_err(|error| Answer::Lost(error.to_string()))?;
        while tls.is_handshaking() {
            if let Err(error) = tls.complete_io(&mut socket) {
                return Err(told(&error, begun, until));
            }
        }
        Ok(Wire {
            stream: Stream::Tls(Box::new(StreamOwned::new(tls, socket))),
            input: Input::default(),
            peer: self.peer,
        })
    }

    pub(super) fn is_encrypted(&self) -> bool {
        matches!(self.stream, Stream::Tls(_))
    }

    /// Whether the server runs on this host.
    pub(super) fn is_loopback(&self) -> bool {
        self.peer.ip().to_canonical().is_loopback()
    }

    /// The lines of the reply that was read last, without codes.
    pub(super) fn last_lines(&self) -> &[String] {
        self.input.last_lines()
    }

    fn socket(&mut self) -> &mut Socket {
        match &mut self.stream {
            Stream::Plain(socket) => socket,
            Stream::Tls(tls) => &mut tls.sock,
        }
    }

    /// Sends all of `bytes`.
    pub(super) fn send(&mut self, bytes: &[u8], until: Instant) -> Result<(), Unsent> {
        let begun = Instant::now();
        self.socket().until = until;
        let mut sent = 0;
        let failure = match &mut self.stream {
            Stream::Tls(tls) => {
                sent = bytes.len();
                tls.write_all(bytes).and_then(|()| tls.flush()).err()
            }
            Stream::Plain(socket) => loop {
                if sent == bytes.len() {
                    break None;
                }
                match socket.write(&bytes[sent..]) {
                    Ok(0) => break Some(ErrorKind::WriteZero.into()),
                    Ok(count) => sent += count,
                    Err(error) => break Some(error),
                }
            },
        };
        failure.map_or(Ok(()), |error| {
            let answer = told(&error, begun, until);
            Err(Unsent { sent, answer })
        })
    }

    /// Waits for the next reply.
    pub(super) fn reply(&mut self, until: Instant) -> Answer {
        let begun = Instant::now();
        loop {
            match self.input.next_reply() {
                Parsed::Reply(reply) => return Answer::Reply(reply),
                Parsed::Garbage(bytes) => return Answer::Garbage(bytes),
                Parsed::More => {}
            }
            self.socket().until = until;
            if let Err(error) = self.read_some() {
                return told(&error, begun, until);
            }
        }
    }

    fn read_some(&mut self) -> io::Result<()> {
        let mut buffer = [0; 4096];
        let count = match &mut self.stream {
            Stream::Plain(socket) => socket.read(&mut buffer)?,
            Stream::Tls(tls) => tls.read(&mut buffer)?,
        };
        if count == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.input.push(&buffer[..count]);
        Ok(())
    }

    /// What is left of what was read already, where nothing should be.
    pub(super) fn unread(&self) -> Option<String> {
        (!self.input.is_empty()).then(|| self.input.preview())
    }

    /// Looks whether the server said something unasked, or hung up. Waits for nothing.
    pub(super) fn glance(&mut self) -> Glance {
        if let Some(bytes) = self.unread() {
            return Glance::Talking(bytes);
        }
        match self.poll() {
            Ok(()) => Glance::Talking(self.input.preview()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Glance::Quiet,
            Err(error) => Glance::Ended(words(&error)),
        }
    }

    /// What the server said before it hung up, as far as it can be read without waiting.
    pub(super) fn last_words(&mut self) -> Option<Reply> {
        loop {
            match self.input.next_reply() {
                Parsed::Reply(reply) => return Some(reply),
                Parsed::Garbage(_) => return None,
                Parsed::More => self.poll().ok()?,
            }
        }
    }

    fn poll(&mut self) -> io::Result<()> {
        self.socket().is_polled = true;
        let read = self.read_some();
        self.socket().is_polled = false;
        read
    }
}

/// The address that `host` is, where it is no name.
fn address(host: &str) -> Option<IpAddr> {
    host.trim_matches(['[', ']']).parse().ok()
}

/// The addresses of `host`. The resolver has time outs of its own, so it runs aside.
fn resolve(
    host: &str,
    port: u16,
    until: Instant,
    stop: &AtomicBool,
) -> Result<Vec<SocketAddr>, Answer> {
    if let Some(address) = address(host) {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let name = host.to_owned();
    let look_up = move || (name.as_str(), port).to_socket_addrs().map(Vec::from_iter);
    aside("resolve", until, stop, look_up)?.map_err(|error| {
        let words = words_of(&error);
        let words = words.trim_start_matches("failed to lookup address information: ");
        Answer::Lost(format!("{host} cannot be resolved: {words}"))
    })
}

pub(super) fn waited(begun: Instant) -> Duration {
    let millis = begun.elapsed().as_millis();
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

/// What a failed read or write says about the server.
fn told(error: &io::Error, begun: Instant, until: Instant) -> Answer {
    if error.kind() == ErrorKind::TimedOut && Instant::now() >= until {
        Answer::Silence(waited(begun))
    } else {
        Answer::Lost(words(error))
    }
}

fn words(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::UnexpectedEof => "the server closed the connection".to_owned(),
        ErrorKind::ConnectionReset => "the server reset the connection".to_owned(),
        _ => one_line(&words_of(error), 300),
    }
}
