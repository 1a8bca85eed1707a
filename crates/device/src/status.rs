//! What the packet thread tells the rest of the process, a few times a second.

use crate::port::PortCounters;
use serde::Serialize;
use sojourn_aqm::{link_effects, Counters, Tally};
use sojourn_measure::window::ClassCounts;
use sojourn_measure::Sampled;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Packets and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes, overhead included where a queue counted them.
    pub bytes: u64,
}

impl From<Tally> for Count {
    fn from(tally: Tally) -> Self {
        Self { packets: tally.packets, bytes: tally.bytes }
    }
}

/// A queue's counters. `arrived = forwarded + dropped + backlog`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct QueueCounts {
    /// Offered to the queue.
    pub arrived: Count,
    /// Left it to be sent.
    pub forwarded: Count,
    /// Dropped because the queue was full.
    pub dropped_overflow: Count,
    /// Dropped by the algorithm before it was full.
    pub dropped_early: Count,
    /// Dropped because of their flow.
    pub dropped_flow: Count,
    /// Marked CE here.
    pub marked: Count,
    /// Arrived with CE.
    pub ce_on_arrival: Count,
}

impl From<Counters> for QueueCounts {
    fn from(counters: Counters) -> Self {
        let [overflow, early, flow] = counters.dropped;
        Self {
            arrived: counters.arrived.into(),
            forwarded: counters.forwarded.into(),
            dropped_overflow: overflow.into(),
            dropped_early: early.into(),
            dropped_flow: flow.into(),
            marked: counters.marked.into(),
            ce_on_arrival: counters.ce_on_arrival.into(),
        }
    }
}

/// Times of packets, in seconds; `None` when there was no packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct LiveSojourn {
    /// Packets.
    pub packets: u64,
    /// Mean.
    pub mean_s: Option<f64>,
    /// Median.
    pub p50_s: Option<f64>,
    /// 95 % quantile.
    pub p95_s: Option<f64>,
    /// 99 % quantile.
    pub p99_s: Option<f64>,
    /// Longest, to the 0.8 % of the histogram.
    pub max_s: Option<f64>,
}

impl LiveSojourn {
    /// Of these times.
    #[must_use]
    pub fn of(times: &Sampled) -> Self {
        let quantile = |q| times.histogram.quantile_ms(q).map(|ms| ms / 1e3);
        Self {
            packets: times.moments.count(),
            mean_s: times.moments.mean_ms().map(|ms| ms / 1e3),
            p50_s: quantile(0.5),
            p95_s: quantile(0.95),
            p99_s: quantile(0.99),
            max_s: quantile(1.0),
        }
    }
}

/// Upper bounds of the buckets of [`SojournTotals`], in seconds.
pub const BOUNDS_S: [f64; 16] =
    [1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 1e-1, 2e-1, 5e-1, 1.0];

/// Sojourn times since the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct SojournTotals {
    /// Packets that left.
    pub packets: u64,
    /// Sum, in seconds.
    pub sum_s: f64,
    /// Packets in each bucket of [`BOUNDS_S`], each counted in one, to the 0.8 % of the histogram.
    pub buckets: [u64; BOUNDS_S.len()],
}

impl SojournTotals {
    /// Adds the sojourn times of an interval.
    pub fn add(&mut self, interval: &Sampled) {
        let packets = interval.moments.count();
        let Some(mean_ms) = interval.moments.mean_ms() else { return };
        self.packets += packets;
        self.sum_s += mean_ms / 1e3 * packets as f64;
        let cdf = interval.histogram.cdf_ms();
        let mut before = 0;
        for (bucket, bound_s) in self.buckets.iter_mut().zip(BOUNDS_S) {
            let below = cdf.partition_point(|(ms, _)| *ms <= bound_s * 1e3);
            let fraction = below.checked_sub(1).and_then(|last| cdf.get(last)).map_or(0.0, |(_, fraction)| *fraction);
            let upto = (fraction * packets as f64).round() as u64;
            *bucket += upto - before;
            before = upto;
        }
    }
}

macro_rules! with_counts {
    ({ $($head:tt)* } { $($before:tt)* } { $($after:tt)* } $({
        $key:ident $reverse:ident $value:tt state ($state:ident $stream:literal $count:ident) there $there:tt back $back:tt
        device $device:tt counted ($(#[$counted:meta])*) $($words:tt)*
    })*) => {
        $($head)* {
            $($before)*
            $($(#[$counted])* pub $count: Option<u64>,)*
            $($after)*
        }

        impl DirectionStatus {
            /// What the link has done to frames: the name of each count, and the count.
            pub fn on_link(&self) -> impl Iterator<Item = (&'static str, Option<u64>)> {
                [$((stringify!($count), self.$count)),*].into_iter()
            }
        }
    };
}

link_effects! { with_counts {
    /// One direction.
    #[derive(Clone, Debug, Serialize, ToSchema)]
    pub struct DirectionStatus
} {
    /// `a_to_b` or `b_to_a`.
    #[schema(value_type = String)]
    pub direction: &'static str,
    /// The scheme in force, as tc writes it; `None`: forwarded at once.
    pub scheme: Option<String>,
    /// Its name in schedule or configuration.
    pub label: String,
    /// Slot of the schedule.
    pub slot: Option<u64>,
    /// The shaped rate; `None` without a queue.
    pub rate_bit_s: Option<u64>,
    /// The delay line.
    pub delay_s: f64,
    /// Time that the rate lost because the packet thread came late while frames waited: the machine is too busy.
    pub late_s: f64,
    /// Time for which packets were due and waited because port or link had no room: the way out is slower than the rate, or down.
    pub blocked_s: f64,
    /// Waits now.
    pub backlog: Count,
    /// Frames on the delay line.
    pub delayed: u64,
    /// Frames that wait for room at the port.
    pub ready: u64,
    /// Frames that left the queue and found no room at the port for `stale_after`: dropped, and not by the scheme.
    pub stale: u64,
    /// Frames of a direction without queue that were dropped because 256 others waited for room at the port.
    pub no_room: u64,
} {
    /// How much later than their nominal instants frames went to the port, since the start: at least, by the clock before.
    pub lateness: LiveSojourn,
    /// As `lateness`, at most: by the clock afterwards.
    pub lateness_most: LiveSojourn,
    /// How much later than they arrived frames count as arrived, at most, since the start. Never earlier.
    pub dated_late: LiveSojourn,
    /// Frames forwarded without a queue.
    pub passed: u64,
    /// Since the start.
    pub counts: QueueCounts,
    /// Since the start, by class: `tcp`, `udp`, `icmp`, `other`.
    #[schema(value_type = std::collections::HashMap<String, Object>)]
    pub classes: BTreeMap<&'static str, ClassCounts>,
    /// Frames with a fault since the start: `runt` (these were dropped), `truncated`, `malformed`.
    #[schema(value_type = std::collections::HashMap<String, u64>)]
    pub faults: BTreeMap<&'static str, u64>,
    /// Sojourn times of the last interval.
    pub sojourn: LiveSojourn,
    /// Their quantiles since the start.
    pub sojourn_all: LiveSojourn,
    /// Sojourn times since the start.
    pub sojourn_totals: SojournTotals,
    /// Bits offered in the last interval, overhead included, over what the rate could carry; 0 without a queue.
    pub load: f64,
    /// Bits that left in the last interval, a second.
    pub throughput_bit_s: f64,
    /// Named internals of the scheme.
    #[schema(value_type = std::collections::HashMap<String, f64>)]
    pub internals: BTreeMap<&'static str, f64>,
} }

/// The link of a port, as the kernel tells, or the port's driver.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct LinkStatus {
    /// `up`, `no carrier`, or `down`: the interface was set down.
    #[schema(value_type = String)]
    pub state: &'static str,
    /// For so long.
    pub for_s: f64,
    /// Times that it was lost since the start.
    pub lost: u64,
    /// Time without it since the start.
    pub down_s: f64,
}

impl LinkStatus {
    /// Frames pass.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.state == "up"
    }

    /// What to do about a link that is lost, at the port called `interface`.
    #[must_use]
    pub fn advice(&self, interface: &str) -> Option<String> {
        let what = match self.state {
            "up" => return None,
            "down" => format!("the interface is down; `ip link set dev {interface} up` sets it up"),
            _ => "no carrier; check the cable and the device at its other end".to_owned(),
        };
        Some(format!("{interface}: {what}"))
    }
}

/// One port.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PortStatus {
    /// Its name.
    pub name: String,
    /// How it works: `af_xdp, native, copy`.
    pub mode: String,
    /// Whether it has a carrier; `None` where neither kernel nor driver tells.
    pub link: Option<LinkStatus>,
    /// What it counts.
    pub counters: PortCounters,
    /// What to do about a lost link, and about frames that it should not get, if it got some.
    pub advice: Option<String>,
}

/// The whole device at one instant, consistent to the packet.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Status {
    /// Seconds since the packet thread began.
    pub uptime_s: f64,
    /// A to B, then B to A.
    pub directions: [DirectionStatus; 2],
    /// A, then B.
    pub ports: [PortStatus; 2],
    /// Free frames of the pool.
    pub frames_free: u64,
    /// All frames of the pool.
    pub frames: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_units::Span;

    #[test]
    fn sojourn_times_fall_into_the_buckets_that_hold_them() {
        let mut interval = Sampled::default();
        [15, 15, 300, 3_000, 2_000_000].into_iter().for_each(|us| interval.add(Span::from_micros(us)));
        let mut totals = SojournTotals::default();
        totals.add(&interval);
        totals.add(&interval);
        // Below 20 us: 2; up to 0.5 ms: 1; up to 5 ms: 1; 2 s is beyond the last bound. Twice.
        let mut buckets = [0; BOUNDS_S.len()];
        (buckets[1], buckets[5], buckets[8]) = (4, 2, 2);
        assert_eq!((totals.packets, totals.buckets), (10, buckets));
        // 15 + 15 + 300 + 3000 + 2000000 us = 2.00333 s, twice.
        assert!((totals.sum_s - 4.00666).abs() < 1e-9, "{}", totals.sum_s);
    }
}
