//! What is asked of the packet thread, and the way there: a channel, and a bell that ends the thread's sleep.

use crate::engine::Direction;
use rustix::event::{eventfd, EventfdFlags};
use sojourn_aqm::Config;
use sojourn_units::{BitRate, Span};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{channel, Receiver, SendError, Sender, TryRecvError};
use std::sync::Arc;

/// What the rest of the process asks of the packet thread.
#[derive(Debug)]
pub enum Order {
    /// Another scheme over what waits.
    Switch {
        /// Where.
        direction: Direction,
        /// The scheme.
        scheme: Config,
        /// Its name.
        label: String,
        /// Slot of the schedule.
        slot: Option<u64>,
    },
    /// Another shaped rate.
    SetRate {
        /// Where.
        direction: Direction,
        /// The rate.
        rate: BitRate,
    },
    /// Another length of the delay line.
    SetDelay {
        /// Where.
        direction: Direction,
        /// One way.
        delay: Span,
    },
    /// All of these in this order and at the same instant, or none when one of them would be refused.
    All(Vec<Order>),
    /// Close the windows under way, give every frame back, and end.
    Stop,
}

/// An order and who waits for its outcome; an error says what was refused.
#[derive(Debug)]
pub struct Command {
    /// What to do.
    pub order: Order,
    /// Told when it is done.
    pub reply: Option<Sender<Result<(), String>>>,
}

/// Gives commands.
#[derive(Clone, Debug)]
pub struct Commands {
    sender: Sender<Command>,
    bell: Option<Arc<OwnedFd>>,
}

/// Takes them: the packet thread's end.
#[derive(Debug)]
pub struct Orders {
    receiver: Receiver<Command>,
    bell: Option<Arc<OwnedFd>>,
}

/// Both ends. Where the system gives no bell, a sleeping thread finds commands when it wakes up by itself.
#[must_use]
pub fn orders() -> (Commands, Orders) {
    let (sender, receiver) = channel();
    let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map(Arc::new).ok();
    (Commands { sender, bell: bell.clone() }, Orders { receiver, bell })
}

impl Commands {
    /// Hands a command over, and wakes the thread.
    ///
    /// # Errors
    /// The packet thread is gone.
    pub fn send(&self, command: Command) -> Result<(), Box<SendError<Command>>> {
        self.sender.send(command).map_err(Box::new)?;
        if let Some(bell) = &self.bell {
            // Full: it rings already.
            let _ = rustix::io::write(bell, &1_u64.to_ne_bytes());
        }
        Ok(())
    }
}

impl Orders {
    /// The next command.
    ///
    /// # Errors
    /// There is none now, or there will be none.
    pub fn try_recv(&self) -> Result<Command, TryRecvError> {
        self.receiver.try_recv()
    }

    /// Becomes readable with a command.
    #[must_use]
    pub fn bell(&self) -> Option<BorrowedFd<'_>> {
        self.bell.as_ref().map(|bell| bell.as_fd())
    }

    /// The bell was heard.
    pub fn quiet(&self) {
        if let Some(bell) = &self.bell {
            // Nothing to read: it does not ring.
            let _ = rustix::io::read(bell, &mut [0_u8; 8]);
        }
    }
}
