//! Runs one dumbbell and prints, as one line of JSON, how many packets the bottleneck forwarded and how many
//! events that took; `benches/speed.py` measures the process from outside. It is the dumbbell of
//! `crosscheck/ns2/dumbbell.tcl`: bulk TCP flows, base RTT 20 ms, started within the first second.
//!
//! `speed --flows 100 --rate-mbit-s 100 --seconds 300 [--access-mbit-s 1000] [--queue "pfifo limit 250p"]
//! [--congestion-control newreno] [--transport "ecn = true"] [--report]`
//! `speed --plugin libmy_pie.so --queue my_pie`: a queue under an algorithm in a shared library.
//! `speed --scenario FILE --seconds 300`: another network than the dumbbell.

use sojourn_sim::{Options, Simulation};
use std::process::ExitCode;
use std::sync::Arc;

struct Arguments {
    flows: u32,
    rate_mbit_s: u64,
    access_mbit_s: u64,
    seconds: u64,
    queue: String,
    congestion_control: String,
    transport: String,
    scenario: Option<String>,
    report: bool,
}

fn arguments() -> Result<Arguments, String> {
    let mut read = Arguments {
        flows: 100,
        rate_mbit_s: 100,
        access_mbit_s: 1000,
        seconds: 60,
        queue: "pfifo limit 250p".into(),
        congestion_control: "newreno".into(),
        transport: String::new(),
        scenario: None,
        report: false,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--report" {
            read.report = true;
            continue;
        }
        let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{word} {value} is not a whole number"));
        match word.as_str() {
            "--flows" => read.flows = u32::try_from(number()?).map_err(|e| e.to_string())?,
            "--rate-mbit-s" => read.rate_mbit_s = number()?,
            "--access-mbit-s" => read.access_mbit_s = number()?,
            "--seconds" => read.seconds = number()?,
            "--queue" => read.queue = value,
            "--congestion-control" => read.congestion_control = value,
            "--transport" => read.transport = value,
            "--scenario" => read.scenario = Some(value),
            "--plugin" => {
                sojourn_plugin::add_library(std::path::Path::new(&value), "bench")?;
            }
            _ => return Err(format!("unknown option {word}")),
        }
    }
    Ok(read)
}

fn document(a: &Arguments) -> String {
    let Arguments { flows, rate_mbit_s, access_mbit_s, seconds, queue, congestion_control, transport, .. } = a;
    format!(
        r#"
name = "speed"
duration = "{seconds} s"

[[nodes]]
name = "sender"
count = {flows}

[[nodes]]
name = "receiver"
count = {flows}

[[links]]
name = "bottleneck"
from = "left"
to = "right"
rate = "{rate_mbit_s} Mbit/s"
delay = "5 ms"
queue = "{queue}"
reverse_queue = "pfifo limit 10000p"
under_test = true

[[links]]
name = "sender_access"
from = "sender"
to = "left"
rate = "{access_mbit_s} Mbit/s"
delay = "2.5 ms"
queue = "pfifo limit 10000p"
reverse_queue = "pfifo limit 10000p"

[[links]]
name = "receiver_access"
from = "right"
to = "receiver"
rate = "{access_mbit_s} Mbit/s"
delay = "2.5 ms"
queue = "pfifo limit 10000p"
reverse_queue = "pfifo limit 10000p"

[[flows]]
name = "bulk"
from = "sender"
to = "receiver"
start = {{ uniform = ["0 s", "1 s"] }}

[flows.transport]
kind = "tcp"
congestion_control = "{congestion_control}"
mss = "1448 B"
initial_window = "10 p"
handshake = false
{transport}

[flows.traffic]
kind = "bulk"
"#
    )
}

/// The largest resident size so far, where the system says it (Linux).
fn peak_memory_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.split_whitespace().next()?.parse().ok()
}

fn run() -> Result<(), String> {
    let arguments = arguments()?;
    let document = match &arguments.scenario {
        Some(file) => {
            let text = std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
            sojourn_scenario::load(&text, file, &[format!("duration={} s", arguments.seconds)])
        }
        None => sojourn_scenario::load(&document(&arguments), "speed", &[]),
    };
    let document = document.map_err(|e| e.to_string())?;
    let network = Arc::new(document.resolve().map_err(|e| e.to_string())?);
    drop(document);
    let report =
        Simulation::new(network, Options { seed: 1, ..Options::default() }).run().map_err(|e| e.to_string())?;
    if arguments.report {
        println!("{}", serde_json::to_string(&report).map_err(|e| e.to_string())?);
        return Ok(());
    }
    let metric = |name: &str| report.metrics.get(name).flatten();
    let forwarded = metric("arrivals_packets").zip(metric("drops_packets")).map(|(left, dropped)| left - dropped);
    println!(
        "{}",
        serde_json::json!({
            "forwarded_packets": forwarded,
            "drops_packets": metric("drops_packets"),
            "delivered_packets": report.conservation.delivered,
            "queue_packets_mean": metric("queue_packets_mean"),
            "utilisation": metric("utilisation"),
            "events": report.events,
            "peak_memory_kib": peak_memory_kib(),
        })
    );
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("speed: {message}");
            ExitCode::from(2)
        }
    }
}
