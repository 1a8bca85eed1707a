//! Hashes of addresses and ports under a key: SipHash-1-3 (Aumasson and Bernstein, 2012), the lower half of its result.
//!
//! A pseudorandom function: who sees hashes, in a decision log, learns neither the key nor which other flows would share a
//! queue.

use std::fmt;
use std::io;

/// Keeps others from choosing flows that collide.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key([u64; 2]);

impl Key {
    /// A secret one.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn drawn() -> io::Result<Self> {
        let mut bytes = [0; 16];
        rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty())?;
        let key = u128::from_ne_bytes(bytes);
        Ok(Self([key as u64, (key >> 64) as u64]))
    }

    /// Of a message in little-endian words. The last has the bytes that are left over, and the message's length in its
    /// uppermost byte.
    #[inline]
    pub(super) fn hash<const WORDS: usize>(self, message: [u64; WORDS]) -> u32 {
        self.sip(message) as u32
    }

    #[inline]
    fn sip<const WORDS: usize>(self, message: [u64; WORDS]) -> u64 {
        let Self([k0, k1]) = self;
        // "somepseudorandomlygeneratedbytes"
        let mut v = [
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d,
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ];
        for word in message {
            v[3] ^= word;
            round(&mut v);
            v[0] ^= word;
        }
        v[2] ^= 0xff;
        for _ in 0..3 {
            round(&mut v);
        }
        v[0] ^ v[1] ^ v[2] ^ v[3]
    }
}

/// That of a seed that anybody may know: the same hashes wherever the same frames come.
impl From<u64> for Key {
    fn from(seed: u64) -> Self {
        Self([seed, 0])
    }
}

/// Says nothing of the key.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

#[inline]
fn round(v: &mut [u64; 4]) {
    let [mut a, mut b, mut c, mut d] = *v;
    a = a.wrapping_add(b);
    c = c.wrapping_add(d);
    b = b.rotate_left(13) ^ a;
    d = d.rotate_left(16) ^ c;
    a = a.rotate_left(32);
    c = c.wrapping_add(b);
    a = a.wrapping_add(d);
    b = b.rotate_left(17) ^ c;
    d = d.rotate_left(21) ^ a;
    c = c.rotate_left(32);
    *v = [a, b, c, d];
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::hash_map::DefaultHasher;
    use std::hash::Hasher;

    /// The standard library's hasher is SipHash-1-3 under a key of zeros.
    #[test]
    fn it_is_siphash_1_3() {
        let key = Key::from(0);
        for (low, length) in [(0_u64, 0_usize), (0x0a00_0001, 4), (0x0000_0006_0504_0302, 7)] {
            let mut hasher = DefaultHasher::new();
            hasher.write(&low.to_le_bytes()[..length]);
            assert_eq!(key.sip([low | (length as u64) << 56]), hasher.finish(), "{length} bytes");
        }
        let mut hasher = DefaultHasher::new();
        hasher.write(&(0_u8..37).collect::<Vec<u8>>());
        let word = |at: u8| u64::from_le_bytes(std::array::from_fn(|n| at + n as u8));
        assert_eq!(key.sip([word(0), word(8), word(16), word(24), 0x2500_0024_2322_2120]), hasher.finish());
    }

    #[test]
    fn each_half_of_the_key_counts() {
        let hashes = [[0, 0], [1, 0], [0, 1], [1 << 63, 0], [0, 1 << 63]].map(|key| Key(key).hash([7]));
        for (at, hash) in hashes.iter().enumerate() {
            assert!(!hashes[..at].contains(hash));
        }
        assert_eq!(format!("{:?}", Key([1, 2])), "Key");
    }
}
