//! The Ethernet frame of a packet of the simulator: headers as its fields say, payload of zeros.
//!
//! Texts: RFC 791, RFC 768, RFC 9293; options: RFC 2018, RFC 7323; ECN: RFC 3168, RFC 9768. Sizes are the simulator's own, so the IP
//! length is what queues count. Checksums are right.
//! A node has the address 10.0.0.1 and so on in the order of nodes. A flow has ports of its own, the source's from 49152 on.
//! What the simulator has no value for: initial sequence numbers are 0, so the first byte of data is 1; data echoes no
//! timestamp (TSecr 0), and the time stamp of an acknowledgement is when the segment that it echoes came. Timestamps count
//! milliseconds. The sender's window is 65535.

use crate::packet::{number_of, Body, Packed, Packet, Payload};
use sojourn_aqm::Ecn;
use sojourn_scenario::{Flow, Transport};
use sojourn_transport::segment::ace_of;
use sojourn_transport::{Ack, Control, Data, EcnFeedback, Ect};
use sojourn_units::Instant;
use std::collections::BTreeMap;

const ETHERNET: usize = 14;
const IPV4: usize = 20;
/// Ethernet, IPv4 and the longest TCP header.
const LONGEST: usize = ETHERNET + IPV4 + 60;

const TCP: u8 = 6;
const UDP: u8 = 17;

const FIN: u16 = 1;
const SYN: u16 = 2;
const PSH: u16 = 8;
const ACK: u16 = 16;
const ECE: u16 = 64;
const CWR: u16 = 128;
const AE: u16 = 256;

/// The dynamic ports of RFC 6335, of which each source port is one.
const DYNAMIC: u16 = 49_152;
/// Destination ports, below the dynamic ones and above what is registered in numbers.
const SERVICE: u16 = 48_600;

/// The greatest window scale (RFC 7323, 2.3).
const GREATEST_SCALE: u8 = 14;

/// A connection whose end has been seen.
#[derive(Clone, Copy, Debug, Default)]
struct Closing {
    /// Where the sender's FIN ended.
    sender: Option<u64>,
    /// The receiver has sent its FIN.
    receiver: bool,
}

/// Builds frames in a place of its own.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    bytes: Vec<u8>,
    snaplen: usize,
    /// Only of flows that close, which few do at a time.
    closing: BTreeMap<u32, Closing>,
    /// Of flows whose SYN asked for Accurate ECN: whether they speak it.
    accurate: BTreeMap<u32, bool>,
}

/// The receiver answers a SYN that asks for Accurate ECN in kind.
fn speaks_accurate(flow: &Flow) -> bool {
    let Transport::Tcp { receiver, .. } = &*flow.transport else { return false };
    receiver.ecn && receiver.ecn_feedback == EcnFeedback::AccEcn
}

/// AE, CWR and ECE as flags.
fn ace(bits: u8) -> u16 {
    let bits = u16::from(bits);
    (bits & 4) << 6 | (bits & 2) << 6 | (bits & 1) << 6
}

/// IPv4 address of a node.
pub(super) fn address(node: usize) -> [u8; 4] {
    let [_, a, b, c] = (node as u32 + 1).to_be_bytes();
    [10, a, b, c]
}

/// Source and destination port of a flow's data.
fn ports(flow: u32) -> (u16, u16) {
    let dynamic = u32::from(u16::MAX - DYNAMIC) + 1;
    (DYNAMIC + (flow % dynamic) as u16, SERVICE - (flow / dynamic % 8192) as u16)
}

/// Two ends of a packet.
#[derive(Clone, Copy)]
struct Ends {
    from: usize,
    to: usize,
    ports: (u16, u16),
}

impl Frame {
    /// Keeps so many bytes of each.
    pub fn new(snaplen: u32) -> Self {
        let snaplen = snaplen as usize;
        Self { bytes: vec![0; snaplen.max(LONGEST)], snaplen, closing: BTreeMap::new(), accurate: BTreeMap::new() }
    }

    /// The frame of `packet` of `flow`, with this ECN field and DSCP: its length, and what is kept of it.
    pub fn build(&mut self, flow: &Flow, (ecn, dscp): (Ecn, u8), packet: &Packet) -> (u32, &[u8]) {
        self.bytes[..LONGEST].fill(0);
        let (source, destination) = ports(packet.flow);
        let there = Ends { from: flow.from, to: flow.to, ports: (source, destination) };
        let back = Ends { from: flow.to, to: flow.from, ports: (destination, source) };
        let length = packet.bytes();
        let tos = (dscp << 2) | ecn as u8;
        match &packet.body {
            Body::Load(load, Payload::Data(data)) => {
                self.ipv4(there, length, tos, load.ordinal as u16, TCP);
                self.data(flow, there, length, packet.flow, (data, load.ace));
            }
            Body::Ack(ack) => {
                self.ipv4(back, length, tos, 0, TCP);
                self.acknowledgement(flow, back, length, packet.flow, ack);
            }
            Body::Load(load, Payload::Datagram(_) | Payload::Request(_)) => {
                self.ipv4(there, length, tos, load.ordinal as u16, UDP);
                self.udp(there, length);
            }
            Body::Load(load, Payload::Reply(_)) => {
                self.ipv4(back, length, tos, load.ordinal as u16, UDP);
                self.udp(back, length);
            }
        }
        let length = length + ETHERNET as u32;
        (length, &self.bytes[..self.snaplen.min(length as usize)])
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn ipv4(&mut self, ends: Ends, length: u32, tos: u8, number: u16, protocol: u8) {
        let (from, to) = (address(ends.from), address(ends.to));
        // Locally administered addresses.
        self.put(0, &[2, 0]);
        self.put(2, &to);
        self.put(6, &[2, 0]);
        self.put(8, &from);
        self.put(12, &[0x08, 0x00]);
        let ip = ETHERNET;
        self.put(ip, &[0x45, tos]);
        // What IPv4 cannot say is 0, as offloading interfaces have it.
        self.put(ip + 2, &u16::try_from(length).unwrap_or(0).to_be_bytes());
        self.put(ip + 4, &number.to_be_bytes());
        // Do not fragment; 64 hops.
        self.put(ip + 6, &[0x40, 0, 64, protocol]);
        self.put(ip + 12, &from);
        self.put(ip + 16, &to);
        let checksum = !folded(sum(&self.bytes[ip..ip + IPV4]));
        self.put(ip + 10, &checksum.to_be_bytes());
    }

    fn data(&mut self, flow: &Flow, ends: Ends, length: u32, number: u32, (data, ace_now): (&Data, u8)) {
        let is_syn = data.has(Data::SYN);
        if data.has(Data::FIN) {
            self.closing.entry(number).or_default().sender = Some(data.end());
        }
        let mut flags = if is_syn { SYN } else { ACK };
        for (said, flag) in [(Data::FIN, FIN), (Data::PUSH, PSH), (Data::CWR, CWR)] {
            flags |= if data.has(said) { flag } else { 0 };
        }
        if is_syn && data.has(Data::CWR) {
            flags |= ECE;
        }
        if is_syn && data.has(Data::AE) {
            flags |= AE;
            self.accurate.insert(number, speaks_accurate(flow));
        } else if self.accurate.get(&number) == Some(&true) {
            // ACE: how the SYN-ACK was marked, then what the sender counts of marked acknowledgements.
            let is_third = data.is_bare() && data.seq == 0;
            flags = (flags & !CWR) | ace(if is_third { ace_of(Ecn::NotEct) } else { ace_now });
        }
        let seq = if is_syn { 0 } else { data.seq.wrapping_add(1) };
        // Behind its own FIN a sender acknowledges only the receiver's.
        let closed = self.closing.get(&number).is_some_and(|it| data.is_bare() && it.sender == Some(data.seq));
        let ack = if is_syn { 0 } else { 1 + u32::from(closed) };
        let options = self.options(flow, is_syn, (milliseconds(data.sent), 0), &[]);
        self.tcp(ends, length, (seq as u32, ack), flags, u16::MAX, options);
    }

    fn acknowledgement(&mut self, flow: &Flow, ends: Ends, length: u32, number: u32, ack: &Packed) {
        let ack = ack.unpack();
        let is_syn = ack.control == Control::Syn;
        let closed = self.closing.get(&number).is_some_and(|it| it.receiver);
        let (flags, seq) = match ack.control {
            Control::Syn => (SYN | ACK, 0),
            Control::Fin => {
                self.closing.entry(number).or_default().receiver = true;
                (FIN | ACK, 1)
            }
            Control::None => (ACK, 1 + u32::from(closed)),
        };
        let flags = flags | ace(ack.accurate.ace) | if ack.ece { ECE } else { 0 };
        let scale = if is_syn { 0 } else { scale(flow) };
        let window = u16::try_from(ack.window >> scale).unwrap_or(u16::MAX);
        let number = number_of(ack.ack);
        let mut blocks = [(0, 0); 3];
        for (edges, block) in blocks.iter_mut().zip(ack.blocks()) {
            let left = number.wrapping_add(block.offset);
            *edges = (left, left.wrapping_add(block.len));
        }
        let stamps = (milliseconds(ack.received_at), milliseconds(ack.echo));
        let options = self.options(flow, is_syn, stamps, &blocks[..ack.sack_blocks()]);
        let options = options + self.counters(flow, options, &ack);
        self.tcp(ends, length, (seq, number), flags, window, options);
    }

    /// Writes the options of a segment with these time stamps (its own, echoed) and SACK blocks: how long they are.
    fn options(&mut self, flow: &Flow, is_syn: bool, stamps: (u32, u32), blocks: &[(u32, u32)]) -> usize {
        let Transport::Tcp { sender, receiver } = &*flow.transport else { return 0 };
        let start = ETHERNET + IPV4 + 20;
        let mut at = start;
        let mut add = |bytes: &[u8]| {
            self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        let stamped = sender.timestamps;
        if is_syn {
            // The option counts options (RFC 6691), which `mss` does not.
            let mss = sender.mss.get() + if stamped { 12 } else { 0 };
            let [a, b] = u16::try_from(mss).unwrap_or(u16::MAX).to_be_bytes();
            add(&[2, 4, a, b]);
            if !stamped {
                add(&[1, 1]);
            }
            add(if receiver.sack { &[4, 2] } else { &[1, 1] });
        } else if stamped {
            add(&[1, 1]);
        }
        if stamped {
            add(&[8, 10]);
            add(&stamps.0.to_be_bytes());
            add(&stamps.1.to_be_bytes());
        }
        if is_syn {
            add(&[1, 3, 3, scale(flow)]);
        } else if !blocks.is_empty() {
            add(&[1, 1, 5, 2 + 8 * blocks.len() as u8]);
            for (left, right) in blocks {
                add(&left.to_be_bytes());
                add(&right.to_be_bytes());
            }
        }
        at - start
    }

    /// Writes the option of Accurate ECN behind `at` bytes of others: how long it is.
    fn counters(&mut self, flow: &Flow, at: usize, ack: &Ack) -> usize {
        let (Some(counters), Transport::Tcp { sender, .. }) = (ack.counters(), &*flow.transport) else { return 0 };
        let kind = if sender.ect == Ect::One { 174 } else { 172 };
        let ([_, a, b, c], [_, d, e, f]) = (counters.unmarked.to_be_bytes(), counters.marked.to_be_bytes());
        self.put(ETHERNET + IPV4 + 20 + at, &[kind, 8, a, b, c, d, e, f]);
        8
    }

    fn tcp(&mut self, ends: Ends, length: u32, (seq, ack): (u32, u32), flags: u16, window: u16, options: usize) {
        let tcp = ETHERNET + IPV4;
        self.put(tcp, &ends.ports.0.to_be_bytes());
        self.put(tcp + 2, &ends.ports.1.to_be_bytes());
        self.put(tcp + 4, &seq.to_be_bytes());
        self.put(tcp + 8, &ack.to_be_bytes());
        let [ae, flags] = flags.to_be_bytes();
        self.put(tcp + 12, &[(((20 + options) / 4) << 4) as u8 | ae, flags]);
        self.put(tcp + 14, &window.to_be_bytes());
        let checksum = !folded(self.pseudo(length, TCP) + sum(&self.bytes[tcp..tcp + 20 + options]));
        self.put(tcp + 16, &checksum.to_be_bytes());
    }

    fn udp(&mut self, ends: Ends, length: u32) {
        let udp = ETHERNET + IPV4;
        self.put(udp, &ends.ports.0.to_be_bytes());
        self.put(udp + 2, &ends.ports.1.to_be_bytes());
        let own = u16::try_from(length.saturating_sub(IPV4 as u32)).unwrap_or(0);
        self.put(udp + 4, &own.to_be_bytes());
        let checksum = !folded(self.pseudo(length, UDP) + sum(&self.bytes[udp..udp + 8]));
        // 0 says that there is none.
        self.put(udp + 6, &if checksum == 0 { u16::MAX } else { checksum }.to_be_bytes());
    }

    /// The sum of the pseudo-header. A payload of zeros adds nothing.
    fn pseudo(&self, length: u32, protocol: u8) -> u64 {
        sum(&self.bytes[ETHERNET + 12..ETHERNET + 20])
            + u64::from(protocol)
            + u64::from(length.saturating_sub(IPV4 as u32))
    }
}

/// The sum of 16-bit words (RFC 1071); the length is even.
fn sum(bytes: &[u8]) -> u64 {
    bytes.chunks_exact(2).map(|word| u64::from(u16::from_be_bytes([word[0], word[1]]))).sum()
}

fn folded(mut sum: u64) -> u16 {
    while sum > u64::from(u16::MAX) {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    sum as u16
}

fn milliseconds(at: Instant) -> u32 {
    (at.nanos() / 1_000_000) as u32
}

/// The least window scale by which the receiver's buffer can be said.
fn scale(flow: &Flow) -> u8 {
    let Transport::Tcp { receiver, .. } = &*flow.transport else { return 0 };
    let buffer = receiver.buffer.get();
    (0..GREATEST_SCALE).find(|scale| buffer >> scale <= u64::from(u16::MAX)).unwrap_or(GREATEST_SCALE)
}
