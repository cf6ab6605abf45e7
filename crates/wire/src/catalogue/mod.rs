//! The messages of the bench by name: one name and one seed, one message.

mod api;
mod mobile_grpc;
mod unity_msgpack;

use std::fmt;
use std::str::FromStr;

use crate::bench;
use crate::random::Random;
use crate::{Kind, Message};

/// A message of the bench, as `--message` and studies name it.
///
/// ```
/// let name: wire::Name = "big-100".parse().unwrap();
/// let wire::Message::Big(big) = name.message(1) else { unreachable!() };
/// assert_eq!(big.map_arr.len(), 100);
/// assert!("big-nine".parse::<wire::Name>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Name {
    /// Study 1: one string.
    Small,
    /// Study 1: up to ten people with their telephones.
    AddressBook,
    /// Study 1: profiles, posts, reactions, comments.
    Newsfeed,
    /// Study 1: three levels of attributes.
    Large,
    /// Study 1: the same, exactly 5 x 5 x 5, with strings of 60.
    LargeDense,
    /// Study 1: the same with strings of 10.
    LargeSparse,
    /// Study 3: a diagnostic record with so many random bytes.
    Diag {
        /// Of its body.
        bytes: u32,
    },
    /// Study 4: the record that grows with n.
    Big {
        /// Length of its arrays.
        n: u32,
    },
    /// Study 4: the Perl side's data.
    Perl {
        /// How many rows.
        rows: u32,
    },
    /// A page of an app's API, its JSON exactly this long.
    Api {
        /// Of the JSON form.
        bytes: u32,
    },
}

/// No message has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no message is named `{0}`; there are small, address-book, newsfeed, large, large-dense, \
     large-sparse, diag-100kB, diag-1MB, big-N, perl-N (N up to 10000), api-100B, api-2kB, \
     api-20kB, api-100kB"
)]
pub struct NameError(String);

impl Name {
    /// What `commute codec --all` measures.
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

    /// What kind of message it is.
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

    /// The message. `big-N` and `perl-N` know no luck: they are the same for every seed.
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

/// Study 3's record; the study drew its body once for each benchmark, as we do for each seed.
fn diag(random: &mut Random, bytes: u32) -> bench::Diag {
    let mut body: Vec<u8> = (0..bytes.div_ceil(8))
        .flat_map(|_| random.bits().to_le_bytes())
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

/// Keeps `big-N` and `perl-N` within some MB (`perl-N` grows with the square of N).
const COUNT_LIMIT: u32 = 10_000;

#[cfg(test)]
mod tests;
