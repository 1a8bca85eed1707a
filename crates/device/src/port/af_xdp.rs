//! AF_XDP: frames go between the driver and the pool, past the kernel's stack.
//!
//! The pool is the UMEM of both ports, so a frame that arrived at one is sent by the other by its descriptor. A socket
//! takes what arrives on one receive queue, so there is one for each queue of the interface; the first of them sends.
//! Frames longer than a frame of the pool are dropped by the kernel and counted as `oversize`.
//!
//! A frame is counted when the kernel gives it back: as `sent`, or as `send_failed` where the kernel said that it was not sent
//! (the carrier is down). Until then it is `leaving`. What the driver drops behind that without a word stands in
//! `link_dropped` alone. While the carrier is down there is no room: nothing is handed over but a frame now and then, to see.

mod options;
mod program;
mod queue;
mod ring;
mod sender;

pub use options::{XdpMode, XdpOptions, ZeroCopy};

use super::about::{About, Attachment, Open, INTERFACE};
use super::checksum;
use super::system::{self, during, failed};
use super::{Port, PortCounters, PortError, BURST};
use crate::ethtool;
use crate::pool::{Frame, Pool};
use program::{Attached, Hook};
use queue::{Opening, Queue, Setup, KERNEL_HEADROOM, RING};
use rustix::event::epoll;
use sender::Sender;
use sojourn_aqm::Backlog;
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// Most receive queues of a port.
pub const MOST_QUEUES: u32 = 64;
/// Frames that one of several queues hands over before the next has its turn.
const TURN: usize = 32;

/// One port.
pub struct AfXdp {
    interface: String,
    index: u32,
    mode: String,
    zero_copy: bool,
    /// One at least.
    queues: Vec<Queue>,
    /// The queue whose turn is next.
    next: usize,
    /// The queue that is refilled first.
    refilled_first: usize,
    /// By the socket of the first queue.
    sender: Sender,
    /// Frames that the kernel did not take for any.
    invalid: u64,
    /// Readable when one of the queues is; `None` with one queue.
    any: Option<OwnedFd>,
    /// Detaches when the port is dropped.
    _attached: Attached,
    counters: PortCounters,
    gone: bool,
}

/// Opens ports A and B over one pool. Where only one of the drivers has zero-copy both copy, as they share the memory.
///
/// # Errors
/// As [`AfXdp::open`].
pub fn af_xdp_pair(pool: &mut Pool, ports: [(&str, XdpOptions); 2]) -> Result<[AfXdp; 2], PortError> {
    let [(name_a, options_a), (name_b, options_b)] = ports;
    let a = AfXdp::open(pool, name_a, options_a, None)?;
    match AfXdp::open(pool, name_b, options_b, Some(&a)) {
        Ok(b) => Ok([a, b]),
        Err(_) if a.zero_copy => {
            drop(a);
            let a = AfXdp::open(pool, name_a, options_a.copying(), None)?;
            let b = AfXdp::open(pool, name_b, options_b.copying(), Some(&a))?;
            Ok([a, b])
        }
        Err(error) => Err(error),
    }
}

impl AfXdp {
    /// Opens `interface` over `pool`, which is registered with the kernel unless `shared` has done that.
    ///
    /// # Errors
    /// The interface is not there, has too many receive queues or another program on them, the process may not do this,
    /// or the pool's frames do not fit AF_XDP.
    pub fn open(
        pool: &mut Pool,
        interface: &str,
        options: XdpOptions,
        shared: Option<&Self>,
    ) -> Result<Self, PortError> {
        let frame_bytes = pool.frame_bytes();
        if !(matches!(frame_bytes, 2048 | 4096) && pool.headroom() >= KERNEL_HEADROOM) {
            let what = "AF_XDP takes frames of 2048 or 4096 bytes, 256 of them headroom; for longer ones use af_packet";
            return Err(failed(interface, format!("{what} (the pool has frames of {frame_bytes})")));
        }
        let index = system::interface_index(interface)?;
        let numbers = choose_queues(interface, options.queue)?;
        let fill_target = fill_target(pool, interface, numbers.len())?;
        let opening = Opening { interface, index, options };
        let owner = shared.map(|port| &port.queues[0].socket);
        let mut setup = Setup::open(pool, &opening, numbers.start, true, owner)?;
        let zero_copy = setup.zero_copy;
        let sender = Sender::open(&mut setup, interface, index).map_err(during(interface, "opening the sender"))?;
        let mut queues = vec![Queue::new(setup, fill_target)];
        for number in numbers.skip(1) {
            let owner = owner.unwrap_or(&queues[0].socket);
            match Setup::open(pool, &opening, number, false, Some(owner)) {
                Ok(setup) => queues.push(Queue::new(setup, fill_target)),
                // Not every queue of every card has zero-copy.
                Err(_) if shared.is_none() && zero_copy => {
                    drop((queues, sender));
                    return Self::open(pool, interface, options.copying(), None);
                }
                Err(error) => return Err(error),
            }
        }
        let any = if queues.len() > 1 {
            Some(any_of(&queues).map_err(during(interface, "making the poll set"))?)
        } else {
            None
        };
        let (attached, hook) = attach(&queues, interface, index, options.mode)?;
        let hook = match hook {
            Hook::Native => "native",
            Hook::Generic => "generic",
        };
        let copy = if zero_copy { "zero-copy" } else { "copy" };
        let several = if queues.len() > 1 { format!(", {} queues", queues.len()) } else { String::new() };
        Ok(Self {
            interface: interface.to_owned(),
            index,
            mode: format!("af_xdp, {hook}, {copy}{several}"),
            zero_copy,
            queues,
            next: 0,
            refilled_first: 0,
            sender,
            invalid: 0,
            any,
            _attached: attached,
            counters: PortCounters::default(),
            gone: false,
        })
    }

    /// Bound: the entries of the rings. Another queue is the first each time, so that none is left without frames while the
    /// pool has few.
    fn refill(&mut self, pool: &mut Pool) {
        self.refilled_first = (self.refilled_first + 1) % self.queues.len();
        let (before, from) = self.queues.split_at_mut(self.refilled_first);
        for queue in from.iter_mut().chain(before) {
            queue.refill(pool);
        }
    }
}

/// Numbers of the queues that are opened.
fn choose_queues(interface: &str, queue: Option<u32>) -> Result<Range<u32>, PortError> {
    // One where the driver does not tell.
    let queues = ethtool::queues(interface).unwrap_or(1).max(1);
    match queue {
        Some(queue) if queue < queues => Ok(queue..queue + 1),
        Some(queue) => Err(failed(
            interface,
            format!("there is no receive queue {queue}: the interface has {queues}, numbered from 0"),
        )),
        None if queues <= MOST_QUEUES => Ok(0..queues),
        None => {
            let what = format!("it has {queues} receive queues; at most {MOST_QUEUES} can be read");
            Err(failed(interface, format!("{what}: `ethtool -L {interface} combined {MOST_QUEUES}` leaves as many")))
        }
    }
}

/// Frames that each of `queues` has for arrivals: of a quarter of the pool, an equal part.
fn fill_target(pool: &Pool, interface: &str, queues: usize) -> Result<usize, PortError> {
    let target = (pool.frames() / 4 / queues).min(RING as usize);
    if target < TURN {
        let (frames, least) = (pool.frames(), 4 * TURN * queues);
        let what = format!("its {queues} receive queues need a pool of at least {least} frames, and it has {frames}");
        return Err(failed(interface, format!("{what}: raise frames.count, or name one queue with `queue`")));
    }
    Ok(target)
}

/// A descriptor that is readable when one of the sockets is.
fn any_of(queues: &[Queue]) -> io::Result<OwnedFd> {
    let any = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for queue in queues {
        let number = epoll::EventData::new_u64(u64::from(queue.number));
        epoll::add(&any, &queue.socket, number, epoll::EventFlags::IN)?;
    }
    Ok(any)
}

fn attach(queues: &[Queue], interface: &str, index: u32, mode: XdpMode) -> Result<(Attached, Hook), PortError> {
    let sockets: Vec<(u32, RawFd)> = queues.iter().map(|queue| (queue.number, queue.socket.as_raw_fd())).collect();
    let by = |hook| program::attach(&sockets, index, hook).map(|attached| (attached, hook));
    let outcome = match mode {
        XdpMode::Native => by(Hook::Native),
        XdpMode::Generic => by(Hook::Generic),
        XdpMode::Auto => by(Hook::Native).or_else(|_| by(Hook::Generic)),
    };
    outcome.map_err(during(interface, "attaching the XDP program (Linux 5.9 or later)"))
}

impl Port for AfXdp {
    fn name(&self) -> &str {
        &self.interface
    }

    fn mode(&self) -> &str {
        &self.mode
    }

    fn receive(&mut self, pool: &mut Pool, into: &mut Vec<Frame>) -> Result<(), PortError> {
        if self.gone {
            return Err(system::gone(&self.interface));
        }
        self.sender.complete(pool);
        self.sender.kick().map_err(during(&self.interface, "sending"))?;
        self.refill(pool);
        let from = into.len();
        let turn = if self.queues.len() == 1 { BURST } else { TURN };
        let (mut room, mut empty) = (BURST, 0);
        // A queue begins its turn only with room for all of it: a flood in another takes nothing from it.
        while empty < self.queues.len() && room >= turn {
            let (frames, bytes) = self.queues[self.next].take(pool, turn, into);
            self.next = (self.next + 1) % self.queues.len();
            self.counters.received += frames as u64;
            self.counters.received_bytes += bytes;
            room -= frames;
            empty = if frames == 0 { empty + 1 } else { 0 };
        }
        // XDP does not say that a checksum is unfinished. A look takes 7 ns, to tell a request for a connection 1 ns; and a sender
        // of TCP whose checksums are unfinished never gets beyond its requests.
        for (at, frame) in into.iter().skip(from).enumerate() {
            let contents = pool.contents(*frame);
            let looked_at = at == 0 || checksum::opens_connection(contents);
            self.counters.checksum_unfinished += u64::from(looked_at && checksum::is_unfinished(contents));
        }
        Ok(())
    }

    fn send(&mut self, pool: &mut Pool, frames: &mut VecDeque<Frame>) -> Result<(), PortError> {
        self.sender.send(pool, frames).map_err(during(&self.interface, "sending"))
    }

    fn leaving(&self) -> Backlog {
        self.sender.leaving
    }

    fn standby(&self) -> usize {
        self.queues.iter().map(|queue| queue.standby).sum()
    }

    fn counters(&mut self) -> PortCounters {
        self.gone = !system::exists(self.index);
        let statistics = self.queues.iter().map(Queue::statistics);
        let total = statistics.reduce(|total, one| {
            let (mut total, one) = (total?, one?);
            total.rx_dropped += one.rx_dropped;
            total.rx_ring_full += one.rx_ring_full;
            total.rx_fill_ring_empty_descs += one.rx_fill_ring_empty_descs;
            total.tx_invalid_descs += one.tx_invalid_descs;
            Some(total)
        });
        if let Some(system) = total.flatten() {
            // A frame without a free buffer counts in both; what else is dropped did not fit its buffer.
            self.counters.oversize = system.rx_dropped.saturating_sub(system.rx_fill_ring_empty_descs);
            self.counters.missed = system.rx_ring_full + system.rx_fill_ring_empty_descs;
            self.invalid = system.tx_invalid_descs;
        }
        self.counters.link_dropped = self.sender.link.dropped();
        let Sender { sent: (sent, sent_bytes), leaving, failed, .. } = self.sender;
        // What is no frame to the kernel does not come back.
        PortCounters {
            sent,
            sent_bytes,
            send_failed: failed + self.invalid,
            leaving: leaving.packets.saturating_sub(self.invalid),
            ..self.counters
        }
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.any.as_ref().unwrap_or(&self.queues[0].socket).as_raw_fd())
    }
}

pub(super) const ABOUT: About = About {
    is_live: true,
    keys: &["interface", "queue", "mode", "zero_copy"],
    needs: Some(("interface", INTERFACE)),
    uses: |table| Some((table.interface.clone()?, Attachment::AfXdp(table.queue))),
    open: Open::Privileged(|table, pool| {
        let interface = table.interface.as_deref().unwrap_or_default();
        Ok(Box::new(AfXdp::open(pool, interface, XdpOptions::of(table), None)?))
    }),
};
