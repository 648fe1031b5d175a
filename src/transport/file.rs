//! Mails as files in a directory.
