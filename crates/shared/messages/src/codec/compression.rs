//! gzip and zstd, with a limit on the decompressed size.

use std::io::{self, Read, Write};

use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

const IN_MEMORY: &str = "writing to memory does not fail";

/// The compression applied to encoded bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compression {
    /// No compression.
    None,
    /// gzip (RFC 1952) at this level, by zlib-rs.
    Gzip(u32),
    /// Zstandard (RFC 8878) at this level, by the reference library.
    Zstd(i32),
}

impl Compression {
    /// The compressions that are measured.
    pub const ALL: [Self; 4] = [Self::None, Self::Gzip(1), Self::Gzip(6), Self::Zstd(3)];

    /// Returns the codec's name for a format, e.g. `json+gzip-6` for `json`.
    pub fn codec_name(self, format: &str) -> String {
        match self {
            Self::None => format.to_owned(),
            Self::Gzip(level) => format!("{format}+gzip-{level}"),
            Self::Zstd(level) => format!("{format}+zstd-{level}"),
        }
    }

    /// Returns the value of `content-encoding` (RFC 9110, 8.4.1); none without compression.
    pub fn content_encoding(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Gzip(_) => Some("gzip"),
            Self::Zstd(_) => Some("zstd"),
        }
    }
}

/// Why bytes cannot be decompressed.
#[derive(Debug, thiserror::Error)]
pub enum DecompressError {
    /// The bytes are damaged or truncated.
    #[error("not {format}: {source}")]
    Malformed {
        /// The expected format: `gzip` or `zstd`.
        format: &'static str,
        /// The library's error.
        source: io::Error,
    },
    /// The decompressed bytes exceed the limit.
    #[error("decompresses to more than {limit} bytes")]
    TooLong {
        /// The limit in bytes.
        limit: usize,
    },
}

/// Compresses and decompresses. zstd's contexts are reused, as its manual advises; gzip streams are
/// created per message, as HTTP libraries do.
pub struct Compressor {
    compression: Compression,
    zstd: Option<Box<ZstdContexts>>,
}

struct ZstdContexts {
    compress: zstd::bulk::Compressor<'static>,
    decompress: zstd::zstd_safe::DCtx<'static>,
}

impl Compressor {
    /// Creates the contexts.
    pub fn new(compression: Compression) -> Self {
        let zstd = match compression {
            Compression::Zstd(level) => Some(Box::new(ZstdContexts {
                compress: zstd::bulk::Compressor::new(level)
                    .expect("the level is valid, and there is memory"),
                decompress: zstd::zstd_safe::DCtx::create(),
            })),
            _ => None,
        };
        Self { compression, zstd }
    }

    /// Compresses into a fresh buffer, or returns the same one without compression.
    pub fn compress(&mut self, bytes: Vec<u8>) -> Vec<u8> {
        match (self.compression, &mut self.zstd) {
            (Compression::Gzip(level), _) => {
                let level = flate2::Compression::new(level);
                let mut gzip = GzEncoder::new(Vec::with_capacity(bytes.len() / 2), level);
                gzip.write_all(&bytes).expect(IN_MEMORY);
                gzip.finish().expect(IN_MEMORY)
            }
            (Compression::Zstd(_), Some(zstd)) => zstd.compress.compress(&bytes).expect(IN_MEMORY),
            _ => bytes,
        }
    }

    /// Decompresses to at most `limit` bytes.
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
                    .map_err(|code| malformed("zstd", zstd::zstd_safe::get_error_name(code)))?;
                let decoder =
                    zstd::stream::read::Decoder::with_context(bytes, &mut zstd.decompress);
                bounded(decoder, "zstd", limit)?
            }
            _ => return Ok(bytes.into()),
        };
        Ok(out.into())
    }
}

fn bounded(
    from: impl Read,
    format: &'static str,
    limit: usize,
) -> Result<Vec<u8>, DecompressError> {
    let mut out = Vec::new();
    let mut from = from.take(limit as u64 + 1);
    match from.read_to_end(&mut out) {
        Ok(_) if out.len() > limit => Err(DecompressError::TooLong { limit }),
        Ok(_) => Ok(out),
        Err(source) => Err(DecompressError::Malformed { format, source }),
    }
}

fn malformed(format: &'static str, problem: &'static str) -> DecompressError {
    let source = io::Error::other(problem);
    DecompressError::Malformed { format, source }
}
