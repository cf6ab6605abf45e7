//! gzip and zstd, with a bound on what comes out.

use std::io::{self, Read, Write};

use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// How bytes are made shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip (RFC 1952) at this level, by zlib-rs.
    Gzip(u32),
    /// Zstandard (RFC 8878) at this level, by the reference library.
    Zstd(i32),
}

impl Compression {
    /// Those that are measured.
    pub const ALL: [Self; 4] = [Self::None, Self::Gzip(1), Self::Gzip(6), Self::Zstd(3)];

    /// What a form is called when this is done to its bytes: `json+gzip-6` of `json`.
    pub fn codec_name(self, form: &str) -> String {
        match self {
            Self::None => form.to_owned(),
            Self::Gzip(level) => format!("{form}+gzip-{level}"),
            Self::Zstd(level) => format!("{form}+zstd-{level}"),
        }
    }

    /// Its token in `content-encoding` (RFC 9110, 8.4.1), if it does anything.
    pub fn token(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Gzip(_) => Some("gzip"),
            Self::Zstd(_) => Some("zstd"),
        }
    }
}

/// Compressed bytes that cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum DecompressError {
    /// Broken, or cut short.
    #[error("not {token}: {source}")]
    Broken {
        /// What it should have been.
        token: &'static str,
        /// The library's words.
        source: io::Error,
    },
    /// More than anybody sends.
    #[error("unfolds to more than {limit} bytes")]
    TooLong {
        /// The bound.
        limit: usize,
    },
}

/// A compression at work. zstd's contexts are kept, as its manual advises; a gzip stream's
/// are made anew, as HTTP libraries do.
pub struct Compressor {
    compression: Compression,
    zstd: Option<Box<ZstdContexts>>,
}

struct ZstdContexts {
    compress: zstd::bulk::Compressor<'static>,
    decompress: zstd::zstd_safe::DCtx<'static>,
}

impl Compressor {
    /// Takes up the work.
    pub fn new(compression: Compression) -> Self {
        let zstd = match compression {
            Compression::Zstd(level) => Some(Box::new(ZstdContexts {
                compress: zstd::bulk::Compressor::new(level)
                    .expect("a level the library knows, and memory"),
                decompress: zstd::zstd_safe::DCtx::create(),
            })),
            _ => None,
        };
        Self { compression, zstd }
    }

    /// Compresses into a fresh buffer; without compression it is the same one.
    pub fn compress(&mut self, bytes: Vec<u8>) -> Vec<u8> {
        const WHY: &str = "a buffer in memory takes whatever comes";
        match (self.compression, &mut self.zstd) {
            (Compression::Gzip(level), _) => {
                let level = flate2::Compression::new(level);
                let mut gzip = GzEncoder::new(Vec::with_capacity(bytes.len() / 2), level);
                gzip.write_all(&bytes).expect(WHY);
                gzip.finish().expect(WHY)
            }
            (Compression::Zstd(_), Some(zstd)) => zstd.compress.compress(&bytes).expect(WHY),
            _ => bytes,
        }
    }

    /// Takes the compression off; at most `limit` bytes come out.
    pub fn decompress<'b>(
        &mut self,
        bytes: &'b [u8],
        limit: usize,
    ) -> Result<std::borrow::Cow<'b, [u8]>, DecompressError> {
        let out = match (self.compression, &mut self.zstd) {
            (Compression::Gzip(_), _) => bounded(GzDecoder::new(bytes), "gzip", limit)?,
            (Compression::Zstd(_), Some(zstd)) => {
                zstd.decompress
                    .reset(zstd::zstd_safe::ResetDirective::SessionOnly)
                    .map_err(|code| broken("zstd", zstd::zstd_safe::get_error_name(code)))?;
                let decoder =
                    zstd::stream::read::Decoder::with_context(bytes, &mut zstd.decompress);
                bounded(decoder, "zstd", limit)?
            }
            _ => return Ok(bytes.into()),
        };
        Ok(out.into())
    }
}

fn bounded(from: impl Read, token: &'static str, limit: usize) -> Result<Vec<u8>, DecompressError> {
    let mut out = Vec::new();
    let mut from = from.take(limit as u64 + 1);
    match from.read_to_end(&mut out) {
        Ok(_) if out.len() > limit => Err(DecompressError::TooLong { limit }),
        Ok(_) => Ok(out),
        Err(source) => Err(DecompressError::Broken { token, source }),
    }
}

fn broken(token: &'static str, problem: &'static str) -> DecompressError {
    let source = io::Error::other(problem);
    DecompressError::Broken { token, source }
}
