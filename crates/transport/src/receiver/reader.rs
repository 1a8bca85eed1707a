//! An application that reads at a limited rate, and the window that it leaves.
//!
//! Text: RFC 9293, section 3.8.6.2.2 (no silly window): the right edge moves by a segment or half the buffer at the least.
//! As Linux (`tcp_cleanup_rbuf`): reading sends an acknowledgement of its own when no more than half the buffer is on offer
//! and twice as much can be.
//! Deviations: the application reads continuously, in bytes, not in calls; what it has read is known at each event.
//! Work: O(1).

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
    pub fn read(&mut self, now: Instant, next: u64) {
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
        self.see(next);
    }

    /// When `bytes` more will have been read.
    fn when(&self, bytes: u64) -> Instant {
        let nanos = (u128::from(bytes) * BYTE).saturating_sub(u128::from(self.carry)).div_ceil(u128::from(self.rate));
        self.at + Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The stream is there to be read up to `next`.
    pub fn see(&mut self, next: u64) {
        self.unread += next - self.seen;
        self.seen = next;
    }

    /// A window of `offered` bytes is open, and `free` bytes of the `buffer` are free: plans the next update, of `step` at the least.
    pub fn plan(&mut self, offered: u64, free: u64, buffer: u64, step: u64) {
        let missing = (2 * offered).max(offered + step).saturating_sub(free);
        let never = 2 * offered > buffer || missing > self.unread;
        self.update_at = if never { Instant::NEVER } else { self.when(missing) };
    }
}
