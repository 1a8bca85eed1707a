use super::*;
use alloc::vec;

fn ms(at: u64) -> Instant {
    Instant::from_nanos(at * MS)
}

fn trace(at: &[u64]) -> Traced {
    let trace = Opportunities::new(at.to_vec()).expect("a trace");
    Traced::new(Arc::new(Rates::Opportunities(trace)), Traced::WINDOW)
}

#[test]
fn packets_share_opportunities_and_span_them() {
    // One at 5 ms and two at 10 ms, again every 10 ms. 576 and 40 B share the first; the 1500 B that follow take its last
    // 884 B and 616 B of the next, whose last 884 B take all of 40 B, and 844 B of the next 1500.
    let mut link = trace(&[5, 10, 10]);
    assert_eq!(link.ready(ms(0), true), ms(5));
    let mut now = ms(5);
    let outs: Vec<Instant> = [576, 40, 1500, 40, 1500, 1500]
        .into_iter()
        .map(|bytes| {
            now = link.ready(now, false);
            now = link.send(now, bytes);
            now
        })
        .collect();
    // The fifth ends in the third opportunity, at 10 ms; 844 of the last are sent then, and 656 at 15 ms.
    assert_eq!(outs, vec![ms(5), ms(5), ms(10), ms(10), ms(10), ms(15)]);
    assert_eq!(link.ready(ms(15), false), ms(15));
}

#[test]
fn what_nobody_uses_is_lost() {
    let mut link = trace(&[5, 10]);
    // Idle at 5 ms: the next is at 10 ms, and after 10 ms at 15 ms.
    assert_eq!(link.ready(ms(5), true), ms(10));
    assert_eq!(link.send(ms(10), 100), ms(10));
    assert_eq!(link.ready(ms(10), false), ms(10));
    assert_eq!(link.ready(ms(10), true), ms(15));
    assert_eq!(link.send(ms(15), 1500), ms(15));
    assert_eq!(link.ready(ms(15), false), ms(20));
    // Three periods later.
    assert_eq!(link.ready(ms(47), true), ms(50));
    assert_eq!(link.send(ms(50), 3001), ms(60));
}

#[test]
fn the_period_is_the_last_time_and_a_first_one_at_0_follows_it_at_once() {
    // 0, 4; 4 + 0, 8; 8, 12; ...
    let trace = Opportunities::new(vec![0, 4]).expect("a trace");
    let instants: Vec<Instant> = (0..5).map(|n| trace.instant(n)).collect();
    assert_eq!(instants, [ms(0), ms(4), ms(4), ms(8), ms(8)]);
    assert_eq!([0, 3, 4, 7, 8].map(|at| trace.count(at * MS)), [1, 1, 3, 3, 5]);
}

#[test]
fn steps_send_exactly_their_integral() {
    // 8 Mbit/s for 1 ms, then nothing for 3 ms, then 4 Mbit/s for 2 ms, again: 8000 + 8000 bits in 6 ms.
    let mbit = |rate: u64| BitRate::from_bit_s(rate * 1_000_000);
    let rates = [(Span::ZERO, mbit(8)), (Span::from_millis(1), mbit(0)), (Span::from_millis(4), mbit(4))];
    let steps = Steps::new(&rates, true, None);
    // The last as long as the one before: 3 ms. So 8000 + 12,000 bits in 7 ms.
    assert_eq!(steps.expect("steps").length(), Span::from_millis(7));
    let steps = Steps::new(&rates, true, Some(Span::from_millis(6))).expect("steps");
    let mut link = Traced::new(Arc::new(Rates::Steps(steps)), Span::from_millis(6));
    // 500 B from 0: 0.5 ms. 1000 B more: 4000 bits by 1 ms, the other 4000 from 4 ms on at 4 Mbit/s: 5 ms.
    assert_eq!(link.send(ms(0), 500), Instant::from_nanos(500_000));
    assert_eq!(link.send(Instant::from_nanos(500_000), 1000), ms(5));
    // 4000 bits by 6 ms: 500 B end there, with the period.
    assert_eq!(link.send(ms(5), 500), ms(6));
    assert_eq!((link.ready(ms(6), false), link.ready(ms(8), true)), (ms(6), ms(10)));
    // 16,000 bits in any 6 ms, also over the start.
    for now in [0, 1, 3, 6, 20] {
        assert_eq!(link.shown(ms(now)), BitRate::from_bit_s(16_000_000_000 / 6000));
    }
}

#[test]
fn a_constant_trace_is_a_constant_wire() {
    // 1500 B and 40 B at 7 Mbit/s, back to back and with pauses: the same instants as of a wire, which carries remainders.
    let rate = BitRate::from_bit_s(7_000_000);
    for repeats in [false, true] {
        let steps = Steps::new(&[(Span::ZERO, rate)], repeats, None).expect("steps");
        let mut link = Traced::new(Arc::new(Rates::Steps(steps)), Traced::WINDOW);
        let mut wire = sojourn_units::Wire::new(rate, sojourn_units::Bytes::ZERO);
        let mut now = Instant::ZERO;
        for n in 0..10_000_u32 {
            let bytes = if n % 3 == 0 { 40 } else { 1500 };
            let out = link.send(now, bytes);
            assert_eq!(out, now + wire.take(bytes), "packet {n}");
            now = out + Span::from_nanos(u64::from(n % 5 == 0) * 12_345);
            assert_eq!(link.shown(now), rate);
        }
    }
}

#[test]
fn a_last_rate_holds_and_an_outage_without_end_never_ends() {
    let mbit = |rate: u64| BitRate::from_bit_s(rate * 1_000_000);
    let steps =
        |last| Steps::new(&[(Span::ZERO, mbit(8)), (Span::from_millis(1), mbit(last))], false, None).expect("steps");
    let mut link = Traced::new(Arc::new(Rates::Steps(steps(1))), Traced::WINDOW);
    // 8000 bits by 1 ms, 16,000 at 1 Mbit/s.
    assert_eq!(link.send(ms(0), 3000), ms(17));
    // Seen 17 ms after the start over 100 ms: the first rate for 84 ms, then the second for 16 ms.
    assert_eq!(link.shown(ms(17)), BitRate::from_bit_s((84 * 8 + 16) * 10_000));
    let mut link = Traced::new(Arc::new(Rates::Steps(steps(0))), Traced::WINDOW);
    assert_eq!((link.ready(ms(2), true), link.send(ms(0), 3000)), (Instant::NEVER, Instant::NEVER));
}

#[test]
fn texts_are_read_and_refused() {
    let read = |text: &str| Rates::read(text, true, None);
    let Ok(Rates::Opportunities(found)) = read("0\n0\n# a comment\n\n3\n3\n3\n10\n") else { panic!("a trace") };
    assert_eq!(found.at_ms(), [0, 0, 3, 3, 3, 10]);
    assert_eq!((found.text().as_str(), Opportunities::parse(&found.text())), ("0x2 3 0x2 7", Ok(found)));
    let Ok(Rates::Steps(steps)) = read("rate_mbit_s, place, time_ms\n2.5,a,0\n0,b,20\n") else { panic!("a table") };
    let entries: Vec<_> = steps.entries().map(|(at, rate)| (at.nanos() / MS, rate.bit_s())).collect();
    assert_eq!((entries, steps.length()), (vec![(0, 2_500_000), (20, 0)], Span::from_millis(40)));
    let why = |text: &str| read(text).map(|_| ()).expect_err("refused");
    for (text, expected) in [
        ("", "is empty"),
        ("# nothing\n", "is empty"),
        ("0\n0\n", "at 0 only"),
        ("1\n5\n4\n", "line 3: is 4, after 5; allowed: times that never fall"),
        ("1\nx\n", "line 2: is \"x\"; allowed: a time in whole milliseconds"),
        ("-1\n", "line 1: is \"-1\""),
        ("time_s,rate_mbits\n", "names the columns time_s, rate_mbits (did you mean"),
        ("time_s,rate_mbit_s\n", "has no rate"),
        ("time_s,rate_mbit_s\n0,-3\n", "line 2: the rate is \"-3\"; allowed: a number of at least 0"),
        ("time_s,rate_mbit_s\n0,3\n0,4\n", "line 3: the time is 0 ns, after 0 ns; allowed: times that rise"),
        ("time_s,rate_mbit_s\n1,3\n", "line 2: the first time is 1 s; allowed: 0"),
        ("time_s,rate_mbit_s\n0,0\n", "has no rate above 0"),
        ("time_s,rate_mbit_s\n0,3\n1e30,3\n", "line 3: the time is 1e30; allowed: up to a year"),
        ("time_s,rate_mbit_s\n0,1e9\n", "the rate is 1e9; allowed: up to 10000 Gbit/s"),
    ] {
        assert!(why(text).contains(expected), "{text:?}: {}", why(text));
    }
}
