//! The `Alt-Svc` field (RFC 7838, section 3), as far as it offers HTTP/3.

use std::time::Duration;

/// Lifetime of an offer that names none (RFC 7838, section 3.1).
const DEFAULT_MAX_AGE: Duration = Duration::from_secs(24 * 3_600);
/// No offer is believed for longer.
pub(crate) const LONGEST_MAX_AGE: Duration = Duration::from_secs(7 * 24 * 3_600);
/// Offers that are looked at; the field has no limit of its own.
const MAX_OFFERS: usize = 16;
/// Bytes that are looked at.
const MAX_BYTES: usize = 4 << 10;

/// The meaning of a field for HTTP/3 on the origin's own host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AltSvc {
    /// Nothing.
    Silent,
    /// All offers are withdrawn, those beside it included.
    Clear,
    /// It is there.
    H3 {
        /// UDP port.
        port: u16,
        /// How long the offer holds, at most seven days.
        max_age: Duration,
    },
}

/// Reads the field of a response from an origin on `origin_port`. Of several offers of HTTP/3 the
/// first counts. Offers of other hosts are ignored, because their certificate would have to be
/// checked for this one. So are unprivileged ports for a privileged origin: anyone on its host may
/// listen there.
pub fn parse(field: &[u8], origin_port: u16) -> AltSvc {
    let cut = &field[..field.len().min(MAX_BYTES)];
    let Ok(text) = std::str::from_utf8(cut) else {
        return AltSvc::Silent;
    };
    let mut offers = split(text, ',');
    // It withdraws those of the same response, too (RFC 7838 section 3).
    if offers
        .clone()
        .any(|offer| offer.trim_matches([' ', '\t']) == "clear")
    {
        return AltSvc::Clear;
    }
    offers
        .by_ref()
        .take(MAX_OFFERS)
        .find_map(|offer| h3(offer, origin_port))
        .unwrap_or(AltSvc::Silent)
}

/// Reads `h3=":443"; ma=3600; persist=1`.
fn h3(offer: &str, origin_port: u16) -> Option<AltSvc> {
    let mut parts = split(offer, ';').map(|part| part.trim_matches([' ', '\t']));
    let (name, authority) = parts.next()?.split_once('=')?;
    let port = number(quoted(authority)?.strip_prefix(':')?)?;
    let port = u16::try_from(port).ok()?;
    let unprivileged = port >= 1024 && origin_port < 1024;
    if name != "h3" || port == 0 || unprivileged {
        return None;
    }
    let mut parameters = parts.filter_map(|part| part.split_once('='));
    let max_age = parameters.find(|(name, _)| name.eq_ignore_ascii_case("ma"));
    let max_age = match max_age {
        Some((_, value)) => Duration::from_secs(number(quoted(value).unwrap_or(value))?),
        None => DEFAULT_MAX_AGE,
    };
    let max_age = max_age.min(LONGEST_MAX_AGE);
    Some(AltSvc::H3 { port, max_age })
}

/// Splits at `separator` outside quotes.
fn split(text: &str, separator: char) -> impl Iterator<Item = &str> + Clone {
    let (mut quoted, mut escaped) = (false, false);
    text.split(move |c: char| {
        let splits = c == separator && !quoted;
        if c == '"' && !escaped {
            quoted = !quoted;
        }
        escaped = c == '\\' && quoted && !escaped;
        splits
    })
}

fn quoted(value: &str) -> Option<&str> {
    value.strip_prefix('"')?.strip_suffix('"')
}

/// Reads digits; `parse` would take a sign.
fn number(digits: &str) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // More than fits is as long as can be (RFC 9111 section 1.2.2).
    is_number.then(|| digits.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn h3_on(port: u16, seconds: u64) -> AltSvc {
        AltSvc::H3 {
            port,
            max_age: Duration::from_secs(seconds),
        }
    }

    #[test]
    fn offers_of_http_3() {
        for (field, expected) in [
            (r#"h3=":443""#, h3_on(443, 86_400)),
            (r#"h3=":443"; ma=60"#, h3_on(443, 60)),
            (
                r#"h2=":443"; ma=5, h3=":444";persist=1;MA="7""#,
                h3_on(444, 7),
            ),
            (
                r#"h2="a,b;c:1", h3=":443"; ma=99999999999"#,
                h3_on(443, 604_800),
            ),
            (r#"h3="other:443", h3=":445""#, h3_on(445, 86_400)),
            (" clear ", AltSvc::Clear),
            (r#"h3=":443", clear"#, AltSvc::Clear),
            (r#"clear, h3=":443""#, AltSvc::Clear),
            (r#"h3=":443"; clear=1"#, h3_on(443, 86_400)),
            (r#"h2="clear", h3=":443""#, h3_on(443, 86_400)),
            (r#"h3-29=":443""#, AltSvc::Silent),
            (r#"h3=":0", h3=":65536", h3=":x", h3="#, AltSvc::Silent),
            (r#"h3=":8443""#, AltSvc::Silent),
            (r#"h3=:443, h3=":+443", h3=":443"#, AltSvc::Silent),
            (r#"h3=":443"; ma=-1"#, AltSvc::Silent),
            (r#"h3=":443"; ma=1x, h3=":444""#, h3_on(444, 86_400)),
            (r#"h3=":443"; ma=99999999999999999999"#, h3_on(443, 604_800)),
            ("", AltSvc::Silent),
            ("\u{e9}\"", AltSvc::Silent),
        ] {
            assert_eq!(parse(field.as_bytes(), 443), expected, "{field}");
        }
        assert_eq!(parse(br#"h3=":8443""#, 8443), h3_on(8443, 86_400));
        assert_eq!(parse(&[0xff], 443), AltSvc::Silent);
    }

    #[test]
    fn long_fields_are_cut() {
        let field = r#"h2=":1","#.repeat(10_000) + r#"h3=":443""#;
        assert_eq!(parse(field.as_bytes(), 443), AltSvc::Silent);
    }
}
