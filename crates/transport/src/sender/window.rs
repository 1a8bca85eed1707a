//! How the window is used and how it shrinks: reduction within an episode, validation, decay when idle.

use sojourn_units::{Instant, Span};

/// Proportional rate reduction.
///
/// Text: RFC 6937 with the slow-start reduction bound. As Linux (and RFC 9937): the window before the episode stands for
/// RecoverFS, and the extra segment of the bound is granted only to an acknowledgement that makes progress without new loss;
/// the first transmission of the episode is always allowed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prr {
    /// RecoverFS.
    pub prior: u64,
    pub delivered: u64,
    pub out: u64,
}

impl Prr {
    pub fn new(recover_fs: u64) -> Self {
        Self { prior: recover_fs.max(1), delivered: 0, out: 0 }
    }

    pub fn on_sent(&mut self, bytes: u64) {
        self.out += bytes;
    }

    /// What may have been sent in proportion to what was delivered.
    fn share(&self, ssthresh: u64) -> u64 {
        match self.delivered.checked_mul(ssthresh) {
            Some(product) => product.div_ceil(self.prior),
            None => {
                let share = (u128::from(self.delivered) * u128::from(ssthresh)).div_ceil(u128::from(self.prior));
                u64::try_from(share).unwrap_or(u64::MAX)
            }
        }
    }

    /// The window after an acknowledgement that delivered `delivered` bytes; `safe` as above.
    pub fn on_ack(&mut self, delivered: u64, safe: bool, pipe: u64, ssthresh: u64, mss: u64) -> u64 {
        self.on_ack_in(1, delivered, safe, pipe, ssthresh, mss)
    }

    /// The same where the share is rounded up to whole units: Linux's are segments (`tcp_cwnd_reduction`).
    #[inline]
    pub fn on_ack_in(&mut self, unit: u64, delivered: u64, safe: bool, pipe: u64, ssthresh: u64, mss: u64) -> u64 {
        self.delivered += delivered;
        let send = if pipe > ssthresh {
            self.share(ssthresh).checked_next_multiple_of(unit).unwrap_or(u64::MAX).saturating_sub(self.out)
        } else {
            // The reduction bound.
            let bound = self.delivered.saturating_sub(self.out).max(delivered) + if safe { mss } else { 0 };
            bound.min(ssthresh - pipe)
        };
        self.window(pipe, send, mss)
    }

    /// The window that lets `send` bytes out, and a first segment in any case.
    pub fn window(&self, pipe: u64, send: u64, mss: u64) -> u64 {
        pipe + if self.out == 0 { send.max(mss) } else { send }
    }
}

/// Whether the window, or the application, limits the sender (RFC 7661 in Linux's simple form),
/// and the decay of a window that the application leaves unused (RFC 2861).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    limited: bool,
    /// Most outstanding during the present window of data.
    peak: u64,
    /// That window ends when the cumulative acknowledgement reaches this.
    end: u64,
    /// Most outstanding since the window was last full.
    used: u64,
    /// When the window was last full, or decayed.
    full_at: Instant,
    /// Something was sent since the last pause.
    pub sending: bool,
    pub last_sent: Instant,
}

impl Usage {
    /// The sender has sent what it may, so that `flight` is outstanding; `limited` when the window stopped it.
    pub fn observe(&mut self, limited: bool, flight: u64, una: u64, next: u64) {
        // The strongest sign within a window counts.
        if limited || una >= self.end || (!self.limited && flight > self.peak) {
            self.limited = limited;
            self.peak = flight;
            self.end = next;
        }
    }

    /// The window is in use.
    pub fn full(&mut self, now: Instant) {
        self.used = 0;
        self.full_at = now;
    }

    /// Only `flight` of the window is in use. For how long has it not been full?
    pub fn partial(&mut self, now: Instant, flight: u64) -> Span {
        self.used = self.used.max(flight);
        now.since(self.full_at)
    }

    /// May the window grow? In slow start half-used is enough.
    pub fn is_limited(&self, cwnd: u64, ssthresh: u64) -> bool {
        self.limited || (cwnd < 2 * self.peak && cwnd < ssthresh)
    }

    /// The window is full and nothing more may be sent: as [`Usage::observe`] and [`Usage::full`].
    #[inline(always)]
    pub fn fill(&mut self, now: Instant, flight: u64, next: u64) {
        (self.limited, self.peak, self.end) = (true, flight, next);
        self.sending = false;
        self.full(now);
    }

    /// Starts again; returns the most that was outstanding.
    pub fn restart(&mut self, now: Instant) -> u64 {
        self.full_at = now;
        std::mem::take(&mut self.used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    #[test]
    fn prr_sends_in_proportion_then_catches_up() {
        // Window 20, threshold 10: one segment out for two delivered, after the first.
        let mut prr = Prr::new(20 * MSS);
        let mut pipe = 19 * MSS;
        let mut sent = 0;
        for _ in 0..18 {
            pipe -= MSS;
            let cwnd = prr.on_ack(MSS, false, pipe, 10 * MSS, MSS);
            while pipe + MSS <= cwnd {
                pipe += MSS;
                sent += 1;
                prr.on_sent(MSS);
            }
        }
        // 18 delivered * 10/20.
        assert_eq!((sent, pipe), (9, 10 * MSS));
        // In whole segments the first of every two deliveries lets one out.
        let mut prr = Prr::new(20 * MSS);
        prr.on_sent(MSS);
        let mut windows = [0; 4];
        for window in &mut windows {
            *window = prr.on_ack_in(MSS, MSS, false, 15 * MSS, 10 * MSS, MSS) / MSS - 15;
            prr.on_sent(*window * MSS);
        }
        // Shares of 0.5, 1, 1.5 and 2 segments, of which the first one is out.
        assert_eq!(windows, [0, 0, 1, 0]);
        // Half the flight vanished: conservation, plus one on progress.
        let mut prr = Prr::new(20 * MSS);
        prr.on_sent(MSS);
        assert_eq!(prr.on_ack(MSS, false, 4 * MSS, 10 * MSS, MSS), 5 * MSS);
        prr.on_sent(MSS);
        assert_eq!(prr.on_ack(MSS, true, 4 * MSS, 10 * MSS, MSS), 6 * MSS);
        // A first transmission is due whatever the proportion says: 1 * 10/20 of a segment.
        assert_eq!(Prr::new(20 * MSS).on_ack(MSS, false, 15 * MSS, 10 * MSS, MSS), 16 * MSS);
        // Never above the threshold from below.
        assert_eq!(prr.on_ack(20 * MSS, true, 4 * MSS, 10 * MSS, MSS), 10 * MSS);
    }
}
