//! The last resort: when the database cannot be written after a server's 250, the acceptance is appended to a file
//! beside it, and the next run replays that before it claims anything.
//!
//! The file is locked while it is written or replayed, and never deleted: a writer that waits for the lock must not
//! write into a file that is gone.

use super::counter::{Counter, Counts};
use super::{MODE, Settled, Store, history, lend, row};
use crate::domain::attempt::Attempt;
use crate::domain::fault::{Fault, Kind, Need, words_of};
use crate::domain::message::MailId;
use crate::domain::state::Move;
use rusqlite::named_params;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    id: i64,
    holder: String,
    sent: bool,
    delivered: Vec<String>,
    refused: BTreeMap<String, String>,
    at: i64,
}

const SENT: &str = "UPDATE email_messages SET status = 'SENT', attempt_count = min(attempt_count + 1, 1000000), failure = NULL, \
     error_message = NULL, delivered = NULL, refused = :refused, locked_at = NULL, locked_by = NULL, dot_at = NULL, \
     sent_at = :at, finished_at = :at \
     WHERE id = :id AND ((status = 'SENDING' AND locked_by = :holder) OR status = 'PENDING' \
     OR (status = 'FAILED' AND failure IN ('worker-lost', 'unknown-outcome', 'expired'))) RETURNING queue";

const PARTLY: &str = "UPDATE email_messages SET delivered = :delivered, refused = :refused \
     WHERE id = :id AND ((status = 'SENDING' AND locked_by = :holder) OR status IN ('PENDING', 'FAILED'))";

impl Store {
    /// Appends what a server accepted to the journal and syncs it. What nobody accepted needs no entry: it is tried
    /// again after its lease.
    pub fn journal(&self, settled: &[Settled], now: i64) -> Result<usize, Fault> {
        let mut lines = Vec::new();
        let mut count = 0;
        for one in settled {
            let sent = one.change.to() == Move::Sent;
            if !sent && one.change.delivered().is_empty() {
                continue;
            }
            let entry = Entry {
                id: one.lease.id().0,
                holder: one.lease.holder().to_string(),
                sent,
                delivered: one.change.delivered().to_vec(),
                refused: one.change.refused().clone(),
                at: now,
            };
            serde_json::to_writer(&mut lines, &entry).expect("an entry is plain data");
            lines.push(b'\n');
            count += 1;
        }
        if lines.is_empty() {
            return Ok(0);
        }
        let path = journal_path(&self.path);
        append(&path, &lines).map(|()| count).map_err(|e| {
            Fault::new(Kind::Io, format!("cannot append outcomes to {}: {}", path.display(), words_of(&e)))
                .hint("the mails in hand were accepted but neither place could record it: they may go twice")
        })
    }

    /// Records what an earlier run could only append to the journal. Returns how many mails that were.
    pub fn replay_journal(&mut self) -> Result<usize, Fault> {
        let path = journal_path(&self.path);
        if !std::fs::metadata(&path).is_ok_and(|meta| meta.len() > 0) {
            return Ok(0);
        }
        let broken = |e: io::Error| {
            let kind = match e.kind() {
                io::ErrorKind::PermissionDenied => Kind::Permission,
                _ => Kind::Io,
            };
            let words = format!("cannot replay outcomes from {}: {}", path.display(), words_of(&e));
            Fault::new(kind, words)
                .hint("nothing is sent until they are recorded")
                .barred(&path, Need::Write)
        };
        let mut file = OpenOptions::new().read(true).write(true).open(&path).map_err(broken)?;
        file.lock().map_err(broken)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(broken)?;
        // A torn last line was never confirmed to anybody, whatever bytes a crash left there.
        let entries: Vec<Entry> = bytes
            .split(|byte| *byte == b'\n')
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect();
        self.write(|tx| entries.iter().try_for_each(|entry| replay(tx, entry)))?;
        file.set_len(0).and_then(|()| file.sync_all()).map_err(broken)?;
        Ok(entries.len())
    }
}

fn replay(tx: &rusqlite::Transaction<'_>, entry: &Entry) -> Result<(), rusqlite::Error> {
    let holder = &entry.holder;
    let refused = (!entry.refused.is_empty())
        .then(|| serde_json::to_string(&entry.refused).expect("two texts each"));
    if entry.sent {
        let mut counts = Counts::default();
        let mut statement = tx.prepare_cached(SENT)?;
        let values = named_params! { ":refused": refused, ":at": entry.at, ":id": entry.id, ":holder": holder };
        let mut sent = statement.query(values)?;
        while let Some(one) = sent.next()? {
            let queue = row::lossy(one, 0)?.unwrap_or_default();
            counts.add(Counter::Sent, &queue, "", 1);
            history::add(tx, MailId(entry.id), &Attempt::journaled(entry.at))?;
        }
        counts.write(tx)?;
    } else {
        let delivered = serde_json::to_string(&entry.delivered).expect("a list of texts");
        tx.prepare_cached(PARTLY)?.execute(named_params! {
            ":delivered": delivered, ":refused": refused, ":id": entry.id, ":holder": holder,
        })?;
    }
    Ok(())
}

fn journal_path(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-outcomes");
    PathBuf::from(name)
}

fn append(path: &Path, lines: &[u8]) -> io::Result<()> {
    let mut file: File =
        OpenOptions::new().create(true).append(true).read(true).mode(MODE).open(path)?;
    file.lock()?;
    let end = file.seek(SeekFrom::End(0))?;
    if end == 0 {
        // A new one, made under a umask, while the run that replays it may be another user's. An old one of somebody
        // else's is as it should be, and stays so.
        let _ = file.set_permissions(Permissions::from_mode(MODE));
        lend(&file, path);
    }
    // After a torn line, begin a new one.
    if end > 0 {
        file.seek(SeekFrom::End(-1))?;
        let mut last = [0u8];
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            file.write_all(b"\n")?;
        }
    }
    file.write_all(lines)?;
    file.sync_all()
}
