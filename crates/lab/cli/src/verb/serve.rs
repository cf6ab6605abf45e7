//! `commute serve`: runs the server under test by itself.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use server::{
    Answers, AuthScheme, Chain, Config, Congestion, Fault, KeyKind, Limits, QuicFault, Server,
    Validity,
};

use crate::{descriptors, exit, out, terminal};

/// Serve HTTP/1.1, HTTP/2, HTTP/3 and gRPC on one name and port.
///
/// Every address listens over TCP and UDP; those of --mtls-listen demand a client certificate.
/// Those of --plaintext-listen listen over TCP without TLS.
///
/// Keys are generated at start. The CA's certificate, a client's certificate and key, and what
/// clients need for --auth are written to --credentials; all other keys stay in memory.
#[derive(clap::Args)]
#[command(after_help = "Try it:\n  \
    commute serve --credentials cred &\n  \
    curl --cacert cred/ca.pem https://localhost:8443/health")]
pub(crate) struct Args {
    /// Address to listen on; repeatable
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8443", value_parser = parse_address)]
    listen: Vec<SocketAddr>,
    /// Address to listen on and demand a client certificate; repeatable
    #[arg(long, value_name = "ADDR", value_parser = parse_address)]
    mtls_listen: Vec<SocketAddr>,
    /// Address to listen on over TCP without TLS, for HTTP/1.1, HTTP/2 and gRPC; repeatable
    #[arg(long, value_name = "ADDR", value_parser = parse_address)]
    plaintext_listen: Vec<SocketAddr>,
    /// How every request must authenticate, except those for /health
    #[arg(long, value_enum)]
    auth: Option<Auth>,
    /// Host name or IP address in the certificate; repeatable
    #[arg(long, value_name = "NAME", default_values = ["localhost", "127.0.0.1", "::1"])]
    name: Vec<String>,
    /// Type of all keys
    #[arg(long, value_enum, default_value_t = Key::P256)]
    key: Key,
    /// Length of the certificate chain
    #[arg(long, value_enum, default_value_t = ChainLength::Typical)]
    chain: ChainLength,
    /// When the certificate is valid, to test that clients reject it
    #[arg(long, value_enum, default_value_t = ValidIn::Now)]
    valid: ValidIn,
    /// Folder for ca.pem, client.pem, client.key, and token.jwt or hmac.key, created if missing
    #[arg(long, value_name = "DIR")]
    credentials: Option<PathBuf>,
    /// File to append the log of connections and requests to, one JSON object per line
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// File to append the secrets of every TLS session to, for Wireshark
    #[arg(long, value_name = "FILE")]
    keylog: Option<PathBuf>,
    /// Folder for a qlog file per QUIC connection, created if missing
    #[arg(long, value_name = "DIR")]
    qlog: Option<PathBuf>,
    /// JSON file of answers to requests of your own, by method and path (docs/server.md)
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
    /// Advertise HTTP/3 to HTTP/1.1 and HTTP/2 clients (Alt-Svc): on their own port, or on PORT,
    /// which this server does not serve
    #[arg(long, value_name = "PORT")]
    alt_svc: Option<Option<NonZeroU16>>,
    /// Accept early data (0-RTT) over QUIC
    #[arg(long)]
    early_data: bool,
    /// Issue no session tickets
    #[arg(long)]
    no_resumption: bool,
    /// Congestion control for QUIC; TCP uses the kernel's default
    #[arg(long, value_enum, default_value_t = Control::Cubic)]
    congestion: Control,
    /// Packets that must be acknowledged after a missing one before QUIC declares it lost
    /// [default: 3, quinn's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(3..))]
    packet_threshold: Option<u32>,
    /// Round trips after which QUIC declares a packet lost, more than 1 [default: 1.125, quinn's]
    #[arg(long, value_name = "RTTS", value_parser = parse_time_threshold)]
    time_threshold: Option<f32>,
    /// Receive buffer of each TCP connection in bytes [default: the kernel's, which grows]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(2048..=16 << 20))]
    receive_buffer: Option<u32>,
    /// Inject a fault into the request with this ID: reset, truncate, garbage, stall, slow,
    /// unavailable or redirect; repeatable
    #[arg(long, value_name = "ID=FAULT", value_parser = parse_fault)]
    inject: Vec<(u32, Fault)>,
    /// Issue session tickets but reject them, so that resumption and early data fail
    #[arg(long)]
    reject_tickets: bool,
    /// Listen on no UDP port, whatever is advertised
    #[arg(long, group = "quic_fault")]
    no_quic: bool,
    /// Complete QUIC handshakes and accept requests, but send clients nothing from their first
    /// request on
    #[arg(long, group = "quic_fault")]
    quic_stall: bool,
    /// Answer UDP datagrams with random bytes
    #[arg(long, group = "quic_fault")]
    quic_garbage: bool,
    /// Complete QUIC handshakes and accept requests, but reset each
    #[arg(long, group = "quic_fault")]
    quic_reset: bool,
    /// Worker threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
    /// Print one line of JSON once listening
    #[arg(long)]
    json: bool,
    /// Leave Nagle's algorithm on, to break the lab deliberately
    #[arg(long, hide = true)]
    nagle: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Key {
    /// ECDSA on P-256
    P256,
    /// RSA, 2048 bits
    #[value(name = "rsa-2048")]
    Rsa2048,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Auth {
    /// A bearer token, RS256, valid for an hour: token.jwt
    Jwt,
    /// A signature by RFC 9421 with a shared secret, commute-1: hmac.key
    Hmac,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ChainLength {
    /// 2.3 kB, as public CAs send
    Typical,
    /// 8 kB, which costs one more round trip over QUIC
    Long,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ValidIn {
    Now,
    /// Expired: valid in 2020
    Past,
    /// Not yet valid: in 2100
    Future,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Control {
    Cubic,
    /// CUBIC as Linux's TCP has it
    LinuxCubic,
    Reno,
    Bbr,
}

pub(crate) fn run(args: Args) -> anyhow::Result<u8> {
    let (json, needs_proof) = (args.json, args.auth.is_some());
    let credentials = args.credentials.clone();
    let mut builder = match args.threads {
        Some(1) => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    if let Some(threads) = args.threads {
        builder.worker_threads(usize::from(threads));
    }
    let config = args.config()?;
    let runtime = builder
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(async {
        let server = Server::bind(config).await?;
        // Watched before anybody can know that there is a server to stop.
        let stopped = until_signal()?;
        if !needs_proof && !terminal::is_quiet() {
            note_open_addresses(&server);
        }
        announce(&server, credentials.as_deref(), json)?;
        server.run(stopped).await?;
        anyhow::Ok(exit::PASS)
    })
}

impl Args {
    fn config(self) -> anyhow::Result<Config> {
        let log = self.log.map(|path| append(&path, "--log", 0o666));
        // Whoever reads the secrets can read what was encrypted with them.
        let key_log = self.keylog.map(|path| append(&path, "--keylog", 0o600));
        if let Some(dir) = &self.qlog {
            std::fs::create_dir_all(dir).with_context(|| format!("--qlog {}", dir.display()))?;
        }
        let answers = self.answers.as_deref().map(Answers::read).transpose();
        Ok(Config {
            listen: self.listen,
            mtls_listen: self.mtls_listen,
            plaintext_listen: self.plaintext_listen,
            auth: self.auth.map(|auth| match auth {
                Auth::Jwt => AuthScheme::Jwt,
                Auth::Hmac => AuthScheme::Hmac,
            }),
            names: self.name,
            key: match self.key {
                Key::P256 => KeyKind::P256,
                Key::Rsa2048 => KeyKind::Rsa2048,
            },
            chain: match self.chain {
                ChainLength::Typical => Chain::Typical,
                ChainLength::Long => Chain::Long,
            },
            validity: match self.valid {
                ValidIn::Now => Validity::Now,
                ValidIn::Past => Validity::Past,
                ValidIn::Future => Validity::Future,
            },
            credentials_dir: self.credentials,
            alt_svc: self.alt_svc.is_some(),
            alt_svc_port: self.alt_svc.flatten(),
            early_data: self.early_data,
            resumption: !self.no_resumption,
            log: log.transpose()?,
            key_log: key_log.transpose()?,
            qlog_dir: self.qlog,
            answers: answers.context("--answers")?.unwrap_or_default(),
            faults: self.inject.into_iter().collect(),
            reject_tickets: self.reject_tickets,
            quic_fault: [
                (self.no_quic, QuicFault::Absent),
                (self.quic_stall, QuicFault::Stall),
                (self.quic_garbage, QuicFault::Garbage),
                (self.quic_reset, QuicFault::Reset),
            ]
            .into_iter()
            .find_map(|(given, fault)| given.then_some(fault)),
            congestion: match self.congestion {
                Control::Cubic => Congestion::Cubic,
                Control::LinuxCubic => Congestion::LinuxCubic,
                Control::Reno => Congestion::NewReno,
                Control::Bbr => Congestion::Bbr,
            },
            packet_threshold: self.packet_threshold,
            time_threshold: self.time_threshold,
            receive_buffer: self.receive_buffer,
            nodelay: !self.nagle,
            limits: match descriptors::raise_limit() {
                Some(descriptors) => Limits::within_descriptors(descriptors),
                None => Limits::default(),
            },
        })
    }
}

fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let write = "write ADDRESS:PORT, e.g. 127.0.0.1:8443 or [::1]:8443; port 0 is any free port";
    text.parse().map_err(|_| write.to_owned())
}

fn parse_time_threshold(text: &str) -> Result<f32, String> {
    match text.parse() {
        Ok(round_trips) if round_trips > 1.0 => Ok(round_trips),
        _ => Err("write a number of round trips above 1, e.g. 2".to_owned()),
    }
}

fn parse_fault(text: &str) -> Result<(u32, Fault), String> {
    let (id, fault) = text.split_once('=').ok_or("write ID=FAULT, e.g. 3=reset")?;
    let id = id
        .parse()
        .map_err(|_| format!("`{id}` is not a request ID; use a number below 2^32"))?;
    let fault = fault.parse::<Fault>().map_err(|e| e.to_string())?;
    Ok((id, fault))
}

/// Opens a file for appending, created with this mode, less the umask.
fn append(path: &Path, option: &str, mode: u32) -> anyhow::Result<File> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(mode)
        .open(path)
        .with_context(|| format!("{option} {}", path.display()))
}

/// Prints the addresses at which other machines may make requests, if requests need not prove who sends them.
fn note_open_addresses(server: &Server) {
    let demanding = server.mtls_addresses();
    let is_open = |address: &SocketAddr| {
        !address.ip().to_canonical().is_loopback() && !demanding.contains(address)
    };
    let addresses = [server.addresses(), server.plaintext_addresses()].concat();
    let open = addresses.iter().filter(|address| is_open(address));
    let open: Vec<String> = open.map(ToString::to_string).collect();
    if !open.is_empty() {
        out::note!(
            "note: whoever reaches {} can use this server's bandwidth, CPU and answers; add --auth jwt or --auth hmac, \
             or listen on 127.0.0.1",
            open.join(" or ")
        );
    }
}

/// Prints the addresses once listening: one line of JSON for programs, a few lines for people.
fn announce(server: &Server, credentials: Option<&Path>, json: bool) -> anyhow::Result<()> {
    let addresses = server.addresses();
    let plaintext = server.plaintext_addresses();
    if json {
        let addresses = addresses.iter().chain(&plaintext);
        let listening: Vec<String> = addresses.map(ToString::to_string).collect();
        let libraries: BTreeMap<&str, &str> = server::LIBRARIES.into();
        let ready = serde_json::json!({ "listening": listening, "libraries": libraries });
        return out::print(&format!("{ready}\n"));
    }
    let mut text = String::new();
    let transports = match server.settings().udp_buffers {
        Some(_) => "TCP and UDP",
        None => "TCP",
    };
    for address in addresses {
        text += &format!("listening on {address}, {transports}\n");
    }
    for address in plaintext {
        text += &format!("listening on {address}, TCP without TLS\n");
    }
    text += &format!("{}\n", server.settings());
    if let Some(dir) = credentials {
        text += &format!("credentials in {}\n", dir.display());
    }
    out::text(&text)
}

/// Returns a future that completes at SIGINT or SIGTERM.
fn until_signal() -> anyhow::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot watch for Ctrl-C")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot watch for SIGTERM")?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}
