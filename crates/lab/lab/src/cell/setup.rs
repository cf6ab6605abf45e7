//! The configuration of the server and the driver of a cell.

use std::collections::BTreeMap;
use std::path::Path;

use driver::manifest::Certificate;
use driver::protocol::{Action, Auth, Capability, Codec, Hello, Protocol, Reconnect, Setup};
use study::plan::encoded_message;
use study::{AuthScheme, LINUX_CUBIC, Security, server_args};

use super::error::CellError;
use super::scratch::Scratch;
use super::server_process::{ServerOptions, ServerProcess};
use super::server_side::ServerSide;
use super::{CellRun, DEFAULT_CONGESTION, own_files, value_files};

/// The id of the key that a server makes for signed requests (`docs/server.md`).
const KEY_ID: &str = "commute-1";

/// Returns the congestion control of TCP that an arm's stands for.
pub(super) fn of_tcp(congestion: &str) -> &str {
    match congestion {
        LINUX_CUBIC => DEFAULT_CONGESTION,
        other => other,
    }
}

impl CellRun<'_> {
    /// Returns the server's options with those that the arm and the workload ask for.
    pub(super) fn server_options(&self, key: Certificate) -> ServerOptions {
        let mut options = ServerOptions {
            key,
            plaintext: self.arm.security == Security::None,
            ..self.server.clone()
        };
        let args = &mut options.args;
        let chain = self.arm.chain.name().to_owned();
        args.extend(["--chain".to_owned(), chain]);
        if self.arm.protocol == Protocol::H3 {
            if let Some(congestion) = &self.arm.congestion {
                args.extend(["--congestion".to_owned(), congestion.clone()]);
            }
            if let Some(packets) = self.arm.packet_threshold {
                args.extend(["--packet-threshold".to_owned(), packets.to_string()]);
            }
            if let Some(round_trips) = self.arm.time_threshold {
                args.extend(["--time-threshold".to_owned(), round_trips.to_string()]);
            }
        }
        if let Some(scheme) = self.arm.auth {
            args.extend(["--auth".to_owned(), scheme.name().to_owned()]);
        }
        args.extend(server_args(self.arm.fault, self.arm.discovery));
        let early_data = Action::Reconnect {
            mode: Reconnect::EarlyData,
        };
        if self.workload.steps.iter().any(|s| s.action == early_data) {
            args.push("--early-data".to_owned());
        }
        options
    }

    /// Returns what the driver gets: the server, the arm's settings, and the files that it may read.
    pub(super) fn setup(
        &self,
        hello: &Hello,
        servers: &ServerSide,
        warmup_server: Option<&ServerProcess>,
        scratch: &Scratch,
    ) -> Result<Setup, CellError> {
        let security = self.arm.security;
        let hand_over = |name: &str| {
            let copy = scratch.hand_over(&servers.credentials().join(name));
            let path = copy.map_err(|e| CellError::io(name, &e))?;
            Ok::<_, CellError>(path.display().to_string())
        };
        let of_mtls = |name| {
            (security == Security::Mtls)
                .then(|| hand_over(name))
                .transpose()
        };
        let files = value_files::write(&self.workload.steps, self.seed, &scratch.client())
            .map_err(|e| CellError::io("value files", &e))?;
        let (values, schema_file) = match files {
            Some(files) => (files.values, Some(files.schema)),
            None => (BTreeMap::new(), None),
        };
        let payloads = own_files::write_payloads(self.workload, &scratch.client())
            .map_err(|e| CellError::io("payloads", &e))?;
        let coded = match self.codes_own(hello) {
            true => own_files::write_types(self.workload, &scratch.client())
                .map_err(|e| CellError::io("types of payloads", &e))?,
            false => BTreeMap::new(),
        };
        let auth = match self.arm.auth {
            None => None,
            Some(AuthScheme::Jwt) => Some(Auth::Jwt {
                token_file: hand_over("token.jwt")?,
            }),
            Some(AuthScheme::Hmac) => Some(Auth::Hmac {
                key_id: KEY_ID.to_owned(),
                key_file: hand_over("hmac.key")?,
            }),
        };
        let mut setup = Setup {
            url: servers.url(security),
            origins: servers.urls(security),
            warmup_url: None,
            warmup_calls: None,
            ca_file: hand_over("ca.pem")?,
            client_cert_file: of_mtls("client.pem")?,
            client_key_file: of_mtls("client.key")?,
            protocol: self.arm.protocol,
            codec: self.codec(hello),
            timeout_ns: self.timeout_ns,
            // TCP's congestion control is set by route, QUIC's by the library. Of these only the server's has
            // `linux-cubic`.
            congestion: match self.arm.congestion.as_deref() {
                Some(LINUX_CUBIC) | None => None,
                Some(name) => (self.arm.protocol == Protocol::H3).then(|| name.to_owned()),
            },
            observe: self.arm.observe.clone(),
            discovery: self.arm.discovery,
            policy: self.arm.policy,
            auth,
            values,
            schema_file,
            payloads,
            coded,
        };
        let of_warmup = warmup_server.map(ServerProcess::authority);
        let all: Vec<_> = servers.authorities().into_iter().chain(of_warmup).collect();
        if all.len() > 1 {
            let handed = ServerProcess::ca_bundle(&all)
                .and_then(|bundle| scratch.hand_over_as(Path::new("bundle.pem"), &bundle));
            let handed = handed.map_err(|e| CellError::io("bundle.pem", &e))?;
            setup.ca_file = handed.display().to_string();
        }
        if let Some(other) = warmup_server {
            setup.warmup_url = Some(other.url(match security {
                Security::Mtls => Security::Tls,
                other => other,
            }));
            setup.warmup_calls = Some(self.arm.warmup_calls);
        }
        if let Some(amend) = self.amend_setup {
            amend(&mut setup);
        }
        Ok(setup)
    }

    /// Reports whether the driver encodes and decodes the bodies of the study's own requests within them.
    /// What a server of the user's own answers is not known.
    pub(super) fn codes_own(&self, hello: &Hello) -> bool {
        hello.capabilities.contains(&Capability::Coding)
            && hello.codecs.contains(&self.arm.codec)
            && self.external.is_none()
    }

    /// Returns the codec that the driver must have: the arm's, or a plain one if the driver encodes nothing itself. In
    /// that case the payloads of the study's own requests are encoded beforehand.
    fn codec(&self, hello: &Hello) -> Codec {
        let mut steps = self.workload.steps.iter();
        match self.codes_own(hello) || steps.any(|step| encoded_message(step).is_some()) {
            true => self.arm.codec.clone(),
            false => Codec::plain(self.arm.protocol),
        }
    }
}
