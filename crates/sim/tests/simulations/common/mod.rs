//! Runs of small scenarios, for every integration test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use sojourn_sim::{run_all, Options, Progress, RunReport};
use std::sync::Arc;

/// Replications 0..`n` of a scenario with its queues as written, or under `scheme`.
pub fn runs(text: &str, scheme: Option<&str>, n: u64, jobs: usize) -> Vec<RunReport> {
    let document = sojourn_scenario::load(text, "test", &[]).unwrap_or_else(|e| panic!("{e}"));
    let network = Arc::new(document.resolve().unwrap_or_else(|e| panic!("{e}")));
    let scheme = scheme.map(|text| text.parse().unwrap_or_else(|e| panic!("{e}")));
    let tasks: Vec<Options> = (0..n)
        .map(|replication| Options { scheme: scheme.clone(), seed: 7, replication, ..Options::default() })
        .collect();
    run_all(&network, &tasks, jobs, &Progress::default())
        .into_iter()
        .map(|report| report.unwrap().unwrap_or_else(|e| panic!("{e}")))
        .collect()
}

/// Nodes and links of a dumbbell: senders `s0` and `s1`, receivers `r0` and `r1`, 1 ms more than `delay` each way.
pub fn dumbbell(rate: &str, delay: &str, queue: &str) -> String {
    format!(
        r#"
    [[nodes]]
    name = "s"
    count = 2
    [[nodes]]
    name = "r"
    count = 2
    [[links]]
    name = "bottleneck"
    from = "left"
    to = "right"
    rate = "{rate}"
    delay = "{delay}"
    queue = "{queue}"
    under_test = true
    [[links]]
    name = "in"
    from = "s"
    to = "left"
    rate = "1 Gbit/s"
    delay = "500 us"
    [[links]]
    name = "out"
    from = "right"
    to = "r"
    rate = "1 Gbit/s"
    delay = "500 us"
    "#
    )
}

/// A metric of run scope.
pub fn metric(report: &RunReport, name: &str) -> f64 {
    report.metrics.get(name).flatten().unwrap_or_else(|| panic!("no {name}"))
}

/// Mean and standard error of the mean over replications.
pub fn estimate(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let values: Vec<f64> = values.into_iter().collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// `expected` lies within the 99.9 % interval of the mean over 30 replications: Student's t with 29 degrees of
/// freedom is 3.66 there. Seeds are fixed, so the outcome is too.
pub fn assert_agrees(what: &str, values: impl IntoIterator<Item = f64>, expected: f64) {
    let (mean, error) = estimate(values);
    assert!(
        (mean - expected).abs() <= 3.66 * error,
        "{what}: measured {mean} +- {error} (standard error), theory {expected}"
    );
}
