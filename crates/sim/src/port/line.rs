use crate::engine::Lane;
use sojourn_measure::{Level, LossRuns, Sampled};
use sojourn_units::{Bytes, Instant, Span, Wire};

/// A tail-drop FIFO in front of a link of constant rate, computed instead of simulated.
///
/// In a FIFO the instant at which a packet starts is known when it arrives: when the link has sent what came
/// before. So a packet costs no event here, and the queue length at an arrival is the number of starts still
/// to come. Exactly `pfifo`; arrivals must come in the order of time.
///
/// Links that hardly ever queue are many, so what a packet that need not wait touches is one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct Line {
    wire: Wire,
    /// The latest arrivals, all of one size, which are not counted in the queue yet.
    alike: u64,
    pub busy_until: Instant,
    pub delay: Span,
}

const _: () = assert!(size_of::<Line>() == 64);

/// What only a packet that waits, is dropped or has another size than the one before touches.
#[derive(Clone, Debug)]
pub(crate) struct LineQueue {
    limit: u32,
    /// Packets that have arrived and their bytes, but those that the line counts.
    arrived: [u64; 2],
    /// When the measurement began.
    pub since: Instant,
    /// Packets that had been sent then, and time spent sending.
    sent_before: u64,
    busy_before: Span,
    /// From the first packet that waits on.
    used: Option<Box<Used>>,
    /// From the first packet on that comes from elsewhere than a host or one port.
    pub approach: Option<Box<Approach>>,
}

/// What is on its way to a line.
#[derive(Clone, Debug)]
pub(crate) struct Approach {
    pub pending: Lane<u32>,
    /// When an event will look at it; `NEVER` when none will.
    pub wake_at: Instant,
    /// What will be sent later arrives no sooner than this from now, but for a nanosecond: what arrives before that goes in at once.
    pub ahead: Span,
    /// Packets that arrive by an event of their own.
    pub apart: u32,
}

impl Approach {
    /// Nothing is on its way.
    pub fn new(ahead: Span) -> Self {
        Self { pending: Lane::default(), wake_at: Instant::NEVER, ahead, apart: 0 }
    }
}

/// A queue in which packets have waited.
#[derive(Clone, Debug, Default)]
struct Used {
    /// When each waiting packet will start, as far as it has been looked, and when it arrived.
    starts: Lane<Instant>,
    level: Level,
    /// Of packets that have waited and started.
    sojourn: Sampled,
    losses: LossRuns,
    dropped_packets: u64,
    dropped_bytes: u64,
    /// Packets that had been dropped when the measurement began.
    dropped_before: u64,
}

impl LineQueue {
    /// An empty queue for `limit` packets, one at least.
    pub fn new(limit: u32) -> Self {
        Self {
            limit,
            arrived: [0; 2],
            since: Instant::ZERO,
            sent_before: 0,
            busy_before: Span::ZERO,
            used: None,
            approach: None,
        }
    }

    /// The first packet waits.
    #[cold]
    #[inline(never)]
    fn begin(&mut self) {
        let mut used = Box::<Used>::default();
        used.level.restart(self.since);
        self.used = Some(used);
    }

    /// Packets waiting over time, from the beginning of the measurement to `end`.
    pub fn level(&self, end: Instant) -> Level {
        let mut level = Level::default();
        match &self.used {
            Some(used) => level = used.level.clone(),
            None => level.restart(self.since),
        }
        level.settle(end);
        level
    }

    /// Sojourn times of packets that have waited and were sent.
    pub fn sojourn(&self) -> Sampled {
        self.used.as_ref().map_or_else(Sampled::default, |used| used.sojourn.clone())
    }

    /// Packets lost, and runs of losses.
    pub fn losses(&self) -> (u64, u64) {
        self.used.as_ref().map_or((0, 0), |used| (used.losses.lost(), used.losses.runs()))
    }

    fn dropped(&self) -> [u64; 2] {
        self.used.as_ref().map_or([0; 2], |used| [used.dropped_packets, used.dropped_bytes])
    }

    /// A packet finds the link busy until `start`: it waits, or false when it is dropped.
    #[inline(always)]
    fn wait(&mut self, now: Instant, start: Instant, bytes: u32, serial: u64) -> bool {
        if self.used.is_none() {
            self.begin();
        }
        let Some(used) = &mut self.used else { return false };
        if let Some((started, before)) = used.starts.replace_only(now, start, now) {
            used.level.down_and_up(started, now);
            used.sojourn.add(started - before);
        } else {
            used.settle(now);
            if used.starts.len() >= self.limit as usize {
                used.lose(bytes, serial);
                return false;
            }
            used.starts.push(start, now);
            used.level.up(now);
        }
        true
    }
}

impl Used {
    /// A packet is dropped.
    #[cold]
    #[inline(never)]
    fn lose(&mut self, bytes: u32, serial: u64) {
        self.dropped_packets += 1;
        self.dropped_bytes += u64::from(bytes);
        self.losses.add(serial);
    }

    /// Counts the packets that have started by `now`.
    #[inline(always)]
    fn settle(&mut self, now: Instant) {
        while let Some((start, arrived)) = self.starts.pop_until(now) {
            self.level.down(start);
            self.sojourn.add(start - arrived);
        }
    }
}

impl Line {
    pub fn new(wire: Wire, delay: Span) -> Self {
        Self { wire, busy_until: Instant::ZERO, delay, alike: 0 }
    }

    /// The least time that a packet of `bytes` takes to the far end.
    pub fn least(&self, bytes: u64) -> Span {
        Wire::new(self.wire.rate(), Bytes::ZERO).taken(bytes + u64::from(self.wire.overhead())) + self.delay
    }

    /// A packet of `bytes` arrives at `now`: the instant at which it reaches the far end, or `None` when dropped. The queue
    /// of this line is the one at `place`; what need not wait does not touch it.
    // A slice would be read, pointer and length, before it is known whether it is needed.
    #[allow(clippy::ptr_arg)]
    #[inline(always)]
    pub fn enter(&mut self, queues: &mut Vec<LineQueue>, place: u32, now: Instant, bytes: u32) -> Option<Instant> {
        let framed = bytes + self.wire.overhead();
        if framed != self.wire.bytes() {
            self.resize(&mut queues[place as usize], framed);
        }
        self.alike += 1;
        if self.busy_until > now {
            let at = self.enter_busy(&mut queues[place as usize], now);
            return (at != Instant::NEVER).then_some(at);
        }
        // Packets enter before the end of the run, and nothing waits.
        self.busy_until = now.later(self.wire.take_alike());
        Some(self.busy_until.later(self.delay))
    }

    /// As [`Line::enter`], while another packet is being sent; `NEVER` when this one is dropped.
    // No `Option`, which the caller would look into where the line is free, too.
    #[inline(never)]
    fn enter_busy(&mut self, queue: &mut LineQueue, now: Instant) -> Instant {
        let start = self.busy_until;
        if !queue.wait(now, start, self.wire.bytes(), queue.arrived[0] + self.alike - 1) {
            return Instant::NEVER;
        }
        self.busy_until = start + self.wire.take_alike();
        self.busy_until + self.delay
    }

    /// Packets are of another size from now on, framing included: those before are counted.
    #[inline(never)]
    fn resize(&mut self, queue: &mut LineQueue, framed: u32) {
        queue.arrived = self.arrived(queue);
        self.alike = 0;
        self.wire.resize(framed);
    }

    /// Packets that have arrived, and their bytes.
    fn arrived(&self, queue: &LineQueue) -> [u64; 2] {
        let [packets, bytes] = queue.arrived;
        [packets + self.alike, bytes + self.alike * u64::from(self.wire.bytes())]
    }

    /// Begins the measurement at `now`, before what happens at this instant: all packets that arrived before have entered, and
    /// no others.
    pub fn restart(&mut self, queue: &mut LineQueue, now: Instant) {
        if let Some(used) = &mut queue.used {
            used.settle(Instant::from_nanos(now.nanos().saturating_sub(1)));
            used.level.restart(now);
            used.sojourn.clear();
            used.losses.restart();
            used.dropped_before = used.dropped_packets;
        }
        queue.since = now;
        queue.busy_before = self.sending(queue, now);
        queue.sent_before = self.sent(queue);
    }

    /// Ends the measurement at `now`, after what happens at this instant: all packets that arrived up to then have entered, and
    /// no others.
    pub fn finish(&mut self, queue: &mut LineQueue, now: Instant) {
        if let Some(used) = &mut queue.used {
            used.settle(now);
        }
    }

    /// Time spent sending up to `now`: what arrived up to then has entered, so that the packets that wait follow each other.
    fn sending(&self, queue: &LineQueue, now: Instant) -> Span {
        let ahead = self.busy_until.since(now);
        self.wire.taken(self.arrived(queue)[1] - queue.dropped()[1]).saturating_sub(ahead)
    }

    /// Packets that have started by the instant up to which `queue` is settled.
    fn sent(&self, queue: &LineQueue) -> u64 {
        let waiting = queue.used.as_ref().map_or(0, |used| used.starts.len() as u64);
        self.arrived(queue)[0] - queue.dropped()[0] - waiting
    }

    /// Time spent sending since the measurement began.
    pub fn busy(&self, queue: &LineQueue, now: Instant) -> Span {
        self.sending(queue, now).saturating_sub(queue.busy_before)
    }

    /// As of a port that runs a discipline: what waits over the line's rate, or the mean sojourn time where that is longer.
    #[cold]
    pub fn queueing_delay(&self, queue: &LineQueue) -> Span {
        let Some(used) = &queue.used else { return Span::ZERO };
        // What waits is sent in one go, from the first start on. Rates below 4 Gbit/s give its bytes exactly.
        let first = used.starts.front().map_or(self.busy_until, |(start, _)| *start);
        let bits = u128::from((self.busy_until - first).nanos()) * u128::from(self.wire.rate().bit_s());
        let bytes = Bytes::new(((bits + 4_000_000_000) / 8_000_000_000) as u64);
        let sojourn = used.sojourn.moments.sum_ns().checked_div(u128::from(self.sent(queue) - queue.sent_before));
        let mean = Span::from_nanos(sojourn.unwrap_or_default() as u64);
        self.wire.rate().time_for(bytes).max(mean)
    }

    /// Packets sent and dropped from the beginning of the measurement to its end.
    pub fn counted(&self, queue: &LineQueue) -> [u64; 2] {
        let dropped_before = queue.used.as_ref().map_or(0, |used| used.dropped_before);
        [self.sent(queue) - queue.sent_before, queue.dropped()[0] - dropped_before]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_units::BitRate;

    #[test]
    fn a_burst_waits_in_line_and_the_rest_is_dropped() {
        // 1000 B at 8 Mbit/s take 1 ms. Four at once with room for two: starts 0, 1, 2 ms, the fourth is dropped.
        let mut line = Line::new(Wire::new(BitRate::from_bit_s(8_000_000), Bytes::new(0)), Span::from_millis(10));
        let mut queue = vec![LineQueue::new(2)];
        let ms = |n: u64| Instant::ZERO + Span::from_millis(n);
        let arrivals: Vec<_> = (0..4).map(|_| line.enter(&mut queue, 0, ms(0), 1000)).collect();
        assert_eq!(arrivals, [Some(ms(11)), Some(ms(12)), Some(ms(13)), None]);
        // At 1 ms the second starts, so there is room again: behind the third, which starts at 2 ms.
        assert_eq!(line.enter(&mut queue, 0, ms(1), 1000), Some(ms(14)));
        line.finish(&mut queue[0], ms(4));
        // 2 waiting in [0,2), 1 in [2,3), 0 in [3,4): mean 5/4.
        assert_eq!(queue[0].level(ms(4)).mean(), Some(1.25));
        // Five entered, one of which was dropped.
        assert_eq!(line.counted(&queue[0]), [4, 1]);
        assert_eq!(line.busy(&queue[0], ms(4)), Span::from_millis(4));
    }

    #[test]
    fn packets_of_every_size_are_counted() {
        // At 8 Mbit/s 1000 B take 1 ms and 500 B 0.5 ms. Two of each, one after another from 0: out at 1, 2, 2.5 and 3 ms.
        let mut line = Line::new(Wire::new(BitRate::from_bit_s(8_000_000), Bytes::new(0)), Span::ZERO);
        let mut queue = vec![LineQueue::new(10)];
        let mut enter = |bytes| line.enter(&mut queue, 0, Instant::ZERO, bytes).map(|at| at.nanos() / 1000);
        assert_eq!([1000, 1000, 500, 500].map(&mut enter), [Some(1000), Some(2000), Some(2500), Some(3000)]);
        // None of the three that wait has started yet, as far as it has been looked.
        assert_eq!(line.counted(&queue[0]), [1, 0]);
        // The measurement begins within a row of one size; then one more of it, and one of another.
        let end = Instant::ZERO + Span::from_millis(3);
        line.restart(&mut queue[0], end);
        for bytes in [500, 1000] {
            line.enter(&mut queue, 0, end, bytes);
        }
        let later = end + Span::from_millis(2);
        line.finish(&mut queue[0], later);
        assert_eq!(line.counted(&queue[0]), [2, 0]);
        assert_eq!(line.busy(&queue[0], later), Span::from_micros(1500));
    }

    #[test]
    fn a_measurement_cuts_through_transmissions() {
        // 1 ms a packet. Four sent back to back from 0; measured from 1.5 ms to 3.25 ms: busy all of the 1.75 ms.
        let mut line = Line::new(Wire::new(BitRate::from_bit_s(8_000_000), Bytes::new(0)), Span::ZERO);
        let mut queue = vec![LineQueue::new(10)];
        for _ in 0..4 {
            line.enter(&mut queue, 0, Instant::ZERO, 1000);
        }
        line.restart(&mut queue[0], Instant::from_nanos(1_500_000));
        let end = Instant::from_nanos(3_250_000);
        line.finish(&mut queue[0], end);
        assert_eq!(line.busy(&queue[0], end), Span::from_micros(1750));
        // Of the starts at 0, 1, 2 and 3 ms two are within it: their packets waited 2 and 3 ms.
        assert_eq!(line.counted(&queue[0]), [2, 0]);
        let sojourn = queue[0].sojourn().moments;
        assert_eq!((sojourn.count(), sojourn.mean_ms()), (2, Some(2.5)));
        // The third waits until 2 ms and the fourth until 3 ms: 2 packets for 0.5 ms, 1 for 1 ms, 0 for 0.25 ms.
        assert_eq!(queue[0].level(end).mean(), Some(2.0 / 1.75));
    }

    #[test]
    fn what_waits_at_the_end_has_not_been_sent() {
        // 1 ms a packet, four at once, measured up to 1.5 ms: two have started, with sojourn times of 0 and 1 ms. What starts at
        // the instant of a beginning is of the later measurement, what starts at that of an end is of it.
        let mut line = Line::new(Wire::new(BitRate::from_bit_s(8_000_000), Bytes::new(0)), Span::ZERO);
        let ms = |n: u64| Instant::ZERO + Span::from_millis(n);
        let mut queue = vec![LineQueue::new(10)];
        (0..4).for_each(|_| assert!(line.enter(&mut queue, 0, ms(0), 1000).is_some()));
        let mut early = queue.clone();
        line.finish(&mut early[0], Instant::from_nanos(1_500_000));
        assert_eq!((line.counted(&early[0]), early[0].sojourn().moments.mean_ms()), ([2, 0], Some(1.0)));
        line.restart(&mut queue[0], ms(2));
        line.finish(&mut queue[0], ms(3));
        assert_eq!((line.counted(&queue[0]), line.busy(&queue[0], ms(3))), ([2, 0], Span::from_millis(1)));
    }
}
