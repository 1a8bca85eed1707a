//! Packets at hosts: applications, TCP and UDP.

use super::{Simulation, TcpCounts, What, NONE};
use crate::packet::{Body, Packet};
use crate::transport::{Ack, AckAction, Data};
use sojourn_aqm::Ecn;
use sojourn_units::{Bytes, Instant};

impl Simulation {
    /// A flow begins.
    pub(super) fn start(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        if let Some(stop) = flow.stop {
            self.wheel.push(stop, What::Stop(index));
        }
        if flow.source.is_some() {
            self.schedule_emission(index);
        } else if flow.tcp != NONE {
            flow.unwritten = flow.transfer.unwrap_or_default();
            self.pump(index);
        }
    }

    /// A flow's application ends: what it handed over is still sent.
    pub(super) fn stop(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        flow.source = None;
        flow.unwritten = 0;
        if let Some(tcp) = self.tcp.get_mut(flow.tcp as usize) {
            tcp.sender.close();
        }
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
        let flow = &mut self.flows[index as usize];
        if flow.source.is_none() {
            return;
        }
        let bytes = flow.next_bytes;
        if let Some(tcp) = self.tcp.get_mut(flow.tcp as usize) {
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
                ecn: Ecn::NotEct,
            };
            self.send_data(packet);
        }
        self.schedule_emission(index);
    }

    fn send_data(&mut self, packet: Packet) {
        let meter = &mut self.flows[packet.flow as usize].meter;
        meter.sent_packets += 1;
        meter.first_sent.get_or_insert(self.now);
        self.launch(packet);
    }

    /// A host sends a packet along its route.
    fn launch(&mut self, packet: Packet) {
        let hop = self.routes[packet.hop as usize];
        let handle = self.slab.insert(packet);
        self.audit.sent += 1;
        self.enter(handle, hop);
    }

    /// Sends all that a sender may send now, and sees to its timers.
    fn pump(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        let (route, tcp) = (flow.route, flow.tcp as usize);
        if flow.unwritten > 0 {
            // The application of a finite transfer writes whenever there is room.
            let sender = &mut self.tcp[tcp].sender;
            flow.unwritten -= sender.write(Bytes::new(flow.unwritten)).get();
            if flow.unwritten == 0 {
                sender.close();
            }
        }
        // Bound: the window, which the sender itself limits.
        while let Some(data) = self.tcp[tcp].sender.poll(self.now) {
            let packet = Packet {
                bytes: data.ip_bytes().get() as u32,
                ecn: if data.has(Data::ECT) { Ecn::Ect0 } else { Ecn::NotEct },
                body: Body::Data(data),
                flow: index,
                hop: route,
            };
            self.send_data(packet);
        }
        let tcp = &mut self.tcp[tcp];
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
        let Some(tcp) = self.tcp.get_mut(self.flows[index as usize].tcp as usize) else { return };
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
        let Some(tcp) = self.tcp.get_mut(self.flows[index as usize].tcp as usize) else { return };
        if tcp.pace_at != self.now {
            return;
        }
        tcp.pace_at = Instant::NEVER;
        self.pump(index);
    }

    /// A receiver's delayed acknowledgement may be due.
    pub(super) fn acknowledge_timer(&mut self, index: u32) {
        let now = self.now;
        let Some(tcp) = self.tcp.get_mut(self.flows[index as usize].tcp as usize) else { return };
        if tcp.acknowledge_at != now {
            return;
        }
        tcp.acknowledge_at = Instant::NEVER;
        let timer = tcp.receiver.timer();
        if timer > now {
            self.arm_acknowledgement(index);
        } else if let Some(ack) = tcp.receiver.on_timer(now) {
            self.send_ack(index, ack);
        }
    }

    fn arm_acknowledgement(&mut self, index: u32) {
        let tcp = &mut self.tcp[self.flows[index as usize].tcp as usize];
        let timer = tcp.receiver.timer();
        if timer < tcp.acknowledge_at {
            tcp.acknowledge_at = timer;
            self.wheel.push(timer, What::Acknowledge(index));
        }
    }

    fn send_ack(&mut self, index: u32, ack: Ack) {
        let packet = Packet {
            bytes: ack.header_bytes().get() as u32,
            body: Body::Ack(ack),
            flow: index,
            hop: self.flows[index as usize].ack_route,
            ecn: Ecn::NotEct,
        };
        self.launch(packet);
    }

    /// A packet has reached its receiver.
    pub(super) fn deliver(&mut self, handle: u32) {
        let packet = *self.slab.remove(handle);
        self.audit.delivered += 1;
        match packet.body {
            Body::Data(data) => self.deliver_data(&packet, &data),
            Body::Ack(ack) => {
                let tcp = self.flows[packet.flow as usize].tcp as usize;
                self.tcp[tcp].sender.on_ack(self.now, &ack);
                self.pump(packet.flow);
            }
            Body::Datagram { sent, payload } => {
                self.arrived(&packet, sent);
                self.flows[packet.flow as usize].meter.payload += u64::from(payload);
            }
        }
    }

    /// Counts a data packet that has arrived.
    fn arrived(&mut self, packet: &Packet, sent: Instant) {
        let now = self.now;
        let meter = &mut self.flows[packet.flow as usize].meter;
        meter.delivered_packets += 1;
        meter.delivered_ip_bytes += u64::from(packet.bytes);
        meter.delay.add(now - sent);
        meter.last_delivered = Some(now);
        self.delay.add(now - sent);
    }

    fn deliver_data(&mut self, packet: &Packet, data: &Data) {
        let now = self.now;
        self.arrived(packet, data.sent);
        let index = packet.flow;
        let flow = &mut self.flows[index as usize];
        let tcp = &mut self.tcp[flow.tcp as usize];
        let action = tcp.receiver.on_data(now, data, packet.ecn == Ecn::Ce);
        if flow.transfer.is_some_and(|bytes| tcp.receiver.delivered().get() >= bytes) {
            flow.meter.completed.get_or_insert(now);
        }
        match action {
            AckAction::Now(ack) => self.send_ack(index, ack),
            AckAction::Delay(_) => self.arm_acknowledgement(index),
            AckAction::None => {}
        }
    }

    /// TCP's own counters of a flow.
    pub(super) fn tcp_counts(&self, index: usize) -> TcpCounts {
        let Some(tcp) = self.tcp.get(self.flows[index].tcp as usize) else { return TcpCounts::default() };
        let stats = tcp.sender.stats();
        TcpCounts {
            rtt_ns: u128::from(stats.rtt_sum.nanos()),
            rtt_samples: stats.rtt_samples,
            retransmitted: stats.segments_retransmitted,
            timeouts: stats.timeouts,
            delivered: tcp.receiver.delivered().get(),
        }
    }
}
