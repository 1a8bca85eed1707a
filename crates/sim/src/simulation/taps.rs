//! Packets and decisions that a run writes.

use super::net::PortRef;
use super::{Options, RunError, Simulation};
use crate::port::{Run, Tap};
use sojourn_capture::Error;

impl Options {
    /// The network's port number `index` is traced.
    pub(super) fn traces(&self, index: usize) -> bool {
        self.packets.as_ref().is_some_and(|traces| traces.ports.contains(&index))
            || self.decisions.as_ref().is_some_and(|logs| logs.ports.contains(&index))
    }
}

impl Simulation {
    /// Creates the files. What goes wrong is told by [`Simulation::check_traces`].
    pub(super) fn open_traces(&mut self) {
        let Self { network, options, net, .. } = self;
        let (seed, replication) = (options.seed, options.replication);
        if let Some(traces) = &options.packets {
            for &index in &traces.ports {
                let Some(PortRef::Port(number)) = net.places.get(index).copied() else { continue };
                let port = &mut net.ports[number as usize];
                let spec = &network.ports[index];
                let scheme = options.scheme.as_ref().filter(|_| spec.under_test).unwrap_or(&spec.queue);
                let run = Run { scheme, rate: port.server.wire.rate(), seed, replication };
                port.probe.watch().tap = Some(Box::new(Tap::new(network, index, traces, &run)));
            }
        }
        if let Some(logs) = &options.decisions {
            let decisions = net.dropped.decisions.get_or_insert_default();
            for &index in &logs.ports {
                let Some(PortRef::Port(number)) = net.places.get(index).copied() else { continue };
                decisions.open(network, index, logs, number);
                net.ports[number as usize].probe.watch().logged = Some(number);
                net.windows_read = true;
            }
            self.give_hints();
        }
    }

    /// Whether all that is traced has been written so far.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn check_traces(&self) -> Result<(), RunError> {
        let taps = self.net.ports.iter().filter_map(|port| port.probe.watch.as_ref()?.tap.as_ref());
        let mut failed = taps.filter_map(|tap| tap.failed());
        let decisions = || self.net.dropped.decisions.as_ref().and_then(|decisions| decisions.failed());
        failed.next().or_else(decisions).map_or(Ok(()), |error: &Error| Err(RunError(error.to_string())))
    }

    /// Sees to it that all that was traced is in its files.
    pub(super) fn finish_traces(&mut self) -> Result<(), RunError> {
        let watches = self.net.ports.iter_mut().filter_map(|port| port.probe.watch.as_mut());
        watches.filter_map(|watch| watch.tap.as_mut()).for_each(|tap| tap.finish());
        if let Some(decisions) = &mut self.net.dropped.decisions {
            decisions.finish();
        }
        self.check_traces()
    }
}
