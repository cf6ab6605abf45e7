//! Violations of the rules, one for each rule.

use crate::Version;

/// A broken rule of HTTP messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Violation {
    /// A request with the method CONNECT, which asks for a tunnel.
    #[error("CONNECT asks for a tunnel, which is not supported")]
    Connect,
    /// TRACE with content.
    #[error("a TRACE request has no content")]
    TraceContent,
    /// A target that is neither a path nor, with OPTIONS, `*`.
    #[error("the path of a URL begins with a slash")]
    Target,
    /// A field that concerns one connection only.
    #[error("the field {0:?} concerns one connection, which is not the message's matter")]
    ConnectionField(&'static str),
    /// `te` with another value than `trailers`.
    #[error("the field \"te\" may have the value \"trailers\" only")]
    Te,
    /// `host` that is no authority, or several.
    #[error("the field \"host\" must be one host with an optional port")]
    Host,
    /// No `host` over HTTP/1.1, or several.
    #[error("a request needs one Host header")]
    OneHost,
    /// `:authority` that has a user or is no authority.
    #[error("the pseudo-field \":authority\" must be one host with an optional port")]
    Authority,
    /// `host` and `:authority` of different hosts.
    #[error("the field \"host\" differs from the pseudo-field \":authority\"")]
    HostDiffers,
    /// White space around a value.
    #[error("a value begins or ends with white space")]
    WhiteSpace,
    /// A `content-length` that is not a number.
    #[error("the field \"content-length\" is not a number")]
    InvalidLength,
    /// Several lengths that differ.
    #[error("there are several content-lengths, and they differ")]
    ConflictingLengths,
    /// Several lengths that are equal.
    #[error("there are several content-lengths")]
    SeveralLengths,
    /// A request's `content-length` that is not the length of its body.
    #[error("the field \"content-length\" says {field}, but the body has {body} bytes")]
    WrongLength {
        /// What the field says.
        field: u64,
        /// Bytes of the body.
        body: u64,
    },
    /// A request's `content-length` beside a body whose length is not known.
    #[error("a body that is streamed gets its length with the stream, not from \"content-length\"")]
    LengthOfStream,
    /// More fields than a head may have.
    #[error("the head has more than {0} fields")]
    TooManyFields(usize),
    /// A head that is too long.
    #[error("the head has more than {0} bytes")]
    HeadTooLong(usize),
    /// Status 101 without a request for an upgrade.
    #[error("the server switches to a protocol that was not asked for")]
    SwitchingProtocols,
    /// More interim responses than any server needs.
    #[error("there are more than {0} interim responses")]
    TooManyInterim(u32),
    /// A body that is longer than its `content-length`.
    #[error("the body is longer than its content-length")]
    BodyTooLong,
    /// A body that ends before its `content-length`.
    #[error("the body is shorter than its content-length")]
    BodyTooShort,
    /// A body where none can be: after HEAD, 204 or 304.
    #[error("the response has a body where none is allowed")]
    UnexpectedBody,
    /// Pseudo-fields that are repeated, late, in trailers, or of the other kind of message.
    #[error("a pseudo-field is repeated, late, in trailers or not one of a response")]
    PseudoField,
}

impl Violation {
    /// Returns the section of an RFC that has the rule.
    pub const fn section(self) -> &'static str {
        match self {
            Self::Connect => "RFC 9110 section 9.3.6",
            Self::TraceContent => "RFC 9110 section 9.3.8",
            Self::Target => "RFC 9112 section 3.2, RFC 9113 section 8.3.1, RFC 9114 section 4.3.1",
            Self::ConnectionField(_) | Self::Te => {
                "RFC 9110 section 7.6.1, RFC 9113 section 8.2.2, RFC 9114 section 4.2"
            }
            Self::Host => "RFC 9110 section 7.2",
            Self::OneHost => "RFC 9112 section 3.2",
            Self::Authority | Self::HostDiffers => "RFC 9113 section 8.3.1, RFC 9114 section 4.3.1",
            Self::WhiteSpace => "RFC 9113 section 8.2.1, RFC 9114 section 4.2",
            Self::InvalidLength | Self::ConflictingLengths | Self::SeveralLengths => {
                "RFC 9110 section 8.6, RFC 9112 section 6.3"
            }
            Self::WrongLength { .. } | Self::LengthOfStream => "RFC 9110 section 8.6",
            Self::TooManyFields(_) | Self::HeadTooLong(_) => "RFC 9110 section 5.4",
            Self::SwitchingProtocols => {
                "RFC 9110 section 15.2.2, RFC 9113 section 8.6, RFC 9114 section 4.5"
            }
            Self::TooManyInterim(_) => "RFC 9110 section 15.2",
            Self::BodyTooLong | Self::BodyTooShort => {
                "RFC 9112 section 6.3, RFC 9113 section 8.1.1, RFC 9114 section 4.1.2"
            }
            Self::UnexpectedBody => "RFC 9110 section 6.4.1, RFC 9113 section 8.1.1",
            Self::PseudoField => "RFC 9113 section 8.3, RFC 9114 section 4.3",
        }
    }

    /// Reports whether a response over this version can break the rule in a way that reaches this crate's caller. The
    /// rest concerns requests.
    pub const fn concerns_responses(self, version: Version) -> bool {
        match self {
            Self::ConnectionField(_) | Self::Te | Self::PseudoField => {
                !matches!(version, Version::H1)
            }
            // Elsewhere the libraries refuse what is too long.
            Self::HeadTooLong(_) => matches!(version, Version::H2),
            Self::InvalidLength
            | Self::ConflictingLengths
            | Self::SwitchingProtocols
            | Self::TooManyInterim(_)
            | Self::BodyTooShort => true,
            // Over HTTP/1.1 what follows a body is the next message.
            Self::BodyTooLong | Self::UnexpectedBody => !matches!(version, Version::H1),
            _ => false,
        }
    }
}
