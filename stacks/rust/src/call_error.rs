//! Errors of the libraries as [`CallError`]s: the same kinds for every stack.

use std::error::Error;
use std::io;

use driver::protocol::{CallError, ErrorKind};

/// Converts an error of this kind. Its detail is the library's message and those of its causes.
pub fn call_error(kind: ErrorKind, error: &(dyn Error + 'static)) -> CallError {
    let mut detail = error.to_string();
    for cause in causes(error).skip(1) {
        let message = cause.to_string();
        // Many libraries repeat the cause in their own message.
        if !detail.contains(&message) {
            detail = format!("{detail}: {message}");
        }
    }
    CallError { kind, detail }
}

/// Returns the error of a call that took longer than `timeout_ns`.
pub fn timeout_error(timeout_ns: u64) -> CallError {
    let detail = format!("no response within {} ms", timeout_ns / 1_000_000);
    CallError {
        kind: ErrorKind::Timeout,
        detail,
    }
}

/// Returns the error of a call that was cancelled as its step asked.
pub fn cancelled_error(after_ns: u64) -> CallError {
    let detail = format!("cancelled after {} ms", after_ns / 1_000_000);
    CallError {
        kind: ErrorKind::Cancelled,
        detail,
    }
}

/// Fails a call whose HTTP status is 400 or above.
pub fn check_status(status: http::StatusCode) -> Result<(), CallError> {
    if status.is_client_error() || status.is_server_error() {
        return Err(CallError {
            kind: ErrorKind::Status,
            detail: format!("status {}", status.as_u16()),
        });
    }
    Ok(())
}

/// Converts an error of a TLS handshake: of kind `tls`, or `reset` if the socket failed.
pub fn handshake_error(error: &io::Error) -> CallError {
    call_error(kind_of_io(error), error)
}

/// Converts an error during a call. Its causes distinguish a broken connection from a violation of
/// the protocol.
pub fn transport_error(error: &(dyn Error + 'static)) -> CallError {
    let kind = causes(error).find_map(kind_of).unwrap_or(ErrorKind::Other);
    call_error(kind, error)
}

fn kind_of(error: &(dyn Error + 'static)) -> Option<ErrorKind> {
    if let Some(error) = error.downcast_ref::<h2::Error>() {
        let broken = error.is_io() || error.is_remote() && (error.is_reset() || error.is_go_away());
        return Some(if broken {
            ErrorKind::Reset
        } else {
            ErrorKind::Protocol
        });
    }
    if let Some(error) = error.downcast_ref::<io::Error>() {
        return Some(kind_of_io(error));
    }
    if let Some(error) = error.downcast_ref::<hyper::Error>() {
        if error.is_parse() {
            return Some(ErrorKind::Protocol);
        }
        if error.is_closed() || error.is_canceled() || error.is_incomplete_message() {
            return Some(ErrorKind::Reset);
        }
    }
    None
}

fn kind_of_io(error: &io::Error) -> ErrorKind {
    let is_tls = error
        .get_ref()
        .is_some_and(<dyn Error + Send + Sync>::is::<rustls::Error>);
    if is_tls {
        ErrorKind::Tls
    } else {
        ErrorKind::Reset
    }
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}
