//! Sums, differences and products: exact where they fit, at the end of the range where they do not.

use sojourn_units::{BitRate, Bytes, Instant, Packets, Span};

const MS: Span = Span::from_millis(1);

#[test]
fn instants_and_spans() {
    let start = Instant::from_nanos(500);
    assert_eq!(start + Span::from_nanos(7), Instant::from_nanos(507));
    assert_eq!(Instant::from_nanos(507) - start, Span::from_nanos(7));
    assert_eq!(start - Instant::from_nanos(507), Span::ZERO, "no negative time");
    assert_eq!(start.since(Instant::from_nanos(499)), Span::from_nanos(1));
    assert_eq!(start.before(Span::from_nanos(1)), Instant::from_nanos(499));
    assert_eq!(start.before(MS), Instant::ZERO, "nothing before the start");
    assert_eq!(Instant::NEVER + MS, Instant::NEVER);
    let mut now = Instant::ZERO;
    now += MS;
    now += MS;
    assert_eq!(now.nanos(), 2_000_000);
}

#[test]
fn spans() {
    let mut sum = MS + MS;
    sum += Span::from_micros(500);
    assert_eq!(sum, Span::from_nanos(2_500_000));
    assert_eq!(Span::MAX + MS, Span::MAX);
    assert_eq!(MS.saturating_sub(Span::from_secs(1)), Span::ZERO);
    assert_eq!(MS * 16, Span::from_millis(16));
    assert_eq!(Span::MAX * 2, Span::MAX);
    assert_eq!(Span::from_nanos(7) / 2, Span::from_nanos(3));
    assert_eq!(MS / 0, MS);
    assert!(Span::ZERO.is_zero() && !MS.is_zero());
}

#[test]
fn spans_and_numbers() {
    assert_eq!(Span::from_seconds(0.001), MS);
    assert_eq!(Span::from_seconds(1.5e-9), Span::from_nanos(2), "to the nearest, halves away from zero");
    assert_eq!(Span::from_seconds(1.4e-9), Span::from_nanos(1));
    for (seconds, span) in [(-1.0, Span::ZERO), (f64::NAN, Span::ZERO), (f64::INFINITY, Span::MAX), (1e300, Span::MAX)]
    {
        assert_eq!(Span::from_seconds(seconds), span, "{seconds}");
    }
    // 100 ms / sqrt(2) = 70 710 678.118... ns.
    assert_eq!(Span::from_millis(100).scaled(1.0 / 2.0_f64.sqrt()), Span::from_nanos(70_710_678));
    assert_eq!(MS.scaled(-1.0), Span::ZERO);
    assert_eq!(Span::MAX.scaled(2.0), Span::MAX);
    // Halves go up; the number below a half does not become one.
    for (ns, factor, expected) in [(1, 0.499_999_999_999_999_94, 0), (1, 0.5, 1), (3, 0.5, 2), (5, 0.5, 3)] {
        assert_eq!(Span::from_nanos(ns).scaled(factor), Span::from_nanos(expected), "{ns} x {factor}");
    }
    // Beyond the whole numbers that a float holds one by one, and beyond those of 63 bits.
    for ns in [1 << 53, (1 << 62) + (1 << 11), 1 << 63, u64::MAX << 11] {
        assert_eq!(Span::from_nanos(ns).scaled(1.0), Span::from_nanos(ns));
    }
    assert_eq!((Span::MAX.scaled(1.0), MS.scaled(f64::NAN)), (Span::MAX, Span::ZERO));
    assert_eq!((MS.seconds(), MS.millis(), Instant::from_nanos(2_000_000_000).seconds()), (0.001, 1.0, 2.0));
    assert_eq!(Span::from_secs(3).nanos(), 3_000_000_000);
}

#[test]
fn amounts() {
    let mut bytes = Bytes::new(1500) + Bytes::new(14);
    bytes += Bytes::new(4);
    assert_eq!(bytes.get(), 1518);
    bytes -= Bytes::new(18);
    assert_eq!(bytes, Bytes::new(1500));
    assert_eq!(Bytes::new(1) - Bytes::new(2), Bytes::ZERO);
    assert_eq!(Bytes::new(u64::MAX) + Bytes::new(1), Bytes::new(u64::MAX));
    assert_eq!([Packets::new(3), Packets::new(4)].into_iter().sum::<Packets>(), Packets::new(7));
    assert_eq!(Packets::new(3).saturating_sub(Packets::new(4)), Packets::ZERO);
}

#[test]
fn rates_times_and_bytes() {
    let rate = BitRate::from_bit_s(10_000_000);
    // 1500 B are 12 000 bit: 1.2 ms at 10 Mbit/s.
    assert_eq!(rate.time_for(Bytes::new(1500)), Span::from_micros(1200));
    assert_eq!(rate * Span::from_secs(1), Bytes::new(1_250_000));
    assert_eq!(rate * Span::from_micros(1200), Bytes::new(1500));
    assert_eq!(rate.bytes_s(), 1_250_000.0);
    // Rounded down: 8 bit at 3 bit/s take 2.666... s; in 1 s 3 bit are no whole byte.
    assert_eq!(BitRate::from_bit_s(3).time_for(Bytes::new(1)), Span::from_nanos(2_666_666_666));
    assert_eq!(BitRate::from_bit_s(3) * Span::from_secs(1), Bytes::ZERO);
    assert_eq!(BitRate::ZERO.time_for(Bytes::new(1)), Span::MAX);
    assert_eq!(BitRate::from_bit_s(1).time_for(Bytes::new(u64::MAX)), Span::MAX);
    assert_eq!(BitRate::from_bit_s(u64::MAX) * Span::MAX, Bytes::new(u64::MAX));
    // No overflow on the way: 400 Gbit/s for a day is 4.32e15 B.
    assert_eq!(BitRate::from_bit_s(400_000_000_000) * Span::from_secs(86_400), Bytes::new(4_320_000_000_000_000));
    assert!(BitRate::ZERO.is_zero());
}
