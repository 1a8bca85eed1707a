//! Windows of so many packets at one queue, as Barczyk and Chydzinski (2022) record them.

use crate::packet::{Body, Packet, Payload};
use sojourn_aqm::{Framing, Reason};
use sojourn_measure::window::Class;
use sojourn_measure::{Window, WindowRow};
use sojourn_units::{BitRate, Bytes, Instant, Span};

/// Room for windows before the list has to grow.
const WINDOWS: usize = 64;

/// Closes a window after every so many packets offered.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    every: u64,
    capacity: BitRate,
    framing: Option<Framing>,
    window: Window,
    /// Closed windows, each with how often the scheme had been switched when it began.
    rows: Vec<(usize, WindowRow)>,
    switches: usize,
}

/// The class of a packet.
pub(crate) fn class(packet: &Packet) -> Class {
    match packet.body {
        Body::Load(_, Payload::Data(_)) | Body::Ack(_) => Class::Tcp,
        Body::Load(..) => Class::Udp,
    }
}

impl Record {
    pub fn new(every: u64, capacity: BitRate, overhead: u32, framing: Option<Framing>) -> Self {
        let window = Window::new(Instant::ZERO, 0, Bytes::new(u64::from(overhead)));
        Self { every, capacity, framing, window, rows: Vec::with_capacity(WINDOWS), switches: 0 }
    }

    /// A packet of `bytes`, without framing, is about to be offered.
    #[inline]
    pub fn arrived(&mut self, bytes: u32, class: Class) {
        self.window.arrived(bytes, class);
        if let Some(framing) = self.framing {
            self.window.padded(framing.size(bytes).saturating_sub(bytes));
        }
    }

    /// So many wait from now on.
    #[inline]
    pub fn waiting(&mut self, now: Instant, packets: u64) {
        self.window.waiting(now, packets);
    }

    #[inline]
    pub fn dropped(&mut self, serial: u64, reason: Reason, class: Class) {
        self.window.dropped(serial, reason, class);
    }

    /// A packet leaves to be sent; `is_marked`: here, by the discipline.
    #[inline]
    pub fn forwarded(&mut self, sojourn: Span, is_marked: bool, class: Class) {
        self.window.forwarded(sojourn);
        if is_marked {
            self.window.marked(class);
        }
    }

    /// Closes the window if it is full: the packet that was offered last has been dealt with.
    #[inline]
    pub fn close_if_full(&mut self, now: Instant) {
        if self.window.arrivals() >= self.every {
            self.close(now);
        }
    }

    #[inline(never)]
    fn close(&mut self, now: Instant) {
        self.rows.push((self.switches, self.window.close(now, self.capacity)));
    }

    /// The measurement begins: what was before does not count.
    pub fn restart(&mut self, now: Instant) {
        self.rows.clear();
        let _ = self.window.close(now, self.capacity);
    }

    /// The queue has another scheme: the window under way is given up.
    pub fn switched(&mut self, now: Instant) {
        let _ = self.window.close(now, self.capacity);
        self.switches += 1;
    }

    /// Closed windows, each with how many switches came before it.
    pub fn rows(&self) -> &[(usize, WindowRow)] {
        &self.rows
    }
}
