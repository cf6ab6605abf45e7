//! The driver's end of its channel to the lab.

use std::env;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use driver::env::{ENV_CONNECT, ENV_IN, ENV_OUT};
use driver::protocol::Reply;
use tokio::sync::mpsc;

/// Longest request accepted. The lab is trusted, but a bug in it should not fill memory.
const REQUEST_LIMIT_BYTES: u64 = 64 << 20;

/// Lines from the lab, read by a thread of their own, so that connections are served while the
/// driver waits for the lab.
pub struct RequestReader(mpsc::Receiver<io::Result<String>>);

/// Where replies are sent.
pub trait ReplySink {
    /// Sends one reply.
    fn send(&mut self, reply: Reply) -> io::Result<()>;
}

/// Writes replies to the lab, one per line.
pub struct ReplyWriter(Box<dyn Write>);

impl RequestReader {
    fn new(input: impl Read + Send + 'static) -> Self {
        let (sender, receiver) = mpsc::channel(1);
        std::thread::spawn(move || {
            let mut input = BufReader::new(input);
            while let Some(line) = read_line(&mut input).transpose() {
                let failed = line.is_err();
                if sender.blocking_send(line).is_err() || failed {
                    break;
                }
            }
        });
        Self(receiver)
    }

    /// Returns the next line, or `None` at end of file.
    pub(crate) async fn next(&mut self) -> Option<io::Result<String>> {
        self.0.recv().await
    }
}

impl ReplySink for ReplyWriter {
    fn send(&mut self, reply: Reply) -> io::Result<()> {
        let mut line = serde_json::to_vec(&reply)?;
        line.push(b'\n');
        self.write_raw(&line)
    }
}

impl ReplyWriter {
    /// Writes bytes as they are, even if they are not a reply.
    pub fn write_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }
}

/// Opens the paths in the environment, or connects to the address in it.
pub fn open() -> io::Result<(RequestReader, ReplyWriter)> {
    if let Ok(address) = env::var(ENV_CONNECT) {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let requests = RequestReader::new(stream.try_clone()?);
        return Ok((requests, ReplyWriter(Box::new(stream))));
    }
    let path = |name| {
        let unset = || format!("{name} is not set: drivers are started by the lab");
        env::var(name).map_err(|_| io::Error::other(unset()))
    };
    let input = File::open(path(ENV_IN)?)?;
    let output = OpenOptions::new().write(true).open(path(ENV_OUT)?)?;
    Ok((RequestReader::new(input), ReplyWriter(Box::new(output))))
}

fn read_line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    match input.take(REQUEST_LIMIT_BYTES).read_line(&mut line)? {
        0 => Ok(None),
        _ if line.ends_with('\n') => Ok(Some(line)),
        n => Err(io::Error::other(format!(
            "the lab sent {n} bytes without a newline"
        ))),
    }
}
