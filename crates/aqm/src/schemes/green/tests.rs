use super::*;
use crate::test_host::{canonical, close, refused, Fate, Host};
use crate::Ecn;

fn arrive(host: &mut Host<Green>, flow: u32) -> Fate {
    host.flow = flow;
    host.arrive()
}

#[test]
fn the_equation_by_hand() {
    let rtt = Span::from_millis(100);
    // 8 Mbit/s are 1,000,000 B/s. 10 flows: 10 x 1000 / (1,000,000 x 0.1) = 0.1, squared.
    let rate = BitRate::from_bit_s(8_000_000);
    close(equation(10, 1000.0, rate, rtt), 0.01);
    // Twice the flows, half the rate or half the time: four times.
    close(equation(20, 1000.0, rate, rtt), 0.04);
    close(equation(10, 1000.0, BitRate::from_bit_s(4_000_000), rtt), 0.04);
    close(equation(10, 1000.0, rate, Span::from_millis(50)), 0.04);
    assert_eq!(equation(101, 1000.0, rate, rtt), 1.0);
    assert_eq!((equation(1, 1000.0, BitRate::ZERO, rtt), equation(0, 1000.0, BitRate::ZERO, rtt)), (1.0, 0.0));
}

#[test]
fn a_flow_is_active_up_to_a_window_after_its_last_arrival() {
    let mut host = Host::<Green>::new(Params { window: Span::from_millis(100), ..Params::default() });
    host.random.fixed = Some(0.999_999);
    let ms = |n| Span::from_millis(n);
    for flow in [1, 2, 3, 2] {
        arrive(&mut host, flow);
        host.wait(ms(10));
    }
    // At 0, 10, 20, 30 ms; now 40 ms. p = (3 x 1460 x 0.93 / 100,000)^2.
    assert_eq!(host.internal("active_flows"), 3.0);
    close(host.internal("probability"), 0.040_734 * 0.040_734);
    host.wait(ms(60));
    assert_eq!(host.internal("active_flows"), 3.0, "100 ms: flow 1's window ends");
    host.wait(Span::from_nanos(1));
    assert_eq!(host.internal("active_flows"), 2.0);
    host.wait(ms(25));
    assert_eq!(host.internal("active_flows"), 1.0, "125 ms: flow 3 is silent since 20, flow 2 since 30");
    host.wait(ms(3600));
    assert_eq!((host.internal("active_flows"), host.internal("probability")), (0.0, 0.0));
    // A change of rate counts at once.
    arrive(&mut host, 1);
    host.rate = BitRate::from_bit_s(800_000);
    close(host.internal("probability"), 0.13578 * 0.13578);
}

#[test]
fn of_too_many_the_longest_silent_is_forgotten() {
    let mut host = Host::<Green>::new(Params { flows: 2, ..Params::default() });
    for flow in [1, 2, 1, 3] {
        arrive(&mut host, flow);
    }
    assert_eq!(host.internal("active_flows"), 2.0);
    let Scheme::Flows { active, .. } = &mut Green::new(&Params { flows: 2, ..Params::default() }).scheme else {
        panic!()
    };
    for flow in [1, 2, 1, 3, 3] {
        active.arrival(Instant::ZERO, flow);
    }
    // 2 went as 3 came; 1 goes as 2 comes back.
    active.arrival(Instant::ZERO, 2);
    assert_eq!(active.len(), 2);
}

fn stepping() -> Params {
    Params { scheme: Kind::Rate, dp: Probability::clamped(0.25), limit: Limit::packets(3), ..Params::default() }
}

#[test]
fn dropped_arrivals_count_in_the_rate_and_p_is_drawn_for() {
    let mut host = Host::<Green>::new(Params { ecn: true, time_constant: Span::from_nanos(1), ..stepping() });
    host.random.fixed = Some(0.25);
    // 11 x 1000 B in 10 ms are 8.8 Mbit/s, above 0.97 x 8; three were queued.
    assert_eq!(host.arrive_many(11), 3);
    host.wait(Span::from_millis(10));
    close(host.internal("arrival_rate_bit_s"), 8_800_000.0);
    close(host.internal("probability"), 0.25);
    host.send();
    assert_eq!(host.arrive(), Fate::Queued);
    host.send();
    host.random.fixed = Some(0.2499);
    assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
    host.ecn = Ecn::Ect0;
    assert_eq!(host.arrive(), Fate::Marked);
    assert_eq!(host.arrive(), Fate::Dropped(Reason::Overflow));
    // 4 x 1000 B: below.
    host.wait(Span::from_millis(10));
    close(host.internal("probability"), 0.0);
}

#[test]
fn texts() {
    for text in ["green rtt 50ms mss 1448B c 1.2 window 500ms flows 100 ecn", "green scheme rate c_t 0.9 dp 0.01"] {
        assert_eq!(canonical(text), text);
    }
    assert!(refused("green scheme blue").contains("allowed: flows, rate"));
    for name in ["rtt", "interval", "time_constant"] {
        assert!(refused(&alloc::format!("green {name} 0ms")).contains(&alloc::format!("{name} is 0")));
    }
    assert!(refused("green flows 0").contains("1 to 65536"));
}
