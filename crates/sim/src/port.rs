//! Where packets wait for a link or a bus.

mod bucket;
mod busy;
mod classes;
mod decisions;
mod line;
mod probe;
mod record;
mod tap;
mod window;

pub(crate) use bucket::Bucket;
pub(crate) use busy::Busy;
pub(crate) use classes::{ClassBook, ClassTally, Classes};
pub(crate) use decisions::Decisions;
pub(crate) use line::{Approach, Line, LineQueue};
pub(crate) use probe::{HitBook, Probe, Watch};
pub(crate) use record::{class, Record};
pub(crate) use tap::{Run, Tap};
pub(crate) use window::Window;

use crate::engine::Lane;
use sojourn_aqm::{Channel, ChannelCounts, Config, Framing, Observer, Packet, Reason, Server, Traced};
use sojourn_measure::trace::{Event, EventKind};
use sojourn_random::Stream;
use sojourn_units::{Instant, Span};
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
    /// As a link, whose rate follows a trace.
    Trace,
    /// As a link, shaped by a token bucket.
    Shaped,
    /// A station of this bus.
    Bus { bus: u32, station: Station },
    /// This station of an 802.11 cell.
    Cell { cell: u32, station: u32 },
}

/// How far a link has come with its trace.
#[derive(Clone, Debug)]
pub(crate) struct Follows {
    pub trace: Traced,
    /// A packet is being sent.
    pub sending: bool,
    /// Bits that it could send, and that it sent, when the measurement began.
    pub before: [f64; 2],
}

/// One direction of a link, or one station's interface on a bus, under a discipline of the algorithm library.
#[derive(Clone)]
pub(crate) struct Port {
    /// The packet being sent is out at this instant.
    pub busy_until: Instant,
    pub delay: Span,
    /// The discipline has not been asked since the last packet went out, because nothing waited.
    pub unasked: bool,
    /// The discipline is asked when the packet being sent is out.
    pub waking: bool,
    /// A link without a device queue, whose discipline is no shaper and not measured together with others: arrivals and
    /// ends of transmissions may be computed later, as of their instants, because nobody sees them before the next packet
    /// sent can reach the far end.
    pub lazy: bool,
    /// Packets on their way to a lazy port.
    pub pending: Lane<u32>,
    /// When a `Free` event of a lazy port is pending; `NEVER` when none is.
    pub wake_at: Instant,
    /// Several queues under test are measured together, this among them: it asks at every end of transmission by an event,
    /// not when convenient.
    pub eager: bool,
    pub server: Server<Stream>,
    /// What the link does to packets that have been sent, where it does more than to carry them for `delay`. Then `delay` is the
    /// least that a packet can have, so that a lazy port is looked at in time.
    pub channel: Option<Box<Channel<Stream>>>,
    /// What it had done when the measurement began.
    pub channel_before: ChannelCounts,
    /// Framing in place of the wire's overhead. Such a port has a channel and is watched, so that other ports need not ask.
    pub framing: Option<Framing>,
    pub probe: Probe,
    pub medium: Medium,
    /// What the link may send, where that follows a trace.
    pub follows: Option<Box<Follows>>,
    /// Packets come here over links besides those of the port's own node.
    pub is_passed: bool,
    /// The token bucket of a link that has one.
    pub bucket: Option<Bucket>,
    /// What that had saved when the measurement began, and what changes of rate have added since.
    pub saved_before: Span,
    pub device: Option<Device>,
    /// Frames given up by the channel access after too many retries.
    pub abandoned: u64,
    /// Other schemes that it was given during the run, and when.
    pub switched: Vec<(Instant, Config)>,
}

/// Takes what a discipline drops until the simulation looks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dropped {
    pub packets: Vec<(Packet, Reason)>,
    /// The decision log of one port, where one is kept.
    pub log: Option<Vec<Event>>,
    /// Decision logs that are written.
    pub decisions: Option<Box<Decisions>>,
    /// The discipline of a port whose decisions are logged is at work: that of this number.
    pub logs: bool,
    pub port: u32,
}

impl Dropped {
    /// The discipline of a port begins to work, which `watch` observes.
    #[inline(always)]
    pub fn attend(&mut self, watch: Option<&Watch>) {
        self.logs = false;
        if let Some(number) = watch.and_then(|watch| watch.logged) {
            (self.logs, self.port) = (true, number);
        }
    }

    /// An event of the port whose decisions are logged.
    #[cold]
    pub fn note(&mut self, at: Instant, serial: u64, what: EventKind) {
        self.note_of(at, serial, what, 0);
    }

    /// An event of a packet of this flow.
    #[cold]
    pub fn note_of(&mut self, at: Instant, serial: u64, what: EventKind, flow: u32) {
        let event = Event { at, serial, what };
        if let Some(decisions) = &mut self.decisions {
            decisions.write(self.port, &event, flow);
        }
        if let Some(log) = &mut self.log {
            log.push(event);
        }
    }
}

impl Observer for Dropped {
    fn dropped(&mut self, now: Instant, packet: Packet, reason: Reason) {
        if self.logs {
            self.note(now, packet.serial, EventKind::Dropped(reason));
        }
        self.packets.push((packet, reason));
    }

    fn marked(&mut self, now: Instant, packet: &Packet) {
        if self.logs {
            self.note(now, packet.serial, EventKind::Marked);
        }
    }
}
