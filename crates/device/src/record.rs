//! What is seen of a direction: windows of N arrivals, and what the status shows live.

use crate::pool::Note;
use sojourn_aqm::{Backlog, Packet, Reason};
use sojourn_measure::window::{ClassCounts, Drop};
use sojourn_measure::{Sampled, Window, WindowRow};
use sojourn_units::{BitRate, Bytes, Instant};

/// A closed window and what was in force during it.
#[derive(Clone, Debug)]
pub struct Closed {
    /// What was measured.
    pub row: WindowRow,
    /// What was in force.
    pub setting: Setting,
    /// It holds as many arrivals as asked for; a switch or the end of the process closes a window early.
    pub complete: bool,
}

/// What is in force in a direction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setting {
    /// The scheme, as tc writes it.
    pub scheme: String,
    /// Its name in the schedule or the configuration.
    pub label: String,
    /// Slot of the schedule.
    pub slot: Option<u64>,
}

/// Where closed windows go.
pub type Sink = Box<dyn FnMut(Closed) + Send>;

/// Measures one direction.
pub struct Recorder {
    window: Window,
    every: u64,
    rate: BitRate,
    setting: Setting,
    sink: Sink,
    /// Sojourn times since [`Recorder::take_live`] last took them.
    live: Sampled,
    /// Since the start, one entry a class.
    totals: [ClassCounts; 4],
}

impl Recorder {
    /// Windows of `every` arrivals at a queue that is served at `rate`, with `overhead` a packet, go to `sink`.
    #[must_use]
    pub fn new(every: u64, rate: BitRate, overhead: Bytes, setting: Setting, sink: Sink) -> Self {
        Self {
            window: Window::new(Instant::ZERO, 0, overhead),
            every: every.max(1),
            rate,
            setting,
            sink,
            live: Sampled::default(),
            totals: [ClassCounts::default(); 4],
        }
    }

    /// One that nobody reads.
    #[must_use]
    pub fn idle() -> Self {
        Self::new(u64::MAX, BitRate::ZERO, Bytes::new(0), Setting::default(), Box::new(|_| {}))
    }

    /// A packet is offered to the queue.
    #[inline]
    pub fn arrived(&mut self, now: Instant, note: Note) {
        if self.window.arrivals() >= self.every {
            self.close(now, true);
        }
        self.window.arrived(u32::from(note.length), note.class);
        let total = &mut self.totals[note.class as usize];
        total.arrived += 1;
        total.arrived_bytes += u64::from(note.length);
    }

    /// What waits, after a change.
    #[inline]
    pub fn backlog(&mut self, now: Instant, backlog: Backlog) {
        self.window.waiting(now, backlog.packets);
    }

    /// A packet was dropped.
    #[inline]
    pub fn dropped(&mut self, packet: &Packet, note: Note, reason: Reason) {
        let why = match reason {
            Reason::Overflow => Drop::Overflow,
            Reason::Early => Drop::Early,
            Reason::Flow => Drop::Flow,
        };
        self.window.dropped(packet.serial, why, note.class);
        self.totals[note.class as usize].dropped += 1;
    }

    /// A packet was marked.
    #[inline]
    pub fn marked(&mut self, note: Note) {
        self.window.marked(note.class);
        self.totals[note.class as usize].marked += 1;
    }

    /// A packet leaves the queue.
    #[inline]
    pub fn forwarded(&mut self, now: Instant, packet: &Packet) {
        let sojourn = now.since(packet.enqueued);
        self.window.forwarded(sojourn);
        self.live.add(sojourn);
    }

    /// Another setting is in force from `now` on: the window under way ends.
    pub fn switched(&mut self, now: Instant, rate: BitRate, setting: Setting) {
        self.close(now, false);
        self.rate = rate;
        self.setting = setting;
    }

    /// Ends the window under way, as the process ends.
    pub fn finish(&mut self, now: Instant) {
        self.close(now, false);
    }

    fn close(&mut self, now: Instant, complete: bool) {
        if self.window.arrivals() == 0 {
            // Nothing to store; the next window begins now.
            self.window.close(now, self.rate);
            return;
        }
        let row = self.window.close(now, self.rate);
        (self.sink)(Closed { row, setting: self.setting.clone(), complete });
    }

    /// Sojourn times since the last call.
    pub fn take_live(&mut self) -> Sampled {
        std::mem::take(&mut self.live)
    }

    /// Counts since the start, in the order of [`sojourn_measure::window::Class::ALL`].
    #[must_use]
    pub fn totals(&self) -> [ClassCounts; 4] {
        self.totals
    }

    /// What is in force.
    #[must_use]
    pub fn setting(&self) -> &Setting {
        &self.setting
    }
}
