//! A port at which frames arrive by themselves and what is sent is forgotten: for trying the device without interfaces.

use super::about::{nothing, About, Open};
use super::{Port, PortCounters, PortError, BURST};
use crate::clock::Clock;
use crate::pool::{Frame, Pool};
use sojourn_units::{BitRate, Bytes, Instant};
use std::collections::VecDeque;

/// Flows that take turns.
const FLOWS: u16 = 16;
/// Ethernet, IPv4 and UDP headers.
const HEADERS: usize = 14 + 20 + 8;

/// UDP at a constant rate.
#[derive(Debug)]
pub struct Generated {
    name: String,
    clock: Clock,
    rate: BitRate,
    frame: Vec<u8>,
    due: Instant,
    flow: u16,
    counters: PortCounters,
}

impl Generated {
    /// A port called `name` at which `rate` arrives in frames of `size`; nothing at rate 0.
    #[must_use]
    pub fn new(name: &str, rate: BitRate, size: Bytes) -> Self {
        let length = (size.get() as usize).max(HEADERS);
        let mut frame = vec![0; length];
        let (ip, udp) = (length - 14, length - 34);
        frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
        // IPv4, ECT(0), TTL 64, UDP, 192.0.2.1 to 192.0.2.2 (RFC 5737). Nobody checks the checksums.
        frame[14..34].copy_from_slice(&[
            0x45,
            2,
            (ip >> 8) as u8,
            ip as u8,
            0,
            0,
            0,
            0,
            64,
            17,
            0,
            0,
            192,
            0,
            2,
            1,
            192,
            0,
            2,
            2,
        ]);
        frame[36..40].copy_from_slice(&[0x13, 0x88, (udp >> 8) as u8, udp as u8]);
        Self {
            name: name.to_owned(),
            clock: Clock::start(),
            rate,
            frame,
            due: Instant::ZERO,
            flow: 0,
            counters: PortCounters::default(),
        }
    }
}

impl Port for Generated {
    fn name(&self) -> &str {
        &self.name
    }

    fn receive(&mut self, pool: &mut Pool, into: &mut Vec<Frame>) -> Result<(), PortError> {
        if self.rate.is_zero() {
            return Ok(());
        }
        let now = self.clock.now();
        let each = self.rate.time_for(Bytes::new(self.frame.len() as u64));
        for _ in 0..BURST {
            if self.due > now {
                break;
            }
            self.due += each;
            self.flow = (self.flow + 1) % FLOWS;
            self.frame[34..36].copy_from_slice(&(40_000 + self.flow).to_be_bytes());
            let Some(frame) = pool.copy_in(&self.frame) else {
                self.counters.missed += 1;
                continue;
            };
            self.counters.received += 1;
            self.counters.received_bytes += self.frame.len() as u64;
            into.push(frame);
        }
        Ok(())
    }

    fn send(&mut self, pool: &mut Pool, frames: &mut VecDeque<Frame>) -> Result<(), PortError> {
        for frame in frames.drain(..frames.len().min(BURST)) {
            self.counters.sent += 1;
            self.counters.sent_bytes += pool.contents(frame).len() as u64;
            pool.give(frame);
        }
        Ok(())
    }

    fn counters(&mut self) -> PortCounters {
        self.counters
    }
}

pub(super) const ABOUT: About = About {
    is_live: false,
    keys: &["load", "load_size"],
    needs: None,
    uses: nothing,
    open: Open::AsUser(|table, side, _| {
        let rate = table.load.map_or(BitRate::ZERO, |load| load.0);
        Ok(Box::new(Generated::new(&format!("loopback {side}"), rate, table.load_size.0)))
    }),
};
