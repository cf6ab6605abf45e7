//! A driver that lies, for the tests of host and lab: hyper's, with one thing wrong.
//!
//! Which lie is its first argument or `COMMUTE_HOSTILE`. The lies from `time-before-start`
//! on the host catches by itself; those before it only the server's log refutes. `banner`
//! is no lie and must pass.

use std::io;
use std::process::ExitCode;
use std::{env, process, thread};

use bytes::Bytes;
use driver::protocol::{Action, CallError, Hello, Protocol, Reconnect, Reply, Row, Setup};
use engine::request::HttpRequest;
use engine::serve::{Replies, drive, finish, open};
use engine::stacks::hyper::{Conn, Hyper};
use engine::{Facts, Out, Refused, Stack, Trace};

fn main() -> ExitCode {
    let asked = env::args()
        .nth(1)
        .or_else(|| env::var("COMMUTE_HOSTILE").ok());
    let Some(&(_, lie)) = asked.and_then(|asked| LIES.iter().find(|(name, _)| *name == asked))
    else {
        let names: Vec<_> = LIES.iter().map(|(name, _)| *name).collect();
        eprintln!(
            "name a lie, as argument or in COMMUTE_HOSTILE: {}",
            names.join(", ")
        );
        return ExitCode::FAILURE;
    };
    if lie == Lie::Banner {
        println!("{{\"type\":\"done\"}}\nWelcome! This is stdout, and nobody should care.");
    }
    finish(
        open()
            .and_then(|(requests, replies)| drive::<Masked>(requests, &mut Liar { replies, lie })),
    )
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lie {
    H3OverH2,
    Reuse,
    EarlyData,
    WrongDigest,
    TimeBeforeStart,
    SameIdTwice,
    UnknownId,
    LongLine,
    NoNewline,
    Silence,
    Death,
    Banner,
}

const LIES: [(&str, Lie); 12] = [
    ("claims-h3-over-h2", Lie::H3OverH2),
    ("claims-reuse", Lie::Reuse),
    ("claims-0rtt", Lie::EarlyData),
    ("wrong-digest", Lie::WrongDigest),
    ("time-before-start", Lie::TimeBeforeStart),
    ("same-id-twice", Lie::SameIdTwice),
    ("unknown-id", Lie::UnknownId),
    ("long-line", Lie::LongLine),
    ("no-newline", Lie::NoNewline),
    ("silence", Lie::Silence),
    ("death", Lie::Death),
    ("banner", Lie::Banner),
];

/// Passes on what the engine says, but for the lie.
struct Liar {
    replies: Replies,
    lie: Lie,
}

impl Out for Liar {
    fn send(&mut self, reply: Reply) -> io::Result<()> {
        let Reply::Row(row) = reply else {
            return self.replies.send(reply);
        };
        match self.lie {
            Lie::LongLine => self.long_line(),
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

impl Liar {
    fn long_line(&mut self) -> io::Result<()> {
        for _ in 0..1 << 14 {
            self.replies.write_raw(&[b' '; 1 << 16])?;
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
            resumed: true,
            early_data: true,
            ..row
        },
        Lie::WrongDigest => Row {
            digest: Some("0".repeat(64)),
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

/// hyper, saying H3 where it was asked for H3 and speaking H2.
struct Masked {
    hyper: Hyper,
    claims: Protocol,
}

impl Stack for Masked {
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

    fn new(setup: &Setup) -> Result<Self, Refused> {
        let claims = setup.protocol;
        let protocol = if claims == Protocol::H3 {
            Protocol::H2
        } else {
            claims
        };
        let hyper = Hyper::new(&Setup {
            protocol,
            ..setup.clone()
        })?;
        Ok(Self { hyper, claims })
    }

    fn shares_connection(&self) -> bool {
        self.hyper.shares_connection()
    }

    fn prepare(&self, id: u32, action: &Action) -> Result<HttpRequest, Refused> {
        self.hyper.prepare(id, action)
    }

    fn carrying(&self, request: &HttpRequest, codec: wire::Codec, message: Bytes) -> HttpRequest {
        self.hyper.carrying(request, codec, message)
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

    fn facts(&self, conn: &Conn) -> Facts {
        Facts {
            protocol: self.claims,
            ..self.hyper.facts(conn)
        }
    }

    fn usable(&self, conn: &Conn) -> bool {
        self.hyper.usable(conn)
    }

    async fn close(&self, conn: Conn) {
        self.hyper.close(conn).await;
    }

    fn forget(&self) {
        self.hyper.forget();
    }
}
