//! Answers in JSON, with their length.

use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

/// Returns a response with this text.
pub(crate) fn json(text: Vec<u8>) -> Response {
    let headers = [
        (CONTENT_TYPE, "application/json".to_owned()),
        (CONTENT_LENGTH, text.len().to_string()),
    ];
    (headers, text).into_response()
}
