//! The SMTP dialogue.
