//! The sending side: what to send now, and what an acknowledgement or the timer means.
//!
//! Texts: RFC 9293 (transmission), RFC 5681, 6582, 6675 (recovery), 3042 (limited transmit), 6937 (PRR), 6298 (timer),
//! 3168 (ECN; its negotiation in 6.1.1), 9768 (Accurate ECN), 7661 in Linux's form (window validation). Work: amortised O(1) a segment sent or acknowledged.
//!
//! Where texts and implementations differ:
//! * The window is counted in bytes, also where an algorithm counts segments: small segments weigh what they are, unless
//!   `WindowUnit::Packets` has each weigh a full one (Linux and ns-2 count packets).
//! * Without SACK, a duplicate acknowledgement takes one segment out of `pipe` instead of adding one to `cwnd` (RFC 5681's inflation):
//!   the same transmissions, and PRR and ECN need no second set of rules.
//! * Without SACK, no fast retransmit before the cumulative acknowledgement has passed all that was outstanding at the last reduction
//!   (RFC 6582's `recover`; ns-2's `bugFix_`), for `Recovery::Reno` too, for which RFC 5681 asks no such care.
//! * [`Recovery::Ns3`] is ns-3's, with what that does otherwise: see `recovery::ns3`.
//! * RFC 6675's rescue retransmission is not part of it; F-RTO and the undoing of reductions are in `undo`. With `Recovery::Sack` a lost retransmission waits for the
//!   timer; `Recovery::Rack` finds it. Tail loss probes have a switch of their own.
//! * As Linux, `ssthresh` is not reduced again by a timeout within a recovery that already reduced it.
//! * The timer has no granularity, unless `Config::tick` gives it one (Linux: one jiffy).
//!
//! `Core` is what all senders have in common. How missing segments are found and sent again is a `recovery::Strategy`, one
//! file each, and the core is compiled once for each of them.

mod accecn;
mod acknowledge;
mod config;
mod connection;
mod core;
mod episode;
mod inform;
mod offload;
mod progress;
mod rate;
mod recovery;
mod rtt;
mod scoreboard;
mod stats;
mod tail;
mod transmit;
mod undo;
mod window;

pub use config::{Config, Ect, EctOn, FeedbackRule, IdleRestart, Recovery, RtoRule, WindowUnit};
pub use stats::SenderStats;
pub use undo::UndoStats;

use self::core::Core;
use crate::congestion::{CongestionControl, Control, EcnFeedback};
use crate::segment::{Ack, Data};
use recovery::{NewReno, Ns3, Rack, Reno, Sack};
use sojourn_units::{BitRate, Bytes, Instant, Span};
use std::sync::Arc;

/// What brings a sender's acknowledgements and takes its segments.
pub trait Path {
    /// The acknowledgement that has arrived; not to be asked for after [`Path::send`].
    fn ack(&self) -> Ack;

    /// A segment leaves, with the number of data segments sent, this one included.
    fn send(&mut self, data: Data, number: u64, hints: Hints);

    /// As [`Path::send`], of one of the segments of new data that leave in a row, of a sender that gives no hints.
    #[inline(always)]
    fn send_next(&mut self, data: Data, number: u64) {
        self.send(data, number, Hints::default());
    }
}

/// What a segment tells beside its place in the stream, where somebody wants to know; else zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// The congestion window in full segments, at least 1.
    pub window: u16,
    /// The ACE field of Accurate ECN: how many acknowledgements arrived marked CE, from 5 on, modulo 8; 0 where it is not spoken.
    pub ace: u8,
}

/// A TCP sender.
#[derive(Clone, Debug)]
pub struct Sender(Kind);

/// Makes the senders of all strategies of recovery, each by the name of its type and of its [`Recovery`]. (The first `$` stands
/// for itself in the macro that this one makes.)
macro_rules! recoveries {
    ($d:tt $( $name:ident ),+ $(,)?) => {
        /// The core under each recovery.
        #[derive(Clone, Debug)]
        enum Kind {
            $( $name(Core<$name>), )+
        }

        impl Kind {
            fn new(config: Arc<Config>, congestion: Control) -> Self {
                match config.recovery {
                    $( Recovery::$name => Self::$name(Core::new(config, congestion)), )+
                }
            }
        }

        impl Recovery {
            /// It works on selective acknowledgements.
            #[must_use]
            pub const fn is_selective(self) -> bool {
                match self {
                    $( Self::$name => <$name as recovery::Strategy>::SELECTIVE, )+
                }
            }
        }

        /// What `$do` does with the core, whichever it is.
        macro_rules! with {
            ($d sender:expr, $d core:ident => $d do:expr) => {
                match $d sender {
                    $( Kind::$name($d core) => $d do, )+
                }
            };
        }
    };
}

recoveries! { $ Sack, Rack, NewReno, Reno, Ns3 }

impl Kind {
    #[inline(never)]
    fn answer(&mut self, now: Instant, path: &mut impl Path) -> (Instant, Instant) {
        with!(self, core => core.answer(now, path))
    }
}

impl Sender {
    /// A sender at the start of its stream.
    #[must_use]
    pub fn new(config: impl Into<Arc<Config>>) -> Self {
        Self::seeded(config, 0)
    }

    /// As [`Sender::new`], with the seed of what congestion control draws at random.
    #[must_use]
    pub fn seeded(config: impl Into<Arc<Config>>, seed: u64) -> Self {
        let config = config.into();
        let congestion = (config.congestion_control.build)(&config.parameters(seed), &config.keys);
        Self::build(config, congestion)
    }

    /// As [`Sender::new`], with an algorithm that is not in the registry.
    #[must_use]
    pub fn with_congestion_control(config: impl Into<Arc<Config>>, congestion: Box<dyn CongestionControl>) -> Self {
        Self::build(config.into(), Control::Custom(congestion))
    }

    fn build(config: Arc<Config>, congestion: Control) -> Self {
        Self(Kind::new(config, congestion))
    }

    // The application's side.

    /// The application hands over `bytes`; returns how many the send buffer took.
    pub fn write(&mut self, bytes: Bytes) -> Bytes {
        with!(&mut self.0, core => core.write(bytes))
    }

    /// An unlimited source has only `first` before [`Sender::release`].
    pub fn hold(&mut self, first: Bytes) {
        with!(&mut self.0, core => core.source.hold(first));
    }

    /// Nothing more than has been sent, until [`Sender::release`].
    pub fn pause(&mut self) {
        with!(&mut self.0, core => core.pause());
    }

    /// It has, unless it has been closed.
    pub fn release(&mut self) {
        with!(&mut self.0, core => core.source.release());
    }

    /// No more data will be written; an unlimited source ends with what it has sent.
    pub fn close(&mut self) {
        with!(&mut self.0, core => core.close());
    }

    /// What [`Sender::write`] would take.
    #[must_use]
    pub fn buffer_space(&self) -> Bytes {
        with!(&self.0, core => core.buffer_space())
    }

    /// Closed, and everything written is acknowledged, the FIN included.
    #[must_use]
    pub fn finished(&self) -> bool {
        with!(&self.0, core => core.finished())
    }

    // The network's side.

    /// An acknowledgement has arrived.
    pub fn on_ack(&mut self, now: Instant, ack: &Ack) {
        with!(&mut self.0, core => core.on_ack(now, ack));
    }

    /// As [`Sender::on_ack`], as if none were expected.
    #[cfg(test)]
    pub fn on_ack_by_the_book(&mut self, now: Instant, ack: &Ack) {
        with!(&mut self.0, core => core.on_ack_by_the_book(now, ack));
    }

    /// The retransmission timer; too early a call does nothing.
    pub fn on_timer(&mut self, now: Instant) {
        with!(&mut self.0, core => core.on_timer(now));
    }

    /// The next segment to send now; `None` when nothing may be sent. To be called until it says so.
    pub fn poll(&mut self, now: Instant) -> Option<Data> {
        with!(&mut self.0, core => core.poll(now))
    }

    /// Hands every segment that may go now to `path`.
    pub fn drain(&mut self, now: Instant, path: &mut impl Path) {
        with!(&mut self.0, core => core.drain(now, path));
    }

    /// [`Sender::on_ack`] of the acknowledgement that `path` has brought, [`Sender::drain`] and [`Sender::deadlines`].
    #[inline(always)]
    pub fn answer(&mut self, now: Instant, path: &mut impl Path) -> (Instant, Instant) {
        match &mut self.0 {
            // What most flows have, here; the others apart.
            Kind::Sack(core) => core.answer(now, path),
            other => other.answer(now, path),
        }
    }

    /// When to call [`Sender::on_timer`]; it may move earlier as well as later at any call.
    #[must_use]
    #[inline]
    pub fn timer(&self) -> Instant {
        with!(&self.0, core => core.timer())
    }

    /// When to call [`Sender::poll`] although nothing happens: only pacing asks for that.
    #[must_use]
    #[inline]
    pub fn pacing_deadline(&self) -> Instant {
        self.deadlines().1
    }

    /// [`Sender::timer`] and [`Sender::pacing_deadline`].
    #[must_use]
    #[inline]
    pub fn deadlines(&self) -> (Instant, Instant) {
        with!(&self.0, core => core.deadlines())
    }

    // Looking in.

    /// The window in force.
    #[must_use]
    pub fn cwnd(&self) -> Bytes {
        Bytes::new(with!(&self.0, core => core.cwnd))
    }

    /// Slow-start threshold; `u64::MAX` bytes when unset.
    #[must_use]
    pub fn ssthresh(&self) -> Bytes {
        with!(&self.0, core => core.congestion.ssthresh())
    }

    /// Smoothed RTT; zero before the first sample.
    #[must_use]
    pub fn srtt(&self) -> Span {
        with!(&self.0, core => core.rtt.srtt())
    }

    /// The rate at which segments are paced, if they are.
    #[must_use]
    pub fn pacing_rate(&self) -> Option<BitRate> {
        with!(&self.0, core => core.pacing.rate)
    }

    /// The retransmission timeout, back-off included.
    #[must_use]
    pub fn rto(&self) -> Span {
        with!(&self.0, core => core.rto())
    }

    /// In flight: sent, neither acknowledged nor SACKed nor lost (RFC 6675's pipe).
    #[must_use]
    pub fn in_flight(&self) -> Bytes {
        Bytes::new(with!(&self.0, core => core.board.pipe()))
    }

    /// Everything before this offset has been sent.
    #[must_use]
    pub fn sent_end(&self) -> Bytes {
        Bytes::new(with!(&self.0, core => core.board.next.min(core.source.written)))
    }

    /// Everything before this offset is acknowledged.
    #[must_use]
    pub fn acknowledged(&self) -> Bytes {
        Bytes::new(with!(&self.0, core => core.board.una.min(core.source.written)))
    }

    /// Acknowledged or SACKed since the start; a SACKed segment counts as a full one.
    #[must_use]
    pub fn delivered(&self) -> Bytes {
        let sacked = with!(&self.0, core => core.board.sacked_segments());
        self.acknowledged() + Bytes::new(sacked * self.config().mss.get())
    }

    /// ECN is in use: asked for, and agreed to where there is a handshake.
    #[must_use]
    pub fn ecn(&self) -> bool {
        with!(&self.0, core => core.marks.ecn)
    }

    /// Somebody reads the [`Hints`] of its segments from now on.
    pub fn give_hints(&mut self) {
        with!(&mut self.0, core => core.give_hints());
    }

    /// The feedback of marks that both sides speak.
    #[must_use]
    pub fn ecn_feedback(&self) -> EcnFeedback {
        with!(&self.0, core => core.marks.feedback)
    }

    /// Counts since the start.
    #[must_use]
    pub fn stats(&self) -> &SenderStats {
        with!(&self.0, core => &core.stats)
    }

    /// Counts of what was undone; nothing where [`Config::undo`] does not ask for it.
    #[must_use]
    pub fn undone(&self) -> UndoStats {
        with!(&self.0, core => core.undone())
    }

    /// Parameters.
    #[must_use]
    pub fn config(&self) -> &Config {
        with!(&self.0, core => &core.config)
    }

    /// The algorithm, for its name and internals.
    #[must_use]
    pub fn congestion_control(&self) -> &dyn CongestionControl {
        with!(&self.0, core => &core.congestion)
    }
}

// 100,000 flows must fit.
const _: () = assert!(size_of::<Sender>() <= 1024);
