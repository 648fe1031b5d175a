//! Logging in, and what never shows of it.

use super::super::{Auth, Secret};
use super::*;
use crate::domain::fault::{Fault, Kind};
use std::sync::atomic::{AtomicUsize, Ordering};

fn with_password(sink: &Sink, auth: Auth) -> Settings {
    let mut settings = settings(sink);
    settings.auth = auth;
    settings.username = Some("me".into());
    settings.password = Some(Secret::new(|| Ok("s3cret".into())));
    settings
}

#[test]
fn plain_is_said_in_one_line() {
    let sink = Script::new().offers(&["AUTH LOGIN PLAIN XOAUTH2", "PIPELINING"]).start();
    let settings = with_password(&sink, Auth::Auto);
    assert!(all_accepted(&send_all(&mut relay(settings), &mails(2))));
    // \0me\0s3cret
    assert_eq!(sink.commands()[1], "AUTH PLAIN AG1lAHMzY3JldA==");
    assert_eq!(sink.count("AUTH"), 1);
}

#[test]
fn login_answers_each_question() {
    for auth in [Auth::Auto, Auth::Login] {
        let sink = Script::new()
            .offers(&["AUTH LOGIN"])
            .on("AUTH", &["334 VXNlcm5hbWU6"])
            .on("LINE", &["334 UGFzc3dvcmQ6", "235"])
            .start();
        assert!(all_accepted(&[send(&mut relay(with_password(&sink, auth)), &mails(1)[0])]));
        assert_eq!(sink.commands()[1..4], ["AUTH LOGIN", "bWU=", "czNjcmV0"]);
    }
}

#[test]
fn xoauth2_hears_out_why_it_failed() {
    let offers = ["AUTH PLAIN XOAUTH2"];
    let sink = Script::new().offers(&offers).start();
    let settings = with_password(&sink, Auth::XOauth2);
    assert!(all_accepted(&[send(&mut relay(settings), &mails(1)[0])]));
    // user=me^Aauth=Bearer s3cret^A^A
    assert_eq!(sink.commands()[1], "AUTH XOAUTH2 dXNlcj1tZQFhdXRoPUJlYXJlciBzM2NyZXQBAQ==");
    let script = Script::new().offers(&offers).on("AUTH", &["334 eyJzdGF0dXMiOiI0MDAifQ=="]);
    let sink = script.on("LINE", &["535 5.7.8 expired"]).start();
    let trouble = road(send(&mut relay(with_password(&sink, Auth::XOauth2)), &mails(1)[0]));
    assert!(trouble.words.ends_with("at AUTH: 535 5.7.8 expired"), "{trouble:?}");
    assert_eq!(sink.commands()[2], "");
}

#[test]
fn a_refused_password_is_an_outage_and_not_shown() {
    for (offer, secret) in [("PLAIN", "AG1lAHMzY3JldA=="), ("LOGIN", "czNjcmV0")] {
        let reply = format!("535 5.7.8 wrong: s3cret {secret}");
        let sink = Script::new()
            .offers(&[&format!("AUTH {offer}")])
            .on("AUTH", &[if offer == "PLAIN" { &reply } else { "334 VXNlcm5hbWU6" }])
            .on("LINE", &["334 UGFzc3dvcmQ6", &reply])
            .start();
        let trouble = road(send(&mut relay(with_password(&sink, Auth::Auto)), &mails(1)[0]));
        assert!(trouble.words.contains("535 5.7.8 wrong: [secret] [secret]"), "{trouble:?}");
        assert!(!trouble.in_hand && sink.count("MAIL") == 0);
    }
}

#[test]
fn no_way_to_log_in_is_an_outage() {
    for (offer, auth) in
        [("8BITMIME", Auth::Auto), ("AUTH CRAM-MD5", Auth::Auto), ("AUTH PLAIN", Auth::Login)]
    {
        let sink = Script::new().offers(&[offer]).start();
        let trouble = road(send(&mut relay(with_password(&sink, auth)), &mails(1)[0]));
        assert!(trouble.words.contains("offer"), "{trouble:?}");
        assert_eq!(sink.count("AUTH") + sink.count("MAIL"), 0, "{offer}");
    }
}

#[test]
fn the_password_is_read_for_each_connection_and_only_then() {
    static READS: AtomicUsize = AtomicUsize::new(0);
    let sink = Script::new().offers(&["AUTH PLAIN", "PIPELINING"]).start();
    let mut settings = with_password(&sink, Auth::Auto);
    settings.password = Some(Secret::new(|| {
        READS.fetch_add(1, Ordering::SeqCst);
        Ok("s3cret".into())
    }));
    let mut relay = relay(settings);
    assert_eq!(READS.load(Ordering::SeqCst), 0);
    assert!(all_accepted(&send_all(&mut relay, &mails(3))));
    sink.hang_up();
    assert!(all_accepted(&[send(&mut relay, &mail(9, &["a@x.example"]))]));
    assert_eq!((READS.load(Ordering::SeqCst), sink.connections()), (2, 2));
}

#[test]
fn a_password_that_cannot_be_read_is_an_outage() {
    let sink = Script::new().offers(&["AUTH PLAIN"]).start();
    let mut settings = with_password(&sink, Auth::Auto);
    settings.password = Some(Secret::new(|| Err(Fault::new(Kind::Config, "no file /x"))));
    let trouble = road(send(&mut relay(settings), &mails(1)[0]));
    assert!(trouble.words.ends_with("at AUTH: no file /x"), "{trouble:?}");
}
