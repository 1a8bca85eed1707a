//! Clients at work: connections that open, requests, answers, and what is sent again.
//!
//! What is modelled:
//! * A connection opens as from the client: its SYN (60 B) to the server, SYN-ACK, ACK with the request. The sender's own SYN
//!   stands for the SYN-ACK, and the receiver's SYN-ACK for the ACK.
//! * A request is one packet along the way of acknowledgements. SYN and request are sent again after the connection's
//!   retransmission timeout, doubled each time, until they have reached the server.
//! * The answer is data of the flow. All of TCP applies to it.
//! * A connection that is opened anew is another one: window, timer and sequence numbers start again, and queues see another flow
//!   hash. Packets of the old one are recognised by their timestamps (as RFC 7323's PAWS does), and ignored. Without FINs.
//!
//! The flows of clients have no [`Tcp`] in `Hosts::ends`: their connections are here, so other flows pay nothing for them.

use super::event::Event;
use super::net::{Egress, Net};
use super::tcp::{Stands, Tcp, TcpCounts};
use crate::packet::{Body, Datagram, Load, Payload};
use sojourn_aqm::{Ecn, Random};
use sojourn_random::Stream;
use sojourn_traffic::application::{Client, Get, Measured, Orders};
use sojourn_transport::segment::{unstamped_saves, DATA_HEADER, SYN_HEADER};
use sojourn_transport::{Receiver, ReceiverConfig, Sender};
use sojourn_units::{Instant, Span};
use std::sync::Arc;

/// All clients of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Clients {
    users: Vec<User>,
    connections: Vec<Connection>,
    /// The place of each flow's connection, one more; 0 for none. Empty without clients.
    of_flow: Vec<u32>,
    /// Reused.
    orders: Orders,
}

/// A client.
#[derive(Clone, Debug)]
struct User {
    client: Box<dyn Client>,
    group: usize,
    /// The place of its first connection.
    first: u32,
    random: Stream,
    wake_at: Instant,
    stop: Option<Instant>,
    begun: bool,
    stopped: bool,
    paused: Option<Paused>,
}

/// What happened to a client that a change has stopped.
#[derive(Clone, Debug, Default)]
struct Paused {
    woken: bool,
    answered: Vec<u32>,
}

/// Where a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// No request.
    Idle,
    /// The SYN has been sent.
    Opening,
    /// The request has been sent.
    Asked,
}

/// A connection of a client.
#[derive(Clone, Debug)]
struct Connection {
    flow: u32,
    user: u32,
    /// Among those of its user.
    number: u32,
    tcp: Tcp,
    /// Seeds of congestion control.
    seeds: Stream,
    sender: Arc<sojourn_transport::Config>,
    receiver: Arc<ReceiverConfig>,
    stage: Stage,
    /// It has been opened.
    is_open: bool,
    get: Get,
    /// Number of the last SYN or request, which is in flight until it is served.
    asked: u32,
    served: bool,
    retry_at: Instant,
    backoff: u32,
    /// Packets that were sent before are of an earlier connection.
    opened: Instant,
    /// Of earlier connections.
    past: TcpCounts,
    first_sent: Option<Instant>,
    hash: u32,
}

/// A connection to be.
pub(super) struct Plan {
    pub flow: u32,
    pub group: usize,
    /// Of data, and of acknowledgements.
    pub ways: (Egress, Egress),
    pub sender: Arc<sojourn_transport::Config>,
    pub receiver: Arc<ReceiverConfig>,
    pub seeds: Stream,
    pub hash: u32,
    /// Of the first of a client: the client, its random stream, and its end.
    pub user: Option<(Box<dyn Client>, Stream, Option<Instant>)>,
}

/// Of a SYN or request that no packet trace and no count of losses takes for data.
const NO_ORDINAL: u32 = u32::MAX;
/// Doublings of a timeout.
const DOUBLINGS: u32 = 10;

impl Clients {
    /// Somebody reads the hints of segments from now on.
    pub fn give_hints(&mut self) {
        self.connections.iter_mut().for_each(|connection| connection.tcp.sender.give_hints());
    }

    /// Adds the connection of a flow.
    pub fn add(&mut self, plan: Plan) {
        let Plan { flow, group, ways, sender, receiver, mut seeds, hash, user } = plan;
        if let Some((client, random, stop)) = user {
            let first = self.connections.len() as u32;
            let (wake_at, begun, stopped) = (Instant::NEVER, false, false);
            self.users.push(User { client, group, first, random, wake_at, stop, begun, stopped, paused: None });
        }
        let user = self.users.len().saturating_sub(1) as u32;
        let number = self.connections.len() as u32 - self.users.last().map_or(0, |user| user.first);
        let tcp = new_tcp(&sender, &receiver, seeds.next_u64(), ways, false);
        self.of_flow.resize(flow as usize + 1, 0);
        self.connections.push(Connection {
            flow,
            user,
            number,
            tcp,
            seeds,
            sender,
            receiver,
            stage: Stage::Idle,
            is_open: false,
            get: Get::default(),
            asked: 0,
            served: true,
            retry_at: Instant::NEVER,
            backoff: 0,
            opened: Instant::ZERO,
            past: TcpCounts::default(),
            first_sent: None,
            hash,
        });
        self.of_flow[flow as usize] = self.connections.len() as u32;
    }

    fn place(&self, flow: u32) -> Option<usize> {
        self.of_flow.get(flow as usize)?.checked_sub(1).map(|place| place as usize)
    }

    fn connection(&mut self, flow: u32) -> Option<&mut Connection> {
        let place = self.place(flow)?;
        self.connections.get_mut(place)
    }

    /// The TCP of a flow that is a client's connection.
    pub fn tcp(&self, flow: usize) -> Option<&Tcp> {
        Some(&self.connections.get(self.place(flow as u32)?)?.tcp)
    }

    /// As [`Clients::tcp`].
    pub fn tcp_mut(&mut self, flow: u32) -> Option<&mut Tcp> {
        self.connection(flow).map(|connection| &mut connection.tcp)
    }

    /// What a flow's earlier connections counted, and when the first of them began.
    pub fn past(&self, flow: usize) -> (TcpCounts, Option<Instant>) {
        let connection = self.place(flow as u32).and_then(|place| self.connections.get(place));
        connection.map_or_else(Default::default, |connection| (connection.past, connection.first_sent))
    }

    /// Where a flow that is a client's connection stands; `None` for other flows.
    pub fn stage(&self, flow: usize) -> Option<Stands> {
        let connection = self.connections.get(self.place(flow as u32)?)?;
        let is_over = connection.stage == Stage::Idle && self.users[connection.user as usize].stopped;
        let begun = connection.first_sent.is_some() && !is_over;
        Some(Stands { lasts: begun, has_sender: begun && connection.is_open })
    }

    /// The measurement begins.
    pub fn restart(&mut self, now: Instant) {
        self.users.iter_mut().for_each(|user| user.client.restart(now));
    }

    /// What the clients of a group measured.
    pub fn measured(&self, group: usize, now: Instant) -> impl Iterator<Item = Measured> + '_ {
        self.users.iter().filter(move |user| user.group == group).map(move |user| user.client.measured(now))
    }

    /// The TCP that takes a packet, which had this handle and is still readable; none of an earlier connection's.
    #[cold]
    #[inline(never)]
    pub fn of_packet(&mut self, net: &Net, handle: u32) -> Option<&mut Tcp> {
        let packet = net.slab.get(handle);
        let sent = match packet.body {
            Body::Load(_, Payload::Data(data)) => data.sent,
            Body::Ack(packed) => packed.unpack().echo,
            Body::Load(..) => return None,
        };
        let connection = self.connection(packet.flow)?;
        (sent >= connection.opened).then_some(&mut connection.tcp)
    }

    /// What a connection waits for has arrived: the SYN, or all of the answer.
    pub fn complete(&mut self, net: &mut Net, flow: u32) {
        let Some(connection) = self.connection(flow) else { return };
        connection.tcp.mark = u64::MAX;
        let (user, number) = (connection.user, connection.number);
        match connection.stage {
            Stage::Opening => connection.ask(net),
            Stage::Asked => {
                connection.stage = Stage::Idle;
                self.answered(net, user, number);
            }
            Stage::Idle => {}
        }
    }

    /// A SYN or a request has reached the server.
    #[inline(never)]
    pub fn serve(&mut self, net: &mut Net, flow: u32, number: u32) {
        let Some(connection) = self.connection(flow) else { return };
        if number != connection.asked || std::mem::replace(&mut connection.served, true) {
            return;
        }
        match connection.stage {
            Stage::Opening => connection.accept(net),
            Stage::Asked => {
                connection.tcp.unwritten += connection.get.answer;
                connection.pump(net);
            }
            Stage::Idle => {}
        }
    }

    /// A time that a connection or its client asked for.
    #[inline(never)]
    pub fn on_time(&mut self, net: &mut Net, flow: u32) {
        let now = net.now;
        let Some(connection) = self.connection(flow) else { return };
        if connection.opened == now && connection.is_open {
            connection.pump(net);
        }
        if connection.retry_at == now {
            connection.retry_at = Instant::NEVER;
            if !connection.served && connection.stage != Stage::Idle {
                connection.backoff += 1;
                connection.send(net);
            }
        }
        let (user, number) = (connection.user, connection.number);
        if number == 0 && self.users.get(user as usize).is_some_and(|user| user.wake_at == now) {
            self.wake(net, user);
        }
    }

    /// A flow begins: with the first of a client's, the client. True where it is a client's.
    pub fn begin(&mut self, net: &mut Net, flow: u32) -> bool {
        let Some(place) = self.place(flow) else { return false };
        let (number, user) = (self.connections[place].number, self.connections[place].user);
        if number == 0 {
            let one = &mut self.users[user as usize];
            one.begun = true;
            if let Some(stop) = one.stop {
                net.wheel.push(stop, Event::Stop(flow));
            }
            self.wake(net, user);
        }
        true
    }

    /// A flow's application ends: what is on its way comes. True where it is a client's.
    pub fn stop(&mut self, flow: u32) -> bool {
        let Some(place) = self.place(flow) else { return false };
        let user = self.connections[place].user;
        self.users[user as usize].stopped = true;
        true
    }

    /// A change stops a client: it asks for nothing until it goes on. True where the flow is a client's.
    pub fn pause(&mut self, flow: u32) -> bool {
        let Some(place) = self.place(flow) else { return false };
        let user = self.connections[place].user;
        self.users[user as usize].paused.get_or_insert_default();
        true
    }

    /// A change lets a client go on. True where the flow is a client's.
    pub fn resume(&mut self, net: &mut Net, flow: u32) -> bool {
        let Some(place) = self.place(flow) else { return false };
        let user = self.connections[place].user;
        let Some(paused) = self.users[user as usize].paused.take() else { return true };
        for number in paused.answered {
            self.answered(net, user, number);
        }
        if paused.woken {
            self.wake(net, user);
        }
        true
    }

    fn wake(&mut self, net: &mut Net, user: u32) {
        self.tell(net, user, None);
    }

    fn answered(&mut self, net: &mut Net, user: u32, number: u32) {
        self.tell(net, user, Some(number));
    }

    /// Tells a client the time, or that an answer is complete, and does what it orders.
    fn tell(&mut self, net: &mut Net, index: u32, answered: Option<u32>) {
        let now = net.now;
        let Some(user) = self.users.get_mut(index as usize) else { return };
        if let Some(paused) = &mut user.paused {
            match answered {
                Some(number) => paused.answered.push(number),
                None => paused.woken = true,
            }
            return;
        }
        let mut orders = std::mem::take(&mut self.orders);
        orders.gets.clear();
        if answered.is_none() {
            user.wake_at = Instant::NEVER;
        }
        orders.wake_at = user.wake_at;
        match answered {
            Some(number) => user.client.on_answer(now, number, &mut user.random, &mut orders),
            None => user.client.on_time(now, &mut user.random, &mut orders),
        }
        if user.stopped {
            orders.gets.clear();
            orders.wake_at = Instant::NEVER;
        }
        let first = user.first;
        if orders.wake_at != user.wake_at {
            user.wake_at = orders.wake_at;
            if user.wake_at != Instant::NEVER {
                if let Some(connection) = self.connections.get(first as usize) {
                    net.wheel.push(user.wake_at, Event::Client(connection.flow));
                }
            }
        }
        for get in &orders.gets {
            if let Some(connection) = self.connections.get_mut((first + get.connection) as usize) {
                connection.get(net, *get);
            }
        }
        self.orders = orders;
    }
}

/// `hints`: somebody reads those of its segments.
fn new_tcp(
    sender: &Arc<sojourn_transport::Config>,
    receiver: &Arc<ReceiverConfig>,
    seed: u64,
    ways: (Egress, Egress),
    hints: bool,
) -> Tcp {
    let mut endpoint = Sender::seeded(Arc::clone(sender), seed);
    if hints {
        endpoint.give_hints();
    }
    Tcp {
        sender: endpoint,
        receiver: Receiver::new(Arc::clone(receiver)),
        unstamped: !sender.timestamps,
        way: ways.0,
        ack_way: ways.1,
        unwritten: 0,
        transfer: u64::MAX,
        stays_open: true,
        mark: u64::MAX,
        retransmit_at: Instant::NEVER,
        pace_at: Instant::NEVER,
        acknowledge_at: Instant::NEVER,
    }
}

impl Connection {
    fn get(&mut self, net: &mut Net, get: Get) {
        self.get = get;
        if self.is_open && !get.anew {
            return self.ask(net);
        }
        // Another port, so that queues take it for another flow.
        self.hash = self.hash.wrapping_mul(0x9e37_79b1).wrapping_add(1);
        if self.is_open {
            net.settle_route(self.tcp.way);
            net.settle_route(self.tcp.ack_way);
            if let Some(hashes) = net.hashes.get_mut(self.flow as usize) {
                hashes.flow = self.hash;
            }
        }
        self.first_sent.get_or_insert(net.now);
        self.is_open = false;
        self.stage = Stage::Opening;
        self.new_packet(net);
    }

    #[inline(never)]
    fn pump(&mut self, net: &mut Net) {
        self.tcp.pump(net, self.flow);
    }

    /// Sends the request.
    fn ask(&mut self, net: &mut Net) {
        self.stage = Stage::Asked;
        self.tcp.mark = self.tcp.receiver.delivered().get() + self.get.answer;
        self.new_packet(net);
    }

    fn new_packet(&mut self, net: &mut Net) {
        self.asked = self.asked.wrapping_add(1);
        self.served = false;
        self.backoff = 0;
        self.send(net);
    }

    /// Sends SYN or request, for the first time or again.
    fn send(&mut self, net: &mut Net) {
        let is_syn = self.stage == Stage::Opening;
        let header = if is_syn { SYN_HEADER } else { DATA_HEADER }.get() as u32;
        let saved = if self.tcp.unstamped { unstamped_saves(is_syn) } else { 0 };
        let bytes = header - saved + if is_syn { 0 } else { self.get.request };
        let load = Load::new(bytes, NO_ORDINAL, Ecn::NotEct);
        let datagram = Datagram { sent: net.now, payload: self.asked };
        net.launch(Body::Load(load, Payload::Reply(datagram)), self.flow, self.tcp.ack_way, bytes);
        let timeout = if is_syn { self.sender.initial_rto } else { self.tcp.sender.rto() };
        let timeout = Span::from_nanos(timeout.nanos().saturating_mul(1 << self.backoff.min(DOUBLINGS)));
        self.retry_at = net.now + timeout.min(self.sender.max_rto);
        net.wheel.push(self.retry_at, Event::Client(self.flow));
    }

    /// The server takes the connection: its SYN-ACK leaves a nanosecond later, so that nothing of an earlier connection is as young.
    fn accept(&mut self, net: &mut Net) {
        self.past = self.counts();
        let ways = (self.tcp.way, self.tcp.ack_way);
        self.tcp = new_tcp(&self.sender, &self.receiver, self.seeds.next_u64(), ways, net.windows_read);
        // Complete with the SYN.
        self.tcp.mark = 0;
        self.is_open = true;
        self.opened = net.now + Span::from_nanos(1);
        net.wheel.push(self.opened, Event::Client(self.flow));
    }

    /// Of all connections so far.
    fn counts(&self) -> TcpCounts {
        self.past.plus(&TcpCounts::of(&self.tcp))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Packed, Packet};
    use crate::simulation::{Options, Simulation};
    use sojourn_transport::{Ack, Data};
    use sojourn_units::Bytes;

    #[test]
    fn packets_of_an_earlier_connection_are_ignored() {
        // Pages of one object of 30 kB, each over a new connection: 80 ms for connection, request and first data, and 25 ms for the
        // data at 10 Mbit/s. So the second page's data is not complete
        // when it begins to come.
        let text = "name = \"t\"\nduration = \"1 s\"\n[[links]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\nrate = \"10 Mbit/s\"\n\
                    delay = \"20 ms\"\n[[flows]]\nname = \"w\"\nfrom = \"a\"\nto = \"b\"\n\
                    traffic = { kind = \"web\", objects = 1, connections = 1, object_size = \"30 kB\" }\n";
        let document = sojourn_scenario::load(text, "t", &[]).expect("a scenario");
        let network = Arc::new(document.resolve().expect("a network"));
        let mut simulation = Simulation::new(network, Options::default());
        // Until data is on its way over the second connection.
        let mut opened = Vec::new();
        let mut at = Instant::ZERO;
        while opened.len() < 2 || simulation.hosts.clients.connections[0].tcp.sender.in_flight() == Bytes::ZERO {
            at += Span::from_millis(1);
            simulation.run_until(at);
            let now = simulation.hosts.clients.connections[0].opened;
            if now > Instant::ZERO && opened.last() != Some(&now) {
                opened.push(now);
            }
            assert!(at < Instant::ZERO + Span::from_secs(1));
        }
        let Simulation { net, hosts, .. } = &mut simulation;
        let load = Load::new(1500, 0, Ecn::NotEct);
        let data = |sent| Body::Load(load, Payload::Data(Data { seq: 0, sent, len: 1448, flags: 0 }));
        let ack = |sent| {
            let ack = Ack { ack: 1448, echo: sent, received_at: sent, window: 1 << 20, ..Ack::default() };
            Body::Ack(Packed::new(&ack, false))
        };
        let sent = opened[1].before(Span::from_nanos(1));
        let mut taken = |body| {
            let handle = net.slab.insert(Packet { body, flow: 0, hop: 0 });
            hosts.clients.of_packet(net, handle).is_some()
        };
        assert_eq!([data(sent), ack(sent)].map(&mut taken), [false, false]);
        assert_eq!([data(opened[1]), ack(opened[1])].map(&mut taken), [true, true]);
    }
}
