//! An honest cell of one connection, which tests change: its workload, claim, log, rows and packets.

mod prove;

use driver::protocol::{Clock, Protocol};
use link::tap::TapRecord;
use record::server_log::{ConnectionEvent, RequestEvent, Transport};
use study::Step;
use study::plan::Workload;

use super::*;

/// The digest of the body, `{}`.
const BODY_DIGEST: &str = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";

pub(super) fn workload() -> Workload {
    Workload::expand(&[Step::Call {
        group: "echo".into(),
        body: "{}".into(),
        times: 2,
    }])
}

pub(super) fn connection() -> ServerEvent {
    ServerEvent::Connection(ConnectionEvent {
        connection: 1,
        at_ns: 1_300,
        transport: Transport::Tcp,
        peer_port: 4000,
        ip_version: 6,
        alpn: "h2".into(),
        tls_version: "TLSv1_3".into(),
        cipher: "TLS13_AES_128_GCM_SHA256".into(),
        group: "X25519".into(),
        resumed: false,
        hello_retry: false,
        chain_bytes: 1000,
        client_cert: None,
        congestion: Some("cubic".into()),
    })
}

pub(super) fn request(id: u32, start_ns: u64) -> ServerEvent {
    ServerEvent::Request(RequestEvent {
        id: Some(id),
        connection: 1,
        protocol: "h2".into(),
        method: "POST".into(),
        path: "/echo".into(),
        authority: Some("origin.test:8443".into()),
        start_ns,
        received_ns: None,
        responded_ns: None,
        end_ns: start_ns + 10,
        early_data: false,
        request_bytes: 2,
        request_digest: BODY_DIGEST.into(),
        response_bytes: 2,
        response_digest: "aa".into(),
        status: 200,
        broken: false,
        codec: None,
        decode_ns: None,
        encode_ns: None,
        fields_digest: None,
        auth: None,
        verify_ns: None,
    })
}

pub(super) fn row(id: u32, start_ns: u64) -> Row {
    Row {
        id,
        connection: 1,
        local_port: Some(4000),
        start_ns,
        first_byte_ns: Some(start_ns + 500),
        end_ns: start_ns + 600,
        status: Some(200),
        request_bytes: 2,
        response_bytes: 2,
        digest: Some("aa".into()),
        protocol: Some(Protocol::H2),
        reused: id > 1,
        resumed: Some(false),
        attempts: 1,
        ..Row::default()
    }
}

pub(super) fn claim(workload: &Workload) -> Claim<'_> {
    Claim {
        steps: workload.planned_steps(),
        protocol: Protocol::H2,
        codec: "json",
        auth: None,
        clock: Clock::Monotonic,
        codes_own: false,
        discovery: None,
        destinations: Default::default(),
        run_ns: 1_000,
        least_rtt_ns: 400,
        down_bps: None,
        up_bps: None,
        warmed_up: false,
        traffic: Traffic::of(&[asked(), delivered()]),
    }
}

/// Returns a packet that carries every request of these tests.
pub(super) fn asked() -> TapRecord {
    TapRecord {
        arrival_ns: 1_350,
        departure_ns: 1_360,
        src_port: 4000,
        dst_port: 443,
        direction: link::Direction::Up,
        ..delivered()
    }
}

/// Returns a packet that carries every response of these tests. It is sent after every request, and
/// early enough for the coarsest clock.
pub(super) fn delivered() -> TapRecord {
    TapRecord {
        arrival_ns: 500_000,
        departure_ns: 500_010,
        seq: 0,
        ack: 0,
        ip_bytes: 1040,
        src_port: 443,
        dst_port: 4000,
        payload_bytes: 1000,
        protocol: 6,
        tcp_flags: 0,
        first_byte: 0,
        direction: link::Direction::Down,
        fate: link::tap::Fate::Delivered,
        ip_version: 6,
        ecn: 0,
        stray: false,
        window: 0,
        options: Default::default(),
    }
}
