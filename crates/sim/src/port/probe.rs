use super::{class, Busy, ClassBook, Classes, Record, Tap, Window};
use crate::packet::Packet;
use sojourn_aqm::{Config, Counters, Ecn, Reason};
use sojourn_measure::{Level, LossRuns, Mode, Moments, Sampled};
use sojourn_units::{Instant, Span};

/// Everything that is seen and measured at one port, from the end of the warm-up on.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    pub waiting: Level,
    pub sojourn: Sampled,
    /// Waiting, in the device queue and being sent, where that does not follow from `waiting` and `busy`; of queues under test
    /// only, as are the two that follow.
    pub system: Option<Level>,
    pub spacing: Mode,
    /// `NEVER` before the first.
    last_arrival: Instant,
    pub under_test: bool,
    /// What someone who looks at more than the metrics has asked for.
    pub watch: Option<Box<Watch>>,
    /// Time spent sending (on a bus: occupying the channel).
    pub busy: Busy,
    /// Time that dropped packets had waited.
    pub dropped: Moments,
    pub losses: LossRuns,
    /// The counters when the measurement began.
    pub before: Counters,
    /// Packets that left with a CE mark that they had not come with, since the start of the run; and when the measurement began.
    pub marked: u64,
    pub marked_before: u64,
    /// Of dAQM, where the port runs it or has run it.
    pub hits: Option<HitBook>,
}

/// dAQM's hits, and packets that left it or that it dropped at a dequeue, while the port ran dAQM in the measured time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HitBook {
    /// What dAQM had counted when the present stretch of time under it began; none while the port runs another scheme.
    pub since: Option<[u64; 2]>,
    /// Of the stretches that are over.
    pub counted: [u64; 2],
}

impl HitBook {
    /// A stretch of time under dAQM is over, which has counted `now`.
    pub fn close(&mut self, now: [u64; 2]) {
        if let Some(before) = self.since.take() {
            self.counted = std::array::from_fn(|i| self.counted[i] + now[i] - before[i]);
        }
    }
}

/// Observers that most ports do without.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    /// What someone who steps through the run looks at.
    pub window: Option<Window>,
    /// Windows of so many packets, where the scenario asks for them.
    pub record: Option<Record>,
    /// The decisions are logged, under this number.
    pub logged: Option<u32>,
    /// Packets are written.
    pub tap: Option<Box<Tap>>,
    /// The classes of a DualPI2 are measured apart.
    pub classes: Option<Box<ClassBook>>,
}

impl Probe {
    pub fn new(under_test: bool, record: Option<Record>) -> Self {
        Self {
            waiting: Level::new(),
            sojourn: Sampled::default(),
            system: under_test.then(Level::new),
            spacing: Mode::default(),
            last_arrival: Instant::NEVER,
            under_test,
            watch: record.map(|record| Box::new(Watch { record: Some(record), ..Watch::default() })),
            busy: Busy::default(),
            dropped: Moments::default(),
            losses: LossRuns::default(),
            before: Counters::default(),
            marked: 0,
            marked_before: 0,
            hits: None,
        }
    }

    /// The observers besides the metrics, made when first asked for.
    pub fn watch(&mut self) -> &mut Watch {
        self.watch.get_or_insert_default()
    }

    /// A packet is about to be offered to the discipline: for the metrics.
    #[inline(always)]
    pub fn count_offered(&mut self, now: Instant) {
        if self.under_test {
            let last = std::mem::replace(&mut self.last_arrival, now);
            if last != Instant::NEVER {
                self.spacing.add(now - last);
            }
        }
    }

    /// It waits, or what has been dropped is told of next: for the metrics.
    #[inline(always)]
    pub fn count_joined(&mut self, now: Instant) {
        self.waiting.up(now);
        if let Some(system) = &mut self.system {
            system.up(now);
        }
    }

    /// The discipline gave a packet that had joined the queue at `enqueued`: for the metrics.
    #[inline(always)]
    pub fn count_left(&mut self, now: Instant, enqueued: Instant) {
        self.waiting.down(now);
        self.sojourn.add(now - enqueued);
    }

    /// A packet is about to be offered to the discipline.
    #[inline(always)]
    pub fn offered(&mut self, now: Instant, packet: &Packet) {
        self.count_offered(now);
        if let Some(watch) = &mut self.watch {
            watch.offered(packet);
        }
    }

    /// It has been: it waits, or what has been dropped is told of next.
    #[inline(always)]
    pub fn joined(&mut self, now: Instant) {
        self.count_joined(now);
        if let Some(watch) = &mut self.watch {
            watch.joined(now, self.waiting.get());
        }
    }

    /// The discipline gave `taken`, which is `packet` to the network.
    #[inline(always)]
    pub fn left(&mut self, now: Instant, taken: &sojourn_aqm::Packet, packet: &Packet) {
        self.count_left(now, taken.enqueued);
        if let Some(watch) = &mut self.watch {
            watch.left(now, taken, packet, self.waiting.get());
        }
    }

    /// The discipline dropped `taken`, which is `packet` to the network.
    pub fn dropped(&mut self, now: Instant, taken: &sojourn_aqm::Packet, reason: Reason, packet: &Packet) {
        self.losses.add(taken.serial);
        self.dropped.add(now - taken.enqueued);
        self.waiting.down(now);
        if let Some(system) = &mut self.system {
            system.down(now);
        }
        if let Some(watch) = &mut self.watch {
            watch.dropped(now, taken, reason, packet, self.waiting.get());
        }
    }

    /// A packet is out at `now`, or has been given up.
    #[inline]
    pub fn out(&mut self, now: Instant) {
        if let Some(system) = &mut self.system {
            system.down(now);
        }
    }

    /// Waiting, in the device queue and being sent.
    pub fn in_system(&self) -> Level {
        let derived = || {
            let now = self.waiting.settled();
            let measured = Span::from_nanos(u64::try_from(self.waiting.total_ns()).unwrap_or(u64::MAX));
            self.waiting.with_served(measured.saturating_sub(self.busy.total(now)), self.busy.is_at(now))
        };
        self.system.clone().unwrap_or_else(derived)
    }

    /// It is a plain link, which rests only while nothing waits, or will no longer be one. No packet is at a link that becomes one.
    pub fn derive_system(&mut self, is_plain: bool) {
        self.system = (self.under_test && !is_plain).then(|| self.in_system());
    }

    /// Begins the measurement.
    pub fn restart(&mut self, now: Instant, counters: &Counters) {
        self.waiting.restart(now);
        if let Some(system) = &mut self.system {
            system.restart(now);
        }
        self.sojourn.clear();
        self.dropped = Moments::default();
        self.losses.restart();
        self.spacing.clear();
        self.busy.restart(now);
        self.before = *counters;
        self.marked_before = self.marked;
        let Some(watch) = &mut self.watch else { return };
        if let Some(record) = &mut watch.record {
            record.restart(now);
        }
        if let Some(classes) = &mut watch.classes {
            classes.measured = Classes::default();
        }
    }

    /// The port runs `scheme` from now on.
    pub fn follow(&mut self, scheme: &Config) {
        if let Some(classes) = self.watch.as_mut().and_then(|watch| watch.classes.as_mut()) {
            classes.follow(scheme);
        } else if let Some(book) = ClassBook::new(scheme).filter(|_| self.under_test) {
            self.watch().classes = Some(Box::new(book));
        }
    }

    /// What the classes of a DualPI2 measured.
    pub fn classes(&self) -> Option<&Classes> {
        Some(&self.watch.as_ref()?.classes.as_ref()?.measured)
    }

    /// Ends the measurement.
    pub fn finish(&mut self, now: Instant) {
        self.waiting.settle(now);
        if let Some(system) = &mut self.system {
            system.settle(now);
        }
    }
}

impl Watch {
    #[inline(never)]
    fn offered(&mut self, packet: &Packet) {
        if let Some(record) = &mut self.record {
            record.arrived(packet.bytes(), class(packet));
        }
    }

    #[inline(never)]
    fn joined(&mut self, now: Instant, waiting: u64) {
        if let Some(window) = &mut self.window {
            window.arrived(now);
        }
        if let Some(record) = &mut self.record {
            record.waiting(now, waiting);
        }
    }

    #[inline(never)]
    fn left(&mut self, now: Instant, taken: &sojourn_aqm::Packet, packet: &Packet, waiting: u64) {
        let is_marked = taken.ecn == Ecn::Ce && packet.ecn() != Ecn::Ce;
        if let Some(window) = &mut self.window {
            window.left(now, taken.enqueued);
            window.marked += u64::from(is_marked);
        }
        if let Some(tap) = &mut self.tap {
            tap.left(now, taken, packet);
        }
        if let Some(classes) = &mut self.classes {
            classes.left(now - taken.enqueued, taken, packet);
        }
        if let Some(record) = &mut self.record {
            record.waiting(now, waiting);
            record.forwarded(now - taken.enqueued, is_marked, class(packet));
        }
    }

    #[inline(never)]
    fn dropped(&mut self, now: Instant, taken: &sojourn_aqm::Packet, reason: Reason, packet: &Packet, waiting: u64) {
        if let Some(window) = &mut self.window {
            window.dropped(now);
        }
        if let Some(tap) = &mut self.tap {
            tap.dropped(now, taken, packet, reason);
        }
        if let Some(classes) = &mut self.classes {
            classes.dropped(reason, taken, packet);
        }
        if let Some(record) = &mut self.record {
            record.waiting(now, waiting);
            record.dropped(taken.serial, reason, class(packet));
        }
    }
}
