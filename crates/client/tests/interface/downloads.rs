//! Files that are downloaded, interrupted and gone on with.

use std::fs;
use std::time::Duration;

use crate::common::start;
use client::{Error, Protocol};
use server::Config;

const BYTES: usize = 8_000_000;

fn file() -> Vec<u8> {
    let mut file = vec![0; BYTES];
    wire::fill(0, &mut file);
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
