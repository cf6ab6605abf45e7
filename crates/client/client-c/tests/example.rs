//! The example in C, built by a C compiler from the checked-in header, against a real server.
#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

#[path = "../../client/tests/common/mod.rs"]
mod common;
mod compiled;

use std::path::Path;
use std::process::Command;

use common::start;
use compiled::compiled;
use server::Config;

#[tokio::test(flavor = "multi_thread")]
async fn the_example_in_c_fetches_a_url() {
    let server = start(Config::default()).await;
    let folder = server.folder.path();
    let Some(example) = compiled("../../../bindings/c/example.c", folder) else {
        return;
    };
    let roots = server.folder.path().join("ca.pem");
    let (status, out, err) = run(&example, &server.url("/health"), &roots);
    assert_eq!((status, out.as_str()), (Some(0), "200\nok\n"), "{err}");
    assert!(err.contains("protocol: h2\r\n"), "{err}");
    let (status, out, err) = run(&example, "https://name.invalid/", &roots);
    assert_eq!((status, out.as_str()), (Some(1), ""));
    assert_eq!(err, "the name could not be resolved");
    let (status, _, err) = run(&example, &server.url("/health"), Path::new("/dev/null"));
    assert_eq!(status, Some(1));
    assert_eq!(err, "no engine: the roots contain no certificate\n");
}

fn run(example: &Path, url: &str, roots: &Path) -> (Option<i32>, String, String) {
    let output = Command::new(example).arg(url).arg(roots).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}
