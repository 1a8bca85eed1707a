//! CAKE's words for the link below.

use super::pairs::Pairs;
use crate::link::framing::Word;
use crate::Value;
use alloc::string::ToString;

pub(super) fn cake(pairs: &mut Pairs) {
    pairs.map("bandwidth", |rate| (rate == "unlimited").then(|| "none".to_string()));
    let mut overhead: Option<i64> = None;
    let (mut framing, mut mpu) = (None, None);
    for (name, value) in &pairs.0 {
        match (name.as_str(), Word::find(name)) {
            ("overhead", _) => overhead = value.trim_end_matches('B').parse().ok(),
            ("framing", _) => framing = Some(value.clone()),
            ("mpu", _) => mpu = Some(value.clone()),
            (_, Some(word)) if value == "true" => {
                let before = if word.begins_anew() { 0 } else { overhead.unwrap_or(0) };
                overhead = Some(before.saturating_add(i64::from(word.adds)));
                framing = word.layer.map(|layer| layer.print()).or(framing);
                mpu = word.mpu.map(|bytes| bytes.to_string()).or(mpu);
            }
            _ => {}
        }
    }
    if !pairs.0.iter().any(|(name, _)| Word::find(name).is_some()) {
        return;
    }
    pairs.0.retain(|(name, _)| Word::find(name).is_none());
    let said = [("overhead", overhead.map(|bytes| bytes.to_string())), ("framing", framing), ("mpu", mpu)];
    for (name, value) in said {
        if let Some(value) = value {
            pairs.set(name, value);
        }
    }
}
