//! What the two queues of a DualPI2 measured.

use super::metrics::ratio;
use super::Metrics;
use crate::port::Classes;

/// Sets the metrics of both classes; undefined ones where there are no classes.
pub(super) fn metrics(classes: Option<&Classes>, metrics: &mut Metrics) {
    let l4s = classes.map(|both| &both.l4s);
    let classic = classes.map(|both| &both.classic);
    let count = |n: Option<u64>| n.map(|n| n as f64);
    metrics.insert("l4s_packets", count(l4s.map(|it| it.sojourn.moments.count())));
    metrics.insert("l4s_drops_packets", count(l4s.map(|it| it.drops)));
    metrics.insert("l4s_sojourn_ms_mean", l4s.and_then(|it| it.sojourn.moments.mean_ms()));
    metrics.insert("l4s_sojourn_ms_p99", l4s.and_then(|it| it.sojourn.histogram.quantile_ms(0.99)));
    let marked = l4s.and_then(|it| ratio(it.marks, it.judged()));
    metrics.insert("l4s_mark_ratio", marked);
    metrics.insert("classic_packets", count(classic.map(|it| it.sojourn.moments.count())));
    metrics.insert("classic_drops_packets", count(classic.map(|it| it.drops)));
    metrics.insert("classic_sojourn_ms_mean", classic.and_then(|it| it.sojourn.moments.mean_ms()));
    metrics.insert("classic_sojourn_ms_p99", classic.and_then(|it| it.sojourn.histogram.quantile_ms(0.99)));
    let signalled = classic.and_then(|it| ratio(it.marks + it.early, it.judged()));
    metrics.insert("classic_signal_ratio", signalled);
    let coupling = marked.zip(signalled).filter(|(_, signalled)| *signalled > 0.0);
    metrics.insert("coupling_ratio", coupling.map(|(marked, signalled)| marked / signalled.sqrt()));
}
