//! What every report must hold: each value in the range of its metric, and what adds up.

use super::catalogue::{Sum, METRICS};
use super::{Metrics, RunReport};
use crate::simulation::RunError;
use std::collections::BTreeMap;

/// Faults that an error names.
const NAMED: usize = 8;

/// By what sums of floating-point numbers may differ.
const ROUNDING: f64 = 1e-9;

/// Checks a report.
///
/// # Errors
/// A value that its metric does not allow: a defect of the simulator, never of the input.
pub(super) fn check(report: &RunReport) -> Result<(), RunError> {
    let mut faults = Faults::default();
    faults.look_at(&report.metrics, || "the run".to_owned());
    for queue in &report.queues {
        faults.look_at(&queue.metrics, || format!("queue {}", queue.name));
    }
    for flow in &report.flows {
        faults.look_at(&flow.metrics, || format!("flow {}", flow.name));
    }
    for group in &report.groups {
        faults.look_at(&group.metrics, || format!("group {}", group.name));
    }
    for phase in &report.phases {
        let of_group = || if phase.group.is_empty() { String::new() } else { format!(", group {}", phase.group) };
        faults.look_at(&phase.metrics, || format!("phase {} number {}{}", phase.phase, phase.occurrence, of_group()));
    }
    for metric in METRICS.iter().filter(|metric| metric.sum == Sum::Flows) {
        let mut of_groups: BTreeMap<&str, f64> = BTreeMap::new();
        for flow in &report.flows {
            if let Some(Some(value)) = flow.metrics.get(metric.name) {
                *of_groups.entry(&flow.group).or_default() += value;
            }
        }
        for group in &report.groups {
            let sum = of_groups.get(group.name.as_str()).copied();
            faults.add_up(metric.name, &group.metrics, sum, "its flows", || format!("group {}", group.name));
        }
        let found: Vec<f64> =
            report.groups.iter().filter_map(|group| group.metrics.get(metric.name).flatten()).collect();
        let sum = (!found.is_empty()).then(|| found.iter().sum());
        faults.add_up(metric.name, &report.metrics, sum, "its groups", || "the run".to_owned());
    }
    faults.result()
}

#[derive(Default)]
struct Faults {
    texts: Vec<String>,
    count: usize,
}

impl Faults {
    fn add(&mut self, text: impl FnOnce() -> String) {
        self.count += 1;
        if self.texts.len() < NAMED {
            self.texts.push(text());
        }
    }

    /// The ranges, and what adds up within one scope.
    fn look_at(&mut self, metrics: &Metrics, scope: impl Fn() -> String) {
        for (metric, value) in metrics.known() {
            let Some(value) = value else { continue };
            if !metric.allows(value) {
                let (least, most) = (metric.least, metric.most);
                self.add(|| format!("{} of {} is {value}; allowed: {least} to {most}", metric.name, scope()));
            }
            if let Sum::Parts(parts) = metric.sum {
                let sum: f64 = parts.iter().filter_map(|part| metrics.get(part).flatten()).sum();
                self.compare(metric.name, value, sum, "its parts", &scope);
            }
        }
    }

    /// A value of a whole, where it has one, is the sum of those of `parts`.
    fn add_up(&mut self, name: &str, whole: &Metrics, sum: Option<f64>, parts: &str, scope: impl Fn() -> String) {
        if let Some((value, sum)) = whole.get(name).flatten().zip(sum) {
            self.compare(name, value, sum, parts, &scope);
        }
    }

    fn compare(&mut self, name: &str, value: f64, sum: f64, parts: &str, scope: &dyn Fn() -> String) {
        if (value - sum).abs() > ROUNDING * value.abs().max(sum.abs()) {
            self.add(|| format!("{name} of {} is {value}; {parts} add up to {sum}", scope()));
        }
    }

    fn result(self) -> Result<(), RunError> {
        if self.count == 0 {
            return Ok(());
        }
        let more = self.count - self.texts.len();
        let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
        Err(RunError(format!("impossible values were measured: {}{rest}", self.texts.join("; "))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(values: &[(&'static str, f64)]) -> Option<String> {
        let metrics = Metrics::named(values);
        let mut faults = Faults::default();
        faults.look_at(&metrics, || "queue a->b".to_owned());
        faults.result().err().map(|error| error.0)
    }

    #[test]
    fn values_outside_of_their_ranges_are_named() {
        assert_eq!(
            faults(&[("loss_ratio", 1.0), ("burst_ratio", 0.0), ("voip_r", -40.0), ("goodput_bit_s", 1e12)]),
            None
        );
        let said = |text: &str| Some(format!("impossible values were measured: {text}"));
        assert_eq!(faults(&[("loss_ratio", 1.25)]), said("loss_ratio of queue a->b is 1.25; allowed: 0 to 1"));
        assert_eq!(faults(&[("burst_ratio", -2.0)]), said("burst_ratio of queue a->b is -2; allowed: 0 to inf"));
        assert_eq!(
            faults(&[("goodput_bit_s", f64::INFINITY)]),
            said("goodput_bit_s of queue a->b is inf; allowed: 0 to inf")
        );
    }

    #[test]
    fn the_reasons_for_drops_add_up() {
        let drops = |all| {
            faults(&[
                ("drops_packets", all),
                ("drops_overflow_packets", 3.0),
                ("drops_early_packets", 4.0),
                ("drops_flow_packets", 5.0),
            ])
        };
        assert_eq!(drops(12.0), None);
        let text = "impossible values were measured: drops_packets of queue a->b is 13; its parts add up to 12";
        assert_eq!(drops(13.0).as_deref(), Some(text));
    }
}
