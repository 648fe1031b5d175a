//! One connection of the test server.

use super::{Message, Shared};
use rustls::{ServerConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ServerConnection, TcpStream>>),
    Gone,
}

impl Stream {
    fn tcp(&self) -> Option<&TcpStream> {
        match self {
            Stream::Plain(tcp) => Some(tcp),
            Stream::Tls(tls) => Some(&tls.sock),
            Stream::Gone => None,
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Stream::Plain(tcp) => tcp.write_all(bytes),
            Stream::Tls(tls) => tls.write_all(bytes).and_then(|()| tls.flush()),
            Stream::Gone => Err(gone()),
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(tcp) => tcp.read(buffer),
            Stream::Tls(tls) => tls.read(buffer),
            Stream::Gone => Ok(0),
        }
    }
}

fn gone() -> io::Error {
    io::ErrorKind::ConnectionAborted.into()
}

/// One connection.
pub(super) struct Talk<'a> {
    pub(super) shared: &'a Shared,
    stream: Stream,
    number: usize,
    buffer: Vec<u8>,
    sender: Option<String>,
    recipients: Vec<String>,
    done: usize,
}

impl<'a> Talk<'a> {
    pub(super) fn new(shared: &'a Shared, stream: Stream, number: usize) -> Self {
        Talk {
            shared,
            stream,
            number,
            buffer: Vec::new(),
            sender: None,
            recipients: Vec::new(),
            done: 0,
        }
    }

    fn line(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if let Some(end) = self.buffer.iter().position(|&b| b == b'\n') {
                return Ok(self.buffer.drain(..=end).collect());
            }
            let mut chunk = vec![0; 256 * 1024];
            let count = self.stream.read(&mut chunk)?;
            if count == 0 {
                return Err(gone());
            }
            self.shared.note(|log| log.reads += 1);
            self.buffer.extend_from_slice(&chunk[..count]);
        }
    }

    /// Says what the script has for `key`, or else `default`. Gives what was said.
    fn say(&mut self, key: &str, default: &str) -> io::Result<String> {
        let reply = self.shared.pick(key).unwrap_or_else(|| default.to_owned());
        for part in reply.split('|') {
            self.act(part)?;
        }
        Ok(reply)
    }

    fn act(&mut self, part: &str) -> io::Result<()> {
        let bytes = |text: &str| text.chars().map(|c| c as u8).collect::<Vec<u8>>();
        if part == "!close" {
            return Err(gone());
        } else if part == "!rst" {
            let tcp = self.stream.tcp().ok_or_else(gone)?;
            socket2::SockRef::from(tcp).set_linger(Some(Duration::ZERO))?;
            // The reset leaves with the last descriptor.
            self.shared.note(|log| drop(log.open.remove(&self.number)));
            self.stream = Stream::Gone;
            return Err(gone());
        } else if let Some(seconds) = part.strip_prefix("!sleep") {
            thread::sleep(Duration::from_secs_f64(seconds.parse().unwrap()));
        } else if let Some(path) = part.strip_prefix("!touch") {
            std::fs::write(path, "")?;
        } else if let Some(path) = part.strip_prefix("!wait") {
            while !std::path::Path::new(path).exists() {
                thread::sleep(Duration::from_millis(10));
            }
        } else if let Some(text) = part.strip_prefix("!drip") {
            for byte in bytes(&format!("{text}\r\n")) {
                self.stream.write(&[byte])?;
                thread::sleep(Duration::from_millis(50));
            }
        } else if let Some(text) = part.strip_prefix("!raw") {
            self.stream.write(&bytes(text))?;
        } else {
            self.stream.write(&bytes(&format!("{part}\r\n")))?;
        }
        Ok(())
    }

    fn secure(&mut self) -> io::Result<()> {
        let Some(config) = self.shared.script.tls.clone() else {
            return Ok(());
        };
        let Stream::Plain(mut tcp) = std::mem::replace(&mut self.stream, Stream::Gone) else {
            return Err(gone());
        };
        let mut tls = ServerConnection::new(config).map_err(io::Error::other)?;
        while tls.is_handshaking() {
            tls.complete_io(&mut tcp)?;
        }
        self.buffer.clear();
        self.stream = Stream::Tls(Box::new(StreamOwned::new(tls, tcp)));
        self.shared.note(|log| log.handshakes += 1);
        Ok(())
    }

    pub(super) fn run(&mut self) -> io::Result<()> {
        if self.shared.script.is_implicit {
            self.secure()?;
        }
        self.say("GREET", "220 sink.example ESMTP")?;
        loop {
            let line = String::from_utf8_lossy(&self.line()?).trim_end().to_owned();
            self.shared.note(|log| log.commands.push((self.number, line.clone())));
            let verb = line.split([' ', ':']).next().unwrap_or_default().to_uppercase();
            if self.obey(&verb, &line)? {
                return Ok(());
            }
        }
    }

    /// Answers one command; true when it was the last.
    fn obey(&mut self, verb: &str, line: &str) -> io::Result<bool> {
        let script = &self.shared.script;
        let address = || line.split(['<', '>']).nth(1).unwrap_or_default().to_owned();
        match verb {
            "MAIL" if script.is_strict && self.sender.is_some() => {
                self.act("503 5.5.1 nested MAIL command")?;
            }
            "MAIL" if script.max_messages.is_some_and(|max| self.done >= max) => {
                self.act("421 4.7.0 too many messages")?;
                return Ok(true);
            }
            "MAIL" => {
                if self.say("MAIL", "250 ok")?.starts_with('2') {
                    self.sender = Some(address());
                    self.recipients.clear();
                }
            }
            "RCPT" if script.max_recipients.is_some_and(|max| self.recipients.len() >= max) => {
                self.act("452 4.5.3 too many recipients")?;
            }
            "RCPT" => {
                let own = format!("RCPT:{}", address());
                let has_own = self.shared.replies.lock().unwrap().contains_key(&own);
                let key = if has_own { own.as_str() } else { "RCPT" };
                if script.is_strict && self.sender.is_none() {
                    self.act("503 5.5.1 MAIL first")?;
                } else if self.say(key, "250 ok")?.starts_with('2') {
                    self.recipients.push(address());
                }
            }
            "DATA" if script.is_strict && self.recipients.is_empty() => {
                self.act("503 5.5.1 RCPT first")?;
            }
            "DATA" => {
                if self.say("DATA", "354 go")?.contains("354") {
                    self.receive()?;
                }
            }
            "STARTTLS" if script.tls.is_some() => {
                if self.say("STARTTLS", "220 go")?.starts_with('2') {
                    self.secure()?;
                }
            }
            "EHLO" | "HELO" | "RSET" => {
                (self.sender, self.recipients) = (None, Vec::new());
                let known = match verb {
                    "EHLO" => "250-sink.example|250-PIPELINING|250 8BITMIME",
                    _ => "250 ok",
                };
                self.say(verb, known)?;
            }
            "QUIT" => {
                self.say("QUIT", "221 bye")?;
                return Ok(true);
            }
            "NOOP" => drop(self.say("NOOP", "250 ok")?),
            "AUTH" => drop(self.say("AUTH", "235 ok")?),
            "STARTTLS" => drop(self.say("STARTTLS", "500 what")?),
            _ => drop(self.say("LINE", "500 what")?),
        }
        Ok(false)
    }

    fn receive(&mut self) -> io::Result<()> {
        let mut raw = Vec::new();
        while raw != b".\r\n" && !raw.ends_with(b"\r\n.\r\n") {
            raw.extend(self.line()?);
        }
        raw.truncate(raw.len() - 3);
        let bytes: Vec<u8> = raw
            .split_inclusive(|&b| b == b'\n')
            .flat_map(|line| line.strip_prefix(b".").unwrap_or(line))
            .copied()
            .collect();
        let reply = self.shared.pick("DOT").unwrap_or_else(|| "250 2.0.0 queued".to_owned());
        let message = Message {
            connection: self.number,
            sender: self.sender.take().unwrap_or_default(),
            recipients: std::mem::take(&mut self.recipients),
            bytes,
            at: std::time::Instant::now(),
            accepted: is_good(&reply),
            faults: faults(&raw),
        };
        self.shared.note(|log| log.messages.push(message));
        self.done += 1;
        for part in reply.split('|') {
            self.act(part)?;
        }
        Ok(())
    }
}

/// Whether the first thing that `reply` says is a 2xx.
fn is_good(reply: &str) -> bool {
    let said = reply.trim_start_matches("!raw").trim_start_matches("!drip");
    let said = said.split('|').find(|part| !part.starts_with('!'));
    said.is_some_and(|part| part.starts_with('2'))
}

/// What a careful server would not like about a message as it came over the wire.
fn faults(raw: &[u8]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut find = |is_so: bool, name: &str| {
        if is_so {
            faults.push(name.to_owned());
        }
    };
    let pairs = || raw.iter().zip(raw.iter().skip(1).chain([&0]));
    find(pairs().any(|(a, b)| *a == b'\r' && *b != b'\n'), "bareCR");
    let before = [&0].into_iter().chain(raw.iter());
    find(raw.iter().zip(before).any(|(b, a)| *b == b'\n' && *a != b'\r'), "bareLF");
    find(raw.contains(&0), "NUL");
    find(raw.iter().any(|b| *b > 127), "8bit");
    let mut lines = raw.split(|&b| b == b'\n');
    find(lines.clone().any(|line| line.len() > 1000), "line>998");
    find(lines.any(|line| line.starts_with(b".") && !line.starts_with(b"..")), "unstuffedDot");
    faults
}
