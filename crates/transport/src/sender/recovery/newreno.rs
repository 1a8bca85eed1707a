//! Recovery without selective acknowledgements.
//!
//! Texts: RFC 5681, 3.2 (fast retransmit and fast recovery: [`Reno`]); RFC 6582 ([`NewReno`]): a partial acknowledgement has
//! the next missing segment sent again; RFC 3042 (limited transmit).
//! A duplicate acknowledgement takes one segment out of `pipe` instead of adding one to `cwnd`.

use super::super::core::Core;
use super::super::episode::State;
use super::super::progress::Progress;
use super::super::scoreboard::DUP_THRESH;
use super::sack::is_duplicate;
use super::Strategy;
use crate::segment::Ack;
use sojourn_units::Instant;

/// RFC 5681.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Reno(Duplicates);

/// RFC 6582.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct NewReno(Duplicates);

/// What duplicate acknowledgements have said.
#[derive(Clone, Copy, Debug, Default)]
struct Duplicates {
    /// In a row.
    count: u32,
    /// What those of this episode take out of `pipe`, in bytes.
    anonymous: u64,
    /// Bytes that they have reported and no cumulative acknowledgement has confirmed.
    reported: u64,
}

/// The two texts differ in what a partial acknowledgement means.
trait Anonymous: Strategy {
    fn duplicates(&mut self) -> &mut Duplicates;
    fn peek(&self) -> &Duplicates;
}

impl Anonymous for Reno {
    fn duplicates(&mut self) -> &mut Duplicates {
        &mut self.0
    }
    fn peek(&self) -> &Duplicates {
        &self.0
    }
}

impl Anonymous for NewReno {
    fn duplicates(&mut self) -> &mut Duplicates {
        &mut self.0
    }
    fn peek(&self) -> &Duplicates {
        &self.0
    }
}

/// What duplicate acknowledgements say, and what a cumulative one makes of it.
fn process_ack<R: Anonymous>(core: &mut Core<R>, now: Instant, advanced: bool, progress: &mut Progress) {
    let mss = core.mss;
    let beyond_first = |bytes: u64| bytes.saturating_sub(mss);
    let (flight, load) = (core.board.flight(), core.board.load());
    let recovering = core.state.is_recovery();
    let duplicates = core.recovery.duplicates();
    if advanced {
        // One segment filled the hole and the rest had been reported by duplicates; what is still outstanding
        // has a hole of its own, which bounds what of it can have been.
        let unconfirmed = duplicates.reported.saturating_sub(beyond_first(flight));
        let known = duplicates.reported.min(beyond_first(progress.acked)).max(unconfirmed);
        progress.acked -= known;
        progress.acked_packets = progress.acked_packets.saturating_sub(known / mss).max(1);
        duplicates.reported -= known;
        duplicates.anonymous = if recovering { duplicates.anonymous.saturating_sub(known) } else { 0 };
        if let Some(rate) = &mut core.rate {
            rate.retract(known);
        }
    } else if flight > 0 && !matches!(core.state, State::Loss { .. }) {
        let counted = mss.min(beyond_first(flight).saturating_sub(duplicates.reported));
        duplicates.anonymous = (duplicates.anonymous + mss).min(beyond_first(load));
        duplicates.count += 1;
        duplicates.reported += counted;
        progress.sacked += counted;
        progress.sacked_packets += u64::from(counted > 0);
        if let Some(rate) = &mut core.rate {
            rate.on_anonymous(counted, now);
        }
    }
    credit(core);
}

/// Limited transmit: outside recovery two duplicates count.
fn credit<R: Anonymous>(core: &mut Core<R>) {
    let bound = if core.state.is_recovery() { u64::MAX } else { 2 * core.mss };
    let anonymous = core.recovery.peek().anonymous;
    if anonymous > 0 || core.board.credit() > 0 {
        core.board.set_credit(anonymous.min(bound));
    }
}

/// Three duplicates, and `recover` of RFC 6582 has been passed.
fn has_lost<R: Anonymous>(core: &Core<R>) -> bool {
    core.recovery.peek().count >= DUP_THRESH && core.reduced_at.is_none_or(|at| core.board.una > at)
}

macro_rules! without_sack {
    () => {
        const SELECTIVE: bool = false;

        fn expects(&self) -> bool {
            self.0.anonymous | self.0.reported == 0
        }

        fn on_expected(core: &mut Core<Self>, _now: Instant, _last: Instant) {
            core.recovery.0.count = 0;
        }

        fn process_ack(
            core: &mut Core<Self>,
            now: Instant,
            _ack: &Ack,
            advanced: bool,
            progress: &mut Progress,
        ) -> bool {
            process_ack(core, now, advanced, progress);
            if advanced {
                core.recovery.0.count = 0;
            }
            is_duplicate(advanced, progress)
        }

        fn has_lost(core: &Core<Self>, _duplicate: bool) -> bool {
            has_lost(core)
        }

        fn credit(core: &mut Core<Self>) {
            credit(core);
        }

        fn on_leave(core: &mut Core<Self>) {
            core.recovery.0.anonymous = 0;
            credit(core);
        }

        fn on_timeout(core: &mut Core<Self>) {
            (core.recovery.0.anonymous, core.recovery.0.count) = (0, 0);
        }
    };
}

impl Strategy for Reno {
    const ENDS_WITH_ANY: bool = true;

    without_sack!();
}

impl Strategy for NewReno {
    without_sack!();

    fn on_partial(core: &mut Core<Self>, progress: &mut Progress) {
        core.board.mark_first_lost(progress);
        core.force = true;
    }
}
