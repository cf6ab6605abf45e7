//! A running runner, and the files it works on.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test uses only some of these"
)]

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use messages::Kind;
use serde_json::{Value, json};

pub struct Runner {
    child: Child,
    requests: ChildStdin,
    replies: BufReader<ChildStdout>,
}

impl Runner {
    pub fn start() -> Self {
        let mut child = Command::new(testing::example("commute-runner"))
            .env("COMMUTE_IN", "/proc/self/fd/0")
            .env("COMMUTE_OUT", "/proc/self/fd/1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let requests = child.stdin.take().unwrap();
        let replies = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            requests,
            replies,
        }
    }

    pub fn ask(&mut self, request: &Value) -> Value {
        self.ask_line(request.to_string().as_bytes())
    }

    pub fn ask_line(&mut self, line: &[u8]) -> Value {
        self.requests.write_all(&[line, b"\n"].concat()).unwrap();
        let mut reply = String::new();
        self.replies.read_line(&mut reply).unwrap();
        let shown = line.get(..200).unwrap_or(line).escape_ascii();
        assert!(reply.ends_with('\n'), "no reply to {shown}");
        assert!(reply.len() <= 65_536, "the reply to {shown} is too long");
        serde_json::from_str(&reply).unwrap()
    }

    pub fn offers(&mut self) -> Vec<Value> {
        let hello = self.ask(&json!({"type": "hello", "version": 2}));
        let ready = self.ask(&json!({"type": "setup", "schema_file": "/nowhere"}));
        assert_eq!(ready, json!({"type": "ready"}));
        hello["codecs"].as_array().unwrap().clone()
    }

    pub fn close(mut self) {
        self.requests.write_all(b"{\"type\":\"close\"}\n").unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

pub struct Files(tempfile::TempDir);

pub fn files() -> Files {
    Files(tempfile::tempdir().unwrap())
}

impl Files {
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Returns a request to encode the file `value` to the file `encoded`.
    pub fn encode(&self, offer: &Value, kind: Kind) -> Value {
        let mut request = self.task("encode", offer, kind);
        request["value_file"] = json!(self.path("value"));
        request["encoded_file"] = json!(self.path("encoded"));
        request
    }

    /// Returns a request to decode the file `encoded` to the file `decoded`.
    pub fn decode(&self, offer: &Value, kind: Kind) -> Value {
        let mut request = self.task("decode", offer, kind);
        request["encoded_file"] = json!(self.path("encoded"));
        request["value_file"] = json!(self.path("decoded"));
        request
    }

    /// Returns a request to time a part on the file `value`.
    pub fn time(&self, offer: &Value, kind: Kind, part: &Value, iterations: u64) -> Value {
        let mut request = self.task("time", offer, kind);
        request["value_file"] = json!(self.path("value"));
        request["part"] = part.clone();
        request["iterations"] = json!(iterations);
        request
    }

    fn task(&self, kind: &str, offer: &Value, message: Kind) -> Value {
        let (codec, library) = (&offer["codec"], &offer["library"]);
        json!({"type": kind, "codec": codec, "library": library, "message": message.name()})
    }
}
