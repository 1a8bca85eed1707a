use super::*;
use crate::schemes::red::law;
use crate::test_host::{canonical, close, refused, Fate, Host, Stream};
use crate::{Ecn, Random};
use alloc::vec::Vec;

/// The average is the queue length that an arrival finds.
fn instant() -> Params {
    Params { w: Probability::clamped(1.0), max: Packets::new(25), ..Params::default() }
}

/// A cache fed by hand: pairs of the arrival's flow and the drawn one.
fn sampled(params: &Params, pairs: &[(u32, u32)]) -> Black {
    let mut black = Black::new(params);
    for (flow, drawn) in pairs {
        black.sample(*flow, *drawn);
    }
    black
}

#[track_caller]
fn excess(black: &Black, flow: u32) -> f64 {
    black.excess(*black.cache.get(flow).unwrap())
}

/// Which of the flows 0 to 9 are in the cache.
fn cached(black: &Black) -> Vec<u32> {
    (0..10).filter(|flow| black.cache.get(*flow).is_some()).collect()
}

fn hits(black: &Black, flow: u32) -> u64 {
    black.cache.get(flow).unwrap().now
}

#[test]
fn a_match_enters_the_cache_and_from_then_on_every_drawn_packet_hits() {
    let black = sampled(&Params::default(), &[(1, 2), (2, 2), (3, 2), (4, 2), (2, 5), (5, 5)]);
    // Flow 2: its match, and twice drawn. Flow 5: only its match, since it was drawn before that.
    assert_eq!((cached(&black), hits(&black, 2), hits(&black, 5)), (alloc::vec![2, 5], 3, 1));
    // N_act = 6 samples / 2 matches = 3. H = 3/6: (1/2 - 1/3) / (1/3) = 1/2. H = 1/6: below 1/3.
    close(excess(&black, 2), 0.5);
    assert_eq!(excess(&black, 5), 0.0);
}

#[test]
#[cfg_attr(miri, ignore = "takes Miri minutes")]
fn hits_by_match_alone_never_exceed_a_fair_share() {
    let params = Params { hit: Hit::Matched, ..Params::default() };
    let mut black = sampled(&params, &[(1, 2), (2, 2), (3, 2), (2, 2)]);
    assert_eq!((hits(&black, 2), excess(&black, 2)), (2, 0.0));
    let mut script = Stream::new(1);
    for _ in 0..10_000 {
        // Half of all packets are of flow 0.
        let mut flow = || script.below(8).saturating_sub(4) as u32;
        black.sample(flow(), flow());
        assert!(black.cache.values().all(|hits| black.excess(*hits) == 0.0));
    }
}

#[test]
fn the_running_value_spans_the_last_period_and_this_one() {
    let params = Params { m: 4, ..Params::default() };
    let mut black = sampled(&params, &[(1, 1), (2, 1), (3, 1), (2, 2)]);
    // A period of 4 ends: H_1 = 3/4, H_2 = 1/4, 2 matches: N_act 2. p_1 = 3/4 x 2 - 1.
    assert_eq!((black.samples.now, black.samples.last, black.matches.last), (0, 4, 2));
    close(excess(&black, 1), 0.5);
    black.sample(9, 1);
    // (1 + 3/4 x 4) / (1 + 4) = 4/5; matches (0 + 2)/5: 4/5 x 5/2 - 1.
    close(excess(&black, 1), 1.0);
    for _ in 0..3 {
        black.sample(9, 2);
    }
    // The second period: one hit of flow 1, three of flow 2, no match: no estimate while none is in the last period either.
    assert_eq!((excess(&black, 1), excess(&black, 2)), (0.0, 0.0));
    black.sample(2, 2);
    // (1 + 3) / 1 - 1, clamped.
    close(excess(&black, 2), 1.0);
    for _ in 0..3 {
        black.sample(9, 2);
    }
    assert_eq!(cached(&black), [2], "flow 1 had no hit in the third period");
}

#[test]
fn a_full_cache_takes_no_flow_until_one_has_left() {
    let params = Params { m: 3, cache: 1, ..Params::default() };
    let mut black = sampled(&params, &[(1, 1), (2, 2), (2, 2)]);
    assert_eq!(cached(&black), [1]);
    for (flow, left) in [(2, [1].as_slice()), (2, &[1]), (2, &[])] {
        black.sample(flow, 2);
        assert_eq!(cached(&black), left);
    }
    black.sample(2, 2);
    assert_eq!(cached(&black), [2]);
}

/// Twenty packets of as many flows wait; flows 1 and 2 are cached, with p_i of 1/2 and 0.
fn judged(params: Params) -> Host<Black> {
    let mut host = Host::<Black>::new(Params { q_th: Packets::new(100), ..params });
    host.random.fixed = Some(0.999_999);
    for flow in 100..115 {
        host.flow = flow;
        assert_eq!(host.arrive(), Fate::Queued);
    }
    host.with(|black| {
        for pair in [(1, 1), (9, 1), (9, 1), (2, 2)] {
            black.sample(pair.0, pair.1);
        }
    });
    host
}

#[test]
fn cached_flows_are_dropped_by_their_excess_and_others_by_red() {
    let mut host = judged(instant());
    host.flow = 1;
    // Finds 15, halfway from 5 to 25: 1/2 x 1/2.
    host.random.fixed = Some(0.25);
    assert_eq!(host.arrive(), Fate::Queued);
    close(host.internal("probability"), 0.25);
    let count = host.internal("count");
    // Finds 16: 1/2 x 11/20 = 0.275. max_p has no part in it.
    host.random.fixed = Some(0.2749);
    assert_eq!(host.arrive(), Fate::Dropped(Reason::Flow));
    close(host.internal("probability"), 0.275);
    assert_eq!(host.internal("count"), count, "RED's count is RED's");
    // Flow 2 has less than its share: always queued.
    host.random.fixed = Some(0.0);
    host.flow = 2;
    assert_eq!(host.arrive(), Fate::Queued);
    // Flow 3 is not cached: RED, p_b = 0.1 x 12/20.
    host.flow = 3;
    assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
    close(host.internal("probability"), law::uniform(0.06, count + 1.0));
}

#[test]
fn ecn_marks_red_only_and_from_max_on_all_are_dropped() {
    let mut host = judged(Params { ecn: true, ..instant() });
    host.ecn = Ecn::Ect0;
    host.random.fixed = Some(0.0);
    host.flow = 1;
    assert_eq!(host.arrive(), Fate::Dropped(Reason::Flow));
    host.flow = 3;
    assert_eq!(host.arrive(), Fate::Marked);
    host.ecn = Ecn::NotEct;
    let mut host = judged(Params { max: Packets::new(15), max_p: Probability::clamped(0.0), ..instant() });
    host.flow = 2;
    assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
}

#[test]
fn below_min_nothing_is_dropped() {
    let mut host = judged(Params { min: Packets::new(20), ..instant() });
    host.random.fixed = Some(0.0);
    host.flow = 1;
    assert_eq!(host.arrive(), Fate::Queued);
    assert_eq!(host.internal("probability"), 0.0);
}

#[test]
fn samples_are_drawn_above_q_th_only() {
    let mut host = Host::<Black>::new(Params { q_th: Packets::new(3), max_p: Probability::clamped(0.0), ..instant() });
    host.random.fixed = Some(0.5);
    for (arrival, samples) in [0.0, 0.0, 0.0, 0.0, 1.0, 2.0].into_iter().enumerate() {
        host.flow = arrival as u32;
        host.arrive();
        assert_eq!(host.internal("samples"), samples, "found {arrival}");
    }
    // Six wait; the packet at 0.5 x 6 is flow 3.
    host.flow = 3;
    host.arrive();
    assert_eq!((host.internal("cached_flows"), host.internal("n_act")), (1.0, 3.0));
    close(host.internal("largest_hit_fraction"), 1.0 / 3.0);
}

#[test]
#[cfg_attr(miri, ignore = "takes Miri minutes")]
fn a_flood_is_found_and_its_share_of_the_queue_estimated() {
    // The average never moves, so that nothing is dropped and the shares are known: 11/20 and nine times 1/20.
    let mut host = Host::<Black>::new(Params { w: Probability::clamped(1e-15), ..Params::default() });
    let mut script = Stream::new(23);
    let mut offered = [0.0_f64; 2];
    for _ in 0..40_000 {
        host.flow = script.below(20).saturating_sub(10) as u32;
        offered[usize::from(host.flow == 0)] += 1.0;
        host.arrive();
        if host.len() > 20 {
            host.send();
        }
    }
    let share = offered[1] / (offered[0] + offered[1]);
    assert!((share - 0.55).abs() < 0.01);
    // 1000 to 2000 samples of 0.55: standard deviation at most 0.016; five of them.
    assert!((host.internal("largest_hit_fraction") - 0.55).abs() < 0.08);
    // Sum of squares 0.3025 + 9 x 0.0025 = 0.325: 3.08 flows; five standard deviations of the matches at most 0.075.
    assert!((1.0 / host.internal("n_act") - 0.325).abs() < 0.075);
    // 0.55 x 3.08 - 1 = 0.69.
    host.with(|black| assert!((excess(black, 0) - 0.69).abs() < 0.3));
}

#[test]
fn texts() {
    assert_eq!(canonical("black q_th 10p m 500 cache 8 hit matched"), "black q_th 10p m 500 cache 8 hit matched");
    assert!(refused("black m 0").contains("m is 0"));
    assert!(refused("black cache 0").contains("1 to 256"));
    assert!(refused("black cache 257").contains("1 to 256"));
}
