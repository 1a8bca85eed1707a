use sojourn_units::{Instant, Span};

/// The nominal instants of a periodic update: whole multiples of `period` from the start of time.
///
/// They are taken lazily, on the next packet event; nothing changes in a queue between events,
/// so the result equals a timer's. A nominal instant equal to an event comes before the event.
#[derive(Clone, Debug)]
pub(crate) struct Ticks {
    period: Span,
    /// `None` before the first event; then the first nominal instant not yet taken.
    next: Option<Instant>,
}

impl Ticks {
    /// Nothing taken; a period of zero counts as one nanosecond.
    pub(crate) fn new(period: Span) -> Self {
        Self {
            period: period.max(Span::from_nanos(1)),
            next: None,
        }
    }

    /// The next nominal instant up to and including `now`, which is then taken.
    pub(crate) fn take(&mut self, now: Instant) -> Option<Instant> {
        let due = self.next.unwrap_or_else(|| self.at_or_after(now));
        if due > now {
            self.next = Some(due);
            return None;
        }
        // At the end of time there is no further instant.
        self.next = Some(due + self.period);
        (due < Instant::NEVER).then_some(due)
    }

    /// How many are due up to and including `now`.
    pub(crate) fn due(&self, now: Instant) -> u64 {
        let next = self.next.unwrap_or_else(|| self.at_or_after(now));
        if next > now {
            0
        } else {
            now.since(next).nanos() / self.period.nanos() + 1
        }
    }

    /// Forgets the earliest of those due, so that at most `keep` are left.
    pub(crate) fn skip_to_last(&mut self, now: Instant, keep: u64) {
        let surplus = self.due(now).saturating_sub(keep);
        if surplus > 0 {
            let next = self.next.unwrap_or_else(|| self.at_or_after(now));
            self.next = Some(next + self.period * surplus);
        }
    }

    fn at_or_after(&self, now: Instant) -> Instant {
        Instant::from_nanos(
            now.nanos()
                .div_ceil(self.period.nanos())
                .saturating_mul(self.period.nanos()),
        )
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

    #[test]
    fn multiples_of_the_period_up_to_and_including_now() {
        let mut ticks = Ticks::new(Span::from_millis(15));
        // First event at 20 ms: earlier instants found nothing to update. 30 is next; 45 equals the event and comes first.
        assert_eq!(all(&mut ticks, ms(20)), []);
        assert_eq!(all(&mut ticks, ms(45)), [ms(30), ms(45)]);
        assert_eq!(all(&mut ticks, ms(45)), []);
        assert_eq!(all(&mut ticks, ms(59)), []);
        assert_eq!(all(&mut ticks, ms(60)), [ms(60)]);
    }

    #[test]
    fn a_first_event_on_a_nominal_instant_takes_it() {
        assert_eq!(all(&mut Ticks::new(Span::from_millis(15)), ms(0)), [ms(0)]);
        assert_eq!(
            all(&mut Ticks::new(Span::from_millis(15)), ms(30)),
            [ms(30)]
        );
    }

    #[test]
    fn skipping_keeps_the_last() {
        let mut ticks = Ticks::new(Span::from_millis(10));
        assert_eq!(ticks.take(ms(0)), Some(ms(0)));
        // 10, 20, ..., 100 are due: ten of them; the last two are 90 and 100.
        assert_eq!(ticks.due(ms(105)), 10);
        ticks.skip_to_last(ms(105), 2);
        assert_eq!(all(&mut ticks, ms(105)), [ms(90), ms(100)]);
        ticks.skip_to_last(ms(105), 2);
        assert_eq!(ticks.due(ms(105)), 0);
    }

    #[test]
    fn the_end_of_time_ends() {
        let mut ticks = Ticks::new(Span::from_secs(1));
        ticks.skip_to_last(Instant::NEVER, 1);
        assert!(all(&mut ticks, Instant::NEVER).len() <= 1);
    }
}
