//! Every algorithm by its tc-style name: one line each, from which command-line name, Python class,
//! documentation table, contract tests, fuzz target and bench follow.
//!
//! A program adds its own with [`add`]. From then on texts and tables name it as they name the built-in ones:
//! `my_codel target 10ms`, and `fq:my_codel` with an instance in each queue of [`FairQueue`].

use crate::discipline::{About, Algorithm, Discipline, Excess, Fifo, Order, Standalone};
use crate::queues::fair::{self, FairQueue};
use crate::suggest::did_you_mean;
use crate::{Param, Parameters};
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::Any;
use core::marker::PhantomData;
use once_cell::race::OnceBox;

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
            excess: <$type as Registered>::EXCESS,
            maker: &Of::<$type>(PhantomData),
        } ),+ ];
    };
}

registry! {
    "pfifo" => Fifo<crate::schemes::pfifo::Pfifo>,
    "bfifo" => Fifo<crate::schemes::pfifo::Bfifo>,
    "threshold" => Fifo<crate::schemes::threshold::Threshold>,
    "dropping_function" => Fifo<crate::schemes::dropping_function::DroppingFunction>,
    "red" => Fifo<crate::schemes::red::Red>,
    "ared" => Fifo<crate::schemes::ared::Ared>,
    "nlred" => Fifo<crate::schemes::nlred::Nlred>,
    "fred" => Fifo<crate::schemes::fred::Fred>,
    "choke" => Fifo<crate::schemes::choke::Choke>,
    "black" => Fifo<crate::schemes::black::Black>,
    "sred" => Fifo<crate::schemes::sred::Sred>,
    "care" => Fifo<crate::schemes::care::Care>,
    "shred" => Fifo<crate::schemes::shred::Shred>,
    "pie" => Fifo<crate::schemes::pie::Pie>,
    "blue" => Fifo<crate::schemes::blue::Blue>,
    "green" => Fifo<crate::schemes::green::Green>,
    "pi" => Fifo<crate::schemes::pi::Pi>,
    "rem" => Fifo<crate::schemes::rem::Rem>,
    "avq" => Fifo<crate::schemes::avq::Avq>,
    "sfb" => Fifo<crate::schemes::sfb::Sfb>,
    "codel" => Fifo<crate::schemes::codel::Codel>,
    "cobalt" => Fifo<crate::schemes::cobalt::Cobalt>,
    "daqm" => Fifo<crate::schemes::daqm::Daqm>,
    "fq_codel" => FairQueue<crate::schemes::codel::Codel>,
    "drr" => crate::schemes::drr::Drr,
    "sfq" => crate::schemes::sfq::Sfq,
    "fq_pfifo" => FairQueue<crate::schemes::pfifo::Pfifo>,
    "fq_red" => FairQueue<crate::schemes::red::Red>,
    "fq_pie" => FairQueue<crate::schemes::pie::Pie>,
    "fq_cobalt" => FairQueue<crate::schemes::cobalt::Cobalt>,
    "fq_daqm" => FairQueue<crate::schemes::daqm::Daqm>,
    "fq_rem" => FairQueue<crate::schemes::rem::Rem>,
    "fq_avq" => FairQueue<crate::schemes::avq::Avq>,
    "cake" => crate::schemes::cake::Cake,
    "dualpi2" => crate::schemes::dualpi2::DualPi2,
}

/// What makes schemes of an entry.
pub(crate) trait Maker: Sync {
    /// The parameters with their defaults.
    fn params(&self) -> Vec<Param>;
    /// A scheme of the entry `name` from pairs of keys and values.
    fn configure(&self, name: &'static str, pairs: &[(String, String)]) -> Result<Arc<dyn Scheme>, String>;
}

/// The maker of a type of the registry.
struct Of<D>(PhantomData<fn() -> D>);

impl<D: Registered> Maker for Of<D> {
    fn params(&self) -> Vec<Param> {
        D::params()
    }
    fn configure(&self, name: &'static str, pairs: &[(String, String)]) -> Result<Arc<dyn Scheme>, String> {
        D::configure(name, pairs)
    }
}

/// One registered algorithm.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The tc-style name: `fq_codel`. That of an added algorithm ends in `@` and its version: `my_pie@5f1d83a90c42`.
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
    /// What becomes of packets that wait beyond a limit that a change has lowered.
    pub excess: Excess,
    maker: &'static dyn Maker,
}

impl Entry {
    /// The parameters with their defaults.
    #[must_use]
    pub fn params(&self) -> Vec<Param> {
        self.maker.params()
    }

    /// The name without a version: `my_pie`.
    #[must_use]
    pub fn short_name(&self) -> &'static str {
        short(self.name)
    }

    pub(crate) fn configure(&self, pairs: &[(String, String)]) -> Result<Arc<dyn Scheme>, String> {
        self.maker.configure(self.name, pairs)
    }

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

/// The entry called `name`; without a version it is the one that was added last.
#[must_use]
pub fn find(name: &str) -> Option<&'static Entry> {
    let is = |entry: &&Entry| entry.name == name || entry.short_name() == name;
    ALL.iter().find(|entry| entry.name == name).or_else(|| added().filter(is).last())
}

/// A name without its version.
fn short(name: &str) -> &str {
    name.split_once('@').map_or(name, |(name, _)| name)
}

/// Names without versions, each once.
#[must_use]
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = ALL.iter().map(|entry| entry.name).collect();
    for entry in added() {
        if !names.contains(&entry.short_name()) {
            names.push(entry.short_name());
        }
    }
    names
}

/// A list that only grows, so that an entry of it can be looked at while another thread adds one.
struct Node {
    entry: Entry,
    next: OnceBox<Node>,
}

static ADDED: OnceBox<Node> = OnceBox::new();

/// The algorithms that were added, in that order.
pub fn added() -> impl Iterator<Item = &'static Entry> {
    core::iter::successors(ADDED.get(), |node| node.next.get()).map(|node| &node.entry)
}

/// The most algorithms that a process may add, so that a program that adds without end is told so.
const MOST_ADDED: usize = 4096;

/// Adds an algorithm for the rest of the process, twice: as `name@version`, and as `fq:name@version`, which has an instance
/// in each queue of [`FairQueue`]. Does nothing where both are there. What differs in its decisions needs another version.
///
/// ```
/// use sojourn_aqm::{registry, schemes::codel, Algorithm, Config};
/// registry::add::<codel::Codel>("my_codel", "1", codel::Codel::ABOUT, codel::Params::default())?;
/// let config: Config = "my_codel target 10ms".parse()?;
/// assert_eq!(config.text(), "my_codel@1 target 10ms");
/// assert!("fq:my_codel quantum 300".parse::<Config>().is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A name or version that a text cannot hold, or that a built-in algorithm has.
pub fn add<A: Algorithm>(name: &str, version: &str, about: About, defaults: A::Params) -> Result<(), String> {
    let is_word = |text: &str| text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !is_word(name) {
        return Err(format!(
            "\"{name}\" cannot name an algorithm; allowed: lower-case letters, digits and _, a letter first"
        ));
    }
    if version.is_empty() || !is_word(version) {
        return Err(format!("\"{version}\" cannot be a version; allowed: lower-case letters, digits and _"));
    }
    if ALL.iter().any(|entry| entry.name == name) {
        return Err(format!("there is a built-in algorithm \"{name}\"; allowed: another name"));
    }
    let full = format!("{name}@{version}");
    // The newest is what a name without a version means, so one that is there already moves to the end.
    if find(name).is_some_and(|entry| entry.name == full) {
        return Ok(());
    }
    let entry = |name: String, fair: bool, maker: &'static dyn Maker| Entry {
        name: Box::leak(name.into_boxed_str()),
        about: About { per_flow_state: about.per_flow_state || fair, ..about },
        fair,
        order: if fair { Order::Flow } else { Order::Arrival },
        words: &[],
        presets: A::PRESETS,
        fixed: A::FIXED,
        excess: if fair { Excess::Turn } else { A::EXCESS },
        maker,
    };
    if added().count() + 2 > MOST_ADDED {
        return Err(format!("{} algorithms were added; allowed: {MOST_ADDED} in a process", added().count()));
    }
    // An algorithm is added for the rest of the process, and entries refer to what lives as long.
    let one: &'static Added<A> = Box::leak(Box::new(Added(defaults.clone())));
    let fair: &'static AddedFair<A> = Box::leak(Box::new(AddedFair(defaults)));
    append(entry(full.clone(), false, one));
    append(entry(format!("fq:{full}"), true, fair));
    Ok(())
}

fn append(entry: Entry) {
    let mut node = Box::new(Node { entry, next: OnceBox::new() });
    let mut end = &ADDED;
    // Bound: the list, which other threads make longer by what they add.
    loop {
        match end.set(node) {
            Ok(()) => return,
            Err(refused) => node = refused,
        }
        match end.get() {
            Some(last) => end = &last.next,
            None => return,
        }
    }
}

struct Added<A: Algorithm>(A::Params);

impl<A: Algorithm> Maker for Added<A> {
    fn params(&self) -> Vec<Param> {
        self.0.list()
    }
    fn configure(&self, name: &'static str, pairs: &[(String, String)]) -> Result<Arc<dyn Scheme>, String> {
        single::<A>(name, pairs, &self.0)
    }
}

struct AddedFair<A: Algorithm>(A::Params);

impl<A: Algorithm> Maker for AddedFair<A> {
    fn params(&self) -> Vec<Param> {
        FairScheme::<A>::list(&fair::Params::default(), &self.0)
    }
    fn configure(&self, name: &'static str, pairs: &[(String, String)]) -> Result<Arc<dyn Scheme>, String> {
        many::<A>(name, pairs, &self.0)
    }
}

pub(crate) trait Scheme: Send + Sync {
    fn text(&self) -> String;
    fn params(&self) -> Vec<Param>;
    fn build(&self) -> Box<dyn Discipline>;
    /// The parameters as the discipline's own type.
    fn typed(&self) -> &dyn Any;
}

/// The message for a name that is none.
#[must_use]
pub fn unknown_algorithm(name: &str) -> String {
    let names = names();
    if let Some(known) = name.split_once('@').and_then(|(short, _)| find(short)) {
        let other = known.name;
        return format!("\"{name}\" is not loaded, but \"{other}\" is: the same algorithm from another source, library, or compiler");
    }
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
    const EXCESS: Excess;
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
    defaults: A::Params,
}

/// A scheme of `A` over one queue.
fn single<A: Algorithm>(
    name: &'static str,
    pairs: &[(String, String)],
    defaults: &A::Params,
) -> Result<Arc<dyn Scheme>, String> {
    let mut params = base::<A>(pairs, defaults.clone())?;
    set_all(&mut params, pairs, A::PRESETS)?;
    A::check(&params)?;
    Ok(Arc::new(FifoScheme::<A> { name, params, defaults: defaults.clone() }))
}

impl<A: Algorithm> Scheme for FifoScheme<A> {
    fn text(&self) -> String {
        print(self.name, &[(self.params.list(), self.defaults.list())])
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
    const EXCESS: Excess = A::EXCESS;

    fn params() -> Vec<Param> {
        A::Params::default().list()
    }

    fn configure(name: &'static str, pairs: &[(String, String)]) -> Result<Arc<dyn Scheme>, String> {
        single::<A>(name, pairs, &A::Params::default())
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
    const EXCESS: Excess = D::EXCESS;

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
    defaults: A::Params,
}

/// A scheme of `A` in every queue of a fair queue.
fn many<A: Algorithm>(
    name: &'static str,
    pairs: &[(String, String)],
    defaults: &A::Params,
) -> Result<Arc<dyn Scheme>, String> {
    let mut fair = fair::Params::default();
    let mut params = match preset_of(pairs) {
        None => defaults.clone(),
        preset => A::in_fair_queue(preset, base::<A>(pairs, defaults.clone())?),
    };
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
    Ok(Arc::new(FairScheme::<A> { name, params: (fair, params), defaults: defaults.clone() }))
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
        let default = Self::list(&fair::Params::default(), &self.defaults);
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
    const EXCESS: Excess = Excess::Turn;

    fn params() -> Vec<Param> {
        FairScheme::<A>::list(&fair::Params::default(), &A::in_fair_queue(None, A::Params::default()))
    }

    fn configure(name: &'static str, pairs: &[(String, String)]) -> Result<Arc<dyn Scheme>, String> {
        many::<A>(name, pairs, &A::in_fair_queue(None, A::Params::default()))
    }
}
