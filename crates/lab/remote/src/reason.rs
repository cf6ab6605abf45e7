//! Words for failed requests.
//!
//! Texts of servers are left out: in an error, a store may quote the key's id and what was signed. Codes are kept.

use std::error::Error;
use std::io;

use object_store::client::HttpError;

/// Enough for a sentence of the system.
const MAX_BYTES: usize = 200;
/// Where clouds answer requests for the credentials of a machine.
const METADATA_HOSTS: [&str; 3] = [
    "169.254.169.254",
    "169.254.170.2",
    "metadata.google.internal",
];
const STATUS: &str = "status code: ";
/// Of a signature whose time is too far from the store's.
const SKEWED: &str = "RequestTimeTooSkewed";

/// Returns why a request to a store failed.
pub(crate) fn of(error: &object_store::Error) -> String {
    use object_store::Error as E;
    let causes = texts(error);
    if causes
        .iter()
        .any(|cause| METADATA_HOSTS.iter().any(|host| cause.contains(host)))
    {
        return "no credentials were found in the environment, and this machine has no role that gives them".to_owned();
    }
    let code = causes.iter().find_map(|cause| code(cause));
    if code == Some(SKEWED) {
        return format!("this machine's clock is wrong ({SKEWED}): set it");
    }
    let code = code.map_or_else(String::new, |code| format!(" ({code})"));
    match error {
        E::NotFound { .. } => format!("the bucket or the object does not exist{code}"),
        E::PermissionDenied { .. } => format!("the credentials do not allow it{code}"),
        E::Unauthenticated { .. } => format!("the credentials are not valid{code}"),
        E::InvalidPath { source } => format!(
            "it has an object named {:?}, which has an empty part, `.`, `..` or a control character: remove that object",
            shortened(named(source))
        ),
        _ => match causes.iter().find_map(|cause| status(cause)) {
            Some(status) => format!("the store answered with status {status}{code}"),
            None if is_local(error) => innermost(error),
            None => "the store's answer or the credentials cannot be read".to_owned(),
        },
    }
}

/// Returns why a store cannot be used with the settings of the environment.
pub(crate) fn of_settings(error: &object_store::Error) -> String {
    innermost(error)
}

/// Returns an error and its causes, from the outside in.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |cause| (*cause).source())
}

fn texts(error: &(dyn Error + 'static)) -> Vec<String> {
    causes(error).map(ToString::to_string).collect()
}

/// Reports whether the innermost cause quotes nothing of a response.
fn is_local(error: &(dyn Error + 'static)) -> bool {
    let is_local = |cause: &(dyn Error + 'static)| {
        cause.is::<io::Error>() || cause.is::<HttpError>() || cause.is::<serde_json::Error>()
    };
    causes(error).any(is_local)
}

fn innermost(error: &(dyn Error + 'static)) -> String {
    let cause = causes(error).last().unwrap_or(error);
    // It may quote the file of credentials that is malformed.
    if let Some(json) = cause.downcast_ref::<serde_json::Error>() {
        return format!(
            "invalid JSON at line {}, column {}",
            json.line(),
            json.column()
        );
    }
    shortened(&without_userinfo(&cause.to_string())).to_owned()
}

fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_BYTES)]
}

/// Returns the name of the object that has no valid one.
fn named(error: &object_store::path::Error) -> &str {
    use object_store::path::Error as E;
    match error {
        E::EmptySegment { path }
        | E::BadSegment { path, .. }
        | E::NonUnicode { path, .. }
        | E::PrefixMismatch { path, .. } => path,
        _ => "",
    }
}

/// Removes what stands between `://` and `@`, e.g. the password of a proxy.
fn without_userinfo(text: &str) -> String {
    let mut parts = text.split("://");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let authority = part.split(['/', ' ', '"', '\'']).next().unwrap_or_default();
        let user = authority.rfind('@').map_or(0, |at| at + 1);
        out += "://";
        out += &part[user..];
    }
    out
}

/// Returns the HTTP status, e.g. `503`. What follows it is of the server.
fn status(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once(STATUS)?;
    let status = rest.get(..3)?;
    status.bytes().all(|b| b.is_ascii_digit()).then_some(status)
}

/// Returns the code in the XML that stores answer with, e.g. `SlowDown`.
fn code(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    (code.len() <= 60 && code.bytes().all(|b| b.is_ascii_alphanumeric())).then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generic(text: &str) -> object_store::Error {
        object_store::Error::Generic {
            store: "S3",
            source: text.into(),
        }
    }

    #[test]
    fn answers_are_reduced_to_their_codes() {
        let signature = "Error performing PUT http://a/b in 1s - Server returned non-2xx status code: 403 Forbidden: \
            <?xml?><Error><Code>SignatureDoesNotMatch</Code><AWSAccessKeyId>AKIAHUNTER2</AWSAccessKeyId></Error>";
        assert_eq!(
            of(&generic(signature)),
            "the store answered with status 403 (SignatureDoesNotMatch)"
        );
        let denied = object_store::Error::PermissionDenied {
            path: "a".to_owned(),
            source: signature.into(),
        };
        assert_eq!(
            of(&denied),
            "the credentials do not allow it (SignatureDoesNotMatch)"
        );
        for hostile in [
            "status code: 500 \u{1b}[2J: <Code>\u{1b}[2J</Code>",
            "status code: 520 <unknown status code>: AKIAHUNTER2",
            "status code: AKIAHUNTER2",
            "status code: 5\u{1b}é",
            "Got invalid list response: unknown variant `AKIAHUNTER2`",
            "Server returned error response: AKIAHUNTER2",
        ] {
            let shown = of(&generic(hostile));
            let is_plain = !shown.contains("HUNTER2") && !shown.contains('\u{1b}');
            assert!(is_plain, "{shown}");
        }
        assert!(of(&generic("status code: 520 <x>: a")).ends_with("with status 520"));
    }

    #[test]
    fn failures_of_this_machine_are_quoted() {
        let refused = object_store::Error::Generic {
            store: "S3",
            source: Box::new(io::Error::other("connection refused")),
        };
        assert_eq!(of(&refused), "connection refused");
        let skewed = "status code: 403 Forbidden: <Code>RequestTimeTooSkewed</Code>";
        let skewed = object_store::Error::PermissionDenied {
            path: "a".to_owned(),
            source: skewed.into(),
        };
        assert!(of(&skewed).contains("clock"), "{}", of(&skewed));
    }

    #[test]
    fn missing_credentials_are_named() {
        let text =
            "Error performing PUT http://169.254.169.254/latest/api/token in 12s, after 10 retries";
        assert!(of(&generic(text)).starts_with("no credentials"));
    }

    #[test]
    fn passwords_in_urls_are_left_out() {
        let text = "proxy http://user:hunter2@proxy.example:3128/ and https://a/b@c";
        assert_eq!(
            without_userinfo(text),
            "proxy http://proxy.example:3128/ and https://a/b@c"
        );
        let json = serde_json::from_str::<u32>("\"hunter2\"").unwrap_err();
        let error = object_store::Error::Generic {
            store: "GCS",
            source: Box::new(json),
        };
        assert_eq!(of(&error), "invalid JSON at line 1, column 9");
    }
}
