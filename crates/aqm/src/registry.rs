//! Every algorithm by its tc-style name: one line each, from which command-line name, Python class,
//! documentation table, contract tests, fuzz target and bench follow.

use crate::discipline::{About, Algorithm, Discipline, Fifo, Order, Standalone};
use crate::fair::{self, FairQueue};
use crate::suggest::did_you_mean;
use crate::{Param, Parameters};
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::Any;

macro_rules! registry {
    ($( $name:literal => $type:ty ),+ $(,)?) => {
        /// Every algorithm, in the order of the documentation.
        pub static ALL: &[Entry] = &[ $( Entry {
            name: $name,
            about: <$type as Registered>::ABOUT,
            fair: <$type as Registered>::FAIR,
            order: <$type as Registered>::ORDER,
            words: <$type as Registered>::WORDS,
            presets: <$type as Registered>::PRESETS,
            fixed: <$type as Registered>::FIXED,
            params: <$type as Registered>::params,
            configure: <$type as Registered>::configure,
        } ),+ ];
    };
}

registry! {
    "pfifo" => Fifo<crate::pfifo::Pfifo>,
    "bfifo" => Fifo<crate::pfifo::Bfifo>,
    "threshold" => Fifo<crate::threshold::Threshold>,
    "dropping_function" => Fifo<crate::dropping_function::DroppingFunction>,
    "red" => Fifo<crate::red::Red>,
    "ared" => Fifo<crate::ared::Ared>,
    "nlred" => Fifo<crate::nlred::Nlred>,
    "fred" => Fifo<crate::fred::Fred>,
    "choke" => Fifo<crate::choke::Choke>,
    "black" => Fifo<crate::black::Black>,
    "sred" => Fifo<crate::sred::Sred>,
    "care" => Fifo<crate::care::Care>,
    "shred" => Fifo<crate::shred::Shred>,
    "pie" => Fifo<crate::pie::Pie>,
    "blue" => Fifo<crate::blue::Blue>,
    "green" => Fifo<crate::green::Green>,
    "pi" => Fifo<crate::pi::Pi>,
    "rem" => Fifo<crate::rem::Rem>,
    "avq" => Fifo<crate::avq::Avq>,
    "sfb" => Fifo<crate::sfb::Sfb>,
    "codel" => Fifo<crate::codel::Codel>,
    "cobalt" => Fifo<crate::cobalt::Cobalt>,
    "daqm" => Fifo<crate::daqm::Daqm>,
    "fq_codel" => FairQueue<crate::codel::Codel>,
    "drr" => crate::drr::Drr,
    "sfq" => crate::sfq::Sfq,
    "fq_pfifo" => FairQueue<crate::pfifo::Pfifo>,
    "fq_red" => FairQueue<crate::red::Red>,
    "fq_pie" => FairQueue<crate::pie::Pie>,
    "fq_cobalt" => FairQueue<crate::cobalt::Cobalt>,
    "fq_daqm" => FairQueue<crate::daqm::Daqm>,
    "fq_rem" => FairQueue<crate::rem::Rem>,
    "fq_avq" => FairQueue<crate::avq::Avq>,
    "cake" => crate::cake::Cake,
    "dualpi2" => crate::dualpi2::DualPi2,
}

type Configure = fn(&'static str, &[(String, String)]) -> Result<Arc<dyn Scheme>, String>;

/// One registered algorithm.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The tc-style name: `fq_codel`.
    pub name: &'static str,
    /// What the tables say.
    pub about: About,
    /// Over many queues ([`FairQueue`]) rather than one.
    pub fair: bool,
    /// Among which packets it keeps the order of arrival.
    pub order: Order,
    /// Words that tc writes alone, with the parameter and the value that each stands for.
    pub words: &'static [(&'static str, &'static str, &'static str)],
    /// Names of presets.
    pub presets: &'static [&'static str],
    /// Parameters that cannot change while packets wait.
    pub fixed: &'static [&'static str],
    /// The parameters with their defaults.
    pub params: fn() -> Vec<Param>,
    pub(crate) configure: Configure,
}

impl Entry {
    /// The name in prose: `FQ-CoDel`.
    #[must_use]
    pub fn title(&self) -> String {
        if self.fair {
            format!("FQ-{}", self.about.title)
        } else {
            self.about.title.to_owned()
        }
    }

    /// What it does, in a line.
    #[must_use]
    pub fn summary(&self) -> String {
        if self.fair {
            format!("fair queueing over hashed flows, each queue under {}", self.about.title)
        } else {
            self.about.summary.to_owned()
        }
    }

    /// The governing texts.
    #[must_use]
    pub fn source(&self) -> String {
        if self.fair {
            format!("RFC 8290; {}", self.about.source)
        } else {
            self.about.source.to_owned()
        }
    }
}

/// The entry called `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static Entry> {
    ALL.iter().find(|entry| entry.name == name)
}

pub(crate) trait Scheme: Send + Sync {
    fn text(&self) -> String;
    fn params(&self) -> Vec<Param>;
    fn build(&self) -> Box<dyn Discipline>;
    /// The parameters as the discipline's own type.
    fn typed(&self) -> &dyn Any;
}

pub(crate) fn unknown_algorithm(name: &str) -> String {
    let names: Vec<&str> = ALL.iter().map(|entry| entry.name).collect();
    format!("unknown algorithm \"{name}\"{}; allowed: {}", did_you_mean(name, &names), names.join(", "))
}

pub(crate) fn unknown_parameter(key: &str, known: &[Param], presets: &[&str]) -> String {
    let mut names: Vec<&str> = known.iter().map(|p| p.name).collect();
    if !presets.is_empty() {
        names.push("preset");
    }
    format!("unknown parameter \"{key}\"{}; allowed: {}", did_you_mean(key, &names), names.join(", "))
}

fn unknown_preset(name: &str, presets: &[&str]) -> String {
    if presets.is_empty() {
        return format!("unknown preset \"{name}\"; this algorithm has no presets");
    }
    format!("unknown preset \"{name}\"{}; allowed: {}", did_you_mean(name, presets), presets.join(", "))
}

/// A discipline that can be registered: an algorithm in a container, or one that stands alone.
trait Registered {
    const ABOUT: About;
    const FAIR: bool = false;
    const ORDER: Order;
    const WORDS: &'static [(&'static str, &'static str, &'static str)] = &[];
    const PRESETS: &'static [&'static str];
    const FIXED: &'static [&'static str];
    fn params() -> Vec<Param>;
    fn configure(name: &'static str, pairs: &[(String, String)]) -> Result<Arc<dyn Scheme>, String>;
}

/// The preset's name, where one is given.
fn preset_of(pairs: &[(String, String)]) -> Option<&str> {
    pairs.iter().rev().find(|(key, _)| key == "preset").map(|(_, value)| value.as_str())
}

/// Starts from the preset's parameters or `defaults`.
fn base<A: Algorithm>(pairs: &[(String, String)], defaults: A::Params) -> Result<A::Params, String> {
    match preset_of(pairs) {
        None => Ok(defaults),
        Some(name) => A::preset(name).ok_or_else(|| unknown_preset(name, A::PRESETS)),
    }
}

/// Sets every pair but the preset.
fn set_all<P: Parameters>(params: &mut P, pairs: &[(String, String)], presets: &[&str]) -> Result<(), String> {
    for (key, value) in pairs.iter().filter(|(key, _)| key != "preset") {
        match params.set(key, value) {
            Some(result) => result.map_err(|why| format!("{key}: {why}"))?,
            None => return Err(unknown_parameter(key, &params.list(), presets)),
        }
    }
    Ok(())
}

/// Name and differing parameters, as text.
fn print(name: &str, lists: &[(Vec<Param>, Vec<Param>)]) -> String {
    let mut text = name.to_owned();
    for (now, default) in lists {
        for (param, default) in now.iter().zip(default) {
            if param.value == default.value {
                continue;
            }
            text.push(' ');
            if param.flag {
                text.push_str(if param.value == "true" { "" } else { "no" });
                text.push_str(param.name);
            } else {
                text.push_str(&format!("{} {}", param.name, param.value));
            }
        }
    }
    text
}

struct FifoScheme<A: Algorithm> {
    name: &'static str,
    params: A::Params,
}

impl<A: Algorithm> Scheme for FifoScheme<A> {
    fn text(&self) -> String {
        print(self.name, &[(self.params.list(), A::Params::default().list())])
    }
    fn params(&self) -> Vec<Param> {
        self.params.list()
    }
    fn build(&self) -> Box<dyn Discipline> {
        Box::new(Fifo::<A>::new(self.params.clone()))
    }
    fn typed(&self) -> &dyn Any {
        &self.params
    }
}

impl<A: Algorithm> Registered for Fifo<A> {
    const ABOUT: About = A::ABOUT;
    const ORDER: Order = Order::Arrival;
    const PRESETS: &'static [&'static str] = A::PRESETS;
    const FIXED: &'static [&'static str] = A::FIXED;

    fn params() -> Vec<Param> {
        A::Params::default().list()
    }

    fn configure(name: &'static str, pairs: &[(String, String)]) -> Result<Arc<dyn Scheme>, String> {
        let mut params = base::<A>(pairs, A::Params::default())?;
        set_all(&mut params, pairs, A::PRESETS)?;
        A::check(&params)?;
        Ok(Arc::new(FifoScheme::<A> { name, params }))
    }
}

struct StandaloneScheme<D: Standalone> {
    name: &'static str,
    params: D::Params,
}

impl<D: Standalone> Scheme for StandaloneScheme<D> {
    fn text(&self) -> String {
        print(self.name, &[(self.params.list(), D::Params::default().list())])
    }
    fn params(&self) -> Vec<Param> {
        self.params.list()
    }
    fn build(&self) -> Box<dyn Discipline> {
        Box::new(D::new(&self.params))
    }
    fn typed(&self) -> &dyn Any {
        &self.params
    }
}

impl<D: Standalone> Registered for D {
    const ABOUT: About = D::ABOUT;
    const ORDER: Order = D::ORDER;
    const WORDS: &'static [(&'static str, &'static str, &'static str)] = D::WORDS;
    const PRESETS: &'static [&'static str] = D::PRESETS;
    const FIXED: &'static [&'static str] = D::FIXED;

    fn params() -> Vec<Param> {
        D::Params::default().list()
    }

    fn configure(name: &'static str, pairs: &[(String, String)]) -> Result<Arc<dyn Scheme>, String> {
        let mut params = match preset_of(pairs) {
            None => D::Params::default(),
            Some(name) => D::preset(name).ok_or_else(|| unknown_preset(name, D::PRESETS))?,
        };
        set_all(&mut params, pairs, D::PRESETS)?;
        D::check(&params)?;
        Ok(Arc::new(StandaloneScheme::<D> { name, params }))
    }
}

struct FairScheme<A: Algorithm> {
    name: &'static str,
    params: (fair::Params, A::Params),
}

impl<A: Algorithm> FairScheme<A> {
    /// The container's parameters, then those of the algorithm that it does not hide.
    fn list(fair: &fair::Params, params: &A::Params) -> Vec<Param> {
        let mut list = fair.list();
        let inner = params.list();
        list.extend(inner.into_iter().filter(|p| !fair::Params::HIDES.contains(&p.name)));
        list
    }
}

impl<A: Algorithm> Scheme for FairScheme<A> {
    fn text(&self) -> String {
        let default = Self::list(&fair::Params::default(), &A::fair_defaults());
        print(self.name, &[(self.params(), default)])
    }
    fn params(&self) -> Vec<Param> {
        Self::list(&self.params.0, &self.params.1)
    }
    fn build(&self) -> Box<dyn Discipline> {
        let (fair, params) = self.params.clone();
        Box::new(FairQueue::<A>::new(fair, params))
    }
    fn typed(&self) -> &dyn Any {
        &self.params
    }
}

impl<A: Algorithm> Registered for FairQueue<A> {
    const ABOUT: About = About { per_flow_state: true, ..A::ABOUT };
    const FAIR: bool = true;
    const ORDER: Order = Order::Flow;
    const PRESETS: &'static [&'static str] = A::PRESETS;
    const FIXED: &'static [&'static str] = A::FIXED;

    fn params() -> Vec<Param> {
        FairScheme::<A>::list(&fair::Params::default(), &A::fair_defaults())
    }

    fn configure(name: &'static str, pairs: &[(String, String)]) -> Result<Arc<dyn Scheme>, String> {
        let mut fair = fair::Params::default();
        let mut params = base::<A>(pairs, A::fair_defaults())?;
        for (key, value) in pairs.iter().filter(|(key, _)| key != "preset") {
            let hidden = fair::Params::HIDES.contains(&key.as_str());
            let result = fair.set(key, value).or_else(|| if hidden { None } else { params.set(key, value) });
            match result {
                Some(result) => result.map_err(|why| format!("{key}: {why}"))?,
                None => {
                    let known = FairScheme::<A>::list(&fair, &params);
                    return Err(unknown_parameter(key, &known, A::PRESETS));
                }
            }
        }
        fair.check()?;
        let params = fair.unlimited(params);
        A::check(&params)?;
        Ok(Arc::new(FairScheme::<A> { name, params: (fair, params) }))
    }
}
