//! A driver that lies, for the tests of host and lab: hyper's, with one thing wrong.
//!
//! The lie is the first argument. The host detects the lies from `time-before-start` on by
//! itself; only the server's log and the link's packets refute those before it. `banner` is no lie
//! and must pass. What follows it is no lie either, but an attack on the lab.

use std::collections::BTreeMap;
use std::io;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::{env, fs, process, thread};

use bytes::Bytes;
use driver::protocol::{Action, CallError, Hello, Protocol, Reconnect, Reply, Row, Setup};
use engine::channel::{ReplySink, ReplyWriter, open};
use engine::origin::Origin;
use engine::request::HttpRequest;
use engine::serve::{converse, exit_code};
use engine::stack::{ConnInfo, Stack};
use engine::stack_error::StackError;
use engine::stacks::hyper::{Conn, Hyper};
use engine::trace::Trace;

const LIES: [(&str, Lie); 24] = [
    ("claims-h3-over-h2", Lie::H3OverH2),
    ("claims-reuse", Lie::Reuse),
    ("claims-0rtt", Lie::EarlyData),
    ("wrong-digest", Lie::WrongDigest),
    ("other-request", Lie::OtherRequest),
    ("other-body", Lie::OtherBody),
    ("other-fields", Lie::OtherFields),
    ("own-request-unsent", Lie::OwnRequestUnsent),
    ("short-upload", Lie::ShortUpload),
    ("short-download", Lie::ShortDownload),
    ("starts-late", Lie::StartsLate),
    ("ends-early", Lie::EndsEarly),
    ("time-before-start", Lie::TimeBeforeStart),
    ("same-id-twice", Lie::SameIdTwice),
    ("unknown-id", Lie::UnknownId),
    ("long-line", Lie::LongLine),
    ("no-newline", Lie::NoNewline),
    ("silence", Lie::Silence),
    ("death", Lie::Death),
    ("banner", Lie::Banner),
    ("leaves-a-process", Lie::LeavesAProcess),
    ("escape-codes", Lie::EscapeCodes),
    ("long-log", Lie::LongLog),
    ("reaches-out", Lie::ReachesOut),
];

/// Length of the line of `long-line`: 16,384 times 64 KiB.
const LONG_LINE_CHUNKS: usize = 1 << 14;
const LONG_LINE_CHUNK_BYTES: usize = 1 << 16;

/// Bytes of a body that is too short.
const SHORT_BYTES: u64 = 10;

/// What belongs to the lab or the machine, from a driver's home.
const NOT_OURS: [&str; 7] = [
    "..",
    "../server",
    "../server/server.ndjson",
    "../server/credentials/client.key",
    "/etc/shadow",
    "/proc/1/environ",
    "/proc/sys/kernel/core_pattern",
];
/// Lines of the log of `long-log`, 1 KiB each.
const LONG_LOG_LINES: usize = 100_000;

/// The lie of this process.
static LIE: OnceLock<Lie> = OnceLock::new();

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lie {
    H3OverH2,
    Reuse,
    EarlyData,
    WrongDigest,
    OtherRequest,
    OtherBody,
    OtherFields,
    OwnRequestUnsent,
    ShortUpload,
    ShortDownload,
    StartsLate,
    EndsEarly,
    TimeBeforeStart,
    SameIdTwice,
    UnknownId,
    LongLine,
    NoNewline,
    Silence,
    Death,
    Banner,
    LeavesAProcess,
    EscapeCodes,
    LongLog,
    ReachesOut,
}

fn main() -> ExitCode {
    let argument = env::args().nth(1);
    let lie = argument.and_then(|argument| LIES.iter().find(|(name, _)| *name == argument));
    let Some(&(_, lie)) = lie else {
        let names: Vec<_> = LIES.iter().map(|(name, _)| *name).collect();
        eprintln!("give a lie as the argument: {}", names.join(", "));
        return ExitCode::FAILURE;
    };
    LIE.get_or_init(|| lie);
    match lie {
        Lie::LeavesAProcess => leave_a_process(),
        Lie::LongLog => write_long_log(),
        Lie::ReachesOut => reach_out(),
        Lie::EscapeCodes => {
            eprintln!("\u{1b}]0;title\u{7}\u{1b}[2J\u{1b}[31mall cells are clean");
            return ExitCode::FAILURE;
        }
        _ => {}
    }
    if lie == Lie::Banner {
        println!("{{\"type\":\"done\"}}\nWelcome! This is stdout, which the lab must ignore.");
    }
    exit_code(open().and_then(|(requests, replies)| {
        converse::<MislabelledHyper>(requests, &mut FalseReplies { replies, lie })
    }))
}

/// Starts a process that is no descendant of this one and has another process group.
fn leave_a_process() {
    let script = "setsid sleep 600 & exit";
    let started = process::Command::new("sh").args(["-c", script]).status();
    started.expect("sh runs");
}

fn write_long_log() {
    let line = "x".repeat(1 << 10);
    for _ in 0..LONG_LOG_LINES {
        println!("{line}");
    }
}

/// Ends this process if it could change something that is not its own, or read a secret.
fn reach_out() {
    for path in NOT_OURS {
        let readable = path.starts_with("/proc/sys") || path == "..";
        let read = !readable && (fs::read(path).is_ok() || fs::read_dir(path).is_ok());
        let writable = fs::OpenOptions::new().append(true).open(path).is_ok()
            || fs::write(format!("{path}/new"), "").is_ok();
        if read || writable {
            eprintln!("reached {path}");
            process::exit(1);
        }
    }
}

/// Passes on the engine's replies, except for the lie.
struct FalseReplies {
    replies: ReplyWriter,
    lie: Lie,
}

impl ReplySink for FalseReplies {
    fn send(&mut self, reply: Reply) -> io::Result<()> {
        let Reply::Row(row) = reply else {
            return self.replies.send(reply);
        };
        match self.lie {
            Lie::LongLine => self.send_long_line(),
            Lie::NoNewline => {
                let line = serde_json::to_vec(&Reply::Row(row))?;
                self.replies.write_raw(&line)?;
                process::exit(0);
            }
            Lie::Silence => loop {
                thread::park();
            },
            Lie::Death => process::abort(),
            Lie::SameIdTwice => {
                self.replies.send(Reply::Row(row.clone()))?;
                self.replies.send(Reply::Row(row))
            }
            lie => self.replies.send(Reply::Row(falsify(lie, row))),
        }
    }
}

impl FalseReplies {
    fn send_long_line(&mut self) -> io::Result<()> {
        for _ in 0..LONG_LINE_CHUNKS {
            self.replies.write_raw(&[b' '; LONG_LINE_CHUNK_BYTES])?;
        }
        self.replies.write_raw(b"\n")
    }
}

fn falsify(lie: Lie, row: Row) -> Row {
    match lie {
        Lie::Reuse => Row {
            reused: true,
            ..row
        },
        Lie::EarlyData => Row {
            resumed: Some(true),
            early_data: true,
            ..row
        },
        Lie::WrongDigest => Row {
            digest: Some("0".repeat(64)),
            ..row
        },
        Lie::ShortUpload if row.request_bytes == SHORT_BYTES => Row {
            request_bytes: 100_000,
            ..row
        },
        // Whatever a redirect contains, its length is not that of the file.
        Lie::ShortDownload if row.response_bytes == SHORT_BYTES => Row {
            status: Some(302),
            ..row
        },
        Lie::StartsLate => Row {
            start_ns: row.tls_ns.unwrap_or(row.start_ns),
            dns_ns: None,
            connect_ns: None,
            tls_ns: None,
            ..row
        },
        Lie::EndsEarly => Row {
            end_ns: row.first_byte_ns.unwrap_or(row.end_ns),
            ..row
        },
        Lie::TimeBeforeStart => Row { start_ns: 1, ..row },
        Lie::UnknownId => Row {
            id: row.id + 1_000_000,
            ..row
        },
        _ => row,
    }
}

/// hyper that uses H2 when it is set up for H3 and claims H3.
struct MislabelledHyper {
    hyper: Hyper,
    claimed: Protocol,
}

impl Stack for MislabelledHyper {
    type Conn = Conn;
    type Request = HttpRequest;

    fn hello() -> Hello {
        let honest = Hyper::hello();
        let protocols = vec![Protocol::H1, Protocol::H2, Protocol::H3];
        Hello {
            stack: "hostile".into(),
            protocols,
            ..honest
        }
    }

    fn new(setup: &Setup) -> Result<Self, StackError> {
        let claimed = setup.protocol;
        let protocol = if claimed == Protocol::H3 {
            Protocol::H2
        } else {
            claimed
        };
        let hyper = Hyper::new(&Setup {
            protocol,
            ..setup.clone()
        })?;
        Ok(Self { hyper, claimed })
    }

    fn origin(&self) -> &Origin {
        self.hyper.origin()
    }

    fn shares_connection(&self) -> bool {
        self.hyper.shares_connection()
    }

    fn prepare(&self, id: u32, action: &Action, payload: Bytes) -> Result<HttpRequest, StackError> {
        let other = match (LIE.get(), action) {
            (Some(Lie::OtherRequest), Action::Call { .. }) => Action::Get { bytes: 1 },
            (Some(Lie::OtherBody), Action::Call { .. }) => Action::Call {
                body: r#"{"start_ts":1}"#.into(),
            },
            (
                Some(Lie::OtherFields),
                Action::Fetch {
                    method,
                    path,
                    payload: body,
                    ..
                },
            ) => Action::Fetch {
                method: method.clone(),
                path: path.clone(),
                headers: BTreeMap::new(),
                payload: body.clone(),
                answer: None,
            },
            (Some(Lie::OwnRequestUnsent), Action::Fetch { .. }) => Action::Get { bytes: 1 },
            (Some(Lie::ShortUpload), Action::Put { .. }) => Action::Put { bytes: SHORT_BYTES },
            (Some(Lie::ShortDownload), Action::Get { .. }) => Action::Get { bytes: SHORT_BYTES },
            (_, action) => action.clone(),
        };
        self.hyper.prepare(id, &other, payload)
    }

    async fn connect(&self, mode: Reconnect, trace: &Trace) -> Result<Conn, CallError> {
        self.hyper.connect(mode, trace).await
    }

    async fn call(
        &self,
        conn: &Conn,
        request: &HttpRequest,
        trace: &Trace,
    ) -> Result<(), CallError> {
        self.hyper.call(conn, request, trace).await
    }

    fn conn_info(&self, conn: &Conn) -> ConnInfo {
        ConnInfo {
            protocol: self.claimed,
            ..self.hyper.conn_info(conn)
        }
    }

    fn is_usable(&self, conn: &Conn) -> bool {
        self.hyper.is_usable(conn)
    }

    async fn close(&self, conn: Conn) {
        self.hyper.close(conn).await;
    }

    fn discard_tickets(&self) {
        self.hyper.discard_tickets();
    }
}
