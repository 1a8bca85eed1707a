//! AVQ (adaptive virtual queue): drops or marks what would overflow a virtual queue that is served more slowly than the
//! link.
//!
//! AVQ simulates a queue with the same arrivals but a smaller capacity than the link. A packet that would not fit into this
//! virtual queue is dropped or marked, although the real queue is still short. The virtual capacity adapts so that the
//! link's utilisation stays near `gamma`.
//!
//! # Control law
//! VQ is the virtual queue, B its size, Ct the virtual capacity and C the link's rate. When b bytes arrive at time t, `VQ <-
//! max(VQ - Ct (t - t_vq), 0)`, where t_vq is the time of its last update. If `VQ + b > B`, the packet is dropped or marked
//! and VQ keeps its value; otherwise `VQ <- VQ + b`. Then `Ct <- clamp(Ct + alpha (gamma C (t - t_c) - b), 0, C)`, where t_c
//! is the time of the last change of Ct: the virtual capacity falls while more than gamma C arrives. A dropped packet
//! changes neither Ct nor t_c, so the rate of the packets that enter settles at gamma C.
//!
//! # Deviations and interpretations
//! * Equation 7 of Hassan, Hassan and Arif contains a misplaced dot, and according to their text the capacity rises with the
//!   queue. Here it falls, as in the original paper.
//! * B is the real buffer, `limit`, as in the paper; `buffer` gives the virtual queue a size of its own. With `ecn`, packets
//!   that cannot be marked are dropped, and count as dropped.
//! * An arrival for which the real buffer has no room is a dropped packet: it changes neither VQ nor Ct.
//! * `unit packets` counts each packet as b = 1, C in packets of `avpkt` bytes, and B in packets; `avpkt` converts a limit
//!   into this unit.
//! * When the link's rate changes, C at each time since t_c is the rate at that time.
//!
//! # Work per packet
//! Constant. There is no timer.
//!
//! # References
//! * S. Kunniyur and R. Srikant, "An Adaptive Virtual Queue (AVQ) Algorithm for Active Queue Management", IEEE/ACM
//!   Transactions on Networking 12(2), 2004: pseudocode and the section on dropping.
//! * S. Hassan, A. F. Hassan and S. Arif, "A Fairness Investigation on Active Queue Management Schemes in Wireless Local
//!   Area Network", equation 5 and Table 2.

use crate::{About, Algorithm, Aqm, Cx, DropsAt, Internal, Limit, Packet, Queue, Reason};
use alloc::string::String;
use sojourn_units::{BitRate, Bytes, Instant, Probability, Span};

crate::choice! {
    /// What the virtual queue counts.
    pub enum Unit {
        /// Bytes.
        Bytes = "bytes",
        /// Packets, whatever their size.
        Packets = "packets",
    }
}

crate::params! {
    /// Parameters of `avq`.
    pub struct Params {
        /// Waiting packets or bytes at which an arrival is dropped; also the size of the virtual queue unless buffer is given (the paper).
        limit: Limit = Limit::packets(1000),
        /// Size of the virtual queue, B; "none": that of the real buffer (ns-2 scales it by buflim_).
        buffer: Option<Limit> = None,
        /// Desired utilisation (the paper; ns-2; Hassan, Hassan and Arif, Table 2).
        gamma: Probability = Probability::clamped(0.98),
        /// How fast the virtual capacity adapts, per second (the paper and ns-2: 0.15; Hassan, Hassan and Arif: 0.8).
        alpha: f64 = 0.15,
        /// Initial virtual capacity, as a share of the link's rate (ns-2's ecnlim_).
        initial: Probability = Probability::clamped(0.8),
        /// What the virtual queue counts (ns-2's queue_in_bytes_).
        unit: Unit = Unit::Bytes,
        /// Mean packet size, which converts between packets and bytes (ns-2's mean_pktsize_).
        avpkt: Bytes = Bytes::new(1000),
        /// Mark ECN-capable packets instead of dropping them (the paper allows marking).
        ecn: bool = false,
    }
}

/// The algorithm and its state; amounts are in the chosen unit.
#[derive(Clone, Debug)]
pub struct Avq {
    limit: Limit,
    alpha: f64,
    gamma: f64,
    initial: f64,
    /// B.
    buffer: f64,
    /// Units a bit/s brings in a second.
    scale: f64,
    unit: Unit,
    ecn: bool,
    /// VQ, as of `drained`.
    virtual_queue: f64,
    /// t_vq.
    drained: Instant,
    capacity: Capacity,
}

/// The virtual capacity, from the first arrival on.
#[derive(Clone, Debug)]
enum Capacity {
    /// The link's rate is not known yet.
    Unknown,
    Known {
        /// Ct, in units a second.
        virtual_rate: f64,
        /// C from `since` until now.
        rate: BitRate,
        /// C in units a second.
        link: f64,
        since: Instant,
        /// Integral of C from t_c to `since`: what the link could have sent under other rates.
        earlier: f64,
        /// The last event at which C was the rate.
        seen: Instant,
    },
}

/// A product, where [`Span::seconds`] divides.
fn seconds(span: Span) -> f64 {
    span.nanos() as f64 * 1e-9
}

impl Avq {
    /// The virtual queue runs down at Ct.
    fn drain(&mut self, now: Instant, virtual_rate: f64) {
        let sent = virtual_rate * seconds(now.since(self.drained));
        self.virtual_queue = (self.virtual_queue - sent).max(0.0);
        self.drained = now;
    }

    /// An arrival of `amount` that enters moves Ct.
    fn adapt(&mut self, now: Instant, amount: f64) {
        if let Capacity::Known { virtual_rate, link, since, earlier, .. } = &mut self.capacity {
            let could = *earlier + *link * seconds(now.since(*since));
            *virtual_rate = (*virtual_rate + self.alpha * (self.gamma * could - amount)).clamp(0.0, *link);
            (*since, *earlier) = (now, 0.0);
        }
    }
}

impl Aqm for Avq {
    #[inline]
    fn advance(&mut self, now: Instant, rate: BitRate, _queue: &Queue) {
        let scale = self.scale;
        if let Capacity::Known { rate: old, link, since, earlier, seen, .. } = &mut self.capacity {
            if *old != rate {
                *earlier += *link * seconds(seen.since(*since));
                (*old, *link, *since) = (rate, rate.bit_s() as f64 * scale, *seen);
            }
            *seen = now;
        }
    }

    #[inline]
    fn enqueue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue, mut packet: Packet) {
        let now = cx.now;
        let virtual_rate = match self.capacity {
            Capacity::Known { virtual_rate, .. } => virtual_rate,
            Capacity::Unknown => {
                let link = cx.rate.bit_s() as f64 * self.scale;
                let virtual_rate = self.initial * link;
                self.capacity =
                    Capacity::Known { virtual_rate, rate: cx.rate, link, since: now, earlier: 0.0, seen: now };
                virtual_rate
            }
        };
        self.drain(now, virtual_rate);
        if self.limit.is_full(queue, packet.bytes) {
            return cx.drop(packet, Reason::Overflow);
        }
        let amount = match self.unit {
            Unit::Bytes => f64::from(packet.bytes),
            Unit::Packets => 1.0,
        };
        if self.virtual_queue + amount > self.buffer {
            if !(self.ecn && cx.mark(&mut packet)) {
                return cx.drop(packet, Reason::Early);
            }
        } else {
            self.virtual_queue += amount;
        }
        queue.push(packet);
        self.adapt(now, amount);
    }

    #[inline(always)]
    fn passes(&mut self, now: Instant, rate: BitRate, queue: &Queue) -> bool {
        self.advance(now, rate, queue);
        true
    }

    fn internals(&self, visit: &mut Internal<'_>) {
        let virtual_rate = match self.capacity {
            Capacity::Unknown => f64::NAN,
            Capacity::Known { virtual_rate, .. } => virtual_rate / self.scale,
        };
        visit("virtual_capacity_bit_s", virtual_rate);
        visit("virtual_queue", self.virtual_queue);
        visit("virtual_buffer", self.buffer);
    }
}

impl Algorithm for Avq {
    type Params = Params;
    const FIXED: &'static [&'static str] = &["unit", "avpkt"];

    const ABOUT: About = About {
        title: "AVQ",
        summary: "drops what would overflow a virtual queue whose capacity adapts to hold a utilisation",
        source: "Kunniyur and Srikant 2004",
        signals_on: "arrival rate (virtual queue)",
        drops_at: DropsAt::Enqueue,
        ecn: true,
        per_flow_state: false,
    };

    const PRESETS: &'static [&'static str] = &["hassan"];

    fn preset(name: &str) -> Option<Params> {
        (name == "hassan").then(|| Params { alpha: 0.8, ..Params::default() })
    }

    fn check(params: &Params) -> Result<(), String> {
        if params.avpkt.get() == 0 {
            return Err("avpkt is 0; allowed: 1 B or more".into());
        }
        Ok(())
    }

    fn set_params(&mut self, params: &Params) {
        let old = core::mem::replace(self, Self::new(params));
        self.virtual_queue = old.virtual_queue;
        self.drained = old.drained;
        self.capacity = old.capacity;
    }

    fn new(params: &Params) -> Self {
        let mean = params.avpkt.get() as f64;
        let bytes = match params.buffer.unwrap_or(params.limit) {
            Limit::Packets(packets) => packets.get() as f64 * mean,
            Limit::Bytes(bytes) => bytes.get() as f64,
        };
        let size = match params.unit {
            Unit::Bytes => 1.0,
            Unit::Packets => mean,
        };
        Self {
            limit: params.limit,
            alpha: params.alpha,
            gamma: params.gamma.get(),
            initial: params.initial.get(),
            buffer: bytes / size,
            scale: 1.0 / (8.0 * size),
            unit: params.unit,
            ecn: params.ecn,
            virtual_queue: 0.0,
            drained: Instant::ZERO,
            capacity: Capacity::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::{canonical, close, refused, Fate, Host};
    use crate::Ecn;

    /// C = 1 MB/s (1000 packets a second), Ct at first 0.8 MB/s.
    fn host(change: impl FnOnce(&mut Params)) -> Host<Avq> {
        let mut params =
            Params { limit: Limit::packets(100), buffer: Some(Limit::packets(5)), alpha: 100.0, ..Params::default() };
        change(&mut params);
        Host::new(params)
    }

    /// In bytes a second.
    fn capacity(host: &mut Host<Avq>) -> f64 {
        host.internal("virtual_capacity_bit_s") / 8.0
    }

    #[test]
    fn capacity_and_virtual_queue_by_hand() {
        let mut host = host(|_| ());
        assert_eq!(host.arrive(), Fate::Queued);
        // Ct = 800000 + 100 (0.98e6 x 0 - 1000) = 700000.
        close(capacity(&mut host), 700_000.0);
        host.wait(Span::from_micros(500));
        assert_eq!(host.arrive(), Fate::Queued);
        // VQ = 1000 - 700000 x 0.0005 + 1000 = 1650; Ct = 700000 + 100 (490 - 1000) = 649000.
        close(host.internal("virtual_queue"), 1650.0);
        close(capacity(&mut host), 649_000.0);
        // A long idle time empties VQ and takes Ct to C and no further.
        host.wait(Span::from_secs(9));
        host.arrive();
        close(host.internal("virtual_queue"), 1000.0);
        close(capacity(&mut host), 1e6);
    }

    #[test]
    fn a_dropped_packet_changes_neither_capacity_nor_its_clock() {
        let mut host = host(|params| params.alpha = 1.0);
        // Five fill B = 5000 exactly; the sixth would exceed it. Ct = 800000 - 5 x 1000.
        assert_eq!(host.arrive_many(5), 5);
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
        close(capacity(&mut host), 795_000.0);
        close(host.internal("virtual_queue"), 5000.0);
        host.wait(Span::from_millis(1));
        // VQ = 5000 - 795 = 4205: no room for 1000, but dropped packets still drain it.
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
        close(host.internal("virtual_queue"), 4205.0);
        host.wait(Span::from_millis(1));
        assert_eq!(host.arrive(), Fate::Queued);
        // Ct's clock ran through the drop: 795000 + (0.98e6 x 0.002 - 1000) = 795960.
        close(capacity(&mut host), 795_960.0);
    }

    #[test]
    fn a_marked_packet_moves_the_capacity_but_not_the_virtual_queue() {
        let mut host = host(|params| {
            params.alpha = 1.0;
            params.ecn = true;
        });
        host.ecn = Ecn::Ect0;
        assert_eq!(host.arrive_many(5), 5);
        assert_eq!(host.arrive(), Fate::Marked);
        close(capacity(&mut host), 794_000.0);
        close(host.internal("virtual_queue"), 5000.0);
        host.ecn = Ecn::NotEct;
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
        close(capacity(&mut host), 794_000.0);
    }

    #[test]
    fn packets_as_the_unit() {
        let mut host = host(|params| {
            params.alpha = 1.0;
            params.unit = Unit::Packets;
        });
        host.bytes = 40;
        assert_eq!(host.arrive_many(6), 5);
        close(host.internal("virtual_queue"), 5.0);
        // 800 - 5 packets of 1000 B a second.
        close(capacity(&mut host), 795_000.0);
    }

    #[test]
    fn the_capacity_integrates_the_rate_that_held() {
        let mut host = host(|params| params.alpha = 1.0);
        host.arrive();
        host.wait(Span::from_millis(3));
        // 3 ms at 1 MB/s; a departure is an event at the old rate; then 5 ms at 2 MB/s.
        host.send();
        host.rate = BitRate::from_bit_s(16_000_000);
        host.wait(Span::from_millis(5));
        host.arrive();
        // 799000 + 0.98 (3000 + 10000) - 1000.
        close(capacity(&mut host), 799_000.0 + 12_740.0 - 1000.0);
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes Miri minutes")]
    fn the_rate_that_enters_settles_at_gamma_c() {
        // 1.5 times C arrives; what enters settles at 0.98 C.
        let mut host = host(|params| params.alpha = 5.0);
        let mut entered = 0;
        for n in 0..30_000 {
            host.wait(Span::from_nanos(666_667));
            let queued = host.arrive() == Fate::Queued;
            entered += usize::from(queued && n >= 15_000);
            host.send();
        }
        // 10 s: 9800 packets, give or take what the virtual buffer holds.
        assert!((9790..=9810).contains(&entered), "{entered}");
    }

    #[test]
    fn texts() {
        assert_eq!(canonical("avq preset hassan buffer 50p"), "avq buffer 50p alpha 0.8");
        assert_eq!(canonical("avq unit packets limit 100kB"), "avq limit 100000B unit packets");
        assert!(refused("avq gamma 1.5").contains("gamma"));
        assert!(refused("avq avpkt 0").contains("avpkt is 0"));
    }
}
