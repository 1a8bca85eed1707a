use sojourn_units::{Instant, Span};

/// How far an arrival, and a time without any, moves the average.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weight {
    /// Of one arrival.
    pub(crate) w: f64,
    /// Mean packets that the link sends in a second.
    mean_packets_s: f64,
    /// `ln(1 - w)` times the mean packets that the link sends in a nanosecond; no finite number when w is 1.
    ln_kept_ns: f64,
}

impl Weight {
    pub(crate) fn new(w: f64, mean_packets_s: f64) -> Self {
        Self { w, mean_packets_s, ln_kept_ns: libm::log(1.0 - w) * (mean_packets_s / 1e9) }
    }

    /// `(1 - w)^m`: what an idle time leaves of the average, m its length in transmission times of a mean packet.
    #[inline]
    fn left_by(&self, idle: Span) -> f64 {
        // Signed, because that converts in one instruction; 292 years without a packet are outside the series' range.
        let x = idle.nanos() as i64 as f64 * self.ln_kept_ns;
        if (-SERIES_RANGE..=0.0).contains(&x) {
            exp_series(x)
        } else if (-256.0 * SERIES_RANGE..=0.0).contains(&x) {
            // A queue of fair queueing idles for longer: the eighth square of the 256th part, to 256 times the rounding.
            (0..8).fold(exp_series(x / 256.0), |y, _| y * y)
        } else {
            self.left_by_long(idle)
        }
    }

    #[cold]
    #[inline(never)]
    fn left_by_long(&self, idle: Span) -> f64 {
        libm::pow(1.0 - self.w, idle.seconds() * self.mean_packets_s)
    }
}

/// Up to here the terms that [`exp_series`] leaves out are below 3e-17.
const SERIES_RANGE: f64 = 1.0 / 32.0;

/// `exp(x)` for a small x: the power series up to x^7, in the order that waits least for results.
#[inline]
fn exp_series(x: f64) -> f64 {
    let x2 = x * x;
    let (low, high) = ((1.0 + x) + x2 * (1.0 / 2.0 + x * (1.0 / 6.0)), 1.0 / 24.0 + x * (1.0 / 120.0));
    low + (x2 * x2) * (high + x2 * (1.0 / 720.0 + x * (1.0 / 5040.0)))
}

/// The exponentially weighted average of the queue length, with decay while the link is idle.
///
/// Its unit is the caller's: packets or bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Average {
    avg: f64,
    /// Since when the link has had nothing to send, and up to when the decay has been taken.
    idle_since: Option<Instant>,
}

impl Average {
    #[inline]
    pub(crate) fn get(&self) -> f64 {
        self.avg
    }

    pub(crate) fn set(&mut self, avg: f64) {
        self.avg = avg;
    }

    /// The average as it stands at `at`: decayed while idle.
    #[inline]
    pub(crate) fn at(&self, at: Instant, weight: &Weight) -> f64 {
        match self.idle_since {
            Some(since) => self.avg * weight.left_by(at.since(since)),
            None => self.avg,
        }
    }

    /// An arrival finds `queued` in the queue (Floyd and Jacobson 1993, figure 2, "calculate the new average queue size").
    #[inline(always)]
    pub(crate) fn arrival(&mut self, now: Instant, queued: u64, weight: &Weight) {
        if queued == 0 && self.idle_since.is_some() {
            self.decay(now, weight);
        } else {
            self.idle_since = None;
            self.sample(queued, weight.w);
        }
    }

    /// Takes the idle time up to `now`.
    #[inline(never)]
    fn decay(&mut self, now: Instant, weight: &Weight) {
        self.avg = self.at(now, weight);
        self.idle_since = Some(now);
    }

    /// `avg <- (1 - w) avg + w q`, also for algorithms that average on departures too.
    #[inline(always)]
    pub(crate) fn sample(&mut self, queued: u64, w: f64) {
        // Signed, because that converts in one instruction; no memory holds 2^63 bytes.
        self.avg += w * (queued as i64 as f64 - self.avg);
    }

    /// The link asked for a packet at `now`, and got one or not.
    #[inline]
    pub(crate) fn departure(&mut self, now: Instant, got_one: bool) {
        self.idle_since = if got_one { None } else { self.idle_since.or(Some(now)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_and_the_power_agree() {
        // x = -1/32 is reached after 15.6 mean packets at w = 0.002 and after half of one at w = 0.06.
        for w in [1e-9, 0.0004, 0.002, 0.02, 0.06, 0.5, 0.999, 1.0] {
            for rate in [0.0, 0.3, 2500.0, 1e6] {
                let weight = Weight::new(w, rate);
                for idle_ns in [0, 1, 1000, 400_000, 3_000_000, 6_300_000, 20_000_000, 1_000_000_000, 1 << 40, u64::MAX]
                {
                    let expected = libm::pow(1.0 - w, idle_ns as f64 / 1e9 * rate);
                    let left = weight.left_by(Span::from_nanos(idle_ns));
                    assert!((left - expected).abs() <= 3e-14, "{w} {rate} {idle_ns}: {left} {expected}");
                }
            }
        }
    }
}
