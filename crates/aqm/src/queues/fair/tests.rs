use super::*;
use crate::schemes::codel::Codel;
use crate::schemes::pfifo::{Bfifo, Pfifo};
use crate::test_host::DisciplineHost;
use crate::Ecn;
use sojourn_units::Span;

/// Plain queues under the scheduler; enough slots that the few flows of a test do not collide.
fn plain(change: impl FnOnce(&mut Params)) -> FairQueue<Pfifo> {
    let mut fair = Params { flows: 65536, ..Params::default() };
    change(&mut fair);
    FairQueue::new(fair, Default::default())
}

fn offer(host: &mut DisciplineHost, queue: &mut dyn Discipline, flow: u32, bytes: u32, n: usize) -> Vec<u64> {
    (0..n).map(|_| host.offer(queue, flow, bytes, Ecn::NotEct)).collect()
}

#[test]
fn deficit_round_robin_carries_the_deficit() {
    let (mut host, mut queue) = (DisciplineHost::new(), plain(|_| ()));
    let a = offer(&mut host, &mut queue, 1, 1000, 4);
    let b = offer(&mut host, &mut queue, 2, 1000, 4);
    // A: 1514 -1000 = 514, -1000 = -486: turn over, +1514 = 1028. B the same. A: 28, -972. B the same.
    let expected = [a[0], a[1], b[0], b[1], a[2], a[3], b[2], b[3]];
    assert_eq!(host.take_all(&mut queue), expected);
}

#[test]
fn queues_are_shown_in_the_order_of_their_turns() {
    let (mut host, mut queue) = (DisciplineHost::new(), plain(|_| ()));
    offer(&mut host, &mut queue, 1, 1000, 3);
    offer(&mut host, &mut queue, 2, 400, 1);
    let shown = |queue: &FairQueue<Pfifo>| {
        let mut all = Vec::new();
        queue.listed_queues(&mut |one| all.push((one.list, one.flow, one.deficit_bytes, one.backlog.packets)));
        all
    };
    assert_eq!(shown(&queue), [("new", Some(1), 1514, 3), ("new", Some(2), 1514, 1)]);
    host.take(&mut queue);
    host.take(&mut queue);
    // A: 1514 - 2000 = -486; its turn ends only when it is asked again: then B is served, and A is old with 1028.
    assert_eq!(shown(&queue), [("new", Some(1), -486, 1), ("new", Some(2), 1514, 1)]);
    host.take(&mut queue);
    assert_eq!(shown(&queue), [("new", None, 1114, 0), ("old", Some(1), 1028, 1)]);
}

#[test]
fn a_queue_whose_deficit_is_exactly_used_up_has_ended_its_turn() {
    let (mut host, mut queue) = (DisciplineHost::new(), plain(|_| ()));
    let a = offer(&mut host, &mut queue, 1, 757, 3);
    let b = offer(&mut host, &mut queue, 2, 757, 3);
    // 1514 - 2 x 757 = 0, which is not above 0 (section 4.2: "zero or less").
    assert_eq!(host.take_all(&mut queue), [a[0], a[1], b[0], b[1], a[2], b[2]]);
}

#[test]
fn a_flow_that_was_idle_goes_before_all_backlogged_ones() {
    let (mut host, mut queue) = (DisciplineHost::new(), plain(|_| ()));
    let a = offer(&mut host, &mut queue, 1, 1514, 5);
    let b = offer(&mut host, &mut queue, 2, 1514, 5);
    assert_eq!(host.take(&mut queue), Some(a[0]));
    assert_eq!(host.take(&mut queue), Some(b[0]));
    assert_eq!(host.take(&mut queue), Some(a[1]));
    // Both are old now, and it is B's turn; the sparse flow is new.
    let sparse = offer(&mut host, &mut queue, 3, 100, 1);
    assert_eq!(host.take(&mut queue), Some(sparse[0]));
    assert_eq!(host.take(&mut queue), Some(b[1]));
}

#[test]
fn a_new_queue_that_empties_becomes_old_before_it_is_removed() {
    let (mut host, mut queue) = (DisciplineHost::new(), plain(|_| ()));
    let a = offer(&mut host, &mut queue, 1, 1514, 5);
    assert_eq!(host.take(&mut queue), Some(a[0]));
    let sparse = offer(&mut host, &mut queue, 3, 100, 1);
    // A used up its quantum while new, so it is still head of the new list with deficit 0.
    // It is requeued first; then the sparse flow is served; then found empty and moved behind A.
    assert_eq!(host.take(&mut queue), Some(sparse[0]));
    assert_eq!(host.take(&mut queue), Some(a[1]));
    assert_eq!((host.internal(&mut queue, "new_queues"), host.internal(&mut queue, "old_queues")), (0.0, 2.0));
    // Its next packet finds it in the old list: no second turn as new, A (deficit 0, so requeued with 1514) follows it.
    let again = offer(&mut host, &mut queue, 3, 100, 1);
    assert_eq!(host.internal(&mut queue, "new_queues"), 0.0);
    assert_eq!(host.take(&mut queue), Some(again[0]));
    assert_eq!(host.take(&mut queue), Some(a[2]));
    // Left empty in the old list it is removed at its turn, and comes back as new.
    assert_eq!(host.take(&mut queue), Some(a[3]));
    assert_eq!(host.take(&mut queue), Some(a[4]));
    assert_eq!(host.take(&mut queue), None);
    assert_eq!(host.internal(&mut queue, "old_queues"), 0.0);
    offer(&mut host, &mut queue, 3, 100, 1);
    assert_eq!(host.internal(&mut queue, "new_queues"), 1.0);
}

#[test]
fn a_sparse_flow_in_the_old_list_waits_its_turn() {
    let (mut host, mut queue) = (DisciplineHost::new(), plain(|_| ()));
    let a = offer(&mut host, &mut queue, 1, 500, 9);
    let sparse = offer(&mut host, &mut queue, 3, 100, 1);
    // A: 1514 - 4 x 500 = -486 after four packets; requeued with 1028. Sparse: served, then old, behind A.
    assert_eq!(core::array::from_fn(|_| host.take(&mut queue)), [a[0], a[1], a[2], a[3], sparse[0]].map(Some));
    assert_eq!(host.take(&mut queue), Some(a[4]));
    let again = offer(&mut host, &mut queue, 3, 100, 1);
    // A goes on: 1028 - 3 x 500 = -472 after a[6]; only then the sparse flow.
    assert_eq!(core::array::from_fn(|_| host.take(&mut queue)), [a[5], a[6], again[0], a[7]].map(Some));
}

#[test]
fn flows_of_unequal_packets_get_equal_bytes() {
    let (mut host, mut queue) = (DisciplineHost::new(), plain(|_| ()));
    offer(&mut host, &mut queue, 1, 1500, 400);
    offer(&mut host, &mut queue, 2, 300, 2000);
    let mut sent = [0_i64; 3];
    for _ in 0..1800 {
        let packet = host.take_packet(&mut queue).expect("backlogged");
        sent[packet.flow as usize] += i64::from(packet.bytes);
        // DRR's bound: within a quantum and a longest packet of each other while both are backlogged.
        assert!((sent[1] - sent[2]).abs() <= 1514 + 1500, "{sent:?}");
    }
}

#[test]
fn overflow_takes_half_the_packets_of_the_queue_with_most_bytes_from_its_head() {
    let (mut host, mut queue) = (DisciplineHost::new(), plain(|fair| fair.limit = Packets::new(10)));
    let a = offer(&mut host, &mut queue, 1, 100, 5);
    let b = offer(&mut host, &mut queue, 2, 1000, 5);
    assert!(host.log.dropped.is_empty(), "the limit itself fits");
    let last = offer(&mut host, &mut queue, 1, 100, 1);
    // 11 > 10. A has 6 packets but 600 B; B has 5 packets, 5000 B: ceil(5 / 2) = 3 of B's, the oldest.
    assert_eq!(host.log.dropped, [b[0], b[1], b[2]].map(|serial| (serial, Reason::Overflow)));
    assert_eq!(queue.backlog(), Backlog { packets: 8, bytes: 6 * 100 + 2 * 1000 });
    // All of A in one turn (600 < 1514), then B's rest.
    assert_eq!(host.take_all(&mut queue), [&a[..], &last, &b[3..]].concat());
}

#[test]
fn overflow_drops_at_most_a_batch() {
    let (mut host, mut queue) = (DisciplineHost::new(), plain(|fair| fair.limit = Packets::new(200)));
    offer(&mut host, &mut queue, 1, 100, 201);
    // Half of 201 would be 101; at most 64.
    assert_eq!(host.log.dropped.len(), 64);
}

#[test]
fn memory_limit_counts_memory() {
    // 3 (640 + 1664) = 6912.
    let (mut host, mut queue) = (DisciplineHost::new(), plain(|fair| fair.memory_limit = Bytes::new(6912)));
    offer(&mut host, &mut queue, 1, 1000, 3);
    assert!(host.log.dropped.is_empty());
    offer(&mut host, &mut queue, 2, 1, 1);
    // A fourth packet of one byte takes as much: ceil(3 / 2) = 2 of flow 1's.
    assert_eq!(host.log.dropped, [(0, Reason::Overflow), (1, Reason::Overflow)]);
}

#[test]
fn the_inner_limit_is_never_met() {
    // pfifo's own limit would be 1000 packets, bfifo's 1514 kB, CoDel's 1000 packets.
    fn no_drop<A: Algorithm>() {
        let (mut host, mut queue) =
            (DisciplineHost::new(), FairQueue::<A>::new(Params::default(), A::Params::default()));
        offer(&mut host, &mut queue, 1, 1514, 10240);
        assert!(host.log.dropped.is_empty(), "{}", A::ABOUT.title);
        offer(&mut host, &mut queue, 1, 1514, 1);
        assert_eq!(host.log.dropped.len(), 64, "{}", A::ABOUT.title);
    }
    no_drop::<Pfifo>();
    no_drop::<Bfifo>();
    no_drop::<Codel>();
    // The same with the memory limit below the packet limit.
    let fair = Params { memory_limit: Bytes::new(2000 * 2304), ..Params::default() };
    let (mut host, mut queue) = (DisciplineHost::new(), FairQueue::<Bfifo>::new(fair, Default::default()));
    offer(&mut host, &mut queue, 1, 1500, 2000);
    assert!(host.log.dropped.is_empty());
    offer(&mut host, &mut queue, 1, 65535, 1);
    assert_eq!(host.log.dropped.len(), 64);
}

#[test]
fn each_queue_has_its_own_codel() {
    let (mut host, mut queue) = (
        DisciplineHost::new(),
        FairQueue::<Codel>::new(
            Params::default(),
            Codel::in_fair_queue(None, crate::schemes::codel::Params::default()),
        ),
    );
    let mut bulk = Vec::new();
    let mut lost_sparse = 0;
    // 1 ms a step: the bulk flow offers two packets and the sparse one a packet every 10 ms; one packet leaves a step.
    for step in 0..1000_u32 {
        host.now = Instant::ZERO + Span::from_millis(u64::from(step));
        bulk.extend(offer(&mut host, &mut queue, 1, 1500, 2));
        if step % 10 == 5 {
            let serial = offer(&mut host, &mut queue, 2, 100, 1)[0];
            assert_eq!(host.take(&mut queue), Some(serial), "the sparse flow is served at once");
            lost_sparse += host.log.dropped.iter().filter(|(dropped, _)| *dropped == serial).count();
        } else {
            host.take(&mut queue);
        }
    }
    assert_eq!(lost_sparse, 0);
    assert!(!host.log.dropped.is_empty());
    assert!(host.log.dropped.iter().all(|(serial, reason)| bulk.contains(serial) && *reason == Reason::Early));
    assert_eq!(host.internal(&mut queue, "queues"), 2.0);
    assert_eq!(host.internal(&mut queue, "dropping"), 1.0, "the fattest queue's CoDel shows");
}

#[test]
fn overflow_is_told_to_the_inner_algorithm() {
    for (count_overflow, expected) in [(false, 0.0), (true, 5.0)] {
        let params = crate::schemes::codel::Params {
            count_overflow,
            ..Codel::in_fair_queue(None, crate::schemes::codel::Params::default())
        };
        let fair = Params { limit: Packets::new(9), ..Params::default() };
        let (mut host, mut queue) = (DisciplineHost::new(), FairQueue::<Codel>::new(fair, params));
        offer(&mut host, &mut queue, 1, 1500, 10);
        assert_eq!(host.log.dropped.len(), 5);
        assert_eq!(host.internal(&mut queue, "count"), expected);
    }
}

#[test]
fn the_hash_spreads_flows_and_the_seed_moves_them() {
    let slots = |seed: u64| -> Vec<usize> { (0..1024).map(|flow| hash(flow, seed, 1024)).collect() };
    for seed in [0, 1, u64::MAX] {
        let mut used = slots(seed);
        used.sort_unstable();
        used.dedup();
        // 1024 balls in 1024 urns fill 1024 (1 - 1/e) = 647.3 of them; variance 1024 (1/e)(1 - 2/e) = 99.5, so +-5 x 9.98.
        assert!((597..=697).contains(&used.len()), "{}", used.len());
    }
    assert_eq!(slots(7), slots(7));
    let same = slots(7).iter().zip(slots(8)).filter(|(a, b)| **a == *b).count();
    // Expected 1 of 1024.
    assert!(same < 10, "{same}");
}

#[test]
fn drain_keeps_the_fair_order_and_reset_keeps_the_packets() {
    let (mut host, mut queue) = (DisciplineHost::new(), plain(|_| ()));
    let a = offer(&mut host, &mut queue, 1, 1000, 3);
    let b = offer(&mut host, &mut queue, 2, 1000, 3);
    assert_eq!(host.take(&mut queue), Some(a[0]));
    queue.reset();
    assert_eq!(queue.backlog(), Backlog { packets: 5, bytes: 5000 });
    // Deficits are as new: A 1514 again, so two packets more.
    let drained: Vec<u64> = core::iter::from_fn(|| queue.drain()).map(|packet| packet.serial).collect();
    assert_eq!(drained, [a[1], a[2], b[0], b[1], b[2]]);
    assert_eq!(queue.backlog(), Backlog::default());
}

#[test]
fn a_rate_change_reaches_every_queue_at_the_old_rate() {
    /// Remembers the rate of its last `advance`.
    #[derive(Clone, Debug)]
    struct Probe(BitRate);
    impl crate::Aqm for Probe {
        fn advance(&mut self, _now: Instant, rate: BitRate, _queue: &Queue) {
            self.0 = rate;
        }
        fn enqueue(&mut self, _cx: &mut Cx<'_>, queue: &mut Queue, packet: Packet) {
            queue.push(packet);
        }
        fn dequeue(&mut self, _cx: &mut Cx<'_>, queue: &mut Queue) -> Option<Packet> {
            queue.pop()
        }
    }
    impl Algorithm for Probe {
        type Params = crate::schemes::pfifo::PfifoParams;
        const ABOUT: crate::About = Pfifo::ABOUT;
        fn set_params(&mut self, params: &Self::Params) {
            *self = Self::new(params);
        }

        fn new(_params: &Self::Params) -> Self {
            Self(BitRate::ZERO)
        }
    }
    let (mut host, mut queue) = (DisciplineHost::new(), FairQueue::<Probe>::new(Params::default(), Default::default()));
    for flow in 0..3 {
        host.offer(&mut queue, flow, 100, Ecn::NotEct);
    }
    host.rate = BitRate::from_bit_s(5);
    queue.set_rate(&mut host.cx(), BitRate::from_bit_s(7));
    assert!(queue.flows.iter().all(|flow| flow.aqm.0 == BitRate::from_bit_s(5)));
}

#[test]
fn impossible_parameters_are_refused_by_name() {
    for (text, part) in [
        ("limit 0p", "limit is 0 p; allowed: 1 p or more"),
        ("flows 0", "flows is 0; allowed: 1 to 65536"),
        ("flows 65537", "flows is 65537; allowed: 1 to 65536"),
        ("quantum 255", "quantum is 255 B; allowed: 256 B to 1 MiB"),
        ("quantum 2MiB", "quantum is 2 MiB; allowed: 256 B to 1 MiB"),
        ("memory_limit 0", "memory_limit is 0 B; allowed: 1 B or more"),
        ("drop_batch 0", "drop_batch is 0 p; allowed: 1 p or more"),
    ] {
        let error = format!("fq_codel {text}").parse::<crate::Config>().expect_err(text);
        assert_eq!(alloc::string::ToString::to_string(&error), format!("fq_codel: {part}"));
    }
}

#[test]
fn with_mtu_counts_all_the_other_queues_count_against_the_last_packet() {
    use crate::schemes::codel::MtuCounts;
    for (mtu_counts, loses) in [(MtuCounts::Queue, false), (MtuCounts::All, true)] {
        let params = crate::schemes::codel::Params {
            mtu_counts,
            ..Codel::in_fair_queue(None, crate::schemes::codel::Params::default())
        };
        let fair = Params { flows: 65536, ..Params::default() };
        let (mut host, mut queue) = (DisciplineHost::new(), FairQueue::<Codel>::new(fair, params));
        offer(&mut host, &mut queue, 2, 1500, 10);
        let mut lone = Vec::new();
        for step in 0_u32..8 {
            // Flow 1 never has more than one packet, which waits 19 ms; flow 2 always has ten.
            host.at_ms(f64::from(step) * 20.0);
            lone.extend(offer(&mut host, &mut queue, 1, 1500, 1));
            host.at_ms(f64::from(step) * 20.0 + 19.0);
            while let Some(serial) = host.take(&mut queue) {
                if lone.contains(&serial) || host.log.dropped.iter().any(|(lost, _)| lone.last() == Some(lost)) {
                    break;
                }
                offer(&mut host, &mut queue, 2, 1500, 1);
            }
        }
        // Of its own queue nothing is left behind it. Of all, 15 kB are: above target since 19 ms, one goes at 119 ms or later.
        let lost = host.log.dropped.iter().filter(|(serial, _)| lone.contains(serial)).count();
        assert_eq!(lost > 0, loses, "{mtu_counts:?} {lost}");
    }
}

#[test]
fn presets_mark_in_a_fair_queue_where_their_originals_do() {
    // Linux: fq_codel_init has ecn = true, fq_pie and codel have it off. ns-3: UseEcn of FqCobaltQueueDisc and FqPieQueueDisc is true,
    // that of PieQueueDisc false.
    for (text, ecn) in [
        ("fq_codel preset linux-6.12", "true"),
        ("codel preset linux-6.12", "false"),
        ("fq_pie preset linux-6.12", "false"),
        ("fq_cobalt preset ns3", "true"),
        ("fq_pie preset ns3", "true"),
        ("pie preset ns3", "false"),
        ("fq_codel noecn preset linux-6.12", "false"),
    ] {
        let config: crate::Config = text.parse().expect(text);
        let params = config.params();
        let found = params.iter().find(|param| param.name == "ecn").map(|param| &*param.value);
        assert_eq!(found, Some(ecn), "{text}");
    }
}
