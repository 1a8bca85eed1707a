//! An 802.11 cell under the distributed coordination function (IEEE 802.11-2016, section 10.3).
//!
//! What happens between two transmissions is known in advance: nobody acts before the first back-off of the cell ends.
//! So there is an event where a transmission begins and one where its sender knows how it went, and none for a slot.
//!
//! All stations hear each other and the access point. Who begins within a propagation delay of another collides, and
//! of colliding frames none is received. A frame is lost to errors at its receiver only; the others heed its duration.

mod airtime;
mod station;

pub(crate) use airtime::Airtime;
pub(crate) use station::{Counts, Fate, Station};

use crate::port::Busy;
use sojourn_aqm::Random;
use sojourn_random::Stream;
use sojourn_scenario::timing::{ACK, BLOCK_ACK, CTS, RTS};
use sojourn_units::{Instant, Span};
use station::Access;

/// A cell's channel and its stations; the access point is station 0.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub spec: sojourn_scenario::Cell,
    pub stations: Vec<Station>,
    /// Whose queue the access point serves, where it has one for each station.
    pub airtime: Option<Airtime>,
    /// When the valid event looks at the channel.
    pub look_at: Instant,
    /// Who begins to transmit now.
    pub winners: Vec<u32>,
    backoff: Stream,
    errors: Stream,
    /// The channel carries something.
    pub busy: Busy,
    /// That is a collision.
    pub collided: Busy,
    /// Interfaces under test send, collide or wait for the answer.
    pub tested: Busy,
}

impl Cell {
    /// An idle cell.
    pub fn new(
        spec: &sojourn_scenario::Cell,
        stations: Vec<Station>,
        airtime: Option<Airtime>,
        seed: u64,
        replication: u64,
    ) -> Self {
        let stream = |what: &str| Stream::new(seed, replication, &format!("cells/{}/{what}", spec.name));
        Self {
            look_at: Instant::NEVER,
            winners: Vec::with_capacity(stations.len()),
            stations,
            airtime,
            backoff: stream("backoff"),
            errors: stream("errors"),
            busy: Busy::default(),
            collided: Busy::default(),
            tested: Busy::default(),
            spec: spec.clone(),
        }
    }

    /// Begins the measurement; what is on the channel counts from here on.
    pub fn restart(&mut self, now: Instant) {
        for busy in [&mut self.busy, &mut self.collided, &mut self.tested] {
            busy.restart(now);
        }
        for station in &mut self.stations {
            station.before = station.counts;
            station.air.restart(now);
            station.both.restart(now);
        }
    }

    /// A station that held no frame has got one (10.3.4.2): the channel idle for DIFS, it transmits at once; else it backs off.
    pub fn offer(&mut self, station: u32, now: Instant) {
        let Self { spec, stations, backoff, .. } = self;
        let station = &mut stations[station as usize];
        if matches!(station.access, Access::Sending { .. }) || station.expiry(spec.slot).is_some_and(|at| at > now) {
            return;
        }
        station.access = if now >= station.idle && spec.immediate_access {
            Access::Deferring { until: now.max(station.ready) }
        } else {
            if now >= station.idle {
                station.ready = station.ready.max(now + spec.difs());
            }
            Access::BackingOff { slots: draw(backoff, station.cw) }
        };
    }

    /// When the next transmission begins, as things stand.
    pub fn due(&self) -> Instant {
        let ends = self.stations.iter().filter(|station| !station.held.is_empty());
        ends.filter_map(|station| station.expiry(self.spec.slot)).min().unwrap_or(Instant::NEVER)
    }

    /// Whether a station's next transmission may take one more frame. With equal air time nothing may be left over for the
    /// next one, and what was is sent alone: else the access point would never turn to another station.
    pub fn has_room(&self, station: u32) -> bool {
        let interface = &self.stations[station as usize];
        let turns = station == 0 && self.airtime.is_some();
        let fits = || interface.fits_another(&self.spec, self.stations[far(&self.stations, station)].longest);
        interface.has_room(&self.spec) && (!turns || !interface.has_rest && fits())
    }

    /// Finds who begins now, or too soon after to hear it.
    pub fn collect(&mut self, now: Instant) {
        let Self { spec, stations, winners, .. } = self;
        winners.clear();
        for (index, station) in stations.iter().enumerate().filter(|(_, station)| !station.held.is_empty()) {
            let begins = |at: Instant| at <= now || at < now + spec.delay;
            if station.expiry(spec.slot).is_some_and(begins) {
                winners.push(index as u32);
            }
        }
    }

    /// The winners transmit: settles how it goes, and when everyone counts slots again.
    pub fn transmit(&mut self, now: Instant) {
        if let &[winner] = self.winners.as_slice() {
            self.succeed(now, winner);
        } else {
            self.collide(now);
        }
    }

    /// Nobody else transmits (10.3.2.6, 10.3.2.9): RTS and CTS where the frame is long, the frame, its acknowledgement.
    fn succeed(&mut self, now: Instant, winner: u32) {
        let Self { spec, stations, .. } = self;
        let link = far(stations, winner);
        let Station { rate, longest, .. } = stations[link];
        let station = &mut stations[winner as usize];
        let (psdu, frames) = station.compose(spec, longest);
        let rts = spec.needs_rts(psdu);
        let mut start = now;
        if rts {
            start = start + spec.control_time(RTS) + spec.control_time(CTS) + (spec.sifs + spec.delay) * 2;
        }
        let sent = start + spec.data_time(psdu, rate);
        station.arrival = sent + spec.delay;
        let mut received = 0;
        for frame in station.held.iter_mut().filter(|frame| frame.sent) {
            if spec.frame_error_rate > 0.0 && self.errors.uniform() < spec.frame_error_rate {
                station.counts.frame_errors += 1;
            } else {
                frame.fate = Fate::Received;
                received += 1;
            }
        }
        let answer = spec.control_time(if frames > 1 { BLOCK_ACK } else { ACK });
        let reserved = station.arrival + spec.sifs + answer + spec.delay;
        let (end, done) =
            if received > 0 { (reserved, reserved) } else { (station.arrival, sent + spec.answer_timeout) };
        station.begin(Access::Sending { rts_passed: rts, answered: received > 0 }, now, end);
        station.done = done;
        station.idle = end;
        station.ready = done.max(end + spec.difs());
        let difs = spec.difs();
        stations[link].both.add(now, end);
        // Of what a station sends, its access point knows the air time if it was received.
        if winner == 0 || received > 0 {
            self.charge(winner, end - now);
        }
        self.busy.add(now, end);
        self.silence(now, reserved, difs);
    }

    /// Several transmit, and none is received.
    fn collide(&mut self, now: Instant) {
        let Self { spec, stations, winners, .. } = self;
        let mut end = now;
        for winner in winners.iter() {
            let link = far(stations, *winner);
            let Station { rate, longest, .. } = stations[link];
            let station = &mut stations[*winner as usize];
            let start = station.expiry(spec.slot).unwrap_or(now);
            let (psdu, _) = station.compose(spec, longest);
            let time = if spec.needs_rts(psdu) { spec.control_time(RTS) } else { spec.data_time(psdu, rate) };
            let sent = start + time;
            station.begin(Access::Sending { rts_passed: false, answered: false }, start, sent);
            station.counts.collisions += 1;
            station.done = sent + spec.answer_timeout;
            end = end.max(sent + spec.delay);
            stations[link].both.add(now, sent);
        }
        let eifs = spec.eifs;
        for winner in winners.iter() {
            let station = &mut stations[*winner as usize];
            // Whose frame was the longest heard nothing that it could not read.
            let heard = station.done + spec.delay < end + spec.answer_timeout;
            station.idle = end;
            station.ready = station.done.max(end + if heard { eifs } else { spec.difs() });
        }
        if self.winners.first() == Some(&0) {
            self.charge(0, self.stations[0].done - now);
        }
        self.collided.add(now, end);
        self.busy.add(now, end);
        self.silence(now, end, eifs);
    }

    /// Counts the air time of a transmission for the station at its other end, or its sender.
    fn charge(&mut self, sender: u32, time: Span) {
        let Some(airtime) = &mut self.airtime else { return };
        let receiver = self.stations[sender as usize].held.front().map_or(0, |frame| frame.receiver);
        airtime.charge(sender.max(receiver), time);
    }

    /// All who do not transmit stop counting slots, until `space` after `idle`.
    fn silence(&mut self, now: Instant, idle: Instant, space: Span) {
        let Self { spec, stations, winners, backoff, .. } = self;
        let mut others = winners.iter().copied().peekable();
        for (index, station) in stations.iter_mut().enumerate() {
            if others.next_if_eq(&(index as u32)).is_some() {
                continue;
            }
            match &mut station.access {
                Access::BackingOff { slots } => {
                    let passed = (now - station.ready).nanos() / spec.slot.nanos().max(1);
                    *slots -= passed.min(u64::from(*slots)) as u32;
                    if *slots == 0 && station.held.is_empty() {
                        station.access = Access::Resting;
                    }
                }
                // The channel fell busy before it had been idle for DIFS.
                Access::Deferring { .. } => station.access = Access::BackingOff { slots: draw(backoff, station.cw) },
                Access::Resting | Access::Sending { .. } => {}
            }
            station.idle = station.idle.max(idle);
            station.ready = station.ready.max(idle + space);
        }
    }

    /// A station knows how its transmission went: it backs off anew (10.3.3, 10.3.4.3).
    pub fn finish(&mut self, station: u32) {
        let Self { spec, stations, backoff, .. } = self;
        let station = &mut stations[station as usize];
        let Access::Sending { rts_passed, answered } = station.access else { return };
        let given_up = station.settle(spec, rts_passed);
        station.cw = if answered || given_up { spec.cw_min } else { (2 * station.cw + 1).min(spec.cw_max) };
        station.access = Access::BackingOff { slots: draw(backoff, station.cw) };
    }
}

/// Uniform in 0..=`cw`.
fn draw(stream: &mut Stream, cw: u32) -> u32 {
    stream.below(u64::from(cw) + 1) as u32
}

/// Whose rate a sender's next data have: the station's, in whichever direction.
fn far(stations: &[Station], sender: u32) -> usize {
    let receiver = stations[sender as usize].held.front().map_or(0, |frame| frame.receiver);
    sender.max(receiver) as usize
}
