//! A command ends the packet thread's sleep.

use sojourn_device::clock::Clock;
use sojourn_device::engine::{Direction, Engine};
use sojourn_device::links::Links;
use sojourn_device::orders::{orders, Command, Order};
use sojourn_device::path::{Path, PathConfig};
use sojourn_device::pool::{Frame, Pool};
use sojourn_device::port::{Port, PortCounters, PortError};
use sojourn_device::record::Recorder;
use sojourn_device::run::{run, Board, Idle, RunConfig};
use sojourn_random::Stream;
use sojourn_units::{BitRate, Bytes, Span};
use std::collections::VecDeque;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::channel;
use std::time::Duration;

/// A port at which nothing ever arrives, and which can be waited on.
struct Silent(UnixStream);

impl Port for Silent {
    fn name(&self) -> &str {
        "silent"
    }

    fn receive(&mut self, _: &mut Pool, _: &mut Vec<Frame>) -> Result<(), PortError> {
        Ok(())
    }

    fn send(&mut self, _: &mut Pool, _: &mut VecDeque<Frame>) -> Result<(), PortError> {
        Ok(())
    }

    fn counters(&mut self) -> PortCounters {
        PortCounters::default()
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.0.as_raw_fd())
    }
}

#[test]
fn on_an_idle_link_a_command_does_not_wait_for_the_next_look_at_the_state() {
    let (pipe_a, _end_a) = UnixStream::pair().unwrap();
    let (pipe_b, _end_b) = UnixStream::pair().unwrap();
    let config = PathConfig {
        scheme: Some("pfifo".parse().unwrap()),
        rate: BitRate::from_bit_s(8_000_000),
        overhead: Bytes::new(0),
        burst: Span::from_millis(1),
        delay: Span::ZERO,
    };
    let paths = [1, 2].map(|seed| Path::new(&config, Box::new(Stream::seeded(seed)), seed, Recorder::idle()));
    let ports: [Box<dyn Port>; 2] = [Box::new(Silent(pipe_a)), Box::new(Silent(pipe_b))];
    let mut engine = Engine::new(Pool::new(64, 2048, 256).unwrap(), ports, paths);
    let (commands, orders) = orders();
    // The thread would sleep for a day.
    let every = RunConfig { idle: Idle::Wait, publish_every: Span::from_secs(86_400), links: Links::default() };
    let board = Board::default();
    let there = std::sync::Arc::clone(&board);
    let thread = std::thread::spawn(move || run(&mut engine, Clock::start(), &every, &orders, &board));
    while there.lock().unwrap().is_none() {
        std::thread::yield_now();
    }
    for n in 1..=20 {
        let (reply, answer) = channel();
        let order = Order::SetRate { direction: Direction::AToB, rate: BitRate::from_bit_s(1_000_000 * n) };
        commands.send(Command { order, reply: Some(reply) }).unwrap();
        assert_eq!(answer.recv_timeout(Duration::from_secs(60)), Ok(Ok(())));
    }
    commands.send(Command { order: Order::Stop, reply: None }).unwrap();
    thread.join().unwrap().unwrap();
}
