//! Loss detection by time.
//!
//! Text: RFC 8985, section 6, as Linux has it (`tcp_recovery = 1`).
//! A segment is lost when one sent after it has been delivered, and a round trip and the reordering window ago it was
//! sent; the window is none while no reordering has been seen and three segments are SACKed or recovery is under way, and a
//! quarter of the smallest RTT otherwise. A retransmission can be lost like any other segment.
//! Deviations: the reordering timer is set for the first segment that waits (RFC 8985, step 5: for the last), so that each is
//! looked at once; the reordering window grows where `sender::undo` is in use.
//! Work: amortised O(1) a transmission, O(log n) the lookup of a segment.

use super::super::core::Core;
use super::super::progress::{DeliveryOrder, Progress};
use super::super::scoreboard::{Found, DUP_THRESH, SACKED};
use super::super::tail::Early;
use super::super::window::Prr;
use super::sack::{is_duplicate, update};
use super::Strategy;
use crate::congestion::CongestionControl;
use crate::segment::Ack;
use sojourn_units::{Bytes, Instant, Span};
use std::collections::VecDeque;

/// RFC 8985's variables.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Rack {
    /// RACK.xmit_ts and RACK.end_seq: of all delivered segments, the one sent last.
    latest: (Instant, u64),
    rtt: Span,
    /// RACK.fack: the highest delivered.
    highest: u64,
    /// RACK.reordering_seen.
    reordered: bool,
    /// Transmissions in the order of time: when, and the segment's first byte. What has been settled since is dropped
    /// when it comes to the front.
    order: VecDeque<(Instant, u64)>,
}

/// What only detection by time does: of the other recoveries, nothing of this is left when they are compiled.
pub(in super::super) trait ByTime: Sized {
    /// It detects losses by time, so it keeps the order of transmissions and looks at each delivery; its timers may go by the ticks of
    /// a clock, and its reductions may be undone.
    const BY_TIME: bool = false;

    /// What it wants to know of an acknowledgement.
    fn delivery_order(&self, _now: Instant, _min_rtt: Span) -> DeliveryOrder {
        DeliveryOrder::default()
    }

    /// After the RTT is known: more that is lost.
    fn detect(_core: &mut Core<Self>, _now: Instant, _progress: &mut Progress) {}

    /// What a segment must have been sent before, to be taken as lost by the retransmission timer.
    fn horizon(&self, _now: Instant) -> Instant {
        Instant::NEVER
    }

    /// The timer of segments that may be late has expired.
    fn on_late(_core: &mut Core<Self>, _now: Instant) {}

    /// A hole that began at `from` has been filled by what was late. True where reordering has been seen.
    fn on_reordering(&mut self, _from: u64) -> bool {
        false
    }

    /// What had been taken as lost may be lost again.
    fn requeue(_core: &mut Core<Self>) {}

    /// A transmission of the segment that starts at `seq`: when it is taken to leave.
    #[inline(always)]
    fn stamp(&mut self, now: Instant, _seq: u64) -> Instant {
        now
    }
}

impl ByTime for super::Reno {}
impl ByTime for super::NewReno {}
impl ByTime for super::Sack {}
impl ByTime for super::Ns3 {}

/// Steps 4 and 5 of section 6.2: marks what is lost, and sets the timer for the first that may yet come.
fn detect_loss(core: &mut Core<Rack>, now: Instant, progress: &mut Progress) {
    let episode = core.state.is_repairing();
    let quarters = core.undo.as_ref().map_or(1, |undo| undo.quarters());
    let rack = &mut core.recovery;
    let at_once = !rack.reordered && (episode || core.board.sacked_segments() >= u64::from(DUP_THRESH));
    let window = if at_once { Span::ZERO } else { (core.rtt.min / 4 * quarters).min(core.rtt.srtt()) };
    let mut wait = None;
    while let Some(&(sent, seq)) = rack.order.front() {
        if let Some(Found { place, end }) = core.board.find_sent(seq, sent) {
            if (sent, end) >= rack.latest {
                break;
            }
            let due = sent + rack.rtt + window;
            if due > now {
                wait = Some(due);
                break;
            }
            core.board.mark_lost(place, progress);
        }
        rack.order.pop_front();
    }
    match wait {
        Some(due) => {
            // As Linux (`tcp_rack_mark_lost`): two ticks more.
            let at =
                if core.config.tick.is_zero() { due } else { core.ticked(now, due.since(now)) + core.config.tick * 2 };
            core.tail.early = Some((at, Early::Reordering));
        }
        None if core.tail.awaits(Early::Reordering) => core.tail.early = None,
        None => {}
    }
}

impl Strategy for Rack {
    /// The segments are delivered in the order in which they were sent, each for the first time.
    fn on_expected(core: &mut Core<Self>, now: Instant, last: Instant) {
        let una = core.board.una;
        let rack = &mut core.recovery;
        rack.highest = rack.highest.max(una);
        rack.rtt = now.since(last);
        rack.latest = rack.latest.max((last, una));
        let mut progress = Progress::default();
        detect_loss(core, now, &mut progress);
        debug_assert_eq!(progress.lost, 0, "lost in the order of sending");
    }

    fn prr_window(prr: &mut Prr, delivered: u64, safe: bool, pipe: u64, ssthresh: u64, mss: u64) -> u64 {
        prr.on_ack_in(mss, delivered, safe, pipe, ssthresh, mss)
    }

    fn process_ack(core: &mut Core<Self>, now: Instant, ack: &Ack, advanced: bool, progress: &mut Progress) -> bool {
        update(core, now, ack, progress);
        is_duplicate(advanced, progress)
    }

    fn has_lost(core: &Core<Self>, _duplicate: bool) -> bool {
        core.board.has_lost()
    }

    /// As Linux 6.1: what left within the last round trip is not taken as lost, and the window has room for it and one more.
    fn on_timeout(core: &mut Core<Self>) {
        core.congestion.set_cwnd(Bytes::new(core.board.pipe() + core.mss));
    }
}

impl ByTime for Rack {
    const BY_TIME: bool = true;

    fn delivery_order(&self, now: Instant, min_rtt: Span) -> DeliveryOrder {
        let credible = Instant::from_nanos(now.nanos().saturating_sub(min_rtt.nanos()));
        DeliveryOrder { credible, highest: self.highest, reordered: self.reordered }
    }

    /// Steps 1 to 3 of section 6.2, for what an acknowledgement has delivered; then the rest.
    fn detect(core: &mut Core<Self>, now: Instant, progress: &mut Progress) {
        if progress.delivered() == 0 {
            return;
        }
        let rack = &mut core.recovery;
        rack.highest = progress.order.highest;
        rack.reordered |= progress.order.reordered;
        if let Some(latest) = progress.latest {
            rack.rtt = now.since(latest.0);
            rack.latest = rack.latest.max(latest);
        }
        detect_loss(core, now, progress);
    }

    fn horizon(&self, now: Instant) -> Instant {
        Instant::ZERO + Span::from_nanos(now.nanos().saturating_sub(self.rtt.nanos()))
    }

    fn on_reordering(&mut self, from: u64) -> bool {
        self.reordered |= from < self.highest;
        self.reordered
    }

    fn requeue(core: &mut Core<Self>) {
        let order = &mut core.recovery.order;
        let last = order.back().copied();
        order.clear();
        order.extend(core.board.segments.iter().filter(|s| s.flags & SACKED == 0).map(|s| (s.sent, s.seq)));
        order.make_contiguous().sort_unstable();
        // The stamps of what leaves next go on from it.
        if let Some(last) = last.filter(|last| order.back().is_none_or(|back| back < last)) {
            order.push_back(last);
        }
    }

    /// The reordering timer has expired.
    fn on_late(core: &mut Core<Self>, now: Instant) {
        let mut progress = Progress::default();
        detect_loss(core, now, &mut progress);
        if progress.lost > 0 && !core.state.is_recovery() {
            core.enter_recovery(now, &mut progress);
            // As Linux (`tcp_rack_reo_timeout`): the reduction begins now, as if one segment had been delivered.
            core.follow_reduction(core.mss, false);
            core.restart_timer(now);
        }
        core.total_lost += progress.lost;
    }

    /// What leaves at one instant here is told apart by nanoseconds, as a host's clock would; RFC 8985 settles ties by
    /// sequence, which misjudges a retransmission among new segments.
    fn stamp(&mut self, now: Instant, seq: u64) -> Instant {
        let after = self.order.back().map_or(now, |(last, _)| now.max(*last + Span::from_nanos(1)));
        self.order.push_back((after, seq));
        after
    }
}
