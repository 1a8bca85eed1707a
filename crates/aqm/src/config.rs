//! An algorithm with its parameters, from a text of tc's or from a table.

use crate::registry::{find, unknown_algorithm, Entry, Scheme};
use crate::{tc, Discipline, Param, Reads};
use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt;

/// Former names of presets with the present ones. They still work under every algorithm that has the preset, but no list
/// shows them; [`Config::warning`] names the present one.
pub const FORMER_PRESETS: &[(&str, &str)] = &[("seed000", "shu2023"), ("seed004", "hassan")];

/// The name that stands for the newest kernel. Another version of the library may mean another one, so [`Config::warning`]
/// says which it is.
pub const NEWEST_KERNEL: (&str, &str) = ("linux", "linux-7.2");

/// A checked algorithm with its parameters, ready to be built any number of times.
#[derive(Clone)]
pub struct Config {
    name: &'static str,
    scheme: Arc<dyn Scheme>,
    /// The former name of a preset that the text used, or `linux`, and the present one.
    former: Option<(&'static str, &'static str)>,
    said: Arc<Given>,
}

/// What a text or table says.
#[derive(Default)]
struct Given {
    /// Parameters that it sets.
    params: Vec<String>,
    /// Words of tc that it has and that do nothing, with the reasons.
    idle: Vec<(String, &'static str)>,
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Config").field(&self.text()).finish()
    }
}

impl PartialEq for Config {
    /// Equal when the canonical texts are.
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

/// A text or table that does not name an algorithm with possible parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(String);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for ConfigError {}

impl Config {
    /// The algorithm's name; that of an added one ends in its version, see [`registry::add`](crate::registry::add).
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The canonical tc-style text: the name and every parameter that differs from its default.
    #[must_use]
    pub fn text(&self) -> String {
        self.scheme.text()
    }

    /// What a new instance reads of a packet; see [`Discipline::reads`].
    #[must_use]
    pub fn reads(&self) -> Reads {
        self.build().reads()
    }

    /// Every parameter with its value.
    #[must_use]
    pub fn params(&self) -> Vec<Param> {
        self.scheme.params()
    }

    /// What its writer should change although it is accepted: a preset's former name, or `linux` without a version.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let (former, present) = self.former?;
        let name = self.name;
        Some(if (former, present) == NEWEST_KERNEL {
            format!("{name}: \"preset {former}\" is \"preset {present}\" here, and a later kernel in a later version of the library; name the kernel")
        } else {
            format!("{name}: \"preset {former}\" is now called \"preset {present}\"")
        })
    }

    /// The parameters that the text or table sets.
    pub(crate) fn said(&self) -> &[String] {
        &self.said.params
    }

    /// The words of the text or table that do nothing, with the reasons.
    #[must_use]
    pub fn idle(&self) -> &[(String, &'static str)] {
        &self.said.idle
    }

    /// Many queues under one algorithm.
    pub(crate) fn is_fair(&self) -> bool {
        find(self.name).is_some_and(|entry| entry.fair)
    }

    /// The parameter has its default.
    pub(crate) fn is_default(&self, param: &Param) -> bool {
        let defaults = find(self.name).map(Entry::params).unwrap_or_default();
        defaults.iter().any(|default| default.name == param.name && default.value == param.value)
    }

    /// A new, empty instance.
    #[must_use]
    pub fn build(&self) -> Box<dyn Discipline> {
        self.scheme.build()
    }

    /// This algorithm with other values of some parameters, written as tc writes them behind the name; the others keep theirs. A
    /// discipline takes such a change by [`Discipline::set_params`].
    ///
    /// ```
    /// use sojourn_aqm::Config;
    /// let config: Config = "codel target 10ms ecn".parse()?;
    /// assert_eq!(config.with("target 20ms noecn")?.text(), "codel target 20ms");
    /// assert!(config.with("targt 20ms").is_err());
    /// # Ok::<(), sojourn_aqm::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// What [`FromStr`](core::str::FromStr) refuses, and a parameter that cannot change while packets wait.
    pub fn with(&self, parameters: &str) -> Result<Self, ConfigError> {
        let changed: Self = format!("{} {parameters}", self.text()).parse()?;
        let entry = find(self.name).filter(|entry| entry.fair || !entry.fixed.is_empty());
        // Most algorithms have none, and a list of the parameters takes long.
        let Some(entry) = entry else { return Ok(changed) };
        let is_fixed = |name: &str| entry.fixed.contains(&name) || (entry.fair && name == "flows");
        let mut pairs = self.params().into_iter().zip(changed.params());
        match pairs.find(|(old, new)| old.value != new.value && is_fixed(old.name)) {
            None => Ok(changed),
            Some((param, _)) => {
                let others = self.params().into_iter().map(|param| param.name).filter(|name| !is_fixed(name));
                let others = others.collect::<Vec<_>>().join(", ");
                let name = param.name;
                let why = format!("{}: {name} cannot change during a run; allowed: {others}", self.name);
                Err(ConfigError(why))
            }
        }
    }

    /// What [`Discipline::set_params`] takes.
    #[must_use]
    pub fn typed(&self) -> &dyn Any {
        self.scheme.typed()
    }

    /// From a name and `(key, value)` texts, as a TOML table gives them. A flag's value is `true` or `false`; tc's own
    /// keys are understood as [`FromStr`](core::str::FromStr) understands them. The key `preset`, wherever it stands, is applied first.
    ///
    /// # Errors
    /// Unknown name, key or preset, a value that its parameter refuses, or values that contradict each other.
    pub fn from_pairs(name: &str, pairs: &[(String, String)]) -> Result<Self, ConfigError> {
        let entry = find(name).ok_or_else(|| ConfigError(unknown_algorithm(name)))?;
        Self::configure(entry, pairs, false)
    }

    /// `from_tc`: everything is a line of tc's.
    fn configure(entry: &Entry, pairs: &[(String, String)], from_tc: bool) -> Result<Self, ConfigError> {
        let (name, short) = (entry.name, entry.short_name());
        let (pairs, former) = with_present_presets(entry, pairs);
        let refused = |why| ConfigError(format!("{short}: {why}"));
        let own = tc::translate(name, &pairs, from_tc).map_err(refused)?;
        let scheme = entry.configure(&own).map_err(refused)?;
        // Some that are written do not reach the scheme: `step_thresh` beside `l4s_aqm ramp`.
        let params = own.iter().chain(&*pairs).map(|(key, _)| key.clone()).collect();
        let said = Arc::new(Given { params, idle: tc::idle(name, &pairs) });
        Ok(Self { name, scheme, former, said })
    }
}

impl core::str::FromStr for Config {
    type Err = ConfigError;

    /// Reads tc's syntax: `red min 30p max 90p limit 1000p ecn`, and every text that tc itself prints or its manual pages
    /// show, with tc's meaning.
    ///
    /// ```
    /// use sojourn_aqm::Config;
    /// let config: Config = "codel target 10ms noecn".parse()?;
    /// assert_eq!(config.text(), "codel target 10ms");
    /// # Ok::<(), sojourn_aqm::ConfigError>(())
    /// ```
    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let tc::Text { entry, pairs, from_tc } = tc::read(text).map_err(ConfigError)?;
        Self::configure(entry, &pairs, from_tc)
    }
}

/// The pairs with present names of presets, and the former name that was replaced.
#[expect(clippy::type_complexity, reason = "two results of one private function")]
fn with_present_presets<'a>(
    entry: &Entry,
    pairs: &'a [(String, String)],
) -> (Cow<'a, [(String, String)]>, Option<(&'static str, &'static str)>) {
    let present = |(key, value): &(String, String)| {
        let mut known = FORMER_PRESETS.iter().chain([&NEWEST_KERNEL]);
        let found = known.find(|(former, _)| key == "preset" && value == former);
        found.copied().filter(|(_, present)| entry.presets.contains(present))
    };
    let former = pairs.iter().find_map(present);
    if former.is_none() {
        return (Cow::Borrowed(pairs), None);
    }
    let renamed = |pair: &(String, String)| match present(pair) {
        Some((_, present)) => (pair.0.clone(), present.to_owned()),
        None => pair.clone(),
    };
    (pairs.iter().map(renamed).collect(), former)
}
