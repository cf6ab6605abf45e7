//! Files that are downloaded, interrupted and gone on with.

#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::by_hand::{Listener, self_signed};
use crate::common::start;
use client::{Engine, Error, Protocol};
use http::{Method, Request, Response};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use server::Config;

const BYTES: usize = 8_000_000;

fn file() -> Vec<u8> {
    let mut file = vec![0; BYTES];
    messages::fill(0, &mut file);
    file
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_download_goes_on_in_another_process() {
    let server = start(Config::default()).await;
    let url = server.url(&format!("/bytes/{BYTES}"));
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("file");
    let part = folder.path().join("file.part");
    let engine = server.trusting().hint_h3(&url).build().unwrap();
    let download = engine.get(&url).download(&to);
    let some = async {
        while fs::metadata(&part).map_or(0, |part| part.len()) < 100_000 {
            tokio::time::sleep(Duration::from_micros(50)).await;
        }
    };
    // Polled in turn on one task, the download cannot end before it is interrupted.
    tokio::select! {
        biased;
        () = some => {}
        _ = download => panic!("it was to be interrupted"),
    }
    drop(engine);
    assert!(!to.exists());
    let before = fs::metadata(&part).unwrap().len();
    assert!((100_000..BYTES as u64).contains(&before), "{before}");
    let engine = server.trusting().build().unwrap();
    let done = engine.get(&url).download(&to).await.unwrap();
    assert_eq!((done.bytes, done.kept_bytes), (BYTES as u64, before));
    assert_eq!(done.report.protocol, Protocol::H2);
    assert!(fs::read(&to).unwrap() == file());
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "only the file is left"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_changed_is_downloaded_from_its_beginning() {
    let server = start(Config::default()).await;
    let url = server.url(&format!("/bytes/{BYTES}"));
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("file");
    let engine = server.trusting().build().unwrap();
    let digest = crate::common::url_digest(&url);
    for meta in [
        format!("{digest}\n{BYTES}\n\"other\"\n"),
        format!("{digest}\n{}\n\"{BYTES:x}\"\n", BYTES + 1),
        format!(
            "{}\n{BYTES}\n\"{BYTES:x}\"\n",
            crate::common::url_digest("another")
        ),
        "no\nmeta".to_owned(),
    ] {
        fs::write(folder.path().join("file.part"), b"something else").unwrap();
        fs::write(folder.path().join("file.meta"), &meta).unwrap();
        let done = engine.get(&url).download(&to).await.unwrap();
        assert_eq!(done.kept_bytes, 0, "{meta:?}");
        assert!(fs::read(&to).unwrap() == file(), "{meta:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_downloaded_leaves_no_file() {
    let server = start(Config::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("file");
    let engine = server.trusting().build().unwrap();
    let missing = engine.get(&server.url("/nothing")).download(&to).await;
    assert!(matches!(missing, Err(Error::Refused(status)) if status == 404));
    let nowhere = folder.path().join("no/such/folder");
    let url = server.url(&format!("/bytes/{BYTES}"));
    let error = engine.get(&url).download(nowhere).await.unwrap_err();
    assert!(matches!(error, Error::File(_)), "{error}");
    let held = fs::File::create(folder.path().join("file.part")).unwrap();
    held.lock().unwrap();
    let error = engine.get(&url).download(&to).await.unwrap_err();
    assert_eq!(
        error,
        Error::File("another download is writing it".to_owned())
    );
    drop(held);
    assert!(!to.exists());
}

/// Method and range of the requests that a server got.
type Requests = Arc<Mutex<Vec<String>>>;

/// Answers every request with this status and the same body.
async fn answering(status: u16) -> (String, Engine, Requests) {
    let (config, engine) = self_signed(&[b"http/1.1"]);
    let listener = Listener::new(config).await;
    let (url, requests) = (listener.url(), Requests::default());
    let seen = Arc::clone(&requests);
    tokio::spawn(async move {
        loop {
            let io = TokioIo::new(listener.accept().await);
            let seen = Arc::clone(&seen);
            let answer = service_fn(move |request: Request<Incoming>| {
                let range = request.headers().get("range");
                let range = range.map_or("", |range| range.to_str().unwrap());
                let request = format!("{} {range}", request.method());
                seen.lock().unwrap().push(request);
                let response = Response::builder().status(status);
                async { response.body(Full::new(Bytes::from_static(b"the body"))) }
            });
            let server = hyper::server::conn::http1::Builder::new();
            tokio::spawn(server.serve_connection(io, answer));
        }
    });
    (url, engine.build().unwrap(), requests)
}

/// Writes the files that an interrupted download of eight bytes leaves.
fn interrupted(folder: &Path, url: &str) {
    let meta = format!("{}\n8\n\"1\"\n", crate::common::url_digest(url));
    fs::write(folder.join("file.part"), b"the ").unwrap();
    fs::write(folder.join("file.meta"), meta).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_kept_outlives_a_server_that_is_busy() {
    for status in [429, 503, 404] {
        let (url, engine, requests) = answering(status).await;
        let folder = tempfile::tempdir().unwrap();
        interrupted(folder.path(), &url);
        let refused = engine.get(&url).download(folder.path().join("file")).await;
        assert!(matches!(refused, Err(Error::Refused(other)) if other == status));
        assert_eq!(*requests.lock().unwrap(), ["GET bytes=4-7"]);
        let part = fs::read(folder.path().join("file.part")).unwrap();
        assert_eq!(part, b"the ");
        assert!(folder.path().join("file.meta").exists());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_get_that_may_be_repeated_goes_on() {
    let (url, engine, requests) = answering(200).await;
    let folder = tempfile::tempdir().unwrap();
    let get = || engine.get(&url);
    for request in [
        engine.request(Method::POST, &url),
        engine.request(Method::POST, &url).idempotent(true),
        get().idempotent(false),
    ] {
        interrupted(folder.path(), &url);
        let done = request.download(folder.path().join("file")).await.unwrap();
        assert_eq!((done.bytes, done.kept_bytes), (8, 0));
    }
    assert_eq!(*requests.lock().unwrap(), ["POST ", "POST ", "GET "]);
    interrupted(folder.path(), &url);
    let own = get().header("range", "bytes=0-1");
    own.download(folder.path().join("file")).await.unwrap();
    assert_eq!(requests.lock().unwrap()[3..], ["GET bytes=0-1"]);
}
