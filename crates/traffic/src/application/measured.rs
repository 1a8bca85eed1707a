//! What applications measured, each and several together.

use super::call::Quality;
use super::Late;
use sojourn_measure::{Histogram, Moments};
use sojourn_units::Span;

/// How long something took, each time.
#[derive(Clone, Debug, Default)]
pub struct Times {
    moments: Moments,
    histogram: Histogram,
}

impl Times {
    /// Once more.
    pub fn add(&mut self, time: Span) {
        self.moments.add(time);
        self.histogram.add(time);
    }

    /// How often.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.moments.count()
    }

    fn merge(&mut self, other: &Self) {
        self.moments.merge(&other.moments);
        self.histogram.merge(&other.histogram);
    }

    fn since(&self, earlier: &Self) -> Self {
        Self { moments: self.moments.since(&earlier.moments), histogram: self.histogram.since(&earlier.histogram) }
    }

    /// The mean in seconds.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        self.moments.mean_ms().map(|ms| ms / 1e3)
    }

    /// A quantile in seconds, to 0.8 %.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<f64> {
        self.histogram.quantile_ms(share).map(|ms| ms / 1e3)
    }
}

/// What a video's player saw.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Watched {
    /// Time in which it played.
    pub played: Span,
    /// Time in which it waited with an empty buffer after it had begun.
    pub stalled: Span,
    /// How often it began to wait.
    pub stalls: u64,
    /// Segments that arrived.
    pub segments: u64,
    /// The sum of their bit rates in bit/s.
    pub rate_sum: f64,
    /// Changes of the bit rate from one segment to the next.
    pub switches: u64,
    /// From the start to the first picture.
    pub startup: Option<Span>,
}

impl Watched {
    fn merge(&mut self, other: &Self) {
        self.played += other.played;
        self.stalled += other.stalled;
        self.stalls += other.stalls;
        self.segments += other.segments;
        self.rate_sum += other.rate_sum;
        self.switches += other.switches;
    }

    /// What was added since this was as `earlier`; the start is of the whole run.
    fn since(&self, earlier: &Self) -> Self {
        Self {
            played: self.played.saturating_sub(earlier.played),
            stalled: self.stalled.saturating_sub(earlier.stalled),
            stalls: self.stalls - earlier.stalls,
            segments: self.segments - earlier.segments,
            rate_sum: self.rate_sum - earlier.rate_sum,
            switches: self.switches - earlier.switches,
            startup: self.startup,
        }
    }
}

/// What one client or receiver measured.
#[derive(Clone, Debug)]
pub enum Measured {
    /// Page load times.
    Pages(Times),
    /// Response times.
    Responses(Times),
    /// A video.
    Video(Watched),
    /// A call.
    Call(Quality),
    /// A game's updates.
    Game(Late),
}

/// What several of one kind measured together.
#[derive(Clone, Debug)]
pub enum Together {
    /// Page load times.
    Pages(Times),
    /// Response times.
    Responses(Times),
    /// Videos.
    Video(Videos),
    /// Calls.
    Calls(Calls),
    /// Games' updates.
    Games(Late),
}

/// What the players of several videos saw.
#[derive(Clone, Debug, Default)]
pub struct Videos {
    /// All but the start.
    pub sum: Watched,
    /// Mean time from the start to the first picture, in seconds, of those that began.
    pub startup_s: Option<f64>,
}

impl Videos {
    /// Mean bit rate of the segments, in bit/s.
    #[must_use]
    pub fn bit_rate(&self) -> Option<f64> {
        share(self.sum.rate_sum, self.sum.segments as f64)
    }

    /// Share of the time after the start in which they waited.
    #[must_use]
    pub fn rebuffered(&self) -> Option<f64> {
        share(self.sum.stalled.seconds(), self.watched())
    }

    /// Changes of the bit rate in a minute.
    #[must_use]
    pub fn switches_per_min(&self) -> Option<f64> {
        share(self.sum.switches as f64 * 60.0, self.watched())
    }

    fn watched(&self) -> f64 {
        (self.sum.played + self.sum.stalled).seconds()
    }
}

/// What several calls measured: frames of all, and means over calls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Calls {
    /// Frames that were to be played.
    pub expected: u64,
    /// That never came.
    pub lost: u64,
    /// That came too late.
    pub late: u64,
    /// Delay from mouth to ear in milliseconds.
    pub mouth_to_ear_ms: Option<f64>,
    /// G.107's R.
    pub rating: Option<f64>,
    /// G.107's mean opinion score.
    pub mos: Option<f64>,
}

/// A share; none of nothing.
fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0_u64, 0.0), |(count, sum), value| (count + 1, sum + value));
    share(sum, count as f64)
}

impl Measured {
    /// What was added since this was as `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        match (self, earlier) {
            (Self::Pages(now), Self::Pages(before)) => Self::Pages(now.since(before)),
            (Self::Responses(now), Self::Responses(before)) => Self::Responses(now.since(before)),
            (Self::Video(now), Self::Video(before)) => Self::Video(now.since(before)),
            (Self::Call(now), Self::Call(before)) => Self::Call(now.since(before)),
            (Self::Game(now), Self::Game(before)) => Self::Game(now.since(before)),
            _ => self.clone(),
        }
    }

    /// Adds what `other` of the same kind measured at another time.
    pub fn merge(&mut self, other: &Self) {
        match (self, other) {
            (Self::Pages(all), Self::Pages(one)) | (Self::Responses(all), Self::Responses(one)) => all.merge(one),
            (Self::Video(all), Self::Video(one)) => {
                all.merge(one);
                all.startup = all.startup.or(one.startup);
            }
            (Self::Call(all), Self::Call(one)) => all.merge(one),
            (Self::Game(all), Self::Game(one)) => all.merge(one),
            _ => {}
        }
    }

    /// Several of one kind together; none of none, and none where nothing has been measured.
    #[must_use]
    pub fn together(all: &[Self]) -> Option<Together> {
        macro_rules! each {
            ($($kind:ident)|+) => {
                all.iter().filter_map(|one| match one { $(Self::$kind(found) => Some(found),)+ _ => None })
            };
        }
        let times = || {
            let mut sum = Times::default();
            each!(Pages | Responses).for_each(|one| sum.merge(one));
            sum
        };
        // A store, which has a column for each metric, tells by its values what a group has.
        match all.first()? {
            Self::Pages(_) => Some(Together::Pages(times())),
            Self::Responses(_) => Some(Together::Responses(times())),
            Self::Video(_) => {
                let mut sum = Watched::default();
                each!(Video).for_each(|one| sum.merge(one));
                let startup_s = mean(each!(Video).filter_map(|one| one.startup.map(Span::seconds)));
                Some(Together::Video(Videos { sum, startup_s }))
            }
            Self::Call(_) => {
                let calls = Calls {
                    expected: each!(Call).map(|one| one.expected).sum(),
                    lost: each!(Call).map(|one| one.lost).sum(),
                    late: each!(Call).map(|one| one.late).sum(),
                    mouth_to_ear_ms: mean(each!(Call).filter_map(Quality::mouth_to_ear_ms)),
                    rating: mean(each!(Call).filter_map(Quality::rating)),
                    mos: mean(each!(Call).filter_map(Quality::mos)),
                };
                (calls.expected > 0 || calls.mouth_to_ear_ms.is_some()).then_some(Together::Calls(calls))
            }
            Self::Game(_) => {
                let mut sum = Late::default();
                each!(Game).for_each(|one| sum.merge(one));
                (sum.heard > 0).then_some(Together::Games(sum))
            }
        }
    }
}
