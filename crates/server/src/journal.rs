//! Writes the request log without holding up the requests.
//!
//! Lines go through a bounded channel to a thread of their own, which writes what has
//! gathered and flushes as soon as nothing waits. Only when the disk is [`BACKLOG`] lines
//! behind does a request wait for it: a line is never lost, nor memory without bound used.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};

use record::server_log::ServerEvent;

/// The end of the log where lines go in; cheap to clone.
#[derive(Clone)]
pub(crate) struct Journal(Option<SyncSender<Entry>>);

/// The thread that writes.
pub(crate) struct Writer {
    journal: Journal,
    thread: Option<JoinHandle<io::Result<()>>>,
}

enum Entry {
    ServerEvent(Box<ServerEvent>),
    Close,
}

/// Starts writing to `file`; without one, lines go nowhere.
pub(crate) fn open(file: Option<File>) -> io::Result<(Journal, Writer)> {
    let Some(file) = file else {
        return Ok((
            Journal(None),
            Writer {
                journal: Journal(None),
                thread: None,
            },
        ));
    };
    let (sender, receiver) = mpsc::sync_channel(BACKLOG);
    let thread = thread::Builder::new()
        .name("log".into())
        .spawn(move || write_all(file, &receiver))?;
    let journal = Journal(Some(sender));
    Ok((
        journal.clone(),
        Writer {
            journal,
            thread: Some(thread),
        },
    ))
}

impl Journal {
    pub(crate) fn write(&self, line: ServerEvent) {
        self.enter(Entry::ServerEvent(Box::new(line)));
    }

    fn enter(&self, entry: Entry) {
        if let Some(sender) = &self.0 {
            // The receiver is gone only when writing failed, which `close` reports.
            sender.send(entry).ok();
        }
    }
}

impl Writer {
    /// Writes all that was entered before, and says what went wrong since the start.
    pub(crate) fn close(self) -> io::Result<()> {
        self.journal.enter(Entry::Close);
        self.thread.map_or(Ok(()), |thread| {
            thread
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("the log's thread panicked")))
        })
    }
}

fn write_all(file: File, entries: &Receiver<Entry>) -> io::Result<()> {
    let mut file = BufWriter::new(file);
    loop {
        let entry = match entries.try_recv() {
            Ok(entry) => entry,
            Err(_) => {
                file.flush()?;
                entries.recv().unwrap_or(Entry::Close)
            }
        };
        match entry {
            Entry::ServerEvent(line) => {
                serde_json::to_writer(&mut file, &line)?;
                file.write_all(b"\n")?;
            }
            Entry::Close => return file.flush(),
        }
    }
}

/// Lines that may wait for the disk: about ten seconds of the busiest server measured here.
const BACKLOG: usize = 1 << 17;

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use record::server_log::{ConnectionEvent, Transport};

    #[test]
    fn nothing_entered_before_closing_is_lost() {
        let (mut reader, writer) = io::pipe().unwrap();
        let file = File::from(std::os::fd::OwnedFd::from(writer));
        let (journal, thread) = open(Some(file)).unwrap();
        let text = thread::spawn(move || {
            let mut text = String::new();
            reader.read_to_string(&mut text).unwrap();
            text
        });
        let writers: Vec<_> = (0..4)
            .map(|_| {
                let journal = journal.clone();
                thread::spawn(move || (0..5_000).for_each(|_| journal.write(line())))
            })
            .collect();
        writers
            .into_iter()
            .for_each(|writer| writer.join().unwrap());
        thread.close().unwrap();
        assert_eq!(text.join().unwrap().lines().count(), 20_000);
    }

    #[test]
    fn a_full_disk_is_reported_at_the_end_and_stops_nobody() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let (journal, thread) = open(Some(full)).unwrap();
        (0..1_000).for_each(|_| journal.write(line()));
        assert_eq!(
            thread.close().unwrap_err().kind(),
            io::ErrorKind::StorageFull
        );
        journal.write(line());
    }

    fn line() -> ServerEvent {
        ServerEvent::Connection(ConnectionEvent {
            connection: 1,
            at_ns: 2,
            transport: Transport::Tcp,
            peer_port: 3,
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
