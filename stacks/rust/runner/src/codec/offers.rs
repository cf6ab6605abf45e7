//! The table of codecs, one library per line.

use driver::codec_runner::Part;
use messages::Compression::{Gzip, Zstd};
use messages::{Kind, with_kind};

use super::cbor::MinicborSerde;
use super::compressed::Compressed;
use super::empty::Empty;
use super::flat::Planus;
use super::json::{SerdeJson, SonicRs};
use super::msgpack::{Old, RmpArray, RmpNamed};
use super::protobuf::Prost;
use super::{Codec, TypedCodec, zeromp};

/// One library for one codec.
pub(crate) struct Offer {
    pub(crate) codec: &'static str,
    /// The library, and how it is called where there are several ways.
    pub(crate) library: &'static str,
    pub(crate) version: &'static str,
    pub(crate) parts: &'static [Part],
    /// A caveat on every result.
    pub(crate) caveat: Option<&'static str>,
    /// Why it refuses valid bytes of other libraries.
    pub(crate) rejects_valid: Option<&'static str>,
    /// Opens the library for a kind of message.
    pub(crate) open: fn(Kind) -> Box<dyn Codec>,
}

/// An [`Offer`] with the parts `Encode` and `Decode`, or with those given.
macro_rules! offer {
    ($codec:literal, $library:literal, $version:expr, $new:expr) => {
        offer!($codec, $library, $version, $new, [Encode, Decode], None, None)
    };
    (
        $codec:literal, $library:literal, $version:expr, $new:expr,
        [$($part:ident),*], $caveat:expr, $rejects_valid:expr
    ) => {
        Offer {
            codec: $codec,
            library: $library,
            version: $version,
            parts: &[$(Part::$part),*],
            caveat: $caveat,
            rejects_valid: $rejects_valid,
            open: |kind| with_kind!(kind, T => Box::new(TypedCodec::<_, T>::new($new))),
        }
    };
}

/// All offers.
#[rustfmt::skip]
pub(crate) const OFFERS: &[Offer] = &[
    offer!("json", "serde_json", SERDE_JSON, SerdeJson),
    offer!("json", "sonic-rs", SONIC_RS, SonicRs, [Encode, Decode], Some(DEPTH), None),
    offer!("protobuf", "prost", PROST, Prost),
    offer!("msgpack", "rmp-serde", RMP_SERDE, RmpNamed),
    offer!("msgpack", "zerompk", ZEROMPK, zeromp::Named, [Encode, Decode], None, Some(STRICT)),
    offer!("msgpack-array", "rmp-serde", RMP_SERDE, RmpArray),
    offer!("msgpack-array", "zerompk", ZEROMPK, zeromp::Positional,
        [Encode, Decode], None, Some(STRICT)),
    offer!("msgpack-old", "commute's own serialiser on rmp", RMP, Old),
    offer!("cbor", "minicbor-serde", MINICBOR_SERDE, MinicborSerde),
    offer!("flatbuffers", "planus owned", PLANUS, Planus::default(),
        [Populate, Encode, Decode, Convert], Some(COPIES), None),
    offer!("json+gzip-1", "serde_json, flate2 on zlib-rs", JSON_GZIP, Compressed::new(SerdeJson, Gzip(1))),
    offer!("json+gzip-6", "serde_json, flate2 on zlib-rs", JSON_GZIP, Compressed::new(SerdeJson, Gzip(6))),
    offer!("json+zstd-3", "serde_json, zstd", JSON_ZSTD, Compressed::new(SerdeJson, Zstd(3))),
    offer!("protobuf+gzip-6", "prost, flate2 on zlib-rs", PROTOBUF_GZIP, Compressed::new(Prost, Gzip(6))),
    offer!("protobuf+zstd-3", "prost, zstd", PROTOBUF_ZSTD, Compressed::new(Prost, Zstd(3))),
    offer!("empty", "none", env!("CARGO_PKG_VERSION"), Empty),
];

const DEPTH: &str = "skips unknown fields by unbounded recursion: an app must check the nesting depth of its input, \
     which is not timed";
const STRICT: &str = "refuses positive numbers in an unsigned format where the field is signed, as other libraries \
     write them";
const COPIES: &str =
    "convert copies strings and arrays, which an app that no longer needs the table would move";

// The versions in the lock file, hence the ones in use.
const JSON_GZIP: &str = concat!(
    env!("SERDE_JSON_VERSION"),
    ", ",
    env!("FLATE2_VERSION"),
    " on ",
    env!("ZLIB_RS_VERSION")
);
const JSON_ZSTD: &str = concat!(env!("SERDE_JSON_VERSION"), ", ", env!("ZSTD_VERSION"));
const PROTOBUF_GZIP: &str = concat!(
    env!("PROST_VERSION"),
    ", ",
    env!("FLATE2_VERSION"),
    " on ",
    env!("ZLIB_RS_VERSION")
);
const PROTOBUF_ZSTD: &str = concat!(env!("PROST_VERSION"), ", ", env!("ZSTD_VERSION"));
const MINICBOR_SERDE: &str = env!("MINICBOR_SERDE_VERSION");
const PLANUS: &str = env!("PLANUS_VERSION");
const PROST: &str = env!("PROST_VERSION");
const RMP: &str = env!("RMP_VERSION");
const RMP_SERDE: &str = env!("RMP_SERDE_VERSION");
const SERDE_JSON: &str = env!("SERDE_JSON_VERSION");
const SONIC_RS: &str = env!("SONIC_RS_VERSION");
const ZEROMPK: &str = env!("ZEROMPK_VERSION");
