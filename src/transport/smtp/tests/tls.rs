//! Encryption: which connections are made, and which are not trusted.

use super::super::smtp_sink::Certificate;
use super::*;
use rcgen::{BasicConstraints, CertificateParams, IsCa, date_time_ymd};
use std::io::Write;
use tempfile::NamedTempFile;

const NAMES: [&str; 2] = ["localhost", "127.0.0.1"];

fn certificate() -> Certificate {
    Certificate::new(&NAMES, |_| {})
}

fn as_authority(params: &mut CertificateParams) {
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
}

/// `tls` with the certificates of `pem` trusted, and no others.
fn trusting(sink: &Sink, tls: Tls, pem: &str) -> (Settings, NamedTempFile) {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(pem.as_bytes()).unwrap();
    let mut settings = settings(sink);
    settings.tls = tls;
    settings.ca_file = Some(file.path().to_owned());
    (settings, file)
}

const STARTTLS: [&str; 2] = ["PIPELINING", "STARTTLS"];

#[test]
fn starttls_and_implicit_tls_carry_mails_like_any_connection() {
    let certificate = certificate();
    let scripts = [
        (Tls::StartTls, Script::new().offers(&STARTTLS).tls(&certificate)),
        (Tls::Opportunistic, Script::new().offers(&STARTTLS).tls(&certificate)),
        (Tls::Implicit, Script::new().implicit_tls(&certificate)),
    ];
    for (tls, script) in scripts {
        let sink = script.start();
        let (settings, _file) = trusting(&sink, tls, &certificate.pem);
        let mut relay = relay(settings);
        let mut mails = mails(10);
        let large = b"a line of a message of some length\r\n.\r\n".repeat(8_000);
        mails[4].content = Box::new(large.clone());
        assert!(all_accepted(&send_all(&mut relay, &mails)), "{tls:?}");
        relay.close();
        assert_eq!((sink.handshakes(), sink.connections(), sink.count("QUIT")), (1, 1, 1));
        assert!(sink.accepted()[4].bytes == large, "{tls:?}");
        let greetings = if tls == Tls::Implicit { 1 } else { 2 };
        assert_eq!(sink.count("EHLO"), greetings, "{tls:?}");
    }
}

#[test]
fn a_stale_encrypted_connection_is_seen() {
    let certificate = certificate();
    let sink = Script::new().implicit_tls(&certificate).start();
    let (settings, _file) = trusting(&sink, Tls::Implicit, &certificate.pem);
    let mut relay = relay(settings);
    for mail in mails(3) {
        assert!(all_accepted(&[send(&mut relay, &mail)]));
        sink.hang_up();
    }
    assert_eq!((sink.accepted().len(), sink.connections()), (3, 3));
}

#[test]
fn a_certificate_in_ca_file_is_trusted_though_it_is_marked_as_an_authoritys() {
    let certificate = Certificate::new(&NAMES, as_authority);
    let sink = Script::new().implicit_tls(&certificate).start();
    let (settings, _file) = trusting(&sink, Tls::Implicit, &certificate.pem);
    assert!(all_accepted(&send_all(&mut relay(settings), &mails(2))));
}

#[test]
fn a_certificate_that_does_not_hold_is_an_outage() {
    let expired = |params: &mut CertificateParams| {
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
    };
    let good = certificate();
    let wrong = Certificate::new(&["wrong.example"], |_| {});
    let wrong_authority = Certificate::new(&["wrong.example"], as_authority);
    let old = Certificate::new(&NAMES, expired);
    let old_authority = Certificate::new(&NAMES, |params| {
        expired(params);
        as_authority(params);
    });
    let rows = [
        (&good, &wrong.pem, "UnknownIssuer"),
        (&wrong_authority, &good.pem, "UnknownIssuer"),
        (&wrong, &wrong.pem, "not valid for name"),
        (&wrong_authority, &wrong_authority.pem, "not valid for name"),
        (&old, &old.pem, "expired"),
        (&old_authority, &old_authority.pem, "expired"),
    ];
    for tls in [Tls::StartTls, Tls::Implicit] {
        for (certificate, trusted, reason) in rows {
            let script = Script::new().offers(&STARTTLS);
            let sink = match tls {
                Tls::Implicit => script.implicit_tls(certificate).start(),
                _ => script.tls(certificate).start(),
            };
            let (settings, _file) = trusting(&sink, tls, trusted);
            let trouble = road(send(&mut relay(settings), &mails(1)[0]));
            assert!(trouble.words.contains(reason), "{reason}: {trouble:?}");
            assert!(!trouble.in_hand && sink.count("MAIL") == 0, "{trouble:?}");
        }
    }
}

#[test]
fn a_mended_ca_file_lets_the_mails_go() {
    let certificate = certificate();
    let sink = Script::new().implicit_tls(&certificate).start();
    for (pem, is_good) in [("", false), ("nonsense", false), (certificate.pem.as_str(), true)] {
        let (settings, _file) = trusting(&sink, Tls::Implicit, pem);
        let outcome = send(&mut relay(settings), &mails(1)[0]);
        assert_eq!(all_accepted(std::slice::from_ref(&outcome)), is_good, "{outcome:?}");
        if !is_good {
            assert!(road(outcome).words.contains("ca_file"));
        }
    }
}

#[test]
fn opportunistic_encryption_asks_nobody_who_the_server_is() {
    let certificate = Certificate::new(&["wrong.example"], |_| {});
    let sink = Script::new().offers(&STARTTLS).tls(&certificate).start();
    let mut encrypted = settings(&sink);
    encrypted.tls = Tls::Opportunistic;
    assert!(all_accepted(&[send(&mut relay(encrypted), &mails(1)[0])]));
    assert_eq!(sink.handshakes(), 1);
    let sink = Script::new().start();
    let mut plain = settings(&sink);
    plain.tls = Tls::Opportunistic;
    assert!(all_accepted(&[send(&mut relay(plain), &mails(1)[0])]));
}

#[test]
fn nothing_goes_in_clear_where_encryption_is_required() {
    let certificate = certificate();
    let scripts = [
        Script::new(),
        Script::new().on("EHLO", &["500 what"]),
        Script::new().offers(&STARTTLS).on("STARTTLS", &["454 4.7.0 no"]).tls(&certificate),
        Script::new().offers(&STARTTLS).on("STARTTLS", &["!raw220 go\r\n250 fake\r\n"]),
        Script::new().offers(&STARTTLS).on("STARTTLS", &["220 go|!close"]),
        Script::new().offers(&STARTTLS).on("STARTTLS", &["!raw220 go\r\n|!sleep2"]),
    ];
    for (at, script) in scripts.into_iter().enumerate() {
        let sink = script.start();
        let (mut settings, _file) = trusting(&sink, Tls::StartTls, &certificate.pem);
        settings.username = Some("me".into());
        settings.password = Some(super::super::Secret::new(|| Ok("s3cret".into())));
        settings.timeout = Some(SHORT);
        let trouble = road(send(&mut relay(settings), &mails(1)[0]));
        assert_eq!(sink.count("AUTH") + sink.count("MAIL"), 0, "{at} {trouble:?}");
        assert_eq!(sink.connections(), 1, "{at} {trouble:?}");
    }
}
