//! Congestion control: how much may be in flight.
//!
//! An algorithm sees every acknowledgement with all that later algorithms need (delivery-rate sample, RTT,
//! one-way delay, CE marks), and owns its window. The sender owns the reaction *during* an episode: while it
//! reduces the window (PRR or at once) the algorithm only says to what, `ssthresh`.
//!
//! What it is told stands in `event`, and what it is in `algorithm`. This file is the registry.
//!
//! To add one: its file, `pub mod` here, and its line of `congestion_controls!`. Dispatch, the names in scenarios and their schema,
//! the reference, lists and Python follow. Parameters of one algorithm are keys of the TCP table, declared in its file.

mod algorithm;
pub mod bbr;
pub mod bbr3;
pub mod bic;
pub mod compound;
pub mod cubic;
pub mod dctcp;
mod event;
pub mod ledbat;
mod named;
pub mod newreno;
pub mod ns2;
pub mod ns3;
pub mod prague;
pub mod reno;
pub mod veno;
pub mod westwood;
mod window;

pub use algorithm::{About, CongestionControl, Parameters};
pub use event::{AckEvent, Amount, CongestionEvent, Delivery, EcnFeedback, Phase, RateSample, Rtt, Signal};

use ns2 as ns2_reno;
use ns3::{cubic as ns3_cubic, reno as ns3_reno};
use serde::de;
use sojourn_document::keys::{KeySet, Listed, Scalar};
use sojourn_units::{BitRate, Bytes, Instant, Packets, Span};
use std::fmt;

macro_rules! held {
    ($type:ty) => { $type };
    ($type:ty, $pointer:ident) => { $pointer<$type> };
}

/// Makes the registry of `module::Type` lines: `in Box` where the type is large, `with Keys` where the module declares keys.
/// (The first `$` stands for itself in the macro that this one makes.)
macro_rules! congestion_controls {
    ($d:tt $( $module:ident::$type:ident $(in $pointer:ident)? $(with $keys:ident)? ),+ $(,)?) => {
        /// Any algorithm, without a detour through memory: those of the registry, and one of the caller's own.
        #[derive(Clone, Debug)]
        #[allow(missing_docs, reason = "the modules say what each is")]
        pub enum Control {
            $( $type(held!($module::$type $(, $pointer)?)), )+
            Custom(Box<dyn CongestionControl>),
        }

        /// What `$do` does with the algorithm, whichever it is.
        macro_rules! each {
            ($d control:expr, $d it:ident => $d do:expr) => {
                match $d control {
                    $( Control::$type($d it) => $d do, )+
                    Control::Custom($d it) => $d do,
                }
            };
        }

        /// The keys of every algorithm that has some. A key of several is set for all of them.
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        #[allow(missing_docs, reason = "the modules say what each is")]
        pub struct Keys {
            $( $( pub $module: $module::$keys, )? )+
        }

        impl KeySet for Keys {
            fn set<E: de::Error>(&mut self, name: &str, value: &Scalar) -> Option<Result<(), E>> {
                let tried = [ $( $( <$module::$keys as KeySet>::set::<E>(&mut self.$module, name, value), )? )+ ];
                tried.into_iter().flatten().reduce(Result::and)
            }

            fn list(&self) -> Vec<Listed> {
                let mut list: Vec<Listed> = Vec::new();
                for key in ALGORITHMS.iter().flat_map(|algorithm| (algorithm.keys)(self)) {
                    if list.iter().all(|known| known.name != key.name) {
                        list.push(key);
                    }
                }
                list
            }
        }

        /// Every algorithm.
        pub static ALGORITHMS: &[Algorithm] = &[ $( Algorithm {
            name: $module::ABOUT.name,
            source: $module::ABOUT.source,
            keys: |keys| {
                let lists: &[fn(&Keys) -> Vec<Listed>] = &[ $( |keys| <$module::$keys>::list(&keys.$module) )? ];
                lists.iter().flat_map(|list| list(keys)).collect()
            },
            build: |p, _keys| Control::$type(
                $( $pointer::new )?($module::$type::new(p $(, <$module::$keys>::clone(&_keys.$module) )?))
            ),
        } ),+ ];
    };
}

congestion_controls! { $
    newreno::NewReno,
    ns2_reno::Ns2Reno,
    ns3_cubic::Ns3Cubic in Box with Keys,
    ns3_reno::Ns3Reno,
    reno::Reno,
    cubic::Cubic with Keys,
    dctcp::Dctcp,
    bbr::Bbr in Box,
    prague::Prague in Box with Keys,
    ledbat::Ledbat in Box with Keys,
    compound::Compound in Box,
    westwood::Westwood in Box,
    veno::Veno,
    bic::Bic,
    bbr3::Bbr3 in Box,
}

/// What an [`AckEvent`] is put together from.
pub(super) trait EventSource {
    /// The event, for an algorithm with this threshold.
    fn event(&self, ssthresh: Bytes) -> AckEvent;
}

impl Control {
    /// As [`CongestionControl::on_ack`], of an event that is put together here: the window. For the algorithms that most flows
    /// have, it is put together as far as they read it. Counts `reductions` in answer to marks.
    #[inline(always)]
    pub(super) fn answer(&mut self, source: &impl EventSource, reductions: &mut u64) -> Bytes {
        match self {
            Self::NewReno(it) => {
                it.on_ack(&source.event(it.ssthresh()));
                it.cwnd()
            }
            Self::Cubic(it) => {
                it.on_ack(&source.event(it.ssthresh()));
                it.cwnd()
            }
            other => other.answer_whole(&source.event(other.ssthresh()), reductions),
        }
    }

    #[inline(never)]
    fn answer_whole(&mut self, event: &AckEvent, reductions: &mut u64) -> Bytes {
        let before = self.cwnd();
        self.on_ack(event);
        let cwnd = self.cwnd();
        *reductions += u64::from(cwnd < before && self.answers_marks());
        cwnd
    }
}

impl CongestionControl for Control {
    #[inline(never)]
    fn on_ack(&mut self, ack: &AckEvent) {
        each!(self, it => it.on_ack(ack));
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        each!(self, it => it.on_congestion(event));
    }

    fn on_rto(&mut self, now: Instant, total_lost: Bytes) {
        each!(self, it => it.on_rto(now, total_lost));
    }

    fn on_recovery_exit(&mut self, now: Instant) {
        each!(self, it => it.on_recovery_exit(now));
    }

    fn on_undo(&mut self) {
        each!(self, it => it.on_undo());
    }

    fn on_established(&mut self, now: Instant, rtt: Option<Span>) {
        each!(self, it => it.on_established(now, rtt));
    }

    fn on_feedback(&mut self, feedback: EcnFeedback) {
        each!(self, it => it.on_feedback(feedback));
    }

    fn on_restart(&mut self, now: Instant, idle: Span, app_limited: bool) {
        each!(self, it => it.on_restart(now, idle, app_limited));
    }

    #[inline(always)]
    fn cwnd(&self) -> Bytes {
        each!(self, it => it.cwnd())
    }

    #[inline(always)]
    fn ssthresh(&self) -> Bytes {
        each!(self, it => it.ssthresh())
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        each!(self, it => it.set_cwnd(cwnd));
    }

    fn set_ssthresh(&mut self, ssthresh: Bytes) {
        each!(self, it => it.set_ssthresh(ssthresh));
    }

    fn ecn_feedback(&self) -> EcnFeedback {
        each!(self, it => it.ecn_feedback())
    }

    #[inline]
    fn pacing_rate(&self) -> Option<BitRate> {
        each!(self, it => it.pacing_rate())
    }

    fn paces(&self) -> bool {
        each!(self, it => it.paces())
    }

    fn pacing_burst(&self) -> u64 {
        each!(self, it => it.pacing_burst())
    }

    #[inline]
    fn controls_recovery(&self) -> bool {
        each!(self, it => it.controls_recovery())
    }

    #[inline]
    fn disowns_samples(&self) -> bool {
        each!(self, it => it.disowns_samples())
    }

    fn reads_rates(&self) -> bool {
        each!(self, it => it.reads_rates())
    }

    #[inline]
    fn answers_marks(&self) -> bool {
        each!(self, it => it.answers_marks())
    }

    fn is_l4s(&self) -> bool {
        each!(self, it => it.is_l4s())
    }

    fn needs_timestamps(&self) -> bool {
        each!(self, it => it.needs_timestamps())
    }

    fn internals(&self, see: &mut dyn FnMut(&'static str, f64)) {
        each!(self, it => it.internals(see));
    }
}

/// A line of the registry.
#[derive(Clone, Copy)]
pub struct Algorithm {
    /// Name in configuration.
    pub name: &'static str,
    /// Governing text.
    pub source: &'static str,
    /// Its own keys among those of all.
    pub keys: fn(&Keys) -> Vec<Listed>,
    /// Makes one.
    pub build: fn(&Parameters, &Keys) -> Control,
}

impl Algorithm {
    /// It has a key of this name.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        (self.keys)(&Keys::default()).iter().any(|own| own.name == key)
    }

    /// One to ask for its properties, with the default keys.
    #[must_use]
    pub fn example(&self) -> Control {
        let (mss, initial_window) = (Bytes::new(1448), Packets::new(10));
        (self.build)(&Parameters { mss, initial_window, window_limit: None, seed: 0 }, &Keys::default())
    }

    /// Source, what it needs of the transport, and its own keys, in a line.
    #[must_use]
    pub fn description(&self) -> String {
        let (example, mut text) = (self.example(), format!("{}.", self.source));
        let needs = [
            ("`ecn = true`", example.ecn_feedback() != EcnFeedback::Classic),
            ("`ect = 1`", example.is_l4s()),
            ("`timestamps = true`", example.needs_timestamps()),
        ];
        let keys = (self.keys)(&Keys::default()).into_iter().map(|key| format!("`{}`", key.name));
        for (what, list) in [
            ("Needs", needs.into_iter().filter(|(_, is)| *is).map(|(what, _)| what.to_owned()).collect::<Vec<_>>()),
            ("Own keys:", keys.collect()),
        ] {
            if !list.is_empty() {
                text += &format!(" {what} {}.", list.join(", "));
            }
        }
        text
    }
}

impl fmt::Debug for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Algorithm {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Algorithm {}

/// Names of all algorithms, in the order of the registry.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALGORITHMS.iter().map(|a| a.name)
}

/// The algorithm called `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static Algorithm> {
    ALGORITHMS.iter().find(|a| a.name == name)
}
