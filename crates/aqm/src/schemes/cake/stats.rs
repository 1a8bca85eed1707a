//! What a tin counts, and the delays that it smooths.

use sojourn_units::Span;

/// Counts and smoothed delays of a tin.
#[derive(Clone, Debug, Default)]
pub(super) struct TinStats {
    pub sent: u64,
    pub drops: u64,
    pub marks: u64,
    pub ack_drops: u64,
    /// Sojourn times in seconds: all alike, those above quickly, those below quickly.
    pub average_delay: f64,
    pub peak_delay: f64,
    pub base_delay: f64,
}

impl TinStats {
    /// A packet left after `sojourn`.
    pub fn sent(&mut self, sojourn: Span) {
        let delay = sojourn.seconds();
        let follow = |value: &mut f64, quickly: bool| {
            *value += (delay - *value) * if quickly { 1.0 / 4.0 } else { 1.0 / 256.0 };
        };
        self.sent += 1;
        follow(&mut self.average_delay, false);
        let (above, below) = (delay > self.peak_delay, delay < self.base_delay);
        follow(&mut self.peak_delay, above);
        follow(&mut self.base_delay, below);
    }
}
