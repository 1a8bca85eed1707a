use super::*;
use crate::test_host::{canonical, close, refused, Fate, Host};
use crate::{Config, Ecn, Value};

fn host(text: &str) -> Host<DroppingFunction> {
    let mut params = Params::default();
    let words: Vec<&str> = text.split_whitespace().collect();
    for pair in words.chunks(2) {
        crate::Parameters::set(&mut params, pair[0], pair[1]).unwrap().unwrap();
    }
    Host::new(params)
}

#[test]
fn d0_to_d8_on_both_sides_of_every_break() {
    let exp = libm::exp;
    // (function, n, d(n) worked out by hand from the printed formula)
    let expected = [
        (Shape::D0, 99, 0.0),
        (Shape::D0, 100, 1.0),
        (Shape::D1, 90, 0.0),
        (Shape::D1, 91, 0.00994),   // 1.516606 - 1.506666
        (Shape::D1, 120, 0.493254), // 1.99992 - 1.506666
        (Shape::D1, 121, 0.5),
        (Shape::D2, 86, 0.0),
        (Shape::D2, 87, 0.002138), // 0.724971 - 0.722833
        (Shape::D2, 101, 0.1188),  // 0.841633 - 0.722833
        (Shape::D2, 102, 0.1315),  // 2.55 - 2.4185
        (Shape::D2, 116, 0.4815),  // 2.9 - 2.4185
        (Shape::D2, 117, 0.5),
        (Shape::D3, 80, 0.0),
        (Shape::D3, 81, 0.000312 * 0.0144),     // (81 - 80.88)^2 = 0.0144
        (Shape::D3, 120, 0.000312 * 1530.3744), // 39.12^2
        (Shape::D3, 121, 0.5),
        (Shape::D4, 88, 0.0),
        (Shape::D4, 89, 4.5 * 0.857375 / 27_000.0), // 0.95^3 = 0.857375, 30^3 = 27000
        (Shape::D4, 98, 4.5 * 985.074875 / 27_000.0), // 9.95^3
        (Shape::D4, 99, 0.182435),                  // 1.649934 - 1.467499
        (Shape::D4, 108, 0.332429),                 // 1.799928 - 1.467499
        (Shape::D4, 109, 0.5 - 4.5 * 741.217625 / 27_000.0), // 9.05^3
        (Shape::D4, 118, 0.5 - 4.5 * 0.000125 / 27_000.0), // 0.05^3
        (Shape::D4, 119, 0.5),
        (Shape::D5, 93, 0.0),
        (Shape::D5, 94, 0.5 - 0.5 * exp(-0.014)), // (94 - 93.86)/10
        (Shape::D5, 300, 0.5 - 0.5 * exp(-20.614)),
        (Shape::D6, 0, 0.25 * exp(-33.58)),
        (Shape::D6, 100, 0.25 * exp(-0.74 / 3.0)),
        (Shape::D6, 101, 0.5 - 0.25 * exp(-0.26 / 3.0)),
        (Shape::D6, 300, 0.5 - 0.25 * exp(-199.26 / 3.0)),
        (Shape::D7, 0, 0.5 * exp(-21.46)),
        (Shape::D7, 107, 0.5 * exp(-0.06)),
        (Shape::D7, 108, 0.5),
        (Shape::D8, 98, 0.0),
        (Shape::D8, 99, 0.5),
        (Shape::D8, 300, 0.5),
    ];
    for (shape, n, d) in expected {
        let got = shape.at(n);
        assert!((got - d).abs() < 1e-12, "{shape:?}({n}) = {got}, not {d}");
    }
}

/// Theorem 1, equations 1 to 3: the mean number in an M/M/1 queue at load rho whose arrivals are dropped with d(n).
fn mean_of_theorem_1(d: &dyn Fn(u64) -> f64, rho: f64, limit: u64) -> f64 {
    let (mut term, mut sum, mut first) = (1.0, 1.0, 0.0);
    for k in 1..=limit {
        term *= rho * (1.0 - d(k - 1));
        sum += term;
        first += k as f64 * term;
    }
    first / sum
}

#[test]
fn every_function_holds_fifty_packets_at_load_one() {
    // "each of them provides EX = 50 for rho = 1". d0 is exact: uniform on 0..100. The others have rounded constants.
    for (shape, _) in <Shape as crate::Choice>::WORDS.iter().map(|(name, shape)| (*shape, name)) {
        let mean = mean_of_theorem_1(&|n| shape.at(n), 1.0, 2000);
        assert!((mean - 50.0).abs() < 0.5, "{shape:?}: {mean}");
    }
    close(mean_of_theorem_1(&|n| Shape::D0.at(n), 1.0, 2000), 50.0);
}

#[test]
fn n_is_counted_before_the_arrival_joins() {
    let mut host = host("table 0:0,2:1 between step");
    // Finds 0, finds 1, finds 2: d = 0, 0, 1.
    assert_eq!(
        [host.arrive(), host.arrive(), host.arrive()],
        [Fate::Queued, Fate::Queued, Fate::Dropped(Reason::Early)]
    );
}

#[test]
fn system_counts_the_packet_in_service() {
    let mut host = host("table 0:0,2:1 between step count system");
    host.arrive();
    // One in service: the queue is empty, the system holds 1, then 2.
    assert!(host.send().is_some());
    assert_eq!(host.arrive(), Fate::Queued);
    assert_eq!(host.internal("in_service"), 1.0);
    assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
    // The second is in service, then nothing is: the link asked and got none.
    assert!(host.send().is_some());
    assert!(host.send().is_none());
    assert_eq!(host.internal("in_service"), 0.0);
    assert_eq!([host.arrive(), host.arrive()], [Fate::Queued, Fate::Queued]);
}

#[test]
fn queue_does_not_count_the_packet_in_service() {
    let mut host = host("table 0:0,2:1 between step");
    host.arrive();
    host.send();
    assert_eq!([host.arrive(), host.arrive()], [Fate::Queued, Fate::Queued]);
}

#[test]
fn the_draw_is_compared_with_d() {
    let mut host = host("table 0:0.25");
    host.random.fixed = Some(0.249);
    assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
    host.random.fixed = Some(0.25);
    assert_eq!(host.arrive(), Fate::Queued);
    assert_eq!(host.random.draws, 2);
    close(host.internal("probability"), 0.25);
}

#[test]
#[cfg_attr(miri, ignore = "takes Miri minutes")]
fn drops_are_as_frequent_as_d_says() {
    let mut host = host("table 0:0.3 limit 1p");
    let mut dropped = 0;
    for _ in 0..100_000 {
        dropped += usize::from(host.arrive() == Fate::Dropped(Reason::Early));
        host.send();
    }
    // Binomial: 30,000 with standard deviation sqrt(100,000 x 0.3 x 0.7) = 144.9; within five of them.
    assert!((29_276..=30_724).contains(&dropped), "{dropped}");
}

#[test]
fn the_limit_is_the_buffer() {
    let mut host = host("function d8 limit 3p");
    assert_eq!(host.arrive_many(3), 3);
    assert_eq!(host.arrive(), Fate::Dropped(Reason::Overflow));
    assert_eq!(host.random.draws, 0);
}

#[test]
fn ecn_marks() {
    let params = Params { table: Table::read("0:1").ok(), ecn: true, ..Params::default() };
    let mut host = Host::<DroppingFunction>::new(params);
    assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
    host.ecn = Ecn::Ect1;
    assert_eq!(host.arrive(), Fate::Marked);
}

#[test]
fn tables_by_line_and_by_step() {
    let table = Table::read("0:0,50:0.1,100:1").unwrap();
    // 25: half way to 0.1. 60: 0.1 + 0.9 x 10/50. Beyond 100 the last value holds.
    for (n, linear, step) in
        [(0, 0.0, 0.0), (25, 0.05, 0.0), (50, 0.1, 0.1), (60, 0.28, 0.1), (100, 1.0, 1.0), (999, 1.0, 1.0)]
    {
        close(table.at(n, Between::Linear), linear);
        close(table.at(n, Between::Step), step);
    }
}

#[test]
fn formulas() {
    let at = |text: &str, n: f64| Formula::read(text).unwrap().at(n);
    for (text, n, expected) in [
        ("1+2*3", 0.0, 7.0),
        ("(1+2)*3", 0.0, 9.0),
        ("8-2-1", 0.0, 5.0),
        ("8/2/2", 0.0, 2.0),
        ("2^3^2", 0.0, 512.0),
        ("-2^2", 0.0, -4.0),
        ("2^-1", 0.0, 0.5),
        ("1e-3*n", 5.0, 0.005),
        (".5e2", 0.0, 50.0),
        ("1.5E+1", 0.0, 15.0),
        ("min(1,(n/100)^2)", 50.0, 0.25),
        ("min(1,(n/100)^2)", 200.0, 1.0),
        ("max(0, n-3, 1)", 2.0, 1.0),
        ("exp(log(n))", 7.0, 7.0),
        ("sqrt(n)", 9.0, 3.0),
    ] {
        close(at(text, n), expected);
    }
    // One not-a-number is not hidden by min.
    assert!(at("min(1,log(n-1))", 0.0).is_nan());
}

#[test]
fn bad_formulas_say_what_is_wrong() {
    let why = |text: &str| Formula::read(text).unwrap_err();
    for (text, part) in [
        ("", "it ends too early"),
        ("1+", "it ends too early"),
        ("m", "\"m\" is unknown"),
        ("1)", "\")\" is unexpected"),
        ("(1", "\")\" is missing"),
        ("exp 1", "\"(\" is missing"),
        ("exp(1,2)", "\")\" is missing"),
        ("(1,2)", "\")\" is missing"),
        ("1..2", "\"1..2\" is not a number"),
        ("n%2", "\"%\" is unexpected"),
        ("2n", "column 2: \"n\" is no unit"),
        ("2 (n)", "\"(\" is unexpected"),
    ] {
        let error = why(text);
        assert!(error.contains(part) && error.contains("allowed: the signals n, bytes"), "{text}: {error}");
    }
    // 31 brackets and what they hold nest 32 deep; one more is too many.
    let deep = |n: usize| "(".repeat(n) + "1" + &")".repeat(n);
    assert!(Formula::read(&deep(31)).is_ok());
    assert!(why(&deep(32)).contains("nests more than 32"));
    assert!(why(&"-".repeat(40)).contains("nests more than 32"));
    assert!(why(&"1+".repeat(200)).contains("has 400 characters"));
}

#[test]
fn texts() {
    for text in [
        "dropping_function function d5 count system",
        "dropping_function limit 100p table 0:0,50:0.1,100:1 between step",
        "dropping_function formula min(1,(n/100)^2) ecn",
        "dropping_function formula min(1,max(0,(sojourn-5ms)/50ms)) window 50ms",
    ] {
        assert_eq!(canonical(text), text);
    }
    assert_eq!(canonical("dropping_function function d1 limit 300"), "dropping_function");
    // Quotes, and blanks inside of them or of parentheses.
    for text in [
        "dropping_function formula \"n / 300\" ecn",
        "dropping_function formula 'n / 300' ecn",
        "dropping_function formula (n / 300) ecn",
        "tc qdisc add dev eth0 root dropping_function formula \"n / 300\" ecn",
    ] {
        assert_eq!(canonical(text).replace("(n/300)", "n/300"), "dropping_function formula n/300 ecn");
    }
    let config: Config = "dropping_function formula n/300".parse().unwrap();
    assert_eq!(config.params()[4].value, "n/300");
}

#[test]
fn values_outside_zero_to_one_are_refused_naming_n() {
    // n/100 first exceeds 1 at 101.
    let error = refused("dropping_function formula n/100");
    assert!(error.contains("d(101) is 1.01; allowed: 0 to 1"), "{error}");
    assert!(refused("dropping_function formula n-1").contains("d(0) is -1"));
    assert!(refused("dropping_function formula log(-n)").contains("d(0) is -inf"));
    assert!(refused("dropping_function formula sqrt(0-n)").contains("d(1) is NaN"));
    // Only lengths up to the limit matter.
    assert_eq!(canonical("dropping_function limit 100p formula n/100"), "dropping_function limit 100p formula n/100");
    for (text, part) in [
        ("table 0:0,5:0.1,5:1", "5 does not follow 5"),
        ("table 1:0", "the first point is at 1, not at 0"),
        ("table 0:2", "outside 0 to 1"),
        ("table 0", "\"0\" is not a point n:d"),
        ("table x:0", "\"x\" is not a number of packets"),
        ("table 0:0 formula n/300", "table and formula are both given"),
        ("limit 2000000p", "limit is 2000000 p; allowed: up to 1048576 p"),
        ("function d9", "allowed: d0, d1"),
        ("window 0ms", "window is 0 s; allowed: above 0"),
        ("formula (sojourn-5)/1s", "formula: \"(sojourn-5)/1s\", column 9: \"-\" has a time on one side"),
    ] {
        let error = refused(&format!("dropping_function {text}"));
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn the_sojourn_time_is_that_of_the_last_packet_that_left() {
    let mut host = host("formula (sojourn-5ms)/50ms");
    host.random.fixed = Some(0.19);
    host.arrive_many(3);
    assert_eq!(host.random.draws, 0, "nothing has left");
    host.wait(Span::from_millis(15));
    assert!(host.send().is_some());
    // (15 - 5) / 50 = 0.2, which the draw of 0.19 is below.
    assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
    close(host.internal("probability"), 0.2);
    assert!(host.send().is_some() && host.send().is_some() && host.send().is_none());
    // The link has found it empty.
    assert_eq!(host.arrive(), Fate::Queued);
    close(host.internal("probability"), 0.0);
}

#[test]
fn means_forget_with_the_window() {
    let mut host = host("formula average/100 window 100ms");
    // Arrivals at one instant change nothing; the next, 100 ms later, finds 2: 2 (1 - 1/e).
    host.arrive_many(2);
    close(host.internal("probability"), 0.0);
    host.wait(Span::from_millis(100));
    host.random.fixed = Some(0.9);
    host.arrive();
    close(host.internal("probability"), 0.02 * (1.0 - libm::exp(-1.0)));
}

#[test]
fn utilisation_is_the_share_of_time_in_service() {
    let mut host = host("formula utilisation window 100ms");
    host.random.fixed = Some(0.999);
    host.arrive();
    // Idle 100 ms, in service 100 ms, idle again 100 ms: 0, 1 - 1/e, (1 - 1/e)/e.
    host.wait(Span::from_millis(100));
    assert!(host.send().is_some());
    host.wait(Span::from_millis(100));
    assert!(host.send().is_none());
    host.wait(Span::from_millis(100));
    host.arrive();
    close(host.internal("probability"), (1.0 - libm::exp(-1.0)) * libm::exp(-1.0));
}

#[test]
fn other_parameters_keep_what_a_formula_remembers() {
    let mut host = host("formula sojourn/1s");
    host.random.fixed = Some(0.999);
    host.arrive_many(2);
    host.wait(Span::from_millis(100));
    host.send();
    let params = Params { formula: Formula::read("sojourn/2s").ok(), ..Params::default() };
    host.with(|aqm| aqm.set_params(&params));
    host.arrive();
    close(host.internal("probability"), 0.05);
}
