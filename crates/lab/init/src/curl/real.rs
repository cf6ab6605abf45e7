//! Compares the request that is read from a command with the request that curl sends.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test may use files, a socket and a clock"
)]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use super::*;

/// Commands as browsers, tools and people write them. All are without credentials, which are left out.
const CORPUS: &[&str] = &[
    // Browsers.
    r#"curl 'http://app.example/v1/orders?page=2&sort=up' \
  -H 'accept: application/json, text/plain, */*' \
  -H 'accept-language: en-GB,en;q=0.9' \
  -H 'x-requested-with: XMLHttpRequest' \
  -H 'user-agent: Mozilla/5.0' --compressed"#,
    r#"curl 'http://app.example/v1/notes' -X POST -H 'Content-Type: application/json;charset=utf-8' --data-raw '{"text":"a & b; c > d | e","n":1}' --insecure"#,
    r#"curl 'http://app.example/v1/notes' --data-raw $'{"text":"it\'s \u00fc \\n \x41\101"}' -H 'content-type: application/json'"#,
    r"curl 'http://app.example/get?q=\[GET\]&ids[]=1'",
    // Methods.
    "curl -XPUT -d a=1 -db=2 http://app.example",
    "curl --request DELETE --url http://app.example/x",
    "curl -X PATCH http://app.example/x --data ''",
    "curl -sSLk -o /dev/null http://app.example/x",
    "curl app.example/a",
    "curl -- http://app.example/a",
    // Bodies.
    "curl -d @lines.txt http://app.example/x",
    "curl --data-binary @lines.txt http://app.example/x",
    "curl --data-raw @lines.txt http://app.example/x",
    "curl --data-ascii 'a b&c=d' http://app.example/x",
    "curl --json @body.json http://app.example/x",
    r#"curl --json '{"a":' --json '1}' http://app.example/x"#,
    "curl -d a --json b http://app.example/x",
    "curl --json a -d b -d c http://app.example/x",
    r#"curl --json '[]' -H 'accept: text/plain' -H 'content-type: application/vnd.a+json' http://app.example/x"#,
    "curl http://app.example/q --data-urlencode 'msg=hello there'",
    "curl http://app.example/q --data-urlencode 'a b~c' --data-urlencode '=d&é'",
    "curl http://app.example/q --data-urlencode msg@lines.txt --data-urlencode @body.json",
    "curl http://app.example/q --data-urlencode mail@a.example=b",
    "curl http://app.example/q --data-urlencode 'x=a+b*c(d)'",
    r#"curl http://app.example/q -d "{\"a\": \"b\\n\$1\"}" -H "content-type: application/json""#,
    // Queries.
    "curl -G -d q=abc http://app.example/x",
    "curl -G -d q=abc -d r=1 'http://app.example/x?a=1'",
    "curl -G -d q=abc 'http://app.example/x?'",
    "curl -G -d q=abc 'http://app.example/x#part'",
    "curl -G http://app.example --data-urlencode 'q=a b&c'",
    "curl http://app.example/q --url-query a=b --url-query +c%20d",
    "curl 'http://app.example/q?z=1' --url-query 'a=b c' -G -d d=1",
    "curl 'http://app.example/q#part' --url-query a=b",
    "curl 'http://app.example/q?y&' --url-query 'a=b c' --url-query '=d/e'",
    "curl -d '' -d a -d b http://app.example/x",
    "curl 'http://app.example?a=1'",
    "curl 'http://app.example/a;v=1/b?x=%20y&z=a/b?c'",
    // Paths.
    "curl http://app.example/a/../b/./c/..",
    "curl -g 'http://app.example/x{1}[2]'",
    "curl 'http://app.example/lä?ü=ö'",
    "curl 'http://[::1]:81/x'",
    "curl 'http://APP.example:8080/X#y'",
    // Fields.
    "curl -H 'X-A:1' -H 'x-b:  two  ' -H 'Accept:' -H 'X-None:' http://app.example/x",
    "curl -H @fields.txt http://app.example/x",
    "curl -A app/1.0 -e http://app.example/ http://app.example/x",
    "curl --heade 'x-a: 1' http://app.example/x",
    // Shells.
    "curl -s http://app.example/x | cat",
    "TOKEN=1 curl http://app.example/x > out.json 2>&1",
    "curl http://app.example/x -H 'x-a: 1' # -H 'x-b: 2'",
    "curl \"http://app.example/\\\nx\" -H 'x-a: '\"1\"\\ 2",
    "curl http://app.example/x;echo done",
];
const FILES: [(&str, &str); 3] = [
    ("lines.txt", "a=1\r\nb=2\n"),
    ("body.json", "{\"a\":\n1}"),
    ("fields.txt", "X-A: 1\nX-B: 2\r\n\n"),
];

/// A request as it came.
#[derive(Debug, Default)]
struct Sent {
    method: String,
    target: String,
    fields: Vec<(String, String)>,
    body: Vec<u8>,
}

fn receive(stream: TcpStream) -> Sent {
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let mut words = line.split(' ').map(str::to_owned);
    let mut sent = Sent {
        method: words.next().unwrap(),
        target: words.next().unwrap(),
        ..Sent::default()
    };
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        sent.fields
            .push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = sent
        .field("content-length")
        .map_or(0, |length| length.parse().unwrap());
    sent.body = vec![0; length];
    reader.read_exact(&mut sent.body).unwrap();
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    reader.into_inner().write_all(answer).unwrap();
    sent
}

impl Sent {
    fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.fields.iter();
        fields
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// Returns the fields that a study can send, sorted: not curl's own, and none without a value.
    fn fields_of_study(&self) -> Vec<(String, String)> {
        let of_curl = [
            "host",
            "user-agent",
            "content-length",
            "content-type",
            "accept-encoding",
            "expect",
            "referer",
        ];
        let mut kept: Vec<(String, String)> = Vec::new();
        for (name, value) in &self.fields {
            let is_default = name == "accept" && value == "*/*";
            if !is_default && !value.is_empty() && !of_curl.contains(&name.as_str()) {
                kept.push((name.clone(), value.clone()));
            }
        }
        kept.sort();
        kept
    }
}

/// Runs a command with curl. Every host is this server.
fn run(command: &str, folder: &Path, server: &TcpListener) -> Sent {
    let port = server.local_addr().unwrap().port();
    let settings = format!("connect-to = \"::127.0.0.1:{port}\"\nmax-time = 10\nnoproxy = \"*\"\n");
    fs::write(folder.join(".curlrc"), settings).unwrap();
    let mut shell = Command::new("bash")
        .args(["-c", command])
        .current_dir(folder)
        .env("CURL_HOME", folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    server.set_nonblocking(true).unwrap();
    let sent = loop {
        if let Ok((stream, _)) = server.accept() {
            stream.set_nonblocking(false).unwrap();
            break receive(stream);
        }
        if shell.try_wait().unwrap().is_some() {
            let output = shell.wait_with_output().unwrap();
            panic!(
                "{command}: curl made no request: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        thread::sleep(Duration::from_millis(1));
    };
    shell.wait().unwrap();
    sent
}

/// Returns a target with what no study may have percent-encoded, and all escapes in capitals (RFC 3986 section
/// 6.2.2.1).
fn as_in_study(target: &str) -> String {
    let mut plain = String::new();
    let mut bytes = target.bytes();
    let mut in_query = false;
    while let Some(b) = bytes.next() {
        match b {
            b'%' => {
                let hex: String = bytes.by_ref().take(2).map(char::from).collect();
                plain += &format!("%{}", hex.to_ascii_uppercase());
            }
            b'?' if !in_query => {
                in_query = true;
                plain.push('?');
            }
            b if b.is_ascii_alphanumeric() || b"-._~!$&()*+,;=:@/".contains(&b) => {
                plain.push(char::from(b));
            }
            b => plain += &format!("%{b:02X}"),
        }
    }
    plain
}

#[test]
fn what_is_read_is_what_curl_sends() {
    let is_there = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if !is_there("curl") || !is_there("bash") {
        return testing::skip("curl or bash is missing: apt-get install curl");
    }
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in FILES {
        fs::write(folder.path().join(name), content).unwrap();
    }
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let read_file = |name: &str| fs::read(folder.path().join(name)).map_err(|e| e.to_string());
    let mut differences = Vec::new();
    for command in CORPUS {
        let sent = run(command, folder.path(), &server);
        let seen = match read(command, true, &read_file, &mut Notes::default()) {
            Ok(seen) => seen,
            Err(e) => {
                differences.push(format!("{command}\n  refused: {e}"));
                continue;
            }
        };
        let mut fields = seen.headers.clone();
        fields.sort();
        let has_body = !sent.body.is_empty();
        let content_type = sent.field("content-type").filter(|_| has_body);
        let essence = content_type.map(|value| value.split(';').next().unwrap_or_default());
        let of_curl = format!(
            "{} {} {:?} {:?} {} B",
            sent.method,
            as_in_study(&sent.target),
            sent.fields_of_study(),
            essence,
            sent.body.len()
        );
        let ours = format!(
            "{} {} {fields:?} {:?} {} B",
            seen.method,
            seen.kept_path.unwrap_or_default(),
            seen.request.content_type.as_deref().filter(|_| has_body),
            seen.request.bytes
        );
        if of_curl != ours {
            differences.push(format!("{command}\n  curl: {of_curl}\n  ours: {ours}"));
        }
        let text = seen.request.json.or(seen.request.form);
        if let Some(text) = text
            && text.as_bytes() != sent.body
        {
            let body = String::from_utf8_lossy(&sent.body);
            differences.push(format!("{command}\n  curl: {body}\n  ours: {text}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
