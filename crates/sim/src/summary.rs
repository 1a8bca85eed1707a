//! Summaries of traces and captures, which are read as streams: memory grows with the number of windows alone.

use sojourn_aqm::link::rates::{Entry, Lines, Summary, Totals};
use sojourn_capture::{Account, Error, Packets};
use sojourn_units::{Instant, Span};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Bytes of a line of a trace.
const LINE: u64 = 1 << 16;

/// A trace, line by line.
struct Reading {
    lines: Lines,
    summary: Summary,
    kind: &'static str,
}

impl Reading {
    fn new(window: Span) -> Self {
        Self { lines: Lines::default(), summary: Summary::new(window), kind: "rates" }
    }

    fn take(&mut self, line: &str) -> Result<(), String> {
        let Some(entry) = self.lines.take(line)? else { return Ok(()) };
        self.kind = match entry {
            Entry::Opportunity(_) => "opportunities",
            Entry::Rate(..) => "rates",
        };
        self.summary.entry(entry)
    }

    fn end(self, hold: bool) -> Result<(&'static str, Totals), String> {
        self.lines.end()?;
        Ok((self.kind, self.summary.trace(!hold)?))
    }
}

/// Kind (`opportunities` or `rates`) and totals of the text of a trace over windows of this length. `hold`: the last rate of a
/// table holds.
///
/// # Errors
/// The line that is wrong, and what is allowed.
pub fn of_text(text: &str, hold: bool, window: Span) -> Result<(&'static str, Totals), String> {
    let mut reading = Reading::new(window);
    text.lines().try_for_each(|line| reading.take(line))?;
    reading.end(hold)
}

/// Those of a trace in a file.
///
/// # Errors
/// The file cannot be read, or as for its text.
pub fn of_file(path: &Path, hold: bool, window: Span) -> Result<(&'static str, Totals), String> {
    let failed = |error: std::io::Error| format!("cannot be read: {error}");
    let mut input = BufReader::with_capacity(1 << 18, File::open(path).map_err(failed)?);
    let (mut reading, mut line) = (Reading::new(window), Vec::new());
    for number in 1_u64.. {
        line.clear();
        input.by_ref().take(LINE).read_until(b'\n', &mut line).map_err(failed)?;
        if line.is_empty() {
            break;
        }
        if line.len() as u64 == LINE {
            return Err(format!("line {number}: is longer than {LINE} B; allowed: a trace"));
        }
        let text = std::str::from_utf8(&line).map_err(|_| format!("line {number}: is not UTF-8 text"))?;
        reading.take(text)?;
    }
    reading.end(hold)
}

/// Those of the IP packets of a capture in the order of time, and what became of its frames.
///
/// # Errors
/// The file cannot be read, or there are too many windows.
pub fn of_capture(path: &Path, window: Span) -> Result<(Totals, Account), String> {
    let said = |error: Error| error.to_string();
    let (mut packets, mut summary) = (Packets::open(path).map_err(said)?, Summary::new(window));
    let mut first: Option<Instant> = None;
    while let Some(packet) = packets.take().map_err(said)? {
        let since = packet.at.since(*first.get_or_insert(packet.at));
        summary.packet(since, packet.bytes).map_err(|why| format!("{}: {why}", path.display()))?;
        if packets.account().out_of_order > 0 {
            return in_order(path, window);
        }
    }
    Ok((summary.capture(), packets.account().clone()))
}

/// Of a capture whose times fall somewhere: its packets are put into order in memory.
fn in_order(path: &Path, window: Span) -> Result<(Totals, Account), String> {
    let said = |error: Error| error.to_string();
    let mut packets = Packets::open(path).map_err(said)?;
    let mut found: Vec<(Instant, u32)> = Vec::new();
    while let Some(packet) = packets.take().map_err(said)? {
        found.push((packet.at, u32::try_from(packet.bytes).unwrap_or(u32::MAX)));
    }
    found.sort_unstable_by_key(|(at, _)| *at);
    let first = found.first().map_or(Instant::ZERO, |(at, _)| *at);
    let mut summary = Summary::new(window);
    for (at, bytes) in found {
        let summed = summary.packet(at.since(first), u64::from(bytes));
        summed.map_err(|why| format!("{}: {why}", path.display()))?;
    }
    Ok((summary.capture(), packets.account().clone()))
}
