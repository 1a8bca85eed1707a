//! Writes decision logs as records of fixed size while the run goes on; who asked for them makes tables of them.
//!
//! A record has 46 bytes, little-endian: time in ns (8), number of the packet (8), hashes of flow, source and destination (4
//! each), bytes on the wire (4), number of the flow in the network (4), number of a pure acknowledgement (4), congestion window in packets (2), event (1: 0
//! arrived, 1 dropped, 2 marked, 3 left), ECN field (1), DSCP (1), and detail (1): of a drop the reason's number, of an arrival
//! 0, 1 for a pure acknowledgement or 2 for one that carries more, of a departure 1 with CE. Only an arrival has what describes
//! the packet; elsewhere these fields are 0.

use crate::traces::{file_stem, DecisionLogs, DECISION, DECISIONS};
use sojourn_capture::Error;
use sojourn_measure::trace::{Event, EventKind, Facts};
use sojourn_scenario::Network;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};

/// The files of a run. A copy writes nothing.
#[derive(Debug, Default)]
pub(crate) struct Decisions {
    /// By the number among ports with a discipline.
    files: BTreeMap<u32, (String, BufWriter<File>)>,
    failed: Option<Error>,
}

impl Clone for Decisions {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Decisions {
    /// Begins the log of the network's port number `port`, which is `number` among those with a discipline.
    pub fn open(&mut self, network: &Network, port: usize, logs: &DecisionLogs, number: u32) {
        let path = logs.folder.join(format!("{}{DECISIONS}", file_stem(network, port)));
        let name = path.display().to_string();
        match File::create_new(&path) {
            Ok(file) => {
                self.files.insert(number, (name, BufWriter::new(file)));
            }
            Err(error) => {
                self.failed.get_or_insert(Error { file: name, what: error.to_string() });
            }
        }
    }

    /// An event at the port of this number; an arrival is of the flow number `flow`.
    pub fn write(&mut self, number: u32, event: &Event, flow: u32) {
        let Some((name, file)) = self.files.get_mut(&number) else { return };
        if let Err(error) = file.write_all(&record(event, flow)) {
            self.failed.get_or_insert(Error { file: name.clone(), what: error.to_string() });
            self.files.remove(&number);
        }
    }

    /// What went wrong, if anything.
    pub fn failed(&self) -> Option<&Error> {
        self.failed.as_ref()
    }

    /// Sees to it that all is in the files.
    pub fn finish(&mut self) {
        for (_, (name, mut file)) in std::mem::take(&mut self.files) {
            if let Err(error) = file.flush() {
                self.failed.get_or_insert(Error { file: name, what: error.to_string() });
            }
        }
    }
}

fn record(event: &Event, flow: u32) -> [u8; DECISION] {
    let (kind, detail, facts) = match event.what {
        EventKind::Arrived(facts) => (0, facts.ack.map_or(0, |(_, more)| 1 + u8::from(more)), facts),
        EventKind::Dropped(reason) => (1, reason as u8, Facts::default()),
        EventKind::Marked => (2, 0, Facts::default()),
        EventKind::Left { ce } => (3, u8::from(ce), Facts::default()),
    };
    let Facts { bytes, flow: hash, source, destination, ecn, dscp, window, ack } = facts;
    let mut record = [0; DECISION];
    record[..8].copy_from_slice(&event.at.nanos().to_le_bytes());
    record[8..16].copy_from_slice(&event.serial.to_le_bytes());
    let numbers = [hash, source, destination, bytes, flow, ack.map_or(0, |(number, _)| number)];
    for (place, number) in record[16..40].chunks_exact_mut(4).zip(numbers) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    record[40..42].copy_from_slice(&window.to_le_bytes());
    record[42..].copy_from_slice(&[kind, ecn, dscp, detail]);
    record
}
