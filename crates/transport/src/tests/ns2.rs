//! What ns-2's Reno sends when given packets are lost, to the packet.

use super::*;
use crate::{ReceiverConfig, RtoRule};

/// As `crosscheck/ns2/reno.tcl` prints it: runs of numbers with the millisecond, lost packets left out.
fn sends(lost: &[u64]) -> String {
    let config = Config {
        recovery: Recovery::Reno,
        prr: false,
        timestamps: false,
        mss: Bytes::new(1000),
        rto: RtoRule::Rfc6298,
        // ns-2 sends one packet before the first acknowledgement (`delay_growth_`).
        initial_window: Packets::new(1),
        window_limit: Some(Bytes::new(100_000)),
        ..bulk("ns2_reno")
    };
    let receiver = ReceiverConfig { ack_every: Packets::new(1), sack: false, ..ReceiverConfig::default() };
    let mut path = Path::new(config, receiver, ms(100));
    let mut left = lost.to_vec();
    path.fate = Box::new(move |_, data| match left.iter().position(|number| number * 1000 == data.seq) {
        Some(found) => {
            left.remove(found);
            Fate::Drop
        }
        None => Fate::Deliver,
    });
    path.run(at_ms(2_950));
    let mut left = lost.to_vec();
    let mut runs: Vec<(u64, u64, u64)> = Vec::new();
    for (at, data) in &path.sent {
        let (at, number) = (at.nanos() / 1_000_000, data.seq / 1000);
        if let Some(found) = left.iter().position(|lost| *lost == number) {
            left.remove(found);
            continue;
        }
        match runs.last_mut() {
            Some((same, _, last)) if *same == at && *last + 1 == number => *last = number,
            _ => runs.push((at, number, number)),
        }
    }
    let texts = runs.iter().map(
        |(at, first, last)| {
            if first == last {
                format!("{at}:{first}")
            } else {
                format!("{at}:{first}-{last}")
            }
        },
    );
    texts.collect::<Vec<_>>().join(" ")
}

#[test]
fn sends_what_ns2_sends() {
    let mut cases = 0;
    for (case, theirs) in vectors(include_str!("ns2_reno.txt")) {
        let lost = case.strip_prefix("lost ").unwrap();
        assert_eq!(sends(&numbers(lost)), theirs, "{case}");
        cases += 1;
    }
    assert_eq!(cases, 7);
}
