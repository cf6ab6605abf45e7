//! Arguments of the JNI library.

use std::ffi::CString;
use std::sync::{Arc, Mutex};

use jni::sys::jint;

use super::objects::{Object, Verdict};
use crate::server::SERVER;

/// What apps write to a socket. The server knows the paths.
const REQUESTS: [&str; 10] = [
    "GET /whole HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "GET /chunks HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "GET /cut HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "GET /wrong HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "GET /silent HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "POST /whole HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello",
    "POST /whole HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "POST /whole HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nno length\r\n",
    "no request\r\n\r\n",
];

/// Returns a request, or a part of one.
pub(super) fn request(with: u8) -> &'static str {
    let whole = REQUESTS[usize::from(with & 15) % REQUESTS.len()];
    match with >> 4 {
        0 => &whole[..whole.len() / 2],
        1 => &whole[whole.len() / 2..],
        _ => whole,
    }
}

/// Returns a host and a port: those of the server, or of nobody, or wrong ones.
pub(super) fn host(with: u8) -> (Option<&'static str>, jint) {
    match with {
        0..16 => (Some("127.0.0.1"), 1),
        16..32 => (Some("localhost"), 65_536),
        32..36 => (None, 443),
        36..40 => (Some(""), -1),
        _ => (Some("127.0.0.1"), SERVER.port.into()),
    }
}

pub(super) fn trust(verdict: Verdict) -> Arc<Object> {
    Arc::new(Object::Trust(verdict))
}

pub(super) fn text(text: &str) -> Arc<Object> {
    let text = CString::new(text).expect("the text has no 0");
    Arc::new(Object::Text(text))
}

pub(super) fn texts(texts: &[&str]) -> Arc<Object> {
    let texts = texts.iter().map(|one| Some(text(one))).collect();
    Arc::new(Object::Array(Mutex::new(texts)))
}

pub(super) fn bytes(bytes: &[u8]) -> Arc<Object> {
    let bytes = bytes.iter().map(|byte| *byte as i8).collect();
    Arc::new(Object::Bytes(Mutex::new(bytes)))
}
