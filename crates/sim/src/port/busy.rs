use sojourn_units::{Instant, Span};

/// Time for which something is taken. A transmission under way counts from the beginning of a measurement, and up to its end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Busy {
    time: Span,
    until: Instant,
}

impl Busy {
    /// Taken from `from` to `until`; what overlaps the last counts once. `from` never lies before an earlier one.
    #[inline]
    pub fn add(&mut self, from: Instant, until: Instant) {
        self.time += until.since(from.max(self.until));
        self.until = self.until.max(until);
    }

    /// As [`Self::add`] of a link, which sends one packet after another: for `span`, until `until`.
    #[inline(always)]
    pub fn extend(&mut self, span: Span, until: Instant) {
        // No longer than a run and a packet.
        self.time = Span::from_nanos(self.time.nanos() + span.nanos());
        self.until = until;
    }

    /// It is taken at `now`.
    pub fn is_at(&self, now: Instant) -> bool {
        self.until > now
    }

    /// Begins the measurement.
    pub fn restart(&mut self, now: Instant) {
        self.time = self.until.since(now);
    }

    /// Time taken since the measurement began, up to `end`, which lies not before the last `from`.
    pub fn total(&self, end: Instant) -> Span {
        self.time.saturating_sub(self.until.since(end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmissions_are_cut_at_both_ends_of_the_measurement() {
        let at = Instant::from_nanos;
        let mut busy = Busy::default();
        busy.add(at(10), at(30));
        busy.restart(at(25));
        // 25 to 30, 40 to 60 once though two overlap, and 90 to 100 of the last.
        busy.add(at(40), at(55));
        busy.add(at(45), at(60));
        busy.extend(Span::from_nanos(40), at(130));
        assert_eq!(busy.total(at(100)), Span::from_nanos(5 + 20 + 10));
    }
}
