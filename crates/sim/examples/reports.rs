//! Writes the reports of many short scenarios, to compare two versions of the simulator: every scheme, congestion control,
//! recovery and timer, and every kind of network.
//!
//! `cargo run --release --example reports -- FOLDER` writes one JSON file for each scenario and prints its digest. The number
//! of events is left out: it is a cost and no result. `diff -r` of two folders shows what a change of the engine changed.

use sojourn_aqm::{registry, Config};
use sojourn_sim::{Options, Simulation};
use sojourn_transport::congestion;
use sojourn_units::Span;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// A dumbbell of six pairs; `%BOTTLENECK%`, `%FLOWS%` and `%TOP%` stand for what a scenario changes.
const DUMBBELL: &str = r#"
duration = "8 s"
warm_up = "2 s"
%TOP%

[[nodes]]
name = "sender"
count = 6

[[nodes]]
name = "receiver"
count = 6

[[links]]
name = "bottleneck"
from = "left"
to = "right"
rate = "20 Mbit/s"
delay = "10 ms"
queue = "pfifo limit 60p"
under_test = true
%BOTTLENECK%

[[links]]
name = "sender_access"
from = "sender"
to = "left"
rate = "100 Mbit/s"
delay = "1 ms"
queue = "pfifo limit 20p"

[[links]]
name = "receiver_access"
from = "right"
to = "receiver"
rate = "100 Mbit/s"
delay = "2 ms"

%FLOWS%
"#;

/// Bulk flows both ways with these lines of transport, short ones and a source that does not react.
fn flows(transport: &str) -> String {
    format!(
        r#"
[[flows]]
name = "bulk"
from = "sender"
to = "receiver"
start = {{ uniform = ["0 s", "1 s"] }}
[flows.transport]
{transport}
[flows.traffic]
kind = "bulk"

[[flows]]
name = "back"
from = "receiver0"
to = "sender0"
start = "100 ms"
[flows.transport]
{transport}
[flows.traffic]
kind = "bulk"

[[flows]]
name = "short"
from = "sender"
to = "receiver"
count = 4
start = {{ uniform = ["0 s", "7 s"] }}
[flows.transport]
{transport}
[flows.traffic]
kind = "transfer"
size = "40 KiB"

[[flows]]
name = "writes"
from = "sender1"
to = "receiver1"
[flows.transport]
{transport}
[flows.traffic]
kind = "poisson"
rate = "500 kbit/s"
packet_size = "700 B"

[[flows]]
name = "udp"
from = "sender2"
to = "receiver2"
transport = {{ kind = "udp" }}
traffic = {{ kind = "cbr", rate = "2 Mbit/s", packet_size = "1000 B" }}
"#
    )
}

fn dumbbell(top: &str, bottleneck: &str, flows: &str) -> String {
    DUMBBELL.replace("%TOP%", top).replace("%BOTTLENECK%", bottleneck).replace("%FLOWS%", flows)
}

/// A scenario, and the scheme in place of its own.
struct Case {
    name: String,
    text: String,
    scheme: Option<String>,
    series: bool,
}

fn case(name: impl Into<String>, text: String) -> Case {
    Case { name: name.into(), text, scheme: None, series: false }
}

/// Transports by what they exercise.
const TRANSPORTS: &[(&str, &str)] = &[
    ("recovery-reno", "recovery = \"reno\"\ncongestion_control = \"reno\""),
    ("recovery-newreno", "recovery = \"newreno\"\ncongestion_control = \"newreno\""),
    ("recovery-newreno-prr-off", "recovery = \"newreno\"\nprr = false\nlimited_transmit = false"),
    ("recovery-sack", "recovery = \"sack\"\nprr = false"),
    ("recovery-sack-tlp", "recovery = \"sack\"\ntail_loss_probe = true"),
    ("recovery-rack", "recovery = \"rack\""),
    ("recovery-rack-tlp", "recovery = \"rack\"\ntail_loss_probe = true"),
    ("recovery-rack-tlp-packets", "recovery = \"rack\"\ntail_loss_probe = true\nwindow_unit = \"packets\""),
    ("recovery-ns3", "recovery = \"ns3\"\nrto = \"ns3\"\ncongestion_control = \"ns3_reno\""),
    (
        "recovery-ns3-writes",
        "recovery = \"ns3\"\nrto = \"ns3\"\ncongestion_control = \"ns3_cubic\"\nsend_buffer = \"128 KiB\"\nwrite_size = \"512 B\"",
    ),
    ("ns2", "recovery = \"newreno\"\ncongestion_control = \"ns2_reno\"\nhandshake = false\nack_every = \"1 p\"\nwindow_unit = \"packets\"\ntimestamps = false"),
    ("rto-rfc", "rto = \"rfc\"\nmin_rto = \"1 s\"\nlimited_transmit = false"),
    ("rto-ns3", "rto = \"ns3\"\nmin_rto = \"1 s\""),
    ("no-timestamps", "timestamps = false"),
    ("no-handshake", "handshake = false\nack_every = \"2 p\""),
    ("pacing", "pacing = true"),
    ("nagle", "nagle = true\nidle_restart = \"initial\""),
    ("window-limit", "window_limit = \"12 p\""),
    ("write-size", "send_buffer = \"64 KiB\"\nwrite_size = \"1000 B\""),
    ("slow-reader", "read_rate = \"1500 kbit/s\"\nreceive_buffer = \"48 KiB\""),
    ("many-acks", "ack_every = \"1 p\"\ndelayed_ack = \"200 ms\"\nquick_acks = \"0 p\""),
    ("few-acks", "ack_every = \"8 p\"\ndelayed_ack = \"10 ms\""),
    ("ecn", "ecn = true"),
    ("ecn-rack", "ecn = true\nrecovery = \"rack\"\ntail_loss_probe = true"),
    ("ecn-no-sack", "ecn = true\nrecovery = \"newreno\""),
];

/// Five hops with cross traffic, and a queue under test at two of them.
const ROUTERS: &str = r#"
duration = "6 s"

[[nodes]]
name = "a"
count = 4

[[nodes]]
name = "z"
count = 4

[[links]]
name = "in"
from = "a"
to = "r0"
rate = "100 Mbit/s"
delay = "1 ms"

[[links]]
name = "l0"
from = "r0"
to = "r1"
rate = "30 Mbit/s"
delay = "2 ms"

[[links]]
name = "l1"
from = "r1"
to = "r2"
rate = "20 Mbit/s"
delay = "3 ms"
queue = "fq_codel"
under_test = true

[[links]]
name = "l2"
from = "r2"
to = "r3"
rate = "40 Mbit/s"
delay = "1 ms"
queue = "codel"

[[links]]
name = "l3"
from = "r3"
to = "r4"
rate = "15 Mbit/s"
delay = "4 ms"
queue = "red"
under_test = true

[[links]]
name = "out"
from = "r4"
to = "z"
rate = "100 Mbit/s"
delay = "1 ms"

[[flows]]
name = "through"
from = "a"
to = "z"

[[flows]]
name = "there"
from = "r1"
to = "r3"
start = "500 ms"

[[flows]]
name = "back"
from = "z"
to = "a"
start = "1 s"
transport = { recovery = "rack", tail_loss_probe = true }

[[flows]]
name = "udp"
from = "a0"
to = "z0"
transport = { kind = "udp" }
traffic = { kind = "poisson", rate = "3 Mbit/s", packet_size = "900 B" }
"#;

/// UDP alone: sources of every kind.
const UDP: &str = r#"
[[flows]]
name = "poisson"
from = "sender"
to = "receiver"
transport = { kind = "udp" }
traffic = { kind = "poisson", rate = "2 Mbit/s", packet_size = "1000 B" }

[[flows]]
name = "cbr"
from = "sender"
to = "receiver"
transport = { kind = "udp" }
traffic = { kind = "cbr", rate = "1500 kbit/s", packet_size = "500 B" }

[[flows]]
name = "back"
from = "receiver"
to = "sender"
transport = { kind = "udp" }
traffic = { kind = "cbr", rate = "2500 kbit/s", packet_size = "300 B" }
"#;

/// As the command finds them: from the folder of scenarios, shortened.
fn shipped(name: &str, duration: &str) -> Result<String, String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../scenarios/{name}.toml"));
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(format!("#--set duration={duration}\n{text}"))
}

fn cases() -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    let default = flows("recovery = \"sack\"");
    for entry in registry::ALL {
        let ecn = flows("ecn = true");
        let scheme = Some(entry.name.to_owned());
        cases.push(Case { scheme, ..case(format!("scheme-{}", entry.name), dumbbell("", "", &ecn)) });
    }
    for name in congestion::names() {
        let more = match name {
            "dctcp" => "\necn = true",
            "prague" => "\necn = true\nect = 1",
            _ => "",
        };
        let text = dumbbell("", "", &flows(&format!("congestion_control = \"{name}\"{more}")));
        let scheme =
            Some("red bandwidth 20Mbit min 15000 max 45000 limit 200000 avpkt 1000 probability 0.1 ecn".to_owned());
        cases.push(case(format!("congestion-{name}"), text.clone()));
        cases.push(Case { scheme, ..case(format!("congestion-{name}-red"), text) });
    }
    for (name, transport) in TRANSPORTS {
        let text = dumbbell("", "", &flows(transport));
        cases.push(case(*name, text.clone()));
        cases.push(Case { scheme: Some("codel ecn".into()), ..case(format!("{name}-codel"), text) });
    }
    // Many small windows: timeouts, retransmissions lost again, short queues of lines.
    for recovery in ["reno", "newreno", "sack", "rack", "ns3"] {
        let transport =
            format!("recovery = \"{recovery}\"\ntail_loss_probe = {}\nack_every = \"2 p\"", recovery == "rack");
        let text = dumbbell("", "", &flows(&transport)).replace("count = 6", "count = 80");
        cases.push(case(format!("crowd-{recovery}"), text.clone()));
        cases.push(Case { scheme: Some("fq_codel".into()), ..case(format!("crowd-{recovery}-fq_codel"), text) });
    }
    let change = "[[changes]]\nat = \"4 s\"\nscheme = \"codel\"\n";
    cases.push(case("changes", dumbbell("", "", &format!("{default}\n{change}"))));
    cases.push(Case {
        series: true,
        ..case("series", dumbbell("series = { interval = \"100 ms\", flows = true }", "", &default))
    });
    cases.push(case("windows", dumbbell("windows = \"500 p\"", "", &default)));
    cases.push(case("device-queue", dumbbell("", "device_queue = \"8 p\"", &default)));
    cases.push(case("overhead", dumbbell("", "overhead = \"38 B\"", &default)));
    cases.push(case("reverse-queue", dumbbell("", "reverse_queue = \"codel\"", &default)));
    cases.push(case("udp", dumbbell("", "", UDP)));
    let shaped = Some("cake bandwidth 15Mbit".to_owned());
    cases.push(Case { scheme: shaped, ..case("shaper", dumbbell("", "", &default)) });
    cases.push(case("routers", ROUTERS.to_owned()));
    cases.push(Case { series: true, ..case("routers-series", ROUTERS.to_owned()) });
    for (name, duration) in [("dumbbell", "15 s"), ("home", "14 s"), ("lan", "5 s"), ("mm1", "20 s"), ("wlan", "24 s")]
    {
        cases.push(case(format!("shipped-{name}"), shipped(name, duration)?));
    }
    let lan = shipped("lan", "4 s")?;
    cases.push(Case { scheme: Some("daqm".into()), ..case("bus-daqm", lan) });
    let wlan = shipped("wlan", "22 s")?;
    let cell = "#--set cells.near.profile=802.11b\n#--set cells.far.profile=802.11b\n";
    cases.push(Case { scheme: Some("fq_codel".into()), ..case("cell-fq_codel", format!("{cell}{wlan}")) });
    Ok(cases)
}

/// FNV-1a of 64 bits.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

fn report(case: &Case) -> Result<String, String> {
    let (mut text, mut sets) = (case.text.as_str(), Vec::new());
    while let Some((set, rest)) = text.strip_prefix("#--set ").and_then(|rest| rest.split_once('\n')) {
        sets.push(set.to_owned());
        text = rest;
    }
    let name = if text.contains("\nname = \"") && case.name.starts_with("shipped") { "" } else { "name = \"case\"\n" };
    let named = text.lines().take_while(|line| !line.starts_with("[[")).any(|line| line.starts_with("name = "));
    let text = if named { text.to_owned() } else { format!("{name}{text}") };
    let document = sojourn_scenario::load(&text, &case.name, &sets).map_err(|e| e.to_string())?;
    let network = document.resolve().map_err(|e| e.to_string())?;
    let scheme = match &case.scheme {
        None => None,
        Some(text) => Some(text.parse::<Config>().map_err(|e| format!("{e:?}"))?),
    };
    let series = case.series.then(|| Span::from_millis(100));
    let options = Options { scheme, series, seed: 7, ..Options::default() };
    let report = Simulation::new(Arc::new(network), options).run().map_err(|e| e.to_string())?;
    let mut value = serde_json::to_value(&report).map_err(|e| e.to_string())?;
    if let Some(fields) = value.as_object_mut() {
        fields.remove("events");
    }
    serde_json::to_string_pretty(&value).map_err(|e| e.to_string())
}

fn run() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("reports FOLDER [PART OF A NAME]")?);
    let wanted = arguments.next().unwrap_or_default();
    std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    for case in cases()?.iter().filter(|case| case.name.contains(&wanted)) {
        let text = report(case).map_err(|e| format!("{}: {e}", case.name))?;
        std::fs::write(folder.join(format!("{}.json", case.name)), &text).map_err(|e| e.to_string())?;
        println!("{:016x} {}", digest(&text), case.name);
    }
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("reports: {message}");
            ExitCode::from(2)
        }
    }
}
