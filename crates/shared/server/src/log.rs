//! Writes the request log without delaying requests.
//!
//! Lines go through a bounded channel to a thread that writes them and flushes whenever the
//! channel is empty. When the disk is [`BACKLOG`] lines behind, requests wait for it: no line is
//! lost, and memory stays bounded.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};

use server_log::ServerEvent;

/// Lines that may wait for the disk: about ten seconds of the busiest server measured here.
const BACKLOG: usize = 1 << 17;

/// Accepts lines for the log; cheap to clone.
#[derive(Clone)]
pub(crate) struct LogWriter(Option<SyncSender<Message>>);

/// The thread that writes the log.
pub(crate) struct LogThread {
    log: LogWriter,
    thread: Option<JoinHandle<io::Result<()>>>,
}

enum Message {
    Event(Box<ServerEvent>),
    Close,
}

/// Starts a log that is written to `file`, or discarded when there is none.
pub(crate) fn open(file: Option<File>) -> io::Result<(LogWriter, LogThread)> {
    let Some(file) = file else {
        let log = LogWriter(None);
        let thread = None;
        return Ok((log.clone(), LogThread { log, thread }));
    };
    let (sender, receiver) = mpsc::sync_channel(BACKLOG);
    let thread = thread::Builder::new()
        .name("log".into())
        .spawn(move || write_all(file, &receiver))?;
    let (log, thread) = (LogWriter(Some(sender)), Some(thread));
    Ok((log.clone(), LogThread { log, thread }))
}

impl LogWriter {
    pub(crate) fn write(&self, event: ServerEvent) {
        self.send(Message::Event(Box::new(event)));
    }

    fn send(&self, message: Message) {
        if let Some(sender) = &self.0 {
            // The receiver is gone only when writing failed, which `close` reports.
            sender.send(message).ok();
        }
    }
}

impl LogThread {
    /// Writes the lines sent so far and ends the thread.
    ///
    /// # Errors
    ///
    /// The first error of any write since the start.
    pub(crate) fn close(self) -> io::Result<()> {
        self.log.send(Message::Close);
        self.thread.map_or(Ok(()), |thread| {
            thread
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("the log's thread panicked")))
        })
    }
}

fn write_all(file: File, messages: &Receiver<Message>) -> io::Result<()> {
    let mut file = BufWriter::new(file);
    loop {
        let message = match messages.try_recv() {
            Ok(message) => message,
            Err(_) => {
                file.flush()?;
                messages.recv().unwrap_or(Message::Close)
            }
        };
        match message {
            Message::Event(event) => {
                serde_json::to_writer(&mut file, &event)?;
                file.write_all(b"\n")?;
            }
            Message::Close => return file.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use server_log::{ConnectionEvent, Transport};

    use super::*;

    #[test]
    fn close_writes_every_line_sent_before_it() {
        let (mut reader, writer) = io::pipe().unwrap();
        let file = File::from(std::os::fd::OwnedFd::from(writer));
        let (log, thread) = open(Some(file)).unwrap();
        let text = thread::spawn(move || {
            let mut text = String::new();
            reader.read_to_string(&mut text).unwrap();
            text
        });
        let senders: Vec<_> = (0..4)
            .map(|_| {
                let log = log.clone();
                thread::spawn(move || (0..5_000).for_each(|_| log.write(event())))
            })
            .collect();
        senders
            .into_iter()
            .for_each(|sender| sender.join().unwrap());
        thread.close().unwrap();
        assert_eq!(text.join().unwrap().lines().count(), 20_000);
    }

    #[test]
    fn full_disk_is_reported_by_close_and_blocks_no_sender() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let (log, thread) = open(Some(full)).unwrap();
        (0..1_000).for_each(|_| log.write(event()));
        assert_eq!(
            thread.close().unwrap_err().kind(),
            io::ErrorKind::StorageFull
        );
        log.write(event());
    }

    fn event() -> ServerEvent {
        ServerEvent::Connection(ConnectionEvent {
            connection: 1,
            at_ns: 2,
            transport: Transport::Tcp,
            peer_port: 3,
            ip_version: 6,
            alpn: "h2".into(),
            tls_version: "TLSv1_3".into(),
            cipher: String::new(),
            group: String::new(),
            resumed: false,
            hello_retry: false,
            chain_bytes: 0,
            client_cert: None,
            congestion: None,
        })
    }
}
