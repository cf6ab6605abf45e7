//! What a codec is called in HTTP: `content-type` and `content-encoding`.

use super::{Codec, Compression, Form};

/// No codec has these fields.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MediaError {
    /// The `content-type` is of no form.
    #[error(
        "no form has the content-type `{0}`; there are application/json, application/protobuf, \
         application/vnd.msgpack, application/vnd.msgpack; form=array and \
         application/vnd.msgpack; form=old"
    )]
    Type(String),
    /// The `content-encoding` is of no compression.
    #[error("no compression has the content-encoding `{0}`; there are gzip and zstd, or none")]
    Encoding(String),
}

impl Form {
    /// Its `content-type`.
    pub fn media_type(self) -> &'static str {
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
    /// The codec of a body with these fields. They do not tell a level: whoever answers takes
    /// those that servers take, gzip's 6 and zstd's 3.
    pub fn of_media(kind: &str, encoding: Option<&str>) -> Result<Self, MediaError> {
        let same = |form: &Form| parts(form.media_type()).eq(parts(kind));
        let form = Form::ALL.into_iter().find(same);
        let form = form.ok_or_else(|| MediaError::Type(kind.to_owned()))?;
        let compression = match encoding.map(str::trim) {
            None => Compression::None,
            Some(token) if token.eq_ignore_ascii_case("gzip") => Compression::Gzip(6),
            Some(token) if token.eq_ignore_ascii_case("zstd") => Compression::Zstd(3),
            Some(other) => return Err(MediaError::Encoding(other.to_owned())),
        };
        Ok(Self { form, compression })
    }
}

/// A media type and its parameters (RFC 9110, 8.3.1). Libraries like to add the charset,
/// which for these types says nothing.
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
    fn fields_name_the_codec() {
        for form in Form::ALL {
            for compression in [
                Compression::None,
                Compression::Gzip(6),
                Compression::Zstd(3),
            ] {
                let codec = Codec { form, compression };
                let found = Codec::of_media(form.media_type(), compression.token());
                assert_eq!(found, Ok(codec));
            }
        }
        let loose = Codec::of_media("Application/JSON;charset=UTF-8", Some("GZIP"));
        assert_eq!(loose.unwrap().to_string(), "json+gzip-6");
        let loose = Codec::of_media("application/vnd.msgpack;form=old", None);
        assert_eq!(loose.unwrap().to_string(), "msgpack-old");
    }

    #[test]
    fn others_are_told_which_there_are() {
        for kind in [
            "",
            "text/json",
            "application/vnd.msgpack; form=new",
            "application/json; q=1",
        ] {
            let refused = Codec::of_media(kind, None).unwrap_err().to_string();
            assert!(
                refused.contains("application/vnd.msgpack; form=old"),
                "{refused}"
            );
        }
        for token in ["", "br", "gzip, gzip"] {
            let refused = Codec::of_media("application/json", Some(token)).unwrap_err();
            assert!(refused.to_string().contains("gzip and zstd"), "{refused}");
        }
    }
}
