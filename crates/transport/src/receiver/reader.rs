//! An application that reads at a limited rate, and the window that it leaves.
//!
//! Text: RFC 9293, section 3.8.6.2.2 (no silly window): the right edge moves by a segment or half the buffer at the least.
//! As Linux (`tcp_cleanup_rbuf`): reading sends an acknowledgement of its own when no more than half the buffer is on offer
//! and twice as much can be.
//! Deviations: the application reads continuously, in bytes, not in calls; what it has read is known at each event.
//! Work: O(1).

use super::Receiver;
use sojourn_units::{BitRate, Instant, Span};

/// State of the application.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader {
    /// Bits a second.
    rate: u64,
    /// Arrived in order and not read, as of `at`.
    unread: u64,
    at: Instant,
    /// Bit-nanoseconds (numerator over `rate`) read of the next byte.
    carry: u64,
    /// Bytes of the stream seen by the reader, read or not.
    seen: u64,
    /// When enough will have been read for a window update; NEVER without need for one.
    pub update_at: Instant,
}

const BYTE: u128 = 8_000_000_000;

impl Reader {
    pub fn new(rate: BitRate) -> Self {
        Self { rate: rate.bit_s().max(1), unread: 0, at: Instant::ZERO, carry: 0, seen: 0, update_at: Instant::NEVER }
    }

    pub fn unread(&self) -> u64 {
        self.unread
    }

    /// Reads until `now`, then finds what has arrived up to `next`.
    fn read(&mut self, now: Instant, next: u64) {
        let bits = u128::from(now.since(self.at).nanos()) * u128::from(self.rate) + u128::from(self.carry);
        self.at = now;
        let bytes = u64::try_from(bits / BYTE).unwrap_or(u64::MAX);
        if bytes >= self.unread {
            // It waits for data, and time spent waiting reads nothing later.
            self.unread = 0;
            self.carry = 0;
        } else {
            self.unread -= bytes;
            self.carry = (bits % BYTE) as u64;
        }
        self.unread += next - self.seen;
        self.seen = next;
    }

    /// When `bytes` more will have been read.
    fn when(&self, bytes: u64) -> Instant {
        let nanos = (u128::from(bytes) * BYTE).saturating_sub(u128::from(self.carry)).div_ceil(u128::from(self.rate));
        self.at + Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

impl Receiver {
    /// The application has read until now.
    pub(super) fn read(&mut self, now: Instant) {
        let next = self.next;
        if let Some(reader) = &mut self.reader {
            reader.read(now, next);
        }
    }

    /// What arrived with this event is there to be read.
    fn see(&mut self) {
        let next = self.next;
        if let Some(reader) = &mut self.reader {
            reader.unread += next - reader.seen;
            reader.seen = next;
        }
    }

    /// Least step of the right edge.
    fn step(&self) -> u64 {
        self.config.mss.get().min(self.config.space() / 2).max(1)
    }

    /// Moves the right edge, if the step is worth it.
    pub(super) fn offer(&mut self) {
        self.see();
        let edge = self.next + self.free();
        if edge >= self.edge + self.step() {
            self.edge = edge;
        }
    }

    /// Sees to it that the sender hears when there is room again.
    pub(super) fn plan_update(&mut self) {
        self.see();
        let offered = self.edge.saturating_sub(self.next);
        let wanted = (2 * offered).max(offered + self.step());
        let (free, buffer) = (self.free(), self.config.space());
        let Some(reader) = &mut self.reader else { return };
        let missing = wanted.saturating_sub(free);
        reader.update_at =
            if 2 * offered > buffer || missing > reader.unread { Instant::NEVER } else { reader.when(missing) };
    }
}
