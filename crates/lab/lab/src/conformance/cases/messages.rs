//! Trials of messages, streams and requests of a study's own.

use driver::protocol::{Action, Protocol};
use study::Form;
use study::plan::SentRequests;
use study::{DEFAULT_BODY, OwnRequest, Payload};

use super::{LARGE, call, checks, steps, trial};
use crate::conformance::case::Trial;
use Protocol::{Grpc, H1, H2, H3};

pub(super) fn stream(_: Protocol) -> Trial {
    let chat = Action::Stream {
        body: DEFAULT_BODY.into(),
        messages: checks::MESSAGES,
    };
    trial([chat, call()], checks::streamed)
}

pub(super) fn exchange(_: Protocol) -> Trial {
    let exchange = |message: &str, kind: &str| Action::Exchange {
        message: message.into(),
        kind: kind.into(),
    };
    let (by_rule, read) = (exchange("big-7", "Big"), exchange("api-2kB", "ApiPage"));
    trial([by_rule, read.clone(), read], checks::exchanged)
}

pub(super) fn submit(protocol: Protocol) -> Trial {
    Trial {
        steps: steps(submission(protocol)),
        ..trial([], checks::submitted)
    }
}

fn submission(protocol: Protocol) -> Vec<Action> {
    let submit = |chunk_bytes| Action::Submit {
        message: "diag-100kB".into(),
        kind: "Diag".into(),
        chunk_bytes,
    };
    match protocol {
        // Parts of any length, and one that is longer than the message.
        Grpc => [None, Some(30_000), Some(LARGE)].map(submit).into(),
        _ => vec![submit(None)],
    }
}

/// Returns the trial of requests of the study's own. The proof compares every part of each request,
/// and of its answer, with the study's.
pub(super) fn own(protocol: Protocol) -> Trial {
    let form = match protocol {
        Grpc => Form::Grpc,
        H1 | H2 | H3 | Protocol::Auto => Form::AsTheyAre,
    };
    let json = |text: &[u8]| Payload::new(None, "application/json".into(), text.into());
    let bytes = |length: usize| {
        let mut content = vec![0; length];
        messages::fill(0, &mut content);
        Payload::new(None, "application/octet-stream".into(), content.into())
    };
    let order = json(br#"{"id":7,"items":["tea","milk"]}"#);
    let request = |method: &str, path: &str, request, response| OwnRequest {
        method: method.into(),
        path: path.into(),
        headers: [
            ("accept", "application/json"),
            ("x-app", "commute 1.0; a=b"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into(),
        request,
        response,
    };
    let mut own = SentRequests::default();
    let actions = [
        request(
            "POST",
            "/v1/orders?page=2",
            Some(order.clone()),
            Some(bytes(20_000)),
        ),
        request("GET", "/v1/orders?q=a%20b", None, Some(order.clone())),
        request("PUT", "/v1/orders/7", Some(bytes(100_000)), None),
        request("DELETE", "/v1/orders/7", None, None),
        request(
            "POST",
            "/v1/orders?page=2",
            Some(bytes(1)),
            Some(bytes(20_000)),
        ),
        request("GET", "/", None, Some(bytes(1))),
    ]
    .map(|request| own.add(&request, &form));
    Trial {
        own,
        ..trial(actions, checks::all_answered)
    }
}
