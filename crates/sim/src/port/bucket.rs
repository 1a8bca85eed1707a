use sojourn_units::{Instant, Span};

/// A token bucket as Linux's htb has it: what may leave needs a bucket that owes nothing, not tokens for all of the packet.
///
/// Tokens are kept as time at the link's rate, as in Linux, so that a debt stays what it is when the rate changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    /// Its size, in bytes.
    pub bytes: u64,
    /// When it owes nothing; before now by the tokens that it has.
    pub settled_at: Instant,
}

impl Bucket {
    /// A packet that takes `taken` of the link's time leaves at `now`, with a bucket that holds `size`: from when to when its
    /// tokens are made.
    pub fn take(&mut self, now: Instant, size: Span, taken: Span) -> (Instant, Instant) {
        let from = self.settled_at.max(now.before(size));
        self.settled_at = from + taken;
        (from, self.settled_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_packets_leave_a_full_bucket_at_once() {
        // A bucket of 1600 us, packets of 1514 us. The first leaves 86 us of tokens, so the second goes, too, and 1428 us are owed.
        let at = |us| Instant::ZERO + Span::from_micros(us);
        let (size, taken) = (Span::from_micros(1600), Span::from_micros(1514));
        let mut bucket = Bucket { bytes: 1600, settled_at: Instant::ZERO };
        let mut take = |now| bucket.take(at(now), size, taken).1;
        assert_eq!(take(10_000), at(10_000 - 86));
        assert_eq!(take(10_000), at(10_000 + 1428));
        // From then on one packet leaves each 1514 us, and after 300 us without any the bucket holds no more than that.
        assert_eq!(take(11_428), at(11_428 + 1514));
        assert_eq!(take(12_942 + 300), at(12_942 + 1514));
    }
}
