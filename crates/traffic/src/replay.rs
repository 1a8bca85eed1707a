//! Recorded packets: a list of times and sizes, from a table, a capture or a program.

use super::emission::{Listed, Run};
use super::{Check, Kind, Source, Traffic};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_capture::{Account, Packets};
use sojourn_document::bounds::{up_to, TIME};
use sojourn_document::Content;
use sojourn_document::{Error, Quantity};
use sojourn_units::Span;
use std::fmt::Write as _;
use std::path::Path;

/// Packets of recorded times and sizes. Give `packets`, or a `file`, whose content takes their place in the canonical form of a
/// scenario, so that results say what they are of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Replay {
    /// File of the packets, found from the scenario's folder. The first line of a table is `time_s,bytes` (or `time_ms,bytes`),
    /// and each other line has the time since the start and the payload of a packet. Of a capture (`.pcap`, `.pcapng`) every IP
    /// packet is taken in the order of time, the first at the flow's start, with a payload of 28 B less than its length, which is
    /// the header of UDP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Packets, each as nanoseconds since the one before (or the flow's start), a colon, and bytes of payload; `20000000:160x50`
    /// stands for 50 packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<String>,
    /// What became of the frames of the capture that `packets` are from. Sojourn writes it when it reads a capture, and reports
    /// show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<Captured>,
    /// Time after which the packets start again; without it they are sent once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<Quantity<Span>>,
}

/// What became of the frames of a capture.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Captured {
    /// Name of the file.
    pub file: String,
    /// Its frames: those that were taken, and those that were skipped, by reason.
    pub account: Account,
    /// Packets longer than 65,535 B, which segmentation offload makes. Each is sent as several at the same time.
    #[serde(default, skip_serializing_if = "none")]
    pub split: u64,
    /// Packets shorter than 29 B, which are sent with 29 B: a payload has one byte or more.
    #[serde(default, skip_serializing_if = "none")]
    pub raised: u64,
}

fn none(count: &u64) -> bool {
    *count == 0
}

/// Packets of a list.
const PACKETS: u64 = 10_000_000;
/// Headers of IPv4 and UDP.
const HEADERS: u64 = 28;
/// Longest packet of IPv4.
const LONGEST: u64 = 65_535;

impl Replay {
    /// Takes the content of the file that it names.
    ///
    /// # Errors
    /// The line that is wrong, and what is allowed.
    pub fn take(&mut self, content: &Content) -> Result<(), String> {
        let (packets, capture) = match content {
            Content::Text(text) => (listed(text)?, None),
            Content::Capture(path) => {
                let (packets, capture) = captured(path)?;
                (packets, Some(capture))
            }
        };
        (self.packets, self.capture, self.file) = (Some(packets), capture, None);
        Ok(())
    }
}

impl Kind for Replay {
    const TITLE: &'static str = "recorded packets";
    const EXAMPLE: &'static str = "packets = \"0:1200 20000000:160x49\", period = \"1 s\"";

    fn resolve(&self, check: &Check<'_>) -> Result<Traffic, Error> {
        if let Some(file) = &self.file {
            return Err(check.refuse("file", format!("is {file:?}, which has not been read; allowed: `packets`")));
        }
        let Some(text) = &self.packets else {
            return Err(Error::new(check.path.clone(), "has neither `packets` nor `file`; allowed: one of them"));
        };
        let most = check.largest();
        let (runs, length) = parse(text, most).map_err(|why| check.refuse("packets", why))?;
        let rest = match self.period {
            None => None,
            Some(Quantity(period)) => {
                up_to(period, &TIME, || check.path.then("period"))?;
                if period < length || period.is_zero() {
                    let what = format!("is {period}; allowed: above 0 s, and not before the last packet, {length}");
                    return Err(check.refuse("period", what));
                }
                Some(period.saturating_sub(length))
            }
        };
        Ok(Traffic::Packets(Source::listed(Listed::new(runs, length, rest))))
    }
}

/// Reads packets, of `most` bytes each, and the time of the last one.
fn parse(text: &str, most: u64) -> Result<(Vec<Run>, Span), String> {
    let (mut runs, mut length, mut count) = (Vec::new(), Span::ZERO, 0_u64);
    for (place, token) in (1..).zip(text.split_ascii_whitespace()) {
        let refuse = |why: String| Err(format!("entry {place}, {token:?}: {why}"));
        let parts = token.split_once(':').map(|(gap, rest)| (gap, rest.split_once('x').unwrap_or((rest, "1"))));
        let numbers = parts.and_then(|(gap, (bytes, times))| {
            Some((gap.parse::<u64>().ok()?, bytes.parse::<u64>().ok()?, times.parse::<u64>().ok()?))
        });
        let Some((gap, bytes, times)) = numbers else {
            return refuse(
                "is no packet; allowed: NANOSECONDS:BYTES, as in 20000000:160, or 20000000:160x50".to_owned(),
            );
        };
        if !(1..=most).contains(&bytes) {
            return refuse(format!("is a packet of {bytes} B; allowed: 1 B to {most} B"));
        }
        count = count.saturating_add(times);
        if times == 0 || count > PACKETS {
            return refuse(format!(
                "makes {count} packets in all; allowed: 1 or more an entry, up to {PACKETS} in all"
            ));
        }
        let all = gap.saturating_mul(times).saturating_add(length.nanos());
        if all > TIME.most.nanos() {
            return refuse(format!("ends at {}; allowed: up to {}", Span::from_nanos(all), TIME.most));
        }
        length = Span::from_nanos(all);
        runs.push(Run { gap: Span::from_nanos(gap), bytes: bytes as u32, times });
    }
    if runs.is_empty() {
        return Err("has no packet; allowed: one or more".to_owned());
    }
    Ok((runs, length))
}

/// The packets of a table of times and sizes, as the key `packets` has them.
///
/// # Errors
/// The line that is wrong, and what is allowed.
pub fn listed(text: &str) -> Result<String, String> {
    Ok(written(&table(text)?))
}

/// Those as nanoseconds and bytes.
fn table(text: &str) -> Result<Vec<(u64, u64)>, String> {
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let head = lines.next().map(|(_, line)| line.split(',').map(str::trim).collect::<Vec<_>>());
    let scale = match head.as_deref() {
        Some(["time_s", "bytes"]) => 1e9,
        Some(["time_ms", "bytes"]) => 1e6,
        _ => return Err("line 1: is not the head of a table; allowed: time_s,bytes or time_ms,bytes".to_owned()),
    };
    let mut found: Vec<(u64, u64)> = Vec::new();
    for (number, line) in lines {
        let cells = line
            .split_once(',')
            .and_then(|(time, bytes)| Some((time.trim().parse::<f64>().ok()?, bytes.trim().parse::<u64>().ok()?)));
        let Some((time, bytes)) = cells else {
            return Err(format!("line {number}: {line:?} is no packet; allowed: a time, a comma, bytes of payload"));
        };
        if !(0.0..=TIME.most.seconds() * 1e9).contains(&(time * scale)) {
            return Err(format!("line {number}: the time is {time}; allowed: 0 s to {}", TIME.most));
        }
        let at = libm::round(time * scale) as u64;
        if let Some((before, _)) = found.last().filter(|(before, _)| *before > at) {
            let before = *before as f64 / scale;
            return Err(format!(
                "line {number}: the time falls from {before} to {time}; allowed: times that do not fall"
            ));
        }
        found.push((at, bytes));
    }
    if found.is_empty() {
        return Err("has no packet; allowed: one or more".to_owned());
    }
    Ok(found)
}

/// As the key `packets` has them.
fn written(packets: &[(u64, u64)]) -> String {
    let mut text = String::new();
    let (mut before, mut last, mut times) = (0, None, 0_u64);
    let mut put = |(gap, bytes): (u64, u64), times: u64| {
        let space = if text.is_empty() { "" } else { " " };
        // Writing to a text does not fail.
        let _ = match times {
            1 => write!(text, "{space}{gap}:{bytes}"),
            _ => write!(text, "{space}{gap}:{bytes}x{times}"),
        };
    };
    for (at, bytes) in packets {
        let now = (at - before, *bytes);
        before = *at;
        if last == Some(now) {
            times += 1;
        } else {
            last.into_iter().for_each(|last| put(last, times));
            (last, times) = (Some(now), 1);
        }
    }
    last.into_iter().for_each(|last| put(last, times));
    text
}

/// The IP packets of a capture in the order of time, as the key `packets` has them, and what became of its frames.
///
/// # Errors
/// The file cannot be read, or has no IP packet.
pub fn captured(path: &Path) -> Result<(String, Captured), String> {
    let mut packets = Packets::open(path).map_err(|error| error.what)?;
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (mut found, mut capture) = (Vec::new(), Captured { file, ..Captured::default() });
    while let Some(packet) = packets.take().map_err(|error| error.what)? {
        let at = packet.at.nanos();
        capture.split += u64::from(packet.bytes > LONGEST);
        capture.raised += u64::from(packet.bytes <= HEADERS);
        let mut left = packet.bytes;
        // Bound: the bytes of a frame.
        while left > LONGEST {
            found.push((at, LONGEST - HEADERS));
            left -= LONGEST;
        }
        found.push((at, left.saturating_sub(HEADERS).max(1)));
        if found.len() as u64 > PACKETS {
            return Err(format!("has more than {PACKETS} packets; allowed: up to that"));
        }
    }
    capture.account = packets.account().clone();
    if capture.account.out_of_order > 0 {
        found.sort_by_key(|(at, _)| *at);
    }
    let Some((first, _)) = found.first().copied() else {
        let skipped: Vec<String> =
            capture.account.skipped.iter().map(|(why, count)| format!("{why} {count}")).collect();
        let why = if skipped.is_empty() { String::new() } else { format!(" (skipped: {})", skipped.join(", ")) };
        return Err(format!("has no IP packet{why}; allowed: one or more"));
    };
    found.iter_mut().for_each(|(at, _)| *at -= first);
    Ok((written(&found), capture))
}

#[cfg(test)]
mod tests {
    use super::super::Emission;
    use super::*;

    #[test]
    fn a_table_becomes_packets_with_their_gaps() {
        let mut replay = Replay {
            file: Some("x".to_owned()),
            packets: None,
            capture: None,
            period: Some(Quantity(Span::from_secs(1))),
        };
        replay.take(&Content::from("time_ms,bytes\n0,100\n20,160\n40,160\n60,160\n75,9\n")).expect("a table");
        assert_eq!(replay.packets.as_deref(), Some("0:100 20000000:160x3 15000000:9"));
        let (runs, length) = parse(replay.packets.as_deref().unwrap_or_default(), 65_507).expect("packets");
        assert_eq!(length, Span::from_millis(75));
        let mut listed = Listed::new(runs, length, Some(Span::from_millis(925)));
        let mut now = 0;
        let times: Vec<(u64, u32)> = (0..7)
            .map(|_| listed.next())
            .map(|Emission { gap, bytes }| {
                now += gap.nanos() / 1_000_000;
                (now, bytes)
            })
            .collect();
        assert_eq!(times, [(0, 100), (20, 160), (40, 160), (60, 160), (75, 9), (1000, 100), (1020, 160)]);
    }

    #[test]
    fn bad_lists_have_one_error_with_its_place() {
        for (text, why) in [
            ("", "line 1: is not the head"),
            ("time_s,bytes\n", "has no packet"),
            ("time_s,bytes\n2,10\n1,10\n", "line 3: the time falls from 2 to 1"),
            ("time_s,bytes\n-1,10\n", "line 2: the time is -1"),
            ("time_s,bytes\n1\n", "line 2: \"1\" is no packet"),
        ] {
            let error = table(text).expect_err(text);
            assert!(error.starts_with(why), "{error}");
        }
        for (text, why) in [
            ("", "has no packet"),
            ("1:10 5", "entry 2, \"5\": is no packet"),
            ("1:0", "entry 1, \"1:0\": is a packet of 0 B"),
            ("1:10x0", "entry 1, \"1:10x0\": makes 0 packets"),
            ("99999999999999999:1", "entry 1, \"99999999999999999:1\": ends at"),
        ] {
            let error = parse(text, 1000).expect_err(text);
            assert!(error.starts_with(why), "{error}");
        }
    }
}
