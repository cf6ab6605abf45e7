//! Bodies that break off, and bodies that an old server does not take.

use client::{Error, Policy};
use http::Method;
use peers::{Close, Credentials, Options, Protocol, Script, Server, Step};

use crate::{policy, trusting, whole};

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_reset_without_an_error_is_not_whole() {
    for (protocol, no_error) in [(Protocol::H2, 0), (Protocol::H3, 0x100)] {
        // RFC 9113 section 8.1: RST_STREAM(NO_ERROR) follows the end of a response, and replaces none.
        let pause = Step::Pause(std::time::Duration::from_millis(50));
        let steps = [
            Step::head(200, &[]),
            Step::data("half"),
            pause,
            Step::Reset(no_error),
        ];
        let credentials = Credentials::new();
        let options = Options::default();
        let server = Server::start(protocol, &credentials, options, move |_, _| {
            Script::new(steps.clone())
        });
        let server = server.await;
        let engine = trusting(&credentials)
            .policy(policy(protocol))
            .build()
            .unwrap();
        let outcome = whole(engine.get(&server.url("/"))).await;
        let failed = matches!(outcome, Err(Error::Failed { .. }));
        assert!(failed, "{protocol:?}: {:?}", outcome.map(|(_, body)| body));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_whose_server_goes_away_without_an_error_is_not_whole() {
    for refuses in [true, false] {
        let code = 0;
        let steps = [
            Step::head(200, &[]),
            Step::data("half"),
            Step::GoAway { refuses, code },
            Step::Pause(std::time::Duration::from_millis(50)),
            Step::Close(Close::Notify),
        ];
        let credentials = Credentials::new();
        let options = Options::default();
        let server = Server::start(Protocol::H2, &credentials, options, move |_, _| {
            Script::new(steps.clone())
        });
        let server = server.await;
        let engine = trusting(&credentials).policy(Policy::H2).build().unwrap();
        let outcome = whole(engine.get(&server.url("/"))).await;
        let failed = matches!(outcome, Err(Error::Failed { .. }));
        assert!(failed, "{:?}", outcome.map(|(_, body)| body));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_streamed_body_after_an_answer_of_http_1_0_arrives_or_fails() {
    let answer = "HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nok";
    let credentials = Credentials::new();
    let options = Options::default();
    let server = Server::start(Protocol::H1, &credentials, options, move |_, _| {
        Script::new([Step::Raw(answer.into())])
    });
    let server = server.await;
    let engine = trusting(&credentials).build().unwrap();
    whole(engine.get(&server.url("/first"))).await.unwrap();
    let request = engine.request(Method::POST, &server.url("/second"));
    let (request, mut body) = request.streamed(None);
    let write = async {
        body.write("five!".into()).await?;
        body.finish().await
    };
    let (outcome, _) = tokio::join!(whole(request), write);
    let arrived = server.requests("/second");
    let is_whole = arrived.iter().any(|request| request.body == b"five!");
    assert!(is_whole || outcome.is_err(), "{arrived:?}");
}
