//! Settings of a scheme that have no effect, and why.
//!
//! A parameter declares in [`params!`](crate::params) without what it has no effect. [`Config::inert`] compares that with what a
//! text sets and with what the host of the scheme offers. The words of tc that are accepted and do nothing have their reasons
//! in `tc/dialect.rs`. Every program that takes a scheme from a user shows what is found.

use crate::acts::{is_met, Acts, Kind};
use crate::{Config, Param};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// What runs a scheme, as far as settings depend on it. The default is a device, whose traffic is not known.
#[derive(Clone, Debug, Default)]
pub struct Host<'a> {
    /// Kinds of packets that pass in a simulation; `None` for a device.
    pub packets: Option<&'a [Kind]>,
    /// Groups of flows whose packets are ECN-capable, by name.
    pub capable: &'a [String],
    /// The key by which the link behind the queue counts framing itself.
    pub framing: Option<&'static str>,
}

/// A setting that has no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inert {
    /// The parameter or word.
    pub what: String,
    /// Half a sentence that names it.
    pub why: String,
}

impl Inert {
    fn new(what: &str, reason: &str) -> Self {
        Self { what: what.to_owned(), why: format!("`{what}` has no effect{reason}") }
    }
}

/// Another parameter with one of some values, in words.
fn wanted(other: &str, values: &[&str]) -> String {
    let one = |value: &&str| match *value {
        "true" | "*" => format!("`{other}`"),
        value => format!("`{other} {value}`"),
    };
    values.iter().map(one).collect::<Vec<_>>().join(" or ")
}

impl Config {
    /// What the text or table behind this scheme sets and has no effect at `host`, and `ecn` where it should be on. Only what is
    /// set is looked at, never a default or a preset.
    ///
    /// ```
    /// use sojourn_aqm::{inert::Host, Config};
    /// let config: Config = "cake nat".parse()?;
    /// assert_eq!(config.inert(&Host::default())[0].why, "`nat` has no effect: addresses are hashed as the packets carry them");
    /// let config: Config = "red interval 1s".parse()?;
    /// assert_eq!(config.inert(&Host::default())[0].why, "`interval` has no effect without `adaptive`");
    /// # Ok::<(), sojourn_aqm::ConfigError>(())
    /// ```
    #[must_use]
    pub fn inert(&self, host: &Host<'_>) -> Vec<Inert> {
        let params = self.params();
        let value = |name: &str| params.iter().find(|p| p.name == name).map_or("none", |p| &*p.value);
        let passes = |kinds: &[Kind], kind: Kind| {
            let is_any = kind == Kind::L4s && value("any_ect") == "true" && kinds.contains(&Kind::EcnCapable);
            is_any || kinds.contains(&kind)
        };
        let unmet = |acts: &Acts| match *acts {
            Acts::With(other, values) if !is_met(value(other), values) => {
                Some(format!(" without {}", wanted(other, values)))
            }
            Acts::Without(other, values) if is_met(value(other), values) => {
                Some(format!(" with {}", wanted(other, values)))
            }
            Acts::WithOneOf(others) if others.iter().all(|other| value(other) == "none") => {
                let names: Vec<String> = others.iter().map(|other| format!("`{other}`")).collect();
                Some(format!(" without {}", names.join(" or ")))
            }
            Acts::On(kind) if host.packets.is_some_and(|kinds| !passes(kinds, kind)) => {
                Some(format!(": {}", kind.none()))
            }
            Acts::InFairQueues if !self.is_fair() => Some(" in a single queue".to_owned()),
            Acts::OnDevices(why) if host.packets.is_some() => Some(format!(" in a simulation: {why}")),
            Acts::Never(why) => Some(format!(": {why}")),
            _ => None,
        };
        let of_param = |param: &Param| {
            if !self.said().iter().any(|name| name == param.name) {
                return None;
            }
            let is_default = |never: &Acts| matches!(never, Acts::Never(_)) && self.is_default(param);
            // A flag that is off asks for nothing.
            if (param.flag && param.value != "true" && !param.acts.iter().any(|a| matches!(a, Acts::Never(_))))
                || param.acts.iter().any(is_default)
            {
                return None;
            }
            if let (Some(key), true) = (host.framing, param.acts.contains(&Acts::OnBareLinks)) {
                let why =
                    format!("`{}` counts bytes a second time: `{key}` of the link counts them already", param.name);
                return Some(Inert { what: param.name.to_owned(), why });
            }
            // The flag that every marking scheme has.
            let ecn: &[Acts] = if param.name == "ecn" { &[Acts::On(Kind::EcnCapable)] } else { &[] };
            param.acts.iter().chain(ecn).find_map(unmet).map(|reason| Inert::new(param.name, &reason))
        };
        let mut found: Vec<Inert> = params.iter().filter_map(of_param).collect();
        found.extend(self.idle().iter().map(|(word, why)| Inert::new(word, &format!(": {why}"))));
        found.extend(self.ecn_off(host, &params));
        // What a plug-in looks at is not known.
        if host.packets.is_none() && self.reads().window && !self.name().contains('@') {
            let what = self.name().to_owned();
            let why = format!("packets on a device tell no congestion window, which `{what}` decides by");
            found.push(Inert { what, why });
        }
        found
    }

    /// `ecn` is off where flows could be marked.
    fn ecn_off(&self, host: &Host<'_>, params: &[Param]) -> Option<Inert> {
        let value = |name: &str| params.iter().find(|p| p.name == name).map(|p| &*p.value);
        let ecn = params.iter().find(|p| p.name == "ecn")?;
        let met = |acts: &Acts| match *acts {
            Acts::With(other, values) => is_met(value(other).unwrap_or("none"), values),
            Acts::Without(other, values) => !is_met(value(other).unwrap_or("none"), values),
            _ => true,
        };
        // With a threshold for CE a scheme marks without `ecn`.
        let marks_anyway = value("ce_threshold").is_some_and(|at| at != "none");
        if host.capable.is_empty() || ecn.value != "false" || marks_anyway || !ecn.acts.iter().all(met) {
            return None;
        }
        let names = host.capable.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let (s, are) = if host.capable.len() > 1 { ("s", "are") } else { ("", "is") };
        let why = format!(
            "flow{s} {names} {are} ECN-capable, but `ecn` is off in this scheme: it drops their packets instead of marking them"
        );
        Some(Inert { what: "noecn".to_owned(), why })
    }
}
