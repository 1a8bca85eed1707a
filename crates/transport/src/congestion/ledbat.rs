//! LEDBAT: takes what others leave, by holding the delay that it adds to the path at a target.
//!
//! Text: RFC 6817, section 2.4.2. Law, for every acknowledgement, delays one-way:
//!
//! ```text
//! queueing delay = min(last 4 delays) - min(delays of this minute and the nine before)
//! cwnd           + gain * (target - queueing delay) / target * acked / cwnd segments, down as well as up
//! cwnd           <= in flight before the acknowledgement + 1 segment, and >= 2 segments
//! loss -> cwnd / 2, once a round trip; timeout -> 1 segment
//! ```
//!
//! Alone it fills the link with `target` of queue; beside a flow that queues more it keeps two segments a round trip.
//! Slow start, which the RFC leaves to the sender, is an option: one segment for each acknowledged, until the queueing delay
//! exceeds 3/4 of the target (draft-irtf-iccrg-ledbat-plus-plus) or a segment is lost.
//!
//! Deviations: the initial window is the flow's (the RFC's INIT_CWND is 2); an acknowledgement brings one delay, that of the
//! segment whose timestamp it echoes; the halving is spread over a round trip where the sender does so (PRR); clocks
//! agree and have nanoseconds. Without timestamps it is as if there were no queue. Work: O(1).

use super::{About, AckEvent, CongestionControl, CongestionEvent, Parameters, Phase};
use sojourn_document::bounds::DELAY;
use sojourn_document::{keys, keys::above_zero};
use sojourn_units::{Bytes, Instant, Span};

/// What the registry says of it.
pub const ABOUT: About = About { name: "ledbat", source: "RFC 6817" };

keys! {
    /// Keys of the TCP table.
    pub struct Keys {
        /// Target queueing delay of LEDBAT. RFC 6817 allows 100 ms at the most.
        ledbat_target: Span = Span::from_millis(100), above_zero(DELAY.most);
        /// Segments by which LEDBAT's window grows in a round trip without queueing. RFC 6817 allows 1 at the most.
        ledbat_gain: f64 = 1.0, above_zero(100.0);
        /// LEDBAT begins with slow start, up to 3/4 of its target. RFC 6817 leaves it to the host.
        ledbat_slow_start: bool = false;
    }
}

/// Minutes of which the smallest delay counts (BASE_HISTORY).
const BASE_HISTORY: usize = 10;
/// Samples of which the smallest is the present delay (CURRENT_FILTER).
const CURRENT_FILTER: usize = 4;
/// Segments that the window may exceed what is in flight by (ALLOWED_INCREASE).
const ALLOWED_INCREASE: f64 = 1.0;
/// Smallest window in segments (MIN_CWND).
const MIN_CWND: f64 = 2.0;
/// Share of the target that ends slow start.
const SLOW_START_EXIT: f64 = 0.75;
/// A base delay is kept for each of these.
const MINUTE: Span = Span::from_secs(60);

/// State.
#[derive(Clone, Debug)]
pub struct Ledbat {
    /// In bytes, with the fraction earned.
    cwnd: f64,
    /// In bytes.
    ssthresh: u64,
    mss: f64,
    limit: f64,
    target: Span,
    gain: f64,
    slow_start: bool,
    /// Smallest delay of each minute, the present one first.
    base: [Span; BASE_HISTORY],
    /// The minute of `base[0]`, counted from the start of time.
    minute: Option<u64>,
    /// The last delays, the newest first.
    current: [Span; CURRENT_FILTER],
}

impl Ledbat {
    /// At the initial window, no delay known.
    #[must_use]
    pub fn new(p: &Parameters, keys: Keys) -> Self {
        let mss = p.mss.get().max(1) as f64;
        let limit = p.window_limit.map_or(f64::INFINITY, |limit| (limit.get() as f64).max(mss));
        Self {
            cwnd: (p.initial_window.get().max(1) as f64 * mss).min(limit),
            ssthresh: u64::MAX,
            mss,
            limit,
            target: keys.ledbat_target,
            gain: keys.ledbat_gain,
            slow_start: keys.ledbat_slow_start,
            base: [Span::MAX; BASE_HISTORY],
            minute: None,
            current: [Span::MAX; CURRENT_FILTER],
        }
    }

    /// `update_base_delay` and `update_current_delay`.
    fn observe(&mut self, now: Instant, delay: Span) {
        let minute = now.nanos() / MINUTE.nanos();
        if self.minute == Some(minute) {
            self.base[0] = self.base[0].min(delay);
        } else {
            self.minute = Some(minute);
            self.base.rotate_right(1);
            self.base[0] = delay;
        }
        self.current.rotate_right(1);
        self.current[0] = delay;
    }

    fn queueing_delay(&self) -> Span {
        let least = |delays: &[Span]| delays.iter().copied().min().unwrap_or(Span::ZERO);
        least(&self.current).saturating_sub(least(&self.base))
    }

    fn adapt(&mut self, ack: &AckEvent) {
        let acked = ack.newly_delivered().get() as f64;
        let (delay, target) = (self.queueing_delay().seconds(), self.target.seconds());
        if self.slow_start && delay > SLOW_START_EXIT * target {
            self.slow_start = false;
            self.ssthresh = self.cwnd as u64;
        }
        if self.slow_start {
            self.cwnd += acked;
        } else {
            self.cwnd += self.gain * (target - delay) / target * acked * self.mss / self.cwnd;
        }
        let allowed = ack.prior_in_flight.get() as f64 + ALLOWED_INCREASE * self.mss;
        // In slow start each segment acknowledged lets two leave.
        let allowed = if self.slow_start { allowed + acked } else { allowed };
        self.cwnd = self.cwnd.min(allowed).max(MIN_CWND * self.mss).min(self.limit);
    }
}

impl CongestionControl for Ledbat {
    fn needs_timestamps(&self) -> bool {
        true
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        if let Some(delay) = ack.rtt.one_way {
            self.observe(ack.now, delay);
        }
        // While the window shrinks after a loss, its size is settled; so is it for an acknowledgement of nothing.
        if ack.phase != Phase::Recovery && ack.newly_delivered() > Bytes::ZERO {
            self.adapt(ack);
        }
    }

    fn on_congestion(&mut self, _event: &CongestionEvent) {
        self.slow_start = false;
        self.ssthresh = (self.cwnd / 2.0).max(MIN_CWND * self.mss).min(self.cwnd) as u64;
    }

    fn on_rto(&mut self, _now: Instant, _total_lost: Bytes) {
        self.cwnd = self.mss;
    }

    fn cwnd(&self) -> Bytes {
        Bytes::new(self.cwnd as u64)
    }

    fn ssthresh(&self) -> Bytes {
        Bytes::new(self.ssthresh)
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.cwnd = (cwnd.get() as f64).max(self.mss).min(self.limit);
    }

    fn set_ssthresh(&mut self, ssthresh: Bytes) {
        self.ssthresh = ssthresh.get();
    }

    fn internals(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("cwnd_bytes", self.cwnd);
        see("queueing_delay_s", self.queueing_delay().seconds());
    }
}
