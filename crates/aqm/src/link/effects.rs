//! What a link may do to packets besides carrying them: one table, from which keys, counts, metrics and words follow.
//!
//! A new effect is a file in `effects`, its `mod`, its `use` and its entry here, as `duplicate` has them.
//! [`link_effects!`](crate::link_effects) gives the table to another macro. What follows from an entry, and which macro makes it:
//!
//! | part | in |
//! | --- | --- |
//! | settings, state and counts of a link, and what happens to a packet | `channel.rs` |
//! | the text of a value in documents | `Unit` of `sojourn_document` |
//! | a link's keys in scenarios, `KEY`, `reverse_KEY` and `{ down, up }` | `LinkTable` of `sojourn_sim` |
//! | the key of a direction of the device, and its count in the state | `DirectionTable`, `DirectionStatus` of `sojourn_device` |
//! | its metric | `METRICS` of `sojourn_sim` |
//! | options of `sojourn shell` and words of reports | [`EFFECTS`], which Python reads |

mod duplicate;
mod jitter;
mod loss;

pub(crate) use duplicate::Doubling;
pub use jitter::Jitter;
pub(crate) use jitter::Jittery;
pub use loss::Loss;
pub(crate) use loss::Lossy;

/// Gives all effects to the macro `$then`, behind what is `$given` to it in braces. An entry has a key, the key of the other
/// direction, the type of the value (and its name in the JSON Schema, unless another entry gave it), then
///
/// * `state`: the type of its state, the stream of its random numbers, and what it counts, which ends in `lost` where these
///   packets do not arrive;
/// * `there`, `back`, `device`, `counted`: the descriptions of a scenario's keys, the device's key, and the device's count;
/// * `metric`: name, title, which values are better, and what it means;
/// * `words`: what a report calls it;
/// * `option`: the kind of value of `sojourn shell`'s option, and the help of both options.
#[macro_export]
macro_rules! link_effects {
    ($then:ident $({ $($given:tt)* })*) => {
        $then! {
            $({ $($given)* })*
            {
                loss reverse_loss ($crate::Loss as "loss")
                state (Lossy "losses" lost)
                there (
                    /// Random loss of packets that have been sent, from `from` to `to`.
                )
                back (
                    /// Random loss from `to` to `from`.
                )
                device (
                    /// Random loss of frames that have left the queue; no drops of the scheme.
                )
                counted (
                    /// Frames that the link lost after the queue; `None` where it loses none, as with the next two.
                )
                metric (
                    "link_losses_packets", "Lost on the link", Lower,
                    "Packets that the link lost at random after the queue had sent them; no drops of the queue."
                )
                words ("random loss")
                option (
                    "LOSS", "random loss behind the queue, as in \"1%\" or \"gemodel 1% 20%\"",
                    "random loss in the other direction"
                )
            }
            {
                jitter reverse_jitter ($crate::Jitter as "jitter")
                state (Jittery "jitter" overtakes)
                there (
                    /// Random changes of the propagation delay from packet to packet, from `from` to `to`. Packets may overtake each other
                    /// unless it says `ordered`; a delay is never below 0.
                )
                back (
                    /// Random changes of the propagation delay from `to` to `from`.
                )
                device (
                    /// Random changes of `delay` from frame to frame. Frames may overtake each other unless it says `ordered`; a delay is never
                    /// below 0.
                )
                counted (
                    /// Frames that arrive over the link before one that was sent earlier.
                )
                metric (
                    "link_overtakes_packets", "Overtakes on the link", Neither,
                    "Packets that arrived over a link with `jitter` before one that was sent earlier."
                )
                words ("jitter")
                option (
                    "JITTER", "random changes of the delay, as in \"5 ms\" or \"5 ms normal ordered\"",
                    "random changes of the delay in the other direction"
                )
            }
            {
                duplicate reverse_duplicate (sojourn_units::Probability as "probability")
                state (Doubling "duplicates" duplicates)
                there (
                    /// Probability that a packet that has been sent and not lost arrives twice, from `from` to `to`.
                )
                back (
                    /// Probability that a packet arrives twice from `to` to `from`.
                )
                device (
                    /// Probability that a frame that has left the queue and is not lost arrives twice.
                )
                counted (
                    /// Frames that the link doubled.
                )
                metric (
                    "link_duplicates_packets", "Duplicates of the link", Neither,
                    "Packets that the link doubled after the queue had sent them. The copies are no packets of their flow: losses and a datagram's payload count once."
                )
                words ("duplication")
                option (
                    "P", "probability that a packet arrives twice, as in \"0.1%\"",
                    "the same in the other direction"
                )
            }
        }
    };
}

/// What programs beside the simulator need to know of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectAbout {
    /// The key in documents.
    pub key: &'static str,
    /// The key of a link's other direction.
    pub reverse: &'static str,
    /// The stream of its random numbers.
    pub stream: &'static str,
    /// The name of its count in the device's state.
    pub count: &'static str,
    /// The metric of that count.
    pub metric: &'static str,
    /// What reports call it.
    pub words: &'static str,
    /// The kind of value of the shell's option, and the help of the options of both directions.
    pub option: [&'static str; 3],
}

macro_rules! about {
    ($({
        $key:ident $reverse:ident $value:tt state ($state:ident $stream:literal $count:ident) there $there:tt back $back:tt
        device $device:tt counted $counted:tt metric ($metric:literal, $($of:tt)*) words ($words:literal)
        option ($kind:literal, $help:literal, $help_back:literal)
    })*) => {
        /// Every effect, in the order of documents.
        pub const EFFECTS: &[EffectAbout] = &[$(EffectAbout {
            key: stringify!($key), reverse: stringify!($reverse), stream: $stream, count: stringify!($count),
            metric: $metric, words: $words, option: [$kind, $help, $help_back],
        }),*];
    };
}
link_effects!(about);
