//! What waits in a discipline: the queue of a direction as its link sees it, and the host of the discipline.

use crate::delay::Drawn;
use crate::frame;
use crate::pool::{Frame, Pool};
use crate::record::Recorder;
use sojourn_aqm::{Config, Framing, Observer, Packet, Reason, Server, Traced};
use sojourn_measure::trace::{Event, EventKind};
use sojourn_units::{Instant, Span};

/// Bytes before the payload of a frame without an IP header: both addresses and the type.
const ETHERNET: u16 = 14;

/// Where the decision log goes, an event at a time.
pub type Log = Box<dyn FnMut(Event) + Send>;

/// The queue of a direction, and the link behind it.
pub(super) struct Queued {
    pub(super) scheme: Config,
    pub(super) server: Server<Drawn>,
    pub(super) burst: Span,
    /// When the wire has sent what went before.
    pub(super) free_at: Instant,
    /// Asked since the last departure, and nothing waited.
    pub(super) idle: bool,
    /// Time that the wire could have sent and the host came too late for.
    pub(super) late: Span,
    /// Time that the wire stood still because the port had no room.
    pub(super) blocked: Span,
    /// Something is due, and finds no room.
    pub(super) held: bool,
    /// What packets take on the link, in place of the wire's overhead.
    pub(super) framing: Option<Framing>,
    /// The link's rate follows it.
    pub(super) trace: Option<Traced>,
}

/// The host of the discipline: frames of dropped packets go back, marks go into the header.
pub(super) struct Host<'a> {
    pub(super) pool: &'a mut Pool,
    pub(super) recorder: &'a mut Recorder,
    pub(super) log: &'a mut Option<Log>,
}

/// An event for the decision log, where one is kept.
#[inline]
pub(super) fn note(log: &mut Option<Log>, at: Instant, serial: u64, what: impl FnOnce() -> EventKind) {
    if let Some(log) = log {
        log(Event { at, serial, what: what() });
    }
}

impl Observer for Host<'_> {
    fn dropped(&mut self, now: Instant, packet: Packet, reason: Reason) {
        note(self.log, now, packet.serial, || EventKind::Dropped(reason));
        let frame = Frame::from_index(packet.handle);
        self.recorder.dropped(&packet, self.pool.note(frame), reason);
        self.pool.give(frame);
    }

    fn marked(&mut self, now: Instant, packet: &Packet) {
        note(self.log, now, packet.serial, || EventKind::Marked);
        let frame = Frame::from_index(packet.handle);
        let note = self.pool.note(frame);
        self.recorder.marked(note);
        frame::set_ce(self.pool.contents_mut(frame), usize::from(note.ip));
    }
}

impl Queued {
    /// Bytes of a frame of `length` whose IP header begins at `ip`, on the link.
    #[inline]
    pub(super) fn on_link(&self, length: u32, ip: u16) -> u32 {
        match self.framing {
            None => length + self.server.wire.overhead(),
            Some(framing) => framing.size(length.saturating_sub(u32::from(if ip == 0 { ETHERNET } else { ip }))),
        }
    }

    /// The scheme sees the mean rate of the time before `now`.
    #[inline]
    pub(super) fn show_rate(&mut self, now: Instant, host: &mut Host<'_>) {
        let Some(rate) = self.trace.as_ref().map(|trace| trace.shown(now)) else { return };
        if rate.bit_s().max(1) != self.server.wire.rate().bit_s() {
            self.server.set_rate(now, host, rate);
        }
    }

    /// When a packet of `bytes` on the link is out that begins at `at`.
    #[inline]
    pub(super) fn out(&mut self, at: Instant, bytes: u32) -> Instant {
        match &mut self.trace {
            None => at + self.server.wire.take_framed(bytes),
            Some(trace) => trace.send(at, bytes),
        }
    }
}
