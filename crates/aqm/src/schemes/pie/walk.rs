use super::*;
use crate::test_host::{Fate, Host, Stream};
use crate::Random;
use alloc::vec::Vec;

/// ns-3's `m_burstState`.
#[derive(Clone, Copy, PartialEq)]
enum Burst {
    Protecting,
    In { reset: u64 },
    No,
}

/// The RFC's appendix written down as it is printed, with a timer that fires at every single nominal instant.
struct Model {
    params: Params,
    drop_prob: f64,
    qdelay_old: f64,
    burst_allowance_ns: u64,
    burst: Burst,
    accu_prob: f64,
    /// `(enqueued in ns, bytes)`, the head first.
    queue: Vec<(u64, u32)>,
    last_sojourn: f64,
    in_measurement: bool,
    measurement_start: f64,
    dq_count: f64,
    avg_dq_time: f64,
    timer_ns: u64,
    /// A packet has come: nothing counts before.
    started: bool,
}

impl Model {
    fn new(params: Params) -> Self {
        Self {
            drop_prob: 0.0,
            qdelay_old: 0.0,
            burst_allowance_ns: params.max_burst.nanos(),
            burst: Burst::Protecting,
            accu_prob: 0.0,
            queue: Vec::new(),
            last_sojourn: 0.0,
            in_measurement: false,
            measurement_start: 0.0,
            dq_count: 0.0,
            avg_dq_time: 0.0,
            timer_ns: 0,
            started: false,
            params,
        }
    }

    fn bytes(&self) -> f64 {
        self.queue.iter().map(|(_, bytes)| f64::from(*bytes)).sum()
    }

    fn current_qdelay(&self, now_ns: u64) -> f64 {
        match self.params.delay {
            Delay::Timestamps => self.queue.first().map_or(0.0, |(at, _)| (now_ns - at) as f64 / 1e9),
            Delay::Departures => self.last_sojourn,
            Delay::DepartureRate => self.bytes() * self.avg_dq_time / self.params.dq_threshold.get() as f64,
        }
    }

    /// `calculate_drop_prob`, at every timer up to `now_ns`.
    fn timers(&mut self, now_ns: u64) {
        while self.timer_ns <= now_ns {
            if !self.started {
                self.timer_ns += self.params.tupdate.nanos();
                continue;
            }
            let (d, target) = (self.current_qdelay(self.timer_ns), self.params.target.seconds());
            let mut p = self.params.alpha * (d - target) + self.params.beta * (d - self.qdelay_old);
            for (below, divisor) in
                [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)]
            {
                if self.drop_prob < below {
                    p /= divisor;
                    break;
                }
            }
            if self.drop_prob >= 0.1 && p > 0.02 {
                p = 0.02;
            }
            if self.params.variant == Variant::Linux && d > 0.25 {
                p += 0.02;
            }
            self.drop_prob += p;
            if self.params.variant == Variant::Ns3 && self.burst_allowance_ns > 0 {
                self.drop_prob = 0.0;
            }
            if d == 0.0 && self.qdelay_old == 0.0 {
                if self.params.variant != Variant::Linux {
                    self.drop_prob *= 0.98;
                } else if self.queue.is_empty() {
                    self.drop_prob -= self.drop_prob / 64.0;
                }
            }
            self.drop_prob = match self.params.variant {
                Variant::Linux if self.drop_prob >= 256.0 => 1.0,
                Variant::Linux => self.drop_prob.max(0.0),
                Variant::Rfc | Variant::Ns3 => self.drop_prob.clamp(0.0, 1.0),
            };
            self.burst_allowance_ns -= self.burst_allowance_ns.min(self.params.tupdate.nanos());
            let calm = d < target / 2.0 && self.qdelay_old < target / 2.0 && self.drop_prob == 0.0;
            self.burst = match self.burst {
                Burst::Protecting if calm && self.burst_allowance_ns == 0 => Burst::In { reset: 0 },
                Burst::In { reset } if calm && self.burst_allowance_ns == 0 => {
                    let over = reset + 1 > 1_500_000_000 / self.params.tupdate.nanos();
                    if over {
                        Burst::No
                    } else {
                        Burst::In { reset: reset + 1 }
                    }
                }
                Burst::In { .. } => Burst::In { reset: 0 },
                same => same,
            };
            self.qdelay_old = d;
            self.timer_ns += self.params.tupdate.nanos();
        }
    }

    fn drop_early(&mut self, bytes: u32, stream: &mut Stream) -> bool {
        let mean = self.params.avpkt.get() as f64;
        let spared = match self.params.variant {
            Variant::Ns3 => self.queue.len() <= 2,
            Variant::Linux => self.bytes() < 2.0 * mean,
            Variant::Rfc => self.bytes() <= 2.0 * mean,
        };
        let sees_departures = self.params.variant == Variant::Linux && self.params.delay == Delay::Departures;
        let qdelay = if sees_departures { self.last_sojourn } else { self.qdelay_old };
        if (qdelay < self.params.target.seconds() / 2.0 && self.drop_prob < 0.2) || spared {
            return false;
        }
        let scale = if self.params.bytemode { f64::from(bytes) / mean } else { 1.0 };
        let p = self.drop_prob * scale;
        if self.params.derandomize {
            if self.drop_prob == 0.0 {
                self.accu_prob = 0.0;
            }
            self.accu_prob += p;
            if self.accu_prob < 0.85 {
                return false;
            }
            if self.accu_prob >= 8.5 {
                return true;
            }
        }
        p >= 1.0 || (p > 0.0 && stream.uniform() < p)
    }

    fn enque(&mut self, now_ns: u64, bytes: u32, stream: &mut Stream) -> Fate {
        self.started = true;
        let half = self.params.target.seconds() / 2.0;
        let given = match self.params.variant {
            Variant::Ns3 => self.burst == Burst::No && self.burst_allowance_ns == 0,
            _ => self.drop_prob == 0.0 && self.current_qdelay(now_ns) < half && self.qdelay_old < half,
        };
        if given {
            self.burst = Burst::Protecting;
            self.burst_allowance_ns = self.params.max_burst.nanos();
        }
        let Limit::Packets(limit) = self.params.limit else { panic!() };
        if self.queue.len() as u64 >= limit.get() {
            self.accu_prob = 0.0;
            return Fate::Dropped(Reason::Overflow);
        }
        if self.burst_allowance_ns == 0 && self.drop_early(bytes, stream) {
            self.accu_prob = 0.0;
            return Fate::Dropped(Reason::Early);
        }
        self.queue.push((now_ns, bytes));
        Fate::Queued
    }

    fn deque(&mut self, now_ns: u64) {
        if self.queue.is_empty() {
            return;
        }
        let (at, bytes) = self.queue.remove(0);
        self.last_sojourn = if self.queue.is_empty() { 0.0 } else { (now_ns - at) as f64 / 1e9 };
        let (now, threshold) = (now_ns as f64 / 1e9, self.params.dq_threshold.get() as f64);
        if self.bytes() >= threshold && !self.in_measurement {
            (self.in_measurement, self.measurement_start, self.dq_count) = (true, now, 0.0);
        }
        if self.in_measurement {
            self.dq_count += f64::from(bytes);
            if self.dq_count >= threshold && now > self.measurement_start {
                let (time, weight) = (now - self.measurement_start, threshold / 65_536.0);
                let first = self.avg_dq_time == 0.0;
                self.avg_dq_time = if first { time } else { weight * time + (1.0 - weight) * self.avg_dq_time };
                self.in_measurement = false;
            }
        }
    }
}

/// A random walk: every decision and p as the model has them. Gives queued, dropped early, overflowed.
fn walk(params: Params, seed: u64) -> [usize; 3] {
    let mut host = Host::<Pie>::new(params.clone());
    // Where p ends at 1, the updates before the last 4096 make no difference.
    let longest_s = if params.variant == Variant::Linux { 60 } else { 90 };
    let (mut script, mut draws) = (Stream::new(seed), Stream::new(seed ^ 99));
    host.random = draws.clone();
    let mut model = Model::new(params);
    let mut fates = [0; 3];
    for step in 0..30_000 {
        let heavy = (step / 1500) % 2 == 0;
        host.wait(match script.below(3000) {
            0 => Span::from_secs(script.below(longest_s)),
            _ => Span::from_micros(script.below(2000)),
        });
        let now_ns = host.now.nanos();
        model.timers(now_ns);
        if script.below(100) < if heavy { 57 } else { 40 } {
            host.bytes = 100 + script.below(1400) as u32;
            let expected = model.enque(now_ns, host.bytes, &mut draws);
            assert_eq!(host.arrive(), expected, "step {step}");
            fates[match expected {
                Fate::Dropped(Reason::Overflow) => 2,
                Fate::Dropped(_) => 1,
                _ => 0,
            }] += 1;
        } else {
            host.send();
            model.deque(now_ns);
        }
        let p = host.internal("drop_probability");
        assert!((p - model.drop_prob.min(1.0)).abs() < 1e-9, "step {step}: {p}, model {}", model.drop_prob);
    }
    assert_eq!(host.random.draws, draws.draws);
    fates
}

#[test]
#[cfg_attr(miri, ignore = "takes Miri minutes")]
fn a_random_walk_agrees_with_the_printed_pseudocode() {
    let base = Params { max_burst: Span::from_millis(60), limit: Limit::packets(90), ..Params::default() };
    let variants = [
        base.clone(),
        Params { derandomize: true, ..base.clone() },
        Params { bytemode: true, derandomize: true, ..base.clone() },
        Params { bytemode: true, delay: Delay::Departures, ..base.clone() },
        Params { delay: Delay::DepartureRate, dq_threshold: Bytes::new(5000), ..base.clone() },
        Params { variant: Variant::Linux, ..base.clone() },
        Params { variant: Variant::Linux, delay: Delay::Departures, derandomize: true, ..base.clone() },
        Params { variant: Variant::Ns3, tupdate: Span::from_millis(7), ..base.clone() },
    ];
    for (i, params) in variants.into_iter().enumerate() {
        let fates = walk(params, 2000 + i as u64);
        assert!(fates[0] > 5000 && fates[1] > 500, "variant {i} decided nothing: {fates:?}");
    }
    // Overflow too: a controller too slow to act.
    assert!(
        walk(Params { alpha: Gain::from_hz(0.001), beta: Gain::from_hz(0.001), limit: Limit::packets(40), ..base }, 7)
            [2]
            > 100
    );
}
