//! Reads and replays one vector file: a line an event or an expectation.

use sojourn_aqm::{AckFields, Config, Counters, Cx, Dequeued, Discipline, Ecn, Observer, Packet, Random, Reason};
use sojourn_units::{BitRate, Instant};
use std::collections::VecDeque;

/// How far an internal may lie from what is written, relative to the larger of 1e-3 and itself, unless "~" says otherwise.
const TOLERANCE: f64 = 1e-9;

#[derive(Default)]
struct Draws {
    given: VecDeque<u64>,
    missing: bool,
}

impl Random for Draws {
    fn next_u64(&mut self) -> u64 {
        self.given.pop_front().unwrap_or_else(|| {
            self.missing = true;
            0
        })
    }
}

/// Outcomes in the words of the format.
#[derive(Default)]
struct Log(VecDeque<String>);

impl Observer for Log {
    fn dropped(&mut self, _now: Instant, packet: Packet, reason: Reason) {
        self.0.push_back(format!("d {} {}", packet.serial, reason.name()));
    }
    fn marked(&mut self, _now: Instant, packet: &Packet) {
        self.0.push_back(format!("m {}", packet.serial));
    }
}

struct Host {
    queue: Box<dyn Discipline>,
    now: Instant,
    rate: BitRate,
    draws: Draws,
    log: Log,
    counters: Counters,
    serial: u64,
    /// The line of the last event.
    event: usize,
}

impl Host {
    fn new(config: &Config) -> Self {
        Self {
            queue: config.build(),
            now: Instant::ZERO,
            rate: BitRate::from_bit_s(10_000_000),
            draws: Draws::default(),
            log: Log::default(),
            counters: Counters::default(),
            serial: 0,
            event: 0,
        }
    }

    fn with<T>(&mut self, act: impl FnOnce(&mut dyn Discipline, &mut Cx<'_>) -> T) -> T {
        let mut cx = Cx {
            now: self.now,
            rate: self.rate,
            random: &mut self.draws,
            observer: &mut self.log,
            counters: &mut self.counters,
            has_dropped: false,
        };
        act(self.queue.as_mut(), &mut cx)
    }

    fn arrive(&mut self, serials: &str, facts: &Packet) -> Result<(), String> {
        let (first, last) = serials.split_once("..").unwrap_or((serials, serials));
        for serial in whole(first)?..=whole(last)? {
            if serial != self.serial {
                return Err(format!("the next serial number is {}, not {serial}", self.serial));
            }
            self.serial += 1;
            let packet = Packet { serial, ..facts.clone() };
            self.with(|queue, cx| queue.enqueue(cx, packet));
        }
        Ok(())
    }

    fn ask(&mut self) {
        let given = match self.with(|queue, cx| queue.dequeue(cx)) {
            Dequeued::Packet(packet) if packet.ecn == Ecn::Ce => format!("- {} ce", packet.serial),
            Dequeued::Packet(packet) => format!("- {}", packet.serial),
            Dequeued::Empty => "e".to_owned(),
            Dequeued::NotBefore(at) => format!("n {}", at.nanos()),
        };
        self.log.0.push_back(given);
    }

    /// The next outcome of the last event is what `words` say.
    fn outcome(&mut self, words: &[&str]) -> Result<(), String> {
        let expected = match words {
            ["n", until] => format!("n {}", seconds(until)?.nanos()),
            _ => words.join(" "),
        };
        match self.log.0.pop_front() {
            Some(got) if got == expected => Ok(()),
            Some(got) => Err(format!("expected \"{expected}\", got \"{got}\"")),
            None => Err(format!("expected \"{expected}\", got nothing")),
        }
    }

    /// No outcome of the last event is left unsaid.
    fn settled(&self) -> Result<(), Wrong> {
        match self.log.0.front() {
            Some(outcome) => Err((self.event, format!("expected nothing, got \"{outcome}\""))),
            None => Ok(()),
        }
    }

    /// Nothing is left at the end, in line `line`.
    fn finish(&self, line: usize) -> Result<(), Wrong> {
        self.settled()?;
        match self.draws.given.len() {
            0 => Ok(()),
            n => Err((line, format!("of the draws given, {n} are left over"))),
        }
    }

    fn check_internals(&mut self, words: &[&str]) -> Result<(), String> {
        let backlog = self.queue.backlog();
        let mut named = vec![("packets", backlog.packets as f64), ("bytes", backlog.bytes as f64)];
        self.queue.internals(self.now, self.rate, &mut |name, value| named.push((name, value)));
        let mut words = words.iter().peekable();
        while let Some(name) = words.next() {
            let Some((_, value)) = named.iter().find(|(known, _)| known == name) else {
                let known: Vec<_> = named.iter().map(|(name, _)| *name).collect();
                return Err(format!("there is no internal {name}; there are: {}", known.join(", ")));
            };
            let expected: f64 = number(words.next().copied().unwrap_or_default())?;
            let tolerance = match words.next_if(|word| word.starts_with('~')) {
                Some(word) => number(&word[1..])?,
                None => TOLERANCE * expected.abs().max(1e-3),
            };
            let is_right = value.is_nan() && expected.is_nan() || (value - expected).abs() <= tolerance;
            if !is_right {
                return Err(format!("{name} is {value}, not {expected}"));
            }
        }
        Ok(())
    }
}

fn whole(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("\"{text}\" is no whole number"))
}

fn number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| format!("\"{text}\" is not a number"))
}

/// Seconds as an exact decimal.
fn seconds(text: &str) -> Result<Instant, String> {
    let refuse = || format!("\"{text}\" is no time in seconds with at most nine decimals");
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || decimals.len() > 9 || !is_digits(whole) || !is_digits(decimals) {
        return Err(refuse());
    }
    format!("{whole}{decimals:0<9}").parse().map(Instant::from_nanos).map_err(|_| refuse())
}

/// `0.25`, or `0.25*100` for a hundred of them, or `#HEX` for all 64 bits.
fn draws(word: &str) -> Result<Vec<u64>, String> {
    let (value, times) = word.split_once('*').unwrap_or((word, "1"));
    let bits = if let Some(hex) = value.strip_prefix('#') {
        u64::from_str_radix(hex, 16).map_err(|_| format!("\"{word}\" is no number of 64 bits"))?
    } else {
        let u = value.parse::<f64>().ok().filter(|u| (0.0..1.0).contains(u));
        let u = u.ok_or_else(|| format!("\"{value}\" is no uniform number from 0 up to but without 1"))?;
        ((u * (1_u64 << 53) as f64) as u64) << 11
    };
    Ok(vec![bits; whole(times)? as usize])
}

/// The packet with the facts `key=value` set.
fn packet(bytes: &str, facts: &[&str]) -> Result<Packet, String> {
    let mut packet = Packet { bytes: number(bytes)? as u32, ..Packet::without_signals(0) };
    for fact in facts {
        let allowed = "allowed: flow, source, destination, ecn, dscp, window, ack";
        let refuse = || format!("\"{fact}\" is no fact key=value; {allowed}");
        let (key, value) = fact.split_once('=').ok_or_else(refuse)?;
        let word = || value.parse::<u32>().map_err(|_| refuse());
        match (key, value) {
            ("flow", _) => packet.flow = word()?,
            ("source", _) => packet.source = word()?,
            ("destination", _) => packet.destination = word()?,
            ("dscp", _) => packet.dscp = word()? as u8,
            ("window", _) => packet.window = word()? as u16,
            // A pure acknowledgement of this number, or one that carries more ("ack=1000+").
            ("ack", _) => {
                let digits = value.trim_end_matches('+');
                let number = digits.parse().map_err(|_| refuse())?;
                packet.ack = AckFields { pure: true, precious: digits != value, number };
            }
            ("ecn", "not") => packet.ecn = Ecn::NotEct,
            ("ecn", "ect0") => packet.ecn = Ecn::Ect0,
            ("ecn", "ect1") => packet.ecn = Ecn::Ect1,
            ("ecn", "ce") => packet.ecn = Ecn::Ce,
            _ => return Err(refuse()),
        }
    }
    Ok(packet)
}

/// What is wrong, and in which line.
type Wrong = (usize, String);

/// Replays the text of a file for `algorithm`; an error begins with the number of the line.
pub fn file(algorithm: &str, text: &str) -> Result<(), String> {
    replay(algorithm, text).map_err(|(line, why)| format!("{line}: {why}"))
}

fn replay(algorithm: &str, text: &str) -> Result<(), Wrong> {
    let mut host: Option<Host> = None;
    let (mut line, mut expectations) = (1, 0);
    for (index, written) in text.lines().enumerate() {
        let is_draws = written.trim_start().starts_with("draws ");
        let comment = if is_draws { "# " } else { "#" };
        let words: Vec<&str> = written.split(comment).next().unwrap_or_default().split_whitespace().collect();
        if words.is_empty() {
            continue;
        }
        line = index + 1;
        if words[0] == "scheme" {
            let config: Config = words[1..].join(" ").parse().map_err(|why| (line, format!("{why}")))?;
            if config.name() != algorithm {
                return Err((line, format!("the scheme is {}, the file's name says {algorithm}", config.name())));
            }
            host.map_or(Ok(()), |host| host.finish(line))?;
            host = Some(Host::new(&config));
            continue;
        }
        let host = host.as_mut().ok_or_else(|| (line, "no scheme yet".to_owned()))?;
        expectations += usize::from(step(host, line, &words)?);
    }
    host.map_or(Ok(()), |host| host.finish(line))?;
    if expectations == 0 {
        return Err((line, "nothing is expected here".to_owned()));
    }
    Ok(())
}

/// One line; true for an expectation.
fn step(host: &mut Host, line: usize, words: &[&str]) -> Result<bool, Wrong> {
    let here = |why: String| (line, why);
    match words {
        ["rate", rate] => {
            host.rate = rate.parse().map_err(|why| here(format!("{why}")))?;
            return Ok(false);
        }
        ["draws", values @ ..] => {
            for word in values {
                host.draws.given.extend(draws(word).map_err(here)?);
            }
            return Ok(false);
        }
        _ => {}
    }
    let now = seconds(words[0]).map_err(here)?;
    let rest = &words[1..];
    if matches!(rest.first(), Some(&("d" | "m" | "-" | "e" | "n"))) {
        if now != host.now {
            return Err(here("this outcome is not at the instant of the event before it".to_owned()));
        }
        return host.outcome(rest).map_err(here).map(|()| true);
    }
    host.settled()?;
    if now < host.now {
        return Err(here("time runs backwards".to_owned()));
    }
    host.now = now;
    host.event = line;
    match rest {
        ["+", serials, bytes, facts @ ..] => {
            let facts = packet(bytes, facts).map_err(here)?;
            host.arrive(serials, &facts).map_err(here)?;
        }
        ["?"] => host.ask(),
        ["rate", rate] => {
            let rate = rate.parse().map_err(|why| here(format!("{why}")))?;
            host.with(|queue, cx| queue.set_rate(cx, rate));
            host.rate = rate;
        }
        ["=", internals @ ..] => return host.check_internals(internals).map_err(here).map(|()| true),
        _ => {
            let what = rest.first().unwrap_or(&"");
            return Err(here(format!("\"{what}\" is unknown; allowed: +, ?, rate, d, m, -, e, n, =")));
        }
    }
    if host.draws.missing {
        return Err(here("a random number is drawn, but none is left of the draws given".to_owned()));
    }
    Ok(false)
}
