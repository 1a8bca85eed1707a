//! Point-to-point links: their table, and what it says of each direction.

use super::names::Names;
use super::network::{Port, PortKind};
use super::trace::{self, Trace, TraceTable};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_aqm::{link_effects, Config, Effect, Framing, Impairments};
use sojourn_document::bounds::{self, positive_rate, up_to};
use sojourn_document::{Directed, Error, Path, Quantity, Scheme, Step};
use sojourn_units::{BitRate, Bytes, Packets, Span};
use std::sync::Arc;

macro_rules! with_effects {
    ({ $($head:tt)* } { $($before:tt)* } { $($after:tt)* } $({
        $key:ident $reverse:ident ($value:ty $(as $name:literal)?) state $state:tt there ($(#[$there:meta])*) back ($(#[$back:meta])*)
        $($words:tt)*
    })*) => {
        $($head)* {
            $($before)*
            $(
                $(#[$there])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $key: Option<Directed<Quantity<$value>>>,
                $(#[$back])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $reverse: Option<Quantity<$value>>,
            )*
            $($after)*
        }

        impl LinkTable {
            /// Brings the keys of effects to the form in which the other direction has keys of its own.
            fn spread_effects(&mut self) {
                $(spread_option(&mut self.$key, &mut self.$reverse);)*
            }

            /// What each direction does to packets besides carrying them, towards `to` first.
            fn impairments(&self, path: &Path) -> Result<[Impairments; 2], Error> {
                let mut found = [Impairments::default(); 2];
                $(
                    let PerDirection { values, places, .. } =
                        per_direction(path, stringify!($key), self.$key.as_ref(), self.$reverse.as_ref())?;
                    for ((one, value), place) in found.iter_mut().zip(values).zip(places) {
                        one.$key = value.map(|quantity| quantity.0);
                        up_to(one.$key.map_or(Span::ZERO, Effect::most_delay), &bounds::DELAY, || place)?;
                    }
                )*
                Ok(found)
            }
        }
    };
}

link_effects! { with_effects {
    /// A full-duplex point-to-point link, or one for every node of a group. Keys that may differ in the two directions take a table
    /// `{ down = ..., up = ... }` as well: down is from `from` to `to`, the direction in which the link is written, so the network's
    /// end of an access line is `from`.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, expecting = "a table")]
    pub struct LinkTable
} {
    /// Name of the link in changes and errors. It chooses no random numbers: the names of the nodes at its ends do.
    pub name: String,
    /// Node or group at one end. Each node of a group gets a link of its own, either to the single node `to` or to
    /// the corresponding node of a group of the same size.
    pub from: String,
    /// Node or group at the other end.
    pub to: String,
    /// Rate, in each direction unless `reverse_rate` or `reverse_trace` is given; needed where there is no `trace`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Directed<Quantity<BitRate>>>,
    /// A rate that changes over time, in place of `rate`; in each direction unless `reverse_rate` or `reverse_trace` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceTable>,
    /// The link is shaped as by Linux's tbf or htb: a token bucket of this size fills at `rate`. A packet leaves whole as soon as
    /// the bucket owes nothing, and the next waits while it owes; a queue that has become empty is not asked. Without it, a
    /// packet takes its time on the wire. Of the direction from `from` to `to`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<Directed<Quantity<Bytes>>>,
    /// The token bucket from `to` to `from`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse_burst: Option<Quantity<Bytes>>,
    /// Propagation delay, in each direction unless `reverse_delay` is given.
    pub delay: Directed<Quantity<Span>>,
    /// Rate from `to` to `from`, where it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse_rate: Option<Quantity<BitRate>>,
    /// A rate that changes over time, from `to` to `from`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse_trace: Option<TraceTable>,
    /// Propagation delay from `to` to `from`, where it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse_delay: Option<Quantity<Span>>,
} {
    /// Bytes of framing added to every packet.
    #[serde(default)]
    pub overhead: Quantity<Bytes>,
    /// Framing of the link, in place of `overhead`: what it adds to a packet, its least frame and its cells. Its rate, and what
    /// its queues count, are in framed bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framing: Option<Quantity<Framing>>,
    /// Scheme of the queue from `from` to `to`.
    #[serde(default = "plain_queue")]
    pub queue: Directed<Scheme>,
    /// Scheme of the queue from `to` to `from`.
    #[serde(default = "Scheme::tail_drop")]
    pub reverse_queue: Scheme,
    /// The queue is under test: a comparison replaces `queue` by each of its schemes.
    #[serde(default)]
    pub under_test: Directed<bool>,
    /// The queue is under test: a comparison replaces `reverse_queue` by each of its schemes.
    #[serde(default)]
    pub reverse_under_test: bool,
    /// Size of a FIFO below each of the two schemes, like the transmit ring of a network driver; `0 p` for none.
    #[serde(default)]
    pub device_queue: Quantity<Packets>,
} }

fn plain_queue() -> Directed<Scheme> {
    Directed::Plain(Scheme::tail_drop())
}

/// How fast a link sends.
#[derive(Clone)]
enum Rate {
    Constant(BitRate),
    Trace(Arc<Trace>),
}

/// One direction of a link.
#[derive(Clone)]
pub(super) struct Direction {
    rate: Rate,
    delay: Span,
    overhead: Bytes,
    framing: Option<Framing>,
    impairments: Option<Arc<Impairments>>,
    queue: Arc<Config>,
    under_test: bool,
    device_queue: Option<Packets>,
    burst: Option<Bytes>,
}

/// What a key says of the two directions, towards `to` first, and where.
struct PerDirection<T> {
    values: [Option<T>; 2],
    places: [Path; 2],
    /// Of a table with both.
    table: Option<Path>,
}

/// What `key` says, and `reverse_KEY` of the other direction.
fn per_direction<T: Clone>(
    path: &Path,
    key: &'static str,
    value: Option<&Directed<T>>,
    reverse: Option<&T>,
) -> Result<PerDirection<T>, Error> {
    let own = path.then(key);
    let other = path.then(Step::Key(format!("reverse_{key}").into()));
    let Some(Directed::Each { down, up }) = value else {
        let values = [value.and_then(Directed::down).cloned(), reverse.cloned()];
        return Ok(PerDirection { values, places: [own, other], table: None });
    };
    if up.is_some() && reverse.is_some() {
        return Err(Error::new(other, format!("says what `{key}.up` says; allowed: one of the two")));
    }
    let places = [own.then("down"), if up.is_some() { own.then("up") } else { other }];
    Ok(PerDirection { values: [down.clone(), up.clone().or_else(|| reverse.cloned())], places, table: Some(own) })
}

impl<T: Copy> PerDirection<Quantity<T>> {
    /// Both values, of a key that no direction can do without: one value stands for both.
    fn both(&self) -> Result<[T; 2], Error> {
        match (self.values, &self.table) {
            ([Some(down), Some(up)], _) => Ok([down.0, up.0]),
            ([Some(one), None], None) => Ok([one.0; 2]),
            ([Some(_), None], Some(_)) => Err(self.missing("up")),
            ([None, _], _) => Err(self.missing("down")),
        }
    }

    /// A direction that a table leaves out.
    fn missing(&self, direction: &'static str) -> Error {
        let place = self.table.clone().unwrap_or_default().then(direction);
        Error::new(place, "is missing; allowed: both directions, as in { down = ..., up = ... }")
    }

    /// The values without their unit.
    fn each(&self) -> [Option<T>; 2] {
        self.values.map(|value| value.map(|quantity| quantity.0))
    }
}

/// Moves what a table says of the other direction to the key of that direction.
fn spread<T: Clone>(value: &mut Directed<T>, reverse: &mut Option<T>, otherwise: impl FnOnce() -> Option<T>) {
    if let Directed::Each { down, up } = value {
        *reverse = up.take().or_else(|| reverse.take());
        if let Some(down) = down.take().or_else(otherwise) {
            *value = Directed::Plain(down);
        }
    }
}

/// As [`spread`], of a key that may be missing.
fn spread_option<T: Clone>(value: &mut Option<Directed<T>>, reverse: &mut Option<T>) {
    if let Some(table) = value {
        spread(table, reverse, || None);
        if matches!(table, Directed::Each { .. }) {
            *value = None;
        }
    }
}

impl LinkTable {
    /// Brings a table that has been checked to the form in which the other direction has keys of its own.
    pub(super) fn normalise(&mut self) {
        spread_option(&mut self.rate, &mut self.reverse_rate);
        spread_option(&mut self.burst, &mut self.reverse_burst);
        spread(&mut self.delay, &mut self.reverse_delay, || None);
        self.spread_effects();
        let mut queue = Some(self.reverse_queue.clone());
        spread(&mut self.queue, &mut queue, || Some(Scheme::tail_drop()));
        self.reverse_queue = queue.unwrap_or_else(Scheme::tail_drop);
        let mut under_test = Some(self.reverse_under_test);
        spread(&mut self.under_test, &mut under_test, || Some(false));
        self.reverse_under_test = under_test.unwrap_or_default();
    }

    /// What the table says of each direction, towards `to` first.
    pub(super) fn directions(&self, duration: Span, path: &Path) -> Result<[Direction; 2], Error> {
        let rates = self.rates(duration, path)?;
        let delays = per_direction(path, "delay", Some(&self.delay), self.reverse_delay.as_ref())?;
        let bursts = per_direction(path, "burst", self.burst.as_ref(), self.reverse_burst.as_ref())?;
        for at in [0, 1] {
            let Some(burst) = bursts.each()[at] else { continue };
            up_to(burst, &bounds::BURST, || bursts.places[at].clone())?;
            if matches!(rates[at], Rate::Trace(_)) {
                let what = "is given beside a trace, which says when packets leave; allowed: one of the two";
                return Err(Error::new(bursts.places[at].clone(), what));
            }
        }
        // What is not said of a scheme, or of `under_test`, is the default.
        let reverse = Some(&self.reverse_queue).filter(|queue| **queue != Scheme::tail_drop());
        let queues = per_direction(path, "queue", Some(&self.queue), reverse)?.values;
        let reverse = Some(&self.reverse_under_test).filter(|is_under_test| **is_under_test);
        let under_test = per_direction(path, "under_test", Some(&self.under_test), reverse)?.values;
        let mut each = delays.both()?.into_iter().zip(&delays.places);
        each.try_for_each(|(delay, place)| up_to(delay, &bounds::DELAY, || place.clone()))?;
        let impairments = self.impairments(path)?;
        up_to(self.overhead.0, &bounds::FRAMING, || path.then("overhead"))?;
        up_to(self.device_queue.0, &bounds::PACKETS, || path.then("device_queue"))?;
        if self.framing.is_some() && self.overhead.0 > Bytes::ZERO {
            let what = "is given beside `framing`, which says it; allowed: one of the two";
            return Err(Error::new(path.then("overhead"), what));
        }
        let delays = delays.both()?;
        let scheme = |at: usize| queues[at].clone().unwrap_or_else(Scheme::tail_drop).0;
        Ok([0, 1].map(|at| Direction {
            rate: rates[at].clone(),
            delay: delays[at],
            overhead: self.overhead.0,
            framing: self.framing.map(|framing| framing.0),
            impairments: (!impairments[at].is_none()).then(|| Arc::new(impairments[at])),
            queue: Arc::new(scheme(at)),
            under_test: under_test[at].unwrap_or_default(),
            device_queue: device(self.device_queue.0),
            burst: bursts.each()[at],
        }))
    }
}

impl LinkTable {
    /// The rates of the two directions, towards `to` first.
    fn rates(&self, duration: Span, path: &Path) -> Result<[Rate; 2], Error> {
        let said = per_direction(path, "rate", self.rate.as_ref(), self.reverse_rate.as_ref())?;
        let framed = match self.framing {
            Some(_) => Some("framing"),
            None => (self.overhead.0 > Bytes::ZERO).then_some("overhead"),
        };
        let one = |at: usize, trace: &Option<TraceTable>, key: &'static str| -> Result<Option<Rate>, Error> {
            Ok(match (said.each()[at], trace) {
                (Some(_), Some(_)) => {
                    let what =
                        format!("is given together with `{}`; allowed: one of the two", ["rate", "reverse_rate"][at]);
                    return Err(Error::new(path.then(key), what));
                }
                (Some(rate), None) => {
                    positive_rate(rate, said.places[at].clone())?;
                    Some(Rate::Constant(rate))
                }
                (None, Some(table)) => {
                    Some(Rate::Trace(Arc::new(trace::resolve(table, framed, duration, &path.then(key))?)))
                }
                (None, None) => None,
            })
        };
        let there = one(0, &self.trace, "trace")?.ok_or_else(|| match &said.table {
            Some(_) => said.missing("down"),
            None => Error::new(path.then("rate"), "is missing; allowed: a rate, as in \"10 Mbit/s\", or a `trace`"),
        })?;
        let back = match (one(1, &self.reverse_trace, "reverse_trace")?, &said.table) {
            (Some(back), _) => back,
            (None, None) => there.clone(),
            (None, Some(_)) => return Err(said.missing("up")),
        };
        Ok([there, back])
    }
}

impl Direction {
    /// The port that sends into it.
    pub(super) fn port(&self, names: &Names, from: usize, to: usize) -> Port {
        let (rate, trace) = match &self.rate {
            Rate::Constant(rate) => (*rate, None),
            Rate::Trace(trace) => (trace.rate(), Some(Arc::clone(trace))),
        };
        Port {
            name: format!("{}->{}", names.nodes[from], names.nodes[to]),
            kind: PortKind::Link { rate, delay: self.delay, overhead: self.overhead, from, to },
            queue: Arc::clone(&self.queue),
            under_test: self.under_test,
            impairments: self.impairments.clone(),
            framing: self.framing,
            trace,
            device_queue: self.device_queue,
            burst: self.burst,
        }
    }
}

/// A FIFO below the scheme; none without packets.
pub(super) fn device(packets: Packets) -> Option<Packets> {
    (packets > Packets::ZERO).then_some(packets)
}
