//! Engines after fork(2), in a program in C.
#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

#[path = "../../client/tests/common/mod.rs"]
mod common;
mod compiled;

use std::process::Command;

use common::start;
use compiled::compiled;
use server::Config;

#[tokio::test(flavor = "multi_thread")]
async fn a_child_process_cannot_use_its_parents_engines_and_makes_its_own() {
    let server = start(Config::default()).await;
    let Some(program) = compiled("tests/fork.c", server.folder.path()) else {
        return;
    };
    let roots = server.folder.path().join("ca.pem");
    let url = server.url("/bytes/1000000");
    let ran = tokio::task::spawn_blocking(move || {
        Command::new(program).arg(url).arg(roots).output().unwrap()
    });
    let ran = ran.await.unwrap();
    assert!(ran.status.success(), "{ran:?}");
}
