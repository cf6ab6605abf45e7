//! The actor without connections.

use super::*;
use crate::body::Body;
use crate::tls::Trust;

/// Spawns a task that never ends.
fn task() -> tokio::task::AbortHandle {
    tokio::spawn(std::future::pending::<()>()).abort_handle()
}

/// Returns an actor whose messages nobody receives.
fn actor() -> Actor {
    let (messages, _) = mpsc::unbounded_channel();
    let tls = Tls::new(&Trust::WebPki, None).expect("there are authorities");
    let (resolver, metrics) = (Resolver::default(), SharedMetrics::default());
    Actor::new(messages, tls, None, [0; 16], resolver, metrics)
}

#[tokio::test]
async fn the_end_of_a_copy_that_was_withdrawn_ends_no_other() {
    let mut actor = actor();
    let (call, kept, withdrawn) = (CallId(1), ConnId(1), ConnId(2));
    let copy = calls::RequestCopy {
        task: task(),
        reused: false,
        early: false,
        sent: None,
        head: None,
    };
    let (head, ()) = http::Request::new(()).into_parts();
    let request = Call {
        origin: Origin::new("api.example", 443),
        label: None,
        #[cfg(feature = "sign")]
        signer: None,
        head: std::sync::Arc::new(head),
        replayable: true,
        body: Body::Whole(bytes::Bytes::new()),
        asked: Instant::now(),
        progress: crate::Progress::default(),
        tells_its_end: false,
        reply: None,
        ending: std::sync::Arc::default(),
        copies: HashMap::from([(kept, copy)]),
        attempts: 2,
        status: None,
        idle_limit: None,
        connect_limit: None,
        connect_timer: None,
        waits_since: Instant::now(),
        may_have_acted: false,
        timers: Vec::new(),
    };
    actor.calls.insert(call, request);
    let done = |conn| Event::Done {
        call,
        conn,
        bytes: 0,
    };
    actor.event(done(withdrawn));
    assert!(actor.calls.contains_key(&call));
    actor.event(done(kept));
    assert!(!actor.calls.contains_key(&call));
}

#[test]
fn times_of_resolved_names_are_kept_until_there_are_too_many() {
    let mut actor = actor();
    for number in 0..=route::MAX_CONNS {
        let query = route::QueryId(number as u64);
        let origin = Origin::new(&format!("{number}.example"), 443);
        actor.queries.insert(query, origin);
        let (answer, at) = (None, Instant::now());
        actor.event(Event::Resolved { query, answer, at });
        let kept = number % route::MAX_CONNS + 1;
        assert_eq!(actor.resolved.len(), kept, "after {number} others");
    }
}
