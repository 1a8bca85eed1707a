//! Every key of a direction changes what becomes of frames, or is told to have no effect.

use sojourn_device::config::{self, DirectionTable};
use sojourn_device::daemon;
use sojourn_device::port::Writer;
use sojourn_units::Instant;
use std::path::Path;

/// Keys that act on what a replay does not have.
const OF_THE_HOST: &[(&str, &str)] = &[
    ("burst", "lateness of the packet thread, of which it makes up so much"),
    ("stale_after", "a port without room, see back_pressure.rs"),
];

/// A key, what it is set to, and a key that gives way to it.
const CASES: &[(&str, &str, &str)] = &[
    ("scheme", "\"codel\"", "scheme"),
    ("rate", "\"3 Mbit/s\"", "rate"),
    ("trace", "{ rates = [[\"0 s\", \"1 Mbit/s\"], [\"100 ms\", \"3 Mbit/s\"]] }", "rate"),
    ("framing", "\"ethernet\"", ""),
    ("overhead", "\"24 B\"", ""),
    ("delay", "\"10 ms\"", ""),
    ("delays", "{ \"10.0.0.0/8\" = \"20 ms\" }", ""),
    ("loss", "\"5%\"", ""),
    ("jitter", "\"3 ms\"", ""),
    ("duplicate", "\"5%\"", ""),
    ("changes", "[{ at = \"100 ms\", rate = \"1 Mbit/s\" }]", ""),
];

const BASE: [(&str, &str); 2] = [("scheme", "\"pfifo limit 20p\""), ("rate", "\"2 Mbit/s\"")];

/// UDP in IPv4 from one of four hosts.
fn frame(n: u8) -> Vec<u8> {
    let bytes = 100 + 40 * usize::from(n % 20);
    let mut frame = vec![0; bytes];
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[14] = 0x45;
    frame[16..18].copy_from_slice(&((bytes - 14) as u16).to_be_bytes());
    frame[22..24].copy_from_slice(&[64, 17]);
    frame[26..34].copy_from_slice(&[10, 0, 0, n % 4, 10, 0, 1, 1]);
    frame
}

/// What a replay reports and what it sends, with these lines in `[a_to_b]`.
fn replayed(folder: &Path, lines: &[(&str, &str)]) -> (String, Vec<u8>) {
    let [input, output] = ["in.pcap", "out.pcap"].map(|name| folder.join(name));
    let table: String = lines.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
    let text = format!(
        "[ports.a]\nback_end = \"pcap\"\nread = {input:?}\n[ports.b]\nback_end = \"pcap\"\nwrite = {output:?}\n\
         [windows]\nstore = \"none\"\n[run]\nseed = 1\n[a_to_b]\n{table}"
    );
    let config = config::parse(&text, Path::new("d.toml")).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(config.warnings(), Vec::<String>::new());
    let outcome = daemon::replay(&config).unwrap();
    let counted = format!("{:?} {:?}", outcome.took_s, serde_json::to_value(&outcome).unwrap()["queues"]);
    (counted, std::fs::read(output).unwrap())
}

#[test]
fn every_key_of_a_direction_changes_what_becomes_of_frames() {
    let folder = std::env::temp_dir().join(format!("sojourn-settings-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut writer = Writer::create(&folder.join("in.pcap")).unwrap();
    // 300 frames of 480 B on average within 0.3 s: 3.8 Mbit/s.
    for n in 0..300_u64 {
        writer.write(Instant::from_nanos(n * 1_000_000), &frame(n as u8)).unwrap();
    }
    writer.finish().unwrap();
    let plain = replayed(&folder, &BASE);
    let schema = schemars::schema_for!(DirectionTable).to_value();
    for key in schema["properties"].as_object().unwrap().keys() {
        if OF_THE_HOST.iter().any(|(name, _)| name == key) {
            continue;
        }
        let (key, value, instead) = CASES.iter().find(|(name, ..)| name == key).unwrap_or_else(|| {
            panic!("{key}: CASES has no value with which it changes a replay; what cannot act belongs to `warnings`")
        });
        let mut lines: Vec<(&str, &str)> = BASE.into_iter().filter(|(name, _)| name != instead).collect();
        lines.push((key, value));
        assert!(replayed(&folder, &lines) != plain, "{key} changes nothing");
    }
    let _ = std::fs::remove_dir_all(&folder);
}
