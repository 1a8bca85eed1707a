//! RED, CHOKe and RED inside SFQ, whose averaging tc describes by a burst.

use super::ewma;
use super::pairs::Pairs;
use alloc::format;
use alloc::string::{String, ToString};
use sojourn_units::{BitRate, Bytes, Packets, UnitError};

/// Words that no text of the library's own has.
const OF_TC: &[&str] = &["burst", "bandwidth", "ewma", "Plog", "Scell_log"];
/// tc-red(8).
const PROBABILITY: &str = "0.02";
/// tc-red(8): "1000 is a good value"; tc-choke's default.
const AVPKT: Bytes = Bytes::new(1000);

/// `min`, `max` and `limit` as whole numbers of one unit.
struct Sizes {
    min: Option<u64>,
    max: Option<u64>,
    limit: Option<u64>,
    /// The mean packet in that unit.
    avpkt: u64,
    /// `B` or `p`.
    unit: &'static str,
}

impl Sizes {
    /// Floyd's recommendations, in whole numbers as tc computes them.
    fn complete(&mut self) {
        self.max = self.max.or(self.min.map(|min| min.saturating_mul(3))).or(self.limit.map(|limit| limit / 4));
        self.min = self.min.or(self.max.map(|max| max / 3));
    }

    /// tc-red(8): "(min+min+max)/(3*avpkt)".
    fn burst(&self) -> Option<u64> {
        let (min, max) = self.min.zip(self.max)?;
        Some(min.saturating_mul(2).saturating_add(max) / self.avpkt.max(1).saturating_mul(3))
    }
}

pub(super) fn red(pairs: &mut Pairs, from_tc: bool) -> Result<(), String> {
    let mut of_tc = from_tc || pairs.has(OF_TC);
    for key in ["min", "max", "limit"] {
        if let Some(bytes) = pairs.get(key).and_then(tc_size) {
            of_tc = true;
            pairs.set(key, format!("{}B", bytes.get()));
        }
    }
    let in_packets = ["min", "max"].iter().any(|key| pairs.get(key).is_some_and(is_packets));
    common(pairs, of_tc, if in_packets { "p" } else { "B" })
}

/// RED inside SFQ's queues, all in bytes; `redflowlimit` is its limit, and `limit` SFQ's own.
pub(super) fn sfq(pairs: &mut Pairs, from_tc: bool) -> Result<(), String> {
    if !pairs.has(&["redflowlimit", "min", "max", "avpkt", "burst", "probability", "ewma", "ecn", "harddrop"]) {
        return Ok(());
    }
    let own = pairs.take("limit");
    pairs.rename("redflowlimit", "limit");
    let limit = pairs.get("limit").map(Bytes::from_tc).transpose().map_err(|e| format!("redflowlimit: {e}"))?;
    let mut of_tc = from_tc || limit.is_some() || pairs.has(OF_TC);
    for key in ["min", "max"] {
        if let Some(bytes) = pairs.get(key).and_then(tc_size) {
            of_tc = true;
            pairs.set(key, format!("{}B", bytes.get()));
        }
    }
    if let Some(limit) = limit {
        pairs.default("max", || format!("{}B", limit.get() / 4));
        let max = pairs.get("max").and_then(|text| text.parse::<Bytes>().ok());
        if max.is_some_and(|max| max > limit) {
            return Err(format!("max is above redflowlimit, which is {limit}; allowed: up to that"));
        }
    }
    common(pairs, of_tc, "B")?;
    pairs.take("limit");
    pairs.take("avpkt");
    if let Some(own) = own {
        pairs.set("limit", own);
    }
    Ok(())
}

pub(super) fn choke(pairs: &mut Pairs, from_tc: bool) -> Result<(), String> {
    let of_tc = from_tc || pairs.has(OF_TC);
    common(pairs, of_tc, "p")
}

/// Bytes in a form that only tc writes: bare, or `b`, `k`, `kb`, `Kb`, ..., which the library's own texts do not use.
fn tc_size(text: &str) -> Option<Bytes> {
    if text.parse::<Bytes>().is_ok() {
        None
    } else {
        Bytes::from_tc(text).ok()
    }
}

fn is_packets(text: &str) -> bool {
    text.parse::<Packets>().is_ok()
}

fn common(pairs: &mut Pairs, of_tc: bool, unit: &'static str) -> Result<(), String> {
    pairs.rename("probability", "max_p");
    let burst = pairs.take("burst");
    let ewma = pairs.take("ewma");
    let plog = pairs.take("Plog");
    if let Some(bandwidth) = pairs.take("bandwidth") {
        BitRate::from_tc(&bandwidth).map_err(|e| format!("bandwidth: {e}"))?;
    }
    pairs.take("Scell_log");
    if !of_tc {
        return Ok(());
    }
    let mut sizes = sizes(pairs, unit)?;
    let complete = !pairs.has(&["preset"]);
    if complete {
        sizes.complete();
        for (key, size) in [("min", sizes.min), ("max", sizes.max)] {
            if let Some(size) = size {
                pairs.default(key, || format!("{size}{}", sizes.unit));
            }
        }
    }
    if let Some(n) = plog {
        let range = sizes.max.zip(sizes.min).map_or(0, |(max, min)| max.saturating_sub(min));
        let bytes = if unit == "p" { range.saturating_mul(AVPKT.get()) } else { range };
        let p = bytes as f64 * power_of_half("Plog", &n)?;
        pairs.default("max_p", || p.to_string());
    }
    if let Some(n) = ewma {
        let w = power_of_half("ewma", &n)?;
        pairs.default("w", || w.to_string());
    }
    let burst = match burst {
        Some(_) if sizes.min.is_none() => return Err("burst is given without min; allowed: both".to_string()),
        Some(burst) => Some(number("burst", &burst)?),
        None if complete => sizes.burst(),
        None => None,
    };
    if let (Some(min), Some(burst), None) = (sizes.min, burst, pairs.get("w")) {
        let min = min as f64 / sizes.avpkt.max(1) as f64;
        let hint = if unit == "B" { " (tc counts bytes here; packets are written \"30p\")" } else { "" };
        let w = ewma::weight(min, burst).map_err(|why| format!("{why}{hint}"))?;
        pairs.set("w", w.to_string());
    }
    if complete {
        pairs.default("max_p", || PROBABILITY.to_string());
    }
    Ok(())
}

/// What the text says in `unit`; sizes in the other unit are left to the algorithm's own checks.
fn sizes(pairs: &Pairs, unit: &'static str) -> Result<Sizes, String> {
    let read = |key: &str| {
        let text = pairs.get(key)?;
        if unit == "p" {
            Packets::from_tc(text).ok().map(Packets::get)
        } else {
            text.parse::<Bytes>().ok().map(Bytes::get)
        }
    };
    let avpkt = match pairs.get("avpkt") {
        Some(text) => Bytes::from_tc(text).map_err(|e: UnitError| format!("avpkt: {e}"))?,
        None => AVPKT,
    };
    let avpkt = if unit == "p" { 1 } else { avpkt.get() };
    Ok(Sizes { min: read("min"), max: read("max"), limit: read("limit"), avpkt, unit })
}

fn number(key: &str, text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{key}: \"{text}\" is refused; allowed: a whole number"))
}

/// 2^-n.
fn power_of_half(key: &str, n: &str) -> Result<f64, String> {
    let n = number(key, n)?;
    let exponent = i32::try_from(n).ok().filter(|n| (0..64).contains(n));
    exponent.map(|n| libm::ldexp(1.0, -n)).ok_or_else(|| format!("{key}: {n} is refused; allowed: 0 to 63"))
}
