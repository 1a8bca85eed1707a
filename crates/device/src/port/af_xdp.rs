//! AF_XDP: frames go between the driver and the pool, past the kernel's stack.
//!
//! The pool is the UMEM of both ports, so a frame that arrived at one is sent by the other by its descriptor. A socket
//! takes what arrives on one receive queue; an interface with several is refused unless a queue is named.
//! Frames longer than a frame of the pool are dropped by the kernel and counted as `oversize`.

mod program;
mod ring;

use super::checksum;
use super::system::{self, during, failed};
use super::{Port, PortCounters, PortError, BURST};
use crate::pool::{Frame, Note, Pool};
use program::{Attached, Hook};
use ring::Ring;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// Entries of each ring.
const RING: u32 = 2048;
/// Wakings of the kernel in one call: it sends 32 frames each.
const WAKINGS: usize = 4;
/// To have a queue that is busy, for a second in all.
const ATTEMPTS: u32 = 100;
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(10);
/// What the kernel keeps before the contents (`XDP_PACKET_HEADROOM`).
const KERNEL_HEADROOM: usize = 256;

/// Where the XDP program runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum XdpMode {
    /// In the driver where it can, before the stack otherwise.
    #[default]
    Auto,
    /// In the driver, or not at all.
    Native,
    /// Before the stack.
    Generic,
}

/// Whether the driver works on the pool itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ZeroCopy {
    /// Where the driver can.
    #[default]
    Auto,
    /// Never: the kernel copies.
    Off,
}

/// How a port is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct XdpOptions {
    /// The receive queue; `None`: the only one.
    pub queue: Option<u32>,
    /// Where the XDP program runs.
    pub mode: XdpMode,
    /// Whether the driver works on the pool itself.
    pub zero_copy: ZeroCopy,
}

/// One port.
pub struct AfXdp {
    interface: String,
    index: u32,
    mode: String,
    zero_copy: bool,
    socket: OwnedFd,
    /// Detaches when the port is dropped.
    _attached: Attached,
    receive: Ring<libc::xdp_desc>,
    send: Ring<libc::xdp_desc>,
    fill: Ring<u64>,
    completion: Ring<u64>,
    /// Frames that the fill ring is kept at.
    fill_target: u32,
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
            let copy = |options| XdpOptions { zero_copy: ZeroCopy::Off, ..options };
            let a = AfXdp::open(pool, name_a, copy(options_a), None)?;
            let b = AfXdp::open(pool, name_b, copy(options_b), Some(&a))?;
            Ok([a, b])
        }
        Err(error) => Err(error),
    }
}

impl AfXdp {
    /// Opens `interface` over `pool`, which is registered with the kernel unless `shared` has done that.
    ///
    /// # Errors
    /// The interface is not there, has several receive queues or another program on them, the process may not do this,
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
        let at = |what| during(interface, what);
        let socket = system::socket(libc::AF_XDP, 0).map_err(at("opening an AF_XDP socket"))?;
        let queue = choose_queue(&socket, interface, options.queue)?;
        if shared.is_none() {
            system::lift_memory_limit();
            register(&socket, pool).map_err(at("registering frame memory"))?;
        }
        for ring in [libc::XDP_UMEM_FILL_RING, libc::XDP_UMEM_COMPLETION_RING, libc::XDP_RX_RING, libc::XDP_TX_RING] {
            system::set(&socket, libc::SOL_XDP, ring, &(RING as i32)).map_err(at("making the rings"))?;
        }
        let rings = Rings::map(&socket).map_err(at("mapping the rings"))?;
        let flags = match (shared, options.zero_copy, options.mode) {
            (Some(_), ..) => libc::XDP_SHARED_UMEM,
            (None, ZeroCopy::Auto, XdpMode::Auto | XdpMode::Native) => libc::XDP_USE_NEED_WAKEUP,
            _ => libc::XDP_USE_NEED_WAKEUP | libc::XDP_COPY,
        };
        let address = libc::sockaddr_xdp {
            sxdp_family: libc::AF_XDP as u16,
            sxdp_flags: flags,
            sxdp_ifindex: index,
            sxdp_queue_id: queue,
            sxdp_shared_umem_fd: shared.map_or(0, |port| port.socket.as_raw_fd() as u32),
        };
        bind(&socket, &address).map_err(at("binding the AF_XDP socket"))?;
        let state = system::get(&socket, libc::SOL_XDP, libc::XDP_OPTIONS, libc::xdp_options { flags: 0 })
            .map_err(at("asking for the mode"))?;
        let zero_copy = state.flags & libc::XDP_OPTIONS_ZEROCOPY != 0;
        let (attached, hook) = attach(&socket, interface, index, queue, options.mode)?;
        let hook = match hook {
            Hook::Native => "native",
            Hook::Generic => "generic",
        };
        Ok(Self {
            interface: interface.to_owned(),
            index,
            mode: format!("af_xdp, {hook}, {}", if zero_copy { "zero-copy" } else { "copy" }),
            zero_copy,
            socket,
            _attached: attached,
            receive: rings.receive,
            send: rings.send,
            fill: rings.fill,
            completion: rings.completion,
            fill_target: RING.min(pool.frames() as u32 / 4),
            counters: PortCounters::default(),
            gone: false,
        })
    }

    /// Bound: the entries of the ring.
    fn refill(&mut self, pool: &mut Pool) {
        let waiting = self.fill.pending();
        // In batches: the kernel's side of the ring is another core's cache line.
        if waiting + BURST as u32 > self.fill_target {
            return;
        }
        for _ in waiting..self.fill_target {
            let Some(frame) = pool.take() else { break };
            self.fill.put(u64::from(frame.index()) * pool.frame_bytes() as u64);
        }
        self.fill.publish();
    }

    /// Gives back the frames that have left. Bound: the entries of the ring.
    fn reap(&mut self, pool: &mut Pool) {
        let mut any = false;
        for _ in 0..RING {
            let Some(address) = self.completion.take() else { break };
            any = true;
            if let Some((frame, _)) = locate(pool, address) {
                pool.give(frame);
            }
        }
        if any {
            self.completion.release();
        }
    }

    /// Makes the kernel send what is in the ring.
    fn push(&mut self) -> Result<(), PortError> {
        for _ in 0..WAKINGS {
            if self.send.pending() == 0 || !self.send.wants_wakeup() {
                return Ok(());
            }
            #[allow(unsafe_code)]
            // SAFETY: neither data nor address is passed.
            let outcome = unsafe {
                libc::sendto(self.socket.as_raw_fd(), std::ptr::null(), 0, libc::MSG_DONTWAIT, std::ptr::null(), 0)
            };
            if outcome < 0 {
                let error = io::Error::last_os_error();
                match error.raw_os_error() {
                    // More is left than the kernel sends in one go.
                    Some(libc::EAGAIN) => {}
                    // No room further on, or the link is down: at a later turn.
                    Some(libc::EBUSY | libc::ENOBUFS | libc::EINTR | libc::ENETDOWN) => return Ok(()),
                    _ => return Err(during(&self.interface, "sending")(error)),
                }
            }
        }
        Ok(())
    }

    fn wake_receiver(&self) {
        #[allow(unsafe_code)]
        // SAFETY: no buffer is passed. An error shows at the next sending or counting.
        unsafe {
            let none = std::ptr::null_mut();
            libc::recvfrom(self.socket.as_raw_fd(), none, 0, libc::MSG_DONTWAIT, none.cast(), std::ptr::null_mut());
        }
    }
}

struct Rings {
    receive: Ring<libc::xdp_desc>,
    send: Ring<libc::xdp_desc>,
    fill: Ring<u64>,
    completion: Ring<u64>,
}

impl Rings {
    fn map(socket: &OwnedFd) -> io::Result<Self> {
        let none = libc::xdp_ring_offset { producer: 0, consumer: 0, desc: 0, flags: 0 };
        let none = libc::xdp_mmap_offsets { rx: none, tx: none, fr: none, cr: none };
        let offsets = system::get(socket, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS, none)?;
        Ok(Self {
            receive: Ring::map(socket, libc::XDP_PGOFF_RX_RING as u64, RING, offsets.rx)?,
            send: Ring::map(socket, libc::XDP_PGOFF_TX_RING as u64, RING, offsets.tx)?,
            fill: Ring::map(socket, libc::XDP_UMEM_PGOFF_FILL_RING, RING, offsets.fr)?,
            completion: Ring::map(socket, libc::XDP_UMEM_PGOFF_COMPLETION_RING, RING, offsets.cr)?,
        })
    }
}

fn choose_queue(socket: &OwnedFd, interface: &str, queue: Option<u32>) -> Result<u32, PortError> {
    let queues = system::receive_queues(socket.as_raw_fd(), interface);
    match queue {
        Some(queue) if queue < queues => Ok(queue),
        Some(queue) => Err(failed(interface, format!("there is no receive queue {queue}: it has {queues}, from 0"))),
        None if queues == 1 => Ok(0),
        None => Err(failed(
            interface,
            format!(
                "it has {queues} receive queues, and only one would be taken: `ethtool -L {interface} combined 1` (or \
                 `rx 1`) leaves one; or steer all traffic to one and name it with `queue`"
            ),
        )),
    }
}

/// The kernel frees the queue of a process that ended a little after the process, as at a restart: until then it is busy.
fn bind(socket: &OwnedFd, address: &libc::sockaddr_xdp) -> io::Result<()> {
    for _ in 0..ATTEMPTS {
        match system::bind(socket, address) {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => std::thread::sleep(BETWEEN_ATTEMPTS),
            outcome => return outcome,
        }
    }
    system::bind(socket, address)
}

fn register(socket: &OwnedFd, pool: &mut Pool) -> io::Result<()> {
    let (chunk_size, headroom) = (pool.frame_bytes() as u32, (pool.headroom() - KERNEL_HEADROOM) as u32);
    let region = pool.region();
    let memory = libc::xdp_umem_reg {
        addr: region.as_mut_ptr() as u64,
        len: region.len() as u64,
        chunk_size,
        headroom,
        flags: 0,
        tx_metadata_len: 0,
    };
    system::set(socket, libc::SOL_XDP, libc::XDP_UMEM_REG, &memory)
}

fn attach(
    socket: &OwnedFd,
    interface: &str,
    index: u32,
    queue: u32,
    mode: XdpMode,
) -> Result<(Attached, Hook), PortError> {
    let native = || program::attach(socket, index, queue, Hook::Native).map(|attached| (attached, Hook::Native));
    let generic = || program::attach(socket, index, queue, Hook::Generic).map(|attached| (attached, Hook::Generic));
    let outcome = match mode {
        XdpMode::Native => native(),
        XdpMode::Generic => generic(),
        XdpMode::Auto => native().or_else(|_| generic()),
    };
    outcome.map_err(during(interface, "attaching the XDP program (Linux 5.9 or later)"))
}

/// The frame that an address of the UMEM lies in, and where in it.
#[inline]
fn locate(pool: &Pool, address: u64) -> Option<(Frame, usize)> {
    let bytes = pool.frame_bytes() as u64;
    let index = address / bytes;
    // The kernel only says what it was told; a wrong address must not become a panic.
    (index < pool.frames() as u64).then(|| (Frame::from_index(index as u32), (address % bytes) as usize))
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
        self.reap(pool);
        self.push()?;
        self.refill(pool);
        let from = into.len();
        for _ in 0..BURST {
            let Some(descriptor) = self.receive.take() else { break };
            let Some((frame, offset)) = locate(pool, descriptor.addr) else { continue };
            let length = (descriptor.len as usize).min(pool.frame_bytes() - offset);
            *pool.note_mut(frame) = Note { offset: offset as u16, length: length as u16, ..Note::default() };
            self.counters.received += 1;
            self.counters.received_bytes += length as u64;
            into.push(frame);
        }
        if into.len() > from {
            self.receive.release();
        } else if self.fill.wants_wakeup() {
            self.wake_receiver();
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
        self.reap(pool);
        let room = (self.send.room() as usize).min(BURST);
        for _ in 0..room {
            let Some(frame) = frames.pop_front() else { break };
            let note = pool.note(frame);
            let addr = u64::from(frame.index()) * pool.frame_bytes() as u64 + u64::from(note.offset);
            self.send.put(libc::xdp_desc { addr, len: u32::from(note.length), options: 0 });
            self.counters.sent += 1;
            self.counters.sent_bytes += u64::from(note.length);
        }
        self.send.publish();
        self.push()
    }

    fn counters(&mut self) -> PortCounters {
        self.gone = !system::exists(self.index);
        let none = libc::xdp_statistics {
            rx_dropped: 0,
            rx_invalid_descs: 0,
            tx_invalid_descs: 0,
            rx_ring_full: 0,
            rx_fill_ring_empty_descs: 0,
            tx_ring_empty_descs: 0,
        };
        if let Ok(system) = system::get(&self.socket, libc::SOL_XDP, libc::XDP_STATISTICS, none) {
            // A frame without a free buffer counts in both; what else is dropped did not fit its buffer.
            self.counters.oversize = system.rx_dropped.saturating_sub(system.rx_fill_ring_empty_descs);
            self.counters.missed = system.rx_ring_full + system.rx_fill_ring_empty_descs;
            self.counters.send_failed = system.tx_invalid_descs;
        }
        PortCounters { sent: self.counters.sent.saturating_sub(self.counters.send_failed), ..self.counters }
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.socket.as_raw_fd())
    }
}
