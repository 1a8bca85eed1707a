//! The contract itself is under test: each discipline here breaks one promise, and the body must say which.

use crate::body::{self, Promise, Subject};
use sojourn_aqm::{Backlog, Config, Cx, Dequeued, Discipline, DropsAt, Ecn, Packet, Reason};
use sojourn_units::{BitRate, Instant};
use std::any::Any;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    Loses,
    Duplicates,
    Reorders,
    BacklogPackets,
    BacklogBytes,
    MarksIncapable,
    MarksUnasked,
    MarksSilently,
    WrongStamp,
    WrongHandle,
    SaysEmpty,
    DropsTwice,
    DropsLate,
    HoldsPast,
    CountsTwice,
    ResetDrops,
    CopyForgets,
    CopyLoses,
    InternalInfinite,
    InternalImprobable,
    InternalRenamed,
    InternalTwice,
    ObservationDisturbs,
    DrainKeeps,
    DrainReorders,
    Unseeded,
    RateDrops,
}

/// Changes from run to run of one process.
static GLOBAL: AtomicU64 = AtomicU64::new(0);

/// A FIFO that goes wrong once every 20 operations of a kind.
struct Broken {
    inner: Box<dyn Discipline>,
    fault: Fault,
    held: Option<Packet>,
    n: u64,
}

impl Broken {
    fn turn(&mut self, fault: Fault) -> bool {
        if self.fault != fault {
            return false;
        }
        self.n += 1;
        self.n.is_multiple_of(20)
    }
}

impl Discipline for Broken {
    fn enqueue(&mut self, cx: &mut Cx<'_>, mut packet: Packet) {
        if self.turn(Fault::CountsTwice) {
            cx.counters.arrived.packets += 1;
        }
        if self.turn(Fault::DropsTwice) {
            cx.drop(packet.clone(), Reason::Overflow);
        }
        if self.turn(Fault::WrongHandle) {
            packet.handle ^= 1;
        }
        if self.turn(Fault::MarksIncapable) && packet.ecn == Ecn::NotEct {
            packet.ecn = Ecn::Ect0;
            let _ = cx.mark(&mut packet);
        }
        self.inner.enqueue(cx, packet);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Dequeued {
        if self.turn(Fault::SaysEmpty) {
            return Dequeued::Empty;
        }
        if self.turn(Fault::HoldsPast) && self.inner.backlog().packets > 0 {
            return Dequeued::NotBefore(cx.now);
        }
        if self.turn(Fault::DropsLate) {
            if let Some(mut packet) = self.inner.drain() {
                packet.ecn = Ecn::NotEct;
                cx.drop(packet, Reason::Early);
            }
        }
        if self.turn(Fault::Loses) {
            let _ = self.inner.drain();
        }
        // Every decision to drop hangs on what happened before: a copy must remember, and a run must not know of another.
        let forgets = matches!(self.fault, Fault::CopyForgets | Fault::ObservationDisturbs);
        if forgets || (self.fault == Fault::Unseeded && GLOBAL.fetch_add(1, Ordering::Relaxed).is_multiple_of(7)) {
            self.n += 1;
            if !forgets || self.n.is_multiple_of(7) {
                if let Some(packet) = self.inner.drain() {
                    cx.drop(packet, Reason::Overflow);
                }
            }
        }
        if let Some(packet) = self.held.take() {
            return Dequeued::Packet(packet);
        }
        let mut given = self.inner.dequeue(cx);
        if let Dequeued::Packet(packet) = &mut given {
            if self.turn(Fault::Duplicates) {
                self.held = Some(packet.clone());
            }
            if self.turn(Fault::MarksUnasked) {
                let _ = cx.mark(packet);
            }
            if self.turn(Fault::MarksSilently) {
                packet.ecn = if packet.ecn == Ecn::Ect0 { Ecn::Ect1 } else { Ecn::Ect0 };
            }
            if self.turn(Fault::WrongStamp) {
                packet.enqueued = Instant::from_nanos(packet.enqueued.nanos() + 1);
            }
            if self.turn(Fault::Reorders) {
                if let Dequeued::Packet(second) = self.inner.dequeue(cx) {
                    self.held = Some(std::mem::replace(packet, second));
                }
            }
        }
        given
    }

    fn set_params(&mut self, cx: &mut Cx<'_>, params: &dyn Any) -> bool {
        self.inner.set_params(cx, params)
    }

    fn set_rate(&mut self, _cx: &mut Cx<'_>, _rate: BitRate) {
        if self.fault == Fault::RateDrops {
            let _ = self.inner.drain();
        }
    }

    fn drain(&mut self) -> Option<Packet> {
        if self.fault == Fault::DrainKeeps && self.inner.backlog().packets == 1 {
            return None;
        }
        if self.fault == Fault::DrainReorders && self.held.is_none() {
            self.held = self.inner.drain();
        }
        self.inner.drain().or_else(|| self.held.take())
    }

    fn reset(&mut self) {
        if self.fault == Fault::ResetDrops {
            while self.inner.drain().is_some() {}
        }
        self.inner.reset();
    }

    fn backlog(&self) -> Backlog {
        let Backlog { packets, bytes } = self.inner.backlog();
        let held = self.held.as_ref().filter(|_| self.fault != Fault::Duplicates);
        Backlog {
            packets: packets
                + u64::from(self.fault == Fault::BacklogPackets && packets > 9)
                + u64::from(held.is_some()),
            bytes: bytes
                + u64::from(self.fault == Fault::BacklogBytes && bytes > 9000)
                + held.map_or(0, |p| u64::from(p.bytes)),
        }
    }

    fn internals(&mut self, _now: Instant, _rate: BitRate, visit: &mut sojourn_aqm::Internal<'_>) {
        if self.fault == Fault::ObservationDisturbs {
            self.n += 1;
        }
        let odd = self.turn(Fault::InternalRenamed);
        visit(
            if odd { "other" } else { "value" },
            if self.turn(Fault::InternalInfinite) { f64::INFINITY } else { f64::NAN },
        );
        if self.fault == Fault::InternalImprobable {
            visit("drop_probability", f64::NAN);
        }
        if self.fault == Fault::InternalTwice {
            visit("value", 0.0);
        }
    }

    fn clone_box(&self) -> Box<dyn Discipline> {
        let mut inner = self.inner.clone_box();
        if self.fault == Fault::CopyLoses {
            let _ = inner.drain();
        }
        let n = if self.fault == Fault::CopyForgets { 0 } else { self.n };
        Box::new(Self { inner, fault: self.fault, held: self.held.clone(), n })
    }
}

/// What the body says of a FIFO with this fault; `None` when it finds nothing.
fn verdict(fault: Fault, config: &str, marks: bool) -> Option<String> {
    let config: Config = config.parse().expect("a FIFO");
    let promise = Promise { name: format!("{fault:?}"), marks, drops_at: DropsAt::Enqueue, ..Promise::of(&config) };
    let build = || -> Box<dyn Discipline> { Box::new(Broken { inner: config.build(), fault, held: None, n: 0 }) };
    let run = || {
        (0..4).for_each(|seed| body::check(&[Subject { promise: &promise, build: &build }], &body::bytes(seed, 12_000)))
    };
    let failure = catch_unwind(AssertUnwindSafe(run)).err()?;
    Some(failure.downcast_ref::<String>().cloned().unwrap_or_default())
}

#[test]
fn each_broken_promise_is_found_and_named() {
    let unheld = "gives a packet that it does not hold";
    let facts = "a packet's facts changed";
    let mut wrong = Vec::new();
    for (fault, marks, what) in [
        (Fault::Loses, false, "gives a packet out of order"),
        (Fault::Duplicates, false, unheld),
        (Fault::Reorders, false, "gives a packet out of order"),
        (Fault::BacklogPackets, false, "backlog in packets is not what it holds"),
        (Fault::BacklogBytes, false, "backlog in bytes is not what it holds"),
        (Fault::MarksIncapable, true, "marks a packet that is not ECN-capable"),
        (Fault::MarksUnasked, false, "marks although neither ecn nor ce_threshold is on"),
        (Fault::MarksSilently, true, "the ECN field changed without a mark"),
        (Fault::WrongStamp, false, facts),
        (Fault::WrongHandle, false, facts),
        (Fault::SaysEmpty, false, "gives nothing although packets wait"),
        (Fault::DropsTwice, false, facts),
        (Fault::DropsLate, false, "drops early where its description says it does not"),
        (Fault::HoldsPast, false, "a shaper holds until an instant that is not later"),
        (Fault::CountsTwice, false, "did not count every arrival once"),
        (Fault::ResetDrops, false, "backlog in packets is not what it holds"),
        (Fault::RateDrops, false, "backlog in packets is not what it holds"),
        (Fault::CopyForgets, false, "a copy decides otherwise than the original"),
        (Fault::CopyLoses, false, "a copy holds other packets"),
        (Fault::InternalInfinite, false, "internal value is inf"),
        (Fault::InternalImprobable, false, "internal drop_probability is NaN"),
        (Fault::InternalRenamed, false, "the names of its internals changed"),
        (Fault::InternalTwice, false, "two internals have one name"),
        (Fault::ObservationDisturbs, false, "reading the internals changes decisions"),
        (Fault::DrainKeeps, false, "drain leaves packets behind"),
        (Fault::DrainReorders, false, "gives a packet out of order"),
        (Fault::Unseeded, false, "the same seed and input decide otherwise"),
    ] {
        let said = verdict(fault, "pfifo", marks).unwrap_or_else(|| "went unnoticed".to_owned());
        if !said.contains(what) {
            wrong.push(format!("{fault:?}: {said}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(verdict(Fault::None, "pfifo", false), None);
}

#[test]
fn a_limit_that_does_not_hold_is_found() {
    for (limit, what) in [("30p", "holds more packets than its limit"), ("30kB", "holds more bytes than its limit")] {
        let told: Config = format!("codel limit {limit}").parse().expect("a configuration");
        let built: Config = "codel limit 1000p".parse().expect("a configuration");
        let subject = Subject { promise: &Promise::of(&told), build: &|| built.build() };
        let run = || body::check(&[subject], &body::bytes(1, 12_000));
        let failure = catch_unwind(AssertUnwindSafe(run)).expect_err("it went unnoticed");
        assert!(failure.downcast_ref::<String>().is_some_and(|said| said.contains(what)));
    }
}
