//! Random paths: whatever is lost, marked, late or doubled, every byte arrives once and in order, and debug builds
//! compare the scoreboard with its definition after every acknowledgement.

use super::*;
use crate::congestion::names;
use crate::{AckPolicy, Data, ReceiverConfig, RtoRule, Sender, WindowUnit};
use sojourn_units::BitRate;

/// xorshift64*: enough for fates, and the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 11) % n
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

fn run(seed: u64) -> Path {
    run_by(seed, false)
}

/// Checks what must hold at the end of a random transfer; `by_the_book` as in [`Path`].
fn run_by(seed: u64, by_the_book: bool) -> Path {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let names: Vec<_> = names().collect();
    let recovery = Recovery::ALL[random.below(Recovery::ALL.len() as u64) as usize];
    let config = Config {
        mss: Bytes::new([MSS, 536, 1][random.below(10).min(2) as usize * usize::from(random.chance(30))]),
        initial_window: Packets::new(1 + random.below(12)),
        recovery,
        tail_loss_probe: random.chance(50),
        limited_transmit: random.chance(70),
        prr: random.chance(70),
        rto: RtoRule::ALL[random.below(3) as usize],
        timestamps: random.chance(80),
        ecn: random.chance(50),
        nagle: random.chance(20),
        segmentation_offload: random.chance(30),
        keys: hystart(random.chance(50)),
        write_at_once: random.chance(50),
        send_buffer: if random.chance(50) { None } else { Some(Bytes::new(3_000 + random.below(200_000))) },
        window_limit: random.chance(20).then(|| Bytes::new(1 + random.below(50_000))),
        slow_start_after_idle: random.chance(50),
        window_unit: if random.chance(70) { WindowUnit::Bytes } else { WindowUnit::Packets },
        unlimited: false,
        undo: !seed.is_multiple_of(3),
        tick: ms([0, 4][usize::from(seed.is_multiple_of(2) && recovery == Recovery::Rack)]),
        handshake: random.chance(60),
        ..bulk(names[random.below(names.len() as u64) as usize])
    };
    let receiver = ReceiverConfig {
        ack_every: Packets::new(1 + random.below(3)),
        ack_delay: ms(random.below(200)),
        quick_acks: Packets::new(random.below(17)),
        ack_policy: AckPolicy::ALL[random.below(2) as usize],
        sack: recovery.is_selective() && random.chance(90),
        buffer: Bytes::new(2_000 + random.below(300_000)),
        ecn_feedback: Sender::new(config).congestion_control().ecn_feedback(),
        ecn: random.chance(80),
        // From slower than any path, so that the window closes, to faster.
        read_rate: random.chance(40).then(|| BitRate::from_bit_s(20_000 << random.below(12))),
        mss: config.mss,
        ..ReceiverConfig::default()
    };
    let mut path = Path::new(config, receiver, ms(1 + random.below(200)));
    path.by_the_book = by_the_book;
    if random.chance(60) {
        path.bottleneck = Some((BitRate::from_bit_s(500_000 + random.below(20_000_000)), 3 + random.below(60)));
    }
    let (loss, late, twice, mark) = (random.below(25), random.below(10), random.below(5), random.below(20));
    let mut fates = Random(random.next() | 1);
    path.fate = Box::new(move |_, _| match fates.below(100) {
        n if n < loss => Fate::Drop,
        n if n < loss + late => Fate::Late(Span::from_micros(fates.below(50_000))),
        n if n < loss + late + twice => Fate::Twice,
        n if n < loss + late + twice + mark => Fate::Mark,
        _ => Fate::Deliver,
    });
    let (mut fates, loss) = (Random(random.next() | 1), random.below(20));
    path.lose_ack = Box::new(move |_| fates.chance(loss));
    let bytes = (1 + random.below(400)) * config.mss.get() - random.below(config.mss.get());
    path.transfer(Bytes::new(bytes), at_ms(20_000_000));

    let received = path.receiver.stats();
    // Delivered once, in order: what arrived is what was delivered and the duplicates.
    assert_eq!(path.arrived, path.receiver.delivered() + received.duplicate_bytes, "seed {seed}");
    assert_eq!(path.sender.acknowledged(), Bytes::new(bytes));
    assert_eq!(path.receiver.waiting(), Bytes::ZERO);
    assert_eq!(path.sender.in_flight(), Bytes::ZERO);
    assert_eq!((path.sender.timer(), path.sender.poll(path.now)), (Instant::NEVER, None));
    // New segments leave in order, each byte once, and a FIN once behind them.
    let mut next = 0;
    for (_, data) in path.sent.iter().filter(|(_, d)| !d.has(Data::RETRANSMIT) && (d.len > 0 || d.has(Data::FIN))) {
        assert_eq!(data.seq, next, "seed {seed}");
        next = data.end();
    }
    assert_eq!(next, bytes + u64::from(config.handshake));
    // Nothing is sent before the handshake is done, nothing beyond the window, and nothing is ECN-capable unasked.
    if config.handshake {
        assert!(
            path.sent[0].1.has(Data::SYN) && (path.sender.ecn() || path.sent.iter().all(|(_, d)| !d.has(Data::ECT)))
        );
        let settle = path.now + Span::from_secs(100_000);
        path.run(settle);
        assert!(path.receiver.closed() && path.receiver.timer() == Instant::NEVER, "seed {seed}: half open");
    }
    path
}

#[test]
fn every_byte_arrives_once_and_in_order() {
    let (mut timeouts, mut recoveries, mut syns, mut fins, mut probes, mut updates) = (0, 0, 0, 0, 0, 0);
    let (mut tails, mut undos, mut spurious, mut dsacks) = (0, 0, 0, 0);
    for seed in 1..=1_500 {
        let path = run(seed);
        timeouts += path.sender.stats().timeouts;
        recoveries += path.sender.stats().fast_retransmits;
        syns += path.sender.stats().syns.saturating_sub(1);
        fins += path.sent.iter().filter(|(_, d)| d.has(Data::FIN) && d.has(Data::RETRANSMIT)).count();
        tails += path.sender.stats().tail_probes;
        undos += path.sender.undone().undos;
        spurious += path.sender.undone().spurious_timeouts;
        dsacks += path.sender.undone().dsacks;
        probes += path.sender.stats().window_probes;
        updates += path.receiver.stats().window_updates;
    }
    // The fuzz reaches what it is for.
    assert!(timeouts > 1_000 && recoveries > 1_000, "{timeouts} timeouts, {recoveries} recoveries");
    assert!(syns > 100 && fins > 100, "{syns} SYNs and {fins} FINs sent again");
    assert!(undos > 100 && spurious > 10 && dsacks > 100, "{undos} undone, {spurious} by F-RTO, {dsacks} DSACKs");
    assert!(tails > 100, "{tails} tail loss probes");
    assert!(probes > 100 && updates > 100, "{probes} probes, {updates} window updates");
}

#[test]
fn short_ways_lead_where_the_long_ones_do() {
    for seed in 1..=400 {
        let (short, long) = (run(seed), run_by(seed, true));
        assert_eq!((&short.sent, &short.acks, short.now), (&long.sent, &long.acks, long.now), "seed {seed}");
        assert_eq!(format!("{:?}", short.sender), format!("{:?}", long.sender), "seed {seed}");
        assert_eq!(format!("{:?}", short.receiver), format!("{:?}", long.receiver), "seed {seed}");
    }
}

#[test]
fn a_seed_gives_one_result() {
    for seed in [3, 77, 1234] {
        let (a, b) = (run(seed), run(seed));
        assert_eq!((a.sent, a.acks, a.now), (b.sent, b.acks, b.now));
    }
}

#[test]
fn a_clone_goes_on_as_its_original() {
    let mut path = Path::new(bulk("cubic"), ReceiverConfig::default(), ms(40));
    path.fate = Box::new(|n, _| if n % 97 == 96 { Fate::Drop } else { Fate::Deliver });
    path.run(at_ms(1_015));
    let mut copy = path.sender.clone();
    let ack = path.acks.last().map(|(_, ack)| *ack).expect("acknowledged");
    for sender in [&mut path.sender, &mut copy] {
        sender.on_ack(at_ms(1_016), &ack);
    }
    let rest = |sender: &mut crate::Sender| std::iter::from_fn(|| sender.poll(at_ms(1_016))).collect::<Vec<_>>();
    assert_eq!(rest(&mut path.sender), rest(&mut copy));
    assert_eq!(format!("{:?}", path.sender), format!("{copy:?}"));
}
