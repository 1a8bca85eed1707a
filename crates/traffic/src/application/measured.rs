//! What applications measured, and the metrics of a group of them.

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

    fn mean(&self) -> Option<f64> {
        self.moments.mean_ms().map(|ms| ms / 1e3)
    }

    fn quantile(&self, share: f64) -> Option<f64> {
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

/// Metrics by name.
pub type Named = Vec<(&'static str, Option<f64>)>;

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

    /// The metrics of several of one kind together; none of none, and none where nothing has been measured.
    #[must_use]
    pub fn metrics(all: &[Self]) -> Named {
        let named = match all.first() {
            None => Vec::new(),
            Some(Self::Pages(_)) => times(all, PAGES),
            Some(Self::Responses(_)) => times(all, RESPONSES),
            Some(Self::Video(_)) => videos(all),
            Some(Self::Call(_)) => calls(all),
            Some(Self::Game(_)) => games(all),
        };
        // A store, which has a column for each metric, tells by its values what a group has.
        if named.iter().all(|(_, value)| value.is_none()) {
            return Vec::new();
        }
        named
    }
}

const PAGES: [&str; 4] = ["page_load_s_mean", "page_load_s_p50", "page_load_s_p99", "pages_completed"];
const RESPONSES: [&str; 4] = ["response_s_mean", "response_s_p50", "response_s_p99", "responses_completed"];

fn times(all: &[Measured], [of_mean, of_median, of_p99, of_count]: [&'static str; 4]) -> Named {
    let mut sum = Times::default();
    for one in all {
        if let Measured::Pages(times) | Measured::Responses(times) = one {
            sum.merge(times);
        }
    }
    vec![
        (of_mean, sum.mean()),
        (of_median, sum.quantile(0.5)),
        (of_p99, sum.quantile(0.99)),
        (of_count, Some(sum.count() as f64)),
    ]
}

fn videos(all: &[Measured]) -> Named {
    let each = || all.iter().filter_map(|one| if let Measured::Video(watched) = one { Some(watched) } else { None });
    let mut sum = Watched::default();
    each().for_each(|watched| sum.merge(watched));
    let watched = (sum.played + sum.stalled).seconds();
    vec![
        ("video_bit_rate_bit_s", share(sum.rate_sum, sum.segments as f64)),
        ("video_rebuffer_ratio", share(sum.stalled.seconds(), watched)),
        ("video_stalls", Some(sum.stalls as f64)),
        ("video_switches_per_min", share(sum.switches as f64 * 60.0, watched)),
        ("video_startup_s", mean(each().filter_map(|watched| watched.startup.map(Span::seconds)))),
    ]
}

fn calls(all: &[Measured]) -> Named {
    let each = || all.iter().filter_map(|one| if let Measured::Call(quality) = one { Some(quality) } else { None });
    let sum = |of: fn(&Quality) -> u64| each().map(of).sum::<u64>() as f64;
    let expected = sum(|call| call.expected);
    vec![
        ("voip_mouth_to_ear_ms_mean", mean(each().filter_map(Quality::mouth_to_ear_ms))),
        ("voip_loss_ratio", share(sum(|call| call.lost), expected)),
        ("voip_late_ratio", share(sum(|call| call.late), expected)),
        ("voip_r", mean(each().filter_map(Quality::rating))),
        ("voip_mos", mean(each().filter_map(Quality::mos))),
    ]
}

fn games(all: &[Measured]) -> Named {
    let mut sum = Late::default();
    for one in all {
        if let Measured::Game(late) = one {
            sum.merge(late);
        }
    }
    vec![
        ("delay_above_50_ms_ratio", share(sum.above_50_ms as f64, sum.heard as f64)),
        ("delay_above_100_ms_ratio", share(sum.above_100_ms as f64, sum.heard as f64)),
    ]
}
