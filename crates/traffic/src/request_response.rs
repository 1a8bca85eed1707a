//! Requests and their responses, of any distribution of sizes.

use super::client::{one_packet, pause};
use super::web::whole_size;
use super::{Check, Distribution, Kind, Traffic};
use crate::application::{Client, Get, Measured, Orders, Times};
use crate::Amount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_aqm::Random;
use sojourn_document::bounds::DATA;
use sojourn_document::{Error, Path, Quantity, Step};
use sojourn_units::{Bytes, Instant, Span};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Requests, each sent after the response to the one before; TCP only. `from` is the server, `to` the client. The size of a
/// response is `response_size`, or one of `response_sizes`, or one of a `file`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct RequestResponse {
    /// Size of a request, which is one packet.
    #[serde(default = "request_size")]
    pub request_size: Quantity<Bytes>,
    /// Size of a response: a size, or a random size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_size: Option<Amount<Bytes>>,
    /// Sizes of responses, each with its probability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_sizes: Option<BTreeMap<String, f64>>,
    /// File of sizes and probabilities, found from the scenario's folder. The first line is `bytes,probability`, and each
    /// other line has a size in bytes and its probability. The content takes the place of `response_sizes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// From a response to the next request: a time, or a random time.
    #[serde(default = "pause")]
    pub pause: Amount<Span>,
    /// All requests use one connection; without it each has a new one.
    #[serde(default = "yes")]
    pub persistent: bool,
}

fn request_size() -> Quantity<Bytes> {
    Quantity(Bytes::new(400))
}

fn yes() -> bool {
    true
}

/// Sizes that a file or a table may have.
const SIZES: usize = 100_000;
/// How far from 1 the sum of probabilities may be, which printed tables round.
const ROUNDING: f64 = 1e-3;

impl RequestResponse {
    /// Takes the content of the file that it names.
    ///
    /// # Errors
    /// The line that is wrong, and what is allowed.
    pub fn take(&mut self, text: &str) -> Result<(), String> {
        let mut sizes = BTreeMap::new();
        let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
        let head = lines.next().map(|(_, head)| head.split(',').map(str::trim).collect::<Vec<_>>());
        if head.as_deref() != Some(&["bytes", "probability"]) {
            return Err("line 1: is not the head of a table; allowed: bytes,probability".to_owned());
        }
        for (number, line) in lines {
            let refuse = |what: &str| Err(format!("line {number}: {what}; allowed: a size in bytes, a probability"));
            let Some((bytes, probability)) = line.split_once(',') else { return refuse("has no comma") };
            let (Ok(bytes), Ok(probability)) = (bytes.trim().parse::<u64>(), probability.trim().parse::<f64>()) else {
                return refuse("has no two numbers");
            };
            *sizes.entry(format!("{bytes} B")).or_insert(0.0) += probability;
            if sizes.len() > SIZES {
                return Err(format!("line {number}: is one too many; allowed: up to {SIZES} sizes"));
            }
        }
        self.response_sizes = Some(sizes);
        self.file = None;
        Ok(())
    }
}

impl Kind for RequestResponse {
    const TITLE: &'static str = "requests and responses";
    const EXAMPLE: &'static str =
        "response_sizes = { \"2 kB\" = 0.7, \"50 kB\" = 0.25, \"1 MB\" = 0.05 }, pause = { exponential = { mean = \"500 ms\" } }";
    const OWN_RATE: bool = false;

    fn resolve(&self, check: &Check<'_>) -> Result<Traffic, Error> {
        if let Some(file) = &self.file {
            return Err(
                check.refuse("file", format!("is {file:?}, which has not been read; allowed: `response_sizes`"))
            );
        }
        let sizes = match (&self.response_size, &self.response_sizes) {
            (Some(size), None) => Sizes::Drawn(check.size("response_size", size)?),
            (None, Some(sizes)) => Sizes::Listed(listed(sizes, &check.path.then("response_sizes"))?),
            _ => {
                let what = "has none or several of `response_size`, `response_sizes` and `file`; allowed: one of them";
                return Err(Error::new(check.path.clone(), what));
            }
        };
        Ok(Traffic::Client(Box::new(Asker {
            request: one_packet(check, "request_size", self.request_size.0)?,
            sizes,
            pause: check.time("pause", &self.pause)?,
            is_persistent: self.persistent,
            began: Instant::ZERO,
            times: Times::default(),
        })))
    }
}

/// Sizes with the probability that a response is of this size or of one before.
fn listed(sizes: &BTreeMap<String, f64>, path: &Path) -> Result<Arc<[(f64, u64)]>, Error> {
    let mut found = Vec::with_capacity(sizes.len());
    let mut sum = 0.0;
    for (text, probability) in sizes {
        let path = path.then(Step::Key(text.clone().into()));
        let size: Bytes = text.parse().map_err(|why| Error::new(path.clone(), format!("{why}")))?;
        if size == Bytes::ZERO || size > DATA.most {
            return Err(Error::new(path, format!("is a size of {size}; allowed: 1 B to {}", DATA.most)));
        }
        if !(0.0..=1.0).contains(probability) {
            return Err(Error::new(path, format!("is {probability:?}; allowed: a probability from 0 to 1")));
        }
        found.push((*probability, size.get()));
    }
    found.sort_unstable_by_key(|(_, size)| *size);
    for (probability, _) in &mut found {
        sum += *probability;
        *probability = sum;
    }
    if (sum - 1.0).abs() > ROUNDING {
        return Err(Error::new(path.clone(), format!("has probabilities with the sum {sum:.4}; allowed: a sum of 1")));
    }
    found.iter_mut().for_each(|(probability, _)| *probability /= sum);
    Ok(found.into())
}

#[derive(Clone, Debug)]
enum Sizes {
    Drawn(Distribution<Bytes>),
    /// Ascending.
    Listed(Arc<[(f64, u64)]>),
}

impl Sizes {
    fn next(&self, random: &mut dyn Random) -> u64 {
        match self {
            Self::Drawn(size) => whole_size(size, random),
            Self::Listed(sizes) => {
                let uniform = random.uniform();
                let place = sizes.partition_point(|(up_to, _)| *up_to <= uniform);
                sizes.get(place).or_else(|| sizes.last()).map_or(1, |(_, size)| *size)
            }
        }
    }
}

/// The client.
#[derive(Clone, Debug)]
struct Asker {
    request: u32,
    sizes: Sizes,
    pause: Distribution<Span>,
    is_persistent: bool,
    began: Instant,
    times: Times,
}

impl Client for Asker {
    fn connections(&self) -> u32 {
        1
    }

    fn on_time(&mut self, now: Instant, random: &mut dyn Random, orders: &mut Orders) {
        orders.wake_at = Instant::NEVER;
        self.began = now;
        let answer = self.sizes.next(random);
        orders.gets.push(Get { connection: 0, request: self.request, answer, anew: !self.is_persistent });
    }

    fn on_answer(&mut self, now: Instant, _connection: u32, random: &mut dyn Random, orders: &mut Orders) {
        self.times.add(now.since(self.began));
        orders.wake_at = now + Span::from_nanos(libm::round(self.pause.draw(random)) as u64);
    }

    fn restart(&mut self, _now: Instant) {
        self.times = Times::default();
    }

    fn measured(&self, _now: Instant) -> Measured {
        Measured::Responses(self.times.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_random::Stream;

    #[test]
    fn sizes_are_drawn_by_their_probability() {
        // 100 B with 0.25 and 300 B with 0.75: mean 250 B, standard deviation 200 sqrt(0.25 * 0.75) = 86.6 B. Over 100,000
        // draws the standard error is 0.27 B; five of them are 1.4 B.
        let sizes = BTreeMap::from([("300 B".to_owned(), 0.75), ("100 B".to_owned(), 0.25)]);
        let sizes = Sizes::Listed(listed(&sizes, &Path::default()).expect("probabilities"));
        let mut random = Stream::new(1, 0, "x");
        let sum: u64 = (0..100_000).map(|_| sizes.next(&mut random)).sum();
        assert!((sum as f64 / 1e5 - 250.0).abs() < 1.4, "{sum}");
    }
}
