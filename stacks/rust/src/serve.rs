//! The conversation with the lab.

use std::env;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::ExitCode;

use driver::env::{ENV_CONNECT, ENV_IN, ENV_OUT};
use driver::protocol::{Action, Reconnect, Reply, Request, RequestError, Setup, Step};
use tokio::sync::mpsc;

use crate::exchange::Exchanges;
use crate::pool::Pool;
use crate::run::Run;
use crate::{Refused, Stack, Trace};

/// A driver's `main`: serves the lab with the stack `S` until it closes.
pub fn serve<S: Stack>() -> ExitCode {
    finish(open().and_then(|(requests, mut replies)| drive::<S>(requests, &mut replies)))
}

/// Says on stderr what went wrong, if anything did.
pub fn finish(outcome: io::Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Requests from the lab, read by a thread of their own, so that connections live on while
/// the lab thinks.
pub struct Requests(mpsc::Receiver<io::Result<String>>);

/// Where replies go.
pub trait Out {
    /// Sends one.
    fn send(&mut self, reply: Reply) -> io::Result<()>;
}

/// Replies as lines to the lab.
pub struct Replies(Box<dyn Write>);

impl Out for Replies {
    fn send(&mut self, reply: Reply) -> io::Result<()> {
        let mut line = serde_json::to_vec(&reply)?;
        line.push(b'\n');
        self.write_raw(&line)
    }
}

impl Replies {
    /// Writes bytes that need not be a reply.
    pub fn write_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }
}

/// Opens the lab's pipes, or connects to it, as the environment says.
pub fn open() -> io::Result<(Requests, Replies)> {
    if let Ok(address) = env::var(ENV_CONNECT) {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        return Ok((
            read_requests(stream.try_clone()?),
            Replies(Box::new(stream)),
        ));
    }
    let path = |name| {
        let unset = || format!("{name} is not set: a driver is started by the lab");
        env::var(name).map_err(|_| io::Error::other(unset()))
    };
    let input = File::open(path(ENV_IN)?)?;
    let output = OpenOptions::new().write(true).open(path(ENV_OUT)?)?;
    Ok((read_requests(input), Replies(Box::new(output))))
}

/// Serves one conversation with the stack `S`.
pub fn drive<S: Stack>(mut requests: Requests, out: &mut dyn Out) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut session = None;
        while let Some(line) = requests.0.recv().await {
            match Request::parse(&line?) {
                Ok(Request::Hello { .. }) => out.send(Reply::Hello(S::hello()))?,
                Ok(Request::Setup(setup)) => match Session::<S>::new(setup).await {
                    Ok(ready) => {
                        session = Some(ready);
                        out.send(Reply::Ready)?;
                    }
                    Err(refused) => out.send(refusal(refused))?,
                },
                Ok(Request::Run { steps }) => match &session {
                    Some(session) => session.run(&steps, out).await?,
                    None => out.send(failed(&"run came before setup"))?,
                },
                Ok(Request::Close) => break,
                Err(RequestError::Unsupported { what }) => {
                    let reason = "this driver does not know it".into();
                    out.send(Reply::Unsupported { what, reason })?;
                }
                Err(malformed) => out.send(failed(&malformed))?,
            }
        }
        if let Some(session) = session {
            session.pool.reconnect(Reconnect::Cold).await;
        }
        Ok(())
    })
}

/// A stack that was set up.
struct Session<S: Stack> {
    pool: Pool<S>,
    exchanges: Exchanges,
    timeout_ns: u64,
}

impl<S: Stack> Session<S> {
    async fn new(setup: Setup) -> Result<Self, Refused> {
        let hello = S::hello();
        if !hello.protocols.contains(&setup.protocol) {
            let what = serde_json::to_string(&setup.protocol).unwrap_or_default();
            let what = format!("protocol {}", what.trim_matches('"'));
            return Err(Refused::unsupported(
                what,
                format!("{} does not speak it", hello.stack),
            ));
        }
        let exchanges = Exchanges::new(&setup, &hello)?;
        let pool = Pool::new(S::new(&setup)?);
        if let Some(url) = &setup.warmup_url {
            let elsewhere = Setup {
                url: url.clone(),
                ..setup.clone()
            };
            warm_up(S::new(&elsewhere)?, setup.warmup_calls.unwrap_or(1)).await?;
        }
        Ok(Self {
            pool,
            exchanges,
            timeout_ns: setup.timeout_ns,
        })
    }

    async fn run(&self, steps: &[Step], out: &mut dyn Out) -> io::Result<()> {
        match Run::prepare(&self.pool, &self.exchanges, steps, self.timeout_ns) {
            Ok(run) => run.follow(out).await,
            Err(refused) => out.send(refusal(refused)),
        }
    }
}

/// Small downloads from another origin, with tickets and connection of their own.
async fn warm_up<S: Stack>(stack: S, calls: u32) -> Result<(), Refused> {
    let request = stack.prepare(0, &Action::Get { bytes: 1 })?;
    let pool = Pool::new(stack);
    let call = async || {
        let trace = Trace::new(0);
        let lease = pool.lease(&trace).await?;
        pool.stack().call(lease.conn(), &request, &trace).await?;
        pool.give_back(lease);
        Ok(())
    };
    let mut outcome: Result<(), driver::protocol::CallError> = Ok(());
    for _ in 0..calls {
        outcome = outcome.and(call().await);
    }
    pool.reconnect(Reconnect::Cold).await;
    outcome.map_err(|error| Refused::Failed(format!("warm-up: {}", error.detail)))
}

fn read_requests(input: impl Read + Send + 'static) -> Requests {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        let mut input = BufReader::new(input);
        while let Some(line) = read_line(&mut input).transpose() {
            let over = line.is_err();
            if sender.blocking_send(line).is_err() || over {
                break;
            }
        }
    });
    Requests(receiver)
}

fn read_line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    match input.take(REQUEST_LIMIT_BYTES).read_line(&mut line)? {
        0 => Ok(None),
        _ if line.ends_with('\n') => Ok(Some(line)),
        n => Err(io::Error::other(format!(
            "the lab's line of {n} bytes has no end"
        ))),
    }
}

fn refusal(refused: Refused) -> Reply {
    match refused {
        Refused::Unsupported { what, reason } => Reply::Unsupported { what, reason },
        Refused::Failed(reason) => Reply::Failed { reason },
    }
}

fn failed(reason: &dyn ToString) -> Reply {
    Reply::Failed {
        reason: reason.to_string(),
    }
}

/// Longest request read. The lab is trusted; a mistake of its should not fill memory.
const REQUEST_LIMIT_BYTES: u64 = 64 << 20;
