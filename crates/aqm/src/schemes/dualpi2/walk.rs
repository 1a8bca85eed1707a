//! DualPI2 beside a direct model on random traffic: floating point, one update at a time, two plain lists of packets.

use super::{BufferLimit, DualPi2, L4sAqm, Marking, Params, Scheduler, Share, StepThreshold};
use crate::test_host::{DisciplineHost, Stream};
use crate::{Ecn, Random, Reason, Standalone};
use sojourn_units::{Bytes, Packets, Span};
use std::collections::VecDeque;
use std::vec::Vec;

struct Waiting {
    serial: u64,
    since_ns: u64,
    bytes: u64,
    ecn: Ecn,
    /// L4S packets that it found.
    found: u64,
}

/// Decisions of one operation: what was dropped and why, what was marked.
#[derive(Default, Debug, PartialEq)]
struct Outcome {
    dropped: Vec<(u64, Reason)>,
    marked: Vec<u64>,
    sent: Option<u64>,
}

struct Model {
    params: Params,
    /// L4S, classic.
    queues: [VecDeque<Waiting>; 2],
    p: f64,
    previous_s: f64,
    next_ns: Option<u64>,
    sums: [f64; 2],
    credit: f64,
    rate_bit_s: u64,
    random: Stream,
}

impl Model {
    fn new(params: Params) -> Self {
        let classic = params.classic_protection.get();
        Self {
            credit: params.mtu.get() as f64 * (classic - (1.0 - classic)),
            params,
            queues: [VecDeque::new(), VecDeque::new()],
            p: 0.0,
            previous_s: 0.0,
            next_ns: None,
            sums: [0.0; 2],
            rate_bit_s: 0,
            random: Stream::new(1),
        }
    }

    fn bytes(&self) -> u64 {
        self.queues.iter().flatten().map(|packet| packet.bytes).sum()
    }

    fn update(&mut self, now_ns: u64) {
        let period = self.params.tupdate.nanos();
        while let Some(at) = self.next_ns.filter(|at| *at <= now_ns) {
            let age = |queue: &VecDeque<Waiting>| queue.front().map_or(0.0, |head| (at - head.since_ns) as f64 / 1e9);
            let delay = age(&self.queues[0]).max(age(&self.queues[1]));
            self.p += self.params.alpha * (delay - self.params.target.seconds());
            self.p += self.params.beta * (delay - self.previous_s);
            self.p =
                self.p.clamp(0.0, if self.params.drop_on_overload { 1.0 } else { 1.0 / self.params.coupling_factor });
            self.previous_s = delay;
            self.next_ns = Some(at + period);
        }
    }

    fn roll(&mut self, p: f64) -> bool {
        p >= 1.0 || (p > 0.0 && self.random.uniform() < p)
    }

    fn recur(&mut self, queue: usize, p: f64) -> bool {
        self.sums[queue] += p.min(1.0);
        let hit = self.sums[queue] > 1.0;
        self.sums[queue] -= f64::from(u8::from(hit));
        hit
    }

    fn squared(&mut self, queue: usize) -> bool {
        match self.params.marking {
            Marking::Recurrent => self.recur(queue, self.p * self.p),
            Marking::Random => {
                let p = self.p;
                self.roll(p) && self.roll(p)
            }
        }
    }

    /// True when the packet is dropped; marks it itself.
    fn judge(&mut self, queue: usize, packet: &mut Waiting, native: f64, pi2: bool, out: &mut Outcome) -> bool {
        let acts = pi2 && self.bytes() >= 2 * self.params.mtu.get();
        let coupled = self.params.coupling_factor * self.p;
        let overload = coupled >= 1.0 && self.params.drop_on_overload;
        let mark = if queue == 1 {
            let hit = acts && self.squared(1);
            if hit && (overload || packet.ecn == Ecn::NotEct) {
                return true;
            }
            hit
        } else {
            if acts && overload && self.squared(0) {
                return true;
            }
            let p = if acts { native.max(coupled) } else { native };
            match self.params.marking {
                Marking::Recurrent => self.recur(0, p),
                Marking::Random => self.roll(p),
            }
        };
        if mark && packet.ecn != Ecn::Ce {
            packet.ecn = Ecn::Ce;
            out.marked.push(packet.serial);
        }
        false
    }

    fn arrive(&mut self, now_ns: u64, rate_bit_s: u64, mut packet: Waiting) -> Outcome {
        let mut out = Outcome::default();
        self.update(now_ns);
        let period = self.params.tupdate.nanos();
        self.next_ns = self.next_ns.or(Some((now_ns / period + 1) * period));
        self.rate_bit_s = self.rate_bit_s.max(rate_bit_s);
        let (packets, bytes) = (self.queues.iter().flatten().count() as u64, self.bytes());
        let with_room = bytes + packet.bytes.max(self.params.mtu.get());
        let full = match self.params.limit {
            BufferLimit::Packets(limit) => packets >= limit.get(),
            BufferLimit::Bytes(limit) => with_room > limit.get(),
            BufferLimit::Time(time) => {
                packets > 0
                    && with_room > (u128::from(self.rate_bit_s) * u128::from(time.nanos()) / 8_000_000_000) as u64
            }
        };
        if full || self.params.memlimit.is_some_and(|limit| bytes + packet.bytes > limit.get()) {
            out.dropped.push((packet.serial, Reason::Overflow));
            return out;
        }
        let classic = packet.ecn == Ecn::NotEct || (packet.ecn == Ecn::Ect0 && !self.params.any_ect);
        let queue = usize::from(classic);
        if self.params.drop_enqueue && self.judge(queue, &mut packet, 0.0, true, &mut out) {
            out.dropped.push((packet.serial, Reason::Early));
            return out;
        }
        packet.found = self.queues[0].len() as u64;
        self.queues[queue].push_back(packet);
        out
    }

    fn depart(&mut self, now_ns: u64) -> Outcome {
        let mut out = Outcome::default();
        self.update(now_ns);
        let classic = self.params.classic_protection.get();
        loop {
            let [l4s, c] = [0, 1].map(|queue: usize| self.queues[queue].front().map(|head| now_ns - head.since_ns));
            let queue = match (l4s, c) {
                (None, None) => {
                    self.credit = self.params.mtu.get() as f64 * (2.0 * classic - 1.0);
                    return out;
                }
                (Some(_), None) => 0,
                (None, Some(_)) => 1,
                (Some(l4s), Some(c)) => match self.params.scheduler {
                    Scheduler::Wrr => usize::from(self.credit > 0.0),
                    Scheduler::TsFifo => usize::from(l4s + self.params.tshift.nanos() < c),
                },
            };
            let both = l4s.is_some() && c.is_some();
            let mut packet = self.queues[queue].pop_front().unwrap();
            let sojourn_ns = (now_ns - packet.since_ns) as f64;
            let behind = self.queues[queue].len() as u64;
            let Params { min_th, range, .. } = self.params;
            let native = match self.params.l4s_aqm {
                L4sAqm::Ramp if behind <= self.params.th_len.get() => 0.0,
                L4sAqm::Ramp => ((sojourn_ns - min_th.nanos() as f64) / range.nanos() as f64).clamp(0.0, 1.0),
                L4sAqm::Step if packet.found < self.params.min_qlen_step.get() => 0.0,
                L4sAqm::Step => f64::from(u8::from(match self.params.step_thresh {
                    StepThreshold::Time(time) => sojourn_ns > time.nanos() as f64,
                    StepThreshold::Packets(packets) => behind > packets.get(),
                })),
            };
            let pi2 = !self.params.drop_enqueue;
            if self.judge(queue, &mut packet, native, pi2, &mut out) {
                out.dropped.push((packet.serial, Reason::Early));
                continue;
            }
            if both {
                self.credit += packet.bytes as f64 * if queue == 0 { classic } else { classic - 1.0 };
            }
            out.sent = Some(packet.serial);
            return out;
        }
    }
}

fn walk(params: &Params, seed: u64, steps: usize) {
    let (mut host, mut queue) = (DisciplineHost::new(), DualPi2::new(params));
    let mut model = Model::new(params.clone());
    let mut choose = Stream::new(seed);
    let mut load = 60;
    let mut seen = [0_usize; 3];
    for step in 0..steps {
        if step % 400 == 0 {
            load = 35 + choose.below(40);
        }
        let now_ns = host.now.nanos();
        let (drops, marks) = (host.log.dropped.len(), host.log.marked.len());
        let (expected, sent) = if choose.below(100) < load {
            let bytes = [60, 576, 1500, 1514, 9000][choose.below(5) as usize];
            let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ect1, Ecn::Ce][choose.below(5) as usize];
            let serial = host.offer(&mut queue, 1, bytes, ecn);
            let packet = Waiting { serial, since_ns: now_ns, bytes: u64::from(bytes), ecn, found: 0 };
            (model.arrive(now_ns, host.rate.bit_s(), packet), None)
        } else {
            let sent = host.take(&mut queue);
            (model.depart(now_ns), sent)
        };
        let found =
            Outcome { dropped: host.log.dropped[drops..].to_vec(), marked: host.log.marked[marks..].to_vec(), sent };
        assert_eq!(found, expected, "step {step} of seed {seed}, {params:?}");
        assert!((queue.base - model.p).abs() < 1e-9, "p' {} for {}, step {step}", queue.base, model.p);
        assert_eq!(queue.waiting().bytes, model.bytes());
        seen[0] += found.dropped.iter().filter(|(_, reason)| *reason == Reason::Early).count();
        seen[1] += found.marked.len();
        seen[2] += usize::from(found.sent.is_some());
        // Mostly below a millisecond, now and then a long silence.
        let pause = if choose.below(500) == 0 { choose.below(2_000_000_000) } else { choose.below(1_600_000) };
        host.now += Span::from_nanos(pause);
    }
    assert!(seen.iter().all(|n| *n > steps / 400), "too little happened: {seen:?} with {params:?}");
}

#[test]
#[cfg_attr(miri, ignore = "takes Miri minutes")]
fn decisions_are_those_of_a_direct_model() {
    let rfc = Params { limit: BufferLimit::Time(Span::from_millis(100)), ..Params::default() };
    let linux = Params {
        limit: BufferLimit::Packets(Packets::new(90)),
        // A weight that floating point holds exactly, as 1/16 is, so that the model's credit is exact too.
        classic_protection: Share::new(0.125),
        ..Params::linux()
    };
    let variants = [
        rfc.clone(),
        linux.clone(),
        Params { drop_on_overload: false, ..rfc.clone() },
        Params { drop_on_overload: false, any_ect: true, ..linux.clone() },
        Params { drop_enqueue: true, marking: Marking::Random, ..rfc.clone() },
        Params { drop_enqueue: true, min_qlen_step: Packets::new(4), marking: Marking::Recurrent, ..linux.clone() },
        Params { scheduler: Scheduler::TsFifo, tshift: Span::from_millis(20), mtu: Bytes::ZERO, ..rfc.clone() },
        Params { step_thresh: StepThreshold::Packets(Packets::new(3)), coupling_factor: 1.0, ..linux },
        Params {
            memlimit: Some(Bytes::new(60_000)),
            target: Span::from_millis(2),
            alpha: 1.5,
            th_len: Packets::ZERO,
            ..rfc
        },
    ];
    for (seed, params) in variants.iter().enumerate() {
        for round in 0..4 {
            walk(params, 10 * seed as u64 + round, 8000);
        }
    }
}
