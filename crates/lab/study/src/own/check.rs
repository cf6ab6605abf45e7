//! Checks for everything that the server or a client would refuse, or send otherwise than written.

use std::collections::BTreeMap;
use std::ops::Range;

use config::{ConfigError, Source};

use super::{OwnRequest, each};
use crate::{Arm, AuthScheme, Step};
use driver::protocol::Protocol;

const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
/// Many servers and proxies take no longer request line.
const MAX_PATH_BYTES: usize = 2048;
/// Half of what commute's server takes as a head.
const MAX_FIELDS_BYTES: usize = 8192;
/// The paths that commute's server answers by itself, or that begin so.
const ROUTES: [&str; 3] = ["/health", "/echo", "/upload"];
const ROUTE_PREFIXES: [&str; 4] = ["/bytes/", "/exchange/", "/submit/", "/commute."];

/// Fields that belong to the connection or to the message's framing, or that the driver sets, with what
/// is right.
const REFUSED_FIELDS: [(&str, &str); 16] = [
    ("connection", OF_CONNECTION),
    ("keep-alive", OF_CONNECTION),
    ("proxy-connection", OF_CONNECTION),
    ("te", OF_CONNECTION),
    ("trailer", OF_CONNECTION),
    ("transfer-encoding", OF_CONNECTION),
    ("upgrade", OF_CONNECTION),
    ("http2-settings", OF_CONNECTION),
    ("expect", "no step waits for an interim response"),
    ("host", "the client sets it; `origin` names another one"),
    ("content-length", "the client sets it"),
    ("content-type", "use the key `content_type`"),
    ("content-encoding", "the arm's `codec` sets it"),
    ("range", "the server answers with the whole response"),
    ("if-range", "the server answers with the whole response"),
    ("x-commute-id", "the driver sets it"),
];
const OF_CONNECTION: &str =
    "it is about the connection, which the client manages (RFC 9113 section 8.2.2)";

/// Returns the fields with their names in lower case.
pub(super) fn fields(
    written: BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, String> {
    let mut fields = BTreeMap::new();
    let mut bytes = 0;
    for (written, value) in written {
        let name = written.to_ascii_lowercase();
        if name.is_empty() || !name.bytes().all(is_token_byte) {
            return Err(format!("headers: {written:?} is no name of a header field"));
        }
        if let Some((_, why)) = REFUSED_FIELDS.iter().find(|(refused, _)| *refused == name) {
            return Err(format!("headers: leave out `{written}`: {why}"));
        }
        self::value(&format!("headers: `{written}`"), &value)?;
        bytes += name.len() + value.len();
        if fields.insert(name, value).is_some() {
            return Err(format!("headers: `{written}` is there twice"));
        }
    }
    match bytes > MAX_FIELDS_BYTES {
        true => Err(format!(
            "headers: {bytes} bytes in all; at most {MAX_FIELDS_BYTES}"
        )),
        false => Ok(fields),
    }
}

/// Checks the value of a header field.
pub(super) fn value(what: &str, value: &str) -> Result<(), String> {
    let is_right = |b: u8| b.is_ascii_graphic() || b == b' ';
    if value.is_empty() || value.trim() != value || !value.bytes().all(is_right) {
        return Err(format!(
            "{what} = {value:?}: use printable ASCII, without space at either end"
        ));
    }
    Ok(())
}

/// Checks that no body of plain HTTP is declared to be gRPC's, by which servers tell the two apart. gRPC-Web
/// is plain HTTP.
pub(super) fn request_type(content_type: &str) -> Result<(), String> {
    let lower = content_type.to_ascii_lowercase();
    let rest = lower.strip_prefix("application/grpc");
    match rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['+', ';'])) {
        true => Err(format!(
            "content_type = {content_type:?}: servers would take the request for one of gRPC; leave it out, \
             and use an arm with protocol = \"grpc\", which sends any body as a message"
        )),
        false => Ok(()),
    }
}

/// Checks method and path.
pub(super) fn request(own: &OwnRequest) -> Result<(), String> {
    let OwnRequest { method, path, .. } = own;
    if !METHODS.contains(&method.as_str()) {
        return Err(format!(
            "method = {method:?}: use one of {}",
            METHODS.join(", ")
        ));
    }
    if matches!(method.as_str(), "GET" | "DELETE") && own.request.is_some() {
        return Err(format!(
            "a {method} has no body here, since clients and proxies treat one differently (RFC 9110 \
             section 9.3); leave out `request` or `request_bytes`, or use POST"
        ));
    }
    let wrong = |why: &str| Err(format!("path = {path:?}: {why}"));
    if !path.starts_with('/') {
        return wrong("write path and query as in \"/v1/orders?page=2\", without scheme and host");
    }
    if path.len() > MAX_PATH_BYTES {
        return Err(format!(
            "path: {} bytes; at most {MAX_PATH_BYTES}",
            path.len()
        ));
    }
    if !is_origin_form(path) {
        return wrong(
            "use letters, digits and -._~!$&()*+,;=:@/, and percent-encode anything else (RFC 3986 \
             section 3.3), as in \"/a%20b\"",
        );
    }
    let before_query = path.split('?').next().unwrap_or_default();
    if path.contains("//") {
        return wrong("some servers and clients make one slash of two");
    }
    if before_query
        .split('/')
        .any(|part| part == "." || part == "..")
    {
        return wrong("clients resolve the parts . and .. before they send a request");
    }
    Ok(())
}

/// Returns why the lab's servers cannot answer these requests, each with the place of its step, if they
/// cannot: a server of the user's own may.
pub(crate) fn not_for_lab(
    requests: &[(Range<usize>, OwnRequest)],
    source: &Source<'_>,
) -> Option<ConfigError> {
    let mut first: BTreeMap<(&str, &str), &OwnRequest> = BTreeMap::new();
    requests.iter().find_map(|(span, own)| {
        let known = first.entry((&own.method, &own.path)).or_insert(own);
        let refused = route(&own.path).or_else(|| differs(known, own))?;
        Some(source.error_in(span, refused))
    })
}

/// Returns why a path cannot be used, if commute's server has a route of its own there.
fn route(path: &str) -> Option<String> {
    let before_query = path.split('?').next().unwrap_or_default();
    let is_route = ROUTES.contains(&before_query)
        || ROUTE_PREFIXES.iter().any(|prefix| path.starts_with(prefix));
    is_route.then(|| {
        format!(
            "path = {path:?}: commute's server has a route of its own there; put another part before it"
        )
    })
}

/// Returns why two requests with the same method and path cannot both be sent, if they differ. Their responses must be
/// the same, since the server knows them by method and path. They must set the same header fields, since the server
/// logs these.
fn differs(first: &OwnRequest, own: &OwnRequest) -> Option<String> {
    let (differ, remedy) = if first.response != own.response {
        ("responses", "the server answers each alike")
    } else if !first.headers.keys().eq(own.headers.keys())
        || first.request.is_some() != own.request.is_some()
    {
        ("header fields", "give both the same ones, with any values")
    } else {
        return None;
    };
    let (method, path) = (&own.method, &own.path);
    Some(format!(
        "two steps with {method} {path} have different {differ}: {remedy}; otherwise use another path, e.g. \
         with a query"
    ))
}

/// Returns why an arm cannot make these requests, if it cannot.
pub(crate) fn not_with_arm(arm: &Arm, steps: &[Step]) -> Option<String> {
    let mut refused = None;
    each(steps, &mut |own| {
        for name in own.headers.keys() {
            let of_auth = match arm.auth {
                Some(AuthScheme::Jwt) => name == "authorization",
                Some(AuthScheme::Hmac) => {
                    matches!(
                        name.as_str(),
                        "signature" | "signature-input" | "content-digest"
                    )
                }
                None => false,
            };
            if of_auth {
                refused = Some(format!(
                    "`auth` sets the header field `{name}`; leave it out"
                ));
            }
            let of_grpc =
                name.starts_with("grpc-") || name.ends_with("-bin") || name == "user-agent";
            if arm.protocol == Protocol::Grpc && of_grpc {
                refused = Some(format!(
                    "the header field `{name}` is gRPC's own or has another meaning there; leave it out"
                ));
            }
        }
    });
    refused
}

fn is_origin_form(path: &str) -> bool {
    let mut bytes = path.bytes();
    while let Some(byte) = bytes.next() {
        let is_right = match byte {
            b'%' => [bytes.next(), bytes.next()]
                .iter()
                .all(|digit| digit.is_some_and(|d| d.is_ascii_hexdigit())),
            _ => byte.is_ascii_alphanumeric() || b"-._~!$&()*+,;=:@/?".contains(&byte),
        };
        if !is_right {
            return false;
        }
    }
    true
}

/// Reports whether a token may have this byte (RFC 9110 section 5.6.2).
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
