//! Long-term bandwidth: the rate of a token-bucket policer, which shows as losses at a steady rate of delivery.
//!
//! As Linux's `tcp_bbr.c`: from a first loss, intervals of 4 to 16 rounds that end with a loss; one in which a fifth or more of
//! what was delivered was lost is taken for policed. Two of these in a row with rates within an eighth (or 4 kbit/s) of each other:
//! their mean is the bandwidth for 48 rounds of ProbeBw. The application's pauses void the interval.

use sojourn_units::{Instant, Span};

/// Rounds of an interval, at least; four times as many at most.
const INTERVAL_ROUNDS: u32 = 4;
/// Lost of delivered that says policer (Linux: 50/256).
const LOSS_RATIO: f64 = 50.0 / 256.0;
/// Rates of two intervals agree within this share,
const RATE_RATIO: f64 = 1.0 / 8.0;
/// or within so many bytes a second: 4 kbit/s.
const RATE_DIFFERENCE: f64 = 500.0;
/// Rounds for which the rate is used.
const USE_ROUNDS: u32 = 48;
/// Linux measures in milliseconds, and not less than one.
const SHORTEST: Span = Span::from_millis(1);

/// What it sees of an acknowledgement or a timeout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight {
    /// When something was last delivered.
    pub delivered_at: Instant,
    /// Bytes since the start.
    pub delivered: u64,
    /// Bytes since the start.
    pub total_lost: u64,
    /// Some of it just now.
    pub losses: bool,
    pub app_limited: bool,
    pub round_start: bool,
    /// The sender is in ProbeBw.
    pub probing: bool,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    /// No loss yet.
    #[default]
    Idle,
    /// An interval is under way; the rate of the one before it, if that was policed.
    Sampling { before: Option<f64> },
    /// A policer's rate is in use.
    Using { rate: f64 },
}

/// State.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    state: State,
    /// Rounds of the interval or of the use.
    rounds: u32,
    /// Start of the interval.
    start: Instant,
    delivered: u64,
    lost: u64,
}

impl Policer {
    /// Bytes a second, while a policer's rate is in use.
    pub fn rate(&self) -> Option<f64> {
        match self.state {
            State::Using { rate } => Some(rate),
            State::Idle | State::Sampling { .. } => None,
        }
    }

    fn begin(&mut self, sight: &Sight, before: Option<f64>) {
        let (start, delivered, lost) = (sight.delivered_at, sight.delivered, sight.total_lost);
        *self = Self { state: State::Sampling { before }, rounds: 0, start, delivered, lost };
    }

    /// Returns true when the rate has been used long enough: probing for bandwidth starts anew.
    pub fn observe(&mut self, sight: &Sight) -> bool {
        let before = match self.state {
            State::Using { .. } => {
                self.rounds += u32::from(sight.probing && sight.round_start);
                let over = self.rounds >= USE_ROUNDS;
                if over {
                    *self = Self::default();
                }
                return over;
            }
            State::Idle if !sight.losses => return false,
            State::Idle => {
                self.begin(sight, None);
                None
            }
            State::Sampling { before } => before,
        };
        if sight.app_limited {
            *self = Self::default();
            return false;
        }
        self.rounds += u32::from(sight.round_start);
        if self.rounds > 4 * INTERVAL_ROUNDS {
            *self = Self::default();
        } else if self.rounds >= INTERVAL_ROUNDS && sight.losses {
            self.judge(sight, before);
        }
        false
    }

    /// An interval of enough rounds ends with a loss.
    fn judge(&mut self, sight: &Sight, before: Option<f64>) {
        let (lost, delivered) = (sight.total_lost - self.lost, sight.delivered.saturating_sub(self.delivered));
        let time = sight.delivered_at.since(self.start);
        if delivered == 0 || (lost as f64) < LOSS_RATIO * delivered as f64 || time < SHORTEST {
            return;
        }
        let rate = delivered as f64 / time.seconds();
        match before {
            Some(before) if (rate - before).abs() <= (RATE_RATIO * before).max(RATE_DIFFERENCE) => {
                *self = Self { state: State::Using { rate: (rate + before) / 2.0 }, ..Self::default() };
            }
            _ => self.begin(sight, Some(rate)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Round `n` of 100 ms in which 10,000 B are delivered and `lost` of them lost.
    fn round(n: u64, total_lost: u64, losses: bool) -> Sight {
        Sight {
            delivered_at: Instant::ZERO + Span::from_millis(100) * n,
            delivered: 10_000 * n,
            total_lost,
            losses,
            app_limited: false,
            round_start: true,
            probing: true,
        }
    }

    #[test]
    fn two_intervals_with_a_fifth_lost_give_the_rate_for_48_rounds() {
        let mut policer = Policer::default();
        // 2000 of 10,000 lost each round, 20 % and more than 50/256 = 19.5 %. Nothing begins without a loss. The interval that
        // begins in round 1 counts that one as its first: it ends in round 4, the second in round 8.
        assert!(!policer.observe(&round(0, 0, false)));
        for n in 1..8 {
            policer.observe(&round(n, 2_000 * n, true));
            assert_eq!(policer.rate(), None, "round {n}");
        }
        policer.observe(&round(8, 16_000, true));
        // 10,000 B a tenth of a second.
        assert_eq!(policer.rate(), Some(100_000.0));
        for n in 9..56 {
            assert!(!policer.observe(&round(n, 16_000, false)), "round {n}");
        }
        assert!(policer.observe(&round(56, 16_000, false)));
        assert_eq!(policer.rate(), None);
    }

    #[test]
    fn fewer_losses_or_pauses_are_no_policer() {
        for (share, app_limited) in [(1_900, false), (2_000, true)] {
            let mut policer = Policer::default();
            for n in 0..100 {
                policer.observe(&Sight { app_limited, ..round(n, share * n, true) });
            }
            assert_eq!(policer.rate(), None, "{share}");
        }
    }

    #[test]
    fn rates_that_differ_by_more_than_an_eighth_are_no_policer() {
        let (mut policer, mut delivered, mut seen) = (Policer::default(), 0, false);
        for n in 1..100 {
            // Intervals end in rounds 4, 8, ...: each delivers 1.3 or 1/1.3 of the one before.
            delivered += if (n - 1) / 4 % 2 == 0 { 10_000 } else { 13_000 };
            policer.observe(&Sight { delivered, ..round(n, 3_000 * n, true) });
            seen |= policer.rate().is_some();
        }
        assert!(!seen);
    }
}
