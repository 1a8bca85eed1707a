//! The way of commands to the packet thread: a channel, and a bell that ends the thread's sleep.

use crate::run::Command;
use rustix::event::{eventfd, EventfdFlags};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{channel, Receiver, SendError, Sender, TryRecvError};
use std::sync::Arc;

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
