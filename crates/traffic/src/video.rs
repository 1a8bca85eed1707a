//! Adaptive video over HTTP: a player that chooses the bit rate of each segment.
//!
//! Two choices, as their papers give them:
//! * by the buffer: BBA-0 of Huang et al. ("A buffer-based approach to rate adaptation", SIGCOMM 2014, algorithm 1). The rate is
//!   the lowest while the buffer holds less than a reservoir, the highest beyond a cushion above it, and in between a line. It is
//!   kept until the line has crossed a neighbouring rate.
//! * by the rate: the highest bit rate below the harmonic mean of the throughput of the last five segments, as the baseline "RB" of
//!   Yin et al. ("A control-theoretic approach for dynamic adaptive video streaming over HTTP", SIGCOMM 2015).
//!
//! Deviation: all segments of a bit rate have one size, and the video does not end.

use super::client::one_packet;
use super::{Check, Kind, Traffic};
use crate::application::{Client, Get, Measured, Orders, Watched};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_aqm::Random;
use sojourn_document::bounds::{up_to, DELAY, RATE};
use sojourn_document::words;
use sojourn_document::{Error, Quantity};
use sojourn_units::{BitRate, Bytes, Instant, Span};

words! {
    /// How a player chooses the bit rate of the next segment.
    pub enum Adaptation {
        /// By the time that its buffer holds (BBA-0, Huang et al. 2014).
        #[default]
        Buffer = "buffer",
        /// By the throughput of the last five segments (RB, Yin et al. 2015).
        Rate = "rate",
    }
}

/// Adaptive video over one connection; TCP only. `from` is the server, `to` the player. It requests a segment when the one before
/// is complete and its buffer has room for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Video {
    /// How the player chooses bit rates.
    #[serde(default)]
    pub adaptation: Adaptation,
    /// Bit rates to choose from, rising. The default is the fixed ladder of Netflix (Aaron et al., "Per-title encode
    /// optimization", 2015).
    #[serde(default = "rates")]
    pub rates: Vec<Quantity<BitRate>>,
    /// Playing time of a segment.
    #[serde(default = "segment")]
    pub segment: Quantity<Span>,
    /// Playing time that the player's buffer holds at most.
    #[serde(default = "buffer")]
    pub buffer: Quantity<Span>,
    /// Playing time that the buffer must hold before the player begins, and goes on after it was empty; by default a segment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub startup: Option<Quantity<Span>>,
    /// With `adaptation` `buffer`: below this the lowest rate is chosen. By default 3/8 of `buffer`, as in the paper (90 s of 240 s).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservoir: Option<Quantity<Span>>,
    /// With `adaptation` `buffer`: this far above `reservoir` the highest rate is chosen. By default 21/40 of `buffer`, as in the
    /// paper (126 s of 240 s).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cushion: Option<Quantity<Span>>,
    /// Size of a request, which is one packet.
    #[serde(default = "request_size")]
    pub request_size: Quantity<Bytes>,
}

fn rates() -> Vec<Quantity<BitRate>> {
    let kbit_s = [235, 375, 560, 750, 1050, 1750, 2350, 3000, 4300, 5800];
    kbit_s.into_iter().map(|rate| Quantity(BitRate::from_bit_s(rate * 1000))).collect()
}

fn segment() -> Quantity<Span> {
    Quantity(Span::from_secs(4))
}

fn buffer() -> Quantity<Span> {
    Quantity(Span::from_secs(30))
}

fn request_size() -> Quantity<Bytes> {
    Quantity(Bytes::new(400))
}

/// Bit rates that a video has at most.
const RATES: usize = 100;

impl Video {
    fn ladder(&self, check: &Check<'_>) -> Result<Vec<f64>, Error> {
        let refuse = |k: usize, what: String| Err(Error::new(check.path.then("rates").then(k), what));
        if self.rates.is_empty() || self.rates.len() > RATES {
            return Err(check.refuse("rates", format!("has {} bit rates; allowed: 1 to {RATES}", self.rates.len())));
        }
        let mut last = BitRate::ZERO;
        for (k, Quantity(rate)) in self.rates.iter().enumerate() {
            up_to(*rate, &RATE, || check.path.then("rates").then(k))?;
            if *rate <= last {
                return refuse(k, format!("is {rate}, not above {last}; allowed: rising bit rates"));
            }
            last = *rate;
        }
        Ok(self.rates.iter().map(|rate| rate.0.bit_s() as f64).collect())
    }
}

impl Kind for Video {
    const TITLE: &'static str = "adaptive video";
    const EXAMPLE: &'static str =
        "adaptation = \"buffer\", rates = [\"1 Mbit/s\", \"3 Mbit/s\", \"6 Mbit/s\"], buffer = \"20 s\"";
    const OWN_RATE: bool = false;

    fn resolve(&self, check: &Check<'_>) -> Result<Traffic, Error> {
        let (segment, buffer) = (self.segment.0, self.buffer.0);
        let rates = self.ladder(check)?;
        if segment < Span::from_millis(100) || segment > Span::from_secs(60) {
            return Err(check.refuse("segment", format!("is {segment}; allowed: 100 ms to 60 s")));
        }
        up_to(buffer, &DELAY, || check.path.then("buffer"))?;
        if buffer < segment {
            return Err(check.refuse("buffer", format!("is {buffer}; allowed: at least a segment, {segment}")));
        }
        let startup = self.startup.map_or(segment, |startup| startup.0);
        if startup > buffer {
            return Err(check.refuse("startup", format!("is {startup}; allowed: up to `buffer`, {buffer}")));
        }
        if self.adaptation != Adaptation::Buffer {
            let own =
                [("reservoir", self.reservoir), ("cushion", self.cushion)].into_iter().find(|(_, own)| own.is_some());
            if let Some((key, _)) = own {
                return Err(check.refuse(key, "is of `adaptation` \"buffer\" alone; allowed: together with it"));
            }
        }
        let reservoir = self.reservoir.map_or(buffer.scaled(3.0 / 8.0), |own| own.0);
        let cushion = self.cushion.map_or(buffer.scaled(21.0 / 40.0), |own| own.0);
        for (key, span, most) in
            [("reservoir", reservoir, buffer), ("cushion", cushion, buffer.saturating_sub(reservoir))]
        {
            if span > most {
                return Err(check
                    .refuse(key, format!("is {span}; allowed: `reservoir` and `cushion` up to `buffer`, {buffer}")));
            }
        }
        Ok(Traffic::Client(Box::new(Player {
            video: Stream {
                adaptation: self.adaptation,
                rates,
                segment,
                buffer,
                startup,
                reservoir,
                cushion,
                request: one_packet(check, "request_size", self.request_size.0)?,
            },
            level: Span::ZERO,
            as_of: Instant::ZERO,
            state: State::Starting,
            began: Instant::ZERO,
            asked: Instant::ZERO,
            is_asking: false,
            rate: 0,
            throughputs: Vec::with_capacity(SAMPLES),
            oldest: 0,
            watched: Watched::default(),
        })))
    }
}

/// What the video is like, and how it is played.
#[derive(Clone, Debug)]
struct Stream {
    adaptation: Adaptation,
    /// In bit/s, rising.
    rates: Vec<f64>,
    segment: Span,
    buffer: Span,
    startup: Span,
    reservoir: Span,
    cushion: Span,
    request: u32,
}

impl Stream {
    /// BBA-0's next rate after the one at `last`, with so much in the buffer.
    fn by_buffer(&self, last: usize, level: Span) -> usize {
        let top = self.rates.len() - 1;
        if level <= self.reservoir {
            return 0;
        }
        if level >= self.reservoir + self.cushion {
            return top;
        }
        let (lowest, highest) = (self.rates[0], self.rates[top]);
        let share = (level.saturating_sub(self.reservoir)).seconds() / self.cushion.seconds();
        let line = lowest + share * (highest - lowest);
        if line >= self.rates[(last + 1).min(top)] {
            return self.rates.iter().rposition(|rate| *rate < line).unwrap_or(0);
        }
        if line <= self.rates[last.saturating_sub(1)] {
            return self.rates.iter().position(|rate| *rate > line).unwrap_or(top);
        }
        last
    }

    /// The highest rate below a throughput in bit/s.
    fn by_rate(&self, throughput: f64) -> usize {
        self.rates.iter().rposition(|rate| *rate < throughput).unwrap_or(0)
    }
}

/// Segments whose throughput counts.
const SAMPLES: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Has not played yet.
    Starting,
    Playing,
    /// The buffer ran empty.
    Stalled,
}

/// The player.
#[derive(Clone, Debug)]
struct Player {
    video: Stream,
    /// In the buffer at `as_of`.
    level: Span,
    as_of: Instant,
    state: State,
    began: Instant,
    asked: Instant,
    is_asking: bool,
    /// Of the last segment that was asked for.
    rate: usize,
    /// Of the last segments in bit/s.
    throughputs: Vec<f64>,
    oldest: usize,
    watched: Watched,
}

impl Player {
    /// Plays on to `now`.
    fn play(&mut self, now: Instant) {
        let elapsed = now.since(self.as_of);
        self.as_of = now;
        match self.state {
            State::Starting => {}
            State::Stalled => self.watched.stalled += elapsed,
            State::Playing => {
                let played = elapsed.min(self.level);
                self.watched.played += played;
                self.level = self.level.saturating_sub(played);
                if played < elapsed {
                    self.state = State::Stalled;
                    self.watched.stalls += 1;
                    self.watched.stalled += elapsed.saturating_sub(played);
                }
            }
        }
    }

    fn ask(&mut self, now: Instant, orders: &mut Orders) {
        let room = self.level + self.video.segment;
        if room > self.video.buffer {
            orders.wake_at = now + room.saturating_sub(self.video.buffer);
            return;
        }
        let is_first = self.watched.segments == 0 && self.throughputs.is_empty();
        let next = match self.video.adaptation {
            _ if is_first => 0,
            Adaptation::Buffer => self.video.by_buffer(self.rate, self.level),
            Adaptation::Rate => self.video.by_rate(harmonic(&self.throughputs)),
        };
        self.watched.switches += u64::from(!is_first && next != self.rate);
        self.rate = next;
        self.asked = now;
        self.is_asking = true;
        orders.wake_at = Instant::NEVER;
        orders.gets.push(Get { connection: 0, request: self.video.request, answer: self.bytes(), anew: false });
    }

    /// Of a segment at the present rate.
    fn bytes(&self) -> u64 {
        let bits = self.video.rates[self.rate] * self.video.segment.seconds();
        libm::round(bits / 8.0).max(1.0) as u64
    }
}

fn harmonic(values: &[f64]) -> f64 {
    values.len() as f64 / values.iter().map(|value| 1.0 / value).sum::<f64>()
}

impl Client for Player {
    fn connections(&self) -> u32 {
        1
    }

    fn on_time(&mut self, now: Instant, _random: &mut dyn Random, orders: &mut Orders) {
        if self.state == State::Starting && !self.is_asking && self.level.is_zero() {
            (self.began, self.as_of) = (now, now);
        }
        self.play(now);
        if !self.is_asking {
            self.ask(now, orders);
        }
    }

    fn on_answer(&mut self, now: Instant, _connection: u32, _random: &mut dyn Random, orders: &mut Orders) {
        self.play(now);
        self.is_asking = false;
        let throughput = self.bytes() as f64 * 8.0 / now.since(self.asked).seconds().max(1e-9);
        if self.throughputs.len() < SAMPLES {
            self.throughputs.push(throughput);
        } else {
            self.throughputs[self.oldest] = throughput;
            self.oldest = (self.oldest + 1) % SAMPLES;
        }
        self.watched.segments += 1;
        self.watched.rate_sum += self.video.rates[self.rate];
        self.level += self.video.segment;
        if self.state != State::Playing && self.level >= self.video.startup {
            if self.state == State::Starting {
                self.watched.startup = Some(now.since(self.began));
            }
            self.state = State::Playing;
        }
        self.ask(now, orders);
    }

    fn restart(&mut self, now: Instant) {
        self.play(now);
        // When the video began is of the whole run.
        self.watched = Watched { startup: self.watched.startup, ..Watched::default() };
    }

    fn measured(&self, now: Instant) -> Measured {
        let mut seen = self.clone();
        seen.play(now);
        Measured::Video(seen.watched)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> Stream {
        Stream {
            adaptation: Adaptation::Buffer,
            rates: vec![1e6, 2e6, 4e6],
            segment: Span::from_secs(4),
            buffer: Span::from_secs(40),
            startup: Span::from_secs(4),
            reservoir: Span::from_secs(10),
            cushion: Span::from_secs(20),
            request: 400,
        }
    }

    #[test]
    fn the_buffer_chooses_as_in_algorithm_1_of_huang_et_al() {
        // The line: 1 Mbit/s at 10 s, 4 Mbit/s at 30 s, so 0.15 Mbit/s a second; it reaches 2 Mbit/s at 16.7 s.
        let choice = |last, seconds| stream().by_buffer(last, Span::from_secs(seconds));
        assert_eq!([choice(2, 10), choice(0, 16), choice(0, 17)], [0, 0, 1]);
        // From 2 Mbit/s: kept until the line is at 4 (30 s) or at 1 (10 s).
        assert_eq!([choice(1, 29), choice(1, 30), choice(1, 11)], [1, 2, 1]);
        // From 4 Mbit/s: the line falls to 2 at 16.7 s; at 16 s it is 1.9 Mbit/s, and the lowest rate above it is 2.
        assert_eq!([choice(2, 17), choice(2, 16)], [2, 1]);
    }

    #[test]
    fn the_rate_chooses_below_the_harmonic_mean() {
        // 2 / (1/3 + 1/6) = 4: not below 4, so 2.
        assert!((harmonic(&[3e6, 6e6]) - 4e6).abs() < 1e-3);
        assert_eq!([stream().by_rate(4e6), stream().by_rate(4.1e6), stream().by_rate(0.5e6)], [1, 2, 0]);
    }

    #[test]
    fn a_segment_a_second_plays_without_a_stall_and_a_late_one_stalls() {
        let check = Video {
            adaptation: Adaptation::Rate,
            rates: vec![Quantity(BitRate::from_bit_s(1_000_000))],
            segment: segment(),
            buffer: buffer(),
            startup: None,
            reservoir: None,
            cushion: None,
            request_size: request_size(),
        };
        let path = sojourn_document::Path::default();
        let Ok(Traffic::Client(mut player)) = check.resolve(&Check { path: &path, udp: false }) else {
            panic!("a player")
        };
        let mut random = sojourn_random::Stream::new(1, 0, "x");
        let mut orders = Orders::default();
        let at = |seconds| Instant::ZERO + Span::from_secs(seconds);
        player.on_time(at(0), &mut random, &mut orders);
        // 1 Mbit/s for 4 s.
        assert_eq!(orders.gets[0].answer, 500_000);
        player.on_answer(at(2), 0, &mut random, &mut orders);
        // Plays from 2 s to 6 s; the next comes at 9 s: 3 s without a picture, then 4 s until 13 s.
        player.on_answer(at(9), 0, &mut random, &mut orders);
        let Measured::Video(watched) = player.measured(at(10)) else { panic!("a video") };
        let expected = Watched {
            played: Span::from_secs(5),
            stalled: Span::from_secs(3),
            stalls: 1,
            segments: 2,
            rate_sum: 2e6,
            switches: 0,
            startup: Some(Span::from_secs(2)),
        };
        assert_eq!(watched, expected);
    }
}
