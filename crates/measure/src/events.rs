//! Loss events: all losses within one round-trip time of the first are one event (RFC 5348, section 5.2).

use sojourn_units::{Instant, Span};

/// The loss events of one flow, and the loss intervals between them: packets sent from the start of one event to the
/// start of the next (RFC 5348, section 5.3).
#[derive(Clone, Copy, Debug, Default)]
pub struct LossEvents {
    count: u64,
    until: Instant,
    first: u32,
    last: u32,
}

impl LossEvents {
    /// The flow's packet number `ordinal` is lost at `at`, when a round trip takes `rtt`.
    pub fn lost(&mut self, at: Instant, ordinal: u32, rtt: Span) {
        if self.count > 0 && at <= self.until {
            return;
        }
        if self.count == 0 {
            self.first = ordinal;
        }
        (self.last, self.until) = (ordinal, at + rtt);
        self.count += 1;
    }

    /// Packets in all loss intervals, and their number: one less than the events.
    #[must_use]
    pub fn intervals(&self) -> (u64, u64) {
        (u64::from(self.last.saturating_sub(self.first)), self.count.saturating_sub(1))
    }
}

/// Loss synchronisation: how many of several flows lose packets in one loss event (RFC 7928, section 2.4). Here an event
/// begins with a loss of any of the flows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Synchronisation {
    events: u64,
    losers: u64,
    until: Instant,
}

impl Synchronisation {
    /// A flow loses a packet at `at`, when its round trip takes `rtt`. `seen` is the flow's own: the last event in which it
    /// has lost, 0 for none.
    pub fn lost(&mut self, at: Instant, rtt: Span, seen: &mut u64) {
        if self.events == 0 || at > self.until {
            self.events += 1;
            self.until = at + rtt;
        }
        if *seen != self.events {
            *seen = self.events;
            self.losers += 1;
        }
    }

    /// Mean share of `flows` that lose in an event; `None` without an event, and of a single flow, whose share is 1.
    #[must_use]
    pub fn share(&self, flows: u64) -> Option<f64> {
        (self.events > 0 && flows > 1).then(|| self.losers as f64 / (self.events as f64 * flows as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Span = Span::from_millis(100);

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn losses_within_a_round_trip_are_one_event() {
        // Events begin at 0, 101 and 400 ms, with packets 10, 30 and 110: intervals of 20 and 80 packets.
        let mut events = LossEvents::default();
        for (ms, ordinal) in [(0, 10), (40, 14), (100, 29), (101, 30), (150, 41), (400, 110), (450, 111)] {
            events.lost(at(ms), ordinal, RTT);
        }
        assert_eq!(events.intervals(), (100, 2));
        let mut single = LossEvents::default();
        assert_eq!(single.intervals(), (0, 0));
        single.lost(at(5), 3, RTT);
        assert_eq!(single.intervals(), (0, 0));
    }

    #[test]
    fn the_share_of_flows_that_lose_together() {
        // Of four flows: a and b in the first event (a twice), c in the second, all in the third: (2 + 1 + 4) / (3 x 4).
        let (mut together, mut seen) = (Synchronisation::default(), [0; 4]);
        let losses = [(0, 0), (10, 1), (99, 0), (200, 2), (400, 0), (401, 1), (402, 2), (500, 3)];
        for (ms, flow) in losses {
            together.lost(at(ms), RTT, &mut seen[flow]);
        }
        assert_eq!(together.share(4), Some(7.0 / 12.0));
        assert_eq!(together.share(1), None);
        assert_eq!(Synchronisation::default().share(4), None);
    }
}
