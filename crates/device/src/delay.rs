//! The delay line of a direction, and lines of other lengths for what goes to chosen networks: clients with round-trip times
//! of their own. A line with impairments loses, reorders and doubles frames as a link of a scenario does.

use crate::pool::{Frame, Pool};
use ipnet::IpNet;
use sojourn_aqm::{Arrival, Channel, ChannelCounts, Impairments, Loss, Random};
use sojourn_units::{Instant, Span};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::net::IpAddr;

/// A stream of random numbers.
pub type Drawn = Box<dyn Random + Send>;

/// Frames that travel. Each keeps its place among those of its own line, unless the line has impairments.
#[derive(Default)]
pub struct Delay {
    span: Span,
    /// With the instant at which each arrives.
    frames: VecDeque<(Instant, Frame)>,
    /// Looked through in this order. Few: each frame is compared with each.
    others: Vec<Other>,
    impaired: Option<Box<Impaired>>,
    most_jitter: Span,
}

/// Frames that may travel an impaired line before its memory grows: those of 1 Gbit/s for 60 ms at 114 B each, or 0.8 s at
/// 1514 B.
const MAX_DELAYED_FRAMES: usize = 1 << 16;

/// A line whose frames may overtake each other.
struct Impaired {
    channel: Channel<Drawn>,
    /// By the instant at which each arrives; those of one instant in the order in which they were sent.
    frames: BinaryHeap<Reverse<(Instant, u64, u32)>>,
    sent: u64,
    /// Copies for which there was no frame.
    uncopied: u64,
}

impl Impaired {
    fn push(&mut self, at: Instant, frame: Frame) {
        self.frames.push(Reverse((at, self.sent, frame.index())));
        self.sent += 1;
    }

    fn next(&self) -> Option<Instant> {
        self.frames.peek().map(|Reverse((at, ..))| *at)
    }
}

/// What becomes of a frame that begins to travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// It arrives.
    Once,
    /// It is lost, and went back to the pool.
    Lost,
    /// It arrives, and so does a copy of it.
    Twice,
}

#[derive(Debug)]
struct Other {
    to: IpNet,
    span: Span,
    frames: VecDeque<(Instant, Frame)>,
}

impl Delay {
    /// A line of length `span`.
    #[must_use]
    pub fn new(span: Span) -> Self {
        Self { span, ..Self::default() }
    }

    /// Frames to these networks travel lines of other lengths from now on; the first that fits counts. What travels arrives
    /// as it would have.
    pub fn set_others(&mut self, others: &[(IpNet, Span)]) {
        let mut travelling: Vec<_> = self.frames.drain(..).collect();
        travelling.extend(self.others.drain(..).flat_map(|other| other.frames));
        travelling.sort_by_key(|(at, _)| *at);
        self.frames = travelling.into();
        self.others = others.iter().map(|(to, span)| Other { to: *to, span: *span, frames: VecDeque::new() }).collect();
    }

    /// Length of the line for everything else.
    #[must_use]
    pub fn span(&self) -> Span {
        self.span
    }

    /// The lines lose, reorder and double frames from now on; to be called before anything travels. `stream` gives the random
    /// numbers of each effect.
    pub fn impair(&mut self, impairments: &Impairments, stream: impl FnMut(&'static str) -> Drawn) {
        self.most_jitter = impairments.most_delays().fold(Span::ZERO, |sum, (_, most)| sum + most);
        let channel = Channel::new(self.span, impairments, stream);
        self.impaired = Some(Box::new(Impaired {
            channel,
            frames: BinaryHeap::with_capacity(MAX_DELAYED_FRAMES),
            sent: 0,
            uncopied: 0,
        }));
    }

    /// Another model of losses, where the line has one.
    pub fn set_loss(&mut self, loss: Loss) {
        if let Some(impaired) = &mut self.impaired {
            impaired.channel.set_loss(loss);
        }
    }

    /// What the line lost, reordered and doubled.
    #[must_use]
    pub fn counts(&self) -> ChannelCounts {
        let Some(impaired) = &self.impaired else { return ChannelCounts::default() };
        let counts = impaired.channel.counts();
        ChannelCounts { duplicates: counts.duplicates.map(|doubled| doubled - impaired.uncopied), ..counts }
    }

    /// The longest that a frame can travel.
    #[must_use]
    pub fn longest(&self) -> Span {
        self.others.iter().map(|other| other.span).chain([self.span]).max().unwrap_or_default() + self.most_jitter
    }

    /// Another length for what begins to travel from now on; order is kept.
    pub fn set_span(&mut self, span: Span) {
        self.span = span;
    }

    /// A frame begins to travel at `at`.
    #[inline]
    pub fn push(&mut self, at: Instant, frame: Frame, pool: &mut Pool) -> Carried {
        if !self.others.is_empty() {
            let to = destination(pool, frame);
            if let Some(line) = to.and_then(|to| self.others.iter().position(|other| other.to.contains(&to))) {
                let other = &mut self.others[line];
                if let Some(impaired) = &mut self.impaired {
                    return impaired.carry(at, other.span, frame, pool);
                }
                other.frames.push_back((at + other.span, frame));
                return Carried::Once;
            }
        }
        if let Some(impaired) = &mut self.impaired {
            return impaired.carry(at, self.span, frame, pool);
        }
        self.frames.push_back((at + self.span, frame));
        Carried::Once
    }

    /// The frame that arrives first, and when, if that is by `now`.
    #[inline]
    pub fn pop(&mut self, now: Instant) -> Option<(Instant, Frame)> {
        if let Some(impaired) = &mut self.impaired {
            impaired.next().filter(|at| *at <= now)?;
            return impaired.frames.pop().map(|Reverse((at, _, frame))| (at, Frame::from_index(frame)));
        }
        let mut first = &mut self.frames;
        for other in &mut self.others {
            if arrives(&other.frames) < arrives(first) {
                first = &mut other.frames;
            }
        }
        if arrives(first) > now.nanos() {
            return None;
        }
        first.pop_front()
    }

    /// When the first arrives.
    #[must_use]
    pub fn next(&self) -> Option<Instant> {
        let first = |frames: &VecDeque<(Instant, Frame)>| frames.front().map(|(at, _)| *at);
        let impaired = self.impaired.as_ref().and_then(|impaired| impaired.next());
        self.others.iter().filter_map(|other| first(&other.frames)).chain(first(&self.frames)).chain(impaired).min()
    }

    /// How many travel.
    #[must_use]
    pub fn len(&self) -> usize {
        let impaired = self.impaired.as_ref().map_or(0, |impaired| impaired.frames.len());
        self.frames.len() + self.others.iter().map(|other| other.frames.len()).sum::<usize>() + impaired
    }

    /// None travels.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes all out.
    pub fn drain(&mut self) -> impl Iterator<Item = Frame> + '_ {
        let others = self.others.iter_mut().flat_map(|other| other.frames.drain(..));
        let impaired = self.impaired.iter_mut().flat_map(|impaired| impaired.frames.drain());
        let impaired = impaired.map(|Reverse((.., frame))| Frame::from_index(frame));
        self.frames.drain(..).chain(others).map(|(_, frame)| frame).chain(impaired)
    }
}

impl Impaired {
    /// As [`Delay::push`], over a line of length `span`. A copy for which there is no frame is not made, and counted.
    fn carry(&mut self, at: Instant, span: Span, frame: Frame, pool: &mut Pool) -> Carried {
        self.channel.set_delay(span);
        let Some(Arrival { at, copy }) = self.channel.carry(at) else {
            pool.give(frame);
            return Carried::Lost;
        };
        self.push(at, frame);
        let Some(at) = copy else { return Carried::Once };
        let Some(copy) = pool.take() else {
            self.uncopied += 1;
            return Carried::Once;
        };
        pool.copy(frame, copy);
        self.push(at, copy);
        Carried::Twice
    }
}

/// Nanoseconds at which the first arrives; the end of time when none travels.
fn arrives(frames: &VecDeque<(Instant, Frame)>) -> u64 {
    frames.front().map_or(u64::MAX, |(at, _)| at.nanos())
}

/// Destination of an IP packet (RFC 791 section 3.1, RFC 8200 section 3).
fn destination(pool: &Pool, frame: Frame) -> Option<IpAddr> {
    let ip = usize::from(pool.note(frame).ip);
    let header = pool.contents(frame).get(ip..).filter(|_| ip > 0)?;
    match header.first()? >> 4 {
        4 => <[u8; 4]>::try_from(header.get(16..20)?).ok().map(IpAddr::from),
        6 => <[u8; 16]>::try_from(header.get(24..40)?).ok().map(IpAddr::from),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Span::from_micros(us)
    }

    /// A frame with an IP header at 14 whose destination is `to`.
    fn frame(pool: &mut Pool, to: &str) -> Frame {
        let mut contents = vec![0; 60];
        match to.parse().unwrap() {
            IpAddr::V4(four) => {
                contents[14] = 0x45;
                contents[30..34].copy_from_slice(&four.octets());
            }
            IpAddr::V6(six) => {
                contents[14] = 0x60;
                contents[38..54].copy_from_slice(&six.octets());
            }
        }
        let frame = pool.copy_in(&contents).unwrap();
        pool.note_mut(frame).ip = 14;
        frame
    }

    #[test]
    fn each_network_has_its_line_and_the_first_to_arrive_comes_first() {
        let mut pool = Pool::new(8, 2048, 256).unwrap();
        let mut delay = Delay::new(Span::from_micros(50));
        delay.set_others(&[
            ("10.0.0.2/32".parse().unwrap(), Span::from_micros(20)),
            ("10.0.0.0/24".parse().unwrap(), Span::from_micros(90)),
            ("fd00::/16".parse().unwrap(), Span::from_micros(10)),
        ]);
        let to = ["10.0.0.1", "10.0.0.2", "10.0.1.1", "fd00::1", "10.0.0.2"];
        let frames = to.map(|to| frame(&mut pool, to));
        let no_ip = pool.copy_in(&[0; 60]).unwrap();
        for frame in &frames[..4] {
            delay.push(at(0), *frame, &mut pool);
        }
        delay.push(at(1), frames[4], &mut pool);
        delay.push(at(2), no_ip, &mut pool);
        assert_eq!((delay.len(), delay.next()), (6, Some(at(10))));
        // 90, 20, 50, 10, 1 + 20 and 2 + 50 us.
        let order = [(10, frames[3]), (20, frames[1]), (21, frames[4]), (50, frames[2]), (52, no_ip), (90, frames[0])];
        for (us, frame) in order {
            assert_eq!(delay.pop(at(us - 1)), None);
            assert_eq!(delay.pop(at(us)), Some((at(us), frame)));
        }
        assert!(delay.is_empty() && delay.next().is_none());
    }

    #[test]
    fn what_travels_arrives_as_it_would_have_when_lines_change() {
        let mut pool = Pool::new(8, 2048, 256).unwrap();
        let mut delay = Delay::new(Span::from_micros(50));
        delay.set_others(&[("10.0.0.2/32".parse().unwrap(), Span::from_micros(20))]);
        let frames = ["10.0.0.1", "10.0.0.2"].map(|to| frame(&mut pool, to));
        for frame in frames {
            delay.push(at(0), frame, &mut pool);
        }
        delay.set_others(&[]);
        delay.set_span(Span::ZERO);
        let [first, none, second] = [20, 49, 50].map(|us| delay.pop(at(us)));
        assert_eq!((first, none, second), (Some((at(20), frames[1])), None, Some((at(50), frames[0]))));
        delay.push(at(60), frames[0], &mut pool);
        assert_eq!(delay.drain().collect::<Vec<_>>(), [frames[0]]);
    }
}
