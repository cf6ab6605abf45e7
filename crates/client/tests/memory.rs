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
/// Thousands of requests before and after which memory is compared, after a first one that fills it.
const ROUNDS: usize = 3;
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
        for _ in 0..=2 * ROUNDS {
            let (engine, url) = (engine.clone(), server.url(&format!("/bytes/{BYTES}")));
            let sent = tokio::task::spawn_blocking(move || thousand(&engine, &url, policy));
            sent.await.unwrap();
            held_bytes.push(HELD_BYTES.load(Ordering::Relaxed));
        }
        // What is still being freed or sent when a thousand ends comes on top, up to a megabyte of datagrams.
        let least = |rounds: &[isize]| rounds.iter().copied().min().unwrap();
        let (before, after) = held_bytes[1..].split_at(ROUNDS);
        let grown = least(after) - least(before);
        assert!(
            grown <= SLACK_BYTES,
            "{policy:?}: {grown} bytes more in {held_bytes:?}"
        );
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
