//! The simulator against queueing theory: Poisson UDP into a tail-drop queue, on packets in the system.
//!
//! Mean packet 1000 B at 8 Mbit/s: the service rate mu is 1000 packets/s, so times in ms are in units of 1/mu.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use crate::common::{assert_agrees, metric, runs};

const RUNS: u64 = 30;

/// A Poisson stream of `load` times mu; `size` is the packet size, `limit` the number that may wait.
fn queue(load: f64, size: &str, limit: u64) -> String {
    format!(
        r#"
        name = "queue"
        duration = "260 s"
        warm_up = "10 s"
        [[links]]
        name = "link"
        from = "a"
        to = "b"
        rate = "8 Mbit/s"
        delay = "1 ms"
        queue = "pfifo limit {limit}p"
        under_test = true
        [[flows]]
        name = "poisson"
        from = "a"
        to = "b"
        transport = {{ kind = "udp", header = "0 B" }}
        traffic = {{ kind = "poisson", packets_per_second = {}, packet_size = {size} }}
        "#,
        load * 1000.0
    )
}

const EXPONENTIAL: &str = r#"{ exponential = { mean = "1000 B" } }"#;
const CONSTANT: &str = r#""1000 B""#;

#[test]
fn mm1_number_in_system_and_waiting() {
    // M/M/1 at rho = 0.8: L = rho/(1-rho) = 4, Lq = L - rho = 3.2, sd = sqrt(rho)/(1-rho) = 4.4721;
    // Wq = Lq/lambda = 3.2/800 = 4 ms; utilisation 0.8. (Sizes are rounded to whole bytes: 0.05 % at most.)
    let reports = runs(&queue(0.8, EXPONENTIAL, 100_000), None, RUNS, 2);
    let all = |name: &str| reports.iter().map(|r| metric(r, name)).collect::<Vec<_>>();
    assert_agrees("L", all("system_packets_mean"), 4.0);
    assert_agrees("sd of the number in system", all("system_packets_sd"), 0.8_f64.sqrt() / 0.2);
    assert_agrees("Lq", all("queue_packets_mean"), 3.2);
    assert_agrees("Wq in ms", all("sojourn_ms_mean"), 4.0);
    assert_agrees("utilisation", all("utilisation"), 0.8);
}

#[test]
fn md1_number_in_system_and_waiting() {
    // Pollaczek-Khinchine with constant service at rho = 0.8: Lq = rho^2/(2(1-rho)) = 1.6, L = 2.4; Wq = 2 ms.
    let reports = runs(&queue(0.8, CONSTANT, 100_000), None, RUNS, 2);
    let all = |name: &str| reports.iter().map(|r| metric(r, name)).collect::<Vec<_>>();
    assert_agrees("L", all("system_packets_mean"), 2.4);
    assert_agrees("Lq", all("queue_packets_mean"), 1.6);
    assert_agrees("Wq in ms", all("sojourn_ms_mean"), 2.0);
}

#[test]
fn mm1k_losses_and_their_clusters_are_as_theory_says() {
    // M/M/1/K with rho = 1.2 and K = 10 in the system (9 waiting): P_K = (1-rho) rho^K / (1-rho^(K+1)).
    let (rho, k) = (1.2_f64, 10);
    let expected = (1.0 - rho) * rho.powi(k) / (1.0 - rho.powi(k + 1));
    let reports = runs(&queue(rho, EXPONENTIAL, 9), None, RUNS, 2);
    assert_agrees("loss ratio", reports.iter().map(|r| metric(r, "loss_ratio")), expected);
    // L = rho/(1-rho) - (K+1) rho^(K+1)/(1-rho^(K+1)).
    let l = rho / (1.0 - rho) - f64::from(k + 1) * rho.powi(k + 1) / (1.0 - rho.powi(k + 1));
    assert_agrees("L", reports.iter().map(|r| metric(r, "system_packets_mean")), l);
    // Full, each arrival finds the queue still full with probability rho/(1+rho) (arrival before departure), so the
    // mean run of losses is 1/(1 - rho/(1+rho)) = 1 + rho = 2.2, and the burst ratio 2.2 (1 - P_K).
    assert_agrees("burst ratio", reports.iter().map(|r| metric(r, "burst_ratio")), 2.2 * (1.0 - expected));
}
