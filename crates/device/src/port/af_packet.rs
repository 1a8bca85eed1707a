//! AF_PACKET: frames through the kernel's packet sockets, with any driver.
//!
//! The kernel sees every frame as well: the interface should have no address and be in no bridge, or it answers and
//! forwards too. Frames of any length that the pool holds.

use super::about::{About, Open, Way, INTERFACE};
use super::system::{self, during, failed};
use super::{Port, PortCounters, PortError, BURST};
use crate::pool::{Frame, Note, Pool};
use rustix::time::{clock_gettime, ClockId, Timespec};
use sojourn_aqm::Backlog;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// Waits at most in the socket, in bytes of the kernel's accounting.
const RECEIVE_BUFFER: i32 = 16 << 20;
/// Bytes of a VLAN tag, which the kernel takes out of the frame.
const TAG: usize = 4;
const ALL_PROTOCOLS: u16 = (libc::ETH_P_ALL as u16).to_be();
/// Room for a message with [`libc::tpacket_auxdata`] and one with a date.
const CONTROL: usize = 96;
/// The frame is of segmentation offload (linux/if_packet.h, 6.0 or later).
const TP_STATUS_GSO_TCP: u32 = 1 << 8;

/// One port.
pub struct AfPacket {
    interface: String,
    index: u32,
    socket: OwnedFd,
    scratch: Box<Scratch>,
    /// Frames to be received into.
    standby: Vec<Frame>,
    /// Of a frame of the pool.
    frame_bytes: usize,
    link: system::Link,
    /// The kernel took no frame, as the carrier is down.
    is_down: bool,
    counters: PortCounters,
    gone: bool,
}

/// What a system call for a burst reads and writes, made once.
struct Scratch {
    messages: [libc::mmsghdr; BURST],
    vectors: [libc::iovec; BURST],
    control: [Control; BURST],
}

#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; CONTROL]);

#[allow(unsafe_code)]
// SAFETY: the pointers are written before every call that follows them, by the thread that makes it.
unsafe impl Send for Scratch {}

impl Scratch {
    fn new() -> Box<Self> {
        let vector = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        #[allow(unsafe_code)]
        // SAFETY: all zeros is a value of this structure: null pointers with lengths of zero.
        let message: libc::mmsghdr = unsafe { std::mem::zeroed() };
        Box::new(Self { messages: [message; BURST], vectors: [vector; BURST], control: [Control([0; CONTROL]); BURST] })
    }

    /// Points message `at` to `room`, with or without room for what the kernel says of the frame.
    fn point(&mut self, at: usize, room: &mut [u8], control: bool) {
        self.vectors[at] = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
        let header = &mut self.messages[at].msg_hdr;
        header.msg_iov = &raw mut self.vectors[at];
        header.msg_iovlen = 1;
        header.msg_flags = 0;
        (header.msg_control, header.msg_controllen) =
            if control { ((&raw mut self.control[at]).cast(), CONTROL as _) } else { (std::ptr::null_mut(), 0) };
    }

    /// What the kernel says of the frame received at `at`: its status and tag, and the date of its arrival.
    #[allow(unsafe_code)]
    fn told(&self, at: usize) -> (Option<libc::tpacket_auxdata>, Option<libc::timespec>) {
        let header = &self.messages[at].msg_hdr;
        let mut told = (None, None);
        // SAFETY: `point` gave the header its control buffer, aligned for these structures, and the kernel filled it; the
        // macros stay within the length that it wrote, and a message is as long as the structure before it is read.
        unsafe {
            let mut message = libc::CMSG_FIRSTHDR(header);
            // Bound: as many as the control buffer holds.
            while !message.is_null() {
                let length = (*message).cmsg_len as usize;
                let holds = |bytes: usize| length >= libc::CMSG_LEN(bytes as u32) as usize;
                match ((*message).cmsg_level, (*message).cmsg_type) {
                    (libc::SOL_PACKET, libc::PACKET_AUXDATA) if holds(size_of::<libc::tpacket_auxdata>()) => {
                        told.0 = Some(libc::CMSG_DATA(message).cast::<libc::tpacket_auxdata>().read_unaligned());
                    }
                    (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) if holds(size_of::<libc::timespec>()) => {
                        told.1 = Some(libc::CMSG_DATA(message).cast::<libc::timespec>().read_unaligned());
                    }
                    _ => {}
                }
                message = libc::CMSG_NXTHDR(header, message);
            }
        }
        told
    }
}

/// Nanoseconds between two dates; 0 where the host's date was set back in between.
fn age_ns(arrived: libc::timespec, now: Timespec) -> u32 {
    let ns = (now.tv_sec - arrived.tv_sec).saturating_mul(1_000_000_000).saturating_add(now.tv_nsec - arrived.tv_nsec);
    u32::try_from(ns.max(0)).unwrap_or(u32::MAX)
}

impl AfPacket {
    /// Opens `interface`, promiscuous, for frames of `pool`.
    ///
    /// # Errors
    /// The interface is not there or in a bridge, or the process may not do this.
    pub fn open(pool: &Pool, interface: &str) -> Result<Self, PortError> {
        if pool.headroom() < TAG {
            return Err(failed(interface, "AF_PACKET needs 4 bytes of headroom for a VLAN tag"));
        }
        let index = system::interface_index(interface)?;
        // Where /sys shows this network namespace.
        let sys = |file: &str| std::fs::read_to_string(format!("/sys/class/net/{interface}/{file}"));
        let here = sys("ifindex").is_ok_and(|text| text.trim() == index.to_string());
        // Isolated ports of a bridge exchange nothing: it forwards nothing between two of them.
        if here && sys("brport/isolated").is_ok_and(|text| text.trim() != "1") {
            let what = "it is in a bridge, which would forward each frame a second time";
            let mend = format!(
                "`ip link set {interface} nomaster`, `bridge link set dev {interface} isolated on` while this runs, or af_xdp"
            );
            return Err(failed(interface, format!("{what}: {mend}")));
        }
        let at = |what| during(interface, what);
        let socket = system::socket(libc::AF_PACKET, 0).map_err(at("opening a packet socket"))?;
        let packet = |option, what| system::set(&socket, libc::SOL_PACKET, option, &1).map_err(at(what));
        packet(libc::PACKET_AUXDATA, "asking for VLAN tags")?;
        packet(libc::PACKET_IGNORE_OUTGOING, "leaving out what is sent (Linux 4.20 or later)")?;
        packet(libc::PACKET_QDISC_BYPASS, "sending past the kernel's queue")?;
        // Without it a frame counts as arrived when it is read.
        let _ = system::set(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1);
        // Without the right to more the ordinary size remains.
        let force = system::set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &RECEIVE_BUFFER);
        if force.is_err() {
            let _ = system::set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &RECEIVE_BUFFER);
        }
        let member = libc::packet_mreq {
            mr_ifindex: index as i32,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        system::set(&socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &member)
            .map_err(at("taking frames for every address"))?;
        let address = libc::sockaddr_ll {
            sll_family: libc::AF_PACKET as u16,
            sll_protocol: ALL_PROTOCOLS,
            sll_ifindex: index as i32,
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: 0,
            sll_addr: [0; 8],
        };
        system::bind(&socket, &address).map_err(at("binding the packet socket"))?;
        Ok(Self {
            interface: interface.to_owned(),
            index,
            socket,
            scratch: Scratch::new(),
            standby: Vec::with_capacity(BURST),
            frame_bytes: pool.frame_bytes(),
            link: system::Link::open(interface, index),
            is_down: false,
            counters: PortCounters::default(),
            gone: false,
        })
    }

    /// Judges the frame of message `at`, `length` bytes of which lie in `frame`; false when it goes no further.
    fn accept(&mut self, pool: &mut Pool, frame: Frame, at: usize, length: usize, now: Timespec) -> bool {
        let truncated = self.scratch.messages[at].msg_hdr.msg_flags & libc::MSG_TRUNC != 0;
        let (auxiliary, arrived) = self.scratch.told(at);
        let status = auxiliary.map_or(0, |auxiliary| auxiliary.tp_status);
        if status & libc::TP_STATUS_CSUMNOTREADY != 0 {
            self.counters.checksum_unfinished += 1;
        }
        if truncated || status & TP_STATUS_GSO_TCP != 0 {
            self.counters.oversize += 1;
            return false;
        }
        pool.filled(frame, length);
        pool.note_mut(frame).age_ns = arrived.map_or(0, |arrived| age_ns(arrived, now));
        if let Some(auxiliary) = auxiliary.filter(|_| status & libc::TP_STATUS_VLAN_VALID != 0) {
            let kind = match status & libc::TP_STATUS_VLAN_TPID_VALID {
                0 => libc::ETH_P_8021Q as u16,
                _ => auxiliary.tp_vlan_tpid,
            };
            restore_tag(pool, frame, kind, auxiliary.tp_vlan_tci);
        }
        true
    }
}

/// Puts the tag back between the addresses and the type, into the headroom.
fn restore_tag(pool: &mut Pool, frame: Frame, kind: u16, tag: u16) {
    let note = pool.note_mut(frame);
    if usize::from(note.length) < 12 {
        return;
    }
    *note = Note { offset: note.offset - TAG as u16, length: note.length + TAG as u16, ..*note };
    let contents = pool.contents_mut(frame);
    contents.copy_within(TAG..TAG + 12, 0);
    contents[12..14].copy_from_slice(&kind.to_be_bytes());
    contents[14..16].copy_from_slice(&tag.to_be_bytes());
}

impl Port for AfPacket {
    fn name(&self) -> &str {
        &self.interface
    }

    fn mode(&self) -> &str {
        "af_packet"
    }

    fn receive(&mut self, pool: &mut Pool, into: &mut Vec<Frame>) -> Result<(), PortError> {
        if self.gone {
            return Err(system::gone(&self.interface));
        }
        for _ in self.standby.len()..BURST {
            let Some(frame) = pool.take() else { break };
            self.standby.push(frame);
        }
        // The last on standby is the first to be filled, so that the rest stays in its place.
        let ready = self.standby.len();
        for (at, frame) in self.standby.iter().rev().enumerate() {
            self.scratch.point(at, pool.room_of(*frame), true);
        }
        #[allow(unsafe_code)]
        // SAFETY: the first `ready` messages were just pointed at frames and control buffers that outlive the call.
        let count = unsafe {
            let messages = self.scratch.messages.as_mut_ptr();
            libc::recvmmsg(self.socket.as_raw_fd(), messages, ready as u32, libc::MSG_DONTWAIT, std::ptr::null_mut())
        };
        if count < 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                // ENETDOWN: the link went down, and may come back.
                Some(libc::EAGAIN | libc::EINTR | libc::ENETDOWN | libc::ENOBUFS) => Ok(()),
                _ => Err(during(&self.interface, "receiving")(error)),
            };
        }
        let now = clock_gettime(ClockId::Realtime);
        for at in 0..count as usize {
            let Some(frame) = self.standby.pop() else { break };
            let length = self.scratch.messages[at].msg_len as usize;
            if self.accept(pool, frame, at, length, now) {
                self.counters.received += 1;
                self.counters.received_bytes += u64::from(pool.note(frame).length);
                into.push(frame);
            } else {
                pool.give(frame);
            }
        }
        Ok(())
    }

    fn send(&mut self, pool: &mut Pool, frames: &mut VecDeque<Frame>) -> Result<(), PortError> {
        if self.is_down && !self.link.is_up(&self.socket) {
            return Ok(());
        }
        self.is_down = false;
        let burst = frames.len().min(BURST);
        for (at, frame) in frames.iter().take(burst).enumerate() {
            self.scratch.point(at, pool.contents_mut(*frame), false);
        }
        let mut from = 0;
        // Bound: every turn passes a frame, or ends.
        while from < burst {
            #[allow(unsafe_code)]
            // SAFETY: the first `burst` messages were just pointed at frames, which outlive the call.
            let count = unsafe {
                let messages = self.scratch.messages.as_mut_ptr().add(from);
                libc::sendmmsg(self.socket.as_raw_fd(), messages, (burst - from) as u32, libc::MSG_DONTWAIT)
            };
            if count < 0 {
                let error = io::Error::last_os_error();
                match error.raw_os_error() {
                    // No room: what is left stays.
                    Some(libc::EAGAIN | libc::EINTR) => break,
                    // No room in the driver, or no carrier or interface: tried again when it is back, as each trial costs a copy.
                    Some(libc::ENOBUFS | libc::ENETDOWN) => {
                        self.is_down = !self.link.is_up(&self.socket);
                        break;
                    }
                    // This frame: longer than the MTU.
                    Some(libc::EMSGSIZE | libc::EINVAL) => {
                        self.counters.send_failed += 1;
                        from += 1;
                        if let Some(frame) = frames.pop_front() {
                            pool.give(frame);
                        }
                        continue;
                    }
                    _ => return Err(during(&self.interface, "sending")(error)),
                }
            }
            for _ in 0..count {
                let Some(frame) = frames.pop_front() else { break };
                self.counters.sent += 1;
                self.counters.sent_bytes += u64::from(pool.note(frame).length);
                pool.give(frame);
            }
            from += count as usize;
        }
        Ok(())
    }

    fn counters(&mut self) -> PortCounters {
        self.gone = !system::exists(self.index);
        let none = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        // Reading sets the kernel's counts back to zero.
        if let Ok(system) = system::get(&self.socket, libc::SOL_PACKET, libc::PACKET_STATISTICS, none) {
            self.counters.missed += u64::from(system.tp_drops);
        }
        self.counters.link_dropped = self.link.dropped();
        self.counters
    }

    /// The kernel counts a frame by the memory that it takes until it has left: 256 B more than its buffer.
    fn set_room(&mut self, room: Backlog) {
        let frame = self.frame_bytes as u64;
        let memory = (room.packets * (frame + 256)).max(room.bytes * 3 / 2);
        // It doubles what is asked for, and grants what it allows; without any of it the ordinary size remains.
        let half = i32::try_from(memory / 2).unwrap_or(i32::MAX);
        let _ = system::set(&self.socket, libc::SOL_SOCKET, libc::SO_SNDBUF, &half);
    }

    fn standby(&self) -> usize {
        self.standby.len()
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.socket.as_raw_fd())
    }
}

pub(super) const ABOUT: About = About {
    is_live: true,
    keys: &["interface"],
    needs: Some(("interface", INTERFACE)),
    uses: |table| Some((table.interface.clone()?, Way::AfPacket)),
    open: Open::Privileged(|table, pool| {
        Ok(Box::new(AfPacket::open(pool, table.interface.as_deref().unwrap_or_default())?))
    }),
};
