use super::*;
use crate::formula::Unit;
use alloc::string::ToString;

/// All signals different, so that one taken for another shows.
const SIGNALS: Signals = Signals {
    n: 20.0,
    bytes: 30_000.0,
    size: 1500.0,
    sojourn: 0.015,
    head: 0.012,
    delay: 0.024,
    rate: 1_250_000.0,
    average: 18.0,
    utilisation: 0.9,
};

fn value(text: &str) -> f64 {
    Formula::read(text).unwrap().0.value(&SIGNALS.values())
}

fn why(text: &str) -> String {
    Formula::read(text).unwrap_err()
}

#[test]
fn units_give_plain_numbers() {
    for (text, expected) in [
        // (15 - 5) / 50.
        ("min(1, max(0, (sojourn - 5ms) / 50ms))", 0.2),
        ("(head - 2 ms) / 100 ms", 0.1),
        ("delay / 1s", 0.024),
        ("n / 100p", 0.2),
        ("bytes / 60kB", 0.5),
        ("size / 1500B", 1.0),
        // 10 Mbit/s is 1,250,000 byte/s, in both spellings.
        ("rate / 20Mbit/s", 0.5),
        ("rate / 20mbit", 0.5),
        // 30,000 bytes at 1,250,000 byte/s are 24 ms: the signal delay.
        ("(bytes / rate) / delay", 1.0),
        ("average / 36", 0.5),
        ("utilisation - 50%", 0.4),
        ("2KiB / 1B", 2048.0),
        ("1500us/1ms", 1.5),
        ("abs(sojourn - 20ms) / 10ms", 0.5),
        ("exp(-sojourn/15ms)", 0.367_879_441_171_442_33),
        ("(sojourn > 5ms) * 0.1", 0.1),
        ("(sojourn < 5ms) * 0.1", 0.0),
        ("(0 < sojourn)*1", 1.0),
        ("n*1e-2", 0.2),
    ] {
        let got = value(text);
        assert!((got - expected).abs() < 1e-12, "{text}: {got}, not {expected}");
    }
}

#[test]
fn what_does_not_fit_is_refused_at_its_column() {
    for (text, column, part) in [
        ("(sojourn - 5) / 50ms", 10, "\"-\" has a time on one side and a number on the other"),
        ("max(1ms, bytes)", 9, "\"max\" has a time on one side and an amount of data on the other"),
        ("sojourn", 1, "the result is a time, but it must be a number"),
        ("sojourn > 5", 9, "\">\" has a time on one side and a number on the other"),
        ("exp(sojourn)", 5, "exp takes a number, and this is a time"),
        ("sojourn^2 / 1s", 1, "\"^\" takes a number, and this is a time"),
        ("n^delay", 3, "\"^\" takes a number, and this is a time"),
        ("bytes*sojourn*sojourn", 1, "the result is in B^1 s^2"),
        ("n / 5mss", 6, "\"mss\" is no unit (did you mean \"ms\"?); units: p packets % ns"),
        ("n / 100 + sojurn/1s", 11, "\"sojurn\" is unknown (did you mean \"sojourn\"?)"),
        ("min(1, n/0 - 1/0)", 15, "this constant is inf"),
        ("n + log(0-1)", 5, "this constant is NaN"),
        ("0/0", 2, "this constant is NaN"),
        ("n + 1e999", 5, "\"1e999\" is too large"),
    ] {
        let error = why(text);
        let place = alloc::format!("\"{text}\", column {column}: ");
        assert!(error.starts_with(&place) && error.contains(part), "{text}: {error}");
        assert!(error.contains("; allowed: the signals n, bytes, size, sojourn"), "{error}");
    }
}

#[test]
fn a_result_is_contained() {
    let at = |text: &str, signals: &Signals| Formula::read(text).unwrap().probability(signals);
    assert_eq!(at("sojourn/1ms", &SIGNALS), 1.0);
    assert_eq!(at("0-sojourn/1ms", &SIGNALS), 0.0);
    assert_eq!(at("1/(n-20)", &SIGNALS), 1.0, "infinite");
    // 0/0, the logarithm of a negative number, and infinity minus infinity, none of them constant.
    assert_eq!(at("(n-20)/(n-20)", &SIGNALS), 0.0);
    assert_eq!(at("max(0.5, log(0-n))", &SIGNALS), 0.0);
    assert_eq!(at("(log(0-n) < 1) + 0.5", &SIGNALS), 0.0);
}

#[test]
fn a_program_is_bounded() {
    // 1+(1+(1+...n)): each level keeps a value; the constants are not folded because n is innermost.
    let deep = |n: usize| "1+(".repeat(n) + "n" + &")".repeat(n);
    assert!(Formula::read(&deep(15)).is_ok());
    assert!(why(&deep(16)).contains("more than 16 values are needed at a time"));
    assert!(why(&"n+".repeat(200)).contains("has 400 characters"));
}

#[test]
fn every_signal_has_its_own_place() {
    for (place, (name, unit)) in NAMES.iter().enumerate() {
        assert_eq!((Signal::ALL[place].0, Signal::ALL[place].1 as usize), (*name, place));
        // Divided by one of its kind, which is 1 in the base units.
        let one = match *unit {
            Unit::DATA => "1B",
            Unit::TIME => "1s",
            Unit::RATE => "8bit/s",
            _ => "1",
        };
        let text = format!("{name}/{one}");
        assert_eq!(value(&text).to_string(), SIGNALS.values()[place].to_string());
        assert_eq!(Formula::read(&text).unwrap().is_of_length(), *name == "n");
    }
}

#[test]
fn the_page_describes_every_signal() {
    let page = include_str!("../dropping_function.rs");
    for (name, _) in NAMES {
        assert!(page.contains(&format!("//! | `{name}` | ")), "{name}");
    }
}
