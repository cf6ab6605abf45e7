//! Requests through the C interface.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use commute_client::{
    cm_call, cm_config, cm_engine, cm_engine_close, cm_event, cm_event_kind, cm_finish, cm_flags,
    cm_policy, cm_release, cm_request, cm_status, cm_text, cm_trust,
};
use peers::{Case, Failure, FailureKind, Field, Outcome, Protocol, Rng};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::abi::{self, CONFIG, NOTHING, REQUEST, bytes, field, text};
use crate::is_streamed;

/// An engine for one version of HTTP, and the thread that takes its events.
pub(crate) struct Engine {
    id: cm_engine,
    users: AtomicU64,
    calls: Mutex<HashMap<u64, UnboundedSender<cm_event>>>,
}

impl Engine {
    /// Opens an engine that trusts these roots.
    pub(crate) fn open(protocol: Protocol, roots_pem: &str) -> Arc<Self> {
        let policy = match protocol {
            Protocol::H1 => cm_policy::CM_POLICY_H1,
            // The servers of the test have nothing else over TCP.
            Protocol::H2 => cm_policy::CM_POLICY_TCP,
            Protocol::H3 => cm_policy::CM_POLICY_H3,
        };
        let addresses = [field("localhost", "127.0.0.1")];
        let id = abi::open(&cm_config {
            policy: policy as u32,
            trust: cm_trust::CM_TRUST_ROOTS as u32,
            roots_pem: bytes(roots_pem),
            addresses: addresses.as_ptr(),
            address_count: addresses.len(),
            ..CONFIG
        });
        let engine = Arc::new(Self {
            id: id.unwrap(),
            users: AtomicU64::new(0),
            calls: Mutex::default(),
        });
        let waiter = Arc::clone(&engine);
        std::thread::spawn(move || waiter.hand_out_events());
        engine
    }

    /// Closes the engine, which ends its thread.
    pub(crate) fn close(&self) {
        assert_eq!(cm_engine_close(self.id), cm_status::CM_OK);
    }

    fn hand_out_events(&self) {
        const AT_ONCE: usize = 16;
        while let Ok(events) = abi::wait(self.id, AT_ONCE, None) {
            for event in events {
                if let Some(call) = self.calls.lock().unwrap().get(&event.user) {
                    // The test has given up on a request that hangs.
                    call.send(event).ok();
                }
            }
        }
    }

    fn submit(&self, case: &Case, url: &str) -> (cm_call, UnboundedReceiver<cm_event>) {
        let user = self.users.fetch_add(1, Ordering::Relaxed);
        let (sender, events) = unbounded_channel();
        self.calls.lock().unwrap().insert(user, sender);
        let (body, streamed_bytes, flags) = match is_streamed(case) {
            true => (NOTHING, -1, cm_flags::CM_STREAMED as u32),
            false => (bytes(&case.request), 0, 0),
        };
        let request = cm_request {
            method: bytes(case.method),
            url: bytes(url),
            body,
            streamed_bytes,
            flags,
            ..REQUEST
        };
        (abi::submit(self.id, &request, user).unwrap(), events)
    }
}

/// Sends the request of a case.
pub(crate) async fn send(engine: Arc<Engine>, case: Arc<Case>, url: String) -> Outcome {
    let (call, mut events) = engine.submit(&case, &url);
    let at_once = Rng::new(case.seed).pick(&[7, 1_000, 100_000]);
    let mut outcome = Outcome::default();
    let mut upload = is_streamed(&case).then_some(&case.request[..]);
    write(engine.id, call, &mut upload);
    while let Some(event) = events.recv().await {
        match event.kind {
            cm_event_kind::CM_EVENT_HEAD => outcome.status = event.number as u16,
            cm_event_kind::CM_EVENT_READABLE => {
                read(engine.id, call, at_once, &mut outcome.body);
            }
            cm_event_kind::CM_EVENT_WRITABLE => write(engine.id, call, &mut upload),
            cm_event_kind::CM_EVENT_DONE => {
                let end = read(engine.id, call, at_once, &mut outcome.body);
                finish(engine.id, call, &event, end, &mut outcome);
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(cm_release(engine.id, call), cm_status::CM_OK);
    outcome
}

/// Writes what there is room for, and ends the body after the last piece.
fn write(engine: cm_engine, call: cm_call, upload: &mut Option<&[u8]>) {
    const AT_ONCE: usize = 7_000;
    let Some(rest) = upload else { return };
    while !rest.is_empty() {
        match abi::write(engine, call, &rest[..rest.len().min(AT_ONCE)]) {
            Ok(taken) => *rest = &rest[taken..],
            Err(cm_status::CM_AGAIN) => return,
            // The call has failed already.
            Err(status) => return assert_eq!(status, cm_status::CM_END),
        }
    }
    *upload = None;
    let finished = cm_finish(engine, call);
    assert!(matches!(finished, cm_status::CM_OK | cm_status::CM_END));
}

/// Reads what is there; returns why there is no more.
fn read(engine: cm_engine, call: cm_call, at_once: usize, body: &mut Vec<u8>) -> cm_status {
    loop {
        match abi::read(engine, call, at_once) {
            Ok(piece) => body.extend(piece),
            Err(status) => return status,
        }
    }
}

/// Takes what the interface says of a call at its end.
fn finish(
    engine: cm_engine,
    call: cm_call,
    done: &cm_event,
    read: cm_status,
    outcome: &mut Outcome,
) {
    if done.status == cm_status::CM_OK {
        assert_eq!(read, cm_status::CM_END, "the call ended well");
        let trailers = text(engine, call, cm_text::CM_TEXT_TRAILERS).unwrap();
        outcome.trailers = Some(fields(&trailers));
        return;
    }
    assert_eq!(read, done.status, "the call failed");
    outcome.failure = Some(Failure {
        kind: match done.status {
            cm_status::CM_E_PROTOCOL => FailureKind::Malformed,
            cm_status::CM_E_RESET => FailureKind::Reset,
            _ => FailureKind::Other,
        },
        may_have_acted: done.number == 1,
        text: text(engine, call, cm_text::CM_TEXT_ERROR).unwrap(),
    });
}

/// Parses lines `name: value\r\n`.
fn fields(lines: &str) -> Vec<Field> {
    let field = |line: &str| {
        let (name, value) = line.split_once(": ").unwrap();
        (name.to_owned(), value.to_owned())
    };
    lines.split_terminator("\r\n").map(field).collect()
}
