//! The other side of the benchmarks, without a dependency: `rustc -O peer.rs`.
//!
//! `peer serve PORT [--delay MS] [--no-pipelining]` is a sink: it takes every mail, counts each Message-ID, and answers
//! all that came in one read after one delay, as a network with that round trip would. When its standard input ends it
//! prints what it saw as JSON, the seconds between the first mail and the last too, and ends.
//!
//! `peer talk PORT CONNECTIONS MAILS [--sync FILE]` is a plain sequential dialogue: MAIL, RCPT, DATA, and the message with
//! its dot, each answered before the next. With `--sync` each connection writes a page for each mail and waits until the
//! disk has it, as whoever keeps a record must. It prints mails a second.
//!
//! `peer spawn LOOPS EACH [--stdin FILE] COMMAND ARG...` starts the command EACH times, one after the other, in each of
//! LOOPS threads, and prints the seconds of each run and of all as JSON. A script's own millisecond a process would be in
//! both sides of a ratio and pull it towards 1. It fails with the first run that fails.

use std::collections::HashMap;
use std::env;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{self, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

fn main() {
    let args: Vec<String> = env::args().skip(1).collect();
    let number = |at: usize| args.get(at).and_then(|text| text.parse().ok()).unwrap_or_else(|| usage());
    match args.first().map(String::as_str) {
        Some("serve") => {
            let delay = args.iter().position(|arg| arg == "--delay").map_or(0, |at| number(at + 1));
            let pipelining = !args.iter().any(|arg| arg == "--no-pipelining");
            serve(number(1) as u16, Duration::from_millis(delay as u64), pipelining);
        }
        Some("talk") => {
            let record = args.iter().position(|arg| arg == "--sync").and_then(|at| args.get(at + 1));
            talk(number(1) as u16, number(2), number(3), record.map(String::as_str));
        }
        Some("spawn") => {
            let (stdin, from) = if args.get(3).is_some_and(|arg| arg == "--stdin") { (args.get(4), 5) } else { (None, 3) };
            let command = args.get(from..).filter(|command| !command.is_empty()).unwrap_or_else(|| usage());
            spawn(number(1), number(2), stdin.map(String::as_str), command);
        }
        _ => usage(),
    }
}

fn usage() -> ! {
    eprintln!("usage: peer serve PORT [--delay MS] [--no-pipelining]");
    eprintln!("       peer talk PORT CONNECTIONS MAILS [--sync FILE]");
    eprintln!("       peer spawn LOOPS EACH [--stdin FILE] COMMAND ARG...");
    process::exit(64)
}

#[derive(Default)]
struct Seen {
    connections: u64,
    /// Message-ID and recipient, and how often they came.
    mails: HashMap<Vec<u8>, u64>,
    first: Option<Instant>,
    last: Option<Instant>,
}

impl Seen {
    fn count(&mut self, mail: Vec<u8>) {
        *self.mails.entry(mail).or_insert(0) += 1;
        self.last = Some(Instant::now());
        self.first = self.first.or(self.last);
    }

    fn seconds(&self) -> f64 {
        self.first.zip(self.last).map_or(0.0, |(first, last)| (last - first).as_secs_f64())
    }
}

fn serve(port: u16, delay: Duration, pipelining: bool) {
    let listener = TcpListener::bind(("127.0.0.1", port)).expect("cannot listen");
    let seen = Arc::new(Mutex::new(Seen::default()));
    let counted = Arc::clone(&seen);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let seen = Arc::clone(&counted);
            thread::spawn(move || {
                // A client that goes away in between is part of some benchmarks.
                let _ = session(stream, delay, pipelining, &seen);
            });
        }
    });
    println!("ready");
    let _ = io::stdin().read_to_end(&mut Vec::new());
    let seen = seen.lock().expect("no session panics");
    let copies: u64 = seen.mails.values().map(|count| count - 1).sum();
    let (mails, connections, seconds) = (seen.mails.len(), seen.connections, seen.seconds());
    println!("{{\"mails\": {mails}, \"copies\": {copies}, \"connections\": {connections}, \"seconds\": {seconds}}}");
}

fn session(mut stream: TcpStream, delay: Duration, pipelining: bool, seen: &Mutex<Seen>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    seen.lock().expect("no session panics").connections += 1;
    stream.write_all(b"220 bench ESMTP\r\n")?;
    let (mut input, mut chunk, mut in_data) = (Vec::new(), vec![0; 1 << 16], false);
    let mut recipient = Vec::new();
    loop {
        let count = stream.read(&mut chunk)?;
        if count == 0 {
            return Ok(());
        }
        input.extend_from_slice(&chunk[..count]);
        let (mut replies, mut at) = (Vec::new(), 0);
        loop {
            let rest = &input[at..];
            if in_data {
                let Some(end) = find(rest, b"\r\n.\r\n") else { break };
                let mut key = message_id(&rest[..end]).to_vec();
                key.extend_from_slice(&recipient);
                seen.lock().expect("no session panics").count(key);
                at += end + 5;
                in_data = false;
                replies.extend_from_slice(b"250 2.0.0 ok\r\n");
                continue;
            }
            let Some(end) = find(rest, b"\r\n") else { break };
            let line = &rest[..end];
            at += end + 2;
            let reply: &[u8] = match line.get(..4).map(<[u8]>::to_ascii_uppercase).as_deref() {
                Some(b"EHLO") if pipelining => b"250-bench\r\n250-PIPELINING\r\n250 8BITMIME\r\n",
                Some(b"EHLO") => b"250-bench\r\n250 8BITMIME\r\n",
                Some(b"RCPT") => {
                    recipient = line.to_vec();
                    b"250 2.1.5 ok\r\n"
                }
                Some(b"DATA") => {
                    in_data = true;
                    b"354 go\r\n"
                }
                Some(b"QUIT") => {
                    replies.extend_from_slice(b"221 bye\r\n");
                    stream.write_all(&replies)?;
                    return Ok(());
                }
                _ => b"250 2.0.0 ok\r\n",
            };
            replies.extend_from_slice(reply);
        }
        input.drain(..at);
        if !replies.is_empty() {
            if !delay.is_zero() {
                thread::sleep(delay);
            }
            stream.write_all(&replies)?;
        }
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    // The first byte is rare enough for a plain search.
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|b| *b == what[0]) {
        if bytes[from + at..].starts_with(what) {
            return Some(from + at);
        }
        from += at + 1;
    }
    None
}

fn message_id(message: &[u8]) -> &[u8] {
    let Some(at) = find(message, b"Message-I") else { return b"" };
    let rest = &message[at..];
    &rest[..find(rest, b"\r\n").unwrap_or(rest.len())]
}

fn talk(port: u16, connections: usize, mails: usize, record: Option<&str>) {
    let begun = Instant::now();
    let share = move |nth: usize| mails / connections + usize::from(nth < mails % connections);
    let threads: Vec<_> = (0..connections)
        .map(|nth| {
            let record = record.map(|path| File::create(format!("{path}.{nth}")).expect("cannot write the record"));
            thread::spawn(move || converse(port, nth, share(nth), record).expect("the dialogue broke"))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("a dialogue panicked"));
    println!("{:.1}", mails as f64 / begun.elapsed().as_secs_f64());
}

fn converse(port: u16, nth: usize, mails: usize, mut record: Option<File>) -> io::Result<()> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_nodelay(true)?;
    let mut replies = BufReader::new(stream.try_clone()?);
    let mut hear = move || -> io::Result<()> {
        loop {
            let mut line = String::new();
            if replies.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if line.as_bytes().get(3) != Some(&b'-') {
                return Ok(());
            }
        }
    };
    hear()?;
    stream.write_all(b"EHLO bench\r\n")?;
    hear()?;
    let filler = format!("{}\r\n", "x".repeat(72)).repeat(13);
    for mail in 0..mails {
        for command in ["MAIL FROM:<a@example.com>\r\n", "RCPT TO:<b@example.com>\r\n", "DATA\r\n"] {
            stream.write_all(command.as_bytes())?;
            hear()?;
        }
        let message = format!("Message-ID: <{nth}.{mail}@example.com>\r\nSubject: s\r\n\r\n{filler}.\r\n");
        stream.write_all(message.as_bytes())?;
        hear()?;
        if let Some(file) = &mut record {
            file.write_all(&[0; 4096])?;
            file.sync_data()?;
        }
    }
    stream.write_all(b"QUIT\r\n")?;
    hear()
}

fn spawn(loops: usize, each: usize, stdin: Option<&str>, command: &[String]) {
    let begun = Instant::now();
    let seconds: Vec<f64> = thread::scope(|scope| {
        let one = || (0..each).map(|_| run(stdin, command)).collect::<Vec<_>>();
        let threads: Vec<_> = (0..loops).map(|_| scope.spawn(one)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a loop panicked")).collect()
    });
    println!("{{\"wall\": {}, \"seconds\": {seconds:?}}}", begun.elapsed().as_secs_f64());
}

fn run(stdin: Option<&str>, command: &[String]) -> f64 {
    let input = stdin.map_or_else(Stdio::null, |path| File::open(path).expect("cannot read the input").into());
    let begun = Instant::now();
    let status = Command::new(&command[0]).args(&command[1..]).stdin(input).stdout(Stdio::null()).status();
    let seconds = begun.elapsed().as_secs_f64();
    if !status.as_ref().is_ok_and(process::ExitStatus::success) {
        eprintln!("{}: {status:?}", command[0]);
        process::exit(1);
    }
    seconds
}
