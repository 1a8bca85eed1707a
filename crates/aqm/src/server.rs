use crate::schemes::pfifo::Pfifo;
use crate::{
    replace, Backlog, Config, Counters, Cx, Dequeued, Discipline, Fifo, Internal, ListedQueue, Observer, Packet,
    Random, Reads,
};
use alloc::boxed::Box;
use alloc::string::String;
use core::any::Any;
use sojourn_units::{BitRate, Bytes, Instant, Wire};

/// A discipline in front of a wire: the one way in which the simulator and the device drive a discipline.
///
/// The host brings packets, instants and an [`Observer`]. What a decision depends on besides is kept here: the rate of the
/// wire, the stream of random numbers and the counters.
pub struct Server<R> {
    discipline: Box<dyn Discipline>,
    random: R,
    /// The wire that the discipline feeds.
    pub wire: Wire,
    counters: Counters,
    /// Number of the next arrival.
    serial: u64,
    /// That of a scheme that has been replaced.
    fault: Option<String>,
}

impl<R: Random> Server<R> {
    /// An empty queue under `scheme`.
    #[must_use]
    pub fn new(scheme: &Config, wire: Wire, random: R) -> Self {
        Self { discipline: scheme.build(), random, wire, counters: Counters::default(), serial: 0, fault: None }
    }

    /// The discipline, and what it is told at `now`.
    #[inline(always)]
    fn at<'a>(&'a mut self, now: Instant, observer: &'a mut dyn Observer) -> (&'a mut Box<dyn Discipline>, Cx<'a>) {
        let Self { discipline, random, wire, counters, .. } = self;
        (discipline, Cx { now, rate: wire.rate(), random, observer, counters, has_dropped: false })
    }

    /// The discipline and what it is told, for several packets in a row.
    #[inline(always)]
    pub fn open<'a>(&'a mut self, observer: &'a mut dyn Observer) -> (Opened<'a>, Cx<'a>) {
        let Self { discipline, random, wire, counters, serial, .. } = self;
        let cx = Cx { now: Instant::ZERO, rate: wire.rate(), random, observer, counters, has_dropped: false };
        let mut opened = Opened { tail_drop: None, other: None };
        if (&**discipline as &dyn Any).is::<Fifo<Pfifo>>() {
            let discipline = (&mut **discipline as &mut dyn Any).downcast_mut();
            opened.tail_drop = discipline.map(|discipline| Session { discipline, wire, serial });
        } else {
            opened.other = Some(Session { discipline: &mut **discipline, wire, serial });
        }
        (opened, cx)
    }

    /// Number of the next arrival: [`Packet::serial`] of the packet given to [`Self::arrive`] next.
    #[inline]
    pub fn number(&mut self) -> u64 {
        let serial = self.serial;
        self.serial += 1;
        serial
    }

    /// `packet` arrives at `now`.
    #[inline(always)]
    pub fn arrive(&mut self, now: Instant, observer: &mut dyn Observer, packet: Packet) {
        let (discipline, mut cx) = self.at(now, observer);
        discipline.enqueue(&mut cx, packet);
    }

    /// The next packet for the wire, which is free at `now`.
    #[inline(always)]
    pub fn depart(&mut self, now: Instant, observer: &mut dyn Observer) -> Dequeued {
        let (discipline, mut cx) = self.at(now, observer);
        discipline.dequeue(&mut cx)
    }

    /// Another scheme takes over what waits; see [`replace`].
    pub fn switch(&mut self, now: Instant, observer: &mut dyn Observer, scheme: &Config) {
        self.fault = self.fault();
        let (discipline, mut cx) = self.at(now, observer);
        replace(discipline, scheme.build(), &mut cx);
    }

    /// The scheme has other parameters from now on, those of `scheme`, and keeps what it has learnt. False where it is another
    /// algorithm.
    pub fn set_params(&mut self, now: Instant, observer: &mut dyn Observer, scheme: &Config) -> bool {
        let (discipline, mut cx) = self.at(now, observer);
        discipline.set_params(&mut cx, scheme.typed())
    }

    /// The wire has another rate from `now` on.
    pub fn set_rate(&mut self, now: Instant, observer: &mut dyn Observer, rate: BitRate) {
        let (discipline, mut cx) = self.at(now, observer);
        discipline.set_rate(&mut cx, rate);
        self.wire = Wire::new(rate, Bytes::new(u64::from(self.wire.overhead())));
    }

    /// Takes a packet out without any decision, as its host ends.
    pub fn drain(&mut self) -> Option<Packet> {
        self.discipline.drain()
    }

    /// See [`Discipline::is_shaper`].
    #[must_use]
    pub fn is_shaper(&self) -> bool {
        self.discipline.is_shaper()
    }

    /// See [`Discipline::reads`].
    #[must_use]
    pub fn reads(&self) -> Reads {
        self.discipline.reads()
    }

    /// What waits.
    #[must_use]
    #[inline]
    pub fn backlog(&self) -> Backlog {
        self.discipline.backlog()
    }

    /// Its counters.
    #[must_use]
    #[inline]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The first [`Discipline::fault`] of the schemes that it had.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        self.fault.clone().or_else(|| self.discipline.fault())
    }

    /// Shows every named internal of the scheme, as of `now`.
    pub fn internals(&mut self, now: Instant, visit: &mut Internal<'_>) {
        self.discipline.internals(now, self.wire.rate(), visit);
    }

    /// See [`Discipline::listed_queues`].
    pub fn listed_queues(&self, visit: &mut dyn FnMut(ListedQueue)) {
        self.discipline.listed_queues(visit);
    }
}

/// The session of a discipline, by whether this is tail drop at a number of packets, which most queues have.
pub struct Opened<'a> {
    /// It is: to be called without a table of functions.
    pub tail_drop: Option<Session<'a, Fifo<Pfifo>>>,
    /// It is another.
    pub other: Option<Session<'a, dyn Discipline>>,
}

/// A discipline at work on several packets in a row: what it is told besides the instant, a [`Cx`], is put together once.
// Apart from the `Cx`, whose address the discipline gets, so that the rest of it need not lie in memory.
pub struct Session<'a, D: ?Sized> {
    discipline: &'a mut D,
    /// The wire that the discipline feeds; its rate stays.
    pub wire: &'a mut Wire,
    serial: &'a mut u64,
}

impl<D: Discipline + ?Sized> Session<'_, D> {
    /// As [`Server::number`].
    #[inline(always)]
    pub fn number(&mut self) -> u64 {
        let serial = *self.serial;
        *self.serial += 1;
        serial
    }

    /// As [`Server::arrive`].
    #[inline(always)]
    pub fn arrive(&mut self, cx: &mut Cx<'_>, now: Instant, packet: Packet) {
        cx.now = now;
        self.discipline.enqueue(cx, packet);
    }

    /// As [`Server::depart`].
    #[inline(always)]
    pub fn depart(&mut self, cx: &mut Cx<'_>, now: Instant) -> Dequeued {
        cx.now = now;
        self.discipline.dequeue(cx)
    }
}

impl<R: Clone> Clone for Server<R> {
    fn clone(&self) -> Self {
        Self {
            discipline: self.discipline.clone(),
            random: self.random.clone(),
            wire: self.wire,
            counters: self.counters,
            serial: self.serial,
            fault: self.fault.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::Stream;
    use crate::Reason;
    use alloc::vec::Vec;

    #[derive(Default)]
    struct Drops(Vec<u64>);

    impl Observer for Drops {
        fn dropped(&mut self, _now: Instant, packet: Packet, _reason: Reason) {
            self.0.push(packet.serial);
        }
    }

    /// Three packets for a queue of two, then all that it gives: serials given, dropped, and whether the session was told of drops.
    fn session<D: Discipline + ?Sized>(mut session: Session<'_, D>, mut cx: Cx<'_>) -> (Vec<u64>, bool) {
        for _ in 0..3 {
            let serial = session.number();
            session.arrive(&mut cx, Instant::ZERO, Packet { serial, bytes: 1000, ..Packet::without_signals(0) });
        }
        let given = core::iter::from_fn(|| match session.depart(&mut cx, Instant::ZERO) {
            Dequeued::Packet(packet) => Some(packet.serial),
            _ => None,
        });
        (given.collect(), cx.has_dropped)
    }

    #[test]
    fn a_session_of_tail_drop_needs_no_table_and_does_the_same() {
        for (scheme, is_tail_drop) in [("pfifo limit 2p", true), ("bfifo limit 2000b", false)] {
            let scheme: Config = scheme.parse().unwrap();
            let wire = Wire::new(BitRate::from_bit_s(8_000_000), Bytes::ZERO);
            let (mut server, mut drops) = (Server::new(&scheme, wire, Stream::new(1)), Drops::default());
            let (opened, cx) = server.open(&mut drops);
            let told = match opened {
                Opened { tail_drop: Some(opened), .. } if is_tail_drop => session(opened, cx),
                Opened { other: Some(opened), .. } if !is_tail_drop => session(opened, cx),
                Opened { .. } => panic!("{} is opened as another", scheme.text()),
            };
            // Two fit; the third, number 2, is dropped, and the observer has been told.
            assert_eq!((told, drops.0), ((alloc::vec![0, 1], true), alloc::vec![2]));
            assert_eq!((server.number(), server.counters().forwarded.packets), (3, 2));
        }
    }
}
