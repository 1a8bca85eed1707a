//! The path: a fixed delay each way, an optional bottleneck with a finite queue, and a fate for every segment.

use crate::{Ack, AckAction, Data, Hints, Receiver, ReceiverConfig, Sender};
use sojourn_units::{BitRate, Bytes, Instant, Span};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Deliver,
    Drop,
    Mark,
    /// Arrives so much later: behind those sent after it.
    Late(Span),
    /// Arrives twice.
    Twice,
}

#[derive(Clone, Copy, Debug)]
enum Arrival {
    Data(Data, bool),
    Ack(Ack),
}

/// An acknowledgement, and what a sender sends on it.
#[derive(Default)]
struct Exchange {
    ack: Ack,
    leaving: Vec<Data>,
}

impl crate::Path for Exchange {
    fn ack(&self) -> Ack {
        self.ack
    }

    fn send(&mut self, data: Data, _number: u64, _hints: Hints) {
        self.leaving.push(data);
    }
}

/// All that may leave now.
pub fn drained(sender: &mut Sender, now: Instant) -> Vec<Data> {
    let mut exchange = Exchange::default();
    sender.drain(now, &mut exchange);
    exchange.leaving
}

/// Fate of a transmission.
pub type FateOf = Box<dyn FnMut(usize, &Data) -> Fate>;

pub struct Path {
    pub sender: Sender,
    /// The sender takes no short ways: each segment is asked for alone, and no acknowledgement is expected.
    pub by_the_book: bool,
    pub receiver: Receiver,
    pub now: Instant,
    pub one_way: Span,
    /// Called with the number of the transmission, from 0.
    pub fate: FateOf,
    pub lose_ack: Box<dyn FnMut(usize) -> bool>,
    /// Service rate and the number of packets that may wait or be in service.
    pub bottleneck: Option<(BitRate, u64)>,
    busy_until: Instant,
    pub queue_drops: u64,
    pub sent: Vec<(Instant, Data)>,
    pub acks: Vec<(Instant, Ack)>,
    /// Acknowledgements that reached the sender.
    pub acks_arrived: u64,
    /// Payload that has reached the receiver.
    pub arrived: Bytes,
    events: BTreeMap<(Instant, u64), Arrival>,
    scheduled: u64,
}

impl Path {
    pub fn new(config: crate::Config, receiver: ReceiverConfig, rtt: Span) -> Self {
        Self::with_sender(Sender::new(config), receiver, rtt)
    }

    pub fn with_sender(sender: Sender, receiver: ReceiverConfig, rtt: Span) -> Self {
        Self {
            sender,
            by_the_book: false,
            receiver: Receiver::new(receiver),
            now: Instant::ZERO,
            one_way: rtt / 2,
            fate: Box::new(|_, _| Fate::Deliver),
            lose_ack: Box::new(|_| false),
            bottleneck: None,
            busy_until: Instant::ZERO,
            queue_drops: 0,
            sent: Vec::new(),
            acks: Vec::new(),
            acks_arrived: 0,
            arrived: Bytes::ZERO,
            events: BTreeMap::new(),
            scheduled: 0,
        }
    }

    fn schedule(&mut self, at: Instant, arrival: Arrival) {
        self.scheduled += 1;
        self.events.insert((at, self.scheduled), arrival);
    }

    /// Sends what the sender has.
    pub fn pump(&mut self) {
        let mut leaving = Vec::new();
        if self.by_the_book {
            leaving.extend(std::iter::from_fn(|| self.sender.poll(self.now)));
        } else {
            leaving = drained(&mut self.sender, self.now);
        }
        self.launch(leaving);
    }

    fn launch(&mut self, leaving: Vec<Data>) {
        for data in leaving {
            let fate = (self.fate)(self.sent.len(), &data);
            self.sent.push((self.now, data));
            if fate == Fate::Drop {
                continue;
            }
            let mut at = self.now;
            if let Some((rate, limit)) = self.bottleneck {
                let service = rate.time_for(data.ip_bytes());
                let start = self.busy_until.max(self.now);
                if start.since(self.now) >= service * limit {
                    self.queue_drops += 1;
                    continue;
                }
                self.busy_until = start + service;
                at = self.busy_until;
            }
            at += self.one_way;
            if let Fate::Late(by) = fate {
                at += by;
            }
            self.schedule(at, Arrival::Data(data, fate == Fate::Mark));
            if fate == Fate::Twice {
                self.schedule(at, Arrival::Data(data, false));
            }
        }
    }

    fn acknowledge(&mut self, ack: Ack) {
        self.acks.push((self.now, ack));
        if !(self.lose_ack)(self.acks.len() - 1) {
            self.schedule(self.now + self.one_way, Arrival::Ack(ack));
        }
    }

    /// Advances to the next event; false when there is none until `until`.
    pub fn step(&mut self, until: Instant) -> bool {
        let arrival = self.events.keys().next().map_or(Instant::NEVER, |(at, _)| *at);
        let (rto, delayed, paced) = (self.sender.timer(), self.receiver.timer(), self.sender.pacing_deadline());
        let next = arrival.min(rto).min(delayed).min(paced);
        if next > until || next == Instant::NEVER {
            self.now = until;
            return false;
        }
        assert!(next >= self.now, "time runs forward");
        self.now = next;
        if arrival == next {
            match self.events.pop_first().map(|(_, arrival)| arrival) {
                Some(Arrival::Data(data, ce)) => {
                    if let Some(ack) = self.receiver.on_codepoint(ce) {
                        self.acknowledge(ack);
                    }
                    self.arrived += Bytes::new(u64::from(data.len));
                    let action = if self.by_the_book {
                        self.receiver.on_data_by_the_book(self.now, &data, ce)
                    } else {
                        self.receiver.on_data(self.now, &data, ce)
                    };
                    if let AckAction::Now(ack) = action {
                        self.acknowledge(ack);
                    }
                }
                Some(Arrival::Ack(ack)) => {
                    self.acks_arrived += 1;
                    if self.by_the_book {
                        self.sender.on_ack_by_the_book(self.now, &ack);
                    } else {
                        let mut exchange = Exchange { ack, leaving: Vec::new() };
                        self.sender.answer(self.now, &mut exchange);
                        self.launch(exchange.leaving);
                    }
                }
                None => {}
            }
        } else if delayed == next {
            if let Some(ack) = self.receiver.on_timer(self.now) {
                self.acknowledge(ack);
            }
        } else if rto == next {
            self.sender.on_timer(self.now);
            assert!(self.sender.timer() > self.now, "the timer is behind");
        }
        self.pump();
        true
    }

    pub fn run(&mut self, until: Instant) {
        self.pump();
        while self.step(until) {}
    }

    /// Runs until `done` or, failing the test, `until`.
    pub fn run_while(&mut self, until: Instant, going: impl Fn(&Self) -> bool) {
        self.pump();
        while going(self) {
            assert!(self.step(until), "still going at {until}");
        }
    }

    /// Hands over `bytes`, closes, and runs to the end of the transfer.
    pub fn transfer(&mut self, bytes: Bytes, until: Instant) {
        let mut left = bytes;
        loop {
            left = left.saturating_sub(self.sender.write(left));
            if left == Bytes::ZERO {
                self.sender.close();
            }
            self.pump();
            if self.sender.finished() {
                break;
            }
            assert!(self.step(until), "not finished at {until}: {:?}", self.sender);
        }
        assert_eq!(self.receiver.delivered(), bytes.max(self.sender.acknowledged()));
        assert!(self.receiver.finished());
    }
}
