//! A queue whose packets are watched, from the decision log of its run.

use serde::Serialize;
use serde_json::{json, Value};
use sojourn_measure::trace::{Event, EventKind};
use sojourn_scenario::Network;
use sojourn_sim::Simulation;
use sojourn_units::{Instant, Span};
use std::collections::{BTreeMap, HashMap};

/// The run goes on by this time from look to look: few instants have two packets of one queue closer to each other.
const LOOK: Span = Span::from_nanos(5_000);

/// Waiting packets that are shown, from the head; the number of all is told.
const SHOWN: usize = 400;

/// A packet that waits.
#[derive(Clone, Debug, Serialize)]
struct Waiting {
    serial: u64,
    /// Number of its flow in the network; `None` of a packet that belongs to none of them.
    flow: Option<usize>,
    bytes: u32,
    since_ns: u64,
    /// The two bits of the ECN field.
    ecn: u8,
    /// Marked here.
    marked: bool,
    /// A pure acknowledgement.
    ack: bool,
}

/// A queue of a run, and what waits in it.
pub struct Watched {
    port: usize,
    /// Numbers of flows by the hashes of their five-tuples.
    flows: HashMap<u32, usize>,
    /// By number of arrival.
    waiting: BTreeMap<u64, Waiting>,
    arrivals: u64,
    drops: u64,
    marks: u64,
}

impl Watched {
    /// The queue called `name` of `network`, from now on.
    ///
    /// # Errors
    /// There is none that is simulated.
    pub fn new(simulation: &mut Simulation, network: &Network, name: &str) -> Result<Self, String> {
        let port = network.ports.iter().position(|port| port.under_test && port.name == name);
        let port = port.filter(|port| simulation.log(*port)).ok_or_else(|| {
            let tested = network.ports.iter().filter(|port| port.under_test);
            let known: Vec<&str> = tested.map(|port| port.name.as_str()).collect();
            format!("there is no queue \"{name}\" under test; allowed: {}", known.join(", "))
        })?;
        let flows = simulation.flow_hashes().enumerate().map(|(number, hash)| (hash, number)).collect();
        Ok(Self { port, flows, waiting: BTreeMap::new(), arrivals: 0, drops: 0, marks: 0 })
    }

    /// Goes on to an instant; the past is left as it is.
    pub fn go_to(&mut self, simulation: &mut Simulation, until: Instant) {
        // In slices, so that the log stays small.
        while simulation.now() < until.min(simulation.end()) {
            simulation.run_until(until.min(simulation.now() + Span::from_millis(100)));
            self.take(simulation);
        }
    }

    /// Goes on by up to `steps` instants with an event.
    ///
    /// Bound: the end of the run, and a second without any event.
    pub fn steps(&mut self, simulation: &mut Simulation, steps: usize) -> Vec<Value> {
        let mut taken = Vec::new();
        let mut last = simulation.now();
        while taken.len() < steps
            && simulation.now() < simulation.end()
            && simulation.now().since(last) < Span::from_millis(1000)
        {
            simulation.run_until(simulation.now() + LOOK);
            let events = self.take(simulation);
            if !events.is_empty() {
                last = simulation.now();
                taken.push(json!({
                    "t_ns": last.nanos(),
                    "events": events,
                    "waiting": self.waiting.len(),
                    "internals": self.internals(simulation),
                }));
            }
        }
        taken
    }

    /// What waits now, its counts since the start, the scheme's internals, and the queues that take turns.
    pub fn state(&self, simulation: &mut Simulation) -> Value {
        let shown: Vec<&Waiting> = self.waiting.values().take(SHOWN).collect();
        let mut queues = Vec::new();
        simulation.listed_queues_of(self.port, &mut |queue| {
            queues.push(json!({
                "list": queue.list,
                "deficit_bytes": queue.deficit_bytes,
                "packets": queue.backlog.packets,
                "bytes": queue.backlog.bytes,
                "flow": queue.flow.and_then(|hash| self.flows.get(&hash)),
            }));
        });
        json!({
            "packets": shown,
            "waiting": self.waiting.len(),
            "arrivals": self.arrivals,
            "drops": self.drops,
            "marks": self.marks,
            "internals": self.internals(simulation),
            "queues": queues,
            "rate_bit_s": simulation.rate_of(self.port).map(sojourn_units::BitRate::bit_s),
        })
    }

    fn internals(&self, simulation: &mut Simulation) -> BTreeMap<&'static str, Option<f64>> {
        let mut all = BTreeMap::new();
        // JSON has neither infinity nor not-a-number.
        simulation.internals_of(self.port, &mut |name, value| {
            all.insert(name, value.is_finite().then_some(value));
        });
        all
    }

    /// Takes what was logged.
    fn take(&mut self, simulation: &mut Simulation) -> Vec<Value> {
        let events = simulation.take_log();
        events.iter().filter_map(|event| self.note(event)).collect()
    }

    fn note(&mut self, event: &Event) -> Option<Value> {
        let Event { at, serial, what } = *event;
        let told = |what: &str, packet: &Waiting| {
            json!({
                "at_ns": at.nanos(), "what": what, "serial": serial, "flow": packet.flow, "bytes": packet.bytes,
                "waited_ms": (at.nanos() - packet.since_ns.min(at.nanos())) as f64 / 1e6, "ecn": packet.ecn,
                "ack": packet.ack,
            })
        };
        match what {
            EventKind::Arrived(facts) => {
                let flow = self.flows.get(&facts.flow).copied();
                let ack = facts.ack.is_some();
                let packet = Waiting {
                    serial,
                    flow,
                    bytes: facts.bytes,
                    since_ns: at.nanos(),
                    ecn: facts.ecn,
                    marked: false,
                    ack,
                };
                let told = told("arrived", &packet);
                self.waiting.insert(serial, packet);
                self.arrivals += 1;
                Some(told)
            }
            EventKind::Dropped(reason) => {
                self.drops += 1;
                let mut told = told("dropped", &self.waiting.remove(&serial)?);
                told["reason"] = json!(reason.name());
                Some(told)
            }
            EventKind::Marked => {
                self.marks += 1;
                let packet = self.waiting.get_mut(&serial)?;
                packet.marked = true;
                Some(told("marked", packet))
            }
            EventKind::Left { ce } => {
                let mut told = told("left", &self.waiting.remove(&serial)?);
                told["ce"] = json!(ce);
                Some(told)
            }
        }
    }
}
