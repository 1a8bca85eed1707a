//! What a trace or a capture comes to, without keeping its entries in memory.

use super::{Entry, Opportunities, Steps, BYTE, MS};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use sojourn_units::{BitRate, Span};

/// Windows of a summary: each is in memory.
const WINDOWS: u64 = 10_000_000;

/// Sums up entries one after another.
#[derive(Clone, Debug)]
pub struct Summary {
    /// In nanoseconds.
    window: u64,
    /// Bits of each window.
    bits: Vec<f64>,
    /// Bit nanoseconds of all.
    sum: u128,
    kind: Kind,
    /// The longest time so far in which nothing could be sent, or came.
    gap: u64,
    /// When the first entry was that sends something.
    first: Option<u64>,
    /// When the last entry was.
    last: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Single opportunities or packets.
    Points,
    /// Rates: the time of the entry before the last, the last rate, and since when it has been 0.
    Rates { before: Option<u64>, rate: u64, idle: Option<u64> },
}

/// What was summed up.
#[derive(Clone, Debug, PartialEq)]
pub struct Totals {
    /// The period, or the time of the last change where that holds, or from the first to the last packet.
    pub length: Span,
    /// The mean rate over this length; 0 where it is 0.
    pub mean: BitRate,
    /// Bits of each window that is whole; of one, the whole length, where none is.
    pub bits: Vec<f64>,
    /// The length of a window, or of the one that is not whole.
    pub window: Span,
    /// The longest time without an opportunity or a packet, or with a rate of 0; over the end as well where a trace repeats.
    pub gap: Span,
}

impl Summary {
    /// Nothing yet, to be summed up over windows of this length.
    #[must_use]
    pub fn new(window: Span) -> Self {
        let window = window.nanos().max(1);
        Self { window, bits: Vec::new(), sum: 0, kind: Kind::Points, gap: 0, first: None, last: None }
    }

    /// The next entry of a trace, as [`super::Lines`] reads it.
    ///
    /// # Errors
    /// Too many windows.
    pub fn entry(&mut self, entry: Entry) -> Result<(), String> {
        match entry {
            Entry::Opportunity(ms) => {
                let at = ms.saturating_mul(MS);
                self.point(at, u128::from(Opportunities::BYTES) * BYTE)?;
                // An opportunity ends what it belongs to: at the edge of two windows it is the first one's.
                match at.checked_sub(1) {
                    Some(before) => self.add(before / self.window, f64::from(Opportunities::BYTES) * 8.0),
                    None => Ok(()),
                }
            }
            Entry::Rate(at, rate) => self.rate(at.nanos(), rate.bit_s()),
        }
    }

    /// The next packet of a capture, so long after the first; not before the last one.
    ///
    /// # Errors
    /// Too many windows.
    pub fn packet(&mut self, at: Span, bytes: u64) -> Result<(), String> {
        let at = at.nanos();
        self.point(at, u128::from(bytes) * BYTE)?;
        self.add(at / self.window, bytes as f64 * 8.0)
    }

    fn point(&mut self, at: u64, bit_ns: u128) -> Result<(), String> {
        self.sum += bit_ns;
        if let Some(last) = self.last {
            self.gap = self.gap.max(at.saturating_sub(last));
        }
        self.first = self.first.or(Some(at));
        self.last = Some(at);
        self.few(at / self.window)
    }

    fn rate(&mut self, at: u64, next: u64) -> Result<(), String> {
        let (before, mut idle) = match self.kind {
            Kind::Rates { rate, idle, .. } => {
                let last = self.last.unwrap_or_default();
                self.hold(last, at, rate)?;
                (Some(last), idle)
            }
            Kind::Points => (None, None),
        };
        if next > 0 {
            self.first = self.first.or(Some(at));
            if let Some(since) = idle.take() {
                self.gap = self.gap.max(at - since);
            }
        } else {
            idle = idle.or(Some(at));
        }
        self.kind = Kind::Rates { before, rate: next, idle };
        self.last = Some(at);
        Ok(())
    }

    /// A rate that holds from one time to another.
    ///
    /// Bound: the windows.
    fn hold(&mut self, mut from: u64, until: u64, rate: u64) -> Result<(), String> {
        self.sum += u128::from(rate) * u128::from(until - from);
        self.few(until / self.window)?;
        while from < until {
            let place = from / self.window;
            let end = ((place + 1).saturating_mul(self.window)).min(until);
            self.add(place, rate as f64 * (end - from) as f64 / 1e9)?;
            from = end;
        }
        Ok(())
    }

    fn few(&self, windows: u64) -> Result<(), String> {
        if windows > WINDOWS {
            let window = Span::from_nanos(self.window);
            return Err(format!("has {windows} windows of {window}; allowed: up to {WINDOWS}, so longer ones"));
        }
        Ok(())
    }

    fn add(&mut self, place: u64, bits: f64) -> Result<(), String> {
        self.few(place)?;
        let place = place as usize;
        if self.bits.len() <= place {
            self.bits.resize(place + 1, 0.0);
        }
        if let Some(window) = self.bits.get_mut(place) {
            *window += bits;
        }
        Ok(())
    }

    /// Of a trace. `repeats` is of tables of rates.
    ///
    /// # Errors
    /// It has no entry, or none that sends something.
    pub fn trace(mut self, repeats: bool) -> Result<Totals, String> {
        if self.last.is_none() {
            return Err("has no rate; allowed: at least one".into());
        }
        let Kind::Rates { before, rate, idle } = self.kind else {
            Opportunities::ends(self.last.map(|last| last / MS))?;
            // It repeats: from the last opportunity, which ends the period, to the first.
            self.gap = self.gap.max(self.first.unwrap_or_default());
            return Ok(self.totals());
        };
        let last = self.last.unwrap_or_default();
        if repeats {
            let end = Steps::repeated(before, last);
            self.hold(last, end, rate)?;
            self.last = Some(end);
            // An outage at the end goes on at the start.
            let at_end = idle.map_or(0, |since| end - since);
            self.gap = self.gap.max(at_end + self.first.unwrap_or_default());
        } else if let Some(since) = idle {
            self.gap = self.gap.max(last - since);
        }
        if self.first.is_none() {
            return Err("has no rate above 0; allowed: at least one".into());
        }
        let mut totals = self.totals();
        if totals.length.is_zero() {
            totals.mean = BitRate::from_bit_s(rate);
            totals.bits = [rate as f64 * totals.window.seconds()].into();
        }
        Ok(totals)
    }

    /// Of a capture.
    #[must_use]
    pub fn capture(self) -> Totals {
        self.totals()
    }

    fn totals(mut self) -> Totals {
        let length = self.last.unwrap_or_default();
        let mean = self.sum.checked_div(u128::from(length)).unwrap_or_default();
        let mean = BitRate::from_bit_s(u64::try_from(mean).unwrap_or(u64::MAX));
        let whole = length / self.window;
        let window = if whole > 0 { self.window } else { length.max(1) };
        if whole > 0 {
            self.bits.resize(whole as usize, 0.0);
        } else {
            self.bits = [self.sum as f64 / 1e9].into();
        }
        Totals {
            length: Span::from_nanos(length),
            mean,
            bits: self.bits,
            window: Span::from_nanos(window),
            gap: Span::from_nanos(self.gap),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Lines, Rates};
    use super::*;
    use sojourn_units::Instant;

    fn summed(text: &str, window_ms: u64, repeats: bool) -> Totals {
        let (mut lines, mut summary) = (Lines::default(), Summary::new(Span::from_millis(window_ms)));
        for line in text.lines() {
            if let Some(entry) = lines.take(line).expect("a line") {
                summary.entry(entry).expect("few windows");
            }
        }
        summary.trace(repeats).expect("a trace")
    }

    #[test]
    fn a_summary_is_what_the_trace_offers() {
        for (text, repeats) in [
            ("0\n3\n3\n10\n20\n27\n", true),
            ("time_ms,rate_mbit_s\n0,8\n5,0\n7,2.5\n31,1\n", true),
            ("time_ms,rate_mbit_s\n0,0\n5,8\n17,2.5\n31,0\n", true),
            ("time_ms,rate_mbit_s\n0,3\n10,0\n25,1\n", false),
        ] {
            let (rates, totals) = (Rates::read(text, repeats, None).expect("a trace"), summed(text, 5, repeats));
            assert_eq!((totals.length, totals.mean), (rates.length(), rates.mean()), "{text}");
            assert_eq!(totals.bits.len() as u64, rates.length().nanos() / 5_000_000);
            let offered = |window: usize| rates.offered_bits(Instant::from_nanos(window as u64 * 5_000_000));
            for (place, bits) in totals.bits.iter().enumerate() {
                let expected = offered(place + 1) - offered(place);
                assert!((bits - expected).abs() < 1e-6, "{text}: window {place}: {bits}, not {expected}");
            }
        }
    }

    #[test]
    fn the_longest_gap_is_exact_and_goes_over_the_end() {
        // 6,000 s, then 3 ms of nothing; the last rate holds 997 ms, as the one before it does.
        let text = "time_s,rate_mbit_s\n0,5\n6000,0\n6000.003,5\n6001,5\n";
        let totals = summed(text, 100, true);
        assert_eq!((totals.gap, totals.length), (Span::from_millis(3), Span::from_millis(6_001_997)));
        // Nothing for the last 4 ms, as for the 4 ms before, and for the first 2 ms: 6 ms, or 0 ms where the last holds and
        // its end is not known.
        let text = "time_ms,rate_mbit_s\n0,0\n2,5\n6,0\n";
        assert_eq!(summed(text, 1, true).gap, Span::from_millis(6));
        assert_eq!(summed(text, 1, false).gap, Span::from_millis(2));
        // Of opportunities: 7 ms from 3 to 10; then 8 from the end at 10 to 18.
        assert_eq!(summed("1\n3\n10\n", 1, true).gap, Span::from_millis(7));
        assert_eq!(summed("8\n10\n", 1, true).gap, Span::from_millis(8));
    }

    #[test]
    fn a_capture_counts_from_its_first_packet() {
        let mut summary = Summary::new(Span::from_millis(10));
        for (ms, bytes) in [(0, 1500), (10, 500), (12, 100), (30, 1500)] {
            summary.packet(Span::from_millis(ms), bytes).expect("few windows");
        }
        let totals = summary.capture();
        // 3600 B in 30 ms.
        assert_eq!((totals.length, totals.mean), (Span::from_millis(30), BitRate::from_bit_s(960_000)));
        assert_eq!((totals.bits, totals.gap), ([12_000.0, 4800.0, 0.0].into(), Span::from_millis(18)));
        let mut summary = Summary::new(Span::from_nanos(1));
        assert!(summary.packet(Span::from_secs(1), 1).expect_err("refused").contains("windows of 1 ns"));
    }
}
