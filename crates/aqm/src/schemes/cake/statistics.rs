//! What each tin has seen, in the words of `tc -s`.

use super::flows::Set;
use super::tins::Tin;
use crate::Internal;

macro_rules! tins {
    ($name:literal) => {
        [
            concat!("tin0_", $name),
            concat!("tin1_", $name),
            concat!("tin2_", $name),
            concat!("tin3_", $name),
            concat!("tin4_", $name),
            concat!("tin5_", $name),
            concat!("tin6_", $name),
            concat!("tin7_", $name),
        ]
    };
}

/// One statistic of every tin.
type Statistic = ([&'static str; 8], fn(&Tin) -> f64);

const STATISTICS: &[Statistic] = &[
    (tins!("backlog_packets"), |tin| tin.waiting.packets as f64),
    (tins!("backlog_bytes"), |tin| tin.waiting.bytes as f64),
    (tins!("sparse_flows"), |tin| f64::from(tin.count(Set::Sparse) + tin.count(Set::SparseWait))),
    (tins!("bulk_flows"), |tin| f64::from(tin.count(Set::Bulk))),
    (tins!("decaying_flows"), |tin| f64::from(tin.count(Set::Decaying))),
    (tins!("average_delay_s"), |tin| tin.stats.average_delay),
    (tins!("peak_delay_s"), |tin| tin.stats.peak_delay),
    (tins!("base_delay_s"), |tin| tin.stats.base_delay),
    (tins!("sent_packets"), |tin| tin.stats.sent as f64),
    (tins!("drops_packets"), |tin| tin.stats.drops as f64),
    (tins!("marks_packets"), |tin| tin.stats.marks as f64),
    (tins!("ack_drops_packets"), |tin| tin.stats.ack_drops as f64),
    (tins!("way_hits"), |tin| tin.ways.hits as f64),
    (tins!("way_misses"), |tin| tin.ways.misses as f64),
    (tins!("way_collisions"), |tin| tin.ways.collisions as f64),
    (tins!("quantum_bytes"), |tin| f64::from(tin.quantum)),
];

pub(super) fn show(tins: &[Tin], visit: &mut Internal<'_>) {
    for (names, value) in STATISTICS {
        for (name, tin) in names.iter().zip(tins) {
            visit(name, value(tin));
        }
    }
}
