//! New segments that leave in groups, as Linux's segmentation offload has them.
//!
//! What Linux 6.1.192 does (`net/ipv4/tcp_output.c`), in words; its links may have no offload, TCP itself works in groups:
//! * Data waits in buffers of up to 65,215 B and half the widest window offered, in whole segments (`tcp_send_mss`).
//! * What leaves at once is at most a millisecond of the pacing rate, which without pacing is 120 % of the window in a smoothed
//!   RTT, and 200 % while the window is below half the threshold; to it comes 64 KiB, halved for each 512 us of the smallest RTT.
//!   It is two segments at the least, at most half the window and what is left of the buffer (`tcp_tso_autosize`, `tcp_cwnd_test`).
//! * Room for less than that waits for more (`tcp_tso_should_defer`), while all of this holds: no loss is being repaired;
//!   something has been sent within a millisecond; the room is less than the rest of the buffer and than a third of the window;
//!   and the next acknowledgement is due within a millisecond or half an RTT, whichever is shorter.
//! * A group is paced as a whole. If it leaves late, the next one may leave earlier by as much, at most by half of the group's time
//!   (`tcp_update_skb_after_send`).
//! * The last segment of a group of two or more has PSH (`__tcp_transmit_skb`), and so has the last segment of a write. Since
//!   6.1.57 a receiver whose application has read everything acknowledges such a segment at once, whatever its size.
//!
//! Deviations: retransmissions leave one by one; the buffers of a paced sender are those of its congestion control.

use super::core::Core;
use super::episode::State;
use super::recovery::Strategy;
use crate::congestion::CongestionControl;
use sojourn_units::{Instant, Span};

/// Most payload of a buffer: 64 KiB less headers.
const MOST: u64 = 65_536 - 1 - 320;
/// A millisecond, as a share of a second: `sk_pacing_shift`.
const PER_SECOND: u128 = 1024;
/// `tcp_tso_rtt_log`, in nanoseconds.
const NEAR: u64 = 512_000;
/// How long ago the last segment may have left, and how soon the next acknowledgement must be due, for a group to wait.
const SOON: Span = Span::from_millis(1);

/// The group that is leaving, and the buffer it is of.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Groups {
    /// Segments of the group that have yet to leave, and all of it.
    left: u32,
    size: u32,
    /// End of the buffer.
    end: u64,
}

impl Groups {
    /// A segment leaves: true when it is the last of two or more.
    pub fn on_sent(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left == 0 && self.size > 1
    }

    /// Segments that follow in the group.
    pub fn following(&self) -> u64 {
        u64::from(self.left.saturating_sub(1))
    }
}

impl<R: Strategy> Core<R> {
    /// True when new data at `seq` waits, so as to leave in a larger group; else the group has begun.
    #[inline(never)]
    pub fn waits_for_group(&mut self, now: Instant, seq: u64) -> bool {
        let Some(mut groups) = self.groups else { return false };
        if groups.left > 0 {
            return false;
        }
        let mss = self.mss;
        if seq >= groups.end {
            let buffer = (MOST.min(self.peer.widest.max(2 * mss) / 2) / mss).max(1) * mss;
            groups.end = (seq + buffer).min(self.data_end());
        }
        let rest = groups.end - seq;
        let window = self.cwnd.saturating_sub(self.occupied());
        let room = window.min(self.peer.edge.saturating_sub(seq));
        let most = if self.pacing.rate.is_some() { self.congestion.pacing_burst() } else { self.autosize() };
        if rest > mss && room < most * mss && room < rest && self.may_wait(now, room) {
            return true;
        }
        let quota = (room / mss).min((self.cwnd / 2 / mss).max(1));
        // At most a buffer, which is far below 2^32 segments.
        groups.size = rest.div_ceil(mss).min(most).min(quota).max(1) as u32;
        groups.left = groups.size;
        self.groups = Some(groups);
        false
    }

    /// What little `room` there is may be left unused for now.
    fn may_wait(&self, now: Instant, room: u64) -> bool {
        let Some(first) = self.board.first() else { return false };
        let window = self.cwnd.min(self.peer.edge.saturating_sub(self.board.una));
        let srtt = self.rtt.srtt();
        let due = (first.sent + srtt).since(now);
        !matches!(self.state, State::Recovery { .. } | State::Loss { .. })
            && now.since(self.usage.last_sent) <= SOON
            && room < window / 3
            && due <= SOON.min(srtt / 2)
            && !self.source.closed
    }

    /// Segments that leave at once: a millisecond of the rate, more on a short path, and two at the least.
    fn autosize(&self) -> u64 {
        let srtt = u128::from(self.rtt.srtt().nanos());
        if srtt == 0 {
            return MOST / self.mss;
        }
        let window = u128::from(self.cwnd.max(self.board.pipe()));
        let percent = if self.cwnd < self.congestion.ssthresh().get() / 2 { 200 } else { 120 };
        let rate = window * percent * 10_000_000 / srtt;
        let near = self.rtt.min.nanos() / NEAR;
        let extra = if near < 32 { 65_536 >> near } else { 0 };
        let bytes = u64::try_from(rate / PER_SECOND).unwrap_or(MOST).saturating_add(extra).min(MOST);
        (bytes / self.mss).max(2)
    }
}
