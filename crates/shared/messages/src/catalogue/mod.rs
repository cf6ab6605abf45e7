//! The messages of the bench by name: a name and a seed give one message.

mod api;
mod mobile_grpc;
mod unity_msgpack;

use std::fmt;
use std::str::FromStr;

use crate::bench;
use crate::random::Random;
use crate::{Kind, Message};

/// Keeps `big-N` and `perl-N` below some MB (`perl-N` grows with the square of N).
const COUNT_LIMIT: u32 = 10_000;

/// The name of a message of the bench, in studies and in `commute codec --message`.
///
/// ```
/// let name: messages::Name = "big-100".parse().unwrap();
/// let messages::Message::Big(big) = name.message(1) else { unreachable!() };
/// assert_eq!(big.map_arr.len(), 100);
/// assert!("big-nine".parse::<messages::Name>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Name {
    /// From the mobile-grpc study: one string.
    Small,
    /// From the mobile-grpc study: up to ten people with their phone numbers.
    AddressBook,
    /// From the mobile-grpc study: profiles, posts, reactions, comments.
    Newsfeed,
    /// From the mobile-grpc study: three levels of attributes.
    Large,
    /// From the mobile-grpc study: [`Name::Large`] with exactly 5 x 5 x 5 nodes and strings of 60.
    LargeDense,
    /// From the mobile-grpc study: [`Name::LargeDense`] with strings of 10.
    LargeSparse,
    /// From the mtls-hmac study: a diagnostic record with random bytes.
    Diag {
        /// The length of its body.
        bytes: u32,
    },
    /// From the unity-msgpack study: the record that grows with n.
    Big {
        /// The length of its arrays.
        n: u32,
    },
    /// From the unity-msgpack study: the data of its Perl benchmark.
    Perl {
        /// The number of rows.
        rows: u32,
    },
    /// A page of an app's API.
    Api {
        /// The exact length of its JSON.
        bytes: u32,
    },
}

/// The error for a name that no message has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no message is named `{0}`; known: small, address-book, newsfeed, large, large-dense, \
     large-sparse, diag-100kB, diag-1MB, big-N, perl-N (N up to 10000), api-100B, api-2kB, \
     api-20kB, api-100kB"
)]
pub struct NameError(String);

impl Name {
    /// The messages that `commute codec --all` measures.
    pub const ALL: [Self; 15] = [
        Self::Small,
        Self::AddressBook,
        Self::Newsfeed,
        Self::Large,
        Self::LargeDense,
        Self::LargeSparse,
        Self::Diag { bytes: 100_000 },
        Self::Diag { bytes: 1_000_000 },
        Self::Big { n: 0 },
        Self::Big { n: 100 },
        Self::Perl { rows: 10 },
        Self::Api { bytes: 100 },
        Self::Api { bytes: 2_000 },
        Self::Api { bytes: 20_000 },
        Self::Api { bytes: 100_000 },
    ];

    /// Returns the message's type in the schema.
    pub fn kind(self) -> Kind {
        match self {
            Self::Small => Kind::Small,
            Self::AddressBook => Kind::AddressBook,
            Self::Newsfeed => Kind::Newsfeed,
            Self::Large | Self::LargeDense | Self::LargeSparse => Kind::Large,
            Self::Diag { .. } => Kind::Diag,
            Self::Big { .. } => Kind::Big,
            Self::Perl { .. } => Kind::PerlData,
            Self::Api { .. } => Kind::ApiPage,
        }
    }

    /// Makes the message. `big-N` and `perl-N` have nothing random: they ignore the seed.
    pub fn message(self, seed: u64) -> Message {
        let random = &mut Random::new(seed);
        match self {
            Self::Small => mobile_grpc::small(random).into(),
            Self::AddressBook => mobile_grpc::address_book(random).into(),
            Self::Newsfeed => mobile_grpc::newsfeed(random).into(),
            Self::Large => mobile_grpc::large(random).into(),
            Self::LargeDense => mobile_grpc::large_of(random, 60).into(),
            Self::LargeSparse => mobile_grpc::large_of(random, 10).into(),
            Self::Diag { bytes } => diag(random, bytes).into(),
            Self::Big { n } => unity_msgpack::big(n).into(),
            Self::Perl { rows } => unity_msgpack::perl(rows).into(),
            Self::Api { bytes } => api::page(random, bytes as usize).into(),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Small => f.write_str("small"),
            Self::AddressBook => f.write_str("address-book"),
            Self::Newsfeed => f.write_str("newsfeed"),
            Self::Large => f.write_str("large"),
            Self::LargeDense => f.write_str("large-dense"),
            Self::LargeSparse => f.write_str("large-sparse"),
            Self::Diag { bytes } => write!(f, "diag-{}", size(*bytes)),
            Self::Big { n } => write!(f, "big-{n}"),
            Self::Perl { rows } => write!(f, "perl-{rows}"),
            Self::Api { bytes } => write!(f, "api-{}", size(*bytes)),
        }
    }
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let count = |prefix: &str| -> Option<u32> {
            let n = text.strip_prefix(prefix)?.parse().ok()?;
            (n <= COUNT_LIMIT).then_some(n)
        };
        let known = Self::ALL.into_iter().find(|name| name.to_string() == text);
        known
            .or_else(|| count("big-").map(|n| Self::Big { n }))
            .or_else(|| count("perl-").map(|rows| Self::Perl { rows }))
            .ok_or_else(|| NameError(text.to_owned()))
    }
}

/// Makes the mtls-hmac study's record. The study drew the body once per benchmark; here it is drawn
/// once per seed.
fn diag(random: &mut Random, bytes: u32) -> bench::Diag {
    let mut body: Vec<u8> = (0..bytes.div_ceil(8))
        .flat_map(|_| random.next_u64().to_le_bytes())
        .collect();
    body.truncate(bytes as usize);
    bench::Diag {
        can_id: 123_456_789,
        payload: Some(bench::DiagPayload { body }),
    }
}

fn size(bytes: u32) -> String {
    match bytes {
        1_000_000.. => format!("{}MB", bytes / 1_000_000),
        1_000.. => format!("{}kB", bytes / 1_000),
        _ => format!("{bytes}B"),
    }
}

#[cfg(test)]
mod tests;
