use crate::{BitRate, Bytes, Span};

/// Time on a wire, exact over any number of packets: the part of a nanosecond that is left over goes to the next one.
#[derive(Clone, Copy, Debug)]
pub struct Wire {
    rate: u64,
    remainder: u64,
    /// Whole nanoseconds of the last size, and the rest in bit nanoseconds: most packets are as long as the one before.
    whole: u64,
    rest: u64,
    /// The last size, framing included.
    bytes: u32,
    /// Framing added to every packet, in bytes.
    overhead: u32,
}

/// Bit nanoseconds of a byte; divided by a rate, its time.
const BYTE: u64 = 8_000_000_000;

impl Wire {
    /// A wire at `rate`, at least 1 bit/s; every packet is `overhead` longer there.
    #[must_use]
    pub fn new(rate: BitRate, overhead: Bytes) -> Self {
        Self { rate: rate.bit_s().max(1), remainder: 0, whole: 0, rest: 0, bytes: 0, overhead: overhead.get() as u32 }
    }

    /// Its rate.
    #[must_use]
    pub fn rate(&self) -> BitRate {
        BitRate::from_bit_s(self.rate)
    }

    /// Framing added to every packet, in bytes.
    #[must_use]
    pub fn overhead(&self) -> u32 {
        self.overhead
    }

    /// How long the next packet, of `bytes` without its framing, takes.
    #[inline]
    pub fn take(&mut self, bytes: u32) -> Span {
        self.take_framed(bytes + self.overhead)
    }

    /// How long the next packet, of `bytes` with its framing, takes.
    #[inline]
    pub fn take_framed(&mut self, bytes: u32) -> Span {
        if bytes != self.bytes {
            self.resize(bytes);
        }
        self.take_alike()
    }

    /// How long the next packet takes, which is as long as the last.
    #[inline(always)]
    pub fn take_alike(&mut self) -> Span {
        self.remainder += self.rest;
        let mut whole = self.whole;
        if self.remainder >= self.rate {
            self.remainder -= self.rate;
            whole += 1;
        }
        Span::from_nanos(whole)
    }

    /// Size of the last packet, framing included.
    #[must_use]
    #[inline(always)]
    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Packets are of another size from now on, framing included.
    #[inline(never)]
    pub fn resize(&mut self, bytes: u32) {
        let time = u64::from(bytes).saturating_mul(BYTE);
        (self.bytes, self.whole, self.rest) = (bytes, time / self.rate, time % self.rate);
    }

    /// How long a packet like the last takes, rounded up.
    #[must_use]
    pub fn last(&self) -> Span {
        Span::from_nanos(self.whole + 1)
    }

    /// How long all packets so far took, `bytes` together with their framing.
    #[must_use]
    pub fn taken(&self, bytes: u64) -> Span {
        let whole = (u128::from(bytes) * u128::from(BYTE)).saturating_sub(u128::from(self.remainder));
        Span::from_nanos(u64::try_from(whole / u128::from(self.rate)).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wire_is_exact_in_the_long_run() {
        // 1500 B at 7 Mbit/s take 12,000/7 us = 1,714,285.714... ns; 7000 packets take 12 s exactly.
        let mut wire = Wire::new(BitRate::from_bit_s(7_000_000), Bytes::new(0));
        let total: u64 = (0..7000).map(|_| wire.take(1500).nanos()).sum();
        assert_eq!(total, 12_000_000_000);
        assert_eq!(wire.taken(7000 * 1500).nanos(), total);
        assert_eq!(wire.take(1500).nanos(), 1_714_285);
    }
}
