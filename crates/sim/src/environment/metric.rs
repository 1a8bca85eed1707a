//! What formulas of observations and rewards can name.

use crate::simulation::WindowReport;
use crate::Simulation;
use sojourn_aqm::formula::Expression;
use sojourn_aqm::Config;
use sojourn_units::{BitRate, Instant};
use std::collections::BTreeSet;

type Read = fn(&WindowReport, f64) -> f64;

/// Of nothing measured.
fn or_zero(value: Option<f64>) -> f64 {
    value.unwrap_or(0.0)
}

/// Of a window and the rate of the link in bit/s.
const OF_WINDOW: &[(&str, Read)] = &[
    ("arrivals_packets", |w, _| w.arrivals_packets as f64),
    ("departures_packets", |w, _| w.departures_packets as f64),
    ("drops_packets", |w, _| w.drops_packets as f64),
    ("marks_packets", |w, _| w.marks_packets as f64),
    ("loss_ratio", |w, _| match w.departures_packets + w.drops_packets {
        0 => 0.0,
        left => w.drops_packets as f64 / left as f64,
    }),
    ("queue_packets_mean", |w, _| or_zero(w.queue_packets_mean)),
    ("backlog_packets", |w, _| w.backlog_packets as f64),
    ("backlog_bytes", |w, _| w.backlog_bytes as f64),
    ("sojourn_ms_mean", |w, _| or_zero(w.sojourn_ms_mean)),
    ("sojourn_ms_p50", |w, _| or_zero(w.sojourn_ms_p50)),
    ("sojourn_ms_p95", |w, _| or_zero(w.sojourn_ms_p95)),
    ("sojourn_ms_p99", |w, _| or_zero(w.sojourn_ms_p99)),
    ("throughput_bit_s", |w, _| or_zero(w.throughput_bit_s)),
    ("goodput_bit_s", |w, _| or_zero(w.goodput_bit_s)),
    ("rate_bit_s", |_, rate| rate),
    ("utilisation", |w, rate| if rate > 0.0 { or_zero(w.throughput_bit_s) / rate } else { 0.0 }),
    ("s0", |w, _| or_zero(w.features[0])),
    ("s1", |w, _| or_zero(w.features[1])),
    ("s2", |w, _| or_zero(w.features[2])),
    ("s3", |w, _| or_zero(w.features[3])),
    ("q0", |w, _| or_zero(w.features[4])),
    ("q1", |w, _| or_zero(w.features[5])),
    ("q2", |w, _| or_zero(w.features[6])),
    ("q3", |w, _| or_zero(w.features[7])),
];

/// The metrics of an environment.
pub(super) struct Metrics {
    /// `internal_NAME`, of any scheme that may run.
    internals: Vec<String>,
    /// `action_0`, `action_1`, ...
    actions: Vec<String>,
    /// Whether a formula names an internal.
    reads_internals: bool,
}

impl Metrics {
    /// Under `schemes`, with actions of `actions` numbers.
    pub fn of(schemes: &[Config], actions: usize) -> Self {
        let mut internals = BTreeSet::new();
        for scheme in schemes {
            let rate = BitRate::from_bit_s(1_000_000);
            scheme.build().internals(Instant::ZERO, rate, &mut |name, _| {
                internals.insert(format!("internal_{name}"));
            });
        }
        let actions = (0..actions).map(|index| format!("action_{index}")).collect();
        Self { internals: internals.into_iter().collect(), actions, reads_internals: true }
    }

    /// Those that `formulas` use are computed.
    pub fn used<'a>(mut self, formulas: impl Iterator<Item = &'a Expression>) -> Self {
        let range = OF_WINDOW.len()..OF_WINDOW.len() + self.internals.len();
        self.reads_internals = formulas.flat_map(Expression::uses).any(|place| range.contains(&place));
        self
    }

    pub fn len(&self) -> usize {
        OF_WINDOW.len() + self.internals.len() + self.actions.len()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        let of_window = OF_WINDOW.iter().map(|(name, _)| *name);
        of_window.chain(self.internals.iter().map(String::as_str)).chain(self.actions.iter().map(String::as_str))
    }

    /// Puts every metric of the window since the last call at its place.
    pub fn fill(&self, simulation: &mut Simulation, port: usize, action: &[f64], values: &mut [f64]) {
        let rate = simulation.rate_of(port).map_or(0.0, |rate| rate.bit_s() as f64);
        let Some(window) = simulation.window(port) else { return };
        let (of_window, rest) = values.split_at_mut(OF_WINDOW.len().min(values.len()));
        for ((_, read), place) in OF_WINDOW.iter().zip(of_window) {
            *place = read(&window, rate);
        }
        let (internals, actions) = rest.split_at_mut(self.internals.len().min(rest.len()));
        if self.reads_internals {
            internals.fill(0.0);
            simulation.internals_of(port, &mut |name, value| {
                let found = self.internals.iter().position(|known| known.strip_prefix("internal_") == Some(name));
                if let (Some(place), true) = (found.and_then(|at| internals.get_mut(at)), value.is_finite()) {
                    *place = value;
                }
            });
        }
        for (place, value) in actions.iter_mut().zip(action) {
            *place = if value.is_finite() { *value } else { 0.0 };
        }
    }
}
