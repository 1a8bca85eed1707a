//! One window of a queue: what Barczyk and Chydzinski (2022, section 2) record of every 2 million packets.

use crate::{Level, LossRuns, Moments, Sampled};
use serde::{Serialize, Serializer};
use sojourn_aqm::Reason;
use sojourn_units::{BitRate, Bytes, Instant, Span};

/// What a packet is, as windows tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// A TCP segment, of data or of acknowledgement.
    Tcp,
    /// A UDP datagram.
    Udp,
    /// ICMP or ICMPv6.
    Icmp,
    /// Anything else.
    Other,
}

impl Class {
    /// All classes, in the order of [`WindowRow::classes`].
    pub const ALL: [Self; 4] = [Self::Tcp, Self::Udp, Self::Icmp, Self::Other];

    /// `tcp`, `udp`, `icmp` or `other`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Icmp => "icmp",
            Self::Other => "other",
        }
    }
}

/// Packets of one class in one window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClassCounts {
    /// Offered to the queue.
    pub arrived: u64,
    /// Their bytes, without framing.
    pub arrived_bytes: u64,
    /// Dropped, for any reason.
    pub dropped: u64,
    /// Marked CE.
    pub marked: u64,
}

/// One closed window. Deviations are of the population; what nothing was seen of is `None`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WindowRow {
    /// Begin, nanoseconds since the host's start of time.
    pub started_ns: u64,
    /// End.
    pub ended_ns: u64,
    /// Packets offered to the queue.
    pub arrived: u64,
    /// Their bytes, without framing.
    pub arrived_bytes: u64,
    /// Packets dropped because the queue was full.
    pub dropped_overflow: u64,
    /// Packets dropped by the algorithm before it was full.
    pub dropped_early: u64,
    /// Packets dropped because of their flow.
    pub dropped_flow: u64,
    /// Packets marked CE.
    pub marked: u64,
    /// Packets that left the queue to be sent.
    pub forwarded: u64,
    /// Bits offered, framing included, over what the capacity could carry in the window; 0 of an empty window.
    pub load: f64,
    /// Size of packets offered, without framing: mean.
    pub mean_size_bytes: Option<f64>,
    /// Its deviation.
    pub std_size_bytes: Option<f64>,
    /// Packets waiting: mean over time.
    pub mean_queue_packets: Option<f64>,
    /// Its deviation over time.
    pub std_queue_packets: Option<f64>,
    /// Packets waiting as arrivals found them, themselves excluded: mean over arrivals. The device of Barczyk and Chydzinski (2022) measures in
    /// every polling cycle (section 4), which begins with reading a packet: this is the nearer of the two to it.
    pub mean_queue_arrivals_packets: Option<f64>,
    /// Its deviation over arrivals.
    pub std_queue_arrivals_packets: Option<f64>,
    /// Packets dropped over packets that left the queue, sent or dropped.
    pub loss_ratio: Option<f64>,
    /// Mean length of a run of losses over that of independent losses ([`crate::burst_ratio`]); `None` without a loss.
    pub burst_ratio: Option<f64>,
    /// Equation 6, `I`; 0 without a loss.
    pub impairment_i: Option<f64>,
    /// Equation 7, `C`: mean queue over time, in packets, and `I`.
    pub impairment_c: Option<f64>,
    /// Sojourn time of packets that left: median, to 0.8 %.
    pub sojourn_p50_s: Option<f64>,
    /// 95 % quantile.
    pub sojourn_p95_s: Option<f64>,
    /// 99 % quantile.
    pub sojourn_p99_s: Option<f64>,
    /// Mean, exact.
    pub sojourn_mean_s: Option<f64>,
    /// One entry a class, in the order of [`Class::ALL`]; by name where serialised.
    #[serde(serialize_with = "by_name")]
    pub classes: [ClassCounts; 4],
}

fn by_name<S: Serializer>(classes: &[ClassCounts; 4], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(Class::ALL.iter().map(|class| class.name()).zip(classes))
}

/// Equation 6 of Barczyk and Chydzinski (2022) with its defaults `Ie = 0` and `R = 4.3` (ITU-T G.107): impairment by losses, from 0 to 95.
#[must_use]
pub fn impairment(loss_ratio: f64, burst_ratio: f64) -> f64 {
    let percent = 100.0 * loss_ratio;
    95.0 * percent / (percent / burst_ratio + 4.3)
}

/// Count, sum and sum of squares of whole numbers.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    sum: u64,
    squares: u128,
}

impl Sums {
    #[inline]
    fn add(&mut self, value: u64) {
        self.sum += value;
        self.squares += u128::from(value) * u128::from(value);
    }

    /// Mean and deviation of `count` numbers.
    fn statistics(&self, count: u64) -> Option<(f64, f64)> {
        if count == 0 {
            return None;
        }
        let n = count as f64;
        let mean = self.sum as f64 / n;
        Some((mean, (self.squares as f64 / n - mean * mean).max(0.0).sqrt()))
    }
}

/// Measures one queue from [`Window::new`] or the last [`Window::close`] on. Allocates up to the high-water marks of
/// queue length and sojourn time, and 16 KiB at the first drop; not again when a window closes.
///
/// A packet counts in the window in which something happens to it: one that is dropped at its dequeue may have arrived in the
/// window before. Ratios are therefore of the packets that leave in the window. Runs of losses end where a window does.
#[derive(Clone, Debug)]
pub struct Window {
    since: Instant,
    overhead: Bytes,
    waiting: Level,
    sojourn: Sampled,
    losses: LossRuns,
    sizes: Sums,
    /// Bytes of framing besides `overhead`.
    padding: u64,
    found: Sums,
    arrived: u64,
    dropped: [u64; 3],
    classes: [ClassCounts; 4],
}

impl Window {
    /// Begins at `now` at a queue in which `waiting` packets wait; each packet has `overhead` of framing on the link.
    #[must_use]
    pub fn new(now: Instant, waiting: u64, overhead: Bytes) -> Self {
        let mut level = Level::new();
        level.set(now, waiting);
        level.restart(now);
        Self {
            since: now,
            overhead,
            waiting: level,
            sojourn: Sampled::default(),
            losses: LossRuns::default(),
            sizes: Sums::default(),
            padding: 0,
            found: Sums::default(),
            arrived: 0,
            dropped: [0; 3],
            classes: [ClassCounts::default(); 4],
        }
    }

    /// A packet of `bytes` without framing is offered to the queue and finds in it what [`Window::waiting`] last said.
    #[inline]
    pub fn arrived(&mut self, bytes: u32, class: Class) {
        let bytes = u64::from(bytes);
        self.arrived += 1;
        self.sizes.add(bytes);
        self.found.add(self.waiting.get());
        let counts = &mut self.classes[class as usize];
        counts.arrived += 1;
        counts.arrived_bytes += bytes;
    }

    /// The packet that was offered last has so many bytes of framing on the link besides.
    #[inline]
    pub fn padded(&mut self, bytes: u32) {
        self.padding += u64::from(bytes);
    }

    /// From `now` on `packets` wait.
    #[inline]
    pub fn waiting(&mut self, now: Instant, packets: u64) {
        self.waiting.set(now, packets);
    }

    /// The packet with number `serial` in the order of arrival, numbered through all windows, is dropped.
    #[inline]
    pub fn dropped(&mut self, serial: u64, why: Reason, class: Class) {
        self.losses.add(serial);
        self.dropped[why as usize] += 1;
        self.classes[class as usize].dropped += 1;
    }

    /// A packet is marked CE.
    #[inline]
    pub fn marked(&mut self, class: Class) {
        self.classes[class as usize].marked += 1;
    }

    /// A packet leaves the queue to be sent, `sojourn` after it was offered.
    #[inline]
    pub fn forwarded(&mut self, sojourn: Span) {
        self.sojourn.add(sojourn);
    }

    /// Packets offered in this window so far: a host closes it at so many.
    #[inline]
    #[must_use]
    pub fn arrivals(&self) -> u64 {
        self.arrived
    }

    /// Ends the window at `now` and begins the next. `capacity`: of the link, by which `load` is taken.
    pub fn close(&mut self, now: Instant, capacity: BitRate) -> WindowRow {
        self.waiting.settle(now);
        let row = self.row(now, capacity);
        self.since = now;
        self.waiting.restart(now);
        self.sojourn.clear();
        self.losses.restart();
        (self.sizes, self.found) = (Sums::default(), Sums::default());
        (self.padding, self.arrived, self.dropped) = (0, 0, [0; 3]);
        self.classes = [ClassCounts::default(); 4];
        row
    }

    fn row(&self, now: Instant, capacity: BitRate) -> WindowRow {
        let arrived = self.arrived;
        let [overflow, early, flow] = self.dropped;
        let dropped = overflow + early + flow;
        let bits = (self.sizes.sum + self.padding + arrived * self.overhead.get()) as f64 * 8.0;
        let room = capacity.bit_s() as f64 * (now - self.since).seconds();
        let left = self.sojourn.moments.count() + dropped;
        let loss_ratio = (left > 0).then(|| dropped as f64 / left as f64);
        let burst_ratio = self.losses.burst_ratio(left);
        let impairment_i = loss_ratio.map(|loss| burst_ratio.map_or(0.0, |burst| impairment(loss, burst)));
        let (sizes, found) = (self.sizes.statistics(arrived), self.found.statistics(arrived));
        let mean_queue_packets = self.waiting.mean();
        let moments: &Moments = &self.sojourn.moments;
        let quantile = |q| self.sojourn.histogram.quantile_ms(q).map(|ms| ms / 1e3);
        WindowRow {
            started_ns: self.since.nanos(),
            ended_ns: now.nanos(),
            arrived,
            arrived_bytes: self.sizes.sum,
            dropped_overflow: overflow,
            dropped_early: early,
            dropped_flow: flow,
            marked: self.classes.iter().map(|class| class.marked).sum(),
            forwarded: moments.count(),
            load: if room > 0.0 { bits / room } else { 0.0 },
            mean_size_bytes: sizes.map(|(mean, _)| mean),
            std_size_bytes: sizes.map(|(_, sd)| sd),
            mean_queue_packets,
            std_queue_packets: self.waiting.sd(),
            mean_queue_arrivals_packets: found.map(|(mean, _)| mean),
            std_queue_arrivals_packets: found.map(|(_, sd)| sd),
            loss_ratio,
            burst_ratio,
            impairment_i,
            impairment_c: mean_queue_packets.zip(impairment_i).map(|(queue, i)| queue + i),
            sojourn_p50_s: quantile(0.5),
            sojourn_p95_s: quantile(0.95),
            sojourn_p99_s: quantile(0.99),
            sojourn_mean_s: moments.mean_ms().map(|ms| ms / 1e3),
            classes: self.classes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Span::from_micros(us)
    }

    fn near(found: Option<f64>, expected: f64) {
        let found = found.unwrap_or(f64::NAN);
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    /// 8 Mbit/s, 100 us of work worth: 1 packet of 80 B and 20 B of framing takes 100 us.
    fn capacity() -> BitRate {
        BitRate::from_bit_s(8_000_000)
    }

    /// Four packets at 0, 0, 100 and 100 us of which the second and third are dropped; the others leave at 100 and 400 us.
    fn fill(window: &mut Window, serial: u64, from: u64) {
        window.arrived(80, Class::Tcp);
        window.waiting(at(from), 1);
        window.arrived(80, Class::Udp);
        window.dropped(serial + 1, Reason::Overflow, Class::Udp);
        window.waiting(at(from + 100), 0);
        window.forwarded(Span::from_micros(100));
        window.arrived(180, Class::Tcp);
        window.dropped(serial + 2, Reason::Early, Class::Tcp);
        window.arrived(60, Class::Icmp);
        window.marked(Class::Icmp);
        window.waiting(at(from + 100), 1);
        window.waiting(at(from + 400), 0);
        window.forwarded(Span::from_micros(300));
    }

    #[test]
    fn a_window_by_hand() {
        let mut window = Window::new(at(0), 0, Bytes::new(20));
        fill(&mut window, 0, 0);
        assert_eq!(window.arrivals(), 4);
        let row = window.close(at(500), capacity());
        assert_eq!((row.started_ns, row.ended_ns), (0, 500_000));
        assert_eq!((row.arrived, row.arrived_bytes, row.forwarded, row.marked), (4, 400, 2, 1));
        assert_eq!((row.dropped_overflow, row.dropped_early, row.dropped_flow), (1, 1, 0));
        // 400 B and 4 * 20 B of framing: 3840 bit of the 4000 that 8 Mbit/s carry in 500 us.
        near(Some(row.load), 0.96);
        // 80, 80, 180, 60: mean 100, squares of differences 400 + 400 + 6400 + 1600 = 8800.
        near(row.mean_size_bytes, 100.0);
        near(row.std_size_bytes, 2200_f64.sqrt());
        // 1 for 400 of 500 us: 0.8, variance 0.8 * 0.2.
        near(row.mean_queue_packets, 0.8);
        near(row.std_queue_packets, 0.4);
        // Arrivals found 0, 1, 0, 0.
        near(row.mean_queue_arrivals_packets, 0.25);
        near(row.std_queue_arrivals_packets, (0.25_f64 * 0.75).sqrt());
        // 2 of 4 lost in one run: mean run 2, independent 1 / (1 - 0.5) = 2.
        near(row.loss_ratio, 0.5);
        near(row.burst_ratio, 1.0);
        // 95 * 50 / (50 / 1 + 4.3).
        near(row.impairment_i, 4750.0 / 54.3);
        near(row.impairment_c, 0.8 + 4750.0 / 54.3);
        near(row.sojourn_mean_s, 200e-6);
        assert!((row.sojourn_p50_s.unwrap_or(0.0) / 100e-6 - 1.0).abs() < 0.008);
        assert!((row.sojourn_p99_s.unwrap_or(0.0) / 300e-6 - 1.0).abs() < 0.008);
        let udp = ClassCounts { arrived: 1, arrived_bytes: 80, dropped: 1, marked: 0 };
        assert_eq!(row.classes[Class::Udp as usize], udp);
        assert_eq!(row.classes[Class::Icmp as usize].marked, 1);
    }

    #[test]
    fn the_next_window_knows_nothing_of_the_last() {
        let mut window = Window::new(at(0), 0, Bytes::new(20));
        fill(&mut window, 0, 0);
        let first = window.close(at(500), capacity());
        fill(&mut window, 4, 500);
        let second = window.close(at(1000), capacity());
        assert_eq!(second, WindowRow { started_ns: 500_000, ended_ns: 1_000_000, ..first });
    }

    #[test]
    fn what_waits_is_carried_over_and_an_idle_window_has_no_ratios() {
        let mut window = Window::new(at(10), 3, Bytes::new(0));
        let row = window.close(at(20), capacity());
        near(row.mean_queue_packets, 3.0);
        assert_eq!((row.load, row.loss_ratio, row.burst_ratio, row.impairment_c), (0.0, None, None, None));
        assert_eq!(window.close(at(20), capacity()).mean_queue_packets, None);
        window.arrived(100, Class::Other);
        let row = window.close(at(30), capacity());
        near(row.mean_queue_arrivals_packets, 3.0);
        // It waits, as the others do: nothing has left.
        assert_eq!((row.loss_ratio, row.impairment_i, row.impairment_c), (None, None, None));
    }

    #[test]
    fn the_impairment_of_table_1() {
        // Table 1, (0.9-0.94], none and d0: C - EX is 53.60 and 47.14 from L and B as printed (3 and 4 digits).
        assert!((impairment(0.0347, 1.872) - 53.60).abs() < 0.1);
        assert!((impairment(0.0292, 1.839) - 47.14).abs() < 0.1);
    }
}
