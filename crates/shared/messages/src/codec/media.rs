//! Codecs in HTTP: `content-type` and `content-encoding`.

use super::{Codec, Compression, Format};

/// Why header fields name no codec.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MediaTypeError {
    /// The `content-type` of no format.
    #[error(
        "no format has the content-type `{0}`; known: application/json, application/protobuf, \
         application/vnd.msgpack, application/vnd.msgpack; form=array and \
         application/vnd.msgpack; form=old"
    )]
    ContentType(String),
    /// The `content-encoding` of no compression.
    #[error("no compression has the content-encoding `{0}`; known: gzip and zstd, or none")]
    ContentEncoding(String),
}

impl Format {
    /// Returns the value of `content-type`.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Protobuf => "application/protobuf",
            Self::Msgpack => "application/vnd.msgpack",
            Self::MsgpackArray => "application/vnd.msgpack; form=array",
            Self::MsgpackOld => "application/vnd.msgpack; form=old",
        }
    }
}

impl Codec {
    /// Finds the codec of a body by its header fields. They do not carry a compression level, so
    /// the codec has the usual ones for answers: 6 for gzip, 3 for zstd.
    pub fn from_headers(
        content_type: &str,
        content_encoding: Option<&str>,
    ) -> Result<Self, MediaTypeError> {
        let same = |format: &Format| parts(format.content_type()).eq(parts(content_type));
        let format = Format::ALL.into_iter().find(same);
        let format = format.ok_or_else(|| MediaTypeError::ContentType(content_type.to_owned()))?;
        let compression = match content_encoding.map(str::trim) {
            None => Compression::None,
            Some(token) if token.eq_ignore_ascii_case("gzip") => Compression::Gzip(6),
            Some(token) if token.eq_ignore_ascii_case("zstd") => Compression::Zstd(3),
            Some(other) => return Err(MediaTypeError::ContentEncoding(other.to_owned())),
        };
        Ok(Self {
            format,
            compression,
        })
    }

    /// Returns whether the two codecs have the same header fields: levels of compression do not
    /// show.
    pub fn same_on_wire(self, other: Self) -> bool {
        self.format == other.format
            && self.compression.content_encoding() == other.compression.content_encoding()
    }
}

/// Splits a media type from its parameters (RFC 9110, 8.3.1), without the charset that libraries
/// like to add and that means nothing for these types.
fn parts(media_type: &str) -> impl Iterator<Item = String> {
    let parts = media_type
        .split(';')
        .map(|part| part.trim().to_ascii_lowercase());
    parts.filter(|part| !part.is_empty() && part != "charset=utf-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_fields_identify_the_codec() {
        for format in Format::ALL {
            for compression in [
                Compression::None,
                Compression::Gzip(6),
                Compression::Zstd(3),
            ] {
                let codec = Codec {
                    format,
                    compression,
                };
                let found =
                    Codec::from_headers(format.content_type(), compression.content_encoding());
                assert_eq!(found, Ok(codec));
            }
        }
        let loose = Codec::from_headers("Application/JSON;charset=UTF-8", Some("GZIP"));
        assert_eq!(loose.unwrap().to_string(), "json+gzip-6");
        let loose = Codec::from_headers("application/vnd.msgpack;form=old", None);
        assert_eq!(loose.unwrap().to_string(), "msgpack-old");
    }

    #[test]
    fn errors_list_the_known_values() {
        for kind in [
            "",
            "text/json",
            "application/vnd.msgpack; form=new",
            "application/json; q=1",
        ] {
            let refused = Codec::from_headers(kind, None).unwrap_err().to_string();
            assert!(
                refused.contains("application/vnd.msgpack; form=old"),
                "{refused}"
            );
        }
        for token in ["", "br", "gzip, gzip"] {
            let refused = Codec::from_headers("application/json", Some(token)).unwrap_err();
            assert!(refused.to_string().contains("gzip and zstd"), "{refused}");
        }
    }

    #[test]
    fn compression_levels_do_not_show_on_the_wire() {
        let codec = |name: &str| name.parse::<Codec>().unwrap();
        assert!(codec("json+gzip-1").same_on_wire(codec("json+gzip-6")));
        assert!(!codec("json").same_on_wire(codec("json+gzip-6")));
        assert!(!codec("json").same_on_wire(codec("msgpack")));
    }
}
