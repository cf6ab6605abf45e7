//! Outcomes: what a client made of a case, and whether that is true.

use crate::shared::Request;
use crate::{Case, Field, Protocol, Truth};

/// What an app has of a response.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The status; 0 if the app did not get it.
    pub status: u16,
    /// The body as far as it came.
    pub body: Vec<u8>,
    /// The trailers; `None` if the app's interface has none.
    pub trailers: Option<Vec<Field>>,
    /// Why the response is not whole; `None` if it is.
    pub failure: Option<Failure>,
}

/// Why a response is not whole.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What kind of failure the client reports.
    pub kind: FailureKind,
    /// Whether the client reports that the server may have acted on the request.
    pub may_have_acted: bool,
    /// The client's description.
    pub text: String,
}

/// A kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The connection or the stream ended too early.
    Reset,
    /// The response breaks a rule of HTTP.
    Malformed,
    /// Any other, which no case leads to.
    Other,
}

impl Outcome {
    /// Returns an outcome without a response.
    pub fn failed(kind: FailureKind, may_have_acted: bool, text: impl Into<String>) -> Self {
        let failure = Failure {
            kind,
            may_have_acted,
            text: text.into(),
        };
        Self {
            failure: Some(failure),
            ..Self::default()
        }
    }
}

impl Case {
    /// Compares an outcome, and the requests that the server received, with the truth.
    ///
    /// # Errors
    ///
    /// Returns the first difference.
    pub fn judge(&self, outcome: &Outcome, requests: &[Request]) -> Result<(), String> {
        let must = |holds: bool, what: &str| match holds {
            true => Ok(()),
            false => Err(format!(
                "{what}; status {}, {:?}",
                outcome.status, outcome.failure
            )),
        };
        must(
            self.body.starts_with(&outcome.body),
            "the body is not what was sent",
        )?;
        match (self.truth, &outcome.failure) {
            (Truth::Complete, None) => {
                must(outcome.status == self.status, "another status")?;
                must(outcome.body == self.body, "a part of the body is missing")?;
                let trailers = outcome.trailers.as_ref();
                let fit = trailers.is_none_or(|trailers| *trailers == self.trailers);
                must(fit, "other trailers")?;
            }
            (Truth::Complete, Some(_)) => must(false, "a whole response is an error")?,
            (Truth::Truncated | Truth::Malformed, None) => {
                must(false, "a broken response is whole")?;
            }
            (truth, Some(failure)) => {
                must(failure.may_have_acted, "the server may have acted")?;
                let fits = match truth {
                    Truth::Malformed => failure.kind == FailureKind::Malformed,
                    _ => failure.kind != FailureKind::Other,
                };
                must(fits, "another error than of such a response")?;
            }
        }
        let (least, most) = self.arrivals();
        let count = requests.len();
        let fits = (least..=most).contains(&count);
        must(
            fits,
            &format!("sent {count} times instead of {least} to {most}"),
        )?;
        let whole = requests.iter().all(|request| request.body == self.request);
        must(whole, "the server received another body")
    }

    /// Returns why commute's client cannot make the right outcome of this case yet, if that is known.
    pub fn known(&self) -> Option<&'static str> {
        match self.protocol {
            Protocol::H2 if self.what.contains("304 with a length") => {
                Some("h2 expects a body unless the head has END_STREAM")
            }
            Protocol::H2 if self.what == "a path" => Some("h2 ignores pseudo-fields of requests"),
            _ => None,
        }
    }
}
