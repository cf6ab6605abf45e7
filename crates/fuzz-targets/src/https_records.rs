// What is `pub(super)` in it is visible here.
#[path = "../../client/client/src/https_records/message.rs"]
mod message;
#[path = "../../client/client/src/https_records/read.rs"]
mod read;
#[path = "../../client/client/src/https_records/service.rs"]
mod service;

/// Reads the HTTPS records in a name server's answer.
pub fn https_records(data: &[u8]) {
    let read = read::h3_in(data, "a.example", 443);
    // Names are compared without case.
    assert_eq!(read, read::h3_in(data, "A.EXAMPLE", 443));
}
