//! What a packet takes on the link below its IP header: bytes added, a least size, cells. Shared by CAKE's shaper and by links.

use crate::suggest::did_you_mean;
use crate::Value;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;
use sojourn_units::{Bytes, UnitError};

/// Bytes that the link below adds to each packet; negative where the host counts more than the link has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overhead(pub i32);

/// tc's bounds.
const OVERHEADS: core::ops::RangeInclusive<i32> = -64..=256;
/// tc's greatest least size.
const MPU: u32 = 256;

impl Value for Overhead {
    const KIND: &'static str = "bytes";

    fn read(text: &str) -> Result<Self, String> {
        let number = text.strip_suffix('B').unwrap_or(text).trim();
        let read = number.parse().ok().filter(|n| OVERHEADS.contains(n)).map(Self);
        read.ok_or_else(|| format!("\"{text}\" is refused; allowed: {}", Self::allowed()))
    }

    fn print(&self) -> String {
        self.0.to_string()
    }

    fn allowed() -> String {
        "a whole number of bytes from -64 to 256, as in \"44\"".to_string()
    }
}

crate::choice! {
    /// In what a link below carries packets.
    pub enum LinkLayer {
        /// No framing in cells.
        Noatm = "noatm",
        /// In cells of 53 bytes that carry 48 (ADSL).
        Atm = "atm",
        /// With one byte more for every 64 or part of 64 (VDSL2).
        Ptm = "ptm",
    }
}

impl LinkLayer {
    /// Bytes of a packet on the link below.
    ///
    /// PTM's 64/65-octet encoding has one byte of 65 for itself. It runs on over packets, so that a packet takes 65/64 of its
    /// size on average; sch_cake rounds up for each, and so does this.
    #[inline]
    #[must_use]
    pub fn size(self, bytes: u32, overhead: Overhead, mpu: Bytes) -> u64 {
        let size = i64::from(bytes) + i64::from(overhead.0);
        let size = (size.max(0) as u64).max(mpu.get());
        match self {
            Self::Noatm => size,
            Self::Atm => size.div_ceil(48).saturating_mul(53),
            Self::Ptm => size.saturating_add(size.div_ceil(64)),
        }
    }
}

/// How a link frames packets, as tc-cake(8) writes it: `"docsis"`, `"pppoe-ptm ether-vlan"`, `"atm overhead 40"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    overhead: Overhead,
    mpu: u16,
    layer: LinkLayer,
}

/// What one of tc-cake(8)'s words for links says.
pub(crate) struct Word {
    pub name: &'static str,
    /// Bytes that it adds to what stands before it.
    pub adds: i32,
    pub layer: Option<LinkLayer>,
    pub mpu: Option<u16>,
}

const fn word(name: &'static str, adds: i32, layer: Option<LinkLayer>, mpu: Option<u16>) -> Word {
    Word { name, adds, layer, mpu }
}

const PLAIN: Option<LinkLayer> = Some(LinkLayer::Noatm);
const ATM: Option<LinkLayer> = Some(LinkLayer::Atm);
const PTM: Option<LinkLayer> = Some(LinkLayer::Ptm);

/// tc-cake(8), "Overhead compensation parameters": bytes above the IP packet.
pub(crate) const WORDS: &[Word] = &[
    word("raw", 0, PLAIN, None),
    word("conservative", 48, ATM, None),
    word("ipoa-vcmux", 8, ATM, None),
    word("ipoa-llcsnap", 16, ATM, None),
    word("bridged-vcmux", 24, ATM, None),
    word("bridged-llcsnap", 32, ATM, None),
    word("pppoa-vcmux", 10, ATM, None),
    word("pppoa-llc", 14, ATM, None),
    word("pppoe-vcmux", 32, ATM, None),
    word("pppoe-llcsnap", 40, ATM, None),
    word("pppoe-ptm", 30, PTM, None),
    word("bridged-ptm", 22, PTM, None),
    // 14 B of Ethernet header and 4 B of check sequence, at least 64 B.
    word("docsis", 18, PLAIN, Some(64)),
    // These 18 B, preamble and gap of 20 B, at least 84 B with them.
    word("ethernet", 38, None, Some(84)),
    word("ether-vlan", 4, None, None),
];

impl Word {
    /// The word called `name`.
    pub fn find(name: &str) -> Option<&'static Self> {
        WORDS.iter().find(|word| word.name == name)
    }

    /// What stands before it does not count.
    pub fn begins_anew(&self) -> bool {
        matches!(self.name, "raw" | "conservative")
    }
}

impl Framing {
    /// What [`FromStr`] accepts.
    pub const ALLOWED: &'static str = "one or more words of tc-cake(8): ethernet, docsis, pppoe-ptm, bridged-ptm, ether-vlan, \
        pppoe-vcmux, pppoe-llcsnap, pppoa-vcmux, pppoa-llc, ipoa-vcmux, ipoa-llcsnap, bridged-vcmux, bridged-llcsnap, conservative, raw, \
        atm, ptm, noatm, \"overhead N\" (0 to 256 bytes), \"mpu N\" (0 to 256 bytes), as in \"docsis\" or \"pppoe-ptm ether-vlan\"";

    /// Bytes of an IP packet of `bytes` on the link.
    #[inline]
    #[must_use]
    pub fn size(self, bytes: u32) -> u32 {
        u32::try_from(self.layer.size(bytes, self.overhead, Bytes::new(u64::from(self.mpu)))).unwrap_or(u32::MAX)
    }
}

impl FromStr for Framing {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = |why: String| UnitError { given: text.into(), why, allowed: Self::ALLOWED };
        let (mut overhead, mut mpu, mut layer) = (0_i32, 0, LinkLayer::Noatm);
        let mut words = text.split_whitespace();
        if words.clone().next().is_none() {
            return Err(error("is empty".into()));
        }
        while let Some(name) = words.next() {
            if let Some(word) = Word::find(name) {
                overhead = if word.begins_anew() { word.adds } else { overhead.saturating_add(word.adds) };
                (layer, mpu) = (word.layer.unwrap_or(layer), word.mpu.unwrap_or(mpu));
            } else if let Ok(named) = LinkLayer::read(name) {
                layer = named;
            } else if matches!(name, "overhead" | "mpu") {
                let number = words.next().unwrap_or("nothing");
                let Some(bytes) = number.parse::<u16>().ok().filter(|bytes| u32::from(*bytes) <= MPU) else {
                    return Err(error(format!("has {name} {number}")));
                };
                if name == "mpu" {
                    mpu = bytes;
                } else {
                    overhead = i32::from(bytes);
                }
            } else {
                let known: Vec<&str> =
                    WORDS.iter().map(|word| word.name).chain(["atm", "ptm", "noatm", "overhead", "mpu"]).collect();
                return Err(error(format!("has the unknown word \"{name}\"{}", did_you_mean(name, &known))));
            }
        }
        if !OVERHEADS.contains(&overhead) {
            return Err(error(format!("adds {overhead} bytes")));
        }
        Ok(Self { overhead: Overhead(overhead), mpu, layer })
    }
}

impl fmt::Display for Framing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = (self.overhead.0, self.layer, self.mpu);
        let said = |word: &&Word| (word.adds, word.layer.unwrap_or(LinkLayer::Noatm), word.mpu.unwrap_or(0)) == own;
        match WORDS.iter().filter(|word| word.layer.is_some() || word.mpu.is_some()).find(said) {
            Some(word) => f.write_str(word.name),
            None => {
                write!(f, "{} overhead {}", self.layer.print(), self.overhead.0)?;
                if self.mpu > 0 {
                    write!(f, " mpu {}", self.mpu)?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(text: &str, bytes: u32) -> u32 {
        text.parse::<Framing>().unwrap().size(bytes)
    }

    #[test]
    fn packets_have_the_sizes_of_the_standards() {
        // Ethernet: 14 B header, 4 B check sequence, 8 B preamble, 12 B gap around 1500 B; a frame has at least 64 B.
        assert_eq!((size("ethernet", 1500), size("ethernet", 40)), (1538, 84));
        assert_eq!(size("ethernet ether-vlan", 1500), 1542);
        // DOCSIS counts the Ethernet frame without preamble and gap.
        assert_eq!((size("docsis", 1500), size("docsis", 28)), (1518, 64));
        // VDSL2 with PPPoE: 1492 + 30 = 1522, which begins 24 blocks of 64.
        assert_eq!(size("pppoe-ptm", 1492), 1546);
        assert_eq!((size("ptm", 64), size("ptm", 65)), (65, 67));
        // tc-stab(8), "Fixed and dynamic overhead": cells of 48 B in 53 B. 1492 + 40 = 1532 takes 32 cells.
        assert_eq!(size("pppoe-llcsnap", 1492), 32 * 53);
        // An acknowledgement of 52 B: 92 B, two cells; PPPoA over VC-MUX: 62 B, two cells; of 38 B: 48 B, one.
        assert_eq!((size("pppoe-llcsnap", 52), size("pppoa-vcmux", 52), size("pppoa-vcmux", 38)), (106, 106, 53));
        assert_eq!((size("atm", 48), size("atm", 49), size("atm overhead 8 mpu 96", 10)), (53, 106, 106));
        assert_eq!((size("raw", 1500), size("docsis raw", 1500)), (1500, 1500));
    }

    #[test]
    fn texts_read_back_and_others_are_refused_with_the_nearest_word() {
        for word in WORDS {
            let framing: Framing = word.name.parse().unwrap();
            assert_eq!(format!("{framing}").parse(), Ok(framing), "{}", word.name);
            assert!(Framing::ALLOWED.contains(word.name), "{}", word.name);
        }
        let print = |text: &str| format!("{}", text.parse::<Framing>().unwrap());
        assert_eq!(
            (print("docsis"), print("pppoe-ptm"), print("ethernet")),
            ("docsis".into(), "pppoe-ptm".into(), "ethernet".into())
        );
        assert_eq!(print("pppoe-ptm ether-vlan"), "ptm overhead 34");
        assert_eq!(print("overhead 8 atm mpu 96"), "atm overhead 8 mpu 96");
        let why = |text: &str| text.parse::<Framing>().unwrap_err().why;
        assert_eq!(why("docsys"), "has the unknown word \"docsys\" (did you mean \"docsis\"?)");
        assert_eq!(why("atm overhead"), "has overhead nothing");
        assert_eq!(why("atm mpu 257"), "has mpu 257");
        assert_eq!(why("ethernet overhead -4"), "has overhead -4");
        assert_eq!(why(&"pppoe-ptm ".repeat(9)), "adds 270 bytes");
        assert_eq!(why(" "), "is empty");
    }
}
