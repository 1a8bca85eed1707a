//! CAKE's words for the link below.

use super::pairs::Pairs;
use alloc::string::ToString;

/// What a word says: bytes to add, framing, and least size, where it says them.
type Link = (i64, Option<&'static str>, Option<u32>);

/// tc-cake(8), "Overhead compensation parameters". Each adds to what stands before it; raw and conservative start anew.
pub(super) const LINKS: &[(&str, Link)] = &[
    ("raw", (0, Some("noatm"), None)),
    ("conservative", (48, Some("atm"), None)),
    ("ipoa-vcmux", (8, Some("atm"), None)),
    ("ipoa-llcsnap", (16, Some("atm"), None)),
    ("bridged-vcmux", (24, Some("atm"), None)),
    ("bridged-llcsnap", (32, Some("atm"), None)),
    ("pppoa-vcmux", (10, Some("atm"), None)),
    ("pppoa-llc", (14, Some("atm"), None)),
    ("pppoe-vcmux", (32, Some("atm"), None)),
    ("pppoe-llcsnap", (40, Some("atm"), None)),
    ("pppoe-ptm", (30, Some("ptm"), None)),
    ("bridged-ptm", (22, Some("ptm"), None)),
    ("docsis", (18, Some("noatm"), Some(64))),
    ("ethernet", (38, None, Some(84))),
    ("ether-vlan", (4, None, None)),
];

fn link(word: &str) -> Option<Link> {
    LINKS.iter().find(|(name, _)| *name == word).map(|(_, link)| *link)
}

pub(super) fn cake(pairs: &mut Pairs) {
    pairs.map("bandwidth", |rate| (rate == "unlimited").then(|| "none".to_string()));
    let mut overhead: Option<i64> = None;
    let (mut framing, mut mpu) = (None, None);
    for (name, value) in &pairs.0 {
        match (name.as_str(), link(name)) {
            ("overhead", _) => overhead = value.trim_end_matches('B').parse().ok(),
            ("framing", _) => framing = Some(value.clone()),
            ("mpu", _) => mpu = Some(value.clone()),
            (_, Some((add, frames, least))) if value == "true" => {
                let before = if matches!(name.as_str(), "raw" | "conservative") { 0 } else { overhead.unwrap_or(0) };
                overhead = Some(before.saturating_add(add));
                framing = frames.map(ToString::to_string).or(framing);
                mpu = least.map(|bytes| bytes.to_string()).or(mpu);
            }
            _ => {}
        }
    }
    if !pairs.0.iter().any(|(name, _)| link(name).is_some()) {
        return;
    }
    pairs.0.retain(|(name, _)| link(name).is_none());
    let said = [("overhead", overhead.map(|bytes| bytes.to_string())), ("framing", framing), ("mpu", mpu)];
    for (name, value) in said {
        if let Some(value) = value {
            pairs.set(name, value);
        }
    }
}
