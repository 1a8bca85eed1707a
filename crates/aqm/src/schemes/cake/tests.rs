use super::*;
use crate::test_host::{canonical, refused, DisciplineHost};
use crate::{AckFields, Ecn, Packet};
use alloc::vec;

fn cake(text: &str) -> Cake {
    let config: crate::Config = format!("cake {text}").parse().unwrap();
    let mut params = Params::default();
    for param in config.params() {
        crate::Parameters::set(&mut params, param.name, &param.value).unwrap().unwrap();
    }
    Cake::new(&params)
}

/// A host that gives every fact of a packet, and asks again when the shaper says so.
struct Link {
    host: DisciplineHost,
    cake: Cake,
    serial: u64,
}

impl Link {
    fn new(text: &str) -> Self {
        Self { host: DisciplineHost::new(), cake: cake(text), serial: 0 }
    }

    fn offer(&mut self, packet: Packet) -> u64 {
        let serial = self.serial;
        self.serial += 1;
        self.cake.enqueue(&mut self.host.cx(), Packet { serial, ..packet });
        serial
    }

    /// `n` packets of a flow, which is a host of its own.
    fn flow(&mut self, flow: u32, bytes: u32, n: usize) -> Vec<u64> {
        let packet = Packet { flow, source: flow, destination: flow, bytes, ..Packet::without_signals(0) };
        (0..n).map(|_| self.offer(packet.clone())).collect()
    }

    /// The next packet as soon as the shaper gives it.
    fn send(&mut self) -> Option<Packet> {
        loop {
            match self.cake.dequeue(&mut self.host.cx()) {
                Dequeued::Packet(packet) => return Some(packet),
                Dequeued::Empty => return None,
                Dequeued::NotBefore(until) => {
                    assert!(until > self.host.now);
                    self.host.now = until;
                }
            }
        }
    }

    fn send_all(&mut self) -> Vec<u64> {
        core::iter::from_fn(|| self.send()).map(|packet| packet.serial).collect()
    }

    fn get(&mut self, name: &str) -> f64 {
        self.host.internal(&mut self.cake, name)
    }

    fn holds_ns(&mut self) -> Option<u64> {
        match self.cake.dequeue(&mut self.host.cx()) {
            Dequeued::NotBefore(until) => Some(until.nanos()),
            _ => None,
        }
    }
}

#[test]
fn the_shaper_loses_nothing_to_rounding() {
    // 1000 B at 3 Mbit/s take 2666666.67 ns: after n packets the next may go at n x 8/3 ms, rounded down.
    let mut link = Link::new("bandwidth 3mbit interplanetary");
    link.flow(1, 1000, 3001);
    for n in 1..=3000 {
        link.send();
        assert_eq!(link.holds_ns(), Some(n * 8_000_000 / 3), "packet {n}");
    }
}

#[test]
fn the_shaper_saves_nothing_up_while_idle() {
    let mut link = Link::new("bandwidth 8mbit");
    link.flow(1, 1000, 1);
    link.send();
    link.host.at_ms(500.0);
    link.flow(1, 1000, 2);
    assert!(link.send().is_some());
    // 1 ms after the first packet that follows the idle time.
    assert_eq!(link.holds_ns(), Some(501_000_000));
    // But a link that was late while packets waited is made up for.
    link.flow(1, 1000, 3);
    link.host.at_ms(504.0);
    for _ in 0..4 {
        assert!(matches!(link.cake.dequeue(&mut link.host.cx()), Dequeued::Packet(_)));
    }
    assert_eq!(link.get("shaper_holds_s"), 0.001);
}

#[test]
fn sizes_on_the_link_below() {
    let size = |framing: LinkLayer, bytes, overhead, mpu| framing.size(bytes, Overhead(overhead), Bytes::new(mpu));
    assert_eq!(size(LinkLayer::Noatm, 1500, 38, 84), 1538);
    assert_eq!(size(LinkLayer::Noatm, 40, 38, 84), 84);
    assert_eq!(size(LinkLayer::Noatm, 40, -64, 0), 0);
    // 1540 B fill 32.08 cells of 48: 33 x 53. One cell's worth is one cell; one byte more is two.
    assert_eq!(size(LinkLayer::Atm, 1500, 40, 0), 1749);
    assert_eq!((size(LinkLayer::Atm, 48, 0, 0), size(LinkLayer::Atm, 49, 0, 0)), (53, 106));
    // 1522 B hold 23.8 times 64: 24 B more.
    assert_eq!(size(LinkLayer::Ptm, 1500, 22, 0), 1546);
    assert_eq!((size(LinkLayer::Ptm, 64, 0, 0), size(LinkLayer::Ptm, 65, 0, 0)), (65, 67));
    // And the shaper counts it: 53 B at 53 kbit/s are 8 ms.
    let mut link = Link::new("bandwidth 53kbit atm overhead 8");
    link.flow(1, 40, 2);
    link.send();
    assert_eq!(link.holds_ns(), Some(8_000_000));
}

#[test]
fn non_queue_building_traffic_shares_the_tin_of_best_effort() {
    for diffserv in [Diffserv::Besteffort, Diffserv::Diffserv3, Diffserv::Diffserv4, Diffserv::Diffserv8] {
        assert_eq!(diffserv.tin(crate::Dscp::NQB.get()), diffserv.tin(0), "{diffserv:?}");
    }
    // Its own queue there: 100 B of it wait for one packet of a bulk flow at the most.
    let mut link = Link::new("bandwidth 10mbit");
    link.flow(1, 1500, 50);
    link.send();
    let nqb = link.offer(Packet { flow: 2, bytes: 100, dscp: 45, ..Packet::without_signals(0) });
    let sent: Vec<u64> = (0..2).filter_map(|_| link.send()).map(|packet| packet.serial).collect();
    assert!(sent.contains(&nqb), "{sent:?}");
}

#[test]
fn codepoints_and_their_tins() {
    let tins = |diffserv: Diffserv| (0..64).map(|dscp| diffserv.tin(dscp)).collect::<Vec<_>>();
    // From the lists of classes in tc-cake(8); everything that they do not name is best effort.
    let expect = |rest: usize, lists: &[(usize, &[usize])]| {
        let mut tins = vec![rest; 64];
        for (tin, codepoints) in lists {
            codepoints.iter().for_each(|dscp| tins[*dscp] = *tin);
        }
        tins
    };
    assert_eq!(tins(Diffserv::Besteffort), vec![0; 64]);
    assert_eq!(tins(Diffserv::Precedence), (0..64).map(|dscp| dscp / 8).collect::<Vec<_>>());
    assert_eq!(tins(Diffserv::Diffserv3), expect(0, &[(1, &[1, 8]), (2, &[4, 44, 46, 48, 56])]));
    let video: &[usize] = &[4, 16, 18, 20, 22, 24, 26, 28, 30, 34, 36, 38];
    let voice: &[usize] = &[32, 40, 44, 46, 48, 56];
    assert_eq!(tins(Diffserv::Diffserv4), expect(0, &[(1, &[1, 8]), (2, video), (3, voice)]));
    let eight: &[(usize, &[usize])] = &[
        (0, &[1, 8]),
        (1, &[2, 10, 12, 14]),
        (3, &[24, 26, 28, 30, 34, 36, 38]),
        (4, &[4, 18, 20, 22]),
        (5, &[16]),
        (6, &[32, 40, 44, 46]),
        (7, &[48, 56]),
    ];
    assert_eq!(tins(Diffserv::Diffserv8), expect(2, eight));
}

#[test]
fn quantum_target_and_interval_follow_from_the_bandwidth() {
    // tc-cake(8)'s example at 100 Mbit/s prints thresholds 6250 kbit, 100 Mbit, 25 Mbit and quanta 300, 1514, 762
    // for bulk, best effort, voice.
    let mut link = Link::new("bandwidth 100mbit");
    let quanta = [0, 1, 2].map(|tin| link.get(["tin0_quantum_bytes", "tin1_quantum_bytes", "tin2_quantum_bytes"][tin]));
    assert_eq!(quanta, [1514.0, 300.0, 762.0]);
    // 5 ms, and 100 ms; at 1 Mbit/s 1514 B take 12.112 ms: target 18.168 ms, interval 100 + 13.168 ms.
    let aims = |text: &str| cake(text).tins[0].control.aims();
    assert_eq!(aims("bandwidth 100mbit"), (Span::from_millis(5), Span::from_millis(100)));
    assert_eq!(aims("bandwidth 1mbit"), (Span::from_micros(18_168), Span::from_micros(113_168)));
    // At 64 kbit/s a frame takes 189.25 ms: target 283.875 ms; 100 + 278.875 ms is less than two of them.
    assert_eq!(aims("bandwidth 64kbit"), (Span::from_micros(283_875), Span::from_micros(567_750)));
    assert_eq!(aims("preset metro"), (Span::from_micros(500), Span::from_millis(10)));
    // Four frames of the tin's own rate.
    assert_eq!(cake("bandwidth 1mbit").tins[0].least_sojourn(false), Span::from_micros(48_448));
    assert_eq!(cake("").tins[0].least_sojourn(true), Span::ZERO);
}

#[test]
fn memory() {
    let limit = |text: &str| Link::new(text).get("memory_limit_bytes");
    assert_eq!(limit(""), 10_240.0 * 1514.0);
    assert_eq!(limit("memlimit 3MB"), 3e6);
    // 4 x 12.5 MB/s x 0.1 s = 5 MB, as tc-cake(8) prints it; less is 4 MiB, more the 10240 frames.
    assert_eq!(limit("bandwidth 100mbit"), 5e6);
    assert_eq!(limit("bandwidth 1mbit"), 4_194_304.0);
    assert_eq!(limit("bandwidth 1gbit rtt 1s"), 10_240.0 * 1514.0);
}

#[test]
fn a_short_packet_takes_as_much_memory_as_a_full_frame() {
    // 10240 * 1514 B hold floor(15,503,360 / 2304) = 6728 packets of up to 1664 B, and floor(15,503,360 / 9640) = 1608 of 9000 B.
    for (bytes, most) in [(60, 6728), (1514, 6728), (1664, 6728), (9000, 1608)] {
        let mut link = Link::new("");
        link.flow(1, bytes, 7000);
        assert_eq!(link.cake.backlog().packets, most, "{bytes} B");
    }
}

/// Bytes that tins get while all have packets, as shares; `dscps` keep one packet waiting each at all times.
fn shares(text: &str, dscps: &[u8], packets: usize) -> Vec<f64> {
    let mut link = Link::new(text);
    let packet = |i: usize| Packet {
        flow: i as u32,
        source: i as u32,
        destination: i as u32,
        bytes: 1000,
        dscp: dscps[i],
        ..Packet::without_signals(0)
    };
    for i in 0..dscps.len() {
        for _ in 0..3 {
            link.offer(packet(i));
        }
    }
    let mut sent = vec![0; dscps.len()];
    for _ in 0..packets {
        let flow = link.send().unwrap().flow as usize;
        sent[flow] += 1;
        link.offer(packet(flow));
    }
    sent.iter().map(|n| f64::from(*n) / packets as f64).collect()
}

#[track_caller]
fn about(got: &[f64], expected: &[f64]) {
    let close = got.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.01);
    assert!(close && got.len() == expected.len(), "{got:?}, not {expected:?}");
}

#[test]
fn tins_share_by_thresholds_under_the_shaper() {
    // CS1 (bulk, 1/16), best effort, EF (voice, 1/4): voice goes first up to its quarter, bulk up to its sixteenth; the rest
    // is best effort's.
    about(&shares("bandwidth 10mbit", &[8, 0, 46], 16_000), &[1.0 / 16.0, 11.0 / 16.0, 1.0 / 4.0]);
    about(&shares("bandwidth 10mbit", &[0, 46], 16_000), &[0.75, 0.25]);
    // Voice alone has all.
    about(&shares("bandwidth 10mbit", &[46], 1000), &[1.0]);
    about(&shares("bandwidth 10mbit diffserv4", &[8, 0, 34], 16_000), &[1.0 / 16.0, 7.0 / 16.0, 0.5]);
    about(&shares("bandwidth 10mbit besteffort", &[8, 46], 1000), &[0.5, 0.5]);
}

#[test]
fn tins_share_by_weight_without_a_shaper() {
    // 64, 1024 and 256 B a turn.
    about(&shares("", &[8, 0, 46], 21_000), &[1.0 / 21.0, 16.0 / 21.0, 4.0 / 21.0]);
    // 256 x 7/8 = 224 for the second: 256 + 224 = 480.
    about(&shares("precedence", &[0, 8], 4800), &[256.0 / 480.0, 224.0 / 480.0]);
}

#[test]
fn voice_within_its_share_goes_first() {
    let mut link = Link::new("bandwidth 8mbit");
    let bulk = link.flow(1, 1000, 10);
    assert_eq!(link.send().map(|packet| packet.serial), Some(bulk[0]));
    let voice = link.offer(Packet { flow: 2, bytes: 200, dscp: 46, ..Packet::without_signals(0) });
    assert_eq!(link.send().map(|packet| packet.serial), Some(voice));
}

#[test]
#[cfg_attr(miri, ignore = "takes Miri minutes")]
fn hosts_share_equally_and_their_flows_within() {
    // Source 1 has one flow, source 2 has four; every flow has a destination of its own.
    let run = |mode: &str| {
        let mut link = Link::new(&format!("bandwidth 10mbit besteffort flowmode {mode}"));
        let packet = |flow: u32| Packet {
            flow,
            source: if flow == 0 { 1 } else { 2 },
            destination: 10 + flow,
            bytes: 1000,
            ..Packet::without_signals(0)
        };
        for n in 0..20 {
            link.offer(packet(n % 5));
        }
        let mut sent = [0.0; 5];
        for _ in 0..8000 {
            let flow = link.send().unwrap().flow;
            sent[flow as usize] += 1.0 / 8000.0;
            link.offer(packet(flow));
        }
        sent.to_vec()
    };
    about(&run("triple-isolate"), &[0.5, 0.125, 0.125, 0.125, 0.125]);
    about(&run("dual-srchost"), &[0.5, 0.125, 0.125, 0.125, 0.125]);
    // Destinations are all alike, and so are flows.
    about(&run("dual-dsthost"), &[0.2; 5]);
    about(&run("flows"), &[0.2; 5]);
    // Two queues; what the flows of source 2 keep waiting, one of them after another.
    assert!((run("srchost")[0] - 0.5).abs() < 0.01);
}

#[test]
fn a_sparse_flow_goes_first_and_comes_back_as_sparse_once_at_rest() {
    let mut link = Link::new("bandwidth 10mbit besteffort");
    let a = link.flow(1, 1514, 6);
    let b = link.flow(2, 1514, 6);
    // 10 Mbit/s over 8 x 4096 is 305 B a round.
    assert_eq!(link.get("tin0_quantum_bytes"), 305.0);
    let first: Vec<u64> = (0..4).filter_map(|_| link.send()).map(|packet| packet.serial).collect();
    assert_eq!(first, [a[0], b[0], a[1], b[1]]);
    assert_eq!((link.get("tin0_sparse_flows"), link.get("tin0_bulk_flows")), (0.0, 2.0));
    let sparse = link.flow(3, 100, 1);
    assert_eq!(link.get("tin0_sparse_flows"), 1.0);
    assert_eq!(link.send().map(|packet| packet.serial), Some(sparse[0]));
    // Found empty at the next departure. COBALT never waited: its next drop is an interval away, so it decays first.
    link.send();
    assert_eq!((link.get("tin0_sparse_flows"), link.get("tin0_decaying_flows")), (0.0, 1.0));
    link.host.now += Span::from_millis(200);
    link.send();
    assert_eq!(link.get("tin0_decaying_flows"), 0.0);
}

#[test]
fn overflow_takes_the_head_of_the_fattest_queue_of_all_tins() {
    let mut link = Link::new("memlimit 16128B");
    let a = link.flow(1, 1000, 3);
    let voice: Vec<u64> =
        (0..4).map(|_| link.offer(Packet { flow: 2, bytes: 500, dscp: 46, ..Packet::without_signals(0) })).collect();
    assert!(link.host.log.dropped.is_empty());
    let last = link.offer(Packet { flow: 2, bytes: 1500, dscp: 46, ..Packet::without_signals(0) });
    // 7 packets fit: 7 x 2304 = 16,128. Voice had 3500 B.
    assert_eq!(link.host.log.dropped, [(voice[0], Reason::Overflow)]);
    link.flow(3, 100, 1);
    // Now it has 3000, as many as the other, which came first.
    assert_eq!(link.host.log.dropped, [(voice[0], Reason::Overflow), (a[0], Reason::Overflow)]);
    assert_eq!(link.cake.backlog(), Backlog { packets: 7, bytes: 5100 });
    assert_eq!((link.get("tin0_drops_packets"), link.get("tin2_drops_packets")), (1.0, 1.0));
    // COBALT of both queues has heard: the next packet is due to be dropped, and one signal is counted.
    assert!(link.cake.flows[..2].iter().all(|flow| !flow.control.is_at_rest(Instant::from_nanos(u64::MAX))));
    assert!(link.send_all().contains(&last));
}

#[test]
fn cobalt_drops_but_never_the_last_packet() {
    let mut link = Link::new("");
    let a = link.flow(1, 1000, 40);
    // Below target (5 ms) at first. Above since 6 ms, for the first time: the drop is due at once, so with the next packet.
    // The one after it is due 100/sqrt(2) = 70.7 ms after 6 ms, and the third 100/sqrt(3) = 57.7 ms later.
    let mut sent = |ms| {
        link.host.at_ms(ms);
        link.send().map(|packet| packet.serial)
    };
    assert_eq!([sent(0.0), sent(6.0), sent(7.0)], [Some(a[0]), Some(a[1]), Some(a[3])]);
    assert_eq!([sent(76.6), sent(76.8), sent(134.3)], [Some(a[4]), Some(a[6]), Some(a[7])]);
    assert_eq!(link.host.log.dropped, [(a[2], Reason::Early), (a[5], Reason::Early)]);
    while link.send().is_some() {}
    // Long after: many are due, but a queue of one packet sends it.
    let b = link.flow(1, 1000, 1);
    link.host.at_ms(60_000.0);
    assert_eq!(link.send_all(), b);
}

#[test]
fn ecn_marks_unless_off() {
    let marks = |text: &str| {
        let mut link = Link::new(text);
        for _ in 0..40 {
            link.offer(Packet { flow: 1, bytes: 1000, ecn: Ecn::Ect0, ..Packet::without_signals(0) });
        }
        link.send();
        link.host.at_ms(6.0);
        link.send();
        link.host.at_ms(7.0);
        link.send();
        (link.host.log.marked.len(), link.host.log.dropped.len(), link.get("tin0_marks_packets"))
    };
    assert_eq!(marks(""), (1, 0, 1.0));
    assert_eq!(marks("noecn"), (0, 1, 0.0));
}

#[test]
fn acks_that_say_nothing_new_are_dropped() {
    let acks = |text: &str, n: u32| {
        let mut link = Link::new(text);
        for number in 1..=n {
            let ack = AckFields { pure: true, precious: false, number };
            link.offer(Packet { flow: 1, bytes: 60, ack, ..Packet::without_signals(0) });
        }
        assert!(link.host.log.dropped.iter().all(|(_, reason)| *reason == Reason::Flow));
        let dropped = link.get("tin0_ack_drops_packets");
        (dropped, link.send_all())
    };
    assert_eq!(acks("", 5), (0.0, vec![0, 1, 2, 3, 4]));
    // Two earlier ones are left and the first of them goes: the last two stay.
    assert_eq!(acks("ack-filter", 5), (3.0, vec![3, 4]));
    assert_eq!(acks("ack-filter-aggressive", 5), (4.0, vec![4]));
}

#[test]
fn with_ingress_a_drop_uses_bandwidth() {
    for (text, ms) in [("bandwidth 8mbit memlimit 4608B", 1.0), ("bandwidth 8mbit memlimit 4608B ingress", 1.5)] {
        let mut link = Link::new(text);
        link.flow(1, 1000, 3);
        // One was lost to overflow. One is sent: 1 ms; the lost one makes it 2 ms, but the failsafe lets go after 1.5 ms.
        link.send();
        assert_eq!(link.holds_ns(), Some((ms * 1e6) as u64), "{text}");
    }
}

#[test]
fn washing_clears_the_dscp_after_it_has_chosen_the_tin() {
    for (text, dscp) in [("", 46), ("wash", 0)] {
        let mut link = Link::new(text);
        link.offer(Packet { flow: 1, bytes: 60, dscp: 46, ..Packet::without_signals(0) });
        assert_eq!(link.get("tin2_backlog_packets"), 1.0);
        assert_eq!(link.send().map(|packet| packet.dscp), Some(dscp));
    }
}

#[test]
fn delays_are_smoothed() {
    let mut link = Link::new("");
    link.flow(1, 100, 1);
    link.host.at_ms(4.0);
    link.send();
    // 4 ms from 0: a quarter of the way for the peak, 1/256 for the others.
    let close = |got: f64, expected: f64| assert!((got - expected).abs() < 1e-12, "{got} {expected}");
    close(link.get("tin0_peak_delay_s"), 0.001);
    close(link.get("tin0_average_delay_s"), 0.004 / 256.0);
    link.flow(1, 100, 1);
    link.send();
    close(link.get("tin0_base_delay_s"), 0.004 / 256.0 * 0.75);
    close(link.get("tin0_peak_delay_s"), 0.001 * 255.0 / 256.0);
}

#[test]
fn draining_and_resetting() {
    let mut link = Link::new("bandwidth 1mbit");
    let a = link.flow(1, 1000, 3);
    let b = link.flow(2, 1000, 2);
    link.send();
    link.cake.reset();
    // The shaper still holds: packets that wait do not burst.
    assert_eq!(link.holds_ns(), Some(8_000_000));
    let voice = link.offer(Packet { flow: 3, bytes: 100, dscp: 46, ..Packet::without_signals(0) });
    let drained: Vec<u64> = core::iter::from_fn(|| link.cake.drain()).map(|packet| packet.serial).collect();
    assert_eq!(drained[0], voice);
    let of = |flow: &[u64]| drained.iter().copied().filter(|n| flow.contains(n)).collect::<Vec<_>>();
    assert_eq!((of(&a), of(&b)), (a[1..].to_vec(), b));
    assert_eq!(link.cake.backlog(), Backlog::default());
}

#[test]
fn texts() {
    assert_eq!(
        canonical("cake bandwidth 50mbit besteffort dual-srchost ack-filter overhead 44 mpu 84 atm wash ingress metro"),
        "cake bandwidth 50Mbit/s rtt 10ms diffserv besteffort flowmode dual-srchost ack_filter on wash ingress overhead 44 mpu 84B framing atm"
    );
    assert_eq!(canonical("cake preset satellite overhead -4"), "cake rtt 1s overhead -4");
    assert_eq!(canonical("cake unlimited triple-isolate diffserv3 noatm egress nowash internet"), "cake");
    assert!(refused("cake rtt 0s").contains("rtt is 0; allowed: a time above 0"));
    assert!(refused("cake bandwidth 100bit").contains("bandwidth is 100 bit/s; allowed: 512 bit/s or more"));
    assert!(refused("cake memlimit 0").contains("memlimit is 0 B"));
    assert!(refused("cake mpu 257").contains("mpu is 257 B; allowed: 0 B to 256 B"));
    assert!(refused("cake overhead 300").contains("allowed: a whole number of bytes from -64 to 256"));
    assert!(refused("cake flowmode host").contains("triple-isolate"));
}
