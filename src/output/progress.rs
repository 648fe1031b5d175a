//! How far a long command is: a line on a terminal that is drawn over itself, and nothing anywhere else.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What is done sooner shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often it is drawn at most.
const PACE: Duration = Duration::from_millis(200);
const WIDTH: u64 = 24;
/// To the beginning of the line, and nothing on it.
const CLEAR: &str = "\r\u{1b}[K";

/// Whether the terminal shows a line that whatever else is written must clear first.
static IS_SHOWN: AtomicBool = AtomicBool::new(false);

/// The progress of one command.
#[derive(Debug)]
pub struct Progress {
    verb: &'static str,
    total: u64,
    done: u64,
    began: Instant,
    /// When it is to be drawn next; `None`: nobody would see it.
    due: Option<Instant>,
}

impl Progress {
    /// Begins with `verb` ("sending") of `total` mails, 0 where nobody knows; shown unless `is_quiet`, and only on a terminal.
    pub(super) fn begin(verb: &'static str, total: u64, is_quiet: bool) -> Progress {
        let began = Instant::now();
        let is_seen = !is_quiet && io::stderr().is_terminal();
        Progress { verb, total, done: 0, began, due: is_seen.then(|| began + PATIENCE) }
    }

    /// `more` mails are done.
    pub fn add(&mut self, more: u64) {
        self.done += more;
        let now = Instant::now();
        if self.due.is_some_and(|due| due <= now) {
            self.due = Some(now + PACE);
            let line = line(self.verb, self.done, self.total, now - self.began);
            IS_SHOWN.store(true, Ordering::Relaxed);
            let _ = io::stderr().lock().write_all(format!("{CLEAR}{line}").as_bytes());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let _ = io::stderr().lock().write_all(clear().as_bytes());
    }
}

/// What is to be written before anything else, where a line of progress stands.
pub(super) fn clear() -> &'static str {
    if IS_SHOWN.swap(false, Ordering::Relaxed) { CLEAR } else { "" }
}

fn line(verb: &str, done: u64, total: u64, took: Duration) -> String {
    let rate = done as f64 / took.as_secs_f64().max(0.001);
    if total == 0 {
        return format!("{verb} {done}  {rate:.0}/s");
    }
    // Others may have enqueued since it was counted.
    let total = total.max(done);
    let full = (done * WIDTH / total) as usize;
    let bar = format!("{}{}", "#".repeat(full), ".".repeat(WIDTH as usize - full));
    let left = match (total - done) as f64 / rate {
        seconds if seconds.is_finite() => {
            let whole = Duration::from_secs(seconds.min(1e9).ceil() as u64);
            format!("{} left", humantime::format_duration(whole))
        }
        _ => "no end in sight".to_owned(),
    };
    format!("{verb} [{bar}] {done}/{total}  {rate:.0}/s  {left}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_tells_the_share_the_rate_and_the_rest() {
        let told = line("sending", 250, 1000, Duration::from_secs(10));
        assert_eq!(told, "sending [######..................] 250/1000  25/s  30s left");
        let more = line("sending", 12, 10, Duration::from_secs(1));
        assert!(
            more.contains("[########################] 12/12") && more.ends_with("0s left"),
            "{more}"
        );
        assert_eq!(line("checking", 50, 0, Duration::from_secs(2)), "checking 50  25/s");
        assert!(line("deleting", 0, 10, Duration::from_secs(1)).ends_with("no end in sight"));
    }
}
