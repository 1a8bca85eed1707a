//! Prague: DCTCP made fit for the Internet, the scalable congestion control of L4S (RFC 9331).
//!
//! Text: draft-briscoe-iccrg-prague-congestion-control-03; behaviour of Linux's `tcp_prague.c` (L4S team's tree), which the
//! draft describes. Law, once a virtual round trip `R = max(srtt, 25 ms)`, with F the share of packets marked in it:
//!
//! ```text
//! alpha <- alpha + (F - alpha) / 16         from the first mark on; 1 before
//! mark  -> cwnd <- cwnd (1 - alpha / 2)     at once, not again within R nor within a round trip
//! each unmarked segment acknowledged: cwnd + (srtt / R)^2 / cwnd segments; slow start: + 1
//! loss  -> cwnd / 2
//! pacing rate = cwnd / srtt, twice that below half the slow-start threshold
//! ```
//!
//! The square makes the acceleration, (srtt/R)^2 segments in a time of srtt for a rate of 1/srtt, that of a flow with 25 ms; the
//! virtual round trip makes the reductions as frequent. This begins four rounds after slow start. Growth does not pause after a
//! reduction, and marked segments earn none. The window keeps its fractions. Marks come as Accurate ECN counts them (RFC 9768). Segments
//! leave in bursts of what is sent in 250 us, one at the least.
//!
//! Where the receiver has classic ECN only, it is Reno: ECT(0), the window is halved once a round trip with marks, and grows by a segment
//! in a real round trip (RFC 9331, section 4.3).
//!
//! Deviations: bytes instead of packets; pacing begins with the first RTT sample; the window may grow to twice what is in flight when
//! neither it nor the application is the limit. Left out: windows below two segments, detection of classic ECN queues (off by default in
//! the draft as well, so that a single queue of RFC 3168 favours it), the rate offset of +-3 % within a round of newer trees, ECN-capable
//! acknowledgements and handshakes. Work: O(1).

use super::{About, AckEvent, CongestionControl, CongestionEvent, EcnFeedback, Parameters, Phase};
use crate::segment::DATA_HEADER;
use sojourn_document::keys;
use sojourn_units::{BitRate, Bytes, Instant, Span};

/// What the registry says of it.
pub const ABOUT: About =
    About { name: "prague", source: "draft-briscoe-iccrg-prague-congestion-control, as in the L4S team's Linux" };

keys! {
    /// Keys of the TCP table.
    pub struct Keys {
        /// Prague's reference RTT: a flow with a shorter RTT behaves as with this one. draft-briscoe-iccrg-prague 25 ms.
        prague_reference_rtt: Span = Span::from_millis(25);
    }
}

/// Weight of a round in alpha.
const GAIN: f64 = 1.0 / 16.0;
/// Smallest window in segments.
const MIN_SEGMENTS: f64 = 2.0;
/// What is sent in this time may leave at once.
const BURST: Span = Span::from_micros(250);
/// Rounds after slow start in which the real RTT still counts.
const TRANSITION: u32 = 4;

/// A round over which the share of marks is taken.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    start: Instant,
    /// It ends when the cumulative acknowledgement reaches this.
    end: u64,
    packets: u64,
    marked: u64,
}

/// State.
#[derive(Clone, Debug)]
pub struct Prague {
    /// In bytes, with the fraction earned.
    cwnd: f64,
    /// In bytes.
    ssthresh: u64,
    mss: f64,
    limit: f64,
    alpha: f64,
    marks_seen: bool,
    round: Round,
    /// Rounds since slow start, up to [`TRANSITION`].
    rounds: u32,
    /// The last reduction, and what was sent by then.
    reduced: Option<(Instant, u64)>,
    reference_rtt: Span,
    srtt: Span,
    in_flight: u64,
    /// The receiver says no more than RFC 3168 has it.
    classic: bool,
}

impl Prague {
    /// At the initial window, threshold unset, expecting the worst: alpha is 1.
    #[must_use]
    pub fn new(p: &Parameters, keys: Keys) -> Self {
        let mss = p.mss.get().max(1) as f64;
        let limit = p.window_limit.map_or(f64::INFINITY, |limit| (limit.get() as f64).max(mss));
        Self {
            cwnd: (p.initial_window.get().max(1) as f64 * mss).min(limit),
            ssthresh: u64::MAX,
            mss,
            limit,
            alpha: 1.0,
            marks_seen: false,
            round: Round::default(),
            rounds: 0,
            reduced: None,
            reference_rtt: keys.prague_reference_rtt,
            srtt: Span::ZERO,
            in_flight: 0,
            classic: false,
        }
    }

    fn in_slow_start(&self) -> bool {
        (self.cwnd as u64) < self.ssthresh
    }

    /// What stands for the round trip: the real one until the flow is some rounds old.
    fn virtual_rtt(&self) -> Span {
        if self.classic || self.in_slow_start() || self.rounds < TRANSITION {
            self.srtt
        } else {
            self.srtt.max(self.reference_rtt)
        }
    }

    /// Additive increase a round trip, in segments.
    fn increase(&self) -> f64 {
        let virtual_rtt = self.virtual_rtt();
        if virtual_rtt.is_zero() {
            return 1.0;
        }
        let ratio = self.srtt.seconds() / virtual_rtt.seconds();
        ratio * ratio
    }

    fn grow(&mut self, mut acked: f64) {
        if self.in_slow_start() {
            let grown = acked.min(self.ssthresh as f64 - self.cwnd);
            self.cwnd += grown;
            acked -= grown;
        }
        if acked > 0.0 {
            self.cwnd += self.increase() * self.mss * acked / self.cwnd;
        }
        self.cwnd = self.cwnd.min(self.limit);
    }

    fn answer_mark(&mut self, ack: &AckEvent) {
        let again = self.reduced.is_none_or(|(at, sent)| ack.una > sent && ack.now.since(at) >= self.virtual_rtt());
        if again {
            self.cwnd = (self.cwnd * (1.0 - self.alpha / 2.0)).max(MIN_SEGMENTS * self.mss).min(self.cwnd);
            self.ssthresh = self.cwnd as u64;
            self.reduced = Some((ack.now, ack.next));
        }
    }

    fn observe(&mut self, ack: &AckEvent, packets: u64, marked: u64) {
        self.round.packets += packets;
        self.round.marked += marked;
        if ack.una < self.round.end || ack.now.since(self.round.start) < self.virtual_rtt() {
            return;
        }
        if self.marks_seen && self.round.packets > 0 {
            let share = (self.round.marked as f64 / self.round.packets as f64).min(1.0);
            self.alpha += (share - self.alpha) * GAIN;
        }
        self.round = Round { start: ack.now, end: ack.next, packets: 0, marked: 0 };
        if !self.in_slow_start() {
            self.rounds = (self.rounds + 1).min(TRANSITION);
        }
    }
}

impl CongestionControl for Prague {
    fn ecn_feedback(&self) -> EcnFeedback {
        EcnFeedback::AccEcn
    }

    fn answers_marks(&self) -> bool {
        !self.classic
    }

    fn on_feedback(&mut self, feedback: EcnFeedback) {
        self.classic = feedback == EcnFeedback::Classic;
    }

    fn is_l4s(&self) -> bool {
        true
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.srtt = ack.rtt.smoothed;
        self.in_flight = ack.in_flight.get();
        let (packets, marked) = (ack.newly_delivered_packets().get(), ack.ce.packets.get());
        self.marks_seen |= marked > 0;
        let used = !ack.delivery.app_limited && 2 * ack.prior_in_flight.get() >= self.cwnd as u64;
        if ack.may_grow && used && packets > marked {
            let unmarked = (packets - marked) as f64 / packets as f64;
            self.grow(ack.newly_delivered().get() as f64 * unmarked);
        }
        // Recovery already halves, which is no less than a mark asks for.
        if marked > 0 && ack.phase != Phase::Recovery {
            self.answer_mark(ack);
        }
        self.observe(ack, packets, marked);
    }

    fn on_congestion(&mut self, _event: &CongestionEvent) {
        self.ssthresh = ((self.cwnd / 2.0).max(MIN_SEGMENTS * self.mss)) as u64;
    }

    fn on_rto(&mut self, _now: Instant, _total_lost: Bytes) {
        self.cwnd = self.mss;
    }

    fn on_established(&mut self, _now: Instant, rtt: Option<Span>) {
        self.srtt = rtt.unwrap_or_default();
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

    fn reads_rates(&self) -> bool {
        true
    }

    fn paces(&self) -> bool {
        true
    }

    fn pacing_burst(&self) -> u64 {
        let packet = self.mss + DATA_HEADER.get() as f64;
        let bytes = self.pacing_rate().map_or(0.0, |rate| rate.bit_s() as f64 / 8.0 * BURST.seconds());
        ((bytes / packet) as u64).max(1)
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        if self.srtt.is_zero() {
            return None;
        }
        let window = self.cwnd.max(self.in_flight as f64) * (1.0 + DATA_HEADER.get() as f64 / self.mss);
        let factor = if self.cwnd < self.ssthresh as f64 / 2.0 { 2.0 } else { 1.0 };
        Some(BitRate::from_bit_s((window * factor * 8.0 / self.srtt.seconds()) as u64))
    }

    fn internals(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("cwnd_bytes", self.cwnd);
        see("alpha", self.alpha);
        see("virtual_rtt_s", self.virtual_rtt().seconds());
    }
}
