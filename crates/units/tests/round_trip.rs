//! What is printed reads back to the same value, and what is read is exactly the decimal that was written.

use sojourn_units::{BitRate, Bytes, Instant, Packets, Probability, Span};

/// splitmix64.
struct Stream(u64);

impl Stream {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// Any magnitude, and often a round number of some unit.
    fn value(&mut self) -> u64 {
        let value = self.next() >> self.below(64);
        let round = match self.below(4) {
            0 => 1,
            1 => 10_u64.pow(self.below(19) as u32),
            2 => 1 << self.below(60),
            _ => return value,
        };
        value / round * round
    }
}

#[test]
fn printed_values_read_back() {
    let mut stream = Stream(1);
    for case in 0..200_000 {
        let n = match case {
            0 => 0,
            1 => u64::MAX,
            _ => stream.value(),
        };
        let (span, bytes, packets, rate) =
            (Span::from_nanos(n), Bytes::new(n), Packets::new(n), BitRate::from_bit_s(n));
        let tight = |text: String| text.replace(' ', "");
        assert_eq!(span.to_string().parse(), Ok(span));
        assert_eq!(tight(span.to_string()).parse(), Ok(span));
        assert_eq!(bytes.to_string().parse(), Ok(bytes));
        assert_eq!(Bytes::from_tc(&tight(bytes.to_string())), Ok(bytes));
        assert_eq!(packets.to_string().parse(), Ok(packets));
        assert_eq!(Packets::from_tc(&tight(packets.to_string())), Ok(packets));
        assert_eq!(rate.to_string().parse(), Ok(rate));
        assert_eq!(tight(rate.to_string()).parse(), Ok(rate));
        assert_eq!(Instant::from_nanos(n).to_string(), span.to_string());
        let probability = Probability::clamped(stream.next() as f64 / u64::MAX as f64);
        assert_eq!(probability.to_string().parse(), Ok(probability));
    }
}

#[test]
fn values_print_as_the_field_writes_them() {
    for (ns, text) in [
        (0, "0 ns"),
        (1, "1 ns"),
        (1_500, "1.5 us"),
        (5_000_000, "5 ms"),
        (100_000_000, "100 ms"),
        (1_500_000_000, "1.5 s"),
        (90_000_000_000, "90 s"),
        // The largest unit that needs at most three decimals.
        (1_000_100_000, "1000.1 ms"),
        (1_000_000_001, "1000000.001 us"),
    ] {
        assert_eq!(Span::from_nanos(ns).to_string(), text);
    }
    for (n, text) in [
        (0, "0 B"),
        (999, "999 B"),
        (1_500, "1500 B"),
        (65_536, "64 KiB"),
        (33_554_432, "32 MiB"),
        (1_000_000, "1 MB"),
        (2_500_000, "2500 kB"),
        (1_514, "1514 B"),
    ] {
        assert_eq!(Bytes::new(n).to_string(), text);
    }
    for (n, text) in [
        (0, "0 bit/s"),
        (999, "999 bit/s"),
        (64_000, "64 kbit/s"),
        (10_000_000, "10 Mbit/s"),
        (2_500_000, "2.5 Mbit/s"),
        (1_000_000_000, "1 Gbit/s"),
    ] {
        assert_eq!(BitRate::from_bit_s(n).to_string(), text);
    }
    assert_eq!(Packets::new(1000).to_string(), "1000 p");
    assert_eq!(Probability::clamped(0.1).to_string(), "0.1");
    // Width and alignment reach the whole text.
    assert_eq!(format!("[{:>8}]", Span::from_millis(5)), "[    5 ms]");
}

/// A decimal is held exactly or refused, never rounded: against the same question in 128-bit integers.
#[test]
fn decimals_are_exact_or_refused() {
    let units: [(&str, u128); 4] = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("min", 60_000_000_000)];
    let (mut stream, mut refused) = (Stream(2), 0);
    for _ in 0..100_000 {
        let (whole, digits) = (u128::from(stream.below(1_000_000_000)), stream.below(13) as u32);
        let fraction = u128::from(stream.next()) % 10_u128.pow(digits);
        let (unit, scale) = units[stream.below(4) as usize];
        let text = match digits {
            0 => format!("{whole}{unit}"),
            _ => format!("{whole}.{fraction:0width$} {unit}", width = digits as usize),
        };
        let numerator = (whole * 10_u128.pow(digits) + fraction) * scale;
        let denominator = 10_u128.pow(digits);
        let exact = numerator % denominator == 0;
        match text.parse::<Span>() {
            Ok(span) => {
                assert!(exact && u128::from(span.nanos()) == numerator / denominator, "{text} read as {span:?}")
            }
            Err(error) => {
                let large = numerator / denominator > u128::from(u64::MAX);
                assert!(!exact || large, "{text}: {error}");
                refused += 1;
            }
        }
    }
    assert!((10_000..90_000).contains(&refused), "both answers must occur: {refused} refused");
}
