//! How the bench talks to a thread of the link without making it wait.
//!
//! A letter carries fresh books in and the full ones out, so the hot loop neither allocates
//! nor frees, and looks at one flag a turn.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};

use super::ledger::PacketLedger;
use crate::sys;

/// What the bench asks of a thread.
pub(crate) struct ControlMessage {
    pub(crate) command: ControlCommand,
    /// Empty books for the thread to go on with; in the answer, those it filled.
    pub(crate) ledger: Box<PacketLedger>,
}

/// What to do beside changing the books.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ControlCommand {
    /// A window begins: the model starts anew at this time.
    Begin { at_ns: u64 },
    /// A window ends.
    End,
    /// The thread ends.
    Stop,
}

/// The bench's end.
pub(crate) struct ControlHandle {
    letters: SyncSender<ControlMessage>,
    answers: Receiver<ControlMessage>,
    bell: Arc<Wakeup>,
}

/// The thread's end.
pub(crate) struct ControlEndpoint {
    letters: Receiver<ControlMessage>,
    answers: SyncSender<ControlMessage>,
    bell: Arc<Wakeup>,
}

struct Wakeup {
    rung: AtomicBool,
    /// Frames between the two interfaces, as last told.
    held: AtomicUsize,
    /// Wakes the thread.
    call: OwnedFd,
    /// Wakes the bench.
    reply: OwnedFd,
}

/// A pair of ends.
pub(crate) fn mailbox() -> io::Result<(ControlHandle, ControlEndpoint)> {
    let (letters, letters_in) = sync_channel(1);
    let (answers, answers_in) = sync_channel(1);
    let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
    let bell = Arc::new(Wakeup {
        rung: AtomicBool::new(false),
        held: AtomicUsize::new(0),
        call: eventfd(0, flags)?,
        reply: eventfd(0, flags)?,
    });
    Ok((
        ControlHandle {
            letters,
            answers: answers_in,
            bell: Arc::clone(&bell),
        },
        ControlEndpoint {
            letters: letters_in,
            answers,
            bell,
        },
    ))
}

impl ControlHandle {
    /// Sends a letter and waits for its answer.
    pub(crate) fn ask(&self, letter: ControlMessage) -> io::Result<ControlMessage> {
        let gone = || io::Error::other("a thread of the link has ended");
        self.letters.try_send(letter).map_err(|_| gone())?;
        self.bell.rung.store(true, Ordering::Release);
        rustix::io::write(&self.bell.call, &1u64.to_ne_bytes())?;
        // Waiting on the descriptor and not in the channel: the answering thread then finds
        // nobody to wake in there, and takes no lock.
        for _ in 0..ANSWER_TRIES {
            sys::wait_readable([self.bell.reply.as_fd()], Some(ANSWER_WAIT))?;
            if let Ok(answer) = self.answers.try_recv() {
                clear(&self.bell.reply);
                return Ok(answer);
            }
        }
        Err(io::Error::other("a thread of the link does not answer"))
    }

    /// Frames that the direction held at its last turn.
    pub(crate) fn held(&self) -> usize {
        self.bell.held.load(Ordering::Acquire)
    }
}

impl ControlEndpoint {
    /// Readable when a letter may be there.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.bell.call.as_fd()
    }

    /// A letter, if one came. Costs one load when none did.
    #[inline]
    pub(crate) fn letter(&self) -> Option<ControlMessage> {
        if !self.bell.rung.load(Ordering::Acquire) {
            return None;
        }
        self.bell.rung.store(false, Ordering::Release);
        self.letters.try_recv().ok()
    }

    /// Makes [`ControlEndpoint::fd`] unreadable again. Call it whenever it was: the bench may ring after
    /// its letter has been taken, and such a call must not wake the thread for ever.
    pub(crate) fn hush(&self) {
        clear(&self.bell.call);
    }

    /// Tells the bench how many frames this direction holds.
    #[inline]
    pub(crate) fn publish_held(&self, frames: usize) {
        self.bell.held.store(frames, Ordering::Release);
    }

    /// Sends the answer back.
    pub(crate) fn answer(&self, letter: ControlMessage) {
        // One letter is under way at a time, so there is room; a bench that is gone needs none.
        if self.answers.try_send(letter).is_ok() {
            ring(&self.bell.reply);
        }
    }
}

fn ring(bell: &OwnedFd) {
    // The counter cannot overflow: it is cleared after each letter.
    let _written = rustix::io::write(bell, &1u64.to_ne_bytes());
}

fn clear(bell: &OwnedFd) {
    let mut count = [0; 8];
    // An empty counter is as good as a cleared one.
    let _read = rustix::io::read(bell, &mut count);
}

const ANSWER_WAIT: Duration = Duration::from_millis(100);
const ANSWER_TRIES: u32 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_brings_the_books_back() {
        let (desk, mailbox) = mailbox().unwrap();
        let thread = std::thread::spawn(move || {
            let mut books = Box::new(PacketLedger::new(0, 0));
            books.late = 7;
            loop {
                sys::wait_readable([mailbox.fd()], None).unwrap();
                mailbox.hush();
                let Some(mut letter) = mailbox.letter() else {
                    continue;
                };
                std::mem::swap(&mut letter.ledger, &mut books);
                let stop = letter.command == ControlCommand::Stop;
                mailbox.answer(letter);
                if stop {
                    return;
                }
            }
        });
        let ask = |order| {
            desk.ask(ControlMessage {
                command: order,
                ledger: Box::new(PacketLedger::new(0, 0)),
            })
            .unwrap()
        };
        assert_eq!(ask(ControlCommand::Begin { at_ns: 1 }).ledger.late, 7);
        assert_eq!(ask(ControlCommand::Stop).ledger.late, 0);
        thread.join().unwrap();
        let gone = desk.ask(ControlMessage {
            command: ControlCommand::End,
            ledger: Box::new(PacketLedger::new(0, 0)),
        });
        assert!(gone.is_err());
    }
}
