//! The contract of every discipline, as one body: random bytes become operations, and after each of them everything
//! that a host may rely on is checked. Tests feed it from a generator and from `fuzz/corpus`; the fuzz target `registry`
//! feeds it its own bytes; `sojourn check aqm` feeds algorithms of users with it (`crates/plugin/src/contract.rs`).

use sojourn_aqm::{
    AckFields, Backlog, Config, Counters, Cx, Dequeued, Discipline, DropsAt, Ecn, Observer, Order, Packet, Random,
    Reads, Reason,
};
use sojourn_units::{BitRate, Bytes, Instant, Packets, Span};
use std::collections::{BTreeMap, BTreeSet};

/// splitmix64: the hosts' streams and the generator of operations.
#[derive(Clone)]
pub struct Stream(pub u64);

impl Random for Stream {
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }
}

/// Random bytes.
pub fn bytes(seed: u64, n: usize) -> Vec<u8> {
    let mut stream = Stream(seed);
    (0..n).map(|_| stream.next_u64() as u8).collect()
}

/// What a discipline promises beyond what all do.
#[derive(Clone, Debug)]
pub struct Promise {
    /// For messages: the configuration.
    pub name: String,
    /// Among which packets the order of arrival is kept.
    pub order: Order,
    /// Packets may be marked.
    pub marks: bool,
    pub drops_at: DropsAt,
    /// The DSCP may be cleared.
    pub washes: bool,
    pub limit_packets: u64,
    pub limit_bytes: u64,
    pub limit_memory: u64,
}

impl Promise {
    /// What the registry and the parameters say.
    pub fn of(config: &Config) -> Self {
        let entry = sojourn_aqm::registry::find(config.name()).expect("a configuration has a registered name");
        let params = config.params();
        let value = |name: &str| params.iter().find(|param| param.name == name).map(|param| param.value.as_str());
        let flag = |name: &str| value(name) == Some("true");
        let amount = |name: &str| value(name).unwrap_or("none").to_owned();
        let packets = |name: &str| amount(name).parse::<Packets>().map_or(u64::MAX, Packets::get);
        let bytes = |name: &str| amount(name).parse::<Bytes>().map_or(u64::MAX, Bytes::get);
        Self {
            name: config.text(),
            order: entry.order,
            // An algorithm that can mark and has no parameter `ecn` always does.
            marks: flag("ecn")
                || (entry.about.ecn && value("ecn").is_none())
                || value("ce_threshold").is_some_and(|threshold| threshold != "none"),
            drops_at: entry.about.drops_at,
            washes: flag("wash"),
            limit_packets: packets("limit"),
            limit_bytes: bytes("limit"),
            limit_memory: bytes("memory_limit").min(bytes("memlimit")),
        }
    }
}

impl Promise {
    /// Packets with the same number leave in the order in which they came.
    fn lane(&self, offered: &Packet) -> u64 {
        match self.order {
            Order::Arrival => 0,
            Order::Flow => u64::from(offered.flow),
            Order::Codepoint => (u64::from(offered.flow) << 2) | offered.ecn as u64,
        }
    }
}

/// What happened, for comparing runs.
#[derive(Clone, Debug, PartialEq)]
enum Event {
    Dropped(u64, Reason),
    Marked(u64),
    Sent(u64, Ecn),
    Nothing,
    Later(Instant),
}

/// Which harmless extras a run performs; none may change what happens.
#[derive(Clone, Copy, Default)]
struct Extras {
    /// Reads the internals.
    observe: bool,
    /// Continues with a copy.
    copy: bool,
    /// Leaves out the signals that the discipline says it does not read.
    blind: bool,
}

#[derive(Default)]
struct Seen {
    dropped: Vec<(Instant, Packet, Reason)>,
    marked: Vec<Packet>,
}

impl Observer for Seen {
    fn dropped(&mut self, now: Instant, packet: Packet, reason: Reason) {
        self.dropped.push((now, packet, reason));
    }
    fn marked(&mut self, _now: Instant, packet: &Packet) {
        self.marked.push(packet.clone());
    }
}

/// A discipline and what it promises.
pub struct Subject<'a> {
    pub promise: &'a Promise,
    pub build: &'a dyn Fn() -> Box<dyn Discipline>,
}

struct Host<'a> {
    promise: &'a Promise,
    queue: Box<dyn Discipline>,
    now: Instant,
    rate: BitRate,
    random: Stream,
    seen: Seen,
    counters: Counters,
    arrivals: u64,
    /// Arrivals before the present discipline took over.
    before: u64,
    /// As offered, by serial number: what the discipline must hold.
    inside: BTreeMap<u64, Packet>,
    /// The same by what keeps its order.
    by_lane: BTreeSet<(u64, u64)>,
    inside_bytes: u64,
    marked: BTreeSet<u64>,
    names: Option<Vec<&'static str>>,
    /// The signals that are filled in.
    reads: Reads,
    events: Vec<Event>,
}

impl<'a> Host<'a> {
    fn cx(&mut self) -> (&mut Box<dyn Discipline>, Cx<'_>) {
        let cx = Cx {
            now: self.now,
            rate: self.rate,
            random: &mut self.random,
            observer: &mut self.seen,
            counters: &mut self.counters,
            has_dropped: false,
        };
        (&mut self.queue, cx)
    }

    fn fail(&self, what: &str) -> ! {
        panic!("{}: {what}, at {} ns after {} arrivals", self.promise.name, self.now.nanos(), self.arrivals)
    }

    fn require(&self, holds: bool, what: &str) {
        if !holds {
            self.fail(what);
        }
    }

    fn enqueue(&mut self, flow: u32, bytes: u32, ecn: Ecn) {
        let reads = self.reads;
        let packet = Packet {
            enqueued: Instant::ZERO,
            serial: self.arrivals,
            // A handle that says nothing about order.
            handle: (self.arrivals as u32).wrapping_mul(2_654_435_761),
            bytes,
            flow,
            // Facts that go with the flow, so that its packets stay together.
            source: flow % 3,
            destination: flow % 5,
            dscp: dscp(flow),
            window: if reads.window { (flow * 2) as u16 } else { 0 },
            ecn,
            ack: if reads.ack {
                AckFields {
                    pure: bytes <= 64 && flow.is_multiple_of(2),
                    precious: self.arrivals.is_multiple_of(11),
                    // Mostly rising.
                    number: (self.arrivals as u32 * 7) ^ (flow & 1),
                }
            } else {
                AckFields::NONE
            },
        };
        self.offer(packet);
    }

    /// Offers a packet under the next serial number.
    fn offer(&mut self, packet: Packet) {
        let bytes = packet.bytes;
        self.arrivals += 1;
        self.inside.insert(packet.serial, Packet { enqueued: self.now, ..packet.clone() });
        self.by_lane.insert((self.promise.lane(&packet), packet.serial));
        self.inside_bytes += u64::from(bytes);
        let (queue, mut cx) = self.cx();
        queue.enqueue(&mut cx, packet);
        self.settle(DropsAt::Enqueue);
    }

    fn dequeue(&mut self) {
        let (queue, mut cx) = self.cx();
        let given = queue.dequeue(&mut cx);
        self.settle_losses(DropsAt::Dequeue);
        match given {
            Dequeued::Packet(packet) => {
                self.left(&packet);
                self.events.push(Event::Sent(packet.serial, packet.ecn));
            }
            Dequeued::Empty => {
                self.require(self.inside.is_empty(), "gives nothing although packets wait");
                self.events.push(Event::Nothing);
            }
            Dequeued::NotBefore(when) => {
                self.require(!self.inside.is_empty(), "a shaper holds what does not wait");
                self.require(when > self.now, "a shaper holds until an instant that is not later");
                self.events.push(Event::Later(when));
            }
        }
        self.audit();
    }

    /// `packet` left by the front door: the right one, unharmed.
    fn left(&mut self, packet: &Packet) {
        let Some(offered) = self.inside.get(&packet.serial) else {
            self.fail("gives a packet that it does not hold (lost, dropped or sent before)")
        };
        let lane = self.promise.lane(offered);
        let first = self.by_lane.range((lane, 0)..).next();
        self.require(first == Some(&(lane, packet.serial)), "gives a packet out of order");
        let came_as = self.out(packet);
        let marked = self.marked.remove(&packet.serial);
        let expected = if marked { Ecn::Ce } else { came_as };
        self.require(packet.ecn == expected, "the ECN field changed without a mark, or a mark did not change it");
    }

    /// Takes `packet` out of the model and checks its facts; gives the ECN field it came with.
    fn out(&mut self, packet: &Packet) -> Ecn {
        let Some(offered) = self.inside.remove(&packet.serial) else {
            self.fail("gives back a packet twice, or one that never came")
        };
        self.by_lane.remove(&(self.promise.lane(&offered), offered.serial));
        self.inside_bytes -= u64::from(offered.bytes);
        let dscp = if self.promise.washes && packet.dscp == 0 { offered.dscp } else { packet.dscp };
        let same = Packet { ecn: offered.ecn, dscp, ..packet.clone() } == offered;
        self.require(same, "a packet's facts changed (enqueued, handle, bytes, flow ...)");
        offered.ecn
    }

    fn settle(&mut self, during: DropsAt) {
        self.settle_losses(during);
        self.audit();
    }

    /// Drops and marks of the last operation.
    fn settle_losses(&mut self, during: DropsAt) {
        let seen = std::mem::take(&mut self.seen);
        for packet in &seen.marked {
            self.require(self.promise.marks, "marks although neither ecn nor ce_threshold is on");
            let Some(offered) = self.inside.get(&packet.serial) else {
                self.fail("marks a packet that it does not hold")
            };
            self.require(matches!(offered.ecn, Ecn::Ect0 | Ecn::Ect1), "marks a packet that is not ECN-capable");
            let fresh = self.marked.insert(packet.serial);
            self.require(fresh, "marks a packet twice");
            self.events.push(Event::Marked(packet.serial));
        }
        for (now, packet, reason) in &seen.dropped {
            self.require(*now == self.now, "drops at another instant than now");
            let elsewhere = self.promise.drops_at != DropsAt::Both && self.promise.drops_at != during;
            self.require(
                *reason == Reason::Overflow || !elsewhere,
                "drops early where its description says it does not",
            );
            self.out(packet);
            self.marked.remove(&packet.serial);
            self.events.push(Event::Dropped(packet.serial, *reason));
        }
    }

    /// What holds after every operation.
    fn audit(&self) {
        if let Some(fault) = self.queue.fault() {
            self.fail(&fault);
        }
        let waiting @ Backlog { packets, bytes } = self.queue.backlog();
        self.require(packets == self.inside.len() as u64, "backlog in packets is not what it holds");
        self.require(bytes == self.inside_bytes, "backlog in bytes is not what it holds");
        self.require(packets <= self.promise.limit_packets, "holds more packets than its limit");
        self.require(bytes <= self.promise.limit_bytes, "holds more bytes than its limit");
        self.require(waiting.memory() <= self.promise.limit_memory, "takes more memory than its limit");
        let (c, dropped) = (&self.counters, self.counters.dropped_total());
        self.require(c.arrived.packets == self.arrivals - self.before, "did not count every arrival once");
        self.require(c.arrived.packets == c.forwarded.packets + dropped.packets + packets, "packets are not conserved");
        self.require(c.arrived.bytes == c.forwarded.bytes + dropped.bytes + bytes, "bytes are not conserved");
    }

    fn set_rate(&mut self, rate: BitRate) {
        let (queue, mut cx) = self.cx();
        queue.set_rate(&mut cx, rate);
        self.rate = rate;
        self.settle(DropsAt::Both);
    }

    fn reset(&mut self) {
        self.queue.reset();
        self.settle(DropsAt::Both);
    }

    /// Other parameters, or another algorithm: what waits moves over, in order, as fresh arrivals.
    fn change(&mut self, to: &Subject<'a>) {
        let waiting = self.drain();
        self.promise = to.promise;
        self.queue = (to.build)();
        self.counters = Counters::default();
        self.before = self.arrivals;
        self.names = None;
        for packet in waiting {
            // A washed packet would be in another class than the rest of its flow.
            self.offer(Packet { serial: self.arrivals, dscp: dscp(packet.flow), ..packet });
        }
        self.audit();
    }

    fn observe(&mut self) {
        let (mut names, mut bad) = (Vec::new(), None);
        self.queue.internals(self.now, self.rate, &mut |name, value| {
            names.push(name);
            // PIE's sum of probabilities may exceed 1.
            let probability = name.ends_with("probability") && name != "accumulated_probability";
            if value.is_infinite() || (probability && !(0.0..=1.0).contains(&value)) {
                bad = Some((name, value));
            }
        });
        if let Some((name, value)) = bad {
            self.fail(&format!("internal {name} is {value:e}"));
        }
        let unique: BTreeSet<_> = names.iter().collect();
        self.require(unique.len() == names.len(), "two internals have one name");
        let known = self.names.get_or_insert_with(|| names.clone()).clone();
        self.require(known == names, "the names of its internals changed");
        self.settle(DropsAt::Both);
    }

    /// Everything comes out once, in order.
    fn drain(&mut self) -> Vec<Packet> {
        let mut all = Vec::new();
        while let Some(packet) = self.queue.drain() {
            self.left(&packet);
            all.push(packet);
            let left = self.queue.backlog();
            self.require(
                left == Backlog { packets: self.inside.len() as u64, bytes: self.inside_bytes },
                "drain and backlog disagree",
            );
        }
        self.require(self.inside.is_empty(), "drain leaves packets behind");
        all
    }
}

const SIZES: [u32; 6] = [40, 64, 300, 1500, 1514, 9000];
const ECN: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
const RATES: [u64; 6] = [0, 64_000, 1_000_000, 20_000_000, 1_000_000_000, 100_000_000_000];

fn dscp(flow: u32) -> u8 {
    [0, 8, 46, 34, 0, 56, 16][flow as usize % 7]
}

fn run(subjects: &[Subject], data: &[u8], extras: Extras) -> Vec<Event> {
    // A host knows beforehand which disciplines a queue will have.
    let each = subjects.iter().map(|subject| (subject.build)().reads());
    let reads = each.fold(Reads { ack: !extras.blind, window: !extras.blind }, |all, one| Reads {
        ack: all.ack | one.ack,
        window: all.window | one.window,
    });
    let mut host = Host {
        promise: subjects[0].promise,
        queue: (subjects[0].build)(),
        now: Instant::ZERO,
        rate: BitRate::from_bit_s(20_000_000),
        random: Stream(data.len() as u64),
        seen: Seen::default(),
        counters: Counters::default(),
        arrivals: 0,
        before: 0,
        inside: BTreeMap::new(),
        by_lane: BTreeSet::new(),
        inside_bytes: 0,
        marked: BTreeSet::new(),
        names: None,
        reads,
        events: Vec::new(),
    };
    let mut data = data.iter().map(|byte| u64::from(*byte));
    let mut turns = subjects.iter().cycle().skip(1);
    // How likely an arrival is against a departure, of 256; moves, so that queues fill and empty.
    let mut load = 128;
    while let Some(op) = data.next() {
        let mut byte = || data.next().unwrap_or(0);
        match op {
            0..=219 if op * 256 / 220 < load => {
                let (what, pace) = (byte(), byte());
                // Up to four arrivals at one instant.
                for n in 0..=(pace & 3) {
                    let size = SIZES[(what + n) as usize % SIZES.len()];
                    host.enqueue((what >> 4) as u32, size, ECN[(what / 3 + n) as usize % 4]);
                }
                host.now += Span::from_micros(pace);
            }
            0..=219 => {
                let pace = byte();
                for _ in 0..=(pace & 3) {
                    host.dequeue();
                }
                // About what a few packets take at the first rate, up to 1 ms.
                host.now += Span::from_micros(4 * pace);
            }
            220..=229 => load = 64 + byte() / 2,
            // From a nanosecond to half a day.
            230..=239 => host.now += Span::from_nanos(1 << (byte() % 46)),
            240..=243 => host.set_rate(BitRate::from_bit_s(RATES[byte() as usize % RATES.len()])),
            244 => turns.next().into_iter().for_each(|subject| host.change(subject)),
            245 => host.reset(),
            246..=250 if extras.copy => host.queue = host.queue.clone_box(),
            251..=255 if extras.observe => host.observe(),
            _ => {}
        }
    }
    host.audit();
    let mut copy = host.queue.clone_box();
    let drained = host.drain().len();
    let copied = std::iter::from_fn(|| copy.drain()).count();
    host.require(copied == drained, "a copy holds other packets");
    host.events
}

/// The whole contract for one string of operations, on a discipline and those that its parameters change to by turns.
///
/// # Panics
/// With the configuration and what it broke.
pub fn check(subjects: &[Subject], data: &[u8]) {
    let plain = run(subjects, data, Extras::default());
    let both: &[_] = &[("observed, a copy decides otherwise", Extras { observe: true, copy: true, blind: false })];
    let each: &[_] = &[
        ("the same seed and input decide otherwise", Extras::default()),
        ("reading the internals changes decisions", Extras { observe: true, ..Extras::default() }),
        ("a copy decides otherwise than the original", Extras { copy: true, ..Extras::default() }),
        (
            "without a signal that `reads` does not name it decides otherwise",
            Extras { blind: true, ..Extras::default() },
        ),
    ];
    for &(what, extras) in if cfg!(miri) { both } else { each } {
        let again = run(subjects, data, extras);
        let first = plain.iter().zip(&again).position(|(a, b)| a != b);
        let names: Vec<&str> = subjects.iter().map(|subject| subject.promise.name.as_str()).collect();
        assert!(first.is_none() && plain.len() == again.len(), "{}: {what}, at event {first:?}", names.join("; "));
    }
}

/// The whole contract for configurations: the first, and those that it is changed to by turns.
///
/// # Panics
/// With the configuration and what it broke.
pub fn check_configs(configs: &[Config], data: &[u8]) {
    let mut parts: Vec<_> = configs.iter().map(|config| (Promise::of(config), || config.build())).collect();
    if std::env::var_os("FUZZ_DEFECT").is_some() {
        // The defect that the fuzzer must find: a limit of three packets lets one too many in.
        for (promise, _) in parts.iter_mut().filter(|(promise, _)| promise.limit_packets == 3) {
            promise.limit_packets = 2;
        }
    }
    let subjects: Vec<_> = parts.iter().map(|(promise, build)| Subject { promise, build }).collect();
    check(&subjects, data);
}

/// A fuzzer's input: a line of configurations with `;` between them, then operations. `None` when the line is not that.
///
/// # Panics
/// With the configuration and what it broke.
pub fn check_input(input: &[u8]) -> Option<Vec<Config>> {
    let end = input.iter().position(|byte| *byte == b'\n')?;
    let line = std::str::from_utf8(&input[..end]).ok()?;
    let configs: Vec<Config> = line.split(';').map(str::parse).collect::<Result<_, _>>().ok()?;
    for config in &configs {
        let again = config.text().parse::<Config>();
        assert!(again.as_ref() == Ok(config), "{config:?} reads back as {again:?}");
    }
    check_configs(&configs, &input[end + 1..]);
    Some(configs)
}
