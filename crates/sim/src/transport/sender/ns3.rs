//! Loss recovery as ns-3 has it ([`Recovery::Ns3`]).
//!
//! Text: RFC 6675 and RFC 6937, departing from them as ns-3 3.37 is seen to send (`tests/ns3_recovery.txt`). Of 2,360 random
//! losses of one to three hundred segments all of 2,055 in streams of full segments were sent to the byte for 2.5 s, and 285 of 305 in
//! streams with short ones, which small writes into a full send buffer leave. Work as RFC 6675's.
//!
//! * Outside recovery, an acknowledgement that SACKs something is a duplicate also when it advances: the window does not
//!   grow, the timer runs on, and the application does not hear of the room in its buffer before it is asked for more.
//! * Recovery begins with the third duplicate in a row, or with an earlier one when a full segment behind the first is
//!   lost; what is known as lost is sent again before that, too, as the window allows.
//! * A segment is lost when three SACKed ones are above it, however short.
//! * One segment goes out whatever the window when recovery begins, and when a partial acknowledgement stops at one that has
//!   not been sent again, or is short: the first that is lost, else a new one, else the first once more.
//! * `NextSeg`'s third rule takes any segment, with SACKed ones above it or without.
//! * A short segment that is sent again is filled up with what follows it.
//! * What was sent again stays in the pipe until the cumulative acknowledgement passes it, SACKed or not.
//! * PRR's RecoverFS is all that is outstanding, SACKed or not, and its product has 32 bits. What a partial acknowledgement that
//!   SACKs has delivered counts twice. Below the threshold an acknowledgement lets out what it delivers; one for a full segment
//!   that was sent again also makes up for what was not sent before.
//!
//! Deviations: in those 20 what is sent differs from some point on. ns-3 holds the receiver's window against the pipe, we against
//! the sequence; and it counts a duplicate that advances and begins recovery as a partial acknowledgement, too.

use super::scoreboard::{Progress, Segment, DUP_THRESH};
use super::{Recovery, Sender, State};
use crate::transport::segment::Data;
use sojourn_units::Instant;

impl Sender {
    pub(super) fn is_ns3(&self) -> bool {
        self.config.recovery == Recovery::Ns3
    }

    /// This acknowledgement is a duplicate.
    pub(super) fn is_ns3_duplicate(&self, progress: &Progress) -> bool {
        progress.sacked > 0 && matches!(self.state, State::Open)
    }

    /// A duplicate begins recovery.
    pub(super) fn is_ns3_loss(&self) -> bool {
        self.duplicates >= DUP_THRESH || self.board.is_lost_behind_first()
    }

    /// The application is asked for more when the window takes more than there is from `seq` on, which is to be sent.
    /// True when it is.
    pub(super) fn ask_for_more(&mut self, seq: u64) -> bool {
        let left = self.data_end().saturating_sub(seq);
        let asked = left > 0 && left < self.cwnd.saturating_sub(self.board.pipe());
        if asked {
            self.told = self.board.una;
        }
        asked
    }

    /// The segment that had to go out is on its way.
    pub(super) fn on_forced(&mut self) {
        self.force = false;
        if std::mem::take(&mut self.tells) {
            self.told = self.board.una;
        }
    }

    /// Payload for which the window must have room before `segment` is sent again.
    pub(super) fn resend_len(&self, segment: &Segment) -> u64 {
        if self.is_ns3() {
            self.mss.min(self.data_end().saturating_sub(segment.seq))
        } else {
            u64::from(segment.len)
        }
    }

    /// `segment` as it is sent again.
    pub(super) fn filled(&mut self, segment: Segment) -> Segment {
        if self.is_ns3() {
            self.ask_for_more(segment.seq);
            self.board.fill(segment)
        } else {
            segment
        }
    }

    /// The first segment once more, where one must go out and there is no other.
    pub(super) fn poll_first_ns3(&mut self, now: Instant) -> Option<Data> {
        if !self.force || !self.is_ns3() {
            return None;
        }
        let before = *self.board.first()?;
        let before = self.board.fill(before);
        let data = Self::resend(self.board.first()?, now, now, &mut self.rate, false);
        self.on_resent(now, &before);
        Some(self.with_codepoint(data))
    }
}
