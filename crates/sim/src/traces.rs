//! What a run writes besides its report: packets that pass queues as pcapng, and decisions of queues as records.
//!
//! Everything is written while the run goes on, so memory does not grow with its length. Without it nothing is done: queues
//! that nobody watches take the short ways of the packet path.

use sojourn_aqm::suggest::did_you_mean;
use sojourn_scenario::Network;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Ends the name of a file with packets as they arrived.
pub const PACKETS: &str = ".pcapng";
/// Ends the name of a file with packets as they left.
pub const DEPARTURES: &str = ".departures.pcapng";
/// Ends the name of a file with decisions.
pub const DECISIONS: &str = ".decisions";
/// Bytes of a record of a decision; see `port::decisions`.
pub const DECISION: usize = 46;

/// Names every queue.
const ALL: &str = "all";
/// Queues of one run that may be traced: each has files that are open throughout.
const MOST: usize = 400;

/// Least bytes of a packet that are kept: Ethernet, IPv4 and the longest TCP header, so that no header is cut.
pub const LEAST_SNAPLEN: u32 = 14 + 20 + 60;
/// Most of them.
pub const GREATEST_SNAPLEN: u32 = 262_144;

/// Packets of queues, a pcapng file each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketTraces {
    /// A folder that exists. Files in it are not replaced.
    pub folder: PathBuf,
    /// Which ports of the network, from [`ports`].
    pub ports: BTreeSet<usize>,
    /// Bytes of a packet that are kept, of its Ethernet frame.
    pub snaplen: u32,
    /// A second file of each queue has the packets as they leave.
    pub departures: bool,
}

/// Decision logs of queues, a file of records each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionLogs {
    /// A folder that exists. Files in it are not replaced.
    pub folder: PathBuf,
    /// Which ports of the network, from [`ports`].
    pub ports: BTreeSet<usize>,
}

/// The network's ports with these names; without names the queues under test. `all` names all.
///
/// # Errors
/// No queue has the name, too many are named, or none is named and none under test.
pub fn ports(network: &Network, names: &[String]) -> Result<BTreeSet<usize>, String> {
    let mut found = BTreeSet::new();
    for name in names {
        if name == ALL {
            found.extend(0..network.ports.len());
            continue;
        }
        let Some(index) = network.ports.iter().position(|port| port.name == *name) else {
            let all: Vec<&str> = network.ports.iter().map(|port| port.name.as_str()).collect();
            let hint = did_you_mean(name, &all);
            let known = all.iter().take(8).copied().collect::<Vec<_>>().join(", ");
            let more = all.len().saturating_sub(8);
            let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
            return Err(format!("there is no queue \"{name}\"{hint}; allowed: {ALL}, {known}{rest}"));
        };
        found.insert(index);
    }
    if names.is_empty() {
        found.extend((0..network.ports.len()).filter(|index| network.ports[*index].under_test));
        if found.is_empty() {
            return Err("no queue is under test: name the queues to be traced, or all".to_owned());
        }
    }
    if found.len() > MOST {
        return Err(format!("{} queues are to be traced; allowed: up to {MOST}", found.len()));
    }
    Ok(found)
}

/// The name of a queue as that of a file: `left->right` is `left_to_right`.
///
/// Names differ where those of queues do: nodes have letters, digits, `_` and `-`, and `number` is added where that is not
/// enough.
#[must_use]
pub fn file_stem(network: &Network, port: usize) -> String {
    let stem = |name: &str| name.replace("->", "_to_").replace(':', "_");
    let Some(name) = network.ports.get(port).map(|port| stem(&port.name)) else { return port.to_string() };
    let same = network.ports.iter().filter(|other| stem(&other.name) == name).count();
    let name: String = name.chars().take(100).collect();
    if same > 1 || name.len() >= 100 {
        format!("{name}-{port}")
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = r#"
        name = "names"
        duration = "1 s"
        links = [
            { name = "a", from = "x", to = "y", rate = "1 Mbit/s", delay = "1 ms", under_test = true },
            { name = "b", from = "x_to_y", to = "z", rate = "1 Mbit/s", delay = "1 ms" },
            { name = "c", from = "x", to = "y_to_z", rate = "1 Mbit/s", delay = "1 ms" },
            { name = "d", from = "y", to = "z", rate = "1 Mbit/s", delay = "1 ms" },
        ]
        flows = [{ name = "f", from = "x", to = "y" }]
    "#;

    #[test]
    fn every_queue_has_a_file_of_its_own() {
        let network = sojourn_scenario::load(SCENARIO, "names", &[]).unwrap().resolve().unwrap();
        let stem = |name: &str| {
            let port = network.ports.iter().position(|port| port.name == name).unwrap();
            (port, file_stem(&network, port))
        };
        assert_eq!(stem("x->y").1, "x_to_y");
        // Both would be x_to_y_to_z.
        let ((first, one), (second, other)) = (stem("x_to_y->z"), stem("x->y_to_z"));
        assert_eq!((one, other), (format!("x_to_y_to_z-{first}"), format!("x_to_y_to_z-{second}")));
    }

    #[test]
    fn queues_are_found_by_name_and_those_under_test_without() {
        let network = sojourn_scenario::load(SCENARIO, "names", &[]).unwrap().resolve().unwrap();
        let find = |names: &[&str]| ports(&network, &names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        let tested = network.ports.iter().position(|port| port.under_test).unwrap();
        assert_eq!(find(&[]), Ok(BTreeSet::from([tested])));
        assert_eq!(find(&["all"]).map(|found| found.len()), Ok(8));
        assert_eq!(find(&["x->y", "x->y"]), Ok(BTreeSet::from([tested])));
        let refused = find(&["x-y"]).unwrap_err();
        assert!(
            refused.starts_with("there is no queue \"x-y\" (did you mean \"x->y\"?); allowed: all, x->y"),
            "{refused}"
        );
    }
}
