//! Packets at hosts: applications, TCP and UDP.

use super::net::{Egress, Net};
use super::tcp::{Stands, Tcp, TcpCounts};
use super::{Ends, Event, FlowMeter, Hosts, Paused, Simulation};
use crate::packet::{Body, Datagram, Load, Packed, Payload};
use sojourn_aqm::Ecn;
use sojourn_measure::Histogram;
use sojourn_transport::segment::unstamped_saves;
use sojourn_transport::{Ack, AckAction, Data, Hints, Path};
use sojourn_units::{Bytes, Instant};

impl Simulation {
    /// A flow begins.
    pub(super) fn start(&mut self, index: u32) {
        if self.hosts.clients.begin(&mut self.net, index) {
            return;
        }
        if let Some(paused) = self.hosts.paused.get_mut(&index) {
            paused.due = true;
            return;
        }
        let flow = &mut self.hosts.flows[index as usize];
        flow.begun = true;
        if let Some(stop) = flow.stop {
            self.net.wheel.push(stop, Event::Stop(index));
        }
        if flow.source.is_some() {
            self.schedule_emission(index);
        } else if let Some(tcp) = &mut self.hosts.ends[index as usize].tcp {
            tcp.unwritten = if tcp.transfer == u64::MAX { 0 } else { tcp.transfer };
        }
        // A connection opens when its flow begins, whatever there is to send.
        self.pump(index);
    }

    /// A change stops a flow: its application sends nothing until it goes on.
    pub(super) fn pause(&mut self, index: u32) {
        if self.hosts.clients.pause(index) || self.hosts.paused.contains_key(&index) {
            return;
        }
        let mut paused = Paused::default();
        let flow = &mut self.hosts.flows[index as usize];
        if flow.begun {
            paused.source = flow.source.take();
            paused.pending = paused.source.is_some();
            if let Some(tcp) = &mut self.hosts.ends[index as usize].tcp {
                paused.unwritten = std::mem::take(&mut tcp.unwritten);
                if tcp.transfer == u64::MAX && !paused.pending {
                    tcp.sender.pause();
                }
            }
        }
        self.hosts.paused.insert(index, paused);
    }

    /// A change lets a flow go on.
    pub(super) fn resume(&mut self, index: u32) {
        if self.hosts.clients.resume(&mut self.net, index) {
            return;
        }
        let Some(paused) = self.hosts.paused.remove(&index) else { return };
        if paused.due {
            return self.start(index);
        }
        let flow = &mut self.hosts.flows[index as usize];
        if !flow.begun || flow.stop.is_some_and(|stop| stop <= self.net.now) {
            return;
        }
        let is_packets = paused.source.is_some();
        flow.source = paused.source;
        if is_packets {
            if !paused.pending {
                self.schedule_emission(index);
            }
            return;
        }
        if let Some(tcp) = &mut self.hosts.ends[index as usize].tcp {
            if tcp.transfer == u64::MAX {
                tcp.sender.release();
            } else {
                tcp.unwritten = paused.unwritten;
            }
        }
        self.pump(index);
    }

    /// A flow's application ends: what it handed over is still sent.
    pub(super) fn stop(&mut self, index: u32) {
        if self.hosts.clients.stop(index) {
            return;
        }
        self.hosts.paused.remove(&index);
        self.hosts.flows[index as usize].source = None;
        if let Some(tcp) = &mut self.hosts.ends[index as usize].tcp {
            tcp.unwritten = 0;
            tcp.sender.close();
        }
        self.pump(index);
    }

    fn schedule_emission(&mut self, index: u32) {
        let flow = &mut self.hosts.flows[index as usize];
        let Some(source) = &mut flow.source else { return };
        let emission = source.next(&mut flow.random);
        flow.next_bytes = emission.bytes;
        self.net.wheel.push(self.net.now + emission.gap, Event::Emit(index));
    }

    /// A source hands over its next packet, or an application that has waited begins to write.
    pub(super) fn emit(&mut self, index: u32) {
        let now = self.net.now;
        let flow = &self.hosts.flows[index as usize];
        if flow.source.is_none() {
            if let Some(paused) = self.hosts.paused.get_mut(&index) {
                paused.pending = false;
                return;
            }
            if let Some(tcp) = &mut self.hosts.ends[index as usize].tcp {
                tcp.sender.release();
            }
            return self.pump(index);
        }
        let payload = flow.next_bytes;
        if let Some(tcp) = &mut self.hosts.ends[index as usize].tcp {
            // A write that does not fit the send buffer is refused whole, as ns-3's OnOffApplication finds it.
            let bytes = Bytes::new(u64::from(payload));
            if tcp.sender.buffer_space() >= bytes {
                tcp.sender.write(bytes);
                self.pump(index);
            }
        } else {
            let meter = &mut self.hosts.ends[index as usize].meter;
            let flow = &mut self.hosts.flows[index as usize];
            // The meter counts anew when the measurement begins.
            let ordinal = flow.emitted;
            flow.emitted = ordinal.wrapping_add(1);
            let load = Load::new(payload + flow.header, ordinal, flow.ecn);
            let datagram = Datagram { sent: now, payload };
            let body = match flow.echo {
                None => Body::Load(load, Payload::Datagram(datagram)),
                Some(_) => Body::Load(load, Payload::Request(datagram)),
            };
            meter.sent_packets += 1;
            meter.first_sent.get_or_insert(now);
            self.net.launch(body, index, flow.way, load.bytes);
        }
        self.schedule_emission(index);
    }

    /// Sends all that a sender may send now, and sees to its timers.
    fn pump(&mut self, index: u32) {
        if let Some(tcp) = &mut self.hosts.ends[index as usize].tcp {
            tcp.pump(&mut self.net, index);
        }
    }

    /// A sender's retransmission timer may have expired; one that moved later is armed again. It takes its turn behind what
    /// arrives at this instant.
    #[inline(always)]
    pub(super) fn retransmit_timer(&mut self, index: u32) {
        let now = self.net.now;
        let Some(tcp) = self.hosts.tcp_mut(index) else { return };
        if tcp.retransmit_at != now {
            return;
        }
        if tcp.sender.timer() <= now {
            if self.net.wheel.is_over(now) {
                return self.retransmit_now(index);
            }
            return self.net.wheel.push_late(now, Event::RetransmitNow(index));
        }
        tcp.retransmit_at = Instant::NEVER;
        tcp.pump(&mut self.net, index);
    }

    /// It is due, unless an arrival of this instant has moved it.
    #[inline(never)]
    pub(super) fn retransmit_now(&mut self, index: u32) {
        let now = self.net.now;
        let Some(tcp) = self.hosts.tcp_mut(index) else { return };
        if tcp.retransmit_at != now {
            return;
        }
        tcp.retransmit_at = Instant::NEVER;
        if tcp.sender.timer() <= now {
            tcp.sender.on_timer(now);
        }
        tcp.pump(&mut self.net, index);
    }

    /// A sender's pacing gap may be over. It takes its turn behind what arrives at this instant: a gap is often as long as a
    /// packet takes at the bottleneck.
    pub(super) fn pace_timer(&mut self, index: u32) {
        let now = self.net.now;
        if self.net.wheel.is_over(now) {
            return self.pace_now(index);
        }
        if self.hosts.tcp_mut(index).is_some_and(|tcp| tcp.pace_at == now) {
            self.net.wheel.push_late(now, Event::PaceNow(index));
        }
    }

    /// It is, unless an arrival of this instant has moved its end.
    pub(super) fn pace_now(&mut self, index: u32) {
        let Some(tcp) = self.hosts.tcp_mut(index) else { return };
        if tcp.pace_at == self.net.now {
            tcp.pace_at = Instant::NEVER;
            tcp.pump(&mut self.net, index);
        }
    }

    /// A receiver's delayed acknowledgement may be due. It takes its turn behind what arrives at this instant: a packet that a
    /// delayed acknowledgement brought about often comes as the next one is due.
    #[inline(always)]
    pub(super) fn acknowledge_timer(&mut self, index: u32) {
        let now = self.net.now;
        let Some(tcp) = self.hosts.tcp_mut(index) else { return };
        if tcp.acknowledge_at != now {
            return;
        }
        let timer = tcp.receiver.timer();
        if timer <= now {
            if self.net.wheel.is_over(now) {
                return self.acknowledge_now(index);
            }
            return self.net.wheel.push_late(now, Event::AcknowledgeNow(index));
        }
        // One that has moved later is armed again.
        tcp.acknowledge_at = timer;
        if timer != Instant::NEVER {
            self.net.wheel.push(timer, Event::Acknowledge(index));
        }
    }

    /// It is due, unless an arrival of this instant has moved it.
    #[inline(never)]
    pub(super) fn acknowledge_now(&mut self, index: u32) {
        let now = self.net.now;
        let Some(tcp) = self.hosts.tcp_mut(index) else { return };
        if tcp.acknowledge_at != now {
            return;
        }
        tcp.acknowledge_at = Instant::NEVER;
        if tcp.receiver.timer() <= now {
            if let Some(ack) = tcp.receiver.on_timer(now) {
                tcp.send_ack(&mut self.net, index, &ack);
            }
        }
        tcp.arm_acknowledgement(&mut self.net, index);
    }

    /// A packet has reached its receiver.
    #[inline(always)]
    pub(super) fn deliver(&mut self, handle: u32) {
        let Self { net, hosts, .. } = self;
        net.audit.delivered += 1;
        let packet = net.slab.remove(handle);
        let index = packet.flow;
        if let Body::Load(load, Payload::Data(Data { seq, sent, len, flags })) = packet.body {
            // Field by field: a copy would take the padding along.
            hosts.receive(net, (index, handle), Data { seq, sent, len, flags }, load);
        } else if let Body::Ack(_) = packet.body {
            let tcp = match &mut hosts.ends[index as usize].tcp {
                Some(tcp) => tcp,
                None => match hosts.clients.of_packet(net, handle) {
                    Some(tcp) => tcp,
                    None => return,
                },
            };
            tcp.take_ack(net, index, handle);
        } else {
            self.deliver_datagram(handle);
        }
    }

    /// A datagram has reached the other end, in the packet that had this handle.
    #[inline(never)]
    fn deliver_datagram(&mut self, handle: u32) {
        let Self { net, hosts, .. } = self;
        let now = net.now;
        let packet = net.slab.get(handle);
        let index = packet.flow;
        match packet.body {
            Body::Ack(_) | Body::Load(_, Payload::Data(_)) => {}
            Body::Load(load, Payload::Datagram(datagram)) => {
                let ordinal = packet.ordinal();
                hosts.delivered(now, index, datagram.sent, load.bytes);
                hosts.ends[index as usize].meter.payload += u64::from(datagram.payload);
                // A copy of a link has no ordinal number.
                if let Some((listener, ordinal)) = hosts.flows[index as usize].listener.as_mut().zip(ordinal) {
                    listener.hear(now, ordinal, datagram.sent);
                }
            }
            Body::Load(load, Payload::Request(datagram)) => {
                hosts.delivered(now, index, datagram.sent, load.bytes);
                hosts.ends[index as usize].meter.payload += u64::from(datagram.payload);
                if let Some(echo) = &hosts.flows[index as usize].echo {
                    let body = Body::Load(load, Payload::Reply(datagram));
                    net.launch(body, index, echo.way, load.bytes);
                }
            }
            Body::Load(_, Payload::Reply(datagram)) => {
                let is_first = packet.ordinal().is_some();
                let echo = hosts.flows[index as usize].echo.as_mut().filter(|_| is_first);
                if let Some(echo) = echo {
                    echo.times.add(now - datagram.sent);
                    echo.distribution.add(now - datagram.sent);
                } else {
                    hosts.clients.serve(net, index, datagram.payload);
                }
            }
        }
    }
}

impl Hosts {
    /// A datagram of a flow, sent at `sent`, is here.
    fn delivered(&mut self, now: Instant, index: u32, sent: Instant, bytes: u32) {
        let meter = &mut self.ends[index as usize].meter;
        meter.delivered(now, sent, bytes, &mut self.delays);
    }

    /// A segment reaches a flow's receiver, in the packet that had this handle.
    #[inline(always)]
    fn receive(&mut self, net: &mut Net, (index, handle): (u32, u32), data: Data, load: Load) {
        let (now, ce) = (net.now, load.ecn == Ecn::Ce);
        let ends = &mut self.ends[index as usize];
        // Without payload it is no data packet: it opens, closes, acknowledges or probes.
        if data.len > 0 {
            ends.meter.delivered(now, data.sent, load.bytes, &mut self.delays);
        }
        // One call of what follows, whoever's connection it is, so that it is compiled into this place.
        let tcp = match &mut ends.tcp {
            Some(tcp) => tcp,
            None => match self.clients.of_packet(net, handle) {
                Some(tcp) => tcp,
                None => return,
            },
        };
        let reached = if tcp.receiver.expects(&data, ce) {
            match tcp.receiver.on_expected_data(now, &data) {
                AckAction::Now(ack) => tcp.launch_ack(net, index, &ack),
                AckAction::Delay(at) => tcp.arm_acknowledgement_at(net, index, at),
                AckAction::None => {}
            }
            tcp.receiver.reached()
        } else {
            tcp.take_data(net, index, data, ce);
            tcp.receiver.delivered()
        };
        if reached.get() >= tcp.mark {
            self.reached(net, index, data.sent);
        }
    }

    /// So much has arrived that something happens, with a segment sent at `sent`.
    #[cold]
    #[inline(never)]
    fn reached(&mut self, net: &mut Net, index: u32, sent: Instant) {
        let Ends { tcp: Some(tcp), meter } = &mut self.ends[index as usize] else {
            return self.clients.complete(net, index);
        };
        let (now, delivered) = (net.now, tcp.receiver.delivered().get());
        tcp.mark = meter.reached(now, sent, delivered, tcp.transfer);
        if let Some(probes) = self.probes.get_mut(&index) {
            tcp.mark = tcp.mark.min(probes.reached(now, delivered));
        }
    }

    /// TCP's own counters of a flow.
    pub(super) fn tcp_counts(&self, index: usize) -> TcpCounts {
        let Some(tcp) = self.tcp_of(index) else { return TcpCounts::default() };
        let counts = TcpCounts::of(tcp);
        if self.ends[index].tcp.is_some() {
            return counts;
        }
        self.clients.past(index).0.plus(&counts)
    }

    /// Whether a flow has begun and has not ended.
    pub(super) fn stands(&self, index: usize) -> Stands {
        if let Some(stands) = self.clients.stage(index) {
            return stands;
        }
        let flow = &self.flows[index];
        let lasts = flow.begun
            && match &self.ends[index].tcp {
                Some(tcp) => !tcp.sender.finished(),
                None => flow.source.is_some() || self.paused.contains_key(&(index as u32)),
            };
        Stands { lasts, has_sender: lasts }
    }

    /// A flow's TCP; of a client's connections the present one.
    pub(super) fn tcp_of(&self, index: usize) -> Option<&Tcp> {
        self.ends[index].tcp.as_deref().or_else(|| self.clients.tcp(index))
    }

    fn tcp_mut(&mut self, index: u32) -> Option<&mut Tcp> {
        match &mut self.ends[index as usize].tcp {
            Some(tcp) => Some(tcp),
            None => self.clients.tcp_mut(index),
        }
    }
}

/// The network as a flow's sender sees it.
struct Host<'a> {
    net: &'a mut Net,
    flow: u32,
    way: Egress,
    unstamped: bool,
    /// The packet that has arrived, whose slot is free again.
    arrived: u32,
}

impl Path for Host<'_> {
    #[inline(always)]
    fn ack(&self) -> Ack {
        match &self.net.slab.get(self.arrived).body {
            Body::Ack(ack) => ack.unpack(),
            _ => Ack::default(),
        }
    }

    #[inline(always)]
    fn send(&mut self, data: Data, number: u64, hints: Hints) {
        let load = self.load(&data, number).telling(hints);
        self.net.launch(Body::Load(load, Payload::Data(data)), self.flow, self.way, load.bytes);
    }

    #[inline(always)]
    fn send_next(&mut self, data: Data, number: u64) {
        let load = self.load(&data, number);
        self.net.launch_next(Body::Load(load, Payload::Data(data)), self.flow, self.way, load.bytes);
    }
}

impl Host<'_> {
    /// What a packet with this segment has besides it.
    #[inline(always)]
    fn load(&self, data: &Data, number: u64) -> Load {
        let saved = if self.unstamped { unstamped_saves(data.has(Data::SYN)) } else { 0 };
        Load::new(data.ip_bytes().get() as u32 - saved, number as u32, data.codepoint())
    }
}

impl FlowMeter {
    /// A packet of `bytes`, sent at `sent`, is here.
    #[inline(always)]
    fn delivered(&mut self, now: Instant, sent: Instant, bytes: u32, delays: &mut [Histogram]) {
        self.delay.add(now - sent);
        self.delivered_ip_bytes += u64::from(bytes);
        self.last_delivered = Some(now);
        if let Some(delays) = delays.get_mut(self.place as usize) {
            delays.add(now - sent);
        }
    }

    /// So much payload of a `transfer` has arrived by `now`, with a segment sent at `sent`; returns how much must arrive for
    /// this to be looked at again.
    fn reached(&mut self, now: Instant, sent: Instant, delivered: u64, transfer: u64) -> u64 {
        if self.begun == Instant::ZERO {
            (self.opened, self.begun) = (sent, now);
        }
        if delivered < transfer {
            return transfer;
        }
        self.completed.get_or_insert(now);
        u64::MAX
    }
}

impl Tcp {
    /// The network as its sender sees it, with the packet that has arrived.
    #[inline(always)]
    fn host<'a>(&self, net: &'a mut Net, flow: u32, arrived: u32) -> Host<'a> {
        Host { net, flow, way: self.way, unstamped: self.unstamped, arrived }
    }

    /// Sends all that a sender may send now, and sees to its timers.
    pub(super) fn pump(&mut self, net: &mut Net, index: u32) {
        let now = net.now;
        if self.unwritten > 0 {
            self.write();
        }
        let mut host = self.host(net, index, u32::MAX);
        self.sender.drain(now, &mut host);
        self.arm_sender(net, index, self.sender.deadlines());
    }

    /// An acknowledgement has come, in the packet that had this handle, and what may leave now does.
    #[inline(always)]
    fn take_ack(&mut self, net: &mut Net, index: u32, handle: u32) {
        let now = net.now;
        let mut host = self.host(net, index, handle);
        if self.unwritten > 0 {
            // The application writes more as soon as there is room.
            self.sender.on_ack(now, &host.ack());
            return self.pump(net, index);
        }
        let deadlines = self.sender.answer(now, &mut host);
        self.arm_sender(net, index, deadlines);
    }

    /// Sees to a sender's timers.
    #[inline(always)]
    fn arm_sender(&mut self, net: &mut Net, index: u32, (timer, pace): (Instant, Instant)) {
        if timer < self.retransmit_at {
            self.retransmit_at = timer;
            net.wheel.push(timer, Event::Retransmit(index));
        }
        if pace < self.pace_at {
            self.pace_at = pace;
            net.wheel.push(pace, Event::Pace(index));
        }
    }

    /// A segment that is not expected has come.
    #[inline(never)]
    fn take_data(&mut self, net: &mut Net, index: u32, data: Data, ce: bool) {
        let before = self.receiver.on_codepoint(ce);
        let action = self.receiver.on_other_data(net.now, &data, ce);
        if let Some(ack) = before {
            self.launch_ack(net, index, &ack);
        }
        if let AckAction::Now(ack) = action {
            self.launch_ack(net, index, &ack);
        }
        self.arm_acknowledgement(net, index);
    }

    #[inline(never)]
    pub(super) fn send_ack(&self, net: &mut Net, index: u32, ack: &Ack) {
        self.launch_ack(net, index, ack);
    }

    #[inline(always)]
    fn launch_ack(&self, net: &mut Net, index: u32, ack: &Ack) {
        let packed = Packed::new(ack, self.unstamped);
        let bytes = packed.bytes();
        net.launch(Body::Ack(packed), index, self.ack_way, bytes);
    }

    /// Sees to a receiver's timer.
    #[inline(always)]
    pub(super) fn arm_acknowledgement(&mut self, net: &mut Net, index: u32) {
        self.arm_acknowledgement_at(net, index, self.receiver.timer());
    }

    #[inline(always)]
    fn arm_acknowledgement_at(&mut self, net: &mut Net, index: u32, timer: Instant) {
        if timer < self.acknowledge_at {
            self.acknowledge_at = timer;
            net.wheel.push(timer, Event::Acknowledge(index));
        }
    }

    /// The application of a finite transfer, or a server, writes whenever there is room.
    #[inline(never)]
    fn write(&mut self) {
        self.unwritten -= self.sender.write(Bytes::new(self.unwritten)).get();
        if self.unwritten == 0 && !self.stays_open {
            self.sender.close();
        }
    }
}
