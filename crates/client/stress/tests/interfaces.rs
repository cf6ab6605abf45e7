//! Calls both interfaces in the ordinary build, and checks that the calls reach what they are for.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::env;
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::fs;
use std::path::Path;
use std::time::Duration;

use stress::c::Counts;

/// Enough for each operation to be done a thousand times.
const OPERATIONS: u64 = 20_000;

#[test]
fn random_calls_of_the_c_interface_get_responses() {
    let done = stress::c::run(OPERATIONS, 1);
    assert!(done.responses > 10 && done.bytes > 20, "{done:?}");
    assert!(done.ended > 100 && done.chains > 10, "{done:?}");
    assert!(done.engines > 10, "{done:?}");
}

#[test]
fn random_calls_of_the_jni_library_get_responses() {
    let test = env::current_exe().unwrap();
    let name = format!("{DLL_PREFIX}commute_client_jvm{DLL_SUFFIX}");
    let library = test.ancestors().nth(2).unwrap().join(name);
    assert!(
        library.is_file(),
        "run `cargo build -p commute-client-jvm` first, as `make test` does"
    );
    let done = stress::jvm::run(&library, OPERATIONS, 1).unwrap();
    assert!(done.requests > 100 && done.bytes > 1_000, "{done:?}");
    assert!(done.sockets > 100 && done.engines > 10, "{done:?}");
    assert!(done.exceptions > 10, "{done:?}");
}

/// Otherwise the fuzzer would begin with inputs that test nothing. On a busy machine a response may come too late.
#[test]
fn the_corpus_of_the_fuzzer_gets_responses() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz/corpus/c_abi");
    let reaches = |name, what: fn(Counts) -> bool| {
        let input = fs::read(corpus.join(name)).unwrap();
        let run = |_| stress::c::run_input(&input, Duration::from_secs(1));
        assert!((0..100).map(run).any(what), "{name}");
    };
    reaches("requests", |done| done.responses > 0 && done.bytes > 0);
    reaches("uploads", |done| done.ended > 0);
    reaches("wrong", |done| done.ended > 0);
    reaches("chains", |done| done.chains > 0);
    reaches("reopen", |done| done.engines > 0 && done.ended > 0);
}
