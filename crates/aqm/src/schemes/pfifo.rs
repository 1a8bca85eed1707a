//! Tail drop: a first-in first-out queue that drops arrivals only when it is full.
//!
//! `pfifo` limits the number of waiting packets and `bfifo` the number of waiting bytes. An arrival that finds the queue at
//! its limit is dropped. This is what a link does without active queue management.
//!
//! # Deviations and interpretations
//! tc's default limit is the transmit queue length of the interface. Here it is 1000 packets, and for `bfifo` the bytes of
//! 1000 full-sized frames.
//!
//! # Work per packet
//! Constant.
//!
//! # References
//! * tc-pfifo(8) and tc-bfifo(8).

use crate::{About, Algorithm, Aqm, Cx, DropsAt, Excess, Packet, Queue, Reason};
use sojourn_units::{BitRate, Bytes, Instant, Packets};

crate::params! {
    /// Parameters of `pfifo`.
    pub struct PfifoParams {
        /// Waiting packets at which an arrival is dropped (tc-pfifo(8)).
        limit: Packets = Packets::new(1000),
    }
}

crate::params! {
    /// Parameters of `bfifo`.
    pub struct BfifoParams {
        /// Waiting bytes beyond which an arrival is dropped (tc-bfifo(8)).
        limit: Bytes = Bytes::new(1_514_000),
    }
}

/// Tail drop at a number of packets.
#[derive(Clone, Debug)]
pub struct Pfifo {
    limit: usize,
}

/// Tail drop at a number of bytes.
#[derive(Clone, Debug)]
pub struct Bfifo {
    limit: u64,
}

impl Aqm for Pfifo {
    #[inline]
    fn enqueue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue, packet: Packet) {
        if queue.len() >= self.limit {
            // A copy, so that one that is queued need not lie in memory before.
            cx.drop(packet.clone(), Reason::Overflow);
        } else {
            queue.push(packet);
        }
    }

    #[inline(always)]
    fn passes(&mut self, _now: Instant, _rate: BitRate, _queue: &Queue) -> bool {
        true
    }
}

impl Aqm for Bfifo {
    #[inline]
    fn enqueue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue, packet: Packet) {
        if queue.bytes() + u64::from(packet.bytes) > self.limit {
            cx.drop(packet, Reason::Overflow);
        } else {
            queue.push(packet);
        }
    }

    #[inline(always)]
    fn passes(&mut self, _now: Instant, _rate: BitRate, _queue: &Queue) -> bool {
        true
    }
}

impl Algorithm for Pfifo {
    type Params = PfifoParams;

    const ABOUT: About = About {
        title: "FIFO (packets)",
        summary: "tail drop at a number of waiting packets",
        source: "tc-pfifo(8)",
        signals_on: "full queue",
        drops_at: DropsAt::Enqueue,
        ecn: false,
        per_flow_state: false,
    };

    const EXCESS: Excess = Excess::Sent;

    fn set_params(&mut self, params: &PfifoParams) {
        *self = Self::new(params);
    }

    fn new(params: &PfifoParams) -> Self {
        Self { limit: usize::try_from(params.limit.get()).unwrap_or(usize::MAX) }
    }
}

impl Algorithm for Bfifo {
    type Params = BfifoParams;

    const ABOUT: About = About {
        title: "FIFO (bytes)",
        summary: "tail drop at a number of waiting bytes",
        source: "tc-bfifo(8)",
        ..Pfifo::ABOUT
    };

    const EXCESS: Excess = Excess::Sent;

    fn set_params(&mut self, params: &BfifoParams) {
        *self = Self::new(params);
    }

    fn new(params: &BfifoParams) -> Self {
        Self { limit: params.limit.get() }
    }
}
