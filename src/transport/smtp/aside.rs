//! Calls that cannot be interrupted (the resolver, connecting) run aside, so that a run that is stopped need not wait.

use super::wire::{GLANCE, STOPPED, waited};
use crate::domain::fault::words_of;
use crate::domain::outcome::Answer;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Instant;

/// What `work` gives, unless `until` comes or the run is stopped first; then `work` ends unheard.
pub(super) fn aside<T: Send + 'static>(
    name: &str,
    until: Instant,
    stop: &AtomicBool,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Answer> {
    let begun = Instant::now();
    let (tell, hear) = mpsc::channel();
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || {
            // Nobody hears it after the time limit.
            let _ = tell.send(work());
        })
        .map_err(|error| Answer::Lost(format!("no thread to {name}: {}", words_of(&error))))?;
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(Answer::Lost(STOPPED.to_owned()));
        }
        let left = until.saturating_duration_since(Instant::now());
        match hear.recv_timeout(left.min(GLANCE)) {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Timeout) if Instant::now() < until => {}
            Err(_) => return Err(Answer::Silence(waited(begun))),
        }
    }
}
