//! Writes the secrets of TLS sessions, for Wireshark.

use std::fs::File;
use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::{KeyLog, NoKeyLog};

/// Returns a log of secrets that is written to `file`, or discarded when there is none.
pub(crate) fn open(file: Option<File>) -> Arc<dyn KeyLog> {
    match file {
        Some(file) => Arc::new(KeyLogFile(Mutex::new(file))),
        None => Arc::new(NoKeyLog),
    }
}

/// A file in the key log format of NSS (RFC 9850).
#[derive(Debug)]
struct KeyLogFile(Mutex<File>);

impl KeyLog for KeyLogFile {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let (random, secret) = (messages::hex(client_random), messages::hex(secret));
        let line = format!("{label} {random} {secret}\n");
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = file.write_all(line.as_bytes()) {
            tracing::warn!(%error, "cannot write the key log");
        }
    }
}
