//! The message on its way out: dot-stuffed while it is written, in few and large writes, with bounded memory.
//!
//! Invariant: the final dot leaves only through [`Body::finish`], in one write with whatever is left of the message,
//! so a message that was not written to its end is never accepted.

use super::session::Clock;
use super::wire::{Unsent, Wire};
use crate::domain::outcome::{Answer, Phase};
use std::io::{self, Write};

/// How much is collected before it is sent, in bytes. What fits is one write, dot and announcement included.
const BLOCK: usize = 64 * 1024;

/// A message that is being written after DATA was answered.
pub(super) struct Body<'a> {
    wire: &'a mut Wire,
    clock: &'a Clock<'a>,
    block: &'a mut Vec<u8>,
    /// The last two bytes of the message so far.
    last: [u8; 2],
    failure: Option<Answer>,
}

impl<'a> Body<'a> {
    /// Begins a message. `block` is only lent, so that its memory serves mail after mail.
    pub(super) fn begin(
        wire: &'a mut Wire,
        clock: &'a Clock<'a>,
        block: &'a mut Vec<u8>,
    ) -> Body<'a> {
        block.clear();
        Body { wire, clock, block, last: *b"\r\n", failure: None }
    }

    /// Why the connection failed, where it did.
    pub(super) fn failure(&mut self) -> Option<Answer> {
        self.failure.take()
    }

    /// Ends the message with the dot, and says `more` in the same write. The error tells at which phase it failed:
    /// without its dot the server cannot have taken the mail.
    pub(super) fn finish(mut self, more: &[u8]) -> Result<(), (Phase, Answer)> {
        if self.last != *b"\r\n" {
            self.put(b"\r\n");
        }
        self.block.extend_from_slice(b".\r\n");
        let end = self.block.len();
        self.block.extend_from_slice(more);
        let until = self.clock.until(Phase::Body);
        self.wire.send(self.block, until).map_err(|Unsent { sent, answer }| {
            if sent < end { (Phase::Body, self.heard(answer)) } else { (Phase::Dot, answer) }
        })
    }

    /// Whoever hangs up in the middle of a message may have said why: that is the better answer.
    fn heard(&mut self, answer: Answer) -> Answer {
        match self.wire.last_words() {
            Some(reply) if reply.code >= 400 => Answer::Reply(reply),
            _ => answer,
        }
    }

    fn put(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
        match bytes {
            [.., a, b] => self.last = [*a, *b],
            [b] => self.last = [self.last[1], *b],
            [] => {}
        }
    }

    fn flush_block(&mut self) -> io::Result<()> {
        let until = self.clock.until(Phase::Body);
        if let Err(Unsent { answer, .. }) = self.wire.send(self.block, until) {
            let answer = self.heard(answer);
            self.failure = Some(answer);
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.block.clear();
        Ok(())
    }
}

impl Write for Body<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(BLOCK)];
        // A line begins after every LF, so that no server, however lenient, sees a lone dot in the message.
        for line in bytes.split_inclusive(|&b| b == b'\n') {
            if self.last[1] == b'\n' && line[0] == b'.' {
                self.block.push(b'.');
            }
            match line {
                [start @ .., b'\n'] if *start.last().unwrap_or(&self.last[1]) != b'\r' => {
                    self.put(start);
                    self.put(b"\r\n");
                }
                _ => self.put(line),
            }
        }
        if self.block.len() >= BLOCK {
            self.flush_block()?;
        }
        Ok(bytes.len())
    }

    /// Nothing to do: a small write now would be a packet more.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
