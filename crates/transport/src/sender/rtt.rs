//! Round-trip time and retransmission timeout: RFC 6298, and Linux's variation of it.

use super::config::{Config, RtoRule};
use sojourn_units::Span;

/// RFC 6298, 5.7.
const AFTER_SYN_LOSS: Span = Span::from_secs(3);

impl RtoRule {
    /// A timeout within an episode, or after another, lowers the threshold once more. As Linux, it is not reduced again by a
    /// timeout within a recovery that already reduced it.
    pub(super) fn lowers_again(self) -> bool {
        self == Self::Ns3
    }

    /// Only what was sent once, and was not outstanding at a timeout, gives a sample, and any advance ends the back-off.
    pub(super) fn samples_the_certain(self) -> bool {
        self == Self::Ns3
    }

    /// In fast recovery only the first partial acknowledgement restarts the timer (RFC 6582's impatient variant).
    pub(super) fn is_impatient(self) -> bool {
        self == Self::Ns3
    }

    /// A retransmission of the first segment restarts the timer.
    pub(super) fn restarts_on_resend(self) -> bool {
        self != Self::Ns3
    }

    /// SYNs that may be sent again before the initial window is one segment.
    pub(super) fn tolerated_syns(self) -> u32 {
        match self {
            Self::Linux => 1,
            Self::Rfc6298 => 0,
            Self::Ns3 => u32::MAX,
        }
    }
}

/// Estimator; spans are in nanoseconds, scaled as the text says to keep the fractions.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct RttEstimator {
    pub min: Span,
    /// Smoothed RTT times 8; 0 before the first sample.
    srtt8: u64,
    /// Mean deviation times 4.
    deviation4: u64,
    /// Linux: the largest `deviation4` of this round trip, at least the smallest timeout.
    peak: u64,
    /// Linux: what the timeout adds to the smoothed RTT.
    variation: u64,
    /// Linux: the round trip ends when the cumulative acknowledgement passes this.
    round_end: u64,
    /// The timeout without back-off.
    timeout: u64,
    rule: RtoRule,
    max_rto: u64,
    min_rto: u64,
}

impl RttEstimator {
    pub fn new(config: &Config) -> Self {
        Self {
            rule: config.rto,
            min_rto: config.min_rto.nanos(),
            max_rto: config.max_rto.nanos(),
            timeout: config.initial_rto.min(config.max_rto).nanos(),
            srtt8: 0,
            deviation4: 0,
            peak: 0,
            variation: 0,
            round_end: 0,
            min: Span::MAX,
        }
    }

    /// The handshake is over after `again` SYNs sent again: RFC 6298, 5.7, in Linux (`tcp_init_metrics`) without a sample only.
    pub fn after_handshake(&mut self, again: u32) {
        let unsure = match self.rule {
            RtoRule::Linux => self.srtt8 == 0,
            RtoRule::Rfc6298 => again > 0,
            RtoRule::Ns3 => false,
        };
        if unsure {
            // Until data gives a sample.
            self.timeout = self.timeout.max(AFTER_SYN_LOSS.nanos().min(self.max_rto));
        }
    }

    /// Takes a sample; `una` and `next` are the sender's, after the acknowledgement that gave it.
    #[inline(always)]
    pub fn sample(&mut self, rtt: Span, una: u64, next: u64) {
        let rtt = rtt.nanos().max(1);
        if self.srtt8 == 0 {
            self.take_first(rtt, next);
        } else {
            self.take(rtt, una, next);
        }
        let rto = match self.rule {
            RtoRule::Linux => self.srtt8 / 8 + self.variation,
            RtoRule::Rfc6298 | RtoRule::Ns3 => (self.srtt8 / 8 + self.deviation4).max(self.min_rto),
        };
        self.timeout = rto.min(self.max_rto);
    }

    #[cold]
    #[inline(never)]
    fn take_first(&mut self, rtt: u64, next: u64) {
        self.srtt8 = rtt * 8;
        self.deviation4 = rtt * 2;
        self.variation = self.deviation4.max(self.min_rto);
        self.peak = self.variation;
        self.round_end = next;
    }

    #[inline(always)]
    fn take(&mut self, rtt: u64, una: u64, next: u64) {
        let srtt = self.srtt8 / 8;
        let error = rtt.abs_diff(srtt);
        let falling = rtt < srtt;
        self.srtt8 = self.srtt8 - srtt + rtt;
        let mean = self.deviation4 / 4;
        if self.rule == RtoRule::Linux {
            // A falling RTT is no reason to wait longer: it raises the deviation at an eighth of the speed.
            if falling && error > mean {
                self.deviation4 += (error - mean) / 8;
            } else {
                self.deviation4 = self.deviation4 - mean + error;
            }
            if self.deviation4 > self.peak {
                self.peak = self.deviation4;
                self.variation = self.variation.max(self.peak);
            }
            if una > self.round_end {
                if self.peak < self.variation {
                    self.variation -= (self.variation - self.peak) / 4;
                }
                self.round_end = next;
                self.peak = self.min_rto;
            }
        } else {
            self.deviation4 = self.deviation4 - mean + error;
        }
    }

    /// The handshake's sample, the first.
    #[inline(never)]
    pub fn first(&mut self, rtt: Span) {
        self.min = rtt;
        self.sample(rtt, 0, 0);
    }

    /// Smoothed RTT; zero before the first sample.
    pub fn srtt(&self) -> Span {
        Span::from_nanos(self.srtt8 / 8)
    }

    /// The timeout after `backoff` expiries in a row.
    #[inline(always)]
    pub fn rto(&self, backoff: u32) -> Span {
        if backoff == 0 {
            return Span::from_nanos(self.timeout);
        }
        let factor = 1_u64 << backoff.min(32);
        Span::from_nanos(self.timeout.saturating_mul(factor).min(self.max_rto))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Span {
        Span::from_millis(ms)
    }

    #[test]
    fn rfc_6298_by_hand() {
        let mut rtt = RttEstimator::new(&Config { rto: RtoRule::Rfc6298, min_rto: ms(1), ..Config::default() });
        assert_eq!(rtt.rto(0), Span::from_secs(1));
        rtt.sample(ms(80), 0, 0);
        // SRTT = 80, RTTVAR = 40: 80 + 4*40.
        assert_eq!((rtt.srtt(), rtt.rto(0)), (ms(80), ms(240)));
        rtt.sample(ms(160), 0, 0);
        // RTTVAR = 3/4*40 + 1/4*80 = 50, SRTT = 7/8*80 + 1/8*160 = 90.
        assert_eq!((rtt.srtt(), rtt.rto(0)), (ms(90), ms(290)));
        assert_eq!(rtt.rto(2), ms(1160));
        assert_eq!(rtt.rto(40), Span::from_secs(120));
    }

    #[test]
    fn the_minimum_bounds_rfc_6298_but_is_added_by_linux() {
        let mut rfc =
            RttEstimator::new(&Config { rto: RtoRule::Rfc6298, min_rto: Span::from_secs(1), ..Config::default() });
        let mut linux = RttEstimator::new(&Config::default());
        for i in 0..200 {
            rfc.sample(ms(50), i, i);
            linux.sample(ms(50), i, i);
        }
        assert_eq!(rfc.rto(0), Span::from_secs(1));
        assert_eq!(linux.rto(0), ms(250));
    }

    #[test]
    fn linux_raises_the_variation_at_once_and_lowers_it_by_a_quarter_a_round_trip() {
        let mut rtt = RttEstimator::new(&Config::default());
        rtt.sample(ms(100), 0, 10);
        for _ in 0..100 {
            rtt.sample(ms(100), 5, 10);
        }
        // The deviation has decayed to nothing; the floor of 200 ms remains.
        assert_eq!(rtt.rto(0), ms(300));
        rtt.sample(ms(1300), 5, 10);
        // SRTT = 100 + 1200/8 = 250; deviation4 = 1200 = variation at once.
        assert!(rtt.rto(0) >= ms(1449) && rtt.rto(0) <= ms(1451), "{}", rtt.rto(0));
        // The round ends: its peak was 1200, so nothing falls yet, and a new peak starts at 200 ms.
        rtt.sample(rtt.srtt(), 11, 20);
        assert!(rtt.rto(0) >= ms(1449));
        // Next round: deviation4 1200*3/4*3/4 = 675 is the peak, variation = 1200 - (1200 - 675)/4 = 1068.75.
        rtt.sample(rtt.srtt(), 21, 30);
        let rto = rtt.rto(0);
        assert!(rto > ms(1317) && rto < ms(1320), "{rto}");
        // A falling RTT raises the deviation at an eighth of the speed: far below the symmetric 250 - 10 = 240 ms.
        let before = rtt.deviation4;
        rtt.sample(ms(0), 22, 30);
        assert!(rtt.deviation4 <= before + ms(250).nanos() / 8);
    }
}
