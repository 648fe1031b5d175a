//! The records of a CSV input, each with the bytes it came in.
//!
//! The `csv` crate takes what is not closed, or goes on after its closing quote, as best it can: a quote that nobody closed
//! would make one mail of all that follow. So the quotes are followed here, and the crate gets one whole record at a time.

use std::io::{self, BufRead};

/// One record.
#[derive(Default)]
pub(super) struct Record {
    /// As it came, with its line end.
    pub raw: Vec<u8>,
    /// The number of the line on which it begins.
    pub line: u64,
    pub fields: csv::ByteRecord,
    /// What is wrong with its quotes.
    pub fault: Option<String>,
}

/// Where in a record a byte is.
enum At {
    FieldStart,
    Plain,
    Quoted,
    /// After a quote in a quoted field: its end, or the first of two.
    Quote,
}

pub(super) struct Records<R> {
    input: R,
    /// The number of the line that comes next.
    line: u64,
}

impl<R: BufRead> Records<R> {
    pub(super) fn of(input: R) -> Records<R> {
        Records { input, line: 1 }
    }

    /// Reads the next record that is not a blank line into `record`; false at the end of the input.
    pub(super) fn read(&mut self, record: &mut Record) -> io::Result<bool> {
        loop {
            record.line = self.line;
            record.fault = self.read_raw(&mut record.raw)?;
            if record.raw.is_empty() {
                return Ok(false);
            }
            let ends = record.raw.iter().filter(|byte| **byte == b'\n').count();
            self.line += ends as u64 + u64::from(record.raw.ends_with(b"\r"));
            if !record.raw.iter().all(|byte| matches!(byte, b'\r' | b'\n')) {
                break;
            }
        }
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .buffer_capacity(record.raw.len())
            .from_reader(&record.raw[..]);
        reader.read_byte_record(&mut record.fields)?;
        Ok(true)
    }

    /// Reads up to the next line end outside quotes, and returns what is wrong with the quotes.
    fn read_raw(&mut self, raw: &mut Vec<u8>) -> io::Result<Option<String>> {
        raw.clear();
        let (mut at, mut column, mut fault) = (At::FieldStart, 1, None);
        loop {
            let chunk = match self.input.fill_buf() {
                Ok(chunk) => chunk,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            if chunk.is_empty() {
                if matches!(at, At::Quoted) {
                    let words = format!("field {column} begins with a quote that is never closed");
                    fault = fault.or(Some(words));
                }
                return Ok(fault);
            }
            let mut end = None;
            for (index, byte) in chunk.iter().enumerate() {
                at = match (at, byte) {
                    (At::Quoted, b'"') => At::Quote,
                    (At::FieldStart | At::Quote, b'"') | (At::Quoted, _) => At::Quoted,
                    (_, b'\r' | b'\n') => {
                        at = At::FieldStart;
                        end = Some(index + 1);
                        break;
                    }
                    (_, b',') => {
                        column += 1;
                        At::FieldStart
                    }
                    (At::Quote, _) => {
                        let words = format!("field {column} goes on after its closing quote");
                        fault = fault.or(Some(words));
                        At::Plain
                    }
                    (At::FieldStart | At::Plain, _) => At::Plain,
                };
            }
            let taken = end.unwrap_or(chunk.len());
            raw.extend_from_slice(&chunk[..taken]);
            self.input.consume(taken);
            if end.is_some() {
                break;
            }
        }
        // The second byte of a line end belongs to the first.
        if raw.ends_with(b"\r") && self.input.fill_buf()?.first() == Some(&b'\n') {
            raw.push(b'\n');
            self.input.consume(1);
        }
        Ok(fault)
    }
}
