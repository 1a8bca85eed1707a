//! The applications of a scenario for a program that sends their packets for real: the generators, clients and receivers of the
//! simulator, with its random streams. Times are nanoseconds since the start of the run.

use crate::refuse;
use pyo3::prelude::*;
use serde_json::{json, Value};
use sojourn_aqm::Random;
use sojourn_random::Stream;
use sojourn_scenario::{Flow, Start};
use sojourn_sim::simulation::Metrics;
use sojourn_traffic::application::{Client, Listener, Measured, Orders};
use sojourn_traffic::{Source, Traffic};
use sojourn_units::{Instant, Span};

/// The application at one flow.
enum Application {
    /// Bulk data, a transfer, or a further connection of a client.
    None,
    Packets(Source),
    Heard(Source, Listener),
    Client(Box<dyn Client>),
}

/// Requests (connection, payload of the request, payload of the answer, on a new connection), and when to wake the client.
type Ordered = (Vec<(u32, u32, u64, bool)>, u64);

/// The applications of one replication.
#[pyclass(unsendable)]
pub struct Users {
    flows: Vec<(Application, Stream)>,
    about: String,
}

fn at(ns: u64) -> Instant {
    Instant::ZERO + Span::from_nanos(ns)
}

fn ordered(orders: Orders) -> Ordered {
    let gets = orders.gets.iter().map(|get| (get.connection, get.request, get.answer, get.anew)).collect();
    (gets, orders.wake_at.nanos())
}

/// What the flow is, for people and programs.
fn describe(flow: &Flow, group: &str, seed: u64, replication: u64) -> Value {
    let start = match flow.start {
        Start::At(at) => at,
        Start::Uniform(from, to) => {
            let mut random = Stream::new(seed, replication, &format!("flows/{}/start", flow.name));
            from + (to - from).scaled(random.uniform())
        }
    };
    let connections = flow.traffic.connections();
    let (kind, bytes) = match &flow.traffic {
        Traffic::Bulk { .. } => ("bulk", None),
        Traffic::Transfer { size } => ("transfer", Some(size.get())),
        Traffic::Packets(_) => ("packets", None),
        Traffic::Heard(..) => ("heard", None),
        Traffic::Client(_) => ("client", None),
    };
    json!({
        "name": flow.name,
        "group": group,
        "index": flow.index,
        "kind": kind,
        "bytes": bytes,
        // The place of this connection among its client's.
        "connection": flow.index % connections.max(1) as usize,
        "connections": connections,
        "dscp": flow.dscp.get(),
        "start_ns": start.nanos(),
        "stop_ns": flow.stop.map(Instant::nanos),
    })
}

impl Users {
    fn flow(&mut self, flow: usize) -> PyResult<&mut (Application, Stream)> {
        let count = self.flows.len();
        self.flows.get_mut(flow).ok_or_else(|| refuse(format!("there is no flow {flow}; allowed: below {count}")))
    }

    fn client(&mut self, flow: usize) -> PyResult<(&mut Box<dyn Client>, &mut Stream)> {
        match self.flow(flow)? {
            (Application::Client(client), random) => Ok((client, random)),
            _ => Err(refuse(format!("flow {flow} has no client"))),
        }
    }
}

#[pymethods]
impl Users {
    /// Those of a replication of a scenario.
    #[new]
    fn new(scenario_json: &str, seed: u64, replication: u64) -> PyResult<Self> {
        let network = sojourn_sim::task::network(scenario_json).map_err(refuse)?;
        let about: Vec<Value> = network
            .flows
            .iter()
            .map(|flow| describe(flow, network.groups.get(flow.group).map_or("", |group| group), seed, replication))
            .collect();
        let application = |flow: &Flow| match &flow.traffic {
            Traffic::Packets(source) => Application::Packets(source.clone()),
            Traffic::Heard(source, listener) => Application::Heard(source.clone(), listener.clone()),
            Traffic::Client(client) if flow.index.is_multiple_of(client.connections().max(1) as usize) => {
                Application::Client(client.clone())
            }
            _ => Application::None,
        };
        let stream = |flow: &Flow| Stream::new(seed, replication, &format!("flows/{}/traffic", flow.name));
        let flows = network.flows.iter().map(|flow| (application(flow), stream(flow))).collect();
        Ok(Self { flows, about: Value::Array(about).to_string() })
    }

    /// Every flow, as a JSON list.
    fn flows(&self) -> &str {
        &self.about
    }

    /// Time from the packet before (or the flow's start) to the next packet of a flow, and its payload.
    fn next_packet(&mut self, flow: usize) -> PyResult<(u64, u32)> {
        match self.flow(flow)? {
            (Application::Packets(source) | Application::Heard(source, _), random) => {
                let emission = source.next(random);
                Ok((emission.gap.nanos(), emission.bytes))
            }
            _ => Err(refuse(format!("flow {flow} has no packets of its own"))),
        }
    }

    /// A datagram of a flow has arrived; only what a listener hears counts.
    fn hear(&mut self, flow: usize, now_ns: u64, ordinal: u32, sent_ns: u64) -> PyResult<()> {
        if let (Application::Heard(_, listener), _) = self.flow(flow)? {
            listener.hear(at(now_ns), ordinal, at(sent_ns.min(now_ns)));
        }
        Ok(())
    }

    /// A client begins, or is woken.
    fn on_time(&mut self, flow: usize, now_ns: u64) -> PyResult<Ordered> {
        let (client, random) = self.client(flow)?;
        let mut orders = Orders::default();
        client.on_time(at(now_ns), random, &mut orders);
        Ok(ordered(orders))
    }

    /// The answer on a connection of a client is complete.
    fn on_answer(&mut self, flow: usize, now_ns: u64, connection: u32) -> PyResult<Ordered> {
        let (client, random) = self.client(flow)?;
        let mut orders = Orders::default();
        client.on_answer(at(now_ns), connection, random, &mut orders);
        Ok(ordered(orders))
    }

    /// The measurement begins.
    fn restart(&mut self, now_ns: u64) {
        for (application, _) in &mut self.flows {
            match application {
                Application::Heard(_, listener) => listener.restart(),
                Application::Client(client) => client.restart(at(now_ns)),
                _ => {}
            }
        }
    }

    /// The metrics of several flows together, as a JSON object.
    fn measured(&self, flows: Vec<usize>, now_ns: u64) -> String {
        let measured = |flow: &usize| match &self.flows.get(*flow)?.0 {
            Application::Heard(_, listener) => Some(listener.measured()),
            Application::Client(client) => Some(client.measured(at(now_ns))),
            _ => None,
        };
        let all: Vec<Measured> = flows.iter().filter_map(measured).collect();
        json!(Metrics::of_application(&all)).to_string()
    }
}
