//! Time series.

use super::super::{Simulation, What};
use super::Series;
use sojourn_units::{Instant, Span};

/// Collects the points of time series.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder {
    pub interval: Span,
    t_s: Vec<f64>,
    values: [Vec<Option<f64>>; 4],
    last: Snapshot,
    /// Of each flow, where wanted: payload at the last point, and goodput.
    flows: Vec<(u64, Vec<Option<f64>>)>,
}

impl Recorder {
    /// With the goodput of the first `flows` flows.
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
        let flows = names.zip(self.flows).map(|(name, (_, value))| Series {
            name: format!("goodput_bit_s:{name}"),
            unit: "bit/s".into(),
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
            values.push(Some(payload.saturating_sub(*last) as f64 * 8.0 / elapsed.seconds()));
            *last = payload;
        }
        self.recorder = Some(recorder);
    }
}
