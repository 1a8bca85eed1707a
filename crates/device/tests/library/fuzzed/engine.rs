//! What holds of any order of arrivals, waits, changes and faults of the ports: every frame is in one place at every step.

use sojourn_aqm::{Backlog, Config, Impairments, Rates, Traced};
use sojourn_device::engine::{Direction, Engine};
use sojourn_device::frame::Fault;
use sojourn_device::orders::{orders, Command, Commands, Order, Orders};
use sojourn_device::path::{Link, LinkChange, Path, PathConfig};
use sojourn_device::pool::{Frame, Pool};
use sojourn_device::port::{Port, PortCounters, PortError, BURST};
use sojourn_device::record::Recorder;
use sojourn_device::run::run_commands;
use sojourn_random::Stream;
use sojourn_units::{BitRate, Bytes, Instant, Span};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

const POOL: usize = 128;
const OPERATIONS: usize = 400;
/// 2 ms at 20 Mbit/s are 5000 B, and the shortest frame that is forwarded has 14 B: the last one goes over it.
const MOST_BEHIND: u64 = 5000 / 14 + 1;
pub const SCHEMES: &[&str] = &[
    "pfifo limit 20p",
    "fq_codel limit 20p target 100us interval 1ms ecn",
    "codel target 100us interval 1ms",
    "pie limit 30p tupdate 1ms",
    "red limit 20p",
    "cake",
    "dualpi2",
    "sfq limit 10p",
    "drr",
    "blue limit 10p",
];

/// The outer side of a port.
#[derive(Default)]
struct Side {
    arriving: VecDeque<Vec<u8>>,
    /// Frames that one call of `send` takes.
    room: usize,
    /// So many sends are refused next.
    refuse: usize,
    /// Frames that are sent return to the pool one call later, as those in a ring do.
    ring: bool,
    /// In the ring.
    held: usize,
    /// Refused sends after which frames get lost; 0 for never: the defect that the fuzzer must find.
    forgets_after: usize,
}

struct Odd {
    side: Arc<Mutex<Side>>,
    held: Vec<Frame>,
    held_bytes: u64,
    counters: PortCounters,
}

impl Port for Odd {
    fn name(&self) -> &str {
        "odd"
    }

    fn receive(&mut self, pool: &mut Pool, into: &mut Vec<Frame>) -> Result<(), PortError> {
        self.complete(pool);
        let mut side = self.side.lock().expect("one thread");
        side.held = 0;
        for _ in 0..BURST {
            let Some(contents) = side.arriving.pop_front() else { break };
            if contents.len() > pool.room() {
                self.counters.oversize += 1;
            } else if let Some(frame) = pool.copy_in(&contents) {
                self.counters.received += 1;
                self.counters.received_bytes += contents.len() as u64;
                into.push(frame);
            } else {
                self.counters.missed += 1;
            }
        }
        Ok(())
    }

    fn send(&mut self, pool: &mut Pool, frames: &mut VecDeque<Frame>) -> Result<(), PortError> {
        self.complete(pool);
        let mut side = self.side.lock().expect("one thread");
        side.held = 0;
        for _ in 0..side.room.min(BURST) {
            let Some(frame) = frames.pop_front() else { break };
            if side.refuse > 0 {
                side.refuse -= 1;
                self.counters.send_failed += 1;
                if side.forgets_after == 0 || self.counters.send_failed < side.forgets_after as u64 {
                    pool.give(frame);
                }
                continue;
            }
            self.counters.sent += 1;
            self.counters.sent_bytes += pool.contents(frame).len() as u64;
            if side.ring {
                self.held_bytes += pool.contents(frame).len() as u64;
                self.held.push(frame);
            } else {
                pool.give(frame);
            }
        }
        side.held = self.held.len();
        Ok(())
    }

    fn leaving(&self) -> Backlog {
        Backlog { packets: self.held.len() as u64, bytes: self.held_bytes }
    }

    fn counters(&mut self) -> PortCounters {
        self.counters
    }
}

impl Odd {
    /// What was in the ring has left.
    fn complete(&mut self, pool: &mut Pool) {
        self.held.drain(..).for_each(|frame| pool.give(frame));
        self.held_bytes = 0;
    }
}

/// A frame of IPv4 or IPv6, or neither, perhaps behind a VLAN tag, of one of 16 flows.
fn frame(kind: usize, flow: u8, length: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    if kind & 4 > 0 {
        frame.extend([0x81, 0, 0, flow % 8]);
    }
    match kind & 3 {
        0 => frame.extend([8, 0, 0x45, flow & 3, 0, 40, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, flow & 15, 10, 0, 1, 1]),
        1 => {
            frame.extend([0x86, 0xdd, 0x60, 0x20, 0, 0, 0, 20, 6, 64]);
            frame.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, flow & 15]);
            frame.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
        }
        2 => frame.extend([8, 6]),
        _ => frame.extend([8, 0, 0x45]),
    }
    if kind & 3 < 2 {
        frame.extend([0, flow, 0, 80, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x10, 0, 0, 0, 0, 0, 0]);
    }
    frame.resize(length, 0);
    frame
}

/// Links from A to B.
const LINKS: usize = 4;

fn link(kind: usize) -> Link {
    let trace = |text: &str| Rates::read(text, true, None).ok().map(|rates| (Arc::new(rates), Traced::WINDOW));
    let change = |at_ms: u64| LinkChange { at: Instant::ZERO + Span::from_millis(at_ms), ..LinkChange::default() };
    match kind {
        1 => {
            let loss = Impairments { loss: "gemodel 20% 30%".parse().ok(), ..Impairments::default() };
            let impairments = Impairments { jitter: "3 ms".parse().ok(), duplicate: "20%".parse().ok(), ..loss };
            Link { impairments, framing: "atm overhead 10".parse().ok(), ..Link::default() }
        }
        2 => Link { trace: trace("0\n0\n3\n4\n4\n9\n"), ..Link::default() },
        3 => {
            let changes = vec![
                LinkChange { delay: Some(Span::from_millis(20)), every: Some(Span::from_millis(7)), ..change(0) },
                LinkChange { delay: Some(Span::ZERO), every: Some(Span::from_millis(11)), ..change(3) },
                LinkChange { loss: "30%".parse().ok(), scheme: "codel".parse().ok(), ..change(40) },
            ];
            Link { trace: trace("time_ms,rate_mbit_s\n0,20\n5,0\n9,1.7\n"), changes, ..Link::default() }
        }
        _ => Link::default(),
    }
}

struct World {
    engine: Engine,
    commands: Commands,
    orders: Orders,
    sides: [Arc<Mutex<Side>>; 2],
    now: Instant,
    put: [u64; 2],
    switches: u64,
    /// Neither rate nor delay has been changed, and the link is a plain one.
    is_steady: bool,
}

impl World {
    fn new(scheme: &str, kind: usize) -> Self {
        let forgets_after = if std::env::var_os("FUZZ_DEFECT").is_some() { 40 } else { 0 };
        let sides = [(); 2].map(|()| Arc::new(Mutex::new(Side { room: BURST, forgets_after, ..Side::default() })));
        let ports = sides.each_ref().map(|side| {
            let port =
                Odd { side: Arc::clone(side), held: Vec::new(), held_bytes: 0, counters: PortCounters::default() };
            Box::new(port) as Box<dyn Port>
        });
        let config = PathConfig {
            scheme: Some(scheme.parse().expect("a scheme")),
            rate: BitRate::from_bit_s(20_000_000),
            overhead: Bytes::new(24),
            burst: Span::from_millis(1),
            delay: Span::ZERO,
        };
        let path = |config: &PathConfig, seed| Path::new(config, Box::new(Stream::seeded(seed)), 5, Recorder::idle());
        let mut paths = [path(&config, 1), path(&PathConfig { scheme: None, ..config.clone() }, 2)];
        paths[0].set_link(link(kind), |name| Box::new(Stream::seeded(name.len() as u64)));
        let (commands, orders) = orders();
        let pool = Pool::new(POOL as u32, 2048, 64).expect("memory");
        let engine = Engine::new(pool, ports, paths);
        Self { engine, commands, orders, sides, now: Instant::ZERO, put: [0; 2], switches: 0, is_steady: kind == 0 }
    }

    fn order(&mut self, order: Order) {
        self.commands.send(Command { order, reply: None }).expect("the receiver is here");
        assert!(!run_commands(&mut self.engine, self.now, &self.orders), "nobody told it to stop");
    }

    fn side(&self, port: usize) -> std::sync::MutexGuard<'_, Side> {
        self.sides[port].lock().expect("one thread")
    }

    /// Everything is somewhere, once.
    fn check(&mut self) {
        let ports = self.engine.port_counters();
        let mut inside = 0;
        for direction in Direction::ALL {
            let (from, to) = (direction as usize, 1 - direction as usize);
            let (path, at) = (self.engine.path(direction), self.engine.frame_counts(direction));
            let counters = path.counters();
            let unsent = path.stale() + path.no_room();
            let dropped = counters.dropped_total().packets + path.faults()[Fault::Runt as usize] + unsent;
            let here = at.queued + at.delayed + at.ready;
            let port = ports[from];
            assert_eq!(
                self.put[from],
                port.received + port.oversize + port.missed + self.side(from).arriving.len() as u64,
                "{}: what arrives is counted",
                direction.name()
            );
            let left = ports[to].sent + ports[to].send_failed;
            let link = path.link_counts();
            let doubled = link.duplicates.unwrap_or(0);
            let gone = left + dropped + link.lost.unwrap_or(0);
            assert_eq!(port.received + doubled, gone + here, "{}: in = out + dropped + waiting", direction.name());
            assert_eq!(path.backlog().packets, at.queued);
            if self.is_steady && direction == Direction::AToB {
                assert!(at.delayed + at.ready <= MOST_BEHIND, "{} frames lie behind the queue", at.delayed + at.ready);
            }
            inside += here;
        }
        let held: usize = (0..2).map(|port| self.side(port).held).sum();
        let free = self.engine.pool.free();
        assert_eq!(free + held + inside as usize, POOL, "every frame of the pool is in one place");
    }
}

/// Takes bytes from the front; zeros when there are none left.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn one(&mut self) -> usize {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        usize::from(*first)
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.one() % choices.len()]
    }
}

/// A fuzzer's input: a byte for the scheme, then operations. How many frames left, and how many switches there were.
///
/// # Panics
/// With what it broke.
pub fn check_input(input: &[u8]) -> (u64, u64) {
    let mut choices = Choices(input);
    let first = choices.one();
    let mut world = World::new(SCHEMES[first % SCHEMES.len()], first / SCHEMES.len() % LINKS);
    for _ in 0..OPERATIONS {
        if choices.0.is_empty() {
            break;
        }
        operate(&mut world, &mut choices);
        world.check();
    }
    // With room on both sides all of it leaves. Bound: what waits is less than the pool; a scheme may ask for patience.
    for port in 0..2 {
        let mut side = world.side(port);
        (side.room, side.refuse, side.ring) = (BURST, 0, false);
    }
    for _ in 0..20_000 {
        let Some(due) = world.engine.next_due() else { break };
        world.now = world.now.max(due);
        world.engine.step(world.now).expect("the ports work");
    }
    world.engine.step(world.now).expect("the ports work");
    world.check();
    let counters = world.engine.port_counters();
    (counters[0].sent + counters[1].sent, world.switches)
}

fn operate(world: &mut World, choices: &mut Choices<'_>) {
    let direction = choices.of(&[Direction::AToB, Direction::AToB, Direction::BToA]);
    match choices.one() % 12 {
        0..=3 => {
            let (kind, flow) = (choices.one(), choices.one() as u8);
            let length = choices.of(&[60, 60, 200, 900, 1514, 1514, 0, 13, 1984, 1985, 9000]);
            let count = 1 + choices.one() % 40;
            let mut side = world.side(direction as usize);
            side.arriving.extend((0..count).map(|n| frame(kind, flow.wrapping_add(n as u8 * (flow & 1)), length)));
            drop(side);
            world.put[direction as usize] += count as u64;
        }
        4 | 5 => {
            let span = choices.of(&[0, 1, 1_000, 30_000, 300_000, 1_000_000, 5_000_000, 150_000_000, 1_000_000_000]);
            world.now += Span::from_nanos(span);
        }
        6 => {
            let scheme: Config = choices.of(SCHEMES).parse().expect("a scheme");
            world.switches += u64::from(direction == Direction::AToB);
            world.order(Order::Switch { direction, scheme, label: "l".to_owned(), slot: None });
        }
        7 => {
            let rate = BitRate::from_bit_s(choices.of(&[1000, 1_000_000, 20_000_000, 1_000_000_000, u64::MAX]));
            world.is_steady = false;
            world.order(Order::SetRate { direction, rate });
        }
        8 => {
            let delay = Span::from_nanos(choices.of(&[0, 1, 20_000, 1_000_000, 60_000_000_000]));
            world.is_steady = false;
            world.order(Order::SetDelay { direction, delay });
        }
        9 => world.side(1 - direction as usize).room = choices.of(&[0, 1, 3, BURST]),
        10 => world.side(1 - direction as usize).refuse = choices.one(),
        _ => world.side(1 - direction as usize).ring ^= true,
    }
    let now = world.now;
    world.engine.step(now).expect("the ports work");
}
