use super::*;
use crate::test_host::{Fate, Host, Stream};
use crate::Random;
use alloc::vec::Vec;

fn p(value: f64) -> Probability {
    Probability::clamped(value)
}

/// The 1993 pseudocode and the 2001 timer, written down as they are printed, one timer event at a time.
struct Model {
    params: Params,
    c: f64,
    avg: f64,
    count: i64,
    count_bytes: i64,
    max_p: f64,
    idle: Option<f64>,
    tick: u64,
}

impl Model {
    fn decay(&self, now_s: f64) -> f64 {
        let m = self.idle.map_or(0.0, |since| (now_s - since) * self.c);
        self.avg * libm::exp(m * libm::log(1.0 - self.params.w.unwrap().get()))
    }

    fn timers(&mut self, now_ns: u64) {
        if self.tick == u64::MAX {
            return;
        }
        while self.params.adaptive && self.tick * self.params.interval.nanos() <= now_ns {
            let avg = self.decay((self.tick * self.params.interval.nanos()) as f64 / 1e9);
            let (min, max) = (self.params.min.unwrap().number(), self.params.max.unwrap().number());
            if avg > min + 0.6 * (max - min) && self.max_p <= 0.5 {
                self.max_p = (self.max_p + 0.01_f64.min(self.max_p / 4.0)).min(0.5);
            } else if avg < min + 0.4 * (max - min) && self.max_p >= 0.01 {
                self.max_p = (self.max_p * 0.9).max(0.01);
            }
            self.tick += 1;
        }
    }

    /// The first arrival starts the timer.
    fn start(&mut self, now_ns: u64) {
        self.tick = self.tick.min(now_ns / self.params.interval.nanos() + 1);
    }

    fn arrival(&mut self, now_s: f64, waiting: &[u32], bytes: u32, stream: &mut Stream) -> Fate {
        let (min, max) = (self.params.min.unwrap(), self.params.max.unwrap().number());
        let q = match min {
            Length::Packets(_) => waiting.len() as f64,
            Length::Bytes(_) => waiting.iter().map(|b| f64::from(*b)).sum(),
        };
        let (min, w) = (min.number(), self.params.w.unwrap().get());
        if waiting.is_empty() && self.idle.is_some() {
            self.avg = self.decay(now_s);
            self.idle = Some(now_s);
        } else {
            self.avg = (1.0 - w) * self.avg + w * q;
            self.idle = None;
        }
        let Limit::Packets(limit) = self.params.limit else { panic!() };
        if waiting.len() as u64 >= limit.get() {
            (self.count, self.count_bytes) = (0, 0);
            return Fate::Dropped(Reason::Overflow);
        }
        let sure = if self.params.gentle { 2.0 * max } else { max };
        if self.avg >= sure {
            (self.count, self.count_bytes) = (0, 0);
            return Fate::Dropped(Reason::Early);
        }
        if self.avg < min {
            (self.count, self.count_bytes) = (-1, -1);
            return Fate::Queued;
        }
        let p_b = if self.avg < max {
            self.max_p * (self.avg - min) / (max - min)
        } else {
            self.max_p + (1.0 - self.max_p) * (self.avg / max - 1.0)
        };
        (self.count, self.count_bytes) =
            if self.count < 0 { (0, 0) } else { (self.count + 1, self.count_bytes + i64::from(bytes)) };
        let avpkt = self.params.avpkt.get() as f64;
        let n = if self.params.bytemode { self.count_bytes as f64 / avpkt } else { self.count as f64 };
        let mut p_a = match (self.params.wait, n * p_b) {
            (false, x) if x < 1.0 => p_b / (1.0 - x),
            (true, x) if x < 1.0 => 0.0,
            (true, x) if x < 2.0 => p_b / (2.0 - x),
            _ => 1.0,
        };
        if self.params.bytemode && p_a < 1.0 {
            p_a = p_a * f64::from(bytes) / avpkt;
        }
        if p_a >= 1.0 || (p_a > 0.0 && stream.uniform() < p_a) {
            (self.count, self.count_bytes) = (0, 0);
            return Fate::Dropped(Reason::Early);
        }
        Fate::Queued
    }
}

/// A random walk of arrivals, departures and pauses: every decision and the average as the model has them.
fn walk(params: Params, seed: u64) -> [usize; 3] {
    let mut host = Host::<Red>::new(params.clone());
    let mut script = Stream::new(seed);
    let mut draws = Stream::new(seed ^ 99);
    host.random = draws.clone();
    let mut model = Model {
        c: 1e6 / params.avpkt.get() as f64,
        max_p: params.max_p.get(),
        params,
        avg: 0.0,
        count: -1,
        count_bytes: -1,
        idle: None,
        tick: u64::MAX,
    };
    let mut waiting: Vec<u32> = Vec::new();
    let mut fates = [0; 3];
    for step in 0..20_000 {
        // Load swings between light and heavy, with rare long pauses.
        let heavy = (step / 500) % 2 == 0;
        host.wait(match script.below(1000) {
            0 => Span::from_secs(script.below(40)),
            _ => Span::from_micros(script.below(900)),
        });
        model.timers(host.now.nanos());
        let now_s = host.now.seconds();
        if script.below(100) < if heavy { 60 } else { 40 } {
            host.bytes = 100 + script.below(1400) as u32;
            model.start(host.now.nanos());
            let expected = model.arrival(now_s, &waiting, host.bytes, &mut draws);
            let fate = host.arrive();
            assert_eq!(
                fate,
                expected,
                "step {step}: {:?}; model avg {} count {} {} max_p {} draws {}",
                host.internals(),
                model.avg,
                model.count,
                model.count_bytes,
                model.max_p,
                draws.draws
            );
            match fate {
                Fate::Dropped(Reason::Overflow) => fates[2] += 1,
                Fate::Dropped(_) => fates[1] += 1,
                _ => {
                    waiting.push(host.bytes);
                    fates[0] += 1;
                }
            }
        } else if host.send().is_some() {
            waiting.remove(0);
            model.idle = None;
        } else {
            model.idle = model.idle.or(Some(now_s));
        }
        let avg = host.internal("avg");
        assert!((avg - model.avg).abs() <= 1e-9 * avg.max(1.0), "step {step}: {avg} {}", model.avg);
    }
    assert_eq!(host.random.draws, draws.draws);
    fates
}

#[test]
#[cfg_attr(miri, ignore = "takes Miri minutes")]
fn a_random_walk_agrees_with_the_printed_pseudocode() {
    let base = Params { w: Probability::new(0.05), limit: Limit::packets(60), max_p: p(0.3), ..Params::default() };
    let kilo = |n: u64| Some(Length::Bytes(Bytes::new(n * 1000)));
    let variants = [
        base.clone(),
        Params { gentle: true, ..base.clone() },
        Params { wait: true, ..base.clone() },
        Params { bytemode: true, gentle: true, ..base.clone() },
        Params { bytemode: true, wait: true, avpkt: Bytes::new(500), ..base.clone() },
        Params { min: kilo(5), max: kilo(15), ..base.clone() },
        Params { adaptive: true, interval: Span::from_millis(30), gentle: true, ..base.clone() },
    ];
    let mut total = [0; 3];
    for (i, params) in variants.into_iter().enumerate() {
        let fates = walk(params, 1000 + i as u64);
        assert!(fates[0] > 3000 && fates[1] > 100, "variant {i} decided nothing: {fates:?}");
        total.iter_mut().zip(fates).for_each(|(sum, n)| *sum += n);
    }
    // Overflow too: a weight so small that the average never follows the queue.
    let slow = Params { w: Probability::new(0.001), limit: Limit::packets(20), ..base };
    assert!(walk(slow, 5)[2] > 100);
}
