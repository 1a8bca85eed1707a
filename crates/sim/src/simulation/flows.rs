//! Packets at hosts: applications, TCP and UDP.

use super::{Simulation, Tcp, TcpCounts, What};
use crate::packet::{Body, Packet};
use crate::transport::segment::unstamped_saves;
use crate::transport::{Ack, AckAction, Control, Data};
use sojourn_aqm::Ecn;
use sojourn_units::{Bytes, Instant};

/// The ECN field of a segment.
fn codepoint(data: &Data) -> Ecn {
    match (data.has(Data::ECT), data.has(Data::ECT_1)) {
        (false, _) => Ecn::NotEct,
        (true, false) => Ecn::Ect0,
        (true, true) => Ecn::Ect1,
    }
}

impl Simulation {
    /// A flow begins.
    pub(super) fn start(&mut self, index: u32) {
        let flow = &self.flows[index as usize];
        if let Some(stop) = flow.stop {
            self.wheel.push(stop, What::Stop(index));
        }
        if flow.source.is_some() {
            self.schedule_emission(index);
        } else if let Some(tcp) = &mut self.tcp[index as usize] {
            tcp.unwritten = tcp.transfer.unwrap_or_default();
        }
        // A connection opens when its flow begins, whatever there is to send.
        self.pump(index);
    }

    /// A flow's application ends: what it handed over is still sent.
    pub(super) fn stop(&mut self, index: u32) {
        self.flows[index as usize].source = None;
        if let Some(tcp) = &mut self.tcp[index as usize] {
            tcp.unwritten = 0;
            tcp.sender.close();
        }
        self.pump(index);
    }

    fn schedule_emission(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        let Some(source) = &mut flow.source else { return };
        let emission = source.next(&mut flow.random);
        flow.next_bytes = emission.bytes;
        self.wheel.push(self.now + emission.gap, What::Emit(index));
    }

    /// A source hands over its next packet.
    pub(super) fn emit(&mut self, index: u32) {
        let now = self.now;
        let flow = &self.flows[index as usize];
        if flow.source.is_none() {
            return;
        }
        let bytes = flow.next_bytes;
        if let Some(tcp) = &mut self.tcp[index as usize] {
            // A write that does not fit the send buffer is refused whole, as ns-3's OnOffApplication finds it.
            let bytes = Bytes::new(u64::from(bytes));
            if tcp.sender.buffer_space() >= bytes {
                tcp.sender.write(bytes);
                self.pump(index);
            }
        } else {
            let packet = Packet {
                body: Body::Datagram { sent: now, payload: bytes },
                flow: index,
                hop: flow.route,
                bytes: bytes + flow.header,
                ecn: flow.ecn,
                ordinal: self.meters[index as usize].sent_packets as u32,
            };
            let meter = &mut self.meters[index as usize];
            meter.sent_packets += 1;
            meter.first_sent.get_or_insert(now);
            self.launch(packet);
        }
        self.schedule_emission(index);
    }

    /// A host sends a packet along its route.
    #[inline]
    fn launch(&mut self, packet: Packet) {
        let hop = self.routes[packet.hop as usize];
        let handle = self.slab.insert(packet);
        self.audit.sent += 1;
        self.enter(handle, hop);
    }

    /// Sends all that a sender may send now, and sees to its timers.
    fn pump(&mut self, index: u32) {
        let now = self.now;
        let Some(tcp) = &mut self.tcp[index as usize] else { return };
        if tcp.unwritten > 0 {
            tcp.write();
        }
        // Bound: the window, which the sender itself limits.
        loop {
            let Some(tcp) = &mut self.tcp[index as usize] else { return };
            let Some(data) = tcp.sender.poll(now) else { break };
            let saved = if tcp.unstamped { unstamped_saves(data.has(Data::SYN)) } else { 0 };
            let packet = Packet {
                bytes: data.ip_bytes().get() as u32 - saved,
                ecn: codepoint(&data),
                body: Body::Data(data),
                flow: index,
                hop: tcp.route,
                ordinal: tcp.sender.stats().segments_sent as u32,
            };
            self.launch(packet);
        }
        let Some(tcp) = &mut self.tcp[index as usize] else { return };
        let timer = tcp.sender.timer();
        if timer < tcp.retransmit_at {
            tcp.retransmit_at = timer;
            self.wheel.push(timer, What::Retransmit(index));
        }
        let pace = tcp.sender.pacing_deadline();
        if pace < tcp.pace_at {
            tcp.pace_at = pace;
            self.wheel.push(pace, What::Pace(index));
        }
    }

    /// A sender's retransmission timer may have expired; one that moved later is armed again.
    pub(super) fn retransmit_timer(&mut self, index: u32) {
        let Some(tcp) = &mut self.tcp[index as usize] else { return };
        if tcp.retransmit_at != self.now {
            return;
        }
        tcp.retransmit_at = Instant::NEVER;
        if tcp.sender.timer() <= self.now {
            tcp.sender.on_timer(self.now);
        }
        self.pump(index);
    }

    /// A sender's pacing gap is over.
    pub(super) fn pace_timer(&mut self, index: u32) {
        let Some(tcp) = &mut self.tcp[index as usize] else { return };
        if tcp.pace_at != self.now {
            return;
        }
        tcp.pace_at = Instant::NEVER;
        self.pump(index);
    }

    /// A receiver's delayed acknowledgement may be due.
    pub(super) fn acknowledge_timer(&mut self, index: u32) {
        let now = self.now;
        let Some(tcp) = &mut self.tcp[index as usize] else { return };
        if tcp.acknowledge_at != now {
            return;
        }
        tcp.acknowledge_at = Instant::NEVER;
        let timer = tcp.receiver.timer();
        if timer > now {
            self.arm_acknowledgement(index);
        } else {
            let route = tcp.ack_route;
            if let Some(ack) = tcp.receiver.on_timer(now) {
                self.send_ack(index, route, ack);
            }
            self.arm_acknowledgement(index);
        }
    }

    /// Sees to a receiver's timer.
    fn arm_acknowledgement(&mut self, index: u32) {
        let Some(tcp) = &mut self.tcp[index as usize] else { return };
        let timer = tcp.receiver.timer();
        if timer < tcp.acknowledge_at {
            tcp.acknowledge_at = timer;
            self.wheel.push(timer, What::Acknowledge(index));
        }
    }

    #[inline]
    fn send_ack(&mut self, index: u32, route: u32, ack: Ack) {
        let unstamped = self.tcp[index as usize].as_ref().is_some_and(|tcp| tcp.unstamped);
        let saved = if unstamped { unstamped_saves(ack.control == Control::Syn) } else { 0 };
        let packet = Packet {
            bytes: ack.header_bytes().get() as u32 - saved,
            body: Body::Ack(ack),
            flow: index,
            hop: route,
            ecn: Ecn::NotEct,
            ordinal: 0,
        };
        self.launch(packet);
    }

    /// A packet has reached its receiver.
    #[inline]
    pub(super) fn deliver(&mut self, handle: u32) {
        let now = self.now;
        self.audit.delivered += 1;
        let packet = self.slab.remove(handle);
        let index = packet.flow;
        let sent = match &packet.body {
            Body::Ack(ack) => {
                if let Some(tcp) = &mut self.tcp[index as usize] {
                    tcp.sender.on_ack(now, ack);
                }
                self.pump(index);
                return;
            }
            Body::Data(data) => data.sent,
            Body::Datagram { sent, .. } => *sent,
        };
        let meter = &mut self.meters[index as usize];
        // Without payload it is no data packet: it opens, closes, acknowledges or probes.
        if packet.is_data() {
            self.delays[meter.group as usize].add(now - sent);
            meter.delay.add(now - sent);
            meter.delivered_ip_bytes += u64::from(packet.bytes);
            meter.last_delivered = Some(now);
        }
        match &packet.body {
            Body::Data(data) => {
                let (data, ce) = (*data, packet.ecn == Ecn::Ce);
                self.receive(index, &data, ce);
            }
            Body::Datagram { payload, .. } => meter.payload += u64::from(*payload),
            Body::Ack(_) => {}
        }
    }

    /// A segment reaches a flow's receiver.
    #[inline]
    fn receive(&mut self, index: u32, data: &Data, ce: bool) {
        let now = self.now;
        let Some(tcp) = &mut self.tcp[index as usize] else { return };
        let route = tcp.ack_route;
        let before = tcp.receiver.on_codepoint(ce);
        let action = tcp.receiver.on_data(now, data, ce);
        if tcp.transfer.is_some_and(|bytes| tcp.receiver.delivered().get() >= bytes) {
            self.meters[index as usize].completed.get_or_insert(now);
        }
        if let Some(ack) = before {
            self.send_ack(index, route, ack);
        }
        if let AckAction::Now(ack) = action {
            self.send_ack(index, route, ack);
        }
        if let Some(tcp) = &self.tcp[index as usize] {
            if tcp.receiver.timer() < tcp.acknowledge_at {
                self.arm_acknowledgement(index);
            }
        }
    }

    /// TCP's own counters of a flow.
    pub(super) fn tcp_counts(&self, index: usize) -> TcpCounts {
        let Some(tcp) = &self.tcp[index] else { return TcpCounts::default() };
        let stats = tcp.sender.stats();
        TcpCounts {
            sent: stats.segments_sent,
            rtt_ns: u128::from(stats.rtt_sum.nanos()),
            rtt_samples: stats.rtt_samples,
            retransmitted: stats.segments_retransmitted,
            timeouts: stats.timeouts,
            delivered: tcp.receiver.delivered().get(),
        }
    }
}

impl Tcp {
    /// The application of a finite transfer writes whenever there is room.
    #[inline(never)]
    fn write(&mut self) {
        self.unwritten -= self.sender.write(Bytes::new(self.unwritten)).get();
        if self.unwritten == 0 {
            self.sender.close();
        }
    }
}
