//! The decision log: what came to a queue and what became of it, a line an event, in the words of `vectors/README.md`.
//!
//! ```text
//! 0.000012 + 3 1514 flow=77 source=5 destination=6 ecn=ect0 dscp=46
//! 0.000012 d 3 early
//! 0.000133120 m 1
//! 0.000133120 - 1 ce
//! ```
//!
//! Instants are seconds as exact decimals, so that a text holds every nanosecond. Device and simulator write it where asked
//! to; two logs of the same arrivals are compared line by line, and one beside a `scheme` is a vector's events.

use sojourn_aqm::{Packet, Reason};
use sojourn_units::Instant;
use std::fmt;
use std::str::FromStr;

/// What a queue is told of a packet that arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Size on the wire.
    pub bytes: u32,
    /// Hash of the five-tuple.
    pub flow: u32,
    /// Hash of the source host.
    pub source: u32,
    /// Hash of the destination host.
    pub destination: u32,
    /// The two bits of the ECN field.
    pub ecn: u8,
    /// Differentiated services codepoint.
    pub dscp: u8,
    /// Congestion window that the sender tells, in packets; 0 when unknown.
    pub window: u16,
    /// Number of a pure acknowledgement, and whether it carries more than that.
    pub ack: Option<(u32, bool)>,
}

impl From<&Packet> for Facts {
    fn from(packet: &Packet) -> Self {
        // Every field: one that is added does not compile until it is logged, or left out here with its reason.
        let Packet { enqueued: _, serial: _, handle: _, flow, source, destination, bytes, window, ecn, dscp, ack } =
            *packet;
        let ack = ack.pure.then_some((ack.number, ack.precious));
        Self { bytes, flow, source, destination, ecn: ecn as u8, dscp, window, ack }
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// `+`: it was offered to the queue.
    Arrived(Facts),
    /// `d`: it was dropped.
    Dropped(Reason),
    /// `m`: it was marked CE.
    Marked,
    /// `-`: it left to be sent, with CE or without.
    Left {
        /// It carries CE, set here or before.
        ce: bool,
    },
}

/// One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: Instant,
    /// Number of the packet in the order of arrival, from 0.
    pub serial: u64,
    /// What.
    pub what: EventKind,
}

const ECN: [&str; 4] = ["not", "ect1", "ect0", "ce"];

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, nanos) = (self.at.nanos() / 1_000_000_000, self.at.nanos() % 1_000_000_000);
        write!(f, "{seconds}.{nanos:09} ")?;
        let serial = self.serial;
        match self.what {
            EventKind::Arrived(facts) => {
                let Facts { bytes, flow, source, destination, ecn, dscp, window, ack } = facts;
                write!(f, "+ {serial} {bytes} flow={flow} source={source} destination={destination}")?;
                write!(f, " ecn={}", ECN[usize::from(ecn & 3)])?;
                if dscp > 0 {
                    write!(f, " dscp={dscp}")?;
                }
                if window > 0 {
                    write!(f, " window={window}")?;
                }
                match ack {
                    Some((number, more)) => write!(f, " ack={number}{}", if more { "+" } else { "" }),
                    None => Ok(()),
                }
            }
            EventKind::Dropped(why) => write!(f, "d {serial} {}", why.name()),
            EventKind::Marked => write!(f, "m {serial}"),
            EventKind::Left { ce } => write!(f, "- {serial}{}", if ce { " ce" } else { "" }),
        }
    }
}

/// A line that is no event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoEvent(String);

impl fmt::Display for NoEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let allowed = "allowed: TIME + SERIAL BYTES FACTS, TIME d SERIAL REASON, TIME m SERIAL, TIME - SERIAL [ce]";
        write!(f, "\"{}\" is not an event; {allowed}", self.0)
    }
}

impl std::error::Error for NoEvent {}

impl FromStr for Event {
    type Err = NoEvent;

    /// Reads what is printed; times with fewer decimals are understood, and facts that are not there are none.
    fn from_str(line: &str) -> Result<Self, NoEvent> {
        read(line).ok_or_else(|| NoEvent(line.to_owned()))
    }
}

fn read(line: &str) -> Option<Event> {
    let mut words = line.split_whitespace();
    let at = seconds(words.next()?)?;
    let sign = words.next()?;
    let serial = words.next()?.parse().ok()?;
    let what = match sign {
        "+" => EventKind::Arrived(facts(words.next()?.parse().ok()?, words.by_ref())?),
        "d" => {
            let why = words.next()?;
            EventKind::Dropped(Reason::ALL.into_iter().find(|reason| reason.name() == why)?)
        }
        "m" => EventKind::Marked,
        "-" => match words.next() {
            None => EventKind::Left { ce: false },
            Some("ce") => EventKind::Left { ce: true },
            Some(_) => return None,
        },
        _ => return None,
    };
    words.next().is_none().then_some(Event { at, serial, what })
}

fn facts<'a>(bytes: u32, words: impl Iterator<Item = &'a str>) -> Option<Facts> {
    let mut facts = Facts { bytes, ..Facts::default() };
    for word in words {
        let (key, value) = word.split_once('=')?;
        match key {
            "flow" => facts.flow = value.parse().ok()?,
            "source" => facts.source = value.parse().ok()?,
            "destination" => facts.destination = value.parse().ok()?,
            "ecn" => facts.ecn = ECN.iter().position(|known| *known == value)? as u8,
            "dscp" => facts.dscp = value.parse().ok().filter(|dscp| *dscp < 64)?,
            "window" => facts.window = value.parse().ok()?,
            "ack" => {
                let digits = value.strip_suffix('+');
                facts.ack = Some((digits.unwrap_or(value).parse().ok()?, digits.is_some()));
            }
            _ => return None,
        }
    }
    Some(facts)
}

fn seconds(text: &str) -> Option<Instant> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || decimals.len() > 9 || !is_digits(whole) || !is_digits(decimals) {
        return None;
    }
    format!("{whole}{decimals:0<9}").parse().ok().map(Instant::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_read_back() {
        for line in [
            "0.000000012 + 3 1514 flow=77 source=5 destination=6 ecn=ect0 dscp=46",
            "0.000000012 + 4 60 flow=0 source=0 destination=0 ecn=not ack=1000+",
            "0.000000012 + 4 1500 flow=0 source=0 destination=0 ecn=not window=10",
            "0.000000012 + 5 60 flow=0 source=0 destination=0 ecn=ce ack=7",
            "12.500000000 d 3 early",
            "18446744073.709551615 m 18446744073709551615",
            "1.000000000 - 1 ce",
            "1.000000001 - 2",
        ] {
            assert_eq!(line.parse::<Event>().map(|event| event.to_string()), Ok(line.to_owned()));
        }
        let short: Result<Event, _> = "0.5 + 0 100".parse();
        let what = EventKind::Arrived(Facts { bytes: 100, ..Facts::default() });
        assert_eq!(short, Ok(Event { at: Instant::from_nanos(500_000_000), serial: 0, what }));
    }

    #[test]
    fn what_is_no_event_is_refused() {
        for line in [
            "",
            "1",
            "1 + 0",
            "1 + 0 100 flow",
            "1 + 0 100 ecn=no",
            "1 + 0 100 dscp=64",
            "1 d 0",
            "1 d 0 lost",
            "1 m x",
            "1 - 0 marked",
            "1 - 0 ce ce",
            "1 x 0",
            "-1 m 0",
            "1.0000000001 m 0",
            "1e3 m 0",
        ] {
            let refused = line.parse::<Event>();
            assert_eq!(refused, Err(NoEvent(line.to_owned())));
        }
    }
}
