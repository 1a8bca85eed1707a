//! One receive queue of an interface: its AF_XDP socket with the rings that frames arrive by.

use super::options::{XdpMode, XdpOptions, ZeroCopy};
use super::program;
use super::ring::Ring;
use crate::pool::{Frame, Note, Pool};
use crate::port::system::{self, during};
use crate::port::{PortError, BURST};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

/// Entries of each ring.
pub(super) const RING: u32 = 2048;
/// What the kernel keeps before the contents (`XDP_PACKET_HEADROOM`).
pub(super) const KERNEL_HEADROOM: usize = 256;
/// To have a queue that is busy, for a second in all.
const ATTEMPTS: u32 = 100;
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(10);

/// One receive queue.
pub(super) struct Queue {
    /// Its number at the interface.
    pub(super) number: u32,
    pub(super) socket: OwnedFd,
    receive: Ring<libc::xdp_desc>,
    fill: Ring<u64>,
    /// What `standby` is kept at; no more than the fill ring has entries.
    fill_target: usize,
    /// Frames that are in the fill ring, with the kernel, or have arrived and not been taken.
    pub(super) standby: usize,
}

/// A socket that is bound to a queue.
pub(super) struct Setup {
    number: u32,
    pub(super) socket: OwnedFd,
    receive: Ring<libc::xdp_desc>,
    fill: Ring<u64>,
    /// To send, and to get back what was sent, where this socket sends.
    pub(super) sending: Option<(Ring<libc::xdp_desc>, Ring<u64>)>,
    pub(super) zero_copy: bool,
}

/// What all sockets of a port are opened with.
pub(super) struct Opening<'a> {
    pub(super) interface: &'a str,
    pub(super) index: u32,
    pub(super) options: XdpOptions,
}

impl Setup {
    /// Opens the socket of queue `number`. The first of all registers `pool` with the kernel; the others are given a
    /// socket that has done that.
    pub(super) fn open(
        pool: &mut Pool,
        opening: &Opening<'_>,
        number: u32,
        sends: bool,
        shared: Option<&OwnedFd>,
    ) -> Result<Self, PortError> {
        let at = |what| during(opening.interface, what);
        let socket = system::socket(libc::AF_XDP, 0).map_err(at("opening an AF_XDP socket"))?;
        if shared.is_none() {
            system::lift_memory_limit();
            register(&socket, pool).map_err(at("registering frame memory"))?;
        }
        // The kernel wants a fill and a completion ring for every queue, also where nothing is sent.
        let rings = [libc::XDP_UMEM_FILL_RING, libc::XDP_UMEM_COMPLETION_RING, libc::XDP_RX_RING, libc::XDP_TX_RING];
        for ring in rings.into_iter().take(if sends { 4 } else { 3 }) {
            system::set(&socket, libc::SOL_XDP, ring, &(RING as i32)).map_err(at("making the rings"))?;
        }
        // Before the socket is bound: Linux before 6.4 maps no ring of a bound socket (EBUSY).
        let (receive, fill, sending) = map(&socket, sends).map_err(at("mapping the rings"))?;
        let flags = match (shared, opening.options.zero_copy, opening.options.mode) {
            // The flags of the socket that registered the memory hold for all that share it.
            (Some(_), ..) => libc::XDP_SHARED_UMEM,
            (None, ZeroCopy::Auto, XdpMode::Auto | XdpMode::Native) => libc::XDP_USE_NEED_WAKEUP,
            _ => libc::XDP_USE_NEED_WAKEUP | libc::XDP_COPY,
        };
        let address = libc::sockaddr_xdp {
            sxdp_family: libc::AF_XDP as u16,
            sxdp_flags: flags,
            sxdp_ifindex: opening.index,
            sxdp_queue_id: number,
            sxdp_shared_umem_fd: shared.map_or(0, |socket| socket.as_raw_fd() as u32),
        };
        bind(&socket, &address).map_err(at("binding the AF_XDP socket"))?;
        let state = system::get(&socket, libc::SOL_XDP, libc::XDP_OPTIONS, libc::xdp_options { flags: 0 })
            .map_err(at("asking for the mode"))?;
        let zero_copy = state.flags & libc::XDP_OPTIONS_ZEROCOPY != 0;
        Ok(Self { number, socket, receive, fill, sending, zero_copy })
    }
}

impl Queue {
    /// What arrives by the socket of `setup`.
    pub(super) fn new(setup: Setup, fill_target: usize) -> Self {
        let Setup { number, socket, receive, fill, .. } = setup;
        Self { number, socket, receive, fill, fill_target, standby: 0 }
    }

    /// Bound: `fill_target`. So many frames of the pool at most are the queue's, also while more arrives than is taken.
    pub(super) fn refill(&mut self, pool: &mut Pool) {
        // In batches: the ring is in another core's cache.
        if self.standby + (self.fill_target / 2).min(BURST) > self.fill_target {
            return;
        }
        for _ in self.standby..self.fill_target {
            let Some(frame) = pool.take() else { break };
            self.fill.put(u64::from(frame.index()) * pool.frame_bytes() as u64);
            self.standby += 1;
        }
        self.fill.publish();
    }

    /// Appends at most `most` frames that arrived, in their order, to `into`; how many, and their bytes.
    pub(super) fn take(&mut self, pool: &mut Pool, most: usize, into: &mut Vec<Frame>) -> (usize, u64) {
        let (mut frames, mut bytes) = (0, 0);
        for _ in 0..most {
            let Some(descriptor) = self.receive.take() else { break };
            let Some((frame, offset)) = locate(pool, descriptor.addr) else { continue };
            let length = (descriptor.len as usize).min(pool.frame_bytes() - offset);
            *pool.note_mut(frame) = Note { offset: offset as u16, length: length as u16, ..Note::default() };
            if let Some(arrived_ns) = pool.before(frame).and_then(program::arrived_ns) {
                pool.note_mut(frame).arrived_ns = arrived_ns;
            }
            self.standby = self.standby.saturating_sub(1);
            frames += 1;
            bytes += length as u64;
            into.push(frame);
        }
        if frames > 0 {
            self.receive.release();
        } else if self.fill.wants_wakeup() {
            self.wake();
        }
        (frames, bytes)
    }

    fn wake(&self) {
        #[allow(unsafe_code)]
        // SAFETY: no buffer is passed. An error shows at the next sending or counting.
        unsafe {
            let none = std::ptr::null_mut();
            libc::recvfrom(self.socket.as_raw_fd(), none, 0, libc::MSG_DONTWAIT, none.cast(), std::ptr::null_mut());
        }
    }

    /// What the kernel counted; `None` where it does not tell.
    pub(super) fn statistics(&self) -> Option<libc::xdp_statistics> {
        let none = libc::xdp_statistics {
            rx_dropped: 0,
            rx_invalid_descs: 0,
            tx_invalid_descs: 0,
            rx_ring_full: 0,
            rx_fill_ring_empty_descs: 0,
            tx_ring_empty_descs: 0,
        };
        system::get(&self.socket, libc::SOL_XDP, libc::XDP_STATISTICS, none).ok()
    }
}

/// The rings of what arrives and of memory for it; where the socket sends, those to send and to get back what was sent.
type Rings = (Ring<libc::xdp_desc>, Ring<u64>, Option<(Ring<libc::xdp_desc>, Ring<u64>)>);

fn map(socket: &OwnedFd, sends: bool) -> io::Result<Rings> {
    let offsets = offsets(socket)?;
    let receive = Ring::map(socket, libc::XDP_PGOFF_RX_RING as u64, RING, offsets.rx)?;
    let fill = Ring::map(socket, libc::XDP_UMEM_PGOFF_FILL_RING, RING, offsets.fr)?;
    if !sends {
        return Ok((receive, fill, None));
    }
    let send = Ring::map(socket, libc::XDP_PGOFF_TX_RING as u64, RING, offsets.tx)?;
    let completion = Ring::map(socket, libc::XDP_UMEM_PGOFF_COMPLETION_RING, RING, offsets.cr)?;
    Ok((receive, fill, Some((send, completion))))
}

fn offsets(socket: &OwnedFd) -> io::Result<libc::xdp_mmap_offsets> {
    let none = libc::xdp_ring_offset { producer: 0, consumer: 0, desc: 0, flags: 0 };
    let none = libc::xdp_mmap_offsets { rx: none, tx: none, fr: none, cr: none };
    system::get(socket, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS, none)
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

/// The frame that an address of the UMEM lies in, and where in it.
#[inline]
pub(super) fn locate(pool: &Pool, address: u64) -> Option<(Frame, usize)> {
    let bytes = pool.frame_bytes() as u64;
    let index = address / bytes;
    // The kernel only says what it was told; a wrong address must not become a panic.
    (index < pool.frames() as u64).then(|| (Frame::from_index(index as u32), (address % bytes) as usize))
}
