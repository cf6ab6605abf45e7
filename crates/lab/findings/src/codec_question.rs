//! What a claim asks of two codecs.

use config::{ConfigError, Source};
use serde::Deserialize;
use toml::Spanned;

use crate::expect::{self, Expect, Size};

/// A comparison of two codecs in one runtime, and what the claim expects of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CodecQuestion {
    /// The message, e.g. `newsfeed`.
    pub(crate) message: Spanned<String>,
    /// The runtime, e.g. `jvm`.
    pub(crate) runtime: Spanned<String>,
    /// What is timed.
    pub(crate) part: Part,
    /// What the factor is about.
    #[serde(default)]
    pub(crate) per: Per,
    /// The codec that the claim is about.
    pub(crate) arm: Spanned<String>,
    /// Its library, as the bench names it.
    pub(crate) library: Spanned<String>,
    /// The codec that it is compared with.
    pub(crate) against: Spanned<String>,
    /// Its library.
    pub(crate) against_library: Spanned<String>,
    /// Whether the claim expects the arm to be faster or slower.
    pub(crate) expect: Spanned<Expect>,
    /// The smallest factor in the expected direction that the claim allows.
    pub(crate) at_least: Option<f64>,
    /// The published factor, by its name in `figures`, to which the claim's is near.
    pub(crate) near: Option<Spanned<String>>,
}

/// What a factor of speed is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Per {
    /// Messages per second.
    #[default]
    Message,
    /// Bytes of the codec's own encoding per second.
    Byte,
}

/// What the bench times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Part {
    /// From the library's objects to bytes.
    Encode,
    /// From bytes to the library's objects.
    Decode,
}

impl Part {
    /// Returns its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Part::Encode => "encode",
            Part::Decode => "decode",
        }
    }
}

impl Per {
    /// Returns its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Per::Message => "message",
            Per::Byte => "byte",
        }
    }
}

impl CodecQuestion {
    /// Returns the word for what the claim expects.
    pub(crate) fn direction(&self) -> &'static str {
        match self.expect.as_ref() {
            Expect::Slower => "slower",
            _ => "faster",
        }
    }

    /// Checks what the claim expects.
    pub(crate) fn check(&self, source: &Source<'_>) -> Result<(), ConfigError> {
        let error = |message: &str| Err(source.error(&self.expect.span(), message));
        let [arm, against] = self
            .codecs()
            .map(|(codec, library)| (codec.as_ref(), library.as_ref()));
        if arm == against {
            let message = "`against` is the arm itself; name another codec or library";
            return Err(source.error(&self.against.span(), message));
        }
        match self.expect.as_ref() {
            Expect::NoDifference | Expect::Within => {
                error("a claim on codecs expects `faster` or `slower`")
            }
            _ if self.near.is_some() && self.at_least.is_some() => {
                error("`near` and `at_least` exclude each other")
            }
            _ => Ok(()),
        }
    }

    /// Returns the factors that the claim allows, given the published factor that `near` names.
    pub(crate) fn size(&self, near: Option<f64>) -> Size {
        match near {
            Some(factor) => Some(expect::near(factor)),
            None => self.at_least.map(|least| (least, f64::INFINITY)),
        }
    }

    /// Returns both codecs with their libraries, that of the claim first.
    pub(crate) fn codecs(&self) -> [(&Spanned<String>, &Spanned<String>); 2] {
        [
            (&self.arm, &self.library),
            (&self.against, &self.against_library),
        ]
    }
}
