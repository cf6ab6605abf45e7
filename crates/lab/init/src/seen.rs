use http::Method;

use crate::notes::Notes;
use crate::url::Url;
use crate::{operation, private};

/// The assumed length of a body whose length is unknown.
pub(crate) const ASSUMED_BYTES: u64 = 2000;

/// The content type of forms that are pairs of a name and a value.
pub(crate) const FORM: &str = "application/x-www-form-urlencoded";

/// One request as it was seen, without what is private.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// After the first request.
    pub(crate) start_ns: u64,
    /// The end of its response.
    pub(crate) end_ns: u64,
    /// Scheme, host and port.
    pub(crate) origin: String,
    /// Whether it went without TLS.
    pub(crate) is_plaintext: bool,
    /// Which connection it used, where that is known.
    pub(crate) connection: Option<String>,
    pub(crate) method: Method,
    /// With the query, and stand-ins for values in both.
    pub(crate) path: String,
    /// Path and query as they were; none if their values are not to be kept.
    pub(crate) kept_path: Option<String>,
    /// What it asks for, where its path does not say it.
    pub(crate) operation: Option<String>,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) request: Body,
    pub(crate) response: Body,
}

/// A body; one of 0 bytes if there is none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Body {
    pub(crate) bytes: u64,
    /// Without parameters, e.g. `application/json`.
    pub(crate) content_type: Option<String>,
    /// The text, if it is JSON that was seen whole.
    pub(crate) json: Option<String>,
    /// The text, if it is that of a form and is to be kept.
    pub(crate) form: Option<String>,
    /// Whether its length is assumed.
    pub(crate) is_guess: bool,
    /// Whether it is JSON that came compressed, with the length that it had on the wire.
    pub(crate) is_packed: bool,
}

/// A request's line and header fields as they were found.
pub(crate) struct Head<'a> {
    pub(crate) method: &'a str,
    pub(crate) url: &'a str,
    pub(crate) headers: Vec<(&'a str, &'a str)>,
    /// Of its body.
    pub(crate) content_type: Option<&'a str>,
    /// Its body, where that is known and is text.
    pub(crate) body: Option<&'a str>,
}

impl Head<'_> {
    /// Checks the head and takes out what is private. Fails with the reason why no study can send it. Leaves
    /// times and bodies to the caller.
    pub(crate) fn plain(self, keep_values: bool, notes: &mut Notes) -> Result<Seen, String> {
        const METHODS: [Method; 5] = [
            Method::GET,
            Method::POST,
            Method::PUT,
            Method::PATCH,
            Method::DELETE,
        ];
        let method = (METHODS.into_iter())
            .find(|known| known.as_str().eq_ignore_ascii_case(self.method))
            .ok_or("its method is none of GET, POST, PUT, PATCH and DELETE")?;
        if self.content_type.is_some_and(is_grpc_type) {
            return Err(
                "it is one of gRPC, which frames its messages itself; write a step for an arm with protocol \
                 = \"grpc\""
                    .to_owned(),
            );
        }
        let url = Url::parse(self.url)?;
        let kept_path = match keep_values {
            true => Some(private::kept_path(&url, notes)?),
            false => None,
        };
        // What is kept is not replaced, and not said to be.
        let mut unsaid = Notes::default();
        let of_path = if keep_values {
            &mut unsaid
        } else {
            &mut *notes
        };
        Ok(Seen {
            operation: operation::operation(
                &method,
                &url.path,
                url.query.as_deref(),
                &self.headers,
                self.body.unwrap_or_default(),
            ),
            path: private::path(&url, of_path),
            kept_path,
            headers: private::headers(&self.headers, keep_values, notes),
            method,
            is_plaintext: url.is_plaintext,
            origin: url.origin,
            ..Seen::default()
        })
    }
}

impl Body {
    /// Returns a body whose text is known. JSON is kept, without its values unless `keep_values`; then forms are kept,
    /// too. Other texts give no way to tell a credential from another value, so only their length is kept.
    pub(crate) fn of_text(
        text: &str,
        content_type: Option<&str>,
        keep_values: bool,
        notes: &mut Notes,
    ) -> Body {
        let content_type = content_type.and_then(essence);
        let is_json = (content_type.as_deref()).is_none_or(is_json_type);
        let json = match is_json {
            true => private::json(text, keep_values, notes),
            false => None,
        };
        let form = match keep_values && content_type.as_deref() == Some(FORM) {
            true => private::form(text, notes),
            false => None,
        };
        Body {
            bytes: text.len() as u64,
            json,
            form,
            content_type,
            ..Body::default()
        }
    }

    /// Returns a request's body whose text is known. Adds a note if `keep_values` and the text is neither JSON nor a
    /// form.
    pub(crate) fn of_request(
        text: &str,
        content_type: Option<&str>,
        keep_values: bool,
        notes: &mut Notes,
    ) -> Body {
        let body = Body::of_text(text, content_type, keep_values, notes);
        if keep_values && body.bytes > 0 && body.json.is_none() && body.form.is_none() {
            notes.left_out(
                "the text of a request's body that is neither JSON nor a form; its length is kept",
            );
        }
        body
    }

    /// Returns a body of unknown length: [`ASSUMED_BYTES`] are assumed.
    pub(crate) fn assumed(content_type: Option<&str>) -> Body {
        Body {
            is_guess: true,
            ..Body::of_bytes(ASSUMED_BYTES, content_type)
        }
    }

    /// Reports whether it is JSON, seen whole or not.
    pub(crate) fn is_json(&self) -> bool {
        self.json.is_some() || self.content_type.as_deref().is_some_and(is_json_type)
    }

    /// Returns a JSON body that was compressed to `bytes`.
    pub(crate) fn packed_json(bytes: u64, content_type: Option<&str>) -> Body {
        Body {
            is_packed: true,
            ..Body::of_bytes(bytes, content_type.or(Some("application/json")))
        }
    }

    /// Returns a body known by its length only.
    pub(crate) fn of_bytes(bytes: u64, content_type: Option<&str>) -> Body {
        Body {
            bytes,
            content_type: content_type.and_then(essence),
            ..Body::default()
        }
    }
}

/// Returns a media type without its parameters, in lower case; none if it is invalid.
fn essence(content_type: &str) -> Option<String> {
    let essence = content_type.split(';').next()?.trim().to_ascii_lowercase();
    let valid = |c: char| c.is_ascii_alphanumeric() || "!#$&-^_.+/".contains(c);
    (essence.contains('/') && essence.len() <= 127 && essence.chars().all(valid)).then_some(essence)
}

/// Reports whether a content type is gRPC's. gRPC-Web is plain HTTP, so its content type is not.
fn is_grpc_type(content_type: &str) -> bool {
    let essence = essence(content_type).unwrap_or_default();
    let rest = essence.strip_prefix("application/grpc");
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('+'))
}

fn is_json_type(essence: &str) -> bool {
    essence == "application/json" || essence.ends_with("+json")
}
