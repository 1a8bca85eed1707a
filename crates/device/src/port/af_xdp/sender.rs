//! The way out of a port: the rings of one socket that frames leave by, and what is known of them until they have left.

use super::queue::{locate, Setup, RING};
use super::ring::Ring;
use crate::pool::{Frame, Pool};
use crate::port::{system, BURST};
use sojourn_aqm::Backlog;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// Wakings of the kernel in one call: it sends 32 frames each.
const MAX_WAKEUPS: usize = 4;
/// After a frame that came back unsent, until the next is tried.
const BETWEEN_TRIALS: Duration = Duration::from_millis(10);
/// In flight, a driver that works on the pool itself is asked to look for what has left: it need not say so unasked.
const BUSY_IN_FLIGHT: u64 = 32;

/// The way out.
pub(super) struct Sender {
    socket: OwnedFd,
    send: Ring<libc::xdp_desc>,
    completion: Ring<u64>,
    zero_copy: bool,
    /// In the send ring, or with the kernel.
    pub(super) leaving: Backlog,
    /// Frames among those that come back next that were not sent.
    unsent: u64,
    /// The last frame came back unsent; when the next is tried.
    next_trial: Option<Instant>,
    pub(super) link: system::Link,
    /// A socket of AF_XDP answers no question about its interface.
    questions: OwnedFd,
    /// Frames that left, and their bytes.
    pub(super) sent: (u64, u64),
    /// Frames that came back unsent.
    pub(super) failed: u64,
}

impl Sender {
    /// By the socket of `setup`, on the interface called `interface`, whose number is `index`.
    pub(super) fn open(setup: &mut Setup, interface: &str, index: u32) -> io::Result<Self> {
        let none = || io::Error::other("this socket has no rings to send by");
        let (send, completion) = setup.sending.take().ok_or_else(none)?;
        Ok(Self {
            send,
            completion,
            socket: setup.socket.try_clone()?,
            zero_copy: setup.zero_copy,
            leaving: Backlog::default(),
            unsent: 0,
            next_trial: None,
            link: system::Link::open(interface, index),
            questions: system::socket(libc::AF_UNIX, 0)?,
            sent: (0, 0),
            failed: 0,
        })
    }

    /// Gives back and counts the frames that the kernel is done with. Bound: the entries of the ring.
    pub(super) fn complete(&mut self, pool: &mut Pool) {
        let mut any = false;
        for _ in 0..RING {
            let Some(address) = self.completion.take() else { break };
            any = true;
            let Some((frame, _)) = locate(pool, address) else { continue };
            let length = u64::from(pool.note(frame).length);
            pool.give(frame);
            self.leaving.packets = self.leaving.packets.saturating_sub(1);
            self.leaving.bytes = self.leaving.bytes.saturating_sub(length);
            if self.unsent > 0 {
                self.unsent -= 1;
                self.failed += 1;
            } else {
                self.sent.0 += 1;
                self.sent.1 += length;
            }
        }
        if any {
            self.completion.release();
        }
    }

    /// Has the kernel go on with what was handed over.
    pub(super) fn kick(&mut self) -> io::Result<()> {
        if self.zero_copy && self.leaving.packets >= BUSY_IN_FLIGHT && self.send.pending() == 0 {
            // What is wrong with it shows at the next sending.
            let _ = self.wake();
        }
        self.push()
    }

    /// Hands over frames from the front of `frames`, as many as there is room for.
    pub(super) fn send(&mut self, pool: &mut Pool, frames: &mut VecDeque<Frame>) -> io::Result<()> {
        self.complete(pool);
        let mut handed_over = false;
        for _ in 0..self.room() {
            let Some(frame) = frames.pop_front() else { break };
            handed_over = true;
            let note = pool.note(frame);
            let addr = u64::from(frame.index()) * pool.frame_bytes() as u64 + u64::from(note.offset);
            self.send.put(libc::xdp_desc { addr, len: u32::from(note.length), options: 0 });
            self.leaving.packets += 1;
            self.leaving.bytes += u64::from(note.length);
        }
        self.send.publish();
        let unsent = self.unsent;
        self.push()?;
        if handed_over && self.unsent == unsent && self.send.pending() == 0 {
            // Was there a trial, it went well.
            self.next_trial = None;
        }
        // Without zero copy most are sent by now. If they counted as leaving, a thread that is late would find the port full and
        // could not send what it has to catch up with.
        self.complete(pool);
        Ok(())
    }

    /// Makes the kernel send what is in the ring. Bound: [`MAX_WAKEUPS`]; with the carrier down, the entries of the ring.
    fn push(&mut self) -> io::Result<()> {
        let mut wakings = 0;
        for _ in 0..RING {
            if wakings == MAX_WAKEUPS || self.send.pending() == 0 || !self.send.wants_wakeup() {
                return Ok(());
            }
            match self.wake() {
                Ok(()) => wakings += 1,
                Err(error) => match error.raw_os_error() {
                    // More is left than the kernel sends in one go.
                    Some(libc::EAGAIN) => wakings += 1,
                    // One frame comes back unsent: the carrier is down, or the interface is. The others go the same way, so
                    // that none lies there until the link is back.
                    Some(libc::EBUSY) => {
                        self.unsent += 1;
                        self.next_trial = Some(Instant::now() + BETWEEN_TRIALS);
                    }
                    // No room further on, or the interface is down: at a later turn.
                    Some(libc::ENOBUFS | libc::EINTR | libc::ENETDOWN) => return Ok(()),
                    _ => return Err(error),
                },
            }
        }
        Ok(())
    }

    fn wake(&self) -> io::Result<()> {
        #[allow(unsafe_code)]
        // SAFETY: neither data nor address is passed.
        let outcome = unsafe {
            libc::sendto(self.socket.as_raw_fd(), std::ptr::null(), 0, libc::MSG_DONTWAIT, std::ptr::null(), 0)
        };
        if outcome < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Frames that may be handed over now.
    fn room(&mut self) -> usize {
        let room = (self.send.room() as usize).min(BURST);
        let Some(at) = self.next_trial else { return room };
        let now = Instant::now();
        if now < at {
            return 0;
        }
        self.next_trial = Some(now + BETWEEN_TRIALS);
        if self.link.is_up(&self.questions) {
            room.min(1)
        } else {
            0
        }
    }
}
