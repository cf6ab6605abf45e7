//! The origin of a URL.

use http::Uri;
use http::uri::Authority;
use route::Origin;

/// Splits `https://host:port/path?query` into origin and URL.
pub(crate) fn origin_of(url: &str) -> Result<(Origin, Uri), String> {
    let uri: Uri = url.parse().map_err(|error| {
        let shown = without_secrets(url);
        format!("{shown:?} is not a URL like \"https://api.example/path\": {error}")
    })?;
    // It would be sent in `Host` and `:authority` (RFC 9110 section 4.2.4, RFC 9113 section 8.3.1).
    let authority = uri.authority().map_or("", Authority::as_str);
    if authority.contains('@') {
        let instead = "send them in a header field such as Authorization";
        return Err(format!(
            "the URL has a user name or password before its host: {instead}"
        ));
    }
    // http takes a port that is no number for none, and would send it as it is.
    let port = match authority.rsplit_once(':') {
        Some((_, port)) if !port.is_empty() && !port.ends_with(']') => port.parse().ok(),
        _ => Some(443),
    };
    match (uri.scheme_str(), uri.host(), port) {
        (Some("https"), Some(host), Some(port)) => {
            let host = host.trim_matches(['[', ']']);
            Ok((Origin::new(host, port), uri))
        }
        _ => Err(format!(
            "{:?} is not an https URL like \"https://api.example/path\"",
            without_secrets(url)
        )),
    }
}

/// Returns the part of a URL that an error message may show: never the query, and nothing if there is an `@`. In a
/// URL that cannot be parsed anything before it may be a password.
fn without_secrets(url: &str) -> &str {
    if url.contains('@') {
        return "...";
    }
    url.split(['?', '#']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_of_urls() {
        let origin = |url: &str| origin_of(url).map(|(origin, _)| origin);
        assert_eq!(
            origin("https://API.example/x?y"),
            Ok(Origin::new("api.example", 443))
        );
        assert_eq!(origin("https://[::1]:8443"), Ok(Origin::new("::1", 8443)));
        assert_eq!(origin("https://[::1]"), Ok(Origin::new("::1", 443)));
        let wrong = ["http://a.example", "a.example", "https://", "https://a b"];
        for wrong in wrong
            .into_iter()
            .chain(["https://a.example:x", "https://[::1]:x"])
        {
            assert!(origin(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_url_with_a_password_is_refused() {
        for url in ["https://user:secret@a.example/", "https://secret@a.example"] {
            let error = origin_of(url).expect_err(url);
            assert!(error.contains("user name or password"), "{error}");
        }
        assert!(origin_of("https://a.example/@user?mail=b@c").is_ok());
    }

    #[test]
    fn errors_do_not_show_secrets() {
        for url in [
            "https://user:secret@a.example/",
            "http://user:secret@a.example/",
            "user:secret@a.example",
            "https://user:sec ret@a.example/",
            "http://a.example/path?token=secret",
            "https://a b/path?token=secret",
            "http://a.example/path#secret",
        ] {
            let error = origin_of(url).expect_err(url);
            assert!(!error.contains("sec"), "{error}");
        }
        let error = origin_of("http://a.example/path?token=secret").unwrap_err();
        assert!(error.starts_with("\"http://a.example/path\""), "{error}");
    }
}
