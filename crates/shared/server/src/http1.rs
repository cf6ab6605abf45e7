//! Logs what is refused over HTTP/1.1.
//!
//! hyper answers a head that breaks a rule by itself and closes the connection. A body that does so fails its reader.

use std::error::Error;
use std::io;

use crate::accounting::RequestAccounting;
use crate::connection::ConnectionContext;

pub(crate) const BAD_REQUEST: &str = "400";
const TOO_LARGE: &str = "431";

/// Logs the error that ended a connection if it refuses a head.
pub(crate) fn log_malformed_head(error: &(dyn Error + 'static), connection: &ConnectionContext) {
    if let Some(error) = error
        .downcast_ref::<hyper::Error>()
        .filter(|e| e.is_parse())
    {
        let code = match error.is_parse_too_large() {
            true => TOO_LARGE,
            false => BAD_REQUEST,
        };
        connection.log_refused(None, code, &error.to_string());
    }
}

/// Logs the error of a body if its chunks break a rule. A body that breaks off does not: its client may have gone.
pub(crate) fn log_malformed_body(error: &(dyn Error + 'static), request: &RequestAccounting) {
    let source = error
        .downcast_ref::<hyper::Error>()
        .and_then(Error::source)
        .and_then(|source| source.downcast_ref::<io::Error>());
    let Some(source) = source else {
        return;
    };
    let is_of_tls = source
        .get_ref()
        .is_some_and(<dyn Error + Send + Sync>::is::<rustls::Error>);
    let is_malformed = matches!(
        source.kind(),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData
    );
    if is_malformed && !is_of_tls {
        request.log_refused(BAD_REQUEST, &source.to_string());
    }
}
