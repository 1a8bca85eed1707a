//! What is seen of a direction: windows of N arrivals, and what the status shows live.

use crate::pool::Note;
use sojourn_aqm::{Backlog, Packet, Reason};
use sojourn_measure::window::ClassCounts;
use sojourn_measure::{Sampled, Window, WindowRow};
use sojourn_units::{BitRate, Bytes, Instant};
use std::sync::Arc;

/// A closed window and what was in force during it.
#[derive(Clone, Debug)]
pub struct Closed {
    /// What was measured.
    pub row: WindowRow,
    /// What was in force.
    pub setting: Arc<Setting>,
    /// The rate by which its load is taken.
    pub rate: BitRate,
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
    setting: Arc<Setting>,
    sink: Sink,
    /// Sojourn times since [`Recorder::take_live`] was last called, and those that it gave out then. Both keep their room.
    live: Sampled,
    shown: Sampled,
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
            setting: Arc::new(setting),
            sink,
            live: Sampled::default(),
            shown: Sampled::default(),
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
            self.close(now);
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
        self.window.dropped(packet.serial, reason, note.class);
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
        self.close(now);
        self.rate = rate;
        self.setting = Arc::new(setting);
    }

    /// Ends the window under way, as the process ends.
    pub fn finish(&mut self, now: Instant) {
        self.close(now);
    }

    fn close(&mut self, now: Instant) {
        let complete = self.window.arrivals() >= self.every;
        let row = self.window.close(now, self.rate);
        // What waited may leave or be dropped in a window without arrivals.
        let dropped = row.dropped_overflow + row.dropped_early + row.dropped_flow;
        if row.arrived + row.forwarded + dropped > 0 {
            (self.sink)(Closed { row, setting: Arc::clone(&self.setting), rate: self.rate, complete });
        }
    }

    /// Sojourn times since the last call.
    pub fn take_live(&mut self) -> &Sampled {
        std::mem::swap(&mut self.live, &mut self.shown);
        self.live.clear();
        &self.shown
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Class;
    use sojourn_units::Span;
    use std::sync::Mutex;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Span::from_micros(us)
    }

    fn packet(serial: u64, enqueued: Instant) -> Packet {
        Packet { serial, enqueued, ..Packet::without_signals(0) }
    }

    /// A recorder of windows of three, and where they go.
    fn recorder() -> (Recorder, Arc<Mutex<Vec<Closed>>>) {
        let closed = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&closed);
        let sink = Box::new(move |window| into.lock().unwrap().push(window));
        let setting = Setting { label: "first".into(), ..Setting::default() };
        (Recorder::new(3, BitRate::from_bit_s(8_000_000), Bytes::new(0), setting, sink), closed)
    }

    fn arrive(recorder: &mut Recorder, us: u64, length: u16) {
        recorder.arrived(at(us), Note { length, class: Class::Udp, ..Note::default() });
    }

    #[test]
    fn a_window_ends_as_the_first_arrival_beyond_it_comes() {
        let (mut recorder, closed) = recorder();
        (0..7).for_each(|n| arrive(&mut recorder, 100 * n, 50));
        recorder.finish(at(1000));
        let rows: Vec<_> = closed
            .lock()
            .unwrap()
            .iter()
            .map(|w| (w.row.started_ns / 1000, w.row.ended_ns / 1000, w.row.arrived, w.complete))
            .collect();
        // Arrivals at 0..600: the fourth (300 us) and the seventh (600 us) find three and begin a window.
        assert_eq!(rows, [(0, 300, 3, true), (300, 600, 3, true), (600, 1000, 1, false)]);
    }

    #[test]
    fn a_switch_ends_a_window_and_names_the_next() {
        let (mut recorder, closed) = recorder();
        arrive(&mut recorder, 0, 50);
        let setting = Setting { scheme: "codel".into(), label: "second".into(), slot: Some(4) };
        recorder.switched(at(100), BitRate::from_bit_s(16_000_000), setting.clone());
        (0..3).for_each(|_| arrive(&mut recorder, 150, 100));
        recorder.finish(at(200));
        let closed = closed.lock().unwrap();
        assert_eq!((closed[0].setting.label.as_str(), closed[0].complete, closed[0].row.arrived), ("first", false, 1));
        assert_eq!((&*closed[1].setting, closed[1].complete), (&setting, true));
        // 50 B in 100 us at 8 Mbit/s: 400 of 800 bit; 300 B in 100 us at 16 Mbit/s: 2400 of 1600.
        assert_eq!((closed[0].row.load, closed[1].row.load), (0.5, 1.5));
    }

    #[test]
    fn a_window_without_arrivals_is_kept_when_something_left() {
        let (mut recorder, closed) = recorder();
        arrive(&mut recorder, 0, 50);
        recorder.finish(at(10));
        recorder.finish(at(20));
        recorder.forwarded(at(30), &packet(0, at(0)));
        recorder.finish(at(40));
        let forwarded: Vec<_> = closed.lock().unwrap().iter().map(|w| (w.row.arrived, w.row.forwarded)).collect();
        assert_eq!(forwarded, [(1, 0), (0, 1)]);
    }

    #[test]
    fn live_times_are_those_since_the_last_look() {
        let (mut recorder, _) = recorder();
        recorder.forwarded(at(100), &packet(0, at(0)));
        recorder.forwarded(at(300), &packet(1, at(0)));
        let mean = |live: &Sampled| (live.moments.count(), live.moments.mean_ms());
        assert_eq!(mean(recorder.take_live()), (2, Some(0.2)));
        recorder.forwarded(at(400), &packet(2, at(0)));
        assert_eq!(mean(recorder.take_live()), (1, Some(0.4)));
        assert_eq!(mean(recorder.take_live()), (0, None));
    }

    #[test]
    fn totals_go_on_through_windows() {
        let (mut recorder, _) = recorder();
        let note = Note { length: 50, class: Class::Tcp, ..Note::default() };
        (0..5).for_each(|n| recorder.arrived(at(n), note));
        recorder.dropped(&packet(4, at(4)), note, Reason::Early);
        recorder.marked(note);
        let expected = ClassCounts { arrived: 5, arrived_bytes: 250, dropped: 1, marked: 1 };
        assert_eq!(recorder.totals()[Class::Tcp as usize], expected);
    }
}
