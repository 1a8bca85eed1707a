//! One discipline driven by hand: the other side of the independent models and of open-loop comparisons.

use crate::refuse;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_aqm::{AckFields, Config, Counters, Cx, Dequeued, Discipline, Ecn, Observer, Packet, Random, Reason};
use sojourn_units::{BitRate, Instant};
use std::collections::VecDeque;

/// Random numbers that the caller gave.
#[derive(Default)]
struct Draws {
    given: VecDeque<u64>,
    used: u64,
    missing: bool,
}

impl Random for Draws {
    fn next_u64(&mut self) -> u64 {
        self.used += 1;
        self.given.pop_front().unwrap_or_else(|| {
            self.missing = true;
            0
        })
    }
}

#[derive(Default)]
struct Log(Vec<(&'static str, u64, &'static str)>);

impl Observer for Log {
    fn dropped(&mut self, _now: Instant, packet: Packet, reason: Reason) {
        self.0.push(("drop", packet.serial, reason.name()));
    }
    fn marked(&mut self, _now: Instant, packet: &Packet) {
        self.0.push(("mark", packet.serial, ""));
    }
}

/// A discipline, with the caller as its host: clock, random numbers and packets come from outside.
#[pyclass(unsendable)]
pub struct Driver {
    discipline: Box<dyn Discipline>,
    counters: Counters,
    rate: BitRate,
    draws: Draws,
    log: Log,
    serial: u64,
}

type Outcome = Vec<(&'static str, u64, &'static str)>;

impl Driver {
    fn with<T>(&mut self, now_ns: u64, act: impl FnOnce(&mut dyn Discipline, &mut Cx<'_>) -> T) -> PyResult<T> {
        let mut cx = Cx {
            now: Instant::from_nanos(now_ns),
            rate: self.rate,
            random: &mut self.draws,
            observer: &mut self.log,
            counters: &mut self.counters,
            has_dropped: false,
        };
        let result = act(self.discipline.as_mut(), &mut cx);
        if self.draws.missing {
            return Err(refuse("the scheme drew more random numbers than were given; give more with feed()"));
        }
        Ok(result)
    }
}

#[pymethods]
impl Driver {
    /// An empty queue under the scheme `text`, served at `rate_bit_s`.
    #[new]
    fn new(text: &str, rate_bit_s: u64) -> PyResult<Self> {
        let config: Config = text.parse().map_err(refuse)?;
        Ok(Self {
            discipline: config.build(),
            counters: Counters::default(),
            rate: BitRate::from_bit_s(rate_bit_s),
            draws: Draws::default(),
            log: Log::default(),
            serial: 0,
        })
    }

    /// Gives 64-bit random numbers, used in this order; `uniform` is the upper 53 bits over 2^53.
    fn feed(&mut self, draws: Vec<u64>) {
        self.draws.given.extend(draws);
    }

    /// How many random numbers were drawn so far.
    fn drawn(&self) -> u64 {
        self.draws.used
    }

    /// Offers a packet; its serial number is the number of packets offered before.
    /// `ack` is `(pure, precious, number)`. Returns what was dropped and marked: `("drop", serial, reason)`, `("mark", serial, "")`.
    #[pyo3(signature = (now_ns, size_bytes, *, flow=0, source=0, destination=0, ecn=0, dscp=0, window=0, ack=None))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn enqueue(
        &mut self,
        now_ns: u64,
        size_bytes: u32,
        flow: u32,
        source: u32,
        destination: u32,
        ecn: u8,
        dscp: u8,
        window: u16,
        ack: Option<(bool, bool, u32)>,
    ) -> PyResult<Outcome> {
        let (pure, precious, number) = ack.unwrap_or_default();
        let packet = Packet {
            enqueued: Instant::from_nanos(now_ns),
            serial: self.serial,
            handle: self.serial as u32,
            bytes: size_bytes,
            flow,
            source,
            destination,
            window,
            ecn: Ecn::from_bits(ecn),
            dscp,
            ack: AckFields { pure, precious, number },
        };
        self.serial += 1;
        self.with(now_ns, |discipline, cx| discipline.enqueue(cx, packet))?;
        Ok(std::mem::take(&mut self.log.0))
    }

    /// Asks for the next packet: its serial number (`None` when nothing may go), its ECN codepoint, the instant before which a shaper
    /// holds it, and what was dropped and marked on the way.
    fn dequeue(&mut self, now_ns: u64) -> PyResult<(Option<u64>, u8, Option<u64>, Outcome)> {
        let given = self.with(now_ns, |discipline, cx| discipline.dequeue(cx))?;
        let outcome = std::mem::take(&mut self.log.0);
        Ok(match given {
            Dequeued::Packet(packet) => (Some(packet.serial), packet.ecn as u8, None, outcome),
            Dequeued::Empty => (None, 0, None, outcome),
            Dequeued::NotBefore(at) => (None, 0, Some(at.nanos()), outcome),
        })
    }

    /// Changes the service rate.
    fn set_rate(&mut self, now_ns: u64, rate_bit_s: u64) -> PyResult<()> {
        let rate = BitRate::from_bit_s(rate_bit_s);
        self.with(now_ns, |discipline, cx| discipline.set_rate(cx, rate))?;
        self.rate = rate;
        Ok(())
    }

    /// Forgets everything learnt; packets stay.
    fn reset(&mut self) {
        self.discipline.reset();
    }

    /// Packets and bytes waiting.
    fn backlog(&self) -> (u64, u64) {
        let backlog = self.discipline.backlog();
        (backlog.packets, backlog.bytes)
    }

    /// Every named internal, periodic updates brought up to `now_ns`.
    fn internals<'py>(&mut self, py: Python<'py>, now_ns: u64) -> PyResult<Bound<'py, PyDict>> {
        let named = PyDict::new(py);
        let mut failed = None;
        self.discipline.internals(Instant::from_nanos(now_ns), self.rate, &mut |name, value| {
            if let Err(error) = named.set_item(name, value) {
                failed = Some(error);
            }
        });
        failed.map_or(Ok(named), Err)
    }
}
