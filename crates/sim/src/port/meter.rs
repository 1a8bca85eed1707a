use super::Busy;
use sojourn_aqm::Counters;
use sojourn_measure::{Level, LossRuns, Mode, Moments, Sampled};
use sojourn_units::Instant;

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
    pub busy: Busy,
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
            busy: Busy::default(),
            before: Counters::default(),
            daqm: None,
        }
    }

    /// Begins the measurement.
    pub fn restart(&mut self, now: Instant, counters: &Counters) {
        self.waiting.restart(now);
        self.system.restart(now);
        self.sojourn.clear();
        self.dropped = Moments::default();
        self.losses.restart();
        self.spacing.clear();
        self.busy.restart(now);
        self.before = *counters;
    }

    /// Ends the measurement.
    pub fn finish(&mut self, now: Instant) {
        self.waiting.settle(now);
        self.system.settle(now);
    }
}
