//! Error answers to HTTP requests.

use std::error::Error;

use axum::http::StatusCode;
use axum::http::header::{CONTENT_RANGE, WWW_AUTHENTICATE};
use axum::response::{IntoResponse, Response};
use http_body_util::LengthLimitError;

use crate::body::BodyError;
use crate::scheme::{AuthScheme, Forged};

/// A request that gets an error answer; texts end up in its body.
pub(crate) enum Rejection {
    /// 400.
    BadRequest(String),
    /// 401, with why.
    Unauthenticated(AuthScheme, String),
    /// 404.
    NotFound(String),
    /// 413.
    BodyTooLarge,
    /// 415.
    UnsupportedMediaType(String),
    /// 416, with the length of the file.
    RangeNotSatisfiable { file_bytes: u64 },
}

impl Rejection {
    pub(crate) fn bad_request(error: &impl ToString) -> Self {
        Self::BadRequest(error.to_string())
    }

    /// Maps an error met while reading a body, which may be wrapped several times.
    pub(crate) fn from_body_error(error: &(dyn Error + 'static)) -> Self {
        let mut cause = Some(error);
        while let Some(error) = cause {
            if error.is::<LengthLimitError>()
                || matches!(error.downcast_ref(), Some(BodyError::TooLarge))
            {
                return Self::BodyTooLarge;
            }
            if let Some(Forged(refusal)) = error.downcast_ref() {
                return Self::Unauthenticated(AuthScheme::Hmac, refusal.to_string());
            }
            cause = error.source();
        }
        Self::BadRequest(format!("cannot read the body: {error}"))
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        let (status, text) = match self {
            Self::BadRequest(text) => (StatusCode::BAD_REQUEST, text),
            Self::Unauthenticated(scheme, text) => {
                let challenge = [(WWW_AUTHENTICATE, scheme.challenge())];
                return (StatusCode::UNAUTHORIZED, challenge, text + "\n").into_response();
            }
            Self::NotFound(text) => (StatusCode::NOT_FOUND, text),
            Self::UnsupportedMediaType(text) => (StatusCode::UNSUPPORTED_MEDIA_TYPE, text),
            Self::BodyTooLarge => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "the body exceeds this server's limit".to_owned(),
            ),
            Self::RangeNotSatisfiable { file_bytes } => {
                let range = [(CONTENT_RANGE, format!("bytes */{file_bytes}"))];
                let text = format!("the file has {file_bytes} bytes\n");
                return (StatusCode::RANGE_NOT_SATISFIABLE, range, text).into_response();
            }
        };
        (status, text + "\n").into_response()
    }
}
