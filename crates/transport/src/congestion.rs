//! Congestion control: how much may be in flight.
//!
//! An algorithm sees every acknowledgement with all that later algorithms need (delivery-rate sample, RTT,
//! one-way delay, CE marks), and owns its window. The sender owns the reaction *during* an episode: while it
//! reduces the window (PRR or at once) the algorithm only says to what, `ssthresh`.
//!
//! To add one: its file, `pub mod` here, and its line of `congestion_controls!`. Dispatch, the names in scenarios and their schema,
//! the reference, lists and Python follow. Parameters of one algorithm are keys of the TCP table, declared in its file.

pub mod bbr;
pub mod bbr3;
pub mod bic;
pub mod compound;
pub mod cubic;
pub mod dctcp;
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

use ns2 as ns2_reno;
use ns3::{cubic as ns3_cubic, reno as ns3_reno};
use serde::de;
use sojourn_document::keys::{KeySet, Listed, Scalar};
use sojourn_units::{BitRate, Bytes, Instant, Packets, Span};
use std::fmt;

/// Delivery-rate sample of one acknowledgement (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Data delivered during `interval`.
    pub delivered: Bytes,
    /// The longer of the times in which that data was sent and was acknowledged.
    pub interval: Span,
    /// The connection's count of delivered data when the segment that gave this sample was sent.
    pub prior_delivered: Bytes,
    /// The application, not the network, bounded this sample.
    pub app_limited: bool,
    /// The segment that gave this sample had been sent before.
    pub retransmitted: bool,
    /// In flight when it was sent, itself included.
    pub tx_in_flight: Bytes,
    /// Taken as lost since then.
    pub lost: Bytes,
}

impl RateSample {
    /// The rate; zero when no time passed.
    #[must_use]
    pub fn rate(&self) -> BitRate {
        if self.interval.is_zero() {
            return BitRate::ZERO;
        }
        let bit_s = u128::from(self.delivered.get()) * 8_000_000_000 / u128::from(self.interval.nanos());
        BitRate::from_bit_s(u64::try_from(bit_s).unwrap_or(u64::MAX))
    }
}

/// An acknowledgement as congestion control sees it.
#[derive(Clone, Copy, Debug)]
pub struct AckEvent {
    /// When it arrived.
    pub now: Instant,
    /// Newly acknowledged by the cumulative acknowledgement, without what had been SACKed before.
    pub acked: Bytes,
    /// Segments of `acked`.
    pub acked_packets: Packets,
    /// Newly SACKed (without SACK: what a duplicate acknowledgement stands for).
    pub sacked: Bytes,
    /// Segments of `sacked`.
    pub sacked_packets: Packets,
    /// RTT of the most recently sent segment among these: if it was sent only once, or if a timestamp tells.
    pub rtt: Option<Span>,
    /// Smallest RTT of the connection; [`Span::MAX`] before the first.
    pub min_rtt: Span,
    /// Smoothed RTT; zero before the first sample.
    pub srtt: Span,
    /// Delay from sender to receiver of the segment whose timestamp is echoed.
    pub one_way_delay: Option<Span>,
    /// Delivery-rate sample, where one is valid.
    pub rate: Option<RateSample>,
    /// Delivered since the start, this acknowledgement included.
    pub delivered: Bytes,
    /// In flight (RFC 6675's pipe) after this acknowledgement.
    pub in_flight: Bytes,
    /// In flight before it.
    pub prior_in_flight: Bytes,
    /// Until pacing lets the next segment go; zero where it does not wait, and for algorithms that read no delivery rates.
    pub departs_in: Span,
    /// Newly taken as lost by it.
    pub lost: Bytes,
    /// Taken as lost since the start; what is lost again counts again.
    pub total_lost: Bytes,
    /// Where the sender stands, after this acknowledgement.
    pub phase: Phase,
    /// The window in force: within a reduction the one that its course allows, else [`CongestionControl::cwnd`].
    pub cwnd: Bytes,
    /// It ends the time after a timeout, which lasted up to this offset.
    pub timeout_over: Option<u64>,
    /// Cumulative acknowledgement, as an offset in the stream.
    pub una: u64,
    /// Next new byte to send, as an offset in the stream: a round trip ends when `una` passes it.
    pub next: u64,
    /// The window may grow: the cumulative acknowledgement advanced, and no reduction is under way.
    pub may_grow: bool,
    /// The window, not the application or the receiver, bounds what is sent (RFC 7661; Linux's `tcp_is_cwnd_limited`).
    pub cwnd_limited: bool,
    /// The application, not the network, bounds what is sent (as in [`RateSample`], but now).
    pub app_limited: bool,
    /// Packets newly reported as marked CE; none where feedback is classic.
    pub ce_packets: Packets,
    /// Their payload.
    pub ce_bytes: Bytes,
}

/// Where the sender stands towards congestion (Linux's `icsk_ca_state` without Disorder), from best to worst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// No episode.
    #[default]
    Open,
    /// Reducing in answer to a mark.
    Reducing,
    /// Fast recovery.
    Recovery,
    /// After a timeout.
    Loss,
}

/// Why the window must shrink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A segment is missing.
    Loss,
    /// A mark was echoed (RFC 3168).
    Ecn,
    /// The retransmission timer expired.
    Timeout,
}

/// The start of a congestion episode; at most one per window of data.
#[derive(Clone, Copy, Debug)]
pub struct CongestionEvent {
    /// When.
    pub now: Instant,
    /// Why.
    pub signal: Signal,
    /// In flight (RFC 6675's pipe) at this moment.
    pub in_flight: Bytes,
}

/// What the receiver says of the marks that it sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnFeedback {
    /// RFC 3168: ECE from a mark until the sender has answered with CWR.
    #[default]
    Classic,
    /// RFC 8257, section 3.2: an acknowledgement has ECE just when what it newly acknowledges was marked.
    Accurate,
    /// RFC 9768: counters of marked packets and bytes.
    AccEcn,
}

/// A congestion control algorithm. All state is its own; `now` is always given.
pub trait CongestionControl: CloneBox + fmt::Debug + Send + Sync {
    /// An acknowledgement that acknowledged or SACKed something.
    fn on_ack(&mut self, ack: &AckEvent);

    /// An episode starts: sets `ssthresh`. The window itself follows by [`CongestionControl::set_cwnd`].
    fn on_congestion(&mut self, event: &CongestionEvent);

    /// Everything outstanding is taken as lost (after `on_congestion`, where that is due): the window is one segment.
    /// `total_lost` counts since the start, as in [`AckEvent`].
    fn on_rto(&mut self, now: Instant, total_lost: Bytes);

    /// The episode of `on_congestion` has ended and the window has been set to `ssthresh`.
    fn on_recovery_exit(&mut self, _now: Instant) {}

    /// The last reduction was not needed: window and threshold have come back.
    fn on_undo(&mut self) {}

    /// The handshake is over: its RTT, where it gave a sample. The initial window is set.
    fn on_established(&mut self, _now: Instant, _rtt: Option<Span>) {}

    /// The handshake has agreed on this feedback, which may be less than it reads.
    fn on_feedback(&mut self, _feedback: EcnFeedback) {}

    /// Sending starts again with nothing in flight, `idle` after the last segment; `app_limited` when the application
    /// was the reason.
    fn on_restart(&mut self, _now: Instant, _idle: Span, _app_limited: bool) {}

    /// The window.
    fn cwnd(&self) -> Bytes;

    /// Slow-start threshold; `u64::MAX` bytes when unset.
    fn ssthresh(&self) -> Bytes;

    /// Sets the window (end of recovery, restart after idle time).
    fn set_cwnd(&mut self, cwnd: Bytes);

    /// Sets the slow-start threshold (restart after idle time).
    fn set_ssthresh(&mut self, ssthresh: Bytes);

    /// The feedback that it reads; one that is accurate also has its retransmissions ECN-capable.
    fn ecn_feedback(&self) -> EcnFeedback {
        EcnFeedback::Classic
    }

    /// Rate at which to space segments; `None` sends as the window opens.
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }

    /// False for algorithms that never ask for a rate.
    fn paces(&self) -> bool {
        false
    }

    /// Segments that go back to back when pacing lets one go, at least 1; the pause after them is that of all.
    fn pacing_burst(&self) -> u64 {
        1
    }

    /// True for model-based algorithms whose `cwnd` holds during loss recovery too: then the sender does not reduce.
    fn controls_recovery(&self) -> bool {
        false
    }

    /// True while what is sent says nothing of the path's bandwidth: samples count as bounded by the application.
    fn disowns_samples(&self) -> bool {
        false
    }

    /// True for algorithms that read delivery rates, or whether the application bounds them: only for them are they kept.
    fn reads_rates(&self) -> bool {
        false
    }

    /// True for algorithms that answer marks within [`CongestionControl::on_ack`]: then a mark starts no episode.
    fn answers_marks(&self) -> bool {
        false
    }

    /// True for algorithms that ask for L4S treatment: their packets carry ECT(1) and nothing else.
    fn is_l4s(&self) -> bool {
        false
    }

    /// True for algorithms that live on one-way delays, which the timestamps option tells.
    fn needs_timestamps(&self) -> bool {
        false
    }

    /// Shows internal variables by name, for tests; the unit is in the name.
    fn internals(&self, _see: &mut dyn FnMut(&'static str, f64)) {}
}

/// A copy behind a pointer, which every algorithm has that can be copied.
pub trait CloneBox {
    /// A copy with its state.
    fn clone_box(&self) -> Box<dyn CongestionControl>;
}

impl<T: CongestionControl + Clone + 'static> CloneBox for T {
    fn clone_box(&self) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn CongestionControl> {
    fn clone(&self) -> Self {
        // Not of the box, which is what a call on itself would copy.
        (**self).clone_box()
    }
}

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
            build: |p| Control::$type($( $pointer::new )?($module::$type::new(p))),
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

/// What an algorithm is built from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Payload of a full segment.
    pub mss: Bytes,
    /// Window at the start.
    pub initial_window: Packets,
    /// The window never exceeds this.
    pub window_limit: Option<Bytes>,
    /// Of the algorithm's own random numbers.
    pub seed: u64,
    /// Keys of single algorithms.
    pub keys: Keys,
}

/// What a module says of its algorithm.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Name in configuration.
    pub name: &'static str,
    /// Governing text.
    pub source: &'static str,
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
    pub build: fn(&Parameters) -> Control,
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
        (self.build)(&Parameters { mss, initial_window, window_limit: None, seed: 0, keys: Keys::default() })
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
