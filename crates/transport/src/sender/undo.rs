//! Undoing a reduction that was not needed.
//!
//! Texts: RFC 2883 and 3708 (DSACK: the receiver names what it got twice), RFC 3522 and 4015 (Eifel: the echoed timestamp is older
//! than the first retransmission), RFC 5682, 3.1 (F-RTO with selective acknowledgements).
//!
//! What Linux does (6.1 and 6.12, `net/ipv4/tcp_input.c`, `tcp_recovery.c`), in words:
//! * At the start of fast recovery and of the time after a timeout it remembers the window, the threshold (at least three quarters of
//!   the window), the cumulative acknowledgement and the number of retransmissions in flight. A reduction in answer to a mark is
//!   congestion that is proven, and is not undone (`tcp_init_undo`, `tcp_enter_loss`, `tcp_enter_cwr`).
//! * The window and the threshold come back, whichever is larger, in these cases. A DSACK has named every retransmission
//!   (`tcp_try_undo_dsack`), also after the episode. Or an acknowledgement that advances echoes a time before the first retransmission
//!   (`tcp_packet_delayed`): within fast recovery once no retransmission is in flight, and until then only new data is sent; after a
//!   timeout, and at the end of either, at once. Within an episode, what was taken as lost is in flight again.
//! * After a timeout that found no recovery under way, the first acknowledgement that advances has new data sent in place of lost
//!   data. If the next one delivers something that was sent once and before the timeout, the timeout was spurious, and the window
//!   comes back; if it SACKs only the new data, something was lost (`tcp_process_loss`).
//! * A DSACK once reordering has been seen widens the reordering window of RACK by a quarter of the smallest RTT, once a round trip,
//!   up to 255 quarters. After 16 recoveries that were needed it is a quarter again (`tcp_rack_update_reo_wnd`).
//! * A delivery that comes late has the acknowledged hole count as reordering (`tcp_check_sack_reordering`).
//!
//! Deviations: times have nanoseconds, not milliseconds. What is taken back is looked at again by RACK (RFC 8985, 6.2); Linux leaves
//! what RACK had marked to the timers. A duplicate counts once and not again as delivered data.
//! Only `Recovery::Rack` has it, and only where `Config::undo` asks for it. Work: O(1) an acknowledgement, O(n) an undo.

use super::core::Core;
use super::episode::State;
use super::progress::Progress;
use super::recovery::Strategy;
use crate::congestion::CongestionControl;
use crate::segment::Ack;
use sojourn_units::{Bytes, Instant};

/// What is remembered of the reduction under way, or of the last one.
#[derive(Clone, Debug, Default)]
pub(super) struct Undo {
    /// What there was before it; none once it is undone.
    before: Option<Before>,
    /// Retransmissions since then that no DSACK has named; none before the first.
    unnamed: Option<u64>,
    /// When the first retransmission left that may be in flight.
    first_resent: Option<Instant>,
    /// F-RTO watches what answers the timeout, which was then.
    watched: Option<Instant>,
    next: Next,
    /// Up to here segments may have been sent more than once although nothing says that they are lost.
    mixed: Option<u64>,
    /// Segments that DSACKs have named since the start.
    named: u64,
    growth: Growth,
    stats: UndoStats,
}

/// How RACK's reordering window has grown (RFC 8985, 6.2, step 4).
#[derive(Clone, Copy, Debug, Default)]
struct Growth {
    /// Quarters of the smallest RTT by which it has, and since when.
    quarters: u64,
    since: Instant,
    /// Recoveries for which it stays so.
    persist: u32,
    /// A DSACK has yet to widen it.
    due: bool,
}

/// Counts of what was needless, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UndoStats {
    /// Acknowledgements that named a retransmission as one too many (DSACK).
    pub dsacks: u64,
    /// Reductions undone.
    pub undos: u64,
    /// Of these, those of timeouts that F-RTO has found to be spurious.
    pub spurious_timeouts: u64,
}

/// The most quarters in all, and the recoveries for which they stay.
const MOST_QUARTERS: u64 = 255;
const PERSIST: u32 = 16;

#[derive(Clone, Copy, Debug)]
struct Before {
    /// The cumulative acknowledgement.
    una: u64,
    cwnd: u64,
    /// None where the window was being reduced already: it does not come back.
    ssthresh: Option<Bytes>,
}

/// What may be sent until the next acknowledgement, while something is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Next {
    /// What is lost.
    #[default]
    Lost,
    /// New data, if there is any.
    NewFirst,
    /// New data alone.
    NewOnly,
}

impl Growth {
    /// An acknowledgement says, or not, that something arrived twice, and what it delivered left last at `latest`.
    fn on_ack(&mut self, now: Instant, twice: bool, latest: Option<Instant>) {
        self.due |= twice;
        let Some(sent) = latest.filter(|_| self.due) else { return };
        self.due = false;
        if sent >= self.since {
            self.quarters = (self.quarters + 1).min(MOST_QUARTERS - 1);
            self.since = now;
            self.persist = PERSIST;
        }
    }

    /// An episode is over: needless, or not.
    fn on_end(&mut self, needless: bool) {
        self.persist = if needless { (self.persist + 1).min(PERSIST) } else { self.persist.saturating_sub(1) };
        if self.persist == 0 {
            self.quarters = 0;
        }
    }
}

impl Undo {
    /// RACK's reordering window, in quarters of the smallest RTT.
    pub fn quarters(&self) -> u64 {
        1 + self.growth.quarters
    }

    pub fn stats(&self) -> UndoStats {
        self.stats
    }

    /// An acknowledgement of new data where nothing is missing means nothing to it.
    pub fn is_quiet(&self) -> bool {
        let idle = self.mixed.is_none() && self.first_resent.is_none() && !self.growth.due && self.next == Next::Lost;
        idle && !self.is_due(false)
    }

    /// Nothing says that a retransmission was needed.
    fn is_due(&self, is_late: bool) -> bool {
        self.before.is_some() && (self.unnamed == Some(0) || is_late)
    }
}

/// A range that the receiver had before.
#[derive(Clone, Copy)]
struct Dsack {
    end: u64,
    len: u64,
}

/// RFC 2883, section 4: the first block is below the cumulative acknowledgement, or within the second.
fn dsack(ack: &Ack) -> Option<Dsack> {
    let [first, second, _] = ack.sack;
    if first.len == 0 {
        return None;
    }
    let len = u64::from(first.len);
    if first.is_below() {
        return Some(Dsack { end: (ack.ack + len).saturating_sub(u64::from(first.offset.wrapping_neg())), len });
    }
    let (start, end) = (u64::from(first.offset), u64::from(first.offset) + len);
    let outer = u64::from(second.offset);
    let within = !second.is_below() && outer <= start && end <= outer + u64::from(second.len);
    within.then_some(Dsack { end: ack.ack + end, len })
}

impl<R: Strategy> Core<R> {
    /// Only a recovery by time may be undone: of the others, nothing of this is left when they are compiled.
    fn undo(&mut self) -> Option<&mut Undo> {
        if R::BY_TIME {
            self.undo.as_deref_mut()
        } else {
            None
        }
    }

    pub fn undone(&self) -> UndoStats {
        self.undo.as_ref().map(|undo| undo.stats()).unwrap_or_default()
    }

    /// An expected acknowledgement means nothing for what may be undone.
    #[inline(always)]
    pub fn has_nothing_to_undo(&self) -> bool {
        !R::BY_TIME || self.undo.as_ref().is_none_or(|undo| undo.is_quiet())
    }

    /// A reduction begins; the window may come back unless it was being reduced before.
    pub fn remember(&mut self, restorable: bool) {
        let resent = self.board.resent.div_ceil(self.mss) + u64::from(self.tail.repeats());
        let (una, cwnd) = (self.board.una, self.cwnd);
        let ssthresh = self.congestion.ssthresh().max(Bytes::new(cwnd / 2 + cwnd / 4));
        let Some(undo) = self.undo() else { return };
        undo.before = Some(Before { una, cwnd, ssthresh: restorable.then_some(ssthresh) });
        undo.unnamed = (resent > 0).then_some(resent);
    }

    /// A mark has proven that there is congestion.
    pub fn forget_reduction(&mut self) {
        if let Some(undo) = self.undo() {
            undo.before = None;
        }
    }

    /// The timer has expired; `fresh`: no recovery was under way.
    pub fn watch_timeout(&mut self, now: Instant, fresh: bool) {
        if let Some(undo) = self.undo() {
            undo.watched = fresh.then_some(now);
            undo.next = Next::Lost;
        }
    }

    /// Something lost leaves again.
    pub fn note_resent(&mut self, now: Instant) {
        if let Some(undo) = self.undo() {
            undo.first_resent.get_or_insert(now);
            undo.unnamed = Some(undo.unnamed.unwrap_or(0) + 1);
        }
    }

    /// New data leaves before what is lost.
    pub fn puts_new_first(&mut self) -> bool {
        let Some(next) = self.undo().map(|undo| undo.next) else { return false };
        match (next, self.state) {
            (Next::Lost, _) => false,
            (Next::NewOnly, _) => true,
            (Next::NewFirst, State::Loss { point, .. }) if self.board.next > point => true,
            (Next::NewFirst, _) => {
                let next = self.board.next;
                let room = self.data_end().min(self.peer.edge) > next && self.occupied() + self.mss <= self.cwnd;
                if let Some(undo) = self.undo().filter(|_| !room) {
                    undo.next = Next::Lost;
                    undo.watched = None;
                }
                room
            }
        }
    }

    /// Was the reduction needed, by this acknowledgement, which came on top of `prior`? False when nothing more is to be taken as lost.
    pub fn try_undo(&mut self, now: Instant, ack: &Ack, prior: u64, progress: &Progress) -> bool {
        let Some(mut undo) = self.undo.take() else { return true };
        undo.next = Next::Lost;
        let duplicate = self.take_dsack(&mut undo, ack);
        let reordered = self.recovery.on_reordering(u64::MAX);
        undo.growth.on_ack(now, duplicate && reordered, progress.latest.map(|(sent, _)| sent));
        let pure = self.board.una == prior && progress.delivered() == 0 && !duplicate;
        let is_late = undo.first_resent.is_none_or(|first| self.config.timestamps && ack.echo < first);
        let goes_on = match self.state {
            State::Open => {
                self.try_undo_open(&mut undo);
                true
            }
            State::Reducing { .. } => true,
            State::Recovery { point, .. } => self.try_undo_recovery(&mut undo, point, prior, is_late),
            State::Loss { point, .. } => {
                self.try_undo_loss(&mut undo, point, prior, is_late, pure, progress);
                true
            }
        };
        self.undo = Some(undo);
        goes_on
    }

    /// Counts a DSACK; true if there is one that names a retransmission.
    fn take_dsack(&mut self, undo: &mut Undo, ack: &Ack) -> bool {
        let Some(Dsack { end, len }) = dsack(ack) else { return false };
        let segments = len.div_ceil(self.mss).max(1);
        undo.named += segments;
        if undo.named > self.stats.segments_retransmitted {
            // The network has doubled a packet.
            return false;
        }
        undo.stats.dsacks += 1;
        if undo.before.is_some_and(|before| end > before.una) {
            undo.unnamed = undo.unnamed.map(|unnamed| unnamed.saturating_sub(segments));
        }
        true
    }

    fn try_undo_open(&mut self, undo: &mut Undo) {
        if !self.board.holds_resent() {
            undo.first_resent = None;
        }
        undo.mixed = undo.mixed.filter(|end| self.board.una < *end);
        self.undo_by_dsack(undo);
    }

    /// Every retransmission was one too many.
    fn undo_by_dsack(&mut self, undo: &mut Undo) {
        if undo.is_due(false) {
            undo.growth.on_end(true);
            self.restore(undo, false);
        }
    }

    fn try_undo_recovery(&mut self, undo: &mut Undo, point: u64, prior: u64, is_late: bool) -> bool {
        let una = self.board.una;
        if una >= point {
            self.try_undo_end(undo, is_late);
            return true;
        }
        if una > prior && undo.before.is_some() && is_late {
            self.recovery.on_reordering(prior);
            if self.board.resent > 0 {
                undo.next = Next::NewOnly;
                return false;
            }
            if !self.board.holds_resent() {
                undo.first_resent = None;
            }
            self.restore(undo, true);
            return true;
        }
        self.undo_by_dsack(undo);
        true
    }

    fn try_undo_loss(
        &mut self,
        undo: &mut Undo,
        point: u64,
        prior: u64,
        is_late: bool,
        pure: bool,
        progress: &Progress,
    ) {
        let (una, next) = (self.board.una, self.board.next);
        let advanced = una > prior;
        if advanced && undo.is_due(is_late) {
            self.restore(undo, true);
            return;
        }
        if let Some(timeout) = undo.watched {
            // Something that was sent once, before the timeout.
            let first = [progress.acked_sent.first(), progress.sacked_sent.first()].into_iter().flatten().min();
            if first.is_some_and(|sent| sent < timeout) {
                undo.stats.spurious_timeouts += 1;
                self.restore(undo, true);
                return;
            }
            if next > point {
                if progress.sacked > 0 || pure {
                    undo.watched = None;
                }
            } else if advanced && una < point {
                if self.data_end().min(self.peer.edge) > next {
                    undo.next = Next::NewFirst;
                } else {
                    undo.watched = None;
                }
            }
        }
        if una >= point {
            self.try_undo_end(undo, is_late);
        }
    }

    /// All that was outstanding is acknowledged.
    fn try_undo_end(&mut self, undo: &mut Undo, is_late: bool) {
        if undo.is_due(is_late) {
            self.restore(undo, false);
        } else {
            undo.growth.on_end(false);
        }
    }

    /// The reduction has not been; `unmark`: nor have the losses.
    fn restore(&mut self, undo: &mut Undo, unmark: bool) {
        if unmark {
            self.board.unmark_lost();
            R::requeue(self);
            undo.mixed = Some(self.board.next);
        }
        let before = undo.before.take();
        undo.watched = None;
        undo.stats.undos += 1;
        self.state = State::Open;
        self.force = false;
        let controls = self.congestion.controls_recovery();
        let Some((cwnd, ssthresh)) = before.and_then(|before| Some((before.cwnd, before.ssthresh?))) else {
            if !controls {
                self.congestion.set_cwnd(Bytes::new(self.cwnd));
            }
            return;
        };
        if !controls {
            self.congestion.set_cwnd(Bytes::new(self.cwnd.max(cwnd)));
        }
        self.congestion.on_undo();
        if ssthresh > self.congestion.ssthresh() {
            self.congestion.set_ssthresh(ssthresh);
            self.marks.announce = false;
        }
        self.cwnd = self.congestion.cwnd().get();
    }
}
