//! Tins: which DSCP goes where, what share each has, and the state of one.

use super::flows::{Flow, Lists, Set};
use super::stats::TinStats;
use super::ways::Ways;
use crate::schemes::cobalt::{self, Control};
use crate::{Backlog, Cx};
use alloc::vec::Vec;
use sojourn_units::{BitRate, Bytes, Instant, Span};

/// A full frame.
pub(super) const MTU: Bytes = Bytes::new(1514);

crate::choice! {
    /// How DSCPs are sorted into tins.
    pub enum Diffserv {
        /// One tin for all.
        Besteffort = "besteffort",
        /// Eight tins by the upper three bits, the old IP precedence.
        Precedence = "precedence",
        /// Bulk, best effort, voice.
        Diffserv3 = "diffserv3",
        /// Bulk, best effort, video, voice.
        Diffserv4 = "diffserv4",
        /// From background to network control.
        Diffserv8 = "diffserv8",
    }
}

/// Codepoints (RFC 2474, 2597, 3246, 5865, 8622), and what was "low delay" in the type of service.
mod dscp {
    pub const LE: u8 = 1;
    pub const TOS_THROUGHPUT: u8 = 2;
    pub const TOS_DELAY: u8 = 4;
    pub const CS1: u8 = 8;
    pub const CS2: u8 = 16;
    pub const CS3: u8 = 24;
    pub const CS4: u8 = 32;
    pub const CS5: u8 = 40;
    pub const VA: u8 = 44;
    pub const EF: u8 = 46;
    pub const CS6: u8 = 48;
    pub const CS7: u8 = 56;
}

/// The class of AFxy, which is 8 x + 2 y.
fn assured(dscp: u8) -> Option<u8> {
    let (class, precedence) = (dscp >> 3, dscp & 7);
    ((1..=4).contains(&class) && matches!(precedence, 2 | 4 | 6)).then_some(class)
}

/// A tin's part of the bandwidth, and its weight without a shaper.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    /// The fraction that its threshold is of the bandwidth.
    pub fraction: (u64, u64),
    /// Bytes a turn without a shaper.
    pub weight: i64,
}

impl Diffserv {
    /// The tin of a packet; higher numbers go first, except that 1 is the background in `diffserv3` and `diffserv4`.
    pub(super) fn tin(self, dscp: u8) -> usize {
        use dscp::*;
        let dscp = dscp & 63;
        let tin = match self {
            Self::Besteffort => 0,
            Self::Precedence => dscp >> 3,
            // Latency sensitive: CS7, CS6, EF, VA, TOS4. Background: CS1, LE.
            Self::Diffserv3 => match dscp {
                CS1 | LE => 1,
                CS7 | CS6 | EF | VA | TOS_DELAY => 2,
                _ => 0,
            },
            // Latency sensitive: CS7, CS6, EF, VA, CS5, CS4. Streaming: AF4x, AF3x, CS3, AF2x, CS2, TOS4. Background: CS1, LE.
            Self::Diffserv4 => match (dscp, assured(dscp)) {
                (CS1 | LE, _) => 1,
                (CS7 | CS6 | EF | VA | CS5 | CS4, _) => 3,
                (CS3 | CS2 | TOS_DELAY, _) | (_, Some(2..=4)) => 2,
                _ => 0,
            },
            Self::Diffserv8 => match (dscp, assured(dscp)) {
                (CS1 | LE, _) => 0,
                (TOS_THROUGHPUT, _) | (_, Some(1)) => 1,
                (CS3, _) | (_, Some(3 | 4)) => 3,
                (TOS_DELAY, _) | (_, Some(2)) => 4,
                (CS2, _) => 5,
                (EF | VA | CS5 | CS4, _) => 6,
                (CS7 | CS6, _) => 7,
                _ => 2,
            },
        };
        usize::from(tin)
    }

    /// The tins' shares, in their order.
    pub(super) fn shares(self) -> Vec<Share> {
        let part = |shift: u32| Share { fraction: (1, 1 << shift), weight: 1024 >> shift };
        // Each an eighth less than the one before.
        let step = |n: u32| {
            let weight = (0..n).fold(256, |weight, _| weight * 7 / 8);
            Share { fraction: (7_u64.pow(n), 8_u64.pow(n)), weight }
        };
        match self {
            Self::Besteffort => Vec::from([Share { fraction: (1, 1), weight: 65_535 }]),
            Self::Diffserv3 => [0, 4, 2].map(part).into(),
            Self::Diffserv4 => [0, 4, 1, 2].map(part).into(),
            Self::Precedence | Self::Diffserv8 => (0..8).map(step).collect(),
        }
    }
}

/// One tin.
#[derive(Clone, Debug)]
pub(super) struct Tin {
    /// Bytes a turn without a shaper.
    pub share: i64,
    /// Bytes that a flow alone may send in a round, at most 1514.
    pub quantum: u32,
    /// How COBALT begins in a queue.
    pub control: Control,
    /// What a full frame takes at the tin's share; 0 without a shaper.
    frame: Span,
    /// Time a byte takes at the tin's share, in units of 2^-32 ns.
    byte: u64,
    /// When the share of what was sent is used up.
    pub next: Instant,
    /// Without a shaper: bytes that it may still send in this turn.
    pub deficit: i64,
    /// Flows by their state, in the order of [`Set`], and all of them.
    flows: [u32; 5],
    known: u32,
    pub waiting: Backlog,
    pub lists: Lists,
    pub ways: Ways,
    pub stats: TinStats,
}

impl Tin {
    /// A tin with a share of `bandwidth`; `rtt` gives COBALT's target and interval, and `cobalt` the rest of it.
    pub(super) fn new(share: Share, bandwidth: Option<BitRate>, rtt: Span, cobalt: &cobalt::Params) -> Self {
        let (parts, of) = share.fraction;
        let rate = bandwidth.map(|rate| (u128::from(rate.bit_s()) * u128::from(parts) / u128::from(of)) as u64);
        let rate = rate.map(|bit_s| BitRate::from_bit_s(bit_s.max(512)));
        let frame = rate.map_or(Span::ZERO, |rate| rate.time_for(MTU));
        let least = rtt / 20;
        let target = (frame * 3 / 2).max(least);
        let interval = (rtt + target.saturating_sub(least)).max(target * 2);
        let cobalt = cobalt::Params { target, interval, ..cobalt.clone() };
        Self {
            share: share.weight,
            quantum: rate.map_or(1514, |rate| (rate.bit_s() / 8 / 4096).clamp(300, 1514) as u32),
            control: Control::new(&cobalt).unspaced(),
            frame,
            byte: rate.map_or(0, |rate| ((8_000_000_000_u128 << 32) / u128::from(rate.bit_s())) as u64),
            next: Instant::ZERO,
            deficit: 0,
            flows: [0; 5],
            known: 0,
            waiting: Backlog::default(),
            lists: Lists::default(),
            ways: Ways::default(),
            stats: TinStats::default(),
        }
    }

    /// The parameters of `next`; what has been learnt, and what waits, is kept.
    pub(super) fn keep(&mut self, next: Self) {
        (self.share, self.quantum, self.control) = (next.share, next.quantum, next.control);
        (self.frame, self.byte) = (next.frame, next.byte);
    }

    /// A packet of `size` bytes uses the share. A tin that lags behind catches up packet by packet, and none is ever
    /// ahead by more than the last packet's time.
    pub(super) fn charge(&mut self, now: Instant, size: u64) {
        let time = Span::from_nanos(((u128::from(self.byte) * u128::from(size)) >> 32) as u64);
        self.next = if self.next < now { self.next + time } else { self.next.max(now + time) };
    }

    /// COBALT's target is not all: on a slow link a packet may wait for some others.
    pub(super) fn least_sojourn(&self, ingress: bool) -> Span {
        let flows = if ingress { 2 * u64::from(self.count(Set::Bulk)) } else { 0 };
        self.frame * flows.max(4)
    }

    /// Flows in a state.
    #[inline]
    pub(super) fn count(&self, set: Set) -> u32 {
        self.flows[set as usize]
    }

    /// Some flow has packets, or counts as if it had.
    #[inline]
    pub(super) fn is_active(&self) -> bool {
        self.known > self.count(Set::Idle) + self.count(Set::Decaying)
    }

    /// One more flow, which is idle.
    pub(super) fn met(&mut self) {
        self.flows[Set::Idle as usize] += 1;
        self.known += 1;
    }

    /// The flow is in another state now: the counts here and of its hosts follow.
    #[inline]
    pub(super) fn change(&mut self, flow: &mut Flow, set: Set) {
        let before = core::mem::replace(&mut flow.set, set);
        if before == set {
            return;
        }
        self.flows[before as usize] -= 1;
        self.flows[set as usize] += 1;
        if before == Set::Bulk {
            self.ways.count_bulk(flow.hosts, -1);
        }
        if set == Set::Bulk {
            self.ways.count_bulk(flow.hosts, 1);
        }
    }

    /// Bytes that a flow may send in a round: less, the more bulk flows its busier host has.
    #[inline]
    pub(super) fn quantum(&self, cx: &mut Cx<'_>, flow: &Flow) -> i64 {
        match self.ways.host_load(flow.hosts) {
            0 | 1 => i64::from(self.quantum),
            load => i64::from(((self.quantum << 16) / load + (cx.random.next_u64() & 0xffff) as u32) >> 16),
        }
    }
}
