//! Frames in 802.11 cells: from the interface queues onto the channel and off it.

use super::net::Net;
use super::Event;
use crate::wlan::Fate;
use sojourn_units::Instant;

impl Net {
    /// A packet waits at a port of a station. If it holds no frame, it takes one and seeks access.
    pub(super) fn cell_serve(&mut self, port: u32, cell: u32, station: u32) {
        if let Some(airtime) = self.cells[cell as usize].airtime.as_mut().filter(|_| station == 0) {
            airtime.wake(port);
        }
        if !self.cells[cell as usize].stations[station as usize].held.is_empty() || !self.cell_take(cell, station) {
            return;
        }
        let now = self.now;
        self.cells[cell as usize].offer(station, now);
        self.cell_schedule(cell);
    }

    /// Moves one frame from the interface queue to the station; false when none waits.
    fn cell_take(&mut self, cell: u32, station: u32) -> bool {
        let Some(handle) = self.cell_next(cell, station) else { return false };
        let packet = self.slab.get(handle);
        let (bytes, receiver) = (packet.bytes(), self.receivers[packet.hop as usize]);
        self.cells[cell as usize].stations[station as usize].hold(handle, bytes, receiver);
        true
    }

    /// The next packet of a station. An access point with a port for each station turns to another with every
    /// transmission.
    fn cell_next(&mut self, cell: u32, station: u32) -> Option<u32> {
        // Bound: the stations, each of whose schemes may drop what it had.
        loop {
            let Self { cells, ports, .. } = self;
            let channel = &mut cells[cell as usize];
            let interface = &mut channel.stations[station as usize];
            let is_new = station == 0 && interface.held.is_empty();
            let airtime = channel.airtime.as_mut().filter(|_| is_new);
            let turns = airtime.is_some();
            if let Some(airtime) = airtime {
                interface.port = airtime.pick(|port| ports[port as usize].probe.waiting.get() > 0)?;
            }
            let port = interface.port;
            let next = self.next_for_wire(port);
            if next.is_some() || !turns || self.ports[port as usize].probe.waiting.get() > 0 {
                return next;
            }
        }
    }

    /// Sees to the event of the next transmission.
    fn cell_schedule(&mut self, cell: u32) {
        let channel = &mut self.cells[cell as usize];
        let due = channel.due();
        if due != channel.look_at {
            channel.look_at = due;
            if due != Instant::NEVER {
                self.wheel.push(due, Event::Access(cell));
            }
        }
    }

    /// A back-off may have ended.
    pub(super) fn cell_access(&mut self, cell: u32) {
        let now = self.now;
        let index = cell as usize;
        if self.cells[index].look_at != now {
            return;
        }
        self.cells[index].look_at = Instant::NEVER;
        self.cells[index].collect(now);
        let winners = self.cells[index].winners.len();
        for k in 0..winners {
            let station = self.cells[index].winners[k];
            // Bound: the most frames of an A-MPDU.
            while self.cells[index].has_room(station) && self.cell_take(cell, station) {}
        }
        if winners > 0 {
            self.cells[index].transmit(now);
        }
        for k in 0..winners {
            let station = self.cells[index].winners[k];
            let sender = &self.cells[index].stations[station as usize];
            let (port, done, arrival) = (sender.port, sender.done, sender.arrival);
            let interface = &mut self.ports[port as usize];
            interface.probe.busy.add(now, done);
            if interface.probe.under_test {
                self.cells[index].tested.add(now, done);
            }
            interface.busy_until = done;
            interface.waking = true;
            self.wheel.push(done, Event::Free(port));
            self.cell_deliver(cell, station, arrival);
        }
        self.cell_schedule(cell);
    }

    /// Sends on what has been received with nothing missing before it.
    fn cell_deliver(&mut self, cell: u32, station: u32, at: Instant) {
        let most = self.cells[cell as usize].stations[station as usize].held.len();
        for k in 0..most {
            let Some(frame) = self.cells[cell as usize].stations[station as usize].held.get_mut(k) else { return };
            match frame.fate {
                Fate::Waiting => return,
                Fate::Received => {
                    frame.fate = Fate::Delivered;
                    let handle = frame.handle;
                    self.travel(handle, self.slab.get(handle).bytes(), at);
                }
                Fate::Delivered | Fate::GivenUp => {}
            }
        }
    }

    /// A station knows how its transmission went.
    pub(super) fn cell_sent(&mut self, port: u32, cell: u32, station: u32) {
        let now = self.now;
        let index = cell as usize;
        self.cells[index].finish(station);
        // A frame given up lets those behind it go on.
        self.cell_deliver(cell, station, now);
        // Bound: the frames held.
        while let Some(frame) = self.cells[index].stations[station as usize].release() {
            self.sent(port, now);
            if frame.fate == Fate::GivenUp {
                self.lose(frame.handle);
            }
        }
        self.ports[port as usize].waking = false;
        let interface = &mut self.cells[index].stations[station as usize];
        interface.has_rest = !interface.held.is_empty();
        if self.cells[index].stations[station as usize].held.is_empty() {
            self.cell_take(cell, station);
        }
        self.cell_schedule(cell);
    }
}
