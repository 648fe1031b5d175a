//! Mails handed to a local `sendmail` program.
