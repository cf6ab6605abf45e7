use http::{Method, Uri};

use crate::notes::Notes;
use crate::private;

/// One request as it was seen, without what is private.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// After the first request.
    pub(crate) start_ns: u64,
    /// The end of its response.
    pub(crate) end_ns: u64,
    /// Scheme, host and port.
    pub(crate) origin: String,
    /// Which connection it used, where that is known.
    pub(crate) connection: Option<String>,
    pub(crate) method: Method,
    /// With the query.
    pub(crate) path: String,
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
}

/// A request's line and header fields as they were found.
pub(crate) struct Head<'a> {
    pub(crate) method: &'a str,
    pub(crate) url: &'a str,
    pub(crate) headers: Vec<(&'a str, &'a str)>,
}

/// What the study says of a [`Head`].
pub(crate) struct PlainHead {
    pub(crate) method: Method,
    pub(crate) origin: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
}

impl Head<'_> {
    /// Checks the head and takes out what is private. Fails with the reason why no study can send it.
    pub(crate) fn plain(self, keep_values: bool, notes: &mut Notes) -> Result<PlainHead, String> {
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
        let uri: Uri = (self.url.parse()).map_err(|_| "its URL cannot be parsed")?;
        let (Some(scheme @ ("http" | "https")), Some(authority)) =
            (uri.scheme_str(), uri.authority())
        else {
            return Err("its URL is not one of http or https".to_owned());
        };
        let default_port = if scheme == "https" { 443 } else { 80 };
        let port = authority.port_u16().unwrap_or(default_port);
        Ok(PlainHead {
            method,
            origin: format!("{scheme}://{}:{port}", authority.host()),
            path: private::path(&uri, notes),
            headers: private::headers(&self.headers, keep_values, notes),
        })
    }
}

impl Body {
    /// A body whose text is known. JSON is kept, without its values unless `keep_values`.
    pub(crate) fn of_text(
        text: &str,
        content_type: Option<&str>,
        keep_values: bool,
        notes: &mut Notes,
    ) -> Body {
        let content_type = content_type.and_then(essence);
        let is_json = (content_type.as_deref()).is_none_or(is_json_type);
        Body {
            bytes: text.len() as u64,
            json: match is_json {
                true => private::json(text, keep_values, notes),
                false => None,
            },
            content_type,
        }
    }

    /// A body of which only the length is known.
    pub(crate) fn of_bytes(bytes: u64, content_type: Option<&str>) -> Body {
        Body {
            bytes,
            content_type: content_type.and_then(essence),
            json: None,
        }
    }
}

/// A media type without its parameters.
fn essence(content_type: &str) -> Option<String> {
    let essence = content_type.split(';').next()?.trim().to_ascii_lowercase();
    let valid = |c: char| c.is_ascii_alphanumeric() || "!#$&-^_.+/".contains(c);
    (essence.contains('/') && essence.len() <= 127 && essence.chars().all(valid)).then_some(essence)
}

pub(crate) fn is_json_type(essence: &str) -> bool {
    essence == "application/json" || essence.ends_with("+json")
}
