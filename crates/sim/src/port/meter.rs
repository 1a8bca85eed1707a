use sojourn_aqm::Counters;
use sojourn_measure::{Level, LossRuns, Mode, Moments, Sampled};
use sojourn_units::{Instant, Span};

/// Everything measured at one port, from the end of the warm-up on.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    pub waiting: Level,
    /// Waiting, in the device queue and being sent; kept for queues under test only.
    pub system: Level,
    pub sojourn: Sampled,
    /// Time that dropped packets had waited.
    pub dropped: Moments,
    pub losses: LossRuns,
    pub spacing: Mode,
    pub last_arrival: Option<Instant>,
    /// Time spent sending (on a bus: occupying the channel).
    pub busy: Span,
    /// The counters when the measurement began.
    pub before: Counters,
    /// dAQM's hits and its drops at a dequeue: when the measurement began; once it has ended, since.
    pub daqm: Option<[u64; 2]>,
}

impl Meter {
    pub fn new() -> Self {
        Self {
            waiting: Level::new(),
            system: Level::new(),
            sojourn: Sampled::default(),
            dropped: Moments::default(),
            losses: LossRuns::default(),
            spacing: Mode::default(),
            last_arrival: None,
            busy: Span::ZERO,
            before: Counters::default(),
            daqm: None,
        }
    }

    /// Begins the measurement; a transmission under way counts from here on.
    pub fn restart(&mut self, now: Instant, counters: &Counters, busy_until: Instant) {
        self.waiting.restart(now);
        self.system.restart(now);
        self.sojourn.clear();
        self.dropped = Moments::default();
        self.losses.restart();
        self.spacing.clear();
        self.busy = busy_until.since(now);
        self.before = *counters;
    }

    /// Ends the measurement: a transmission under way counts up to here.
    pub fn finish(&mut self, now: Instant, busy_until: Instant) {
        self.waiting.settle(now);
        self.system.settle(now);
        self.busy = self.busy.saturating_sub(busy_until.since(now));
    }
}
