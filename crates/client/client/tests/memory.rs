//! The heap after thousands of requests: what an engine holds must not grow with their number.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};

use client::{Engine, Policy};
use common::start;
use server::Config;

const THREADS: usize = 64;
const REQUESTS: usize = 1_000;
const BYTES: usize = 20_000;
/// Thousands of requests before which memory is taken, after a first one that fills it, and as many before it is
/// compared.
const ROUNDS: usize = 3;
/// Thousands of requests after which it must have been as small as before once. Memory that is being freed when a
/// thousand ends comes on top. That is up to a megabyte of datagrams, and on a busy machine several times in turn.
/// Leaks stay.
const MOST_ROUNDS: usize = 30;
/// Growth of tables and queues that depends on which requests met.
const SLACK_BYTES: isize = 64 << 10;

/// Bytes that were allocated and not freed, by the engine, the server and this test.
static HELD_BYTES: AtomicIsize = AtomicIsize::new(0);

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: it only counts what the system's allocator does.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD_BYTES.fetch_add(layout.size().cast_signed(), Ordering::Relaxed);
        // SAFETY: the caller's promises are the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        HELD_BYTES.fetch_sub(layout.size().cast_signed(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_requests_more_leave_nothing_more_behind() {
    let server = start(Config::default()).await;
    for policy in [Policy::H2, Policy::H3] {
        let engine = server.trusting().hint_h3(&server.url("/")).build().unwrap();
        let mut held_bytes = Vec::new();
        loop {
            let (engine, url) = (engine.clone(), server.url(&format!("/bytes/{BYTES}")));
            let sent = tokio::task::spawn_blocking(move || thousand(&engine, &url, policy));
            sent.await.unwrap();
            held_bytes.push(HELD_BYTES.load(Ordering::Relaxed));
            if held_bytes.len() <= 2 * ROUNDS {
                continue;
            }
            let before = held_bytes[1..=ROUNDS].iter().min().unwrap();
            let grown = held_bytes.last().unwrap() - before;
            if grown <= SLACK_BYTES {
                break;
            }
            assert!(
                held_bytes.len() <= MOST_ROUNDS,
                "{policy:?}: {grown} bytes more in {held_bytes:?}"
            );
        }
    }
    server.stop().await;
}

/// Sends requests from many threads.
fn thousand(engine: &Engine, url: &str, policy: Policy) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().build();
                let runtime = runtime.unwrap();
                while next.fetch_add(1, Ordering::Relaxed) < REQUESTS {
                    runtime.block_on(async {
                        let response = engine.get(url).policy(policy).send().await.unwrap();
                        assert_eq!(response.bytes(BYTES).await.unwrap().len(), BYTES);
                    });
                }
            });
        }
    });
}
