//! Acknowledgements in bursts: how much more than the bandwidth explains was acknowledged at once.
//!
//! As Linux's `tcp_bbr.c` since 5.1: since the start of an epoch, what is acknowledged beyond bandwidth times its length; an epoch
//! ends when nothing is beyond. The window is larger by the largest excess of the last five to ten rounds.

use sojourn_units::{Instant, Span};

/// Rounds of each of the two halves of the window.
const ROUNDS: u32 = 5;
/// An epoch ends with so many segments too (Linux: 2^20).
const EPOCH_SEGMENTS: u64 = 1 << 20;
/// The excess counts up to this time at the bandwidth.
const LONGEST: Span = Span::from_millis(100);

/// State; data in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    epoch: Instant,
    epoch_acked: u64,
    /// Largest excess of the present half and of the one before.
    excess: [u64; 2],
    rounds: u32,
}

impl Aggregation {
    /// Largest excess, in bytes.
    pub fn extra(&self) -> u64 {
        self.excess[0].max(self.excess[1])
    }

    /// What the window is enlarged by at `bandwidth` bytes a second.
    pub fn allowance(&self, bandwidth: f64) -> u64 {
        self.extra().min((bandwidth * LONGEST.seconds()) as u64)
    }

    /// Sending starts again after a pause.
    pub fn restart(&mut self, now: Instant) {
        self.epoch = now;
        self.epoch_acked = 0;
    }

    pub fn update(&mut self, now: Instant, acked: u64, bandwidth: f64, round_start: bool, cwnd: u64, mss: u64) {
        if round_start {
            self.rounds += 1;
            if self.rounds >= ROUNDS {
                self.rounds = 0;
                self.excess = [0, self.excess[0]];
            }
        }
        // Whole segments, as in Linux.
        let mut expected = (bandwidth * now.since(self.epoch).seconds()) as u64 / mss * mss;
        if self.epoch_acked <= expected || self.epoch_acked + acked >= EPOCH_SEGMENTS * mss {
            self.restart(now);
            expected = 0;
        }
        self.epoch_acked += acked;
        let excess = self.epoch_acked.saturating_sub(expected).min(cwnd);
        self.excess[0] = self.excess[0].max(excess);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn a_burst_is_what_exceeds_the_bandwidth_since_the_epoch_began() {
        let mut aggregation = Aggregation::default();
        // 1 kB/ms: acknowledgements of 1 kB each millisecond exceed nothing but themselves.
        for ms in 1..50 {
            aggregation.update(at_ms(ms), 1_000, 1e6, false, 1 << 30, 1_000);
            assert_eq!(aggregation.extra(), 1_000);
        }
        // At 49 ms an epoch began. Silence until 60 ms, then 11 kB at once begin another: 11 kB; 3 kB more a millisecond later
        // make 14 kB against 1 kB expected.
        aggregation.update(at_ms(60), 11_000, 1e6, false, 1 << 30, 1_000);
        assert_eq!(aggregation.extra(), 11_000);
        aggregation.update(at_ms(61), 3_000, 1e6, false, 1 << 30, 1_000);
        assert_eq!(aggregation.extra(), 13_000);
        // 100 ms at 50 kB/s are 5 kB.
        assert_eq!(aggregation.allowance(1e6), 13_000);
        assert_eq!(aggregation.allowance(5e4), 5_000);
        // Never more than the window.
        aggregation.update(at_ms(61), 50_000, 1e6, false, 20_000, 1_000);
        assert_eq!(aggregation.extra(), 20_000);
    }

    #[test]
    fn part_of_a_segment_is_not_expected() {
        let mut aggregation = Aggregation::default();
        // 1.5 ms at 1 kB/ms are one whole segment of 1 kB: of 4 kB, 3 kB are beyond.
        aggregation.update(at_ms(1), 2_000, 1e6, false, 1 << 30, 1_000);
        aggregation.update(at_ms(1) + Span::from_micros(1500), 2_000, 1e6, false, 1 << 30, 1_000);
        assert_eq!(aggregation.extra(), 3_000);
    }

    #[test]
    fn it_is_forgotten_after_five_to_ten_rounds() {
        let mut aggregation = Aggregation::default();
        aggregation.update(at_ms(1), 9_000, 1e6, false, 1 << 30, 1_000);
        let held = (1..).find(|round| {
            aggregation.update(at_ms(100 * round), 1_000, 1e6, true, 1 << 30, 1_000);
            aggregation.extra() < 9_000
        });
        // The half of rounds 0 to 4 is dropped when the next one ends, in round 10.
        assert_eq!(held, Some(10));
    }
}
