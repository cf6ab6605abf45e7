//! HTTPS records (RFC 9460). `getaddrinfo` knows none of them: the app reports what its own resolver answered, or
//! gives name servers that are asked over UDP (feature `https-records`).

#[cfg(feature = "https-records")]
mod ask;
mod expected;
mod message;
mod read;
mod service;

#[cfg(feature = "https-records")]
pub(crate) use ask::h3_record;
pub(crate) use expected::ExpectedRecords;
pub(crate) use read::h3_in;
