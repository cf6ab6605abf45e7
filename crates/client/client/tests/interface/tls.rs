//! Versions of TLS and cipher suites: OpenSSL's server offers some that no client should take.

#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use client::{Engine, Error, Fault, Policy, Trust};

/// What the server offers, whether the client takes it, and the options of `openssl s_server`. Security level 0 allows
/// all that OpenSSL still has.
const OFFERS: [(&str, bool, &[&str]); 7] = [
    ("TLS 1.3", true, &["-tls1_3"]),
    (
        "TLS 1.2 with GCM",
        true,
        &["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-GCM-SHA256"],
    ),
    ("TLS 1.0", false, &["-tls1", "-cipher", "ALL:@SECLEVEL=0"]),
    ("TLS 1.1", false, &["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"]),
    (
        "TLS 1.2 with CBC",
        false,
        &[
            "-tls1_2",
            "-cipher",
            "ECDHE-ECDSA-AES128-SHA:ECDHE-ECDSA-AES256-SHA384:@SECLEVEL=0",
        ],
    ),
    (
        "TLS 1.2 without a certificate",
        false,
        &["-tls1_2", "-cipher", "aNULL:@SECLEVEL=0"],
    ),
    (
        "TLS 1.2 without encryption",
        false,
        &["-tls1_2", "-cipher", "eNULL:@SECLEVEL=0"],
    ),
];

/// A server, which is killed when dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Starts a server with the certificate in this folder. Returns its port.
fn serve(folder: &std::path::Path, options: &[&str]) -> (Server, String) {
    let mut command = Command::new("openssl");
    command
        .args([
            "s_server",
            "-accept",
            "127.0.0.1:0",
            "-www",
            "-alpn",
            "http/1.1",
        ])
        .args(["-cert", "certificate.pem", "-key", "key.pem"])
        .args(options)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut server = Server(command.spawn().unwrap());
    let mut lines = BufReader::new(server.0.stdout.take().unwrap()).lines();
    let accepts = |line: String| Some(line.strip_prefix("ACCEPT ")?.rsplit_once(':')?.1.to_owned());
    let port = lines.find_map(|line| accepts(line.unwrap()));
    (server, port.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn old_versions_and_weak_cipher_suites_are_refused() {
    if Command::new("openssl").arg("version").output().is_err() {
        return testing::skip("openssl is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = made.cert.pem();
    std::fs::write(folder.path().join("certificate.pem"), &certificate).unwrap();
    std::fs::write(
        folder.path().join("key.pem"),
        made.signing_key.serialize_pem(),
    )
    .unwrap();
    for (what, is_taken, options) in OFFERS {
        let (_server, port) = serve(folder.path(), options);
        let engine = Engine::builder()
            .trust(Trust::Roots(certificate.clone().into_bytes()))
            .policy(Policy::H1)
            .build()
            .unwrap();
        let outcome = engine.connect(&format!("https://localhost:{port}/")).await;
        let expected = match (is_taken, outcome.map(drop)) {
            (true, Ok(())) => Ok(()),
            (
                false,
                Err(Error::Failed {
                    fault: Fault::Handshake,
                    ..
                }),
            ) => Ok(()),
            (_, outcome) => Err(outcome),
        };
        assert_eq!(expected, Ok(()), "{what}");
    }
}
