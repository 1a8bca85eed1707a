use sojourn_units::{Instant, Span};

/// A token bucket as Linux's htb has it: what may leave needs a bucket that owes nothing, not tokens for all of the packet.
///
/// Tokens are kept as time at the link's rate, as in Linux, so that a debt stays what it is when the rate changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    /// Its size.
    pub bytes: u64,
    /// Tokens in nanoseconds at an instant; below zero what it owes.
    tokens: i64,
    at: Instant,
}

impl Bucket {
    /// A full one of `bytes`, which are `size` at the link's rate.
    pub fn new(bytes: u64, size: Span) -> Self {
        Self { bytes, tokens: signed(size), at: Instant::ZERO }
    }

    /// When it owes nothing.
    pub fn settled_at(&self) -> Instant {
        self.at + Span::from_nanos(self.tokens.min(0).unsigned_abs())
    }

    /// Its tokens at `now`, when it holds `size`.
    fn tokens(&self, now: Instant, size: Span) -> i64 {
        self.tokens.saturating_add(signed(now.since(self.at))).min(signed(size))
    }

    /// What it has saved at `now`, when it holds `size`.
    pub fn saved(&self, now: Instant, size: Span) -> Span {
        Span::from_nanos(self.tokens(now, size).max(0).unsigned_abs())
    }

    /// A packet that takes `taken` of the link's time leaves at `now`, with a bucket that holds `size`.
    pub fn take(&mut self, now: Instant, size: Span, taken: Span) {
        (self.tokens, self.at) = (self.tokens(now, size).saturating_sub(signed(taken)), now);
    }
}

fn signed(span: Span) -> i64 {
    i64::try_from(span.nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_packets_leave_a_full_bucket_at_once() {
        // A bucket of 1600 us, packets of 1514 us. The first leaves 86 us of tokens, so the second goes, too, and 1428 us are owed.
        let at = |us| Instant::ZERO + Span::from_micros(us);
        let (size, taken) = (Span::from_micros(1600), Span::from_micros(1514));
        for start in [0, 10_000] {
            let mut bucket = Bucket::new(1600, size);
            let mut take = |now| {
                bucket.take(at(start + now), size, taken);
                bucket.settled_at()
            };
            assert_eq!(take(0), at(start));
            assert_eq!(take(0), at(start + 1428));
            // From then on one packet leaves each 1514 us, and 300 us without any are saved.
            assert_eq!(take(1428), at(start + 1428 + 1514));
            assert_eq!(take(2942 + 300), at(start + 2942 + 1514));
            // From then on it saves, up to its size.
            let saved = |us| bucket.saved(at(start + us), size);
            assert_eq!((saved(4456), saved(4556), saved(9456)), (Span::ZERO, Span::from_micros(100), size));
        }
    }
}
