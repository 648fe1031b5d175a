//! The spool.
