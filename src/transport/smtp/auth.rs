//! Logging in: PLAIN, LOGIN, XOAUTH2.
//!
//! Invariant: the password leaves only on a connection that may carry it, and never stands in an error, whatever the
//! server echoes.

use super::reply::Capabilities;
use super::session::Dialogue;
use super::settings::{Auth, Tls};
use crate::domain::outcome::{Answer, Meaning, Phase, Reply, Trouble, meaning};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Logs in where a user name and a password are set.
pub(super) fn log_in(dialogue: &mut Dialogue<'_>, can: Capabilities) -> Result<(), Trouble> {
    let settings = dialogue.clock.settings;
    let Some((user, secret)) = settings.credentials() else {
        return Ok(());
    };
    let out = |why: &str| dialogue.clock.out(Phase::Auth, why);
    let wire = &dialogue.wire;
    if !may_carry_password(wire.is_encrypted(), wire.is_loopback(), settings.tls) {
        return Err(out("the password is not sent over a connection that is not encrypted"));
    }
    let mechanism = choose(settings.auth, can).ok_or_else(|| {
        out(match settings.auth {
            Auth::Auto => "the server offers no AUTH that is known (PLAIN, LOGIN, XOAUTH2)",
            Auth::Plain => "the server does not offer AUTH PLAIN",
            Auth::Login => "the server does not offer AUTH LOGIN",
            Auth::XOauth2 => "the server does not offer AUTH XOAUTH2",
        })
    })?;
    let password = secret.read().map_err(|why| out(&why.to_string()))?;
    let script = Script::new(mechanism, user, &password);
    let answer = script.run(dialogue);
    match meaning(Phase::Auth, &answer, false) {
        Meaning::Proceed => Ok(()),
        _ => {
            let answer = script.without_secrets(answer, &password);
            Err(dialogue.clock.trouble(Phase::Auth, &answer))
        }
    }
}

/// A password goes encrypted, or to this host, or where it is written out that nothing is encrypted.
fn may_carry_password(is_encrypted: bool, is_loopback: bool, tls: Tls) -> bool {
    is_encrypted || is_loopback || tls == Tls::None
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mechanism {
    Plain,
    Login,
    XOauth2,
}

fn choose(wanted: Auth, can: Capabilities) -> Option<Mechanism> {
    let wants = |auth: Auth| wanted == Auth::Auto || wanted == auth;
    if can.plain && wants(Auth::Plain) {
        Some(Mechanism::Plain)
    } else if can.login && wants(Auth::Login) {
        Some(Mechanism::Login)
    } else if can.xoauth2 && wants(Auth::XOauth2) {
        Some(Mechanism::XOauth2)
    } else {
        None
    }
}

/// What is said to log in: the command, then one line for each challenge.
struct Script {
    command: String,
    lines: Vec<String>,
}

impl Script {
    fn new(mechanism: Mechanism, user: &str, password: &str) -> Script {
        let (command, lines) = match mechanism {
            Mechanism::Plain => {
                let said = STANDARD.encode(format!("\0{user}\0{password}"));
                (format!("AUTH PLAIN {said}"), vec![])
            }
            Mechanism::Login => {
                ("AUTH LOGIN".to_owned(), vec![STANDARD.encode(user), STANDARD.encode(password)])
            }
            // A challenge here tells an error in JSON; the server waits for an empty line before it refuses.
            Mechanism::XOauth2 => {
                let said =
                    STANDARD.encode(format!("user={user}\x01auth=Bearer {password}\x01\x01"));
                (format!("AUTH XOAUTH2 {said}"), vec![String::new()])
            }
        };
        Script { command, lines }
    }

    fn run(&self, dialogue: &mut Dialogue<'_>) -> Answer {
        let mut answer = dialogue.ask(&format!("{}\r\n", self.command), Phase::Auth);
        for line in &self.lines {
            if !matches!(&answer, Answer::Reply(reply) if reply.code == 334) {
                break;
            }
            answer = dialogue.ask(&format!("{line}\r\n"), Phase::Auth);
        }
        answer
    }

    /// `answer` without anything that was said in confidence.
    fn without_secrets(&self, answer: Answer, password: &str) -> Answer {
        let said = self.command.split(' ').nth(2).into_iter();
        let secrets: Vec<&str> = said
            .chain(self.lines.iter().map(String::as_str))
            .chain([password])
            .filter(|secret| !secret.is_empty())
            .collect();
        let clean = |text: String| {
            secrets.iter().fold(text, |text, secret| text.replace(secret, "[secret]"))
        };
        match answer {
            Answer::Reply(reply) => Answer::Reply(Reply { text: clean(reply.text), ..reply }),
            Answer::Garbage(bytes) => Answer::Garbage(clean(bytes)),
            Answer::Lost(_) | Answer::Silence(_) => answer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_leaves_this_host_in_clear_only_where_that_is_written_out() {
        for tls in [Tls::Opportunistic, Tls::StartTls, Tls::Implicit] {
            assert!(!may_carry_password(false, false, tls), "{tls:?}");
            assert!(may_carry_password(true, false, tls), "{tls:?}");
            assert!(may_carry_password(false, true, tls), "{tls:?}");
        }
        assert!(may_carry_password(false, false, Tls::None));
    }
}
