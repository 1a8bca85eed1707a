//! The PI controller of the base probability p', in whole numbers.
//!
//! p' is counted in 2^-70ths and delays in nanoseconds, so that sums do not depend on their order: any number of updates
//! during which no packet comes or goes is made at once, in constant time, and equals the same updates one by one.

use sojourn_units::Span;

/// p' = 1.
const ONE: i128 = 1 << 70;

/// Gains up to this many Hz, and delays up to this many nanoseconds (two years), multiply without overflow.
pub(super) const GAIN_MAX: f64 = 1e7;
const DELAY_MAX: i128 = 1 << 56;

#[derive(Clone, Debug)]
pub(super) struct Controller {
    /// Change of p' per nanosecond of delay.
    alpha: i128,
    beta: i128,
    target: i128,
    period: i128,
    /// p' does not exceed it.
    cap: i128,
    base: i128,
    /// `prevq`: the delay at the last update.
    delay_old: i128,
}

fn nanos(span: Span) -> i128 {
    i128::from(span.nanos()).min(DELAY_MAX)
}

/// `gain` in Hz, at most [`GAIN_MAX`].
fn gain(hz: f64) -> i128 {
    libm::round(hz * (ONE as f64 / 1e9)) as i128
}

/// `first + (first + rise) + ...`, `n` terms of one sign; saturates far beyond any probability.
fn series(n: i128, first: i128, rise: i128) -> i128 {
    let first_and_last = rise.saturating_mul(n - 1).saturating_add(2 * first);
    n.saturating_mul(first_and_last) / 2
}

impl Controller {
    pub fn new(alpha_hz: f64, beta_hz: f64, target: Span, period: Span, cap: f64) -> Self {
        Self {
            alpha: gain(alpha_hz),
            beta: gain(beta_hz),
            target: nanos(target),
            period: nanos(period),
            cap: (libm::round(cap * ONE as f64) as i128).min(ONE),
            base: 0,
            delay_old: 0,
        }
    }

    /// What `old` has learnt.
    pub fn keep(&mut self, old: &Self) {
        (self.base, self.delay_old) = (old.base.min(self.cap), old.delay_old);
    }

    /// Line 3 of the RFC's `dualpi2_update`.
    fn update(&mut self, delay: i128) {
        let step = self.alpha * (delay - self.target) + self.beta * (delay - self.delay_old);
        self.base = (self.base + step).clamp(0, self.cap);
        self.delay_old = delay;
    }

    /// `n` updates, one every period, without a packet coming or going in between. The first sees `delay`;
    /// a packet that waits has waited a period longer at each that follows, and `None`, nothing waiting, stays none.
    pub fn updates(&mut self, n: u64, delay: Option<Span>) {
        let Some(more) = n.checked_sub(1) else { return };
        let seen = nanos(delay.unwrap_or_default());
        self.update(seen);
        if more == 0 {
            return;
        }
        let more = i128::from(more);
        let growth = if delay.is_some() { self.period } else { 0 };
        // Steps grow by the same amount each time: first those that lower p', bounded by 0, then those that raise it.
        let step = self.alpha * (seen + growth - self.target) + self.beta * growth;
        let rise = self.alpha * growth;
        let falls = match (step < 0, rise) {
            (false, _) => 0,
            (true, 0) => more,
            (true, rise) => ((rise - step) / rise).min(more),
        };
        self.base = self.base.saturating_add(series(falls, step, rise)).max(0);
        let rises = series(more - falls, step + falls * rise, rise);
        self.base = self.base.saturating_add(rises).min(self.cap);
        self.delay_old = more.saturating_mul(growth).saturating_add(seen).min(DELAY_MAX);
    }

    /// p'.
    pub fn base_probability(&self) -> f64 {
        self.base as f64 / ONE as f64
    }

    /// The delay at the last update, in seconds.
    pub fn delay_s(&self) -> f64 {
        self.delay_old as f64 / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::Stream;
    use crate::Random;

    fn rfc() -> Controller {
        Controller::new(0.15, 3.0, Span::from_millis(15), Span::from_millis(15), 1.0)
    }

    fn ms(n: u64) -> Option<Span> {
        Some(Span::from_millis(n))
    }

    #[track_caller]
    fn base(controller: &Controller, expected: f64) {
        let found = controller.base_probability();
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }

    #[test]
    fn integral_and_proportional_gain() {
        let mut pi = rfc();
        // 0.15 (0.025 - 0.015) + 3 (0.025 - 0) = 0.0015 + 0.075.
        pi.updates(1, ms(25));
        base(&pi, 0.0765);
        // 0.15 * 0.010 + 3 * 0: only the integral part is left.
        pi.updates(1, ms(25));
        base(&pi, 0.078);
        // 0.15 (0.005 - 0.015) + 3 (0.005 - 0.025) = -0.0615.
        pi.updates(1, ms(5));
        base(&pi, 0.0165);
        // 0.15 * -0.015 + 3 * -0.005 = -0.01725: bounded by 0.
        pi.updates(1, None);
        base(&pi, 0.0);
        assert_eq!(pi.delay_s(), 0.0);
    }

    #[test]
    fn an_empty_queue_takes_p_down_by_alpha_target_an_update() {
        let mut pi = rfc();
        pi.updates(1, ms(25));
        pi.updates(1, ms(25));
        // 0.078 - 3 * 0.025 - 0.00225 = 0.00075 at the first; bounded by 0 at the second.
        pi.updates(1, None);
        base(&pi, 0.000_75);
        pi.updates(1, None);
        base(&pi, 0.0);
        // From 0.5: ten updates of 0.15 * 0.015.
        pi.base = ONE / 2;
        pi.updates(10, None);
        base(&pi, 0.5 - 10.0 * 0.00225);
    }

    #[test]
    fn a_head_that_waits_on_first_lowers_then_raises_p() {
        let mut pi = Controller::new(1.0, 0.0, Span::from_millis(40), Span::from_millis(10), 1.0);
        pi.base = gain(1e9) / 10;
        // Ages 5, 15, 25, 35, 45, 55 ms: -35 -25 -15 -5 +5 +15 thousandths.
        pi.updates(6, ms(5));
        base(&pi, 0.1 - 0.060);
        assert!((pi.delay_s() - 0.055).abs() < 1e-15);
        // From 0.05 the falling part is bounded by 0 before the rising part begins.
        pi.base = gain(1e9) / 20;
        pi.delay_old = 0;
        pi.updates(6, ms(5));
        base(&pi, 0.020);
    }

    #[test]
    fn any_number_at_once_equals_one_by_one() {
        let mut random = Stream::new(3);
        let mut draw = |n: u64| random.below(n);
        for round in 0..3000_u64 {
            let period = Span::from_micros(1 + draw(50_000));
            let pi = Controller::new(
                draw(1000) as f64 / 1000.0,
                draw(5000) as f64 / 1000.0,
                Span::from_micros(draw(60_000)),
                period,
                if draw(2) == 0 { 1.0 } else { 0.5 },
            );
            let mut pi = Controller { base: i128::from(draw(1 << 40)) << 29, ..pi };
            pi.base = pi.base.min(pi.cap);
            pi.delay_old = nanos(Span::from_micros(draw(40_000)));
            let waiting = round % 3 > 0;
            let first = Span::from_micros(draw(60_000));
            let n = draw(400);
            let mut slow = pi.clone();
            for i in 0..n {
                slow.update(if waiting { nanos(first + period * i) } else { 0 });
            }
            pi.updates(n, waiting.then_some(first));
            assert_eq!((pi.base, pi.delay_old), (slow.base, slow.delay_old), "{pi:?}, {n} updates");
        }
    }

    #[test]
    fn extremes_saturate() {
        let century = Span::from_secs(3_000_000_000);
        let mut pi = Controller::new(GAIN_MAX, GAIN_MAX, Span::ZERO, Span::from_nanos(1), 1.0);
        pi.updates(u64::MAX, Some(century));
        base(&pi, 1.0);
        let mut pi = Controller::new(GAIN_MAX, GAIN_MAX, century, century, 1.0);
        pi.base = ONE;
        pi.updates(u64::MAX, None);
        base(&pi, 0.0);
        pi.updates(u64::MAX, Some(Span::MAX));
        base(&pi, 1.0);
    }
}
