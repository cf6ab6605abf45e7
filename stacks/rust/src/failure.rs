//! A library's error in the protocol's words: the same kinds for every stack.

use std::error::Error;
use std::io;

use driver::protocol::{CallError, ErrorKind};

/// An error of this kind, in the library's own words and those of its causes.
pub fn failure(kind: ErrorKind, error: &(dyn Error + 'static)) -> CallError {
    let mut detail = error.to_string();
    for cause in causes(error).skip(1) {
        let words = cause.to_string();
        // Many libraries repeat their cause in their own message.
        if !detail.contains(&words) {
            detail = format!("{detail}: {words}");
        }
    }
    CallError { kind, detail }
}

/// The call outlived `timeout_ns`.
pub fn timed_out(timeout_ns: u64) -> CallError {
    let detail = format!("no answer within {} ms", timeout_ns / 1_000_000);
    CallError {
        kind: ErrorKind::Timeout,
        detail,
    }
}

/// The application gave the call up, as its step said.
pub fn cancelled(after_ns: u64) -> CallError {
    let detail = format!("given up after {} ms", after_ns / 1_000_000);
    CallError {
        kind: ErrorKind::Cancelled,
        detail,
    }
}

/// What an HTTP status says of its call.
pub fn by_status(status: http::StatusCode) -> Result<(), CallError> {
    if status.is_client_error() || status.is_server_error() {
        return Err(CallError {
            kind: ErrorKind::Status,
            detail: format!("status {}", status.as_u16()),
        });
    }
    Ok(())
}

/// An error while a connection was opened over TLS: the socket's fault or the handshake's.
pub fn in_handshake(error: &io::Error) -> CallError {
    let of_tls = error
        .get_ref()
        .is_some_and(<dyn Error + Send + Sync>::is::<rustls::Error>);
    let kind = if of_tls {
        ErrorKind::Tls
    } else {
        ErrorKind::Reset
    };
    failure(kind, error)
}

/// An error in mid-call: a broken connection or a broken protocol, by its causes.
pub fn in_call(error: &(dyn Error + 'static)) -> CallError {
    let kind = causes(error).find_map(kind_of).unwrap_or(ErrorKind::Other);
    failure(kind, error)
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
        let of_tls = error
            .get_ref()
            .is_some_and(<dyn Error + Send + Sync>::is::<rustls::Error>);
        return Some(if of_tls {
            ErrorKind::Tls
        } else {
            ErrorKind::Reset
        });
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

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}
