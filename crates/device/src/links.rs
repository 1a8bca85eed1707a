//! Whether the ports have a carrier, as the kernel tells it (rtnetlink(7)). A thread of its own reads the kernel's messages,
//! so that a cable that is pulled is known at once, and the packet path asks for nothing. Cards that the kernel does not
//! have, as DPDK's driver has them, are asked when the state is published.

use crate::config::PortTable;
use crate::port::eal::Device;
use crate::status::LinkStatus;
use nix::errno::Errno;
use nix::sys::socket::{
    bind, recv, send, socket, AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType,
};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Changes of a port's link that are logged one by one within [`PERIOD`]; of those beyond, only their number is.
const LINES: u32 = 6;
const PERIOD: Duration = Duration::from_secs(10);

/// Longest message that is read whole.
const BUFFER: usize = 1 << 15;
const RTMGRP_LINK: u32 = 1;
const RTM_NEWLINK: u16 = 16;
const RTM_GETLINK: u16 = 18;
const NLM_F_REQUEST: u16 = 1;
/// Lengths of `struct nlmsghdr` and `struct ifinfomsg`.
const HEADER: usize = 16;
const ABOUT: usize = 16;

/// What is known of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Up,
    /// The interface is up, and nothing answers at the other end of its cable.
    NoCarrier,
    /// The interface was set down.
    Down,
}

impl State {
    fn of(flags: u32) -> Self {
        let has = |flag: i32| flags & flag as u32 != 0;
        match (has(libc::IFF_UP), has(libc::IFF_LOWER_UP)) {
            (false, _) => Self::Down,
            (true, false) => Self::NoCarrier,
            (true, true) => Self::Up,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::NoCarrier => "no carrier",
            Self::Down => "down",
        }
    }
}

/// One port's.
#[derive(Debug)]
struct Link {
    interface: String,
    /// The kernel's number of its interface; `None` where the port's driver is asked.
    index: Option<u32>,
    /// `None` until it was told.
    state: Option<State>,
    since: Instant,
    lost: u64,
    /// Without a link before `since`.
    down: Duration,
    /// When [`PERIOD`] began, and changes since.
    period: Instant,
    changes: u32,
}

impl Link {
    fn new(interface: String, index: Option<u32>) -> Self {
        let now = Instant::now();
        Self { interface, index, state: None, since: now, lost: 0, down: Duration::ZERO, period: now, changes: 0 }
    }

    fn without(&self, now: Instant) -> Duration {
        match self.state {
            None | Some(State::Up) => self.down,
            Some(_) => self.down + now.saturating_duration_since(self.since),
        }
    }

    /// Kernel or driver told this.
    fn told(&mut self, state: State, now: Instant) {
        let Some(before) = self.state else {
            (self.state, self.since) = (Some(state), now);
            if state != State::Up {
                self.lost += 1;
                self.say(now);
            }
            return;
        };
        if before == state {
            return;
        }
        let was = now.saturating_duration_since(self.since);
        self.down = self.without(now);
        self.lost += u64::from(before == State::Up);
        (self.state, self.since) = (Some(state), now);
        self.quiet(now);
        self.changes += 1;
        if self.changes > LINES {
            return;
        }
        match state {
            State::Up => {
                tracing::info!(after_s = was.as_secs_f64(), lost = self.lost, "{}: the link is back", self.interface);
            }
            _ => self.say(now),
        }
    }

    fn say(&self, now: Instant) {
        if let Some(advice) = self.status(now).and_then(|status| status.advice(&self.interface)) {
            tracing::warn!(lost = self.lost, "{advice}");
        }
    }

    /// Ends a period that is over, with the number of changes that it left out.
    fn quiet(&mut self, now: Instant) {
        if now.saturating_duration_since(self.period) < PERIOD {
            return;
        }
        if let (Some(out), Some(state)) = (self.changes.checked_sub(LINES).filter(|out| *out > 0), self.state) {
            let (name, state) = (&self.interface, state.name());
            tracing::warn!(
                lost = self.lost,
                "{name}: the link changed {out} times more within 10 s; now it is {state}"
            );
        }
        (self.period, self.changes) = (now, 0);
    }

    fn status(&self, now: Instant) -> Option<LinkStatus> {
        Some(LinkStatus {
            state: self.state?.name(),
            for_s: now.saturating_duration_since(self.since).as_secs_f64(),
            lost: self.lost,
            down_s: self.without(now).as_secs_f64(),
        })
    }
}

/// The links of the ports A and B; there is none where neither kernel nor driver tells of it.
#[derive(Clone, Debug, Default)]
pub struct Links(Arc<Mutex<[Option<Link>; 2]>>);

impl Links {
    /// How they fare. Never waits: where they are being written, what was known `before` stays.
    #[must_use]
    pub fn status(&self, before: [Option<LinkStatus>; 2]) -> [Option<LinkStatus>; 2] {
        let now = Instant::now();
        match self.0.try_lock() {
            Ok(links) => links.each_ref().map(|link| link.as_ref()?.status(now)),
            Err(_) => before,
        }
    }

    /// The driver of the port `side` was asked for its carrier. The kernel's word goes before it.
    pub fn asked(&self, side: usize, name: &str, has_carrier: bool) {
        let now = Instant::now();
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(place) = links.get_mut(side) else { return };
        let link = place.get_or_insert_with(|| Link::new(name.to_owned(), None));
        if link.index.is_none() {
            link.told(if has_carrier { State::Up } else { State::NoCarrier }, now);
            link.quiet(now);
        }
    }

    fn each(&self, mut act: impl FnMut(&mut Link)) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter_mut().flatten().for_each(&mut act);
    }
}

/// The kernel's messages about links.
pub struct Watch {
    socket: OwnedFd,
    links: Links,
}

impl Watch {
    /// Opens the socket for the ports `tables`, while the process may; `None` where no port has an interface of the kernel's.
    ///
    /// # Errors
    /// The system gives no such socket.
    pub fn open(tables: [&PortTable; 2]) -> io::Result<Option<Self>> {
        let found = tables.map(|table| {
            let name = interface(table)?;
            let index = nix::net::if_::if_nametoindex(name.as_str()).ok()?;
            Some(Link::new(name, Some(index)))
        });
        if found.iter().all(Option::is_none) {
            return Ok(None);
        }
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, RTMGRP_LINK))?;
        let watch = Self { socket, links: Links(Arc::new(Mutex::new(found))) };
        // The answers are there as soon as the questions are sent.
        watch.ask();
        let mut buffer = vec![0; BUFFER];
        watch.drain(&mut buffer)?;
        Ok(Some(watch))
    }

    /// What it finds.
    #[must_use]
    pub fn links(&self) -> Links {
        self.links.clone()
    }

    /// Starts the thread that reads. After privileges are given up: a thread of before would keep them.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(self) -> io::Result<()> {
        std::thread::Builder::new().name("links".into()).spawn(move || self.read()).map(|_| ())
    }

    fn read(self) {
        let mut buffer = vec![0; BUFFER];
        let period = Timespec { tv_sec: PERIOD.as_secs() as i64, tv_nsec: 0 };
        loop {
            if let Err(error) = self.drain(&mut buffer) {
                tracing::warn!(%error, "the kernel no longer tells of links");
                return;
            }
            let now = Instant::now();
            self.links.each(|link| link.quiet(now));
            // An interruption only means looking sooner.
            let _ = poll(&mut [PollFd::from_borrowed_fd(self.socket.as_fd(), PollFlags::IN)], Some(&period));
        }
    }

    /// Takes what has come.
    fn drain(&self, buffer: &mut [u8]) -> Result<(), Errno> {
        loop {
            match recv(self.socket.as_raw_fd(), buffer, MsgFlags::empty()) {
                Ok(length) => self.take(&buffer[..length.min(buffer.len())]),
                // Some were lost, as too many came at once.
                Err(Errno::ENOBUFS) => self.ask(),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Asks for the present state. Where the question cannot be sent, the next change says it.
    fn ask(&self) {
        let mut indices = Vec::new();
        self.links.each(|link| indices.extend(link.index));
        for index in indices {
            let _ = send(self.socket.as_raw_fd(), &question(index), MsgFlags::empty());
        }
    }

    fn take(&self, messages: &[u8]) {
        let now = Instant::now();
        for (index, flags) in told(messages) {
            self.links.each(|link| {
                if link.index == Some(index) {
                    link.told(State::of(flags), now);
                }
            });
        }
    }
}

/// The interface of a port, where the kernel has it.
fn interface(table: &PortTable) -> Option<String> {
    let own = (table.back_end.about().uses)(table).map(|(name, _)| name);
    own.or_else(|| Some(Device::parse(table.device.as_deref()?).ok()?.interface()?.to_owned()))
}

/// `RTM_GETLINK` of an interface.
fn question(index: u32) -> [u8; HEADER + ABOUT] {
    let mut question = [0; HEADER + ABOUT];
    question[..4].copy_from_slice(&((HEADER + ABOUT) as u32).to_ne_bytes());
    question[4..6].copy_from_slice(&RTM_GETLINK.to_ne_bytes());
    question[6..8].copy_from_slice(&NLM_F_REQUEST.to_ne_bytes());
    question[HEADER + 4..HEADER + 8].copy_from_slice(&index.to_ne_bytes());
    question
}

/// Interfaces and their flags, of the messages that say so. One that was cut says it in its beginning.
fn told(mut messages: &[u8]) -> Vec<(u32, u32)> {
    let word = |bytes: &[u8], at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let mut found = Vec::new();
    // Bound: every turn takes a header's length at least.
    while let Some(length) = word(messages, 0) {
        let kind = messages.get(4..6).map(|kind| u16::from_ne_bytes([kind[0], kind[1]]));
        if let (Some(RTM_NEWLINK), Some(index), Some(flags)) =
            (kind, word(messages, HEADER + 4), word(messages, HEADER + 8))
        {
            found.push((index, flags));
        }
        let next = (length as usize).max(HEADER).next_multiple_of(4);
        let Some(rest) = messages.get(next..) else { break };
        messages = rest;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, index: u32, flags: i32) -> Vec<u8> {
        let mut bytes = question(index).to_vec();
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[HEADER + 8..HEADER + 12].copy_from_slice(&(flags as u32).to_ne_bytes());
        // An attribute of 6 bytes, padded to 8.
        bytes.extend([6, 0, 3, 0, b'x', 0, 0, 0]);
        let length = (bytes.len() - 2) as u32;
        bytes[..4].copy_from_slice(&length.to_ne_bytes());
        bytes
    }

    #[test]
    fn interfaces_and_flags_are_read_out_of_messages_and_nothing_out_of_others() {
        let both = [message(RTM_NEWLINK, 7, libc::IFF_UP), message(17, 8, 0), message(RTM_NEWLINK, 9, 0)].concat();
        assert_eq!(told(&both), [(7, libc::IFF_UP as u32), (9, 0)]);
        // Cut anywhere: nothing is made up, and it ends.
        for length in 0..both.len() {
            assert!(both.starts_with(&both[..length]) && told(&both[..length]).len() <= 2);
        }
        for length in [0_u32, 1, 15, u32::MAX] {
            let mut wrong = both.clone();
            wrong[..4].copy_from_slice(&length.to_ne_bytes());
            assert!(told(&wrong).len() <= wrong.len() / HEADER);
        }
    }

    #[test]
    fn a_link_that_is_lost_counts_until_it_is_back() {
        let up = State::of((libc::IFF_UP | libc::IFF_LOWER_UP) as u32);
        assert_eq!((up, State::of(libc::IFF_UP as u32), State::of(0)), (State::Up, State::NoCarrier, State::Down));
        let mut link = Link::new("eth0".into(), Some(7));
        let begin = link.since;
        let at = |s: u64| begin + Duration::from_secs(s);
        assert_eq!(link.status(at(1)), None);
        let known = |link: &Link, s| {
            let LinkStatus { state, for_s, lost, down_s } = link.status(at(s)).unwrap();
            (state, for_s, lost, down_s)
        };
        link.told(State::Up, at(1));
        assert_eq!(known(&link, 4), ("up", 3.0, 0, 0.0));
        // 4 to 6 without a carrier, 6 to 9 down, 9 to 12 up, from 12 on down: one loss each time that it was up.
        link.told(State::NoCarrier, at(4));
        assert_eq!(known(&link, 5), ("no carrier", 1.0, 1, 1.0));
        link.told(State::Down, at(6));
        link.told(State::Down, at(7));
        assert_eq!(known(&link, 8), ("down", 2.0, 1, 4.0));
        link.told(State::Up, at(9));
        assert_eq!(known(&link, 12), ("up", 3.0, 1, 5.0));
        link.told(State::Down, at(12));
        assert_eq!(known(&link, 14), ("down", 2.0, 2, 7.0));
        let status = link.status(at(14)).unwrap();
        assert!(status.advice("eth0").unwrap().contains("`ip link set dev eth0 up`"));
    }

    #[test]
    fn a_driver_is_asked_where_the_kernel_does_not_tell() {
        let links = Links::default();
        let state = |side: usize| links.status([None, None])[side].map(|status| (status.state, status.lost));
        assert_eq!([state(0), state(1)], [None, None]);
        for (has_carrier, known) in [(true, ("up", 0)), (false, ("no carrier", 1)), (true, ("up", 1))] {
            links.asked(1, "0000:01:00.0", has_carrier);
            assert_eq!([state(0), state(1)], [None, Some(known)]);
        }
        // The driver of a packet socket always says yes.
        let kernels = Links(Arc::new(Mutex::new([Some(Link::new("eth0".into(), Some(7))), None])));
        kernels.each(|link| link.told(State::NoCarrier, Instant::now()));
        kernels.asked(0, "net_af_packet0", true);
        assert_eq!(kernels.status([None, None])[0].unwrap().state, "no carrier");
    }
}
