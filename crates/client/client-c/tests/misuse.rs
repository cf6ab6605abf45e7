//! What must not happen happens: null, stale and foreign ids, from many threads, and engines that
//! are closed under their calls.
#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

mod abi;
#[path = "../../client/tests/common/mod.rs"]
mod common;

use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use abi::{REQUEST, bytes, connect, get, next_of, read, submit, text, wait, write};
use common::start;
use commute_client::cm_event_kind::{CM_EVENT_DONE, CM_EVENT_READABLE};
use commute_client::cm_status::{
    CM_AGAIN, CM_E_ARGUMENT, CM_E_CLOSED, CM_E_NO_CALL, CM_END, CM_OK,
};
use commute_client::*;
use server::Config;

#[test]
fn null_is_refused() {
    let engine = abi::open(&abi::CONFIG).unwrap();
    let (mut call, mut length) = (0, 0);
    // SAFETY: what is not null points to what the header says; null is what this is about.
    unsafe {
        let (none, no_length) = (null_mut(), null_mut());
        assert_eq!(
            cm_engine_new(null(), &mut call, none, 0, no_length),
            CM_E_ARGUMENT
        );
        assert_eq!(
            cm_engine_new(&abi::CONFIG, null_mut(), none, 0, no_length),
            CM_E_ARGUMENT
        );
        assert_eq!(cm_submit(engine, null(), 0, &mut call), CM_E_ARGUMENT);
        assert_eq!(cm_submit(engine, &REQUEST, 0, null_mut()), CM_E_ARGUMENT);
        assert_eq!(
            cm_submit(engine, &REQUEST, 0, &mut call),
            CM_E_ARGUMENT,
            "no method"
        );
        let (latin1, out) = (b"https://\xe4/", &mut call);
        assert_eq!(cm_connect(engine, null(), 9, 0, out), CM_E_ARGUMENT);
        let not_utf8 = cm_connect(engine, latin1.as_ptr(), latin1.len(), 0, out);
        assert_eq!(not_utf8, CM_E_ARGUMENT);
        let url = "https://localhost/";
        let nowhere = cm_connect(engine, url.as_ptr(), url.len(), 0, null_mut());
        assert_eq!(nowhere, CM_E_ARGUMENT);
        assert_eq!(cm_write(engine, 1, null(), 0, null_mut()), CM_E_ARGUMENT);
        assert_eq!(cm_write(engine, 1, null(), 9, &mut length), CM_E_ARGUMENT);
        assert_eq!(
            cm_read(engine, 1, null_mut(), 9, &mut length),
            CM_E_ARGUMENT
        );
        assert_eq!(
            cm_wait(engine, null_mut(), 9, 0, &mut length),
            CM_E_ARGUMENT
        );
        assert_eq!(cm_set_switches(engine, null()), CM_E_ARGUMENT);
        let network = cm_network {
            id: [1; 16],
            metered: 0,
            kind: 4,
        };
        assert_eq!(cm_set_network(engine, &network), CM_E_ARGUMENT);
        assert_eq!(
            cm_get_metrics(engine, 2, null_mut(), 0, &mut length),
            CM_E_ARGUMENT
        );
        let url = bytes("https://a.example/");
        for (wrong, len) in [(null(), 5), (url.ptr, 3), (url.ptr, usize::MAX)] {
            let status = cm_https_record(engine, wrong, len, null(), 0);
            assert_eq!(status, CM_E_ARGUMENT);
        }
        for (answer, len) in [(null(), 5), (url.ptr, usize::MAX)] {
            let status = cm_https_record(engine, url.ptr, url.len, answer, len);
            assert_eq!(status, CM_E_ARGUMENT);
        }
        assert_eq!(cm_https_record(0, url.ptr, url.len, null(), 0), CM_E_CLOSED);
        let wild = cm_bytes {
            ptr: null(),
            len: 5,
        };
        let huge = cm_bytes {
            ptr: url.ptr,
            len: usize::MAX,
        };
        let method = bytes("GET");
        for wrong in [
            cm_request {
                method,
                url: wild,
                ..REQUEST
            },
            cm_request {
                method,
                url: huge,
                ..REQUEST
            },
            cm_request {
                method,
                url,
                header_count: 1,
                ..REQUEST
            },
            cm_request {
                method,
                url,
                flags: 1 << 31,
                ..REQUEST
            },
            cm_request {
                method,
                url,
                flags: 8 | 16,
                ..REQUEST
            },
            cm_request {
                method,
                url,
                flags: 1,
                streamed_bytes: -2,
                ..REQUEST
            },
            cm_request {
                method,
                url,
                flags: 1,
                body: url,
                ..REQUEST
            },
            cm_request {
                method: bytes("G E T"),
                url,
                ..REQUEST
            },
            cm_request {
                method,
                url: bytes(b"https://\xff/"),
                ..REQUEST
            },
        ] {
            assert_eq!(submit(engine, &wrong, 0), Err(CM_E_ARGUMENT), "{wrong:?}");
        }
    }
    cm_engine_close(engine);
}

#[test]
fn a_config_that_is_wrong_says_why() {
    let pem = bytes("no certificate");
    let address = [abi::field("a.example", "1.2.3")];
    let base = abi::CONFIG;
    for (wrong, why) in [
        (cm_config { policy: 9, ..base }, "policy 9 is no cm_policy"),
        (cm_config { trust: 9, ..base }, "trust 9 is no cm_trust"),
        (
            cm_config {
                trust: 1,
                roots_pem: pem,
                ..base
            },
            "no certificate",
        ),
        (
            cm_config {
                roots_pem: pem,
                ..base
            },
            "roots_pem needs CM_TRUST_ROOTS",
        ),
        (
            cm_config {
                identity_key_pem: pem,
                ..base
            },
            "both a chain and a key",
        ),
        (
            cm_config {
                addresses: address.as_ptr(),
                address_count: 1,
                ..base
            },
            "is no IP address",
        ),
        (
            cm_config {
                early_data: 2,
                ..base
            },
            "early_data is 0 or 1, not 2",
        ),
        (
            cm_config {
                h3_hint_count: 1,
                ..base
            },
            "1 items at 0x0",
        ),
    ] {
        let (status, said) = abi::open(&wrong).unwrap_err();
        assert_eq!(status, CM_E_ARGUMENT);
        assert!(said.contains(why), "{said:?} does not say {why:?}");
    }
}

/// A peer that closes its connection would end a process in C. Tests are in Rust, whose `main` ignores the
/// signal, so that the mask must do for a proof.
#[test]
fn the_engines_threads_take_no_sigpipe_and_the_apps_still_do() {
    let engine = abi::open(&abi::CONFIG).unwrap();
    // Once something has happened, its thread has its name.
    connect(engine, "no URL", 0).unwrap();
    next_of(engine, CM_EVENT_DONE);
    let own = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    assert!(!takes_no_sigpipe(&own), "{own}");
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    // Those of other tests may end meanwhile.
    let all =
        tasks.filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("status")).ok());
    let engines: Vec<_> = all
        .filter(|status| status.starts_with("Name:\tcommute\n"))
        .collect();
    assert!(!engines.is_empty(), "no thread is an engine's");
    for status in engines {
        assert!(takes_no_sigpipe(&status), "{status}");
    }
    cm_engine_close(engine);
}

/// Reports whether a thread with this status, as Linux writes it, blocks SIGPIPE.
fn takes_no_sigpipe(status: &str) -> bool {
    /// It is the thirteenth signal.
    const SIGPIPE: u64 = 1 << 12;
    let mut lines = status.lines();
    let blocked = lines
        .find_map(|line| line.strip_prefix("SigBlk:\t"))
        .unwrap();
    u64::from_str_radix(blocked, 16).unwrap() & SIGPIPE != 0
}

#[tokio::test(flavor = "multi_thread")]
async fn stale_and_foreign_ids_are_errors_from_many_threads() {
    let server = start(Config::default()).await;
    let roots = std::fs::read(server.folder.path().join("ca.pem")).unwrap();
    let (ours, theirs) = (abi::trusting(&roots), abi::trusting(&roots));
    let closed = abi::trusting(&roots);
    cm_engine_close(closed);
    let url = server.url("/bytes/100000");
    let foreign = get(theirs, &url, 0);
    let stale = get(ours, &url, 0);
    assert_eq!(cm_release(ours, stale), CM_OK);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..500 {
                    for wrong in [0, stale, foreign, ours, theirs, u64::MAX] {
                        assert_eq!(read(ours, wrong, 10), Err(CM_E_NO_CALL));
                        assert_eq!(write(ours, wrong, b"x"), Err(CM_E_NO_CALL));
                        assert_eq!(cm_finish(ours, wrong), CM_E_NO_CALL);
                        assert_eq!(cm_cancel(ours, wrong), CM_E_NO_CALL);
                        assert_eq!(cm_release(ours, wrong), CM_E_NO_CALL);
                        assert_eq!(text(ours, wrong, cm_text::CM_TEXT_ERROR), Err(CM_E_NO_CALL));
                        assert_eq!(cm_answer_chain(ours, wrong, 1), CM_E_NO_CALL);
                    }
                    for wrong in [0, closed, foreign, u64::MAX] {
                        assert_eq!(read(wrong, foreign, 10), Err(CM_E_CLOSED));
                        assert_eq!(wait(wrong, 1, None), Err(CM_E_CLOSED));
                        assert_eq!(cm_engine_close(wrong), CM_E_CLOSED);
                    }
                }
            });
        }
    });
    // What they were about is unharmed.
    assert_eq!(abi::read_all(theirs, foreign).unwrap().len(), 100_000);
    cm_engine_close(ours);
    cm_engine_close(theirs);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_requests_on_several_threads_all_end_once() {
    const THREADS: u64 = 8;
    const EACH: u64 = 128;
    let server = start(Config::default()).await;
    let roots = std::fs::read(server.folder.path().join("ca.pem")).unwrap();
    let engine = abi::trusting(&roots);
    let url = server.url("/bytes/20000");
    let (submitted, bytes) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (url, submitted) = (&url, &submitted);
            scope.spawn(move || {
                for number in 0..EACH {
                    get(engine, url, thread * EACH + number);
                    submitted.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        scope.spawn(|| {
            let mut ended = vec![false; (THREADS * EACH) as usize];
            while ended.contains(&false) {
                for event in wait(engine, 64, Some(Duration::from_secs(60))).unwrap() {
                    while let Ok(piece) = read(engine, event.call, 8_000) {
                        bytes.fetch_add(piece.len() as u64, Ordering::Relaxed);
                    }
                    if event.kind == CM_EVENT_DONE {
                        assert_eq!(event.status, CM_OK);
                        assert_eq!(read(engine, event.call, 1), Err(CM_END));
                        let twice = std::mem::replace(&mut ended[event.user as usize], true);
                        assert!(!twice, "call {} ended twice", event.user);
                        assert_eq!(cm_release(engine, event.call), CM_OK);
                    }
                }
            }
        });
    });
    assert_eq!(submitted.into_inner(), THREADS * EACH);
    assert_eq!(bytes.into_inner(), THREADS * EACH * 20_000);
    assert_eq!(
        wait(engine, 1, Some(Duration::ZERO)),
        Err(CM_AGAIN),
        "nothing is left"
    );
    cm_engine_close(engine);
    assert_eq!(server.stop().await.len() as u64, THREADS * EACH);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_is_closed_in_mid_call() {
    let server = start(Config::default()).await;
    let roots = std::fs::read(server.folder.path().join("ca.pem")).unwrap();
    for round in 0..20 {
        let engine = abi::trusting(&roots);
        let url = server.url("/bytes/100000000");
        let calls: Vec<_> = (0..4).map(|_| get(engine, &url, 0)).collect();
        if round % 2 == 0 {
            next_of(engine, CM_EVENT_READABLE);
        }
        std::thread::scope(|scope| {
            // These may come before, while or after the engine is closed.
            let waiter = scope.spawn(|| while wait(engine, 4, None).is_ok() {});
            for call in calls {
                scope
                    .spawn(move || while !matches!(read(engine, call, 9_000), Err(CM_E_CLOSED)) {});
            }
            std::thread::sleep(Duration::from_millis(round));
            assert_eq!(cm_engine_close(engine), CM_OK);
            waiter.join().unwrap();
        });
        assert_eq!(wait(engine, 1, None), Err(CM_E_CLOSED));
    }
}
