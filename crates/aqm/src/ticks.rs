use sojourn_units::{Instant, Span};

/// The nominal instants of a periodic update: whole multiples of `period` from the start of time, after the first arrival.
///
/// They are taken lazily, on the next packet event; nothing changes in a queue between events, so the result
/// equals a timer's. A nominal instant equal to an event comes before the event. Starting with the first
/// arrival, and not with the first question, keeps a probe that looks at an unused queue from changing it.
#[derive(Clone, Debug)]
pub struct Ticks {
    period: Span,
    /// The first nominal instant not yet taken; the end of time, which is none, before the start.
    next: Instant,
}

impl Ticks {
    /// Not started; a period of zero counts as one nanosecond.
    #[must_use]
    pub fn new(period: Span) -> Self {
        Self { period: period.max(Span::from_nanos(1)), next: Instant::NEVER }
    }

    /// Further apart or closer from the next one on.
    #[must_use]
    pub fn every(self, period: Span) -> Self {
        Self { next: self.next, ..Self::new(period) }
    }

    /// A packet arrives at `now`: the first one starts the instants that follow it.
    #[inline]
    pub fn start(&mut self, now: Instant) {
        if self.next == Instant::NEVER {
            self.begin(now);
        }
    }

    #[cold]
    fn begin(&mut self, now: Instant) {
        let whole = now.nanos() / self.period.nanos();
        self.next = Instant::ZERO + self.period * whole + self.period;
    }

    /// True when at least one instant is due up to and including `now`, before the end of time.
    #[inline]
    #[must_use]
    pub fn is_due(&self, now: Instant) -> bool {
        self.next <= now
    }

    /// The next nominal instant up to and including `now`, which is then taken.
    #[inline]
    pub fn take(&mut self, now: Instant) -> Option<Instant> {
        let due = self.next;
        if due > now || due == Instant::NEVER {
            return None;
        }
        self.next = due + self.period;
        Some(due)
    }

    /// How many are due up to and including `now`.
    #[inline]
    #[must_use]
    pub fn due(&self, now: Instant) -> u64 {
        if self.next > now || self.next == Instant::NEVER {
            return 0;
        }
        now.since(self.next).nanos() / self.period.nanos() + 1
    }

    /// True when more than `n` are due up to and including `now`; told without a division.
    #[inline]
    #[must_use]
    pub fn is_late(&self, now: Instant, n: u64) -> bool {
        self.next <= now && now.since(self.next) >= self.period * n
    }

    /// Takes all that are due up to and including `now`, and says how many.
    #[inline]
    pub fn take_all(&mut self, now: Instant) -> u64 {
        if self.next > now || self.next == Instant::NEVER {
            return 0;
        }
        let late = now.since(self.next);
        // One, mostly, which takes no division.
        let due = if late < self.period { 1 } else { late.nanos() / self.period.nanos() + 1 };
        self.next += self.period * due;
        due
    }

    /// Forgets the earliest of those due, so that at most `keep` are left.
    #[inline]
    pub fn skip_to_last(&mut self, now: Instant, keep: u64) {
        // The first look is the shorter one.
        if keep > 0 && now.since(self.next) < self.period || !self.is_late(now, keep) {
            return;
        }
        let surplus = self.due(now).saturating_sub(keep);
        self.next += self.period * surplus;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Span::from_millis(n)
    }

    fn all(ticks: &mut Ticks, now: Instant) -> Vec<Instant> {
        core::iter::from_fn(|| ticks.take(now)).collect()
    }

    fn started(period_ms: u64, at: Instant) -> Ticks {
        let mut ticks = Ticks::new(Span::from_millis(period_ms));
        ticks.start(at);
        ticks
    }

    #[test]
    fn multiples_of_the_period_up_to_and_including_now() {
        let mut ticks = started(15, ms(20));
        assert_eq!(all(&mut ticks, ms(29)), []);
        assert_eq!(all(&mut ticks, ms(45)), [ms(30), ms(45)]);
        // A later arrival does not start it again.
        ticks.start(ms(45));
        assert_eq!(all(&mut ticks, ms(59)), []);
        assert_eq!(all(&mut ticks, ms(60)), [ms(60)]);
    }

    #[test]
    fn nothing_is_due_before_the_first_arrival_nor_at_it() {
        let mut ticks = Ticks::new(Span::from_millis(15));
        assert_eq!(all(&mut ticks, ms(1000)), []);
        assert_eq!(ticks.due(ms(1000)), 0);
        assert_eq!(all(&mut started(15, ms(0)), ms(15)), [ms(15)]);
        assert_eq!(all(&mut started(15, ms(30)), ms(30)), []);
    }

    #[test]
    fn skipping_keeps_the_last() {
        let mut ticks = started(10, ms(3));
        // 10, 20, ..., 100 are due: ten of them; the last two are 90 and 100.
        assert_eq!(ticks.due(ms(105)), 10);
        ticks.skip_to_last(ms(105), 2);
        assert_eq!(all(&mut ticks, ms(105)), [ms(90), ms(100)]);
        ticks.skip_to_last(ms(105), 2);
        assert_eq!(ticks.due(ms(105)), 0);
    }

    #[test]
    fn skipping_leaves_as_many_as_are_kept() {
        // 10 to 40 are due at 40 and at 49: of four, four and three are kept.
        for (keep, first) in [(5, 10), (4, 10), (3, 20), (0, 50)] {
            for now in [40, 49] {
                let mut ticks = started(10, ms(3));
                ticks.skip_to_last(ms(now), keep);
                assert_eq!(ticks.next, ms(first), "{keep} {now}");
            }
        }
    }

    #[test]
    fn all_are_taken_at_once() {
        let mut ticks = started(10, ms(3));
        // 10, 20, ..., 100.
        assert_eq!((ticks.take_all(ms(105)), ticks.take_all(ms(105)), ticks.take_all(ms(110))), (10, 0, 1));
        assert_eq!(all(&mut ticks, ms(120)), [ms(120)]);
        assert_eq!(Ticks::new(Span::from_millis(10)).take_all(ms(100)), 0);
    }

    #[test]
    fn the_end_of_time_ends() {
        let mut ticks = started(1000, ms(0));
        ticks.skip_to_last(Instant::NEVER, 2);
        assert!(all(&mut ticks, Instant::NEVER).len() <= 2);
        assert_eq!(all(&mut started(1000, Instant::NEVER), Instant::NEVER), []);
    }
}
