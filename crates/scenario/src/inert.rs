//! Settings of a scenario that have no effect, and why: keys of its tables, and parameters of the schemes in its queues.

use super::flow::{TcpTable, TransportTable};
use super::{Document, Error, Network, Port, Transport};
use serde::Serialize;
use serde_json::Value;
use sojourn_aqm::acts::{is_met, Acts, Kind};
use sojourn_aqm::inert::Host;
use sojourn_aqm::{registry, Config};
use sojourn_document::keys::{KeySet, Listed};
use sojourn_transport::congestion::{CongestionControl, EcnFeedback, ALGORITHMS};
use sojourn_transport::Ect;
use sojourn_units::Bytes;
use std::collections::BTreeSet;

/// A setting that has no effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Inert {
    /// The scheme's label or text, or the group of flows.
    #[serde(rename = "where")]
    pub place: String,
    /// The parameter, key or word.
    pub what: String,
    /// One sentence.
    pub text: String,
}

impl Inert {
    fn of(place: &str, sojourn_aqm::inert::Inert { what, why }: sojourn_aqm::inert::Inert) -> Self {
        Self { place: place.to_owned(), what, text: format!("{place}: {why}") }
    }
}

impl Document {
    /// What has no effect when these schemes, each with its label, are in the queues under test. `as_written`: the queues as they
    /// are written are run, too. `on_device`: a device has the link, and its traffic is not that of the document.
    ///
    /// # Errors
    /// As [`Document::resolve`].
    pub fn inert(&self, schemes: &[(String, Config)], as_written: bool, on_device: bool) -> Result<Vec<Inert>, Error> {
        let network = self.resolve()?;
        let tested = Passing::of(&network, on_device, |port| port.under_test);
        let mut found = Vec::new();
        for (label, scheme) in schemes {
            found.extend(scheme.inert(&tested.host()).into_iter().map(|one| Inert::of(label, one)));
        }
        // Ports with the same scheme are told of once, together.
        let mut seen = BTreeSet::new();
        for port in network.ports.iter().filter(|port| as_written || !port.under_test) {
            let text = port.queue.text();
            if !seen.insert((text.clone(), port.under_test)) {
                continue;
            }
            let alike = |other: &Port| other.under_test == port.under_test && other.queue == port.queue;
            let mut inert = port.queue.inert(&Passing::of(&network, on_device, alike).host());
            // That a queue beside the tested ones marks nothing is the network that was asked for.
            inert.retain(|one| port.under_test || one.what != "noecn");
            found.extend(inert.into_iter().map(|one| Inert::of(&text, one)));
        }
        for flow in self.flows.iter().filter(|_| !on_device) {
            if let TransportTable::Tcp(table) = &*flow.transport() {
                found.extend(keys(table).into_iter().map(|(what, why)| Inert {
                    place: flow.name.clone(),
                    what: what.to_owned(),
                    text: format!("flow `{}`: {why}", flow.name),
                }));
            }
        }
        Ok(found)
    }
}

/// What passes some ports.
struct Passing {
    /// Not known of a device.
    packets: Option<Vec<Kind>>,
    capable: Vec<String>,
    framing: Option<&'static str>,
}

impl Passing {
    fn of(network: &Network, on_device: bool, chosen: impl Fn(&Port) -> bool) -> Self {
        let is_chosen: Vec<bool> = network.ports.iter().map(&chosen).collect();
        let passes = |route: &[usize]| route.iter().any(|port| is_chosen.get(*port) == Some(&true));
        let (mut packets, mut capable) = (Vec::new(), Vec::new());
        for flow in network.flows.iter().filter(|_| !on_device) {
            let Transport::Tcp { sender, receiver } = &*flow.transport else { continue };
            if passes(&flow.ack_route) {
                packets.push(Kind::Acks);
            }
            let uses_ecn = sender.ecn && receiver.ecn;
            let capable_acks = uses_ecn && receiver.ect_on.has_acks(receiver.ecn_feedback);
            for (is_capable, route) in [(uses_ecn, &flow.route), (capable_acks, &flow.ack_route)] {
                if !(is_capable && passes(route)) {
                    continue;
                }
                packets.push(Kind::EcnCapable);
                let before = route.iter().take_while(|port| is_chosen.get(**port) != Some(&true));
                if sender.ect == Ect::One || before.filter_map(|port| network.ports.get(*port)).any(marks) {
                    packets.push(Kind::L4s);
                }
            }
            if !(uses_ecn && passes(&flow.route)) {
                continue;
            }
            let group = &network.groups[flow.group];
            if !capable.contains(group) {
                capable.push(group.clone());
            }
        }
        let framing = network.ports.iter().filter(|port| chosen(port)).find_map(|port| match port.kind {
            _ if port.framing.is_some() => Some("framing"),
            super::PortKind::Link { overhead, .. } if overhead > Bytes::ZERO => Some("overhead"),
            _ => None,
        });
        Self { packets: (!on_device).then_some(packets), capable, framing }
    }

    fn host(&self) -> Host<'_> {
        Host { packets: self.packets.as_deref(), capable: &self.capable, framing: self.framing }
    }
}

/// A queue that may set CE.
fn marks(port: &Port) -> bool {
    port.under_test || registry::find(port.queue.name()).is_some_and(|entry| entry.about.ecn)
}

/// Keys of a flow's transport that are not as by default and have no effect, with half a sentence each.
fn keys(table: &TcpTable) -> Vec<(&'static str, String)> {
    let list = table.list();
    let default = TcpTable::default().list();
    let value = |name: &str| match list.iter().find(|key| key.name == name).map(|key| &key.value) {
        // What the congestion control reads.
        Some(Value::String(word)) if name == "ecn_feedback" && word == "auto" => {
            match table.tcp.congestion_control.example().ecn_feedback() {
                EcnFeedback::Classic => "classic".to_owned(),
                EcnFeedback::Accurate => "dctcp".to_owned(),
                EcnFeedback::AccEcn => "accecn".to_owned(),
            }
        }
        Some(Value::String(word)) => word.clone(),
        Some(other) => other.to_string(),
        None => "none".to_owned(),
    };
    let changed = |(key, default): &(&Listed, &Listed)| key.value != default.value;
    let why = |(key, _): (&Listed, &Listed)| {
        let owners: Vec<&str> = ALGORITHMS.iter().filter(|one| one.has(key.name)).map(|one| one.name).collect();
        let reason = match owners.is_empty() || owners.contains(&table.tcp.congestion_control.name) {
            true => key.acts.iter().find_map(|acts| match *acts {
                Acts::With(other, values) if !is_met(&value(other), values) => {
                    Some(format!("without `{other} = {}`", shown(values)))
                }
                Acts::Without(other, values) if is_met(&value(other), values) => {
                    Some(format!("with `{other} = {}`", shown(values)))
                }
                _ => None,
            })?,
            false => format!("without `congestion_control = {}`", shown(&owners)),
        };
        Some((key.name, format!("`{}` has no effect {reason}", key.name)))
    };
    list.iter().zip(&default).filter(changed).filter_map(why).collect()
}

/// Values as a document has them.
fn shown(values: &[&str]) -> String {
    let one = |value: &&str| match *value {
        "true" | "false" => (*value).to_owned(),
        word => format!("\"{word}\""),
    };
    values.iter().map(one).collect::<Vec<_>>().join(" or ")
}
