//! Buckets into which a stranger writes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
#[path = "../../record/tests/common/mod.rs"]
#[allow(dead_code, reason = "this test uses only some")]
mod invented;

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;

use common::{Faults, Machine, Memory, data, files, overwrite, prefix};
use invented::{cell, run};
use object_store::ObjectMeta;
use object_store::path::Path;
use record::{Collector, MAX_RECORD_BYTES, Outcome, RunData};
use remote::{Bucket, RemoteError, read_runs};

/// Names of objects that are no records, or that lie elsewhere.
const STRANGE: [&str; 11] = [
    "study/cells/../../escaped.1.1.json",
    "study/cells/%2e%2e%2fescaped.1.1.json",
    "study/cells/..\\escaped.1.1.json",
    "study/cells/.hidden.1.1.json",
    "study/cells/a/b.1.1.json",
    "study/cells/\u{1b}[2J.1.1.json",
    "study/payloads/../a",
    "study/report.html",
    "study/.run.json.1.tmp",
    "study-of-others/cells/a.1.1.json",
    "etc/passwd",
];

fn listed(path: &str, size: u64) -> ObjectMeta {
    ObjectMeta {
        location: Path::from(path),
        last_modified: Default::default(),
        size,
        e_tag: None,
        version: None,
    }
}

fn read(bucket: &Bucket) -> Result<RunData, RemoteError> {
    let mut collector = Collector::new();
    read_runs(bucket, &mut collector, &|_| {})?;
    Ok(collector.finish().unwrap())
}

#[test]
fn only_records_are_taken_from_a_listing() {
    let bucket = Memory::new(Faults::default());
    let run = run(1);
    let first = cell(&run.plan[0], 1, 1, Outcome::Clean);
    let writer = Machine::new(&bucket);
    let store = writer.begin(&run).unwrap();
    store.write_cell(&first).unwrap();
    for path in STRANGE {
        overwrite(&bucket, path, b"strange");
    }
    let machine = Machine::new(&bucket);
    let store = machine.resume();
    assert_eq!(
        store.read().unwrap(),
        data(&run, std::slice::from_ref(&first))
    );
    let names = files(machine.caches.path());
    let folder = machine.run.folder();
    assert_eq!(
        names,
        [
            folder.join("cells").join(first.file_name()),
            folder.join("run.json")
        ]
    );

    let bucket = common::bucket(&bucket, &prefix());
    assert_eq!(read(&bucket).unwrap(), data(&run, &[first]));
}

#[test]
fn sizes_are_limited() {
    let bucket = Memory::new(Faults::default());
    let run = run(1);
    Machine::new(&bucket).begin(&run).unwrap();
    let huge = listed("study/cells/nowhere-0-one.1.1.json", MAX_RECORD_BYTES + 1);
    bucket.faults.listed.lock().unwrap().push(huge);
    let error = Machine::new(&bucket).fetch().unwrap_err();
    assert!(matches!(error, RemoteError::TooLarge { .. }), "{error}");
    let error = read(&common::bucket(&bucket, &prefix())).unwrap_err();
    assert!(matches!(error, RemoteError::TooLarge { .. }), "{error}");
}

#[test]
fn an_object_that_is_listed_but_not_there_is_an_error() {
    let bucket = Memory::new(Faults::default());
    Machine::new(&bucket).begin(&run(1)).unwrap();
    let missing = listed("study/cells/nowhere-0-one.1.1.json", 10);
    bucket.faults.listed.lock().unwrap().push(missing);
    let error = Machine::new(&bucket).fetch().unwrap_err();
    assert!(error.to_string().contains("does not exist"), "{error}");
}

#[test]
fn shards_below_a_prefix_are_merged() {
    let bucket = Memory::new(Faults::default());
    let run = run(2);
    let cells: Vec<_> = run
        .plan
        .iter()
        .map(|p| cell(p, 1, 1, Outcome::Clean))
        .collect();
    for (shard, cells) in [("shard-1-of-2", &cells[..2]), ("shard-2-of-2", &cells[2..])] {
        let machine = Machine::at(common::bucket(&bucket, &prefix().join(shard)));
        let store = machine.begin(&run).unwrap();
        for cell in cells {
            store.write_cell(cell).unwrap();
        }
    }
    let of_prefix = || read(&common::bucket(&bucket, &prefix()));
    assert_eq!(of_prefix().unwrap(), data(&run, &cells));

    overwrite(&bucket, "study/shard-3-of-2/cells/a.1.1.json", b"{}");
    let error = of_prefix().unwrap_err().to_string();
    assert!(
        error.starts_with("s3://bucket/study/shard-3-of-2 has cells but no run.json"),
        "{error}"
    );
}

#[test]
fn a_prefix_without_runs_is_a_mistake() {
    let bucket = common::bucket(&Memory::new(Faults::default()), &prefix());
    let error = read(&bucket).unwrap_err();
    assert!(error.is_usage(), "{error}");
}

/// Returns the settings of a server that gives this answer to every request.
fn answering(status: &'static str, body: &'static str) -> Vec<(String, String)> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut line = String::new();
            while stream.read_line(&mut line).unwrap() > 2 {
                line.clear();
            }
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
            );
            stream
                .get_mut()
                .write_all((head + body).as_bytes())
                .unwrap();
        }
    });
    let settings = [
        ("AWS_ENDPOINT_URL", endpoint.as_str()),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_REGION", "invented"),
        ("AWS_ACCESS_KEY_ID", "AKIAHUNTER2"),
        ("AWS_SECRET_ACCESS_KEY", "hunter2"),
    ];
    settings
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
}

fn fetch_error(settings: Vec<(String, String)>) -> RemoteError {
    let bucket = Bucket::open_with(&prefix(), settings).unwrap();
    read(&bucket).unwrap_err()
}

#[test]
fn an_object_without_a_valid_name_is_named() {
    let body = "<ListBucketResult><Name>bucket</Name><Prefix>study/</Prefix><KeyCount>1</KeyCount><MaxKeys>1</MaxKeys>\
        <IsTruncated>false</IsTruncated><Contents><Key>study/cells/a//b.json</Key>\
        <LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&quot;a&quot;</ETag><Size>1</Size>\
        <StorageClass>STANDARD</StorageClass></Contents></ListBucketResult>";
    let error = fetch_error(answering("200 OK", body)).to_string();
    let named = r#"s3://bucket/study: it has an object named "study/cells/a//b.json""#;
    assert!(
        error.contains(named) && error.ends_with("remove that object"),
        "{error}"
    );
}

#[test]
fn responses_are_not_quoted() {
    for (status, body, shown) in [
        (
            "420 AKIAHUNTER2",
            "<AWSAccessKeyId>AKIAHUNTER2</AWSAccessKeyId>",
            "status 420",
        ),
        ("200 OK", "AKIAHUNTER2", "cannot be read"),
        (
            "200 OK",
            "<ListBucketResult><Contents>AKIAHUNTER2</Contents></ListBucketResult>",
            "cannot be read",
        ),
    ] {
        let error = fetch_error(answering(status, body)).to_string();
        assert!(
            error.contains(shown) && !error.contains("HUNTER2"),
            "{error}"
        );
    }
}

#[test]
fn bytes_are_limited() {
    let bucket = Memory::new(Faults::default());
    let run = run(1);
    let writer = Machine::new(&bucket);
    let store = writer.begin(&run).unwrap();
    store
        .write_cell(&cell(&run.plan[0], 1, 1, Outcome::Clean))
        .unwrap();
    let error = Machine::new(&bucket).run.fetch(10, &|_| {}).unwrap_err();
    assert!(matches!(error, RemoteError::NoRoom { .. }), "{error}");
}

#[test]
fn a_damaged_record_is_named_with_its_line() {
    let bucket = Memory::new(Faults::default());
    let run = run(2);
    let writer = Machine::new(&bucket);
    let store = writer.begin(&run).unwrap();
    for planned in &run.plan {
        store
            .write_cell(&cell(planned, 1, 1, Outcome::Clean))
            .unwrap();
    }
    let name = cell(&run.plan[1], 1, 1, Outcome::Clean).file_name();
    let object = format!("study/cells/{name}");
    overwrite(
        &bucket,
        &object,
        b"{\n  \"format\": 2,\n  \"id\": \"nowhere",
    );
    let error = read(&common::bucket(&bucket, &prefix())).unwrap_err();
    let error = error.to_string();
    let named = format!("s3://bucket/{object} is not a valid record: incomplete JSON at line 3");
    assert!(error.starts_with(&named), "{error}");
}
