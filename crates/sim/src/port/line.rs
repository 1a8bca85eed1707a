use super::Wire;
use sojourn_measure::{Level, LossRuns, Sampled};
use sojourn_units::{Instant, Span};
use std::collections::VecDeque;

/// A tail-drop FIFO in front of a link of constant rate, computed instead of simulated.
///
/// In a FIFO the instant at which a packet starts is known when it arrives: when the link has sent what came
/// before. So a packet costs no event here, and the queue length at an arrival is the number of starts still
/// to come. Exactly `pfifo`; arrivals must come in the order of time.
///
/// Links that hardly ever queue are many, so what a packet that need not wait touches is kept small.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    wire: Wire,
    pub busy_until: Instant,
    pub delay: Span,
    pub overhead: u32,
    limit: u32,
    /// Packets that have not started, as far as it has been looked.
    waiting: u32,
    pub packets: u64,
    pub bytes: u64,
    /// Time spent sending.
    pub busy: Span,
    pub queue: Box<LineQueue>,
}

/// What only a packet that waits or is dropped touches.
#[derive(Clone, Debug, Default)]
pub(crate) struct LineQueue {
    /// When each waiting packet will start.
    starts: VecDeque<Instant>,
    pub level: Level,
    /// Of packets that waited.
    pub sojourn: Sampled,
    pub losses: LossRuns,
    pub dropped_packets: u64,
    pub dropped_bytes: u64,
    /// Counters when the measurement began: packets and bytes arrived, packets and bytes dropped.
    pub before: [u64; 4],
}

impl Line {
    pub fn new(wire: Wire, delay: Span, overhead: u32, limit: u32) -> Self {
        Self {
            wire,
            busy_until: Instant::ZERO,
            delay,
            overhead,
            limit,
            waiting: 0,
            packets: 0,
            bytes: 0,
            busy: Span::ZERO,
            queue: Box::default(),
        }
    }

    /// A packet of `bytes` on the wire arrives at `now`: the instant at which it reaches the far end, or `None` when dropped.
    #[inline]
    pub fn enter(&mut self, now: Instant, bytes: u32) -> Option<Instant> {
        let serial = self.packets;
        self.packets += 1;
        self.bytes += u64::from(bytes);
        let mut start = now;
        if self.busy_until > now {
            if !self.wait(now, bytes, serial) {
                return None;
            }
            start = self.busy_until;
        }
        let time = self.wire.take(bytes);
        self.busy_until = start + time;
        self.busy += time;
        Some(self.busy_until + self.delay)
    }

    /// A packet finds the link busy: it waits, or false when it is dropped.
    #[inline(never)]
    fn wait(&mut self, now: Instant, bytes: u32, serial: u64) -> bool {
        self.settle(now);
        if self.waiting >= self.limit {
            self.queue.dropped_packets += 1;
            self.queue.dropped_bytes += u64::from(bytes);
            self.queue.losses.add(serial);
            return false;
        }
        self.waiting += 1;
        self.queue.starts.push_back(self.busy_until);
        self.queue.level.up(now);
        self.queue.sojourn.add(self.busy_until - now);
        true
    }

    /// Counts the packets that have started by `now`.
    pub fn settle(&mut self, now: Instant) {
        while let Some(start) = self.queue.starts.front().copied().filter(|start| *start <= now) {
            self.queue.starts.pop_front();
            self.queue.level.down(start);
            self.waiting -= 1;
        }
    }

    fn counters(&self) -> [u64; 4] {
        [self.packets, self.bytes, self.queue.dropped_packets, self.queue.dropped_bytes]
    }

    /// Begins the measurement; a transmission under way counts from here on.
    pub fn restart(&mut self, now: Instant) {
        self.settle(now);
        self.queue.level.restart(now);
        self.queue.sojourn.clear();
        self.queue.losses.restart();
        self.busy = self.busy_until.since(now);
        self.queue.before = self.counters();
    }

    /// Ends the measurement: a transmission under way counts up to here.
    pub fn finish(&mut self, now: Instant) {
        self.settle(now);
        self.queue.level.settle(now);
        self.busy = self.busy.saturating_sub(self.busy_until.since(now));
    }

    /// Packets and bytes arrived, packets and bytes dropped since the measurement began.
    pub fn counted(&self) -> [u64; 4] {
        let now = self.counters();
        std::array::from_fn(|i| now[i] - self.queue.before[i])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_units::BitRate;

    #[test]
    fn a_burst_waits_in_line_and_the_rest_is_dropped() {
        // 1000 B at 8 Mbit/s take 1 ms. Four at once with room for two: starts 0, 1, 2 ms, the fourth is dropped.
        let mut line = Line::new(Wire::new(BitRate::from_bit_s(8_000_000)), Span::from_millis(10), 0, 2);
        let ms = |n: u64| Instant::ZERO + Span::from_millis(n);
        let arrivals: Vec<_> = (0..4).map(|_| line.enter(ms(0), 1000)).collect();
        assert_eq!(arrivals, [Some(ms(11)), Some(ms(12)), Some(ms(13)), None]);
        // At 1 ms the second starts, so there is room again: behind the third, which starts at 2 ms.
        assert_eq!(line.enter(ms(1), 1000), Some(ms(14)));
        line.finish(ms(4));
        // 2 waiting in [0,2), 1 in [2,3), 0 in [3,4): mean 5/4.
        assert_eq!(line.queue.level.mean(), Some(1.25));
        assert_eq!(line.counted(), [5, 5000, 1, 1000]);
        assert_eq!(line.busy, Span::from_millis(4));
    }
}
