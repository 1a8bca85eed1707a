//! What an application writes at once, and a list of such writes.

use sojourn_units::Span;
use std::sync::Arc;

/// One write of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emission {
    /// Time since the previous emission, or since the start for the first.
    pub gap: Span,
    /// Payload in bytes.
    pub bytes: u32,
}

/// Packets with the same gap before each, and the same size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub gap: Span,
    pub bytes: u32,
    pub times: u64,
}

/// The state of a list of packets.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    runs: Arc<[Run]>,
    /// Time of the last packet.
    length: Span,
    /// From there to the start of the next time; `None` for once.
    rest: Option<Span>,
    /// The next packet: its run, and how many of that have been sent.
    at: usize,
    done: u64,
    /// Time to add to the next gap.
    pending: Span,
}

impl Listed {
    pub fn new(runs: Vec<Run>, length: Span, rest: Option<Span>) -> Self {
        Self { runs: runs.into(), length, rest, at: 0, done: 0, pending: Span::ZERO }
    }

    pub fn next(&mut self) -> Emission {
        let Some(run) = self.runs.get(self.at).copied() else {
            return Emission { gap: Span::MAX, bytes: 1 };
        };
        let gap = run.gap + std::mem::take(&mut self.pending);
        self.done += 1;
        if self.done == run.times {
            (self.at, self.done) = (self.at + 1, 0);
            if let Some(rest) = self.rest.filter(|_| self.at == self.runs.len()) {
                (self.at, self.pending) = (0, rest);
            }
        }
        Emission { gap, bytes: run.bytes }
    }

    pub fn packets_per_second(&self) -> f64 {
        let count: u64 = self.runs.iter().map(|run| run.times).sum();
        count as f64 / (self.length + self.rest.unwrap_or_default()).seconds().max(1e-9)
    }
}
