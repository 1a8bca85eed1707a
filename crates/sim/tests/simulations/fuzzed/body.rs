//! What holds of any text that is read as a scenario: it is refused with one message, or it reads back from its canonical
//! form and runs with every packet accounted for. The fuzz target `scenario` and a test of the kept inputs share it.

use sojourn_scenario::{load, Network, PortKind, Transport};
use sojourn_sim::simulation::Conservation;
use sojourn_sim::{Options, RunReport, Simulation};
use sojourn_traffic::Traffic;
use sojourn_units::Span;
use std::sync::Arc;

/// Packets that hosts may send in one run, and writes of their programs, about; the run ends when they could have.
const PACKETS: f64 = 3_000.0;
/// Larger networks are read and not run.
const FLOWS: usize = 500;
/// Lines of this form in front of the document are overrides.
const SET: &str = "#--set ";

/// A fuzzer's input; `None` when it is refused.
///
/// # Panics
/// With what it broke.
pub fn check_input(input: &[u8]) -> Option<Conservation> {
    let text = std::str::from_utf8(input).ok()?;
    let mut sets = Vec::new();
    let mut rest = text;
    while let Some((set, after)) = rest.strip_prefix(SET).and_then(|rest| rest.split_once('\n')) {
        sets.push(set.to_owned());
        rest = after;
    }
    let document = match load(rest, "fuzz.toml", &sets) {
        Ok(document) => document,
        Err(error) => {
            let message = error.to_string();
            assert!(message.starts_with("fuzz.toml:") || message.starts_with("--set "), "no place: {message}");
            return None;
        }
    };
    let canonical = document.to_json();
    let again = load(&canonical, "canonical", &[]).unwrap_or_else(|error| panic!("{error}: {canonical}"));
    assert!(again == document && again.to_json() == canonical, "reads back as another: {canonical}");
    let mut network = document.resolve().unwrap_or_else(|error| panic!("was accepted, and now: {error}"));
    if network.flows.len() > FLOWS || network.ports.len() > 4 * FLOWS {
        return None;
    }
    let longest = longest(&network);
    network.warm_up = network.warm_up.min(Span::from_nanos(longest.nanos() / 4));
    network.duration = network.duration.min(longest);
    let interval = document.series.map(|series| series.interval.0);
    let series = interval.filter(|interval| network.duration.nanos() / interval.nanos() < 1000);
    let options = Options { seed: document.seed, series, ..Options::default() };
    let report = Simulation::new(Arc::new(network), options).run();
    let report = report.unwrap_or_else(|error| panic!("{error}"));
    Some(check(&report))
}

/// How long a run may take, so that about [`PACKETS`] are sent.
fn longest(network: &Network) -> Span {
    let rate_of = |port: &usize| match network.ports[*port].kind {
        PortKind::Link { rate, .. } | PortKind::Cell { rate, .. } => rate.bit_s() as f64,
        PortKind::Bus { bus, .. } => network.buses[bus].rate.bit_s() as f64,
    };
    let tcp_s = |flow: &sojourn_scenario::Flow| match &*flow.transport {
        Transport::Tcp { sender, .. } => {
            let slowest = flow.route.iter().map(rate_of).fold(f64::INFINITY, f64::min);
            2.0 * slowest / 8.0 / (sender.mss.get() as f64 + 40.0)
        }
        Transport::Udp { .. } => 0.0,
    };
    let writes_s = |flow: &sojourn_scenario::Flow| match &flow.traffic {
        Traffic::Packets(source) | Traffic::Heard(source, _) => source.packets_per_second(),
        Traffic::Bulk { .. } | Traffic::Transfer { .. } | Traffic::Client(_) => 0.0,
    };
    let packets_s = |flow| tcp_s(flow) + writes_s(flow);
    let work: f64 = network.flows.iter().map(|flow| packets_s(flow) * (1 + flow.route.len()) as f64).sum();
    Span::from_nanos((PACKETS * 1e9 / work.max(1e-3)).clamp(4.0, 1e12) as u64)
}

fn check(report: &RunReport) -> Conservation {
    let mut books = report.conservation;
    if std::env::var_os("FUZZ_DEFECT").is_some() && forgets(report) {
        books.in_flight -= 1;
    }
    assert_eq!(
        books.sent + books.duplicated,
        books.delivered + books.dropped + books.in_flight,
        "packets are not conserved"
    );
    for queue in &report.queues {
        let Some(counts) = &queue.counts else { continue };
        let dropped = [counts.dropped_overflow, counts.dropped_early, counts.dropped_flow];
        let out: u64 = dropped.iter().map(|count| count.packets).sum::<u64>() + counts.forwarded.packets;
        assert_eq!(counts.arrived.packets, out + counts.waiting.packets, "{}", queue.name);
        let out: u64 = dropped.iter().map(|count| count.bytes).sum::<u64>() + counts.forwarded.bytes;
        assert_eq!(counts.arrived.bytes, out + counts.waiting.bytes, "{}: bytes", queue.name);
    }
    serde_json::to_string(report).unwrap_or_else(|error| panic!("{error}"));
    books
}

/// The defect that the fuzzer must find: a packet that waits in a queue that changed its scheme is not counted.
fn forgets(report: &RunReport) -> bool {
    report.queues.iter().any(|queue| {
        !queue.switched.is_empty()
            && queue.counts.as_ref().is_some_and(|counts| counts.waiting.packets > 2 && counts.marked.packets == 0)
    })
}
