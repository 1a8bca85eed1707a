//! Where packets wait for a link or a bus.

mod busy;
mod line;
mod meter;
mod record;
mod window;

pub(crate) use busy::Busy;
pub(crate) use line::{Line, LineQueue};
pub(crate) use meter::Meter;
pub(crate) use record::{class, Record};
pub(crate) use window::Window;

use crate::random::Stream;
use sojourn_aqm::{Config, Counters, Discipline, Ecn, Observer, Packet, Reason};
use sojourn_measure::trace::{Event, What};
use sojourn_units::{Instant, Span, Wire};
use std::collections::VecDeque;

/// A FIFO below the discipline, as a driver or a network card has it.
#[derive(Clone, Debug)]
pub(crate) struct Device {
    pub limit: usize,
    pub handles: VecDeque<u32>,
}

/// What a station on a bus is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Station {
    /// No frame to send.
    Idle,
    /// Holding a frame, waiting for the channel; `retries` found it busy so far.
    Contending { handle: u32, retries: u32 },
    /// A frame is on the wire.
    Sending,
}

/// How the port sends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Medium {
    /// Full duplex point to point.
    Link,
    /// A station of this bus.
    Bus { bus: u32, station: Station },
    /// This station of an 802.11 cell.
    Cell { cell: u32, station: u32 },
}

/// One direction of a link, or one station's interface on a bus, under a discipline of the algorithm library.
#[derive(Clone)]
pub(crate) struct Port {
    pub discipline: Box<dyn Discipline>,
    pub device: Option<Device>,
    pub medium: Medium,
    pub wire: Wire,
    pub delay: Span,
    /// The packet being sent is out at this instant.
    pub busy_until: Instant,
    /// The discipline has not been asked since the last packet went out, because nothing waited.
    pub unasked: bool,
    /// A `Free` event is pending.
    pub waking: bool,
    /// Ask at every end of transmission by an event, not when convenient.
    pub eager: bool,
    pub random: Stream,
    pub counters: Counters,
    /// Number of the next arrival.
    pub serial: u64,
    pub meter: Meter,
    pub under_test: bool,
    /// The discipline is dAQM, whose hits are measured.
    pub is_daqm: bool,
    /// Frames given up by the channel access after too many retries.
    pub abandoned: u64,
    /// Other schemes that it was given during the run, and when.
    pub switched: Vec<(Instant, Config)>,
    /// What someone who steps through the run looks at.
    pub window: Option<Box<Window>>,
    /// Windows of so many packets, where the scenario asks for them.
    pub record: Option<Box<Record>>,
}

/// Takes what a discipline drops until the simulation looks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dropped {
    pub packets: Vec<(Packet, Reason)>,
    /// The decision log, where one is kept.
    pub log: Option<Box<Log>>,
}

/// The decision log of one port.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    pub port: u32,
    /// The port whose discipline is at work.
    pub asked: u32,
    pub events: Vec<Event>,
}

impl Dropped {
    /// The discipline of port `index` is about to be asked.
    #[inline]
    pub fn asks(&mut self, index: u32) {
        if let Some(log) = &mut self.log {
            log.asked = index;
        }
    }

    /// `packet` is about to be offered to it.
    #[inline]
    pub fn arrives(&mut self, at: Instant, packet: &Packet) {
        if self.log.is_some() {
            self.note(at, packet.serial, What::Arrived(packet.into()));
        }
    }

    /// It has given `packet`.
    #[inline]
    pub fn left(&mut self, at: Instant, packet: &Packet) {
        if self.log.is_some() {
            self.note(at, packet.serial, What::Left { ce: packet.ecn == Ecn::Ce });
        }
    }

    #[cold]
    fn note(&mut self, at: Instant, serial: u64, what: What) {
        if let Some(log) = self.log.as_mut().filter(|log| log.asked == log.port) {
            log.events.push(Event { at, serial, what });
        }
    }
}

impl Observer for Dropped {
    fn dropped(&mut self, now: Instant, packet: Packet, reason: Reason) {
        if self.log.is_some() {
            self.note(now, packet.serial, What::Dropped(reason));
        }
        self.packets.push((packet, reason));
    }

    fn marked(&mut self, now: Instant, packet: &Packet) {
        if self.log.is_some() {
            self.note(now, packet.serial, What::Marked);
        }
    }
}
