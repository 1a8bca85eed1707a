//! What Adaptive RED sets by itself (Floyd, Gummadi and Shenker 2001).

/// The thresholds, in packets, and the weight that a link of `c` mean packets a second gets (section 5).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Automatic {
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) w: f64,
}

impl Automatic {
    /// `min_th = max(5, target C / 2)`, `max_th = 3 min_th`, `w = 1 - exp(-1/C)`.
    pub(crate) fn new(c: f64, target_s: f64) -> Self {
        let min = (target_s * c / 2.0).max(5.0);
        let w = if c > 0.0 { -libm::expm1(-1.0 / c) } else { 1.0 };
        Self { min, max: 3.0 * min, w }
    }
}

/// Bounds of max_p (section 4, figure 2).
pub(crate) const LEAST: f64 = 0.01;
/// See [`LEAST`].
pub(crate) const MOST: f64 = 0.5;

/// max_p after an interval (section 4, figure 2): up by `min(alpha, max_p / 4)` when the average is above the
/// middle fifth of the band, down by the factor `beta` when below it.
pub(crate) fn max_p(now: f64, avg: f64, min: f64, max: f64, alpha: f64, beta: f64) -> f64 {
    let (low, high) = (min + 0.4 * (max - min), min + 0.6 * (max - min));
    if avg > high && now <= MOST {
        (now + alpha.min(now / 4.0)).min(MOST)
    } else if avg < low && now >= LEAST {
        (now * beta).max(LEAST)
    } else {
        now
    }
}
