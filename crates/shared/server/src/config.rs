//! The configuration of a server.

use std::fs::File;
use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::time::Duration;

use crate::answers::Answers;
use crate::inject::Faults;
use crate::scheme::AuthScheme;

/// The configuration of a server.
#[derive(Debug)]
pub struct Config {
    /// Addresses to listen on, over TCP and UDP. Port 0 takes any port that is free over both.
    pub listen: Vec<SocketAddr>,
    /// Addresses that demand a client certificate.
    pub mtls_listen: Vec<SocketAddr>,
    /// Addresses to listen on over TCP without TLS: HTTP/1.1, and HTTP/2 and gRPC by prior knowledge.
    pub plaintext_listen: Vec<SocketAddr>,
    /// How every request except those for `/health` must prove who sends it; none: it need not.
    pub auth: Option<AuthScheme>,
    /// Host names and addresses the certificate is valid for.
    pub names: Vec<String>,
    /// The type of every key generated at start.
    pub key: KeyKind,
    /// The length of the certificate chain.
    pub chain: Chain,
    /// When the leaf of the chain is valid.
    pub validity: Validity,
    /// Folder that gets `ca.pem`, `client.pem` and `client.key`, for clients, and with `auth`
    /// `token.jwt` or `hmac.key`.
    pub credentials_dir: Option<PathBuf>,
    /// Whether responses over TCP advertise HTTP/3 (Alt-Svc).
    pub alt_svc: bool,
    /// The port that they name; none for their own. On any other, this server does not serve HTTP/3.
    pub alt_svc_port: Option<NonZeroU16>,
    /// Whether early data is accepted over QUIC; needs `resumption`.
    pub early_data: bool,
    /// Whether clients can resume sessions.
    pub resumption: bool,
    /// File for the request log.
    pub log: Option<File>,
    /// File for the secrets of every TLS session, in the format of NSS, with which Wireshark
    /// decrypts captured packets.
    pub key_log: Option<File>,
    /// Folder for a qlog file per QUIC connection, `<id>_server.sqlog` with the connection ID that
    /// the client chose first.
    pub qlog_dir: Option<PathBuf>,
    /// Bounds on the resources of clients.
    pub limits: Limits,
    /// The answers to requests that no route answers.
    pub answers: Answers,
    /// Faults to inject, by request id.
    pub faults: Faults,
    /// How QUIC fails on every address, whatever is advertised; none if it works.
    pub quic_fault: Option<QuicFault>,
    /// Whether session tickets are issued but rejected, so that resumption and early data fail.
    pub reject_tickets: bool,
    /// Congestion control of the QUIC side.
    pub congestion: Congestion,
    /// How many packets later than a lost one must be acknowledged before the loss is declared over
    /// QUIC; none for quinn's default, 3. At least 3 (RFC 9002 section 6.1.1).
    pub packet_threshold: Option<u32>,
    /// After how many round trips a packet is declared lost over QUIC; none for quinn's default, 9/8.
    /// More than 1 (RFC 9002 section 6.1.2).
    pub time_threshold: Option<f32>,
    /// The receive buffer of each TCP connection, bytes; none for the kernel's, which grows. Linux doubles it for its own
    /// needs (socket(7)).
    pub receive_buffer: Option<u32>,
    /// Whether accepted sockets have TCP_NODELAY; false only to break the lab deliberately.
    pub nodelay: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: Vec::new(),
            mtls_listen: Vec::new(),
            plaintext_listen: Vec::new(),
            auth: None,
            names: vec!["localhost".into()],
            key: KeyKind::P256,
            chain: Chain::Typical,
            validity: Validity::Now,
            credentials_dir: None,
            alt_svc: false,
            alt_svc_port: None,
            early_data: false,
            resumption: true,
            log: None,
            key_log: None,
            qlog_dir: None,
            limits: Limits::default(),
            answers: Answers::default(),
            faults: Faults::new(),
            quic_fault: None,
            reject_tickets: false,
            congestion: Congestion::Cubic,
            packet_threshold: None,
            time_threshold: None,
            receive_buffer: None,
            nodelay: true,
        }
    }
}

/// The type of a key pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// ECDSA on the curve P-256.
    P256,
    /// RSA of 2048 bits, for stacks that support nothing else (mono).
    Rsa2048,
}

/// The length of the certificate chain: leaf and intermediate, padded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chain {
    /// 2.3 kB, about what public CAs send for ECDSA keys. Over QUIC it arrives in the first
    /// flight.
    Typical,
    /// 8 kB. Before a QUIC client's address is validated, a server may send three times what it has received (RFC 9000
    /// section 8.1). That is 3.6 kB after the usual first packet of 1.2 kB. After two packets, which clients with
    /// post-quantum keys send, it is 7.2 kB. The rest takes one more round trip. Over TCP all of it fits the initial
    /// window of ten segments (RFC 6928).
    Long,
}

impl Chain {
    /// Returns the length that the chain is padded to, bytes of DER. Signatures of ECDSA vary by
    /// a few.
    pub fn bytes(self) -> usize {
        match self {
            Self::Typical => 2_300,
            Self::Long => 8_000,
        }
    }
}

/// When the leaf of the server's chain is valid: any client must refuse one that is not valid now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// Now.
    Now,
    /// The year 2020.
    Past,
    /// The year 2100.
    Future,
}

/// How QUIC fails on a server whose TCP works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuicFault {
    /// Nothing listens over UDP.
    Absent,
    /// Handshakes succeed and requests are accepted, but from the first request on no datagram is sent
    /// to this client any more.
    Stall,
    /// Every datagram is answered with random bytes.
    Garbage,
    /// Handshakes succeed, and every request is reset.
    Reset,
}

/// A congestion control of quinn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// CUBIC (RFC 9438) as quinn has it, by default.
    Cubic,
    /// CUBIC as Linux's TCP has it: initial window, growth while the application sends little, HyStart, idle restart.
    LinuxCubic,
    /// NewReno (RFC 9002).
    NewReno,
    /// BBR version 1, experimental in quinn.
    Bbr,
}

impl Congestion {
    /// Returns its name in the log: Linux's name for it, where Linux has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::LinuxCubic => "linux-cubic",
            Self::NewReno => "reno",
            Self::Bbr => "bbr",
        }
    }
}

/// Bounds on the resources of clients. Well-behaved clients never meet them.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Concurrent connections, over all ports and both transports together.
    pub connections: usize,
    /// Those of one address, or of one network of 64 bits with IPv6: one client cannot take all.
    pub connections_of_one_address: usize,
    /// Unfinished QUIC handshakes per port. Beyond, a Retry makes further clients validate their
    /// address first (RFC 9000 section 8.1.2), so that floods of forged first packets cost
    /// nothing. Below, there is no Retry.
    pub half_open: usize,
    /// Request head, bytes; at least 8192, the minimum of hyper.
    pub header_bytes: u32,
    /// Request body, bytes.
    pub body_bytes: u64,
    /// Message of an echo or of any method of `commute.v1.Bench`, bytes.
    pub message_bytes: usize,
    /// Message of an exchange, bytes both compressed and decompressed.
    pub exchange_bytes: usize,
    /// Messages, lists and strings inside a message of an exchange; an upper bound of their number is counted before it
    /// is decoded. Decoded, each takes up to some 150 bytes, and numbers up to eight times their size. At most one
    /// message per core is decoded at a time.
    pub exchange_elements: usize,
    /// Messages of a client stream that submits one in parts, bytes in all.
    pub submit_bytes: u64,
    /// Nonces of signed requests that are remembered; beyond, signed requests are refused until the
    /// oldest are too old to be accepted again, after two minutes.
    pub nonces: usize,
    /// Seeded file, bytes.
    pub file_bytes: u64,
    /// Concurrent requests per connection.
    pub streams: u32,
    /// Time from accepting a connection to the end of its handshake.
    pub handshake_time: Duration,
    /// Time from the start of a request to the end of its head; over HTTP/1.1 also the longest
    /// idle time between requests.
    pub header_time: Duration,
    /// Time without activity on any request after which a connection is closed.
    pub idle_time: Duration,
    /// Time that a shutdown waits for requests in flight.
    pub drain_time: Duration,
}

/// Descriptors that are not for connections: listeners, logs, the runtime and files that are read. At most a quarter of
/// all.
const OTHER_DESCRIPTORS: u64 = 64;

impl Limits {
    /// Returns the default limits with no more connections than a process with so many descriptors can hold. Half of
    /// them at most are of one address.
    pub fn within_descriptors(descriptors: u64) -> Self {
        let limits = Self::default();
        let others = OTHER_DESCRIPTORS.min(descriptors / 4);
        let most = usize::try_from(descriptors - others).unwrap_or(usize::MAX);
        let connections = limits.connections.min(most);
        Self {
            connections,
            connections_of_one_address: limits.connections_of_one_address.min(connections / 2),
            ..limits
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 8192,
            connections_of_one_address: 4096,
            half_open: 256,
            header_bytes: 16 << 10,
            body_bytes: 1 << 30,
            message_bytes: 1 << 20,
            exchange_bytes: 4 << 20,
            exchange_elements: 1 << 17,
            submit_bytes: 64 << 20,
            nonces: 1 << 16,
            file_bytes: 16 << 30,
            // RFC 9114 section 6.1 and RFC 9113 section 5.1.2 both ask for at least 100.
            streams: 100,
            handshake_time: Duration::from_secs(30),
            header_time: Duration::from_secs(60),
            idle_time: Duration::from_secs(120),
            drain_time: Duration::from_secs(10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_fit_the_descriptors() {
        let connections = |descriptors| {
            let limits = Limits::within_descriptors(descriptors);
            (limits.connections, limits.connections_of_one_address)
        };
        assert_eq!(connections(100), (75, 37));
        assert_eq!(connections(1_024), (960, 480));
        assert_eq!(connections(20_000), (8_192, 4_096));
        assert_eq!(connections(u64::MAX), (8_192, 4_096));
    }
}
