//! Time series.

use super::super::{Simulation, What};
use super::Series;
use crate::transport::Sender;
use sojourn_units::{Instant, Span};

/// Collects the points of time series.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder {
    pub interval: Span,
    t_s: Vec<f64>,
    values: [Vec<Option<f64>>; 4],
    last: Snapshot,
    /// Of each flow, where wanted: payload at the last point, and the values of [`OF_FLOWS`].
    flows: Vec<(u64, [Vec<Option<f64>>; OF_FLOWS.len()])>,
}

/// Series of a flow. Those of a sender are what it holds at the point; flows that have none are without.
const OF_FLOWS: [(&str, &str); 5] = [
    ("goodput_bit_s", "bit/s"),
    ("srtt_ms", "ms"),
    ("cwnd_packets", "packets"),
    ("pacing_rate_bit_s", "bit/s"),
    ("rtt_ms", "ms"),
];

impl Recorder {
    /// With those of the first `flows` flows.
    pub fn new(interval: Span, flows: usize) -> Self {
        Self { interval, flows: vec![Default::default(); flows], ..Self::default() }
    }

    /// The measurement begins.
    pub(super) fn begin(&mut self, snapshot: Snapshot) {
        self.last = snapshot;
        // The flows' payload is counted anew.
        self.flows.iter_mut().for_each(|(last, _)| *last = 0);
    }

    /// All series; `names` are the flows'.
    pub(super) fn series<'a>(self, names: impl Iterator<Item = &'a str>) -> Vec<Series> {
        let named = SERIES.iter().zip(self.values);
        let series = named.map(|((name, unit), value)| Series {
            name: (*name).into(),
            unit: (*unit).into(),
            t_s: self.t_s.clone(),
            value,
        });
        let flows = names
            .zip(self.flows)
            .flat_map(|(name, (_, values))| OF_FLOWS.iter().zip(values).map(move |(of, value)| (name, of, value)));
        let flows = flows.filter(|(_, of, value)| *of == &OF_FLOWS[0] || value.iter().any(Option::is_some));
        let flows = flows.map(|(name, (series, unit), value)| Series {
            name: format!("{series}:{name}"),
            unit: (*unit).into(),
            t_s: self.t_s.clone(),
            value,
        });
        series.chain(flows).collect()
    }
}

/// Running totals at the last point.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Snapshot {
    at: Instant,
    queue_integral: u128,
    sojourn: (u64, u128),
    payload: u64,
    drops: u64,
}

const SERIES: [(&str, &str); 4] =
    [("queue_packets", "packets"), ("sojourn_ms", "ms"), ("goodput_bit_s", "bit/s"), ("drops_packets_s", "packets/s")];

impl Simulation {
    /// Time series: running totals now, over queues under test and all flows.
    pub(super) fn snapshot(&mut self) -> Snapshot {
        if self.recorder.is_none() {
            return Snapshot::default();
        }
        self.net.settle_before();
        let mut snapshot = Snapshot { at: self.net.now, ..Snapshot::default() };
        for index in 0..self.net.ports.len() {
            if !self.net.ports[index].probe.under_test {
                continue;
            }
            let now = self.net.now;
            let port = &mut self.net.ports[index];
            port.probe.waiting.settle(now);
            snapshot.queue_integral += port.probe.waiting.integral();
            snapshot.sojourn.0 += port.probe.sojourn.moments.count();
            snapshot.sojourn.1 += port.probe.sojourn.moments.sum_ns();
            snapshot.drops += port.server.counters().dropped_total().packets;
        }
        snapshot.payload = self.payload_all();
        snapshot
    }

    /// A point of the time series, and the next one later.
    pub(in crate::simulation) fn sample(&mut self) {
        self.point();
        if let Some(recorder) = &self.recorder {
            self.net.wheel.push(self.net.now + recorder.interval, What::Sample);
        }
    }

    /// The interval that ends as the measurement begins, before totals are counted anew.
    pub(super) fn sample_warm_up(&mut self) {
        if self.recorder.as_ref().is_some_and(|it| self.net.now.nanos().is_multiple_of(it.interval.nanos())) {
            self.point();
        }
    }

    fn point(&mut self) {
        let snapshot = self.snapshot();
        let now = self.net.now;
        let Some(mut recorder) = self.recorder.take() else { return };
        let elapsed = now - recorder.last.at;
        if elapsed.is_zero() {
            // Taken as the measurement began, at the same instant; or nothing has passed yet.
            self.recorder = Some(recorder);
            return;
        }
        let last = std::mem::replace(&mut recorder.last, snapshot);
        let count = snapshot.sojourn.0.saturating_sub(last.sojourn.0);
        let sum = snapshot.sojourn.1.saturating_sub(last.sojourn.1);
        let waited = snapshot.queue_integral.saturating_sub(last.queue_integral);
        recorder.t_s.push(now.seconds());
        recorder.values[0].push(Some(waited as f64 / elapsed.nanos() as f64));
        recorder.values[1].push((count > 0).then(|| sum as f64 / count as f64 / 1e6));
        recorder.values[2].push(Some(snapshot.payload.saturating_sub(last.payload) as f64 * 8.0 / elapsed.seconds()));
        recorder.values[3].push(Some(snapshot.drops.saturating_sub(last.drops) as f64 / elapsed.seconds()));
        for (index, (last, values)) in recorder.flows.iter_mut().enumerate() {
            let payload = self.payload(index);
            let goodput = payload.saturating_sub(*last) as f64 * 8.0 / elapsed.seconds();
            *last = payload;
            let sender = self.hosts.tcp[index].as_ref().map(|tcp| &tcp.sender);
            let srtt = sender.filter(|it| !it.srtt().is_zero()).map(|it| it.srtt().millis());
            let cwnd = sender.map(|it| it.cwnd().get() as f64 / it.config().mss.get() as f64);
            let pacing = sender.and_then(Sender::pacing_rate).map(|rate| rate.bit_s() as f64);
            let echo = self.hosts.flows[index].echo.as_mut().and_then(|echo| echo.since_last());
            values.iter_mut().zip([Some(goodput), srtt, cwnd, pacing, echo]).for_each(|(all, value)| all.push(value));
        }
        self.recorder = Some(recorder);
    }
}
