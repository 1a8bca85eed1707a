//! The delay line of a direction, and lines of other lengths for what goes to chosen networks: clients with round-trip times
//! of their own.

use crate::pool::{Frame, Pool};
use ipnet::IpNet;
use sojourn_units::{Instant, Span};
use std::collections::VecDeque;
use std::net::IpAddr;

/// Frames that travel. Each keeps its place among those of its own line.
#[derive(Debug, Default)]
pub struct Delay {
    span: Span,
    /// With the instant at which each arrives.
    frames: VecDeque<(Instant, Frame)>,
    /// Looked through in this order. Few: each frame is compared with each.
    others: Vec<Other>,
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

    /// Length of the longest line.
    #[must_use]
    pub fn longest(&self) -> Span {
        self.others.iter().map(|other| other.span).chain([self.span]).max().unwrap_or_default()
    }

    /// Another length for what begins to travel from now on; order is kept.
    pub fn set_span(&mut self, span: Span) {
        self.span = span;
    }

    /// A frame begins to travel at `at`.
    #[inline]
    pub fn push(&mut self, at: Instant, frame: Frame, pool: &Pool) {
        if !self.others.is_empty() {
            let to = destination(pool, frame);
            if let Some(other) = to.and_then(|to| self.others.iter_mut().find(|other| other.to.contains(&to))) {
                other.frames.push_back((at + other.span, frame));
                return;
            }
        }
        self.frames.push_back((at + self.span, frame));
    }

    /// The frame that arrives first, if that is by `now`.
    #[inline]
    pub fn pop(&mut self, now: Instant) -> Option<Frame> {
        let mut first = &mut self.frames;
        for other in &mut self.others {
            if arrives(&other.frames) < arrives(first) {
                first = &mut other.frames;
            }
        }
        if arrives(first) > now.nanos() {
            return None;
        }
        first.pop_front().map(|(_, frame)| frame)
    }

    /// When the first arrives.
    #[must_use]
    pub fn next(&self) -> Option<Instant> {
        let first = |frames: &VecDeque<(Instant, Frame)>| frames.front().map(|(at, _)| *at);
        self.others.iter().filter_map(|other| first(&other.frames)).chain(first(&self.frames)).min()
    }

    /// How many travel.
    #[must_use]
    pub fn len(&self) -> usize {
        self.frames.len() + self.others.iter().map(|other| other.frames.len()).sum::<usize>()
    }

    /// None travels.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes all out.
    pub fn drain(&mut self) -> impl Iterator<Item = Frame> + '_ {
        let others = self.others.iter_mut().flat_map(|other| other.frames.drain(..));
        self.frames.drain(..).chain(others).map(|(_, frame)| frame)
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
        (0..4).for_each(|n| delay.push(at(0), frames[n], &pool));
        delay.push(at(1), frames[4], &pool);
        delay.push(at(2), no_ip, &pool);
        assert_eq!((delay.len(), delay.next()), (6, Some(at(10))));
        // 90, 20, 50, 10, 1 + 20 and 2 + 50 us.
        let order = [(10, frames[3]), (20, frames[1]), (21, frames[4]), (50, frames[2]), (52, no_ip), (90, frames[0])];
        for (us, frame) in order {
            assert_eq!(delay.pop(at(us - 1)), None);
            assert_eq!(delay.pop(at(us)), Some(frame));
        }
        assert!(delay.is_empty() && delay.next().is_none());
    }

    #[test]
    fn what_travels_arrives_as_it_would_have_when_lines_change() {
        let mut pool = Pool::new(8, 2048, 256).unwrap();
        let mut delay = Delay::new(Span::from_micros(50));
        delay.set_others(&[("10.0.0.2/32".parse().unwrap(), Span::from_micros(20))]);
        let frames = ["10.0.0.1", "10.0.0.2"].map(|to| frame(&mut pool, to));
        frames.iter().for_each(|frame| delay.push(at(0), *frame, &pool));
        delay.set_others(&[]);
        delay.set_span(Span::ZERO);
        assert_eq!((delay.pop(at(20)), delay.pop(at(49)), delay.pop(at(50))), (Some(frames[1]), None, Some(frames[0])));
        delay.push(at(60), frames[0], &pool);
        assert_eq!(delay.drain().collect::<Vec<_>>(), [frames[0]]);
    }
}
