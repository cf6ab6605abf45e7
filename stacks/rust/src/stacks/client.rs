//! commute's own client: one engine, whose policy is pinned to HTTP/2 or HTTP/3, or free.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::Path;

use bytes::Bytes;
use client::{
    Engine, Error, Fault, Identity, Network, NetworkId, NetworkKind, Policy, Progress, Trust,
};
use driver::clock::{monotonic_of, monotonic_resolution_ns};
use driver::protocol::{
    self, CallError, Capability, Clock, ErrorKind, Hello, Protocol, Reconnect, Setup, VERSION,
};

use crate::call_error::check_status;
use crate::exchange::{CODECS, codecs};
use crate::origin::Origin;
use crate::request::HttpRequest;
use crate::stack::{ConnInfo, Stack};
use crate::stack_error::StackError;
use crate::tls;
use crate::trace::Trace;

/// The engine, set up for one origin.
pub struct Client {
    engine: Engine,
    origin: Origin,
    policy: Policy,
}

impl Stack for Client {
    /// The engine has its own connections; this is how the next ones are opened.
    type Conn = Reconnect;
    type Request = HttpRequest;

    fn hello() -> Hello {
        Hello {
            version: VERSION,
            stack: "commute client".into(),
            stack_version: concat!(
                env!("CARGO_PKG_VERSION"),
                ", hyper ",
                env!("HYPER_VERSION"),
                ", quinn-proto ",
                env!("QUINN_PROTO_VERSION")
            )
            .into(),
            tls: tls::VERSION.into(),
            protocols: vec![Protocol::H1, Protocol::H2, Protocol::H3, Protocol::Auto],
            capabilities: vec![
                Capability::Mtls,
                Capability::Resume,
                Capability::EarlyData,
                Capability::Parallel,
                Capability::Cancel,
                Capability::AltSvc,
                Capability::Jwt,
                Capability::Hmac,
                Capability::Submit,
                Capability::Until,
                Capability::Origins,
                Capability::Policy,
                Capability::Fetch,
                Capability::Coding,
                Capability::Network,
            ],
            clock: Clock::Monotonic,
            resolution_ns: monotonic_resolution_ns(),
            phases: phases(),
            settings: settings(),
            codecs: codecs(&CODECS),
        }
    }

    fn new(setup: &Setup) -> Result<Self, StackError> {
        let origin = Origin::parse(&setup.url)?;
        if !origin.tls {
            return Err(StackError::unsupported(
                "plaintext",
                "the engine always has TLS",
            ));
        }
        if setup.protocol == Protocol::H3 && setup.discovery.is_some() {
            let reason = "pinned to HTTP/3 it discovers nothing; use protocol auto";
            return Err(StackError::unsupported("discovery", reason));
        }
        if setup.congestion.is_some() {
            let reason = "the engine uses the libraries' defaults";
            return Err(StackError::unsupported("congestion", reason));
        }
        let policy = match (setup.protocol, setup.policy) {
            (Protocol::H1, _) => Policy::H1,
            (Protocol::H2, _) => Policy::H2,
            (Protocol::H3, _) => Policy::H3,
            (_, Some(protocol::Policy::Race)) => Policy::Race,
            (_, None) => Policy::Adaptive,
        };
        let read = |file: &String| {
            fs::read(file).map_err(|error| StackError::Failed(format!("{file}: {error}")))
        };
        let mut builder = Engine::builder().trust(Trust::Roots(read(&setup.ca_file)?));
        if setup.discovery.is_none() {
            builder = builder.hint_h3(&setup.url);
        }
        if let (Some(chain), Some(key)) = (&setup.client_cert_file, &setup.client_key_file) {
            let (chain_pem, key_pem) = (read(chain)?, read(key)?);
            builder = builder.identity(Identity { chain_pem, key_pem });
        }
        if let Some(home) = env::var_os("HOME") {
            let of_origin = setup.url.replace(['/', ':'], "_");
            builder = builder.memory(Path::new(&home).join("client").join(of_origin));
        }
        let engine = builder
            .build()
            .map_err(|error| StackError::Failed(error.to_string()))?;
        Ok(Self {
            engine,
            origin,
            policy,
        })
    }

    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn shares_connection(&self) -> bool {
        true
    }

    fn chooses_connections(&self) -> bool {
        true
    }

    fn check_mode(&self, mode: Reconnect) -> Result<(), StackError> {
        if mode == Reconnect::EarlyData && matches!(self.policy, Policy::H1 | Policy::H2) {
            let reason = "the client sends none over TCP";
            return Err(StackError::unsupported("early data", reason));
        }
        Ok(())
    }

    /// Returns the mode without connecting: the engine opens connections when a request needs one.
    async fn connect(&self, mode: Reconnect, _trace: &Trace) -> Result<Reconnect, CallError> {
        Ok(mode)
    }

    async fn call(
        &self,
        conn: &Reconnect,
        request: &HttpRequest,
        trace: &Trace,
    ) -> Result<(), CallError> {
        let (head, ()) = request.head(&self.origin).into_parts();
        let body: Bytes = request
            .body(trace)
            .fold(Vec::new(), |mut all, chunk| {
                all.extend_from_slice(&chunk);
                all
            })
            .into();
        let mut send = self.engine.request(head.method, &head.uri.to_string());
        for (name, value) in &head.headers {
            send = send.header(name, value);
        }
        let progress = Progress::default();
        trace.edit(|row| row.attempts = 1);
        let _described = Describe {
            trace,
            progress: progress.clone(),
        };
        // As an app would label its endpoints.
        let sent = send
            .kind(head.uri.path())
            .policy(self.policy)
            .early_data(*conn == Reconnect::EarlyData)
            .body(body)
            .progress(&progress)
            .send()
            .await;
        let mut response = sent.map_err(|error| call_error(&error))?;
        let status = response.status();
        trace.edit(|row| row.status = Some(status.as_u16()));
        while let Some(chunk) = response.chunk().await.map_err(|error| call_error(&error))? {
            trace.receive(chunk);
        }
        if response.report().resumed_bodies > 0 {
            // The server's last answer was the rest of the body.
            trace.edit(|row| row.status = Some(206));
        }
        check_status(status)
    }

    fn conn_info(&self, _conn: &Reconnect) -> ConnInfo {
        unreachable!("`call` describes the connection of each row")
    }

    fn is_usable(&self, _conn: &Reconnect) -> bool {
        true
    }

    async fn close(&self, _conn: Reconnect) {
        self.engine.disconnect().await;
    }

    fn discard_tickets(&self) {
        self.engine.forget_sessions();
    }

    fn change_network(&self, id: u32) {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&id.to_le_bytes());
        self.engine.network(Some(Network {
            id: NetworkId(bytes),
            kind: NetworkKind::Cellular,
            metered: false,
        }));
    }
}

/// Writes what is known of a call's way into its row, even if the call is dropped.
struct Describe<'a> {
    trace: &'a Trace,
    progress: Progress,
}

impl Drop for Describe<'_> {
    fn drop(&mut self) {
        let Some(report) = self.progress.report() else {
            return;
        };
        let asked_ns = monotonic_of(report.asked);
        let at = |after: Option<u64>| Some(asked_ns + after?);
        self.trace.edit(|row| {
            row.attempts = report.attempts;
            row.connection = u32::try_from(report.connection).unwrap_or(u32::MAX);
            row.local_port = Some(report.local_port);
            row.protocol = Some(match report.protocol {
                client::Protocol::H1 => Protocol::H1,
                client::Protocol::H2 => Protocol::H2,
                client::Protocol::H3 => Protocol::H3,
            });
            row.reused = report.reused;
            row.resumed = Some(report.resumed);
            row.early_data = report.early_data;
            row.dns_ns = at(report.phases.dns_ns);
            row.connect_ns = at(report.phases.connect_ns);
            row.tls_ns = at(report.phases.tls_ns);
            row.request_sent_ns = at(report.phases.request_sent_ns);
            row.first_byte_ns = at(report.phases.first_byte_ns);
        });
    }
}

fn call_error(error: &Error) -> CallError {
    let kind = match error {
        Error::Failed { fault, .. } => match fault {
            Fault::Name => ErrorKind::Dns,
            Fault::Connect => ErrorKind::Connect,
            Fault::Handshake | Fault::Certificate => ErrorKind::Tls,
            Fault::Reset => ErrorKind::Reset,
            Fault::Protocol | Fault::Malformed | Fault::Http11Required => ErrorKind::Protocol,
            Fault::Offline | Fault::TooMany | Fault::HeadTooLarge => ErrorKind::Other,
        },
        Error::TimedOut(_) => ErrorKind::Timeout,
        _ => ErrorKind::Other,
    };
    crate::call_error::call_error(kind, error)
}

fn phases() -> BTreeMap<String, String> {
    [
        ("dns", "getaddrinfo returned"),
        ("connect", "TCP connect returned"),
        ("tls", "TLS or QUIC handshake complete"),
        ("request_sent", "request handed to the transport"),
        ("signed", "digest and signature computed"),
        ("first_byte", "response head delivered"),
        ("end", "end of body delivered"),
    ]
    .map(|(phase, source)| (phase.into(), source.into()))
    .into()
}

fn settings() -> BTreeMap<String, String> {
    [
        ("h2 windows", "5 MiB connection, 2 MiB stream"),
        ("quic windows", "6 MiB connection, 2 MiB stream"),
        ("tcp_nodelay", "on"),
        ("memory", "a file for each origin"),
        (
            "retries",
            "if the peer cannot have acted, or the request is idempotent",
        ),
    ]
    .map(|(name, value)| (name.into(), value.into()))
    .into()
}
