//! What a mail is and what may become of it: values in, values out.
//!
//! Nothing here reads a file, a clock, a socket or a random number; time and chance are arguments.

pub mod address;
pub mod attempt;
pub mod fault;
pub mod header;
pub mod message;
pub mod outcome;
pub mod rate;
pub mod retry;
pub mod state;
