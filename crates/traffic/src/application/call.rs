//! The receiver of a telephone call, which plays frames of speech.
//!
//! The receiver plays a frame at a fixed time after it was sent, its playout delay, which holds for all frames of a stretch of
//! speech. Frames that arrive later are lost to the listener. With `playout` `fixed` the delay is that of the first frame plus
//! `jitter_buffer`. With `adaptive` it is d + 4 v, from the averages d of the delay and v of its variation, as algorithm 1 of Ramjee
//! et al. ("Adaptive playout mechanisms for packetized audio applications in wide-area networks", INFOCOM 1994), and is set
//! anew each second: about the mean length of a talk spurt (ITU-T P.59: 1.004 s).
//! From mouth to ear a frame takes its length (it must be complete before it is sent), the codec's look-ahead and the playout delay.

use sojourn_document::words;
use sojourn_measure::emodel;
use sojourn_units::{Instant, Span};

words! {
    /// How a receiver chooses its playout delay.
    pub enum Playout {
        /// From the delay of the frames so far (Ramjee et al. 1994), each second.
        #[default]
        Adaptive = "adaptive",
        /// The delay of the first frame plus `jitter_buffer`.
        Fixed = "fixed",
    }
}

/// Weight of the past in the averages (Ramjee et al.: 0.998002).
const PAST: f64 = 0.998_002;
/// Playout delays hold for so long.
const SPURT: Span = Span::from_secs(1);
/// Frames that may be out of order.
const WINDOW: u64 = 64;

/// The receiver of a call.
#[derive(Clone, Debug)]
pub struct Call {
    playout: Playout,
    jitter_buffer: Span,
    /// Of the frame and the codec.
    codec_delay: Span,
    rated: Option<emodel::Codec>,
    /// Averages in ns: of the delay, and of its distance from that.
    delay: f64,
    variation: f64,
    /// The playout delay, and when the next one is set; none before the first frame.
    plays_after: Option<Span>,
    renew_at: Instant,
    /// The highest number so far, one more; and which of the last frames up to there were played, the latest in the lowest bit.
    next: u64,
    played: u64,
    /// Frames before this number are not of the measurement, and those before `judged` are counted.
    first: u64,
    judged: u64,
    was_lost: bool,
    quality: Quality,
}

/// What became of a call's frames.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quality {
    /// Frames that were to be played.
    pub expected: u64,
    /// That never came.
    pub lost: u64,
    /// That came too late.
    pub late: u64,
    /// Runs of frames one after another that were not played.
    pub runs: u64,
    /// Frames that were played, and the sum of their delays from mouth to ear in ns.
    played: u64,
    mouth_to_ear_ns: u128,
    codec: Option<emodel::Codec>,
}

impl Call {
    pub(crate) fn new(playout: Playout, jitter_buffer: Span, codec_delay: Span, rated: Option<emodel::Codec>) -> Self {
        Self {
            playout,
            jitter_buffer,
            codec_delay,
            rated,
            delay: 0.0,
            variation: 0.0,
            plays_after: None,
            renew_at: Instant::ZERO,
            next: 0,
            played: 0,
            first: 0,
            judged: 0,
            was_lost: false,
            quality: Quality { codec: rated, ..Quality::default() },
        }
    }

    /// A frame that was sent at `sent` is here.
    pub fn hear(&mut self, now: Instant, ordinal: u32, sent: Instant) {
        let delay = now.since(sent);
        let after = self.playout_delay(now, delay);
        let number = u64::from(ordinal);
        if number >= self.next {
            // Bound: frames that were sent since the last one that came.
            while self.next <= number {
                self.shift();
            }
        }
        let place = self.next - 1 - number;
        let is_known = place >= WINDOW || self.played >> place & 1 == 1;
        if is_known || number < self.first.max(self.judged) {
            return;
        }
        if delay > after {
            self.quality.late += 1;
            return;
        }
        self.played |= 1 << place;
        self.quality.played += 1;
        self.quality.mouth_to_ear_ns += u128::from((self.codec_delay + after).nanos());
    }

    fn playout_delay(&mut self, now: Instant, delay: Span) -> Span {
        let ns = delay.nanos() as f64;
        let Some(after) = self.plays_after else {
            let first = delay + self.jitter_buffer;
            (self.delay, self.variation) = (ns, self.jitter_buffer.nanos() as f64 / 4.0);
            (self.plays_after, self.renew_at) = (Some(first), now + SPURT);
            return first;
        };
        self.delay = PAST * self.delay + (1.0 - PAST) * ns;
        self.variation = PAST * self.variation + (1.0 - PAST) * (self.delay - ns).abs();
        if self.playout == Playout::Fixed || now < self.renew_at {
            return after;
        }
        self.renew_at = now + SPURT;
        let renewed = Span::from_nanos(libm::round(self.delay + 4.0 * self.variation).max(0.0) as u64);
        self.plays_after = Some(renewed);
        renewed
    }

    /// Room for one more frame, which has not been played yet; the oldest is judged.
    fn shift(&mut self) {
        if self.next >= WINDOW {
            self.judge(self.next - WINDOW, self.played >> (WINDOW - 1) & 1 == 1);
        }
        self.played <<= 1;
        self.next += 1;
    }

    fn judge(&mut self, number: u64, is_played: bool) {
        if number < self.first || number < self.judged {
            return;
        }
        self.judged = number + 1;
        self.quality.expected += 1;
        self.quality.runs += u64::from(!is_played && !self.was_lost);
        self.was_lost = !is_played;
    }

    /// The measurement begins.
    pub fn restart(&mut self) {
        self.first = self.next;
        self.was_lost = false;
        self.quality = Quality { codec: self.rated, ..Quality::default() };
    }

    /// What became of the frames up to the last that came.
    #[must_use]
    pub fn quality(&self) -> Quality {
        let mut all = self.clone();
        for place in (0..WINDOW.min(self.next)).rev() {
            all.judge(self.next - 1 - place, self.played >> place & 1 == 1);
        }
        let mut quality = all.quality;
        quality.lost = quality.expected - quality.played.min(quality.expected);
        quality.lost = quality.lost.saturating_sub(quality.late);
        quality
    }
}

impl Quality {
    /// Adds another part of the call.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.expected += other.expected;
        self.lost += other.lost;
        self.late += other.late;
        self.runs += other.runs;
        self.played += other.played;
        self.mouth_to_ear_ns += other.mouth_to_ear_ns;
    }

    /// What was added since this was as `earlier`. A frame that was missing then may have come since.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            expected: self.expected.saturating_sub(earlier.expected),
            lost: self.lost.saturating_sub(earlier.lost),
            late: self.late.saturating_sub(earlier.late),
            runs: self.runs.saturating_sub(earlier.runs),
            played: self.played.saturating_sub(earlier.played),
            mouth_to_ear_ns: self.mouth_to_ear_ns.saturating_sub(earlier.mouth_to_ear_ns),
            codec: self.codec,
        }
    }

    /// Mean delay from mouth to ear of the frames that were played.
    #[must_use]
    pub fn mouth_to_ear_ms(&self) -> Option<f64> {
        (self.played > 0).then(|| self.mouth_to_ear_ns as f64 / self.played as f64 / 1e6)
    }

    /// G.107's R; none of a codec without an impairment factor, and of a call of which nothing was heard.
    #[must_use]
    pub fn rating(&self) -> Option<f64> {
        let (delay_ms, codec) = (self.mouth_to_ear_ms()?, self.codec?);
        let missing = (self.lost + self.late) as f64;
        let share = missing / self.expected as f64;
        let burst_ratio = if self.runs > 0 { missing / self.runs as f64 * (1.0 - share) } else { 1.0 };
        Some(emodel::Call { delay_ms, loss_percent: 100.0 * share, burst_ratio, codec }.rating())
    }

    /// G.107's mean opinion score.
    #[must_use]
    pub fn mos(&self) -> Option<f64> {
        self.rating().map(emodel::mos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Span = Span::from_millis(20);

    fn at(number: u32) -> Instant {
        Instant::ZERO + FRAME * u64::from(number)
    }

    fn fixed() -> Call {
        Call::new(Playout::Fixed, Span::from_millis(60), Span::from_micros(23_750), Some(emodel::Codec::G711_PLC))
    }

    #[test]
    fn frames_are_played_lost_or_late() {
        // The first takes 30 ms, so frames are played 90 ms after they were sent: one of 90 ms is heard, one of 91 ms is not.
        let mut call = fixed();
        for (number, delay) in [(0, 30), (1, 90), (2, 91), (5, 10), (6, 10), (4, 60)] {
            call.hear(at(number) + Span::from_millis(delay), number, at(number));
        }
        // Played: 0, 1, 4, 5, 6. Late: 2. Lost: 3. One run, of 2 and 3.
        let quality = call.quality();
        assert_eq!((quality.expected, quality.lost, quality.late, quality.runs), (7, 1, 1, 1));
        assert_eq!(quality.mouth_to_ear_ms(), Some(113.75));
    }

    #[test]
    fn a_copy_is_heard_once_and_what_came_before_the_measurement_does_not_count() {
        let mut call = fixed();
        call.hear(at(0), 0, at(0));
        call.restart();
        for number in [0, 1, 1, 2] {
            call.hear(at(number), number, at(number));
        }
        let quality = call.quality();
        assert_eq!((quality.expected, quality.played, quality.lost, quality.late), (2, 2, 0, 0));
    }

    #[test]
    fn long_gaps_are_one_run_each() {
        let mut call = fixed();
        for number in [0, 1, 301, 302, 500] {
            call.hear(at(number), number, at(number));
        }
        let quality = call.quality();
        assert_eq!((quality.expected, quality.lost, quality.runs), (501, 496, 2));
    }

    #[test]
    fn an_adaptive_buffer_follows_the_delay() {
        // 10 ms for a minute, then 110 ms: with 0.998002 a frame, d has gone the share 1 - 0.998002^3000 = 99.75 % of the way after
        // a minute, and the variation has passed its peak, so frames are heard again.
        let mut call = Call::new(Playout::Adaptive, Span::from_millis(60), FRAME, None);
        for number in 0..6000 {
            let delay = if number < 3000 { 10 } else { 110 };
            call.hear(at(number) + Span::from_millis(delay), number, at(number));
        }
        let quality = call.quality();
        assert!(quality.late > 50 && quality.late < 1500, "{quality:?}");
        assert_eq!((quality.lost, quality.rating()), (0, None));
        let after = call.plays_after.expect("heard").millis();
        assert!((110.0..130.0).contains(&after), "{after}");
    }
}
