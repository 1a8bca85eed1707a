//! What ns-3's senders send when given segments are lost, to the byte.

use super::*;
use crate::{ReceiverConfig, RtoRule};
use std::num::NonZeroU32;

const NS3_MSS: u64 = 1446;

/// As `crosscheck/ns3/recovery.cc` prints it.
fn sends(congestion_control: &str, write: u32, lost: Vec<u64>) -> String {
    let config = Config {
        mss: Bytes::new(NS3_MSS),
        recovery: Recovery::Ns3,
        rto: RtoRule::Ns3,
        min_rto: ms(1000),
        send_buffer: Some(Bytes::new(131_072)),
        write_at_once: true,
        write_size: NonZeroU32::new(write),
        ..bulk(congestion_control)
    };
    let receiver = ReceiverConfig {
        ack_delay: ms(200),
        quick_acks: Packets::new(1),
        buffer: Bytes::new(1 << 20),
        mss: Bytes::new(NS3_MSS),
        ..ReceiverConfig::default()
    };
    let mut path = Path::new(config, receiver, ms(93));
    path.fate = Box::new(move |number, _| if lost.contains(&(number as u64)) { Fate::Drop } else { Fate::Deliver });
    path.run(at_ms(2_500));
    // Millisecond, first byte, end, and whether the last segment was a full one.
    let mut runs: Vec<(u64, u64, u64, bool)> = Vec::new();
    for (at, data) in &path.sent {
        let (ms, full) = (at.nanos() / 1_000_000, u64::from(data.len) == NS3_MSS);
        match runs.last_mut() {
            Some((same, _, end, open)) if *same == ms && *end == data.seq && *open => {
                (*end, *open) = (data.end(), full)
            }
            _ => runs.push((ms, data.seq, data.end(), full)),
        }
    }
    runs.iter().map(|(ms, first, end, _)| format!("{ms}:{first}-{end}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn sends_what_ns3_sends() {
    let mut cases = 0;
    for (case, theirs) in vectors(include_str!("ns3_recovery.txt")) {
        let (tcp, rest) = case.split_once(' ').unwrap();
        let mut words = numbers(rest);
        let name = if tcp == "TcpCubic" { "ns3_cubic" } else { "ns3_reno" };
        let write = words.remove(0) as u32;
        cases += 1;
        assert_eq!(sends(name, write, words), theirs, "{case}");
    }
    assert_eq!(cases, 21);
}
