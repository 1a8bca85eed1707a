//! Streams of random numbers named by purpose.
//!
//! A stream depends on seed, replication and name alone, so every algorithm under comparison sees the same
//! traffic, and one more draw in one place moves nothing elsewhere.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sojourn_aqm::Random;

/// One stream (xoshiro256++).
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream `name` ("flows/bulk/start") of a replication.
    #[must_use]
    pub fn new(seed: u64, replication: u64, name: &str) -> Self {
        let bytes = seed.to_le_bytes().into_iter().chain(replication.to_le_bytes()).chain(name.bytes());
        Self::seeded(fnv1a(bytes))
    }

    /// The stream of a seed alone.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }
}

impl Random for Stream {
    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
}

/// FNV-1a, 64 bits.
#[must_use]
pub fn fnv1a(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_seed_replication_and_name_and_repeat() {
        let first = |seed, replication, name| Stream::new(seed, replication, name).next_u64();
        assert_eq!(first(1, 0, "a"), first(1, 0, "a"));
        let all = [first(1, 0, "a"), first(2, 0, "a"), first(1, 1, "a"), first(1, 0, "b"), first(0, 1, "a")];
        for (i, x) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|y| x != y));
        }
    }

    #[test]
    fn hash_is_fnv1a() {
        // From the algorithm's published test values.
        assert_eq!(fnv1a([]), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(*b"a"), 0xaf63_dc4c_8601_ec8c);
    }
}
