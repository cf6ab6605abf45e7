//! Knowledge that outlives the process, whatever becomes of its file.

#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

use std::fs;

use crate::common::start;
use client::{Engine, Protocol};
use server::Config;

const MIB: usize = 1 << 20;

fn offering() -> Config {
    Config {
        alt_svc: true,
        ..Config::default()
    }
}

/// Returns the protocol of a request to this URL.
async fn protocol(engine: &Engine, url: &str) -> Protocol {
    let response = engine.get(url).send().await.unwrap();
    let protocol = response.report().protocol;
    response.bytes(MIB).await.unwrap();
    protocol
}

/// Reports whether an engine knows that HTTP/3 is offered, before its first request.
async fn knows_the_offer(engine: &Engine, url: &str) -> bool {
    !engine.explain(url).await.contains("HTTP/3 here: unknown")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_learnt_outlives_the_process_and_damage_does_not_stop_it() {
    let server = start(offering()).await;
    let (health, memory) = (server.url("/health"), tempfile::tempdir().unwrap());
    let engine = || server.trusting().memory(memory.path()).build().unwrap();
    assert!(!knows_the_offer(&engine(), &health).await);
    assert_eq!(protocol(&engine(), &health).await, Protocol::H2);
    assert!(knows_the_offer(&engine(), &health).await);
    let file = memory.path().join("route.v1");
    std::fs::write(&file, b"CMTR\0\x01 and no more").unwrap();
    assert_eq!(protocol(&engine(), &health).await, Protocol::H2);
    assert!(memory.path().join("route.bad").exists());
    assert!(knows_the_offer(&engine(), &health).await);
    // A folder that cannot be written to: a file is in its place.
    let engine = server.trusting().memory(&file).build().unwrap();
    assert_eq!(protocol(&engine, &health).await, Protocol::H2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_saved_outlives_a_process_that_is_killed() {
    let server = start(offering()).await;
    let (health, memory) = (server.url("/health"), tempfile::tempdir().unwrap());
    let file = memory.path().join("route.v1");
    let engine = server.trusting().memory(memory.path()).build().unwrap();
    assert_eq!(protocol(&engine, &health).await, Protocol::H2);
    engine.save().await;
    // What the first request taught is there; later ones are, too, once saved.
    let saved = fs::read(&file).unwrap();
    for _ in 0..5 {
        protocol(&engine, &health).await;
    }
    engine.save().await;
    assert_ne!(fs::read(&file).unwrap(), saved);
    // The engine is never told to end.
    let killed = std::mem::ManuallyDrop::new(engine);
    let next = server.trusting().memory(memory.path()).build().unwrap();
    assert!(knows_the_offer(&next, &health).await);
    drop(std::mem::ManuallyDrop::into_inner(killed));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_was_being_written_does_not_count() {
    let server = start(offering()).await;
    let (health, memory) = (server.url("/health"), tempfile::tempdir().unwrap());
    let engine = || server.trusting().memory(memory.path()).build().unwrap();
    assert_eq!(protocol(&engine(), &health).await, Protocol::H2);
    let file = memory.path().join("route.v1");
    let mut writer = std::process::Command::new("true").spawn().unwrap();
    let new = format!("route.{}.0123456789abcdef.new", writer.id());
    let new = memory.path().join(new);
    writer.wait().unwrap();
    let whole = fs::read(&file).unwrap();
    for length in 0..whole.len() {
        // As a writer leaves it that is killed at this byte of the next file.
        fs::write(&new, &whole[..length]).unwrap();
        let engine = engine();
        let explained = engine.explain(&health).await;
        assert!(
            explained.contains("HTTP/3 here: untried"),
            "{length}: {explained}"
        );
        drop(engine);
        assert!(!new.exists() && !memory.path().join("route.bad").exists());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_folder_there_is_nothing_to_save() {
    let server = start(Config::default()).await;
    let engine = server.trusting().build().unwrap();
    engine.save().await;
}
