//! Control of a link thread by the bench, without making the thread wait.
//!
//! A message carries an empty ledger in and the filled one out. The hot loop neither allocates nor
//! frees, and checks one flag per iteration.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};

use super::flows::FlowNumbers;
use super::ledger::PacketLedger;
use super::nat::Nat;
use crate::sys;

/// How long to wait for one readiness notification of a reply.
const REPLY_POLL: Duration = Duration::from_millis(100);
/// 10 s in all: a thread replies within one iteration, unless it does not run at all.
const REPLY_POLLS: u32 = 100;

/// A command to a link thread, or its reply.
pub(crate) struct ControlMessage {
    pub(crate) command: ControlCommand,
    /// In a command the empty ledger to continue with; in the reply the filled one.
    pub(crate) ledger: Box<PacketLedger>,
    /// To begin a window, its flow numbers; in the reply the former ones, to be freed.
    pub(crate) flows: Option<FlowNumbers>,
    /// The same for its NAT, if the network has one.
    pub(crate) nat: Option<Nat>,
}

/// What the thread does beside replacing its ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ControlCommand {
    /// Restarts the model's virtual time at `at_ns`: a window begins.
    BeginWindow { at_ns: u64 },
    /// Nothing more: a window ends.
    EndWindow,
    /// Ends the thread.
    Stop,
}

/// The bench's end.
pub(crate) struct ControlHandle {
    commands: SyncSender<ControlMessage>,
    replies: Receiver<ControlMessage>,
    wakeup: Arc<Wakeup>,
}

/// The thread's end.
pub(crate) struct ControlEndpoint {
    commands: Receiver<ControlMessage>,
    replies: SyncSender<ControlMessage>,
    wakeup: Arc<Wakeup>,
}

struct Wakeup {
    /// A command was sent.
    pending: AtomicBool,
    /// Frames inside the direction, as last published.
    in_flight: AtomicUsize,
    /// Eventfd that wakes the thread.
    thread: OwnedFd,
    /// Eventfd that wakes the bench.
    bench: OwnedFd,
}

/// Creates the two ends.
pub(crate) fn control() -> io::Result<(ControlHandle, ControlEndpoint)> {
    let (command_sender, command_receiver) = sync_channel(1);
    let (reply_sender, reply_receiver) = sync_channel(1);
    let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
    let wakeup = Arc::new(Wakeup {
        pending: AtomicBool::new(false),
        in_flight: AtomicUsize::new(0),
        thread: eventfd(0, flags)?,
        bench: eventfd(0, flags)?,
    });
    Ok((
        ControlHandle {
            commands: command_sender,
            replies: reply_receiver,
            wakeup: Arc::clone(&wakeup),
        },
        ControlEndpoint {
            commands: command_receiver,
            replies: reply_sender,
            wakeup,
        },
    ))
}

impl ControlHandle {
    /// Sends a command and waits for the reply.
    pub(crate) fn request(&self, message: ControlMessage) -> io::Result<ControlMessage> {
        let ended = || io::Error::other("a thread of the link has ended");
        self.commands.try_send(message).map_err(|_| ended())?;
        self.wakeup.pending.store(true, Ordering::Release);
        rustix::io::write(&self.wakeup.thread, &1u64.to_ne_bytes())?;
        // Waits on the descriptor and not in the channel: the replying thread then finds no
        // waiter there to wake, and takes no lock.
        for _ in 0..REPLY_POLLS {
            sys::wait_readable([self.wakeup.bench.as_fd()], Some(REPLY_POLL))?;
            if let Ok(reply) = self.replies.try_recv() {
                clear(&self.wakeup.bench);
                return Ok(reply);
            }
        }
        Err(io::Error::other("a thread of the link does not respond"))
    }

    /// Returns the number of frames inside the direction after its last iteration.
    pub(crate) fn in_flight(&self) -> usize {
        self.wakeup.in_flight.load(Ordering::Acquire)
    }
}

impl ControlEndpoint {
    /// Returns a descriptor that is readable when a command may have arrived.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.wakeup.thread.as_fd()
    }

    /// Returns the command that was sent, if any. Costs one load when there is none.
    #[inline]
    pub(crate) fn try_receive(&self) -> Option<ControlMessage> {
        if !self.wakeup.pending.load(Ordering::Acquire) {
            return None;
        }
        self.wakeup.pending.store(false, Ordering::Release);
        self.commands.try_recv().ok()
    }

    /// Makes [`ControlEndpoint::fd`] unreadable again. Must be called whenever it was readable: the
    /// bench may signal after its command has been taken, and that signal must not wake the thread
    /// forever.
    pub(crate) fn clear(&self) {
        clear(&self.wakeup.thread);
    }

    /// Publishes the number of frames inside this direction.
    #[inline]
    pub(crate) fn publish_in_flight(&self, frames: usize) {
        self.wakeup.in_flight.store(frames, Ordering::Release);
    }

    pub(crate) fn reply(&self, message: ControlMessage) {
        // One command is outstanding at a time, so there is room. The only other error is that
        // the bench is gone.
        if self.replies.try_send(message).is_ok() {
            signal(&self.wakeup.bench);
        }
    }
}

fn signal(eventfd: &OwnedFd) {
    // The counter cannot overflow: it is cleared after each message.
    let _written = rustix::io::write(eventfd, &1u64.to_ne_bytes());
}

fn clear(eventfd: &OwnedFd) {
    let mut count = [0; 8];
    // Fails only when the counter is 0 already.
    let _read = rustix::io::read(eventfd, &mut count);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reply_returns_the_filled_ledger() {
        let (handle, endpoint) = control().unwrap();
        let thread = std::thread::spawn(move || {
            let mut ledger = Box::new(PacketLedger::new(0, 0));
            ledger.late = 7;
            loop {
                sys::wait_readable([endpoint.fd()], None).unwrap();
                endpoint.clear();
                let Some(mut message) = endpoint.try_receive() else {
                    continue;
                };
                std::mem::swap(&mut message.ledger, &mut ledger);
                let stop = message.command == ControlCommand::Stop;
                endpoint.reply(message);
                if stop {
                    return;
                }
            }
        });
        let request = |command| {
            handle.request(ControlMessage {
                command,
                ledger: Box::new(PacketLedger::new(0, 0)),
                flows: None,
                nat: None,
            })
        };
        let begin = ControlCommand::BeginWindow { at_ns: 1 };
        assert_eq!(request(begin).unwrap().ledger.late, 7);
        assert_eq!(request(ControlCommand::Stop).unwrap().ledger.late, 0);
        thread.join().unwrap();
        assert!(request(ControlCommand::EndWindow).is_err());
    }
}
