//! AF_PACKET: frames through the kernel's packet sockets, with any driver.
//!
//! The kernel sees every frame as well: the interface should have no address and be in no bridge, or it answers and
//! forwards too. Frames of any length that the pool holds.

use super::about::{About, Attachment, Open, INTERFACE};
use super::system::{self, during, failed};
use super::{Port, PortCounters, PortError, BURST};
use crate::clock::monotonic_ns;
use crate::pool::{Frame, Note, Pool};
use rustix::time::{clock_gettime, ClockId};
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
    date: Date,
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

/// How many nanoseconds the host's date, by which the kernel dates frames, is ahead of its monotonic clock. The two go at one
/// pace, so only a step of the date changes it.
struct Date {
    least_ns: i64,
    most_ns: i64,
    /// What was read may have arrived before a step of the date.
    is_stepped: bool,
    /// Since the step was seen, all that waited has been read.
    is_drained: bool,
}

impl Date {
    /// Until the first look.
    const UNKNOWN: Self = Self { least_ns: i64::MIN, most_ns: i64::MAX, is_stepped: false, is_drained: false };

    /// Looks, after frames were read that were all there were if `is_drained`.
    fn look(&mut self, is_drained: bool) {
        let before = monotonic_ns();
        let date = clock_gettime(ClockId::Realtime);
        self.read(before as i64, ns(date.tv_sec, date.tv_nsec), monotonic_ns() as i64, is_drained);
    }

    /// The date was read between two readings of the monotonic clock. They agree to the nanosecond, whatever lies between
    /// them, so each look makes the bounds closer.
    fn read(&mut self, before_ns: i64, date_ns: i64, after_ns: i64, is_drained: bool) {
        let (least_ns, most_ns) = (date_ns - after_ns, date_ns - before_ns);
        let was_stepped = least_ns > self.most_ns.saturating_add(1) || most_ns < self.least_ns.saturating_sub(1);
        if was_stepped {
            *self = Self { least_ns, most_ns, is_stepped: true, is_drained: false };
            return;
        }
        (self.least_ns, self.most_ns) = (self.least_ns.max(least_ns), self.most_ns.min(most_ns));
        self.is_stepped &= !self.is_drained;
        self.is_drained = is_drained;
    }

    /// What the monotonic clock showed at the latest when the date was `date`; 0 where that is not known.
    fn monotonic_ns(&self, date: libc::timespec) -> u64 {
        if self.is_stepped {
            return 0;
        }
        u64::try_from(ns(date.tv_sec, date.tv_nsec).saturating_sub(self.least_ns)).unwrap_or(0)
    }
}

/// As one number.
fn ns(seconds: i64, nanoseconds: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
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
            date: Date::UNKNOWN,
            counters: PortCounters::default(),
            gone: false,
        })
    }

    /// Judges the frame of message `at`, `length` bytes of which lie in `frame`; false when it goes no further.
    fn accept(&mut self, pool: &mut Pool, frame: Frame, at: usize, length: usize) -> bool {
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
        pool.note_mut(frame).arrived_ns = arrived.map_or(0, |arrived| self.date.monotonic_ns(arrived));
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
            libc::recvmmsg(
                self.socket.as_raw_fd(),
                messages,
                ready as u32,
                libc::MSG_DONTWAIT as _,
                std::ptr::null_mut(),
            )
        };
        if count < 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                // ENETDOWN: the link went down, and may come back.
                Some(libc::EAGAIN | libc::EINTR | libc::ENETDOWN | libc::ENOBUFS) => Ok(()),
                _ => Err(during(&self.interface, "receiving")(error)),
            };
        }
        if count > 0 {
            self.date.look((count as usize) < ready);
        }
        for at in 0..count as usize {
            let Some(frame) = self.standby.pop() else { break };
            let length = self.scratch.messages[at].msg_len as usize;
            if self.accept(pool, frame, at, length) {
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
                libc::sendmmsg(self.socket.as_raw_fd(), messages, (burst - from) as u32, libc::MSG_DONTWAIT as _)
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
    uses: |table| Some((table.interface.clone()?, Attachment::AfPacket)),
    open: Open::Privileged(|table, pool| {
        Ok(Box::new(AfPacket::open(pool, table.interface.as_deref().unwrap_or_default())?))
    }),
};

#[cfg(test)]
mod tests {
    use super::*;

    fn date(seconds: i64, nanoseconds: i64) -> libc::timespec {
        libc::timespec { tv_sec: seconds, tv_nsec: nanoseconds }
    }

    #[test]
    fn a_date_becomes_the_last_instant_at_which_it_can_have_been() {
        let mut known = Date::UNKNOWN;
        // The thread was away between the first reading and the last: the date is ahead by 1000 s - 900 ns to 1000 s - 100 ns.
        known.read(100, 1_000 * 1_000_000_000, 900, true);
        assert_eq!(known.monotonic_ns(date(999, 999_999_500)), 400);
        // Closer: by 1000 s - 340 ns to 1000 s - 300 ns. An earlier, wider look changes nothing any more.
        known.read(2_300, 1_000 * 1_000_000_000 + 2_000, 2_340, true);
        known.read(5_000, 1_000 * 1_000_000_000 + 5_000, 6_000, true);
        assert_eq!(known.monotonic_ns(date(1_000, 0)), 340);
        // Before the clock began, as a time that is no date would be.
        assert_eq!(known.monotonic_ns(date(10, 0)), 0);
    }

    #[test]
    fn a_step_of_the_date_dates_nothing_until_all_that_waited_has_been_read() {
        let mut known = Date::UNKNOWN;
        known.read(0, 1_000_000_000, 40, true);
        assert_eq!(known.monotonic_ns(date(1, 10)), 50);
        // An hour ahead: what was read may have arrived before or after it, and so may what is left, until a burst after it
        // has left nothing. The next is dated again.
        for (at, is_drained, dated) in [(100, true, 0), (200, false, 0), (300, true, 0), (400, false, 440)] {
            known.read(at, 3_601_000_000_000 + at, at + 40, is_drained);
            assert_eq!(known.monotonic_ns(date(3_601, at)), dated);
        }
    }
}
