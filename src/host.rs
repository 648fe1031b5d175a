//! What the host knows and a test must be able to set: the clock, chance, and who is running.
//!
//! The only callers of `now()` and of `rand`, and the only reader of `/proc`.

mod barrier;

pub use barrier::barrier;

use std::fs;
use std::process;
use std::time::{SystemTime, UNIX_EPOCH};

/// The wall clock, in milliseconds since 1970, UTC. Never negative.
pub fn now_ms() -> i64 {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the wall clock")]
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX / 4)
}

/// A random number in `0.0..1.0`.
pub fn draw() -> f64 {
    rand::random::<f64>()
}

/// The name of this host.
pub fn name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name: String =
        name.trim().chars().filter(|c| c.is_ascii_alphanumeric() || "-._".contains(*c)).collect();
    if name.is_empty() { "localhost".to_owned() } else { name }
}

/// Who this process is, as `locked_by` says it: host, process, when it started, this boot, and a random part.
pub fn worker_id() -> String {
    let pid = process::id();
    let host = name();
    let started = Process::look(pid).map_or(0, |process| process.started);
    format!("{host}/{pid}/{started}/{}/{:08x}", boot(), rand::random::<u32>())
}

/// Whether the process that made the worker id `worker` is seen running on this host, this boot. A stopped process
/// does not count: it cannot renew its lease.
pub fn is_running(worker: &str) -> bool {
    let parts: Vec<&str> = worker.split('/').collect();
    let [_, pid, started, its_boot, _] = parts[..] else {
        return false;
    };
    let (Ok(pid), Ok(started)) = (pid.parse::<u32>(), started.parse::<u64>()) else {
        return false;
    };
    started != 0
        && its_boot == boot()
        && Process::look(pid).is_some_and(|seen| seen.started == started && seen.is_going)
}

/// The first part of this boot's id.
fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().chars().take(8).collect()
}

struct Process {
    /// Clock ticks after boot, the 22nd field of `/proc/PID/stat`: tells a process from a later one with its number.
    started: u64,
    is_going: bool,
}

impl Process {
    fn look(pid: u32) -> Option<Process> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name, in parentheses, may hold spaces and parentheses itself.
        let (_, fields) = stat.rsplit_once(')')?;
        let mut fields = fields.split_whitespace();
        let state = fields.next()?;
        let started = fields.nth(18)?.parse().ok()?;
        Some(Process { started, is_going: !matches!(state, "T" | "t" | "Z" | "X") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_running_and_another_is_not() {
        let me = worker_id();
        assert!(is_running(&me), "{me}");
        assert!(!is_running("elsewhere"));
        assert!(!is_running(""));
        let parts: Vec<&str> = me.split('/').collect();
        let other_start = format!("{}/{}/1/{}/{}", parts[0], parts[1], parts[3], parts[4]);
        assert!(!is_running(&other_start), "a process number that was given out again");
        let other_boot = format!("{}/{}/{}/00000000/{}", parts[0], parts[1], parts[2], parts[4]);
        assert!(!is_running(&other_boot));
    }
}
