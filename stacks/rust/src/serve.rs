//! The driver's side of the conversation.

use std::collections::BTreeMap;
use std::io;
use std::pin::pin;
use std::process::ExitCode;

use bytes::Bytes;
use driver::protocol::{Action, CallError, Reconnect, Reply, Request, RequestError, Setup, Step};
use futures_util::future::{Either, select};

use crate::auth::Auth;
use crate::channel::{ReplySink, RequestReader, open};
use crate::coding::Coders;
use crate::exchange::Exchanger;
use crate::pool::{Pool, Pools};
use crate::run::Run;
use crate::stack::Stack;
use crate::stack_error::StackError;
use crate::trace::Trace;

/// Serves the lab with the stack `S` until the lab closes the conversation: a driver's `main`.
pub fn serve<S: Stack>() -> ExitCode {
    exit_code(open().and_then(|(requests, mut replies)| converse::<S>(requests, &mut replies)))
}

/// Returns the exit code of an outcome, and writes an error to stderr.
pub fn exit_code(outcome: io::Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Holds one conversation, with the stack `S`.
pub fn converse<S: Stack>(
    mut requests: RequestReader,
    replies: &mut dyn ReplySink,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut session = None;
        // What came during a run and was no notice.
        let mut early = None;
        loop {
            let next = match early.take() {
                Some(line) => Some(line),
                None => requests.next().await,
            };
            let Some(line) = next else { break };
            match Request::parse(&line?) {
                Ok(Request::Hello { .. }) => replies.send(Reply::Hello(S::hello()))?,
                Ok(Request::Setup(setup)) => match Session::<S>::new(setup).await {
                    Ok(ready) => {
                        session = Some(ready);
                        replies.send(Reply::Ready)?;
                    }
                    Err(error) => replies.send(error_reply(error))?,
                },
                Ok(Request::Run { steps }) => match &session {
                    Some(session) => {
                        let run = pin!(session.run(&steps, replies));
                        let notices = pin!(session.notice(&mut requests));
                        match select(run, notices).await {
                            Either::Left((ran, _)) => ran?,
                            Either::Right((line, run)) => {
                                run.await?;
                                match line {
                                    Some(line) => early = Some(line),
                                    None => break,
                                }
                            }
                        }
                    }
                    None => replies.send(failed(&"run came before setup"))?,
                },
                // It came after the last step had ended.
                Ok(Request::Network { id }) => {
                    if let Some(session) = &session {
                        session.pools.change_network(id);
                    }
                }
                Ok(Request::Close) => break,
                Err(RequestError::Unsupported { what }) => {
                    let reason = "this driver does not know it".into();
                    replies.send(Reply::Unsupported { what, reason })?;
                }
                Err(malformed) => replies.send(failed(&malformed))?,
            }
        }
        if let Some(session) = session {
            session.pools.reconnect(Reconnect::Cold).await;
        }
        Ok(())
    })
}

/// A stack that has been set up.
struct Session<S: Stack> {
    pools: Pools<S>,
    exchanger: Exchanger,
    /// Of `fetch` steps, by name.
    payloads: BTreeMap<String, Bytes>,
    coders: Coders,
    auth: Option<Auth>,
    timeout_ns: u64,
}

impl<S: Stack> Session<S> {
    async fn new(setup: Setup) -> Result<Self, StackError> {
        let hello = S::hello();
        if !hello.protocols.contains(&setup.protocol) {
            return Err(StackError::unsupported(
                format!("protocol {}", setup.protocol.name()),
                format!("{} does not have it", hello.stack),
            ));
        }
        let exchanger = Exchanger::new(&setup, &hello)?;
        let coders = Coders::new(&setup, exchanger.codec())?;
        let payloads = setup.payloads.iter().map(|(name, path)| {
            let read = std::fs::read(path);
            let read = read.map_err(|error| StackError::Failed(format!("{path}: {error}")))?;
            Ok((name.clone(), read.into()))
        });
        let payloads = payloads.collect::<Result<_, StackError>>()?;
        let auth = setup.auth.as_ref().map(Auth::read).transpose()?;
        let pools = Pools::new(&setup)?;
        if let Some(url) = &setup.warmup_url {
            let warmup = Setup {
                url: url.clone(),
                ..setup.clone()
            };
            warm_up(S::new(&warmup)?, setup.warmup_calls.unwrap_or(1)).await?;
        }
        Ok(Self {
            pools,
            exchanger,
            payloads,
            coders,
            auth,
            timeout_ns: setup.timeout_ns,
        })
    }

    /// Passes on each notice of a change of network. Returns the first line that is something else; none at end of
    /// file.
    async fn notice(&self, requests: &mut RequestReader) -> Option<io::Result<String>> {
        loop {
            let line = requests.next().await?;
            match line.as_deref().map(Request::parse) {
                Ok(Ok(Request::Network { id })) => self.pools.change_network(id),
                _ => return Some(line),
            }
        }
    }

    async fn run(&self, steps: &[Step], replies: &mut dyn ReplySink) -> io::Result<()> {
        let run = Run::prepare(
            &self.pools,
            &self.exchanger,
            &self.payloads,
            &self.coders,
            self.auth.as_ref(),
            steps,
            self.timeout_ns,
        );
        match run {
            Ok(run) => run.follow(replies).await,
            Err(error) => replies.send(error_reply(error)),
        }
    }
}

/// Makes small downloads from another origin, with a connection and tickets of their own.
async fn warm_up<S: Stack>(stack: S, calls: u32) -> Result<(), StackError> {
    let request = stack.prepare(0, &Action::Get { bytes: 1 }, Bytes::new())?;
    let pool = Pool::new(stack);
    let call = async || {
        let trace = Trace::new(0);
        let conn = pool.acquire(&trace).await?;
        pool.stack().call(conn.get(), &request, &trace).await?;
        pool.release(conn);
        Ok(())
    };
    let mut outcome: Result<(), CallError> = Ok(());
    for _ in 0..calls {
        outcome = outcome.and(call().await);
    }
    pool.reconnect(Reconnect::Cold).await;
    outcome.map_err(|error| StackError::Failed(format!("warm-up: {}", error.detail)))
}

fn error_reply(error: StackError) -> Reply {
    match error {
        StackError::Unsupported { what, reason } => Reply::Unsupported { what, reason },
        StackError::Failed(reason) => Reply::Failed { reason },
    }
}

fn failed(reason: &dyn ToString) -> Reply {
    Reply::Failed {
        reason: reason.to_string(),
    }
}
