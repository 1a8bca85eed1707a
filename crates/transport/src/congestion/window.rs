//! Windows that several algorithms share: one counted in whole segments, with Linux's two ways to grow, and one in bytes.

use super::Parameters;
use sojourn_units::Bytes;

/// Window, threshold and the fraction of a segment earned so far, in segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentWindow {
    pub cwnd: u64,
    pub ssthresh: u64,
    /// Acknowledged segments that have not yet made the window grow.
    credit: u64,
    limit: u64,
    mss: u64,
}

impl SegmentWindow {
    pub fn new(p: &Parameters) -> Self {
        let mss = p.mss.get().max(1);
        let limit = p.window_limit.map_or(u64::MAX, |limit| (limit.get() / mss).max(1));
        let cwnd = p.initial_window.get().clamp(1, limit);
        Self { cwnd, ssthresh: u64::MAX, credit: 0, limit, mss }
    }

    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// A segment for each one acknowledged, up to the threshold; returns the acknowledged segments left over.
    pub fn slow_start(&mut self, acked: u64) -> u64 {
        let grown = (self.cwnd + acked).min(self.ssthresh);
        let left = acked - (grown - self.cwnd);
        self.cwnd = grown.min(self.limit);
        left
    }

    /// A segment for every `per_segment` acknowledged.
    pub fn additive(&mut self, per_segment: u64, acked: u64) {
        // The divisor may have shrunk below the credit: that earns one segment, not a burst.
        if self.credit >= per_segment {
            self.credit = 0;
            self.cwnd += 1;
        }
        self.credit += acked;
        if self.credit >= per_segment {
            let grown = self.credit / per_segment;
            self.credit -= grown * per_segment;
            self.cwnd += grown;
        }
        self.cwnd = self.cwnd.min(self.limit);
    }

    /// One segment; what was earned is void.
    pub fn collapse(&mut self) {
        self.cwnd = 1;
        self.credit = 0;
    }

    pub fn cwnd_bytes(&self) -> Bytes {
        Bytes::new(self.cwnd * self.mss)
    }

    pub fn ssthresh_bytes(&self) -> Bytes {
        Bytes::new(self.ssthresh.saturating_mul(self.mss))
    }

    /// `window` in whole segments.
    pub fn segments(&self, window: Bytes) -> u64 {
        window.get() / self.mss
    }

    pub fn set_cwnd(&mut self, cwnd: Bytes) {
        self.cwnd = self.segments(cwnd).clamp(1, self.limit);
        self.credit = 0;
    }

    pub fn set_ssthresh(&mut self, ssthresh: Bytes) {
        self.ssthresh = if ssthresh.get() == u64::MAX { u64::MAX } else { ssthresh.get() / self.mss };
    }
}

/// The windows of [`CongestionControl`](super::CongestionControl), of an algorithm that has them in a field.
macro_rules! window_in {
    ($field:tt) => {
        fn cwnd(&self) -> Bytes {
            self.$field.cwnd_bytes()
        }

        fn ssthresh(&self) -> Bytes {
            self.$field.ssthresh_bytes()
        }

        fn set_cwnd(&mut self, cwnd: Bytes) {
            self.$field.set_cwnd(cwnd);
        }

        fn set_ssthresh(&mut self, ssthresh: Bytes) {
            self.$field.set_ssthresh(ssthresh);
        }
    };
}

/// As [`window_in`], of an algorithm with fields `cwnd`, `ssthresh`, `mss` and `limit` in bytes.
macro_rules! window_in_bytes {
    () => {
        fn cwnd(&self) -> Bytes {
            Bytes::new(self.cwnd)
        }

        fn ssthresh(&self) -> Bytes {
            Bytes::new(self.ssthresh)
        }

        fn set_cwnd(&mut self, cwnd: Bytes) {
            self.cwnd = cwnd.get().clamp(self.mss, self.limit);
        }

        fn set_ssthresh(&mut self, ssthresh: Bytes) {
            self.ssthresh = ssthresh.get();
        }
    };
}

pub(super) use {window_in, window_in_bytes};
