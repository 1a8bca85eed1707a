//! What is read as which quantity, and what is refused with which words.

// Clippy's leave for tests ends at functions that are not tests themselves.
#![allow(clippy::panic)]

use sojourn_units::{BitRate, Bytes, Packets, Probability, Span, UnitError};
use std::fmt::Debug;
use std::str::FromStr;

#[track_caller]
fn reads<T: PartialEq + Debug>(read: fn(&str) -> Result<T, UnitError>, table: &[(&str, T)]) {
    for (text, value) in table {
        assert_eq!(read(text).as_ref(), Ok(value), "{text}");
    }
}

/// Each text with a part of the reason; the message also repeats the text and says what is allowed.
#[track_caller]
fn refuses<T: PartialEq + Debug>(read: fn(&str) -> Result<T, UnitError>, allowed: &str, table: &[(&str, &str)]) {
    for (text, why) in table {
        match read(text) {
            Ok(value) => panic!("\"{text}\" was read as {value:?}"),
            Err(error) => assert_eq!(error.to_string(), format!("\"{text}\" {why}; allowed: {allowed}")),
        }
    }
}

const FINER: &str = "is finer than can be held exactly";
const LARGE: &str = "is too large";
const NEGATIVE: &str = "is negative";
const NO_NUMBER: &str = "does not start with a number";
const NO_UNIT: &str = "has no unit";

#[test]
fn times() {
    let ns = Span::from_nanos;
    reads(
        Span::from_str,
        &[
            ("5ms", ns(5_000_000)),
            ("5 ms", ns(5_000_000)),
            ("  5   ms ", ns(5_000_000)),
            ("5msec", ns(5_000_000)),
            ("5msecs", ns(5_000_000)),
            ("1ns", ns(1)),
            ("20us", ns(20_000)),
            ("20usecs", ns(20_000)),
            ("20 \u{b5}s", ns(20_000)),
            ("1s", ns(1_000_000_000)),
            ("2 sec", ns(2_000_000_000)),
            ("1 min", ns(60_000_000_000)),
            ("2h", ns(7_200_000_000_000)),
            ("0s", ns(0)),
            ("0.2 s", ns(200_000_000)),
            (".5s", ns(500_000_000)),
            ("5.s", ns(5_000_000_000)),
            ("1.5ms", ns(1_500_000)),
            ("0.000000001 s", ns(1)),
            // One day in parts of an hour: a decimal that a double cannot hold.
            ("0.1 h", ns(360_000_000_000)),
            ("1e3 s", ns(1_000_000_000_000)),
            ("1E-3s", ns(1_000_000)),
            ("2.5e+1ms", ns(25_000_000)),
            ("+5ms", ns(5_000_000)),
            ("1_000us", ns(1_000_000)),
            ("5MS", ns(5_000_000)),
            // The largest: 2^64 - 1 ns.
            ("18446744073.709551615 s", Span::MAX),
        ],
    );
    refuses(
        Span::from_str,
        Span::ALLOWED,
        &[
            ("5", "has no unit (tc would read microseconds)"),
            ("", NO_NUMBER),
            (" ", NO_NUMBER),
            ("ms", NO_NUMBER),
            (".ms", NO_NUMBER),
            ("five ms", NO_NUMBER),
            ("1.2.3ms", NO_NUMBER),
            ("5-3ms", NO_NUMBER),
            ("-5ms", NEGATIVE),
            ("-0.1s", NEGATIVE),
            ("5 m", "has the unknown unit \"m\""),
            ("5 days", "has the unknown unit \"days\""),
            ("5 ms s", "has the unknown unit \"ms s\""),
            ("5 Mbit/s", "has the unknown unit \"Mbit/s\""),
            ("1 exa", "has the unknown unit \"exa\""),
            ("0.3ns", FINER),
            ("1.0000000001s", FINER),
            ("1e-10s", FINER),
            ("18446744073.709551616 s", LARGE),
            ("600 years", "has the unknown unit \"years\""),
            ("6000000h", LARGE),
            ("1e30s", LARGE),
        ],
    );
}

#[test]
fn bytes() {
    let n = Bytes::new;
    let table = [
        ("1500 B", n(1500)),
        ("1500B", n(1500)),
        ("1 byte", n(1)),
        ("64KiB", n(65_536)),
        ("1 MiB", n(1 << 20)),
        ("3GiB", n(3 << 30)),
        ("2kB", n(2000)),
        ("2 MB", n(2_000_000)),
        ("1.5 kB", n(1500)),
        ("0.5KiB", n(512)),
        ("18446744073709551615 B", n(u64::MAX)),
    ];
    reads(Bytes::from_str, &table);
    reads(Bytes::from_tc, &table);
    refuses(
        Bytes::from_str,
        Bytes::ALLOWED,
        &[
            ("1500", NO_UNIT),
            ("1.5B", FINER),
            ("0.0001kB", FINER),
            ("-1B", NEGATIVE),
            ("18446744073709551616 B", LARGE),
            // In capitals and small letters bytes and bits, thousand and 1024 would be mixed up.
            ("1500 b", "has the unknown unit \"b\""),
            ("1 KB", "has the unknown unit \"KB\""),
            ("1 kb", "has the unknown unit \"kb\""),
            ("1 kib", "has the unknown unit \"kib\""),
            ("1 mB", "has the unknown unit \"mB\""),
            ("10p", "has the unknown unit \"p\""),
        ],
    );
}

#[test]
fn bytes_as_tc_writes_them() {
    // tc(8): a bare number is bytes; k, kb are 1024; m, mb 1024^2; g, gb 1024^3.
    let n = Bytes::new;
    reads(
        Bytes::from_tc,
        &[
            ("1514", n(1514)),
            ("0", n(0)),
            ("1514b", n(1514)),
            ("3k", n(3072)),
            ("3kb", n(3072)),
            ("3K", n(3072)),
            ("32mb", n(32 << 20)),
            ("32Mb", n(32 << 20)),
            ("1g", n(1 << 30)),
            // 8 x 1024 bits.
            ("8kbit", n(1024)),
            ("1mbit", n((1 << 20) / 8)),
            ("1gbit", n((1 << 30) / 8)),
            // The standard's own units keep their meaning.
            ("3kB", n(3000)),
            ("32MB", n(32_000_000)),
        ],
    );
    refuses(
        Bytes::from_tc,
        Bytes::ALLOWED,
        &[("-1", NEGATIVE), ("1.5", FINER), ("1500p", "has the unknown unit \"p\""), ("k", NO_NUMBER)],
    );
}

#[test]
fn packets() {
    let n = Packets::new;
    let table = [
        ("1000p", n(1000)),
        ("1000 p", n(1000)),
        ("1 packet", n(1)),
        ("7packets", n(7)),
        ("7 pkts", n(7)),
        ("7pkt", n(7)),
        ("1e3p", n(1000)),
        ("1_000p", n(1000)),
        ("0p", n(0)),
    ];
    reads(Packets::from_str, &table);
    reads(Packets::from_tc, &table);
    reads(Packets::from_tc, &[("1000", n(1000))]);
    refuses(
        Packets::from_str,
        Packets::ALLOWED,
        &[
            ("1000", NO_UNIT),
            ("1.5p", FINER),
            ("-1p", NEGATIVE),
            ("1000B", "has the unknown unit \"B\""),
            ("1k", "has the unknown unit \"k\""),
        ],
    );
}

#[test]
fn rates() {
    let n = BitRate::from_bit_s;
    reads(
        BitRate::from_str,
        &[
            ("10 Mbit/s", n(10_000_000)),
            ("10Mbit/s", n(10_000_000)),
            ("10 mbit", n(10_000_000)),
            ("10mbit", n(10_000_000)),
            ("2.5 Gbit/s", n(2_500_000_000)),
            ("1gbit", n(1_000_000_000)),
            ("64 kbit/s", n(64_000)),
            ("1 bit/s", n(1)),
            ("9600bit", n(9600)),
            ("1 Tbit/s", n(1_000_000_000_000)),
            ("1kibit", n(1024)),
            ("1mibit", n(1 << 20)),
            ("1tibit", n(1 << 40)),
            // tc(8): bps is bytes a second.
            ("1tbps", n(8_000_000_000_000)),
            ("1kibps", n(8192)),
            ("1mibps", n(8 << 20)),
            ("1gibps", n(8 << 30)),
            ("1tibps", n(8 << 40)),
            ("125kbps", n(1_000_000)),
            ("1bps", n(8)),
            ("1mbps", n(8_000_000)),
            ("0bit", n(0)),
        ],
    );
    let ambiguous = "is ambiguous (tc's mbps is megabytes a second)";
    refuses(
        BitRate::from_str,
        BitRate::ALLOWED,
        &[
            ("10", NO_UNIT),
            ("10 Mbps", ambiguous),
            ("10 Gbps ", ambiguous),
            ("10Kbps", ambiguous),
            ("10 MB/s", "has the unknown unit \"MB/s\""),
            ("10 Mb", "has the unknown unit \"Mb\""),
            ("0.5 bit/s", FINER),
            ("-1mbit", NEGATIVE),
            ("1e20 bit/s", LARGE),
        ],
    );
    // tc(8): "bit or a bare number: bits per second".
    reads(BitRate::from_tc, &[("10000000", n(10_000_000)), ("100Mbit", n(100_000_000)), ("6250Kbit", n(6_250_000))]);
    refuses(BitRate::from_tc, BitRate::ALLOWED, &[("10 Mbps", ambiguous), ("0.5", FINER)]);
}

#[test]
fn probabilities() {
    let p = |value: f64| Probability::new(value).unwrap_or_default();
    reads(
        Probability::from_str,
        &[
            ("0", p(0.0)),
            ("1", p(1.0)),
            ("0.1", p(0.1)),
            (" 0.1 ", p(0.1)),
            ("10%", p(0.1)),
            ("0.5 %", p(0.005)),
            ("100%", p(1.0)),
            ("1/256", p(0.003_906_25)),
            ("1 / 4", p(0.25)),
            ("1e-3", p(0.001)),
            ("0/5", p(0.0)),
        ],
    );
    let number = "is not a number";
    refuses(
        Probability::from_str,
        Probability::ALLOWED,
        &[
            ("", number),
            ("half", number),
            ("nan", number),
            ("inf", number),
            ("1/0", number),
            ("1/2/3", number),
            ("%", number),
            ("1.5", "is 1.5, outside 0 to 1"),
            ("-0.25", "is -0.25, outside 0 to 1"),
            ("150%", "is 1.5, outside 0 to 1"),
            ("3/2", "is 1.5, outside 0 to 1"),
        ],
    );
    assert_eq!("-0".parse::<Probability>().map(|p| p.to_string()).as_deref(), Ok("0"));
}

#[test]
fn probabilities_from_numbers() {
    assert_eq!(Probability::new(f64::NAN), None);
    assert_eq!(Probability::new(1.0 + f64::EPSILON), None);
    assert_eq!(Probability::new(-f64::MIN_POSITIVE), None);
    assert_eq!(Probability::new(1.0), Some(Probability::ONE));
    let table = [(-1.0, 0.0), (0.0, 0.0), (0.3, 0.3), (1.0, 1.0), (7.0, 1.0), (f64::INFINITY, 1.0), (f64::NAN, 0.0)];
    for (given, clamped) in table {
        assert_eq!(Probability::clamped(given).get(), clamped, "{given}");
    }
}
