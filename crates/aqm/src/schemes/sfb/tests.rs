use super::*;
use crate::test_host::{canonical, close, refused, Fate, Host, Stream};
use crate::Ecn;

/// `target` 2, `max` 6, steps of a quarter and an eighth.
fn small() -> Params {
    Params {
        target: Packets::new(2),
        max: Packets::new(6),
        increment: Probability::clamped(0.25),
        decrement: Probability::clamped(0.125),
        penalty_burst: Packets::new(1),
        ..Params::default()
    }
}

#[test]
fn probability_by_hand() {
    let mut host = Host::<Sfb>::new(small());
    host.random.fixed = Some(0.99);
    // Arrivals find 0, 1, 2, 3 packets in the bins: the third and fourth raise p.
    host.arrive_many(3);
    close(host.internal("greatest_probability"), 0.25);
    host.arrive_many(1);
    close(host.internal("greatest_probability"), 0.5);
    for _ in 0..4 {
        host.send();
    }
    // The bins are empty, and an arrival says so.
    close(host.internal("greatest_probability"), 0.5);
    host.arrive();
    close(host.internal("greatest_probability"), 0.375);
    // Another flow has other bins: its least probability is 0 (a collision in all eight is one in 16^8).
    host.flow = 7;
    let draws = host.random.draws;
    assert_eq!(host.arrive(), Fate::Queued);
    assert_eq!(host.random.draws, draws);
}

#[test]
fn the_draw_marks_or_drops() {
    let mut host = Host::<Sfb>::new(small());
    host.ecn = Ecn::Ect0;
    host.random.fixed = Some(0.24);
    host.arrive_many(2);
    // p = 0.25: 0.24 marks.
    assert_eq!(host.arrive(), Fate::Marked);
    host.ecn = Ecn::NotEct;
    // p = 0.5: 0.24 < 0.5 drops what cannot be marked.
    assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
    host.ecn = Ecn::Ect0;
    // p = 0.75: 2 (0.75 - 0.5) = 0.5. A draw of 0.49 drops although it could be marked, 0.5 marks.
    host.random.fixed = Some(0.49);
    assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
    // p = 1 from now on: the penalty box has one token, and what it lets pass is not marked.
    assert_eq!(host.arrive(), Fate::Queued);
    assert_eq!(host.arrive(), Fate::Dropped(Reason::Flow));
    // 10 tokens a second: one after 100 ms, and no more than the burst after a long time.
    host.wait(Span::from_millis(99));
    assert_eq!(host.arrive(), Fate::Dropped(Reason::Flow));
    host.wait(Span::from_millis(1));
    assert_eq!(host.arrive(), Fate::Queued);
    host.wait(Span::from_secs(10));
    assert_eq!([host.arrive(), host.arrive()], [Fate::Queued, Fate::Dropped(Reason::Flow)]);
    // 2 + 1 + 3 packets wait: `max`.
    host.wait(Span::from_secs(10));
    let tokens = host.internal("penalty_tokens");
    assert_eq!(host.arrive(), Fate::Dropped(Reason::Flow));
    close(host.internal("penalty_tokens"), tokens);
}

#[test]
fn half_is_still_marked_in_full() {
    let mut host = Host::<Sfb>::new(Params { increment: Probability::clamped(0.75), ..small() });
    (host.ecn, host.random.fixed) = (Ecn::Ect1, Some(0.5));
    host.arrive_many(2);
    // p = 0.75 and the draw is 2 (p - 1/2) exactly.
    assert_eq!(host.arrive(), Fate::Marked);
}

#[test]
#[cfg_attr(miri, ignore = "takes Miri minutes")]
fn one_greedy_flow_does_not_hurt_the_others() {
    let mut host = Host::<Sfb>::new(Params::default());
    let (mut greedy, mut modest) = (0, 0);
    // 1 ms a packet: one flow sends at link rate, ten others at a hundredth each.
    for ms in 0..60_000_u32 {
        host.wait(Span::from_millis(1));
        host.flow = 1;
        greedy += u32::from(host.arrive() == Fate::Queued);
        if ms % 10 == 0 {
            host.flow = 100 + ms / 10 % 10;
            modest += u32::from(host.arrive() == Fate::Queued);
        }
        host.send();
    }
    // All but the few that share every bin with it or come while the queue is long.
    assert!(modest > 5900, "{modest} of 6000");
    assert!(greedy < 54_500, "{greedy} of what is left, 54000");
}

#[test]
fn rehashing_forgets_all_but_the_flows_in_the_penalty_box() {
    let params = Params { rehash: Span::from_secs(10), db: Span::from_secs(2), max: Packets::new(100), ..small() };
    let mut host = Host::<Sfb>::new(params.clone());
    host.random.fixed = Some(0.99);
    host.arrive_many(10);
    assert_eq!(host.internal("greatest_probability"), 1.0);
    host.wait(Span::from_secs(7));
    // Not yet warming: 8 s.
    host.arrive();
    host.wait(Span::from_secs(3));
    assert_eq!((host.internal("rehashes"), host.internal("greatest_probability")), (1.0, 0.0));
    assert_eq!(host.internal("greatest_bin_packets"), 0.0);
    for _ in 0..20 {
        host.send();
    }
    assert_eq!(host.internal("greatest_bin_packets"), 0.0);
    // At 18 s the flow is in the box again and warms its next bins: packets that join count there too.
    host.arrive_many(9);
    host.wait(Span::from_secs(8));
    assert_eq!(host.arrive(), Fate::Queued);
    host.wait(Span::from_secs(1));
    assert_eq!(host.arrive(), Fate::Queued);
    host.wait(Span::from_secs(1));
    assert_eq!((host.internal("rehashes"), host.internal("greatest_bin_packets")), (2.0, 2.0));
    // The two leave last; the bins are empty after them and not below.
    for _ in 0..11 {
        assert_eq!(host.internal("greatest_bin_packets"), f64::min(host.len() as f64, 2.0));
        host.send();
    }
    assert_eq!(host.internal("greatest_bin_packets"), 0.0);
    // Years later.
    host.wait(Span::from_secs(100_000_000));
    assert_eq!(host.internal("rehashes"), 10_000_002.0);
}

#[test]
fn packets_that_a_container_takes_are_no_longer_counted() {
    let mut sfb = Sfb::new(&small());
    let mut queue = Queue::default();
    let (mut stream, mut log, mut counters) = (Stream::new(1), crate::test_host::Log::default(), Default::default());
    let mut cx = Cx {
        now: Instant::ZERO,
        rate: BitRate::ZERO,
        random: &mut stream,
        observer: &mut log,
        counters: &mut counters,
        has_dropped: false,
    };
    (0..3).for_each(|_| sfb.enqueue(&mut cx, &mut queue, Packet { bytes: 100, ..Packet::without_signals(0) }));
    let most = |sfb: &Sfb| sfb.sets[0].packets.iter().flatten().copied().max();
    assert_eq!(most(&sfb), Some(3));
    queue.pop();
    queue.pop();
    sfb.advance(Instant::ZERO, BitRate::ZERO, &queue);
    assert_eq!(most(&sfb), Some(1));
    // A new instance over a queue that is not empty does not count what it did not see.
    let mut fresh = Sfb::new(&small());
    fresh.enqueue(&mut cx, &mut queue, Packet { bytes: 100, ..Packet::without_signals(0) });
    fresh.dequeue(&mut cx, &mut queue);
    assert_eq!(most(&fresh), Some(1));
    fresh.dequeue(&mut cx, &mut queue);
    assert_eq!(most(&fresh), Some(0));
}

#[test]
fn texts() {
    assert_eq!(
        canonical("sfb rehash 10s db 1s max 50 target 40 noecn"),
        "sfb target 40p max 50p rehash 10s db 1s noecn"
    );
    assert!(refused("sfb db 700s").contains("longer than rehash"));
    assert!(refused("sfb max 0").contains("max is 0 p; allowed: 1 p or more"));
    assert!(refused("sfb rehash 600").contains("rehash"));
}
