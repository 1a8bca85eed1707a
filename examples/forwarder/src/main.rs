//! Forwards UDP datagrams from one address to another at a limited rate, with a queue under any scheme in between.
//!
//! ```text
//! forwarder LISTEN TARGET RATE SCHEME [DATAGRAMS]
//! forwarder 127.0.0.1:5000 127.0.0.1:6000 10Mbit/s "codel target 5ms" 1000
//! ```
//! It ends when DATAGRAMS have arrived and nothing waits, and prints what became of them.
//!
//! The library decides and has neither clock nor sockets. So a program gives it the time, random numbers and facts about
//! packets, and keeps the contents: here in `contents`, by the packet's handle.

use sojourn_aqm::{Config, Dequeued, Observer, Packet, Random, Reason, Server};
use sojourn_units::{BitRate, Bytes, Instant, Span, Wire};
use std::collections::HashMap;
use std::env;
use std::error::Error;
use std::io::ErrorKind;
use std::net::UdpSocket;
use std::process::ExitCode;
use std::time::{Duration, Instant as Clock};

/// Bytes of a datagram at most.
const LARGEST: usize = 65_535;
/// How long it waits for a datagram while nothing waits in the queue.
const IDLE: Duration = Duration::from_millis(100);

/// The datagrams that wait, by handle.
#[derive(Default)]
struct Contents {
    waiting: HashMap<u32, Vec<u8>>,
    next: u32,
}

impl Observer for Contents {
    fn dropped(&mut self, _now: Instant, packet: Packet, _reason: Reason) {
        self.waiting.remove(&packet.handle);
    }
}

/// Random numbers of splitmix64, which is enough for an example.
struct SplitMix(u64);

impl Random for SplitMix {
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

fn forward(listen: &str, target: &str, rate: BitRate, scheme: &Config, most: u64) -> Result<String, Box<dyn Error>> {
    let socket = UdpSocket::bind(listen)?;
    println!("listening on {}", socket.local_addr()?);
    let mut server = Server::new(scheme, Wire::new(rate, Bytes::new(0)), SplitMix(1));
    let mut contents = Contents::default();
    let clock = Clock::now();
    let now = || Instant::ZERO + Span::from_nanos(u64::try_from(clock.elapsed().as_nanos()).unwrap_or(u64::MAX));
    // When the link has sent the last datagram. It may lie a little in the past: departures keep their exact times.
    let mut free = Instant::ZERO;
    // The link has asked and got nothing. It asks then, too, because some schemes learn from an empty queue.
    let mut idle = true;
    let mut buffer = vec![0; LARGEST];
    while server.counters().arrived.packets < most || server.backlog().packets > 0 {
        while !idle && free <= now() {
            match server.depart(free, &mut contents) {
                Dequeued::Packet(packet) => {
                    if let Some(datagram) = contents.waiting.remove(&packet.handle) {
                        socket.send_to(&datagram, target)?;
                    }
                    free += server.wire.take(packet.bytes);
                }
                Dequeued::NotBefore(at) => free = at,
                Dequeued::Empty => idle = true,
            }
        }
        let wait = if idle { IDLE } else { Duration::from_nanos(free.since(now()).nanos().max(1000)) };
        socket.set_read_timeout(Some(wait))?;
        match socket.recv_from(&mut buffer) {
            Ok((size, from)) => {
                let at = now();
                if idle {
                    free = free.max(at);
                    idle = false;
                }
                let handle = contents.next;
                contents.next = contents.next.wrapping_add(1);
                contents.waiting.insert(handle, buffer[..size].to_vec());
                let bytes = u32::try_from(size)?;
                let packet = Packet {
                    serial: server.number(),
                    handle,
                    flow: u32::from(from.port()),
                    bytes,
                    ..Packet::without_signals(0)
                };
                server.arrive(at, &mut contents, packet);
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let counters = server.counters();
    Ok(format!(
        "{} arrived, {} forwarded, {} dropped",
        counters.arrived.packets,
        counters.forwarded.packets,
        counters.dropped_total().packets
    ))
}

fn run(arguments: &[String]) -> Result<String, Box<dyn Error>> {
    let (listen, target, rate, scheme, most) = match arguments {
        [listen, target, rate, scheme] => (listen, target, rate, scheme, u64::MAX),
        [listen, target, rate, scheme, most] => (listen, target, rate, scheme, most.parse()?),
        _ => return Err("usage: forwarder LISTEN TARGET RATE SCHEME [DATAGRAMS]".into()),
    };
    forward(listen, target, rate.parse()?, &scheme.parse()?, most)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match run(&arguments) {
        Ok(counts) => {
            println!("{counts}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("forwarder: {error}");
            ExitCode::from(2)
        }
    }
}
