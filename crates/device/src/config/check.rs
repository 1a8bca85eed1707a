//! What the tables alone cannot refuse: values that are impossible, or impossible together.

use super::{BackEnd, Config, DirectionTable, PortTable, ScheduleTable};
use crate::port::eal::Device;
use crate::port::{Open, INTERFACE};
use sojourn_aqm::Rates;
use sojourn_document::{positive, up_to, Bound, Error, Path, Step, TraceBounds, Written};
use sojourn_units::{BitRate, Bytes, Span};

/// Longest interface name (`IFNAMSIZ` less the terminator).
const INTERFACE_BYTES: usize = 15;
const FRAMES: std::ops::RangeInclusive<u32> = 256..=4_194_304;
/// Longest delay line and burst: a typing error rather than a path.
const LONGEST_DELAY: Span = Span::from_secs(60);
const LONGEST_BURST: Span = Span::from_secs(1);
const STALE_AFTER: (Span, Span) = (Span::from_millis(1), Span::from_secs(10));
const SHORTEST_SLOT: Span = Span::from_millis(10);
const NICENESS: std::ops::RangeInclusive<i32> = -20..=19;
const STATUS_EVERY: (Span, Span) = (Span::from_millis(10), Span::from_secs(10));
const LABEL_BYTES: usize = 64;
/// What the clock, which counts nanoseconds, can tell apart: a full frame takes one.
const FASTEST: BitRate = BitRate::from_bit_s(10_000_000_000_000);
const SLOWEST: BitRate = BitRate::from_bit_s(1000);
/// Windows of more packets never close.
const LONGEST_WINDOW: u64 = 1_000_000_000_000;
const LONGEST_SLOT: Span = Span::from_secs(366 * 86_400);
/// Every frame looks through them.
const NETWORKS: usize = 1024;
const SCHEMES: usize = 1000;
/// The packet thread's, and one for receiving and one for sending at each port.
const CORES: usize = 5;
/// They are in memory.
const CHANGES: usize = 100_000;
const TIME: Bound<Span> =
    Bound { most: LONGEST_SLOT, keys: "`at` and `every` of changes, times of traces", why: "a year" };
const RATE: Bound<BitRate> =
    Bound { most: FASTEST, keys: "rates of traces", why: "a full frame then takes a nanosecond" };
const WINDOW: Bound<Span> = Bound { most: LONGEST_DELAY, keys: "`window` of traces", why: "schemes react sooner" };

pub(super) fn check(config: &Config) -> Result<(), Error> {
    let ports = Path::from("ports");
    port(&config.ports.a, &ports.then("a"))?;
    port(&config.ports.b, &ports.then("b"))?;
    if config.ports.a.interface.is_some() && config.ports.a.interface == config.ports.b.interface {
        let what = "is the interface of port A too; allowed: another interface";
        return Err(Error::new(ports.then("b").then("interface"), what));
    }
    check_dpdk(config)?;
    direction(&config.a_to_b, &Path::from("a_to_b"))?;
    direction(&config.b_to_a, &Path::from("b_to_a"))?;
    let frames = Path::from("frames");
    if !FRAMES.contains(&config.frames.count) {
        let what = format!("is {}; allowed: {} to {}", config.frames.count, FRAMES.start(), FRAMES.end());
        return Err(Error::new(frames.then("count"), what));
    }
    let xdp = [&config.ports.a, &config.ports.b].iter().any(|port| port.back_end == BackEnd::AfXdp);
    // A frame of AF_XDP lies within a page; a jumbo frame of 9216 B with two tags and the headroom needs 16 KiB.
    let (sizes, allowed): (&[u64], _) = match xdp {
        true => (&[2048, 4096], "\"2048 B\" or \"4096 B\""),
        false => (&[2048, 4096, 16384], "\"2048 B\", \"4096 B\" or \"16384 B\""),
    };
    if !sizes.contains(&config.frames.size.0.get()) {
        return Err(Error::new(frames.then("size"), format!("is {}; allowed: {allowed}", config.frames.size.0)));
    }
    if !(1..=LONGEST_WINDOW).contains(&config.windows.packets) {
        let what = format!("is {}; allowed: 1 to {LONGEST_WINDOW}", config.windows.packets);
        return Err(Error::new(Path::from("windows").then("packets"), what));
    }
    if let Some(schedule) = &config.schedule {
        check_schedule(schedule, config)?;
    }
    let run = Path::from("run");
    if config.run.user.is_empty() {
        return Err(Error::new(run.then("user"), "is empty; allowed: the name of a user, as in \"sojournd\""));
    }
    if !NICENESS.contains(&config.run.niceness) {
        let what = format!("is {}; allowed: {} to {}", config.run.niceness, NICENESS.start(), NICENESS.end());
        return Err(Error::new(run.then("niceness"), what));
    }
    let every = config.run.status_every.0;
    let (least, most) = STATUS_EVERY;
    if every < least || every > most {
        return Err(Error::new(run.then("status_every"), format!("is {every}; allowed: {least} to {most}")));
    }
    // Last, so that what is wrong in any build is said in every build.
    for (side, port) in [("a", &config.ports.a), ("b", &config.ports.b)] {
        if let Open::Elsewhere(how) = port.back_end.about().open {
            let (name, others) = (port.back_end.name(), BackEnd::words(|_| true).join(", "));
            let what = format!(
                "back_end = \"{name}\" is not available in this build (build with {how}); use one of: {others}"
            );
            return Err(Error::new(ports.then(side).then("back_end"), what));
        }
    }
    Ok(())
}

fn check_dpdk(config: &Config) -> Result<(), Error> {
    let mut devices = Vec::new();
    for (side, port) in [("a", &config.ports.a), ("b", &config.ports.b)] {
        let Some(text) = &port.device else { continue };
        let at = Path::from("ports").then(side).then("device");
        let device = Device::parse(text).map_err(|what| Error::new(at.clone(), what))?;
        if devices.contains(&device.name) {
            let what = format!("is {}, the device of port A too; allowed: another device", device.name);
            return Err(Error::new(at, what));
        }
        devices.push(device.name);
    }
    let at = Path::from("dpdk");
    let (cores, arguments) = (&config.dpdk.cores, &config.dpdk.arguments);
    for (key, given) in [("cores", !cores.is_empty()), ("arguments", !arguments.is_empty())] {
        if given && devices.is_empty() {
            return Err(Error::new(at.then(key), "is set, but no port uses DPDK; allowed: with back_end = \"dpdk\""));
        }
    }
    let twice = |(index, core): (usize, &u32)| cores[..index].contains(core);
    if cores.len() > CORES || cores.iter().enumerate().any(twice) {
        let what = format!("is {cores:?}; allowed: 1 to {CORES} CPUs, each once, as in [0, 1, 2]");
        return Err(Error::new(at.then("cores"), what));
    }
    // DPDK takes shortened names of long options.
    let of_cores =
        |argument: &&String| argument.starts_with("-l") || argument.starts_with("-c") || argument.starts_with("--lc");
    if let Some(argument) = arguments.iter().find(of_cores) {
        let what = format!("contains \"{}\", which `cores` sets; allowed: other arguments", argument.escape_debug());
        return Err(Error::new(at.then("arguments"), what));
    }
    if arguments.iter().any(|argument| argument.contains('\0')) {
        return Err(Error::new(at.then("arguments"), "contains a zero byte; allowed: texts without one"));
    }
    Ok(())
}

fn port(port: &PortTable, at: &Path) -> Result<(), Error> {
    let back_end = port.back_end;
    let about = back_end.about();
    let set = port.set_keys();
    let is_set = |key: &str| set.iter().any(|given| given == key);
    for key in BackEnd::ALL.iter().flat_map(|owner| owner.about().keys) {
        if is_set(key) && !about.keys.contains(key) {
            let owners = BackEnd::ALL.iter().filter(|owner| owner.about().keys.contains(key));
            let owners: Vec<String> = owners.map(|owner| format!("\"{}\"", owner.name())).collect();
            let what = format!(
                "does not apply to back_end = \"{}\"; allowed: with back_end = {}",
                back_end.name(),
                owners.join(" or ")
            );
            return Err(Error::new(at.then(*key), what));
        }
    }
    if let Some((key, allowed)) = about.needs.filter(|(key, _)| !is_set(key)) {
        return Err(Error::new(at.then(key), format!("is missing; allowed: {allowed}")));
    }
    if let Some(name) = port
        .interface
        .as_ref()
        .filter(|name| name.is_empty() || name.len() > INTERFACE_BYTES || name.contains(['/', ' ', '\0']))
    {
        return Err(Error::new(at.then("interface"), format!("is \"{name}\"; allowed: {INTERFACE}")));
    }
    if let Some(load) = port.load {
        check_rate(load.0).map_err(|what| Error::new(at.then("load"), what))?;
    }
    let size = port.load_size.0;
    if size < Bytes::new(60) || size > Bytes::new(1514) {
        return Err(Error::new(at.then("load_size"), format!("is {size}; allowed: 60 B to 1514 B")));
    }
    if let Some(faults) = &port.faults {
        let keys: [(&'static str, f64); 4] = [
            ("loss", faults.loss),
            ("duplication", faults.duplication),
            ("reordering", faults.reordering),
            ("corruption", faults.corruption),
        ];
        for (key, probability) in keys {
            if !(0.0..=1.0).contains(&probability) {
                let what = format!("is {probability}; allowed: a probability from 0 to 1");
                return Err(Error::new(at.then("faults").then(key), what));
            }
        }
    }
    Ok(())
}

fn direction(direction: &DirectionTable, at: &Path) -> Result<(), Error> {
    match (&direction.scheme, &direction.rate) {
        (Some(_), None) if direction.trace.is_none() => {
            let what = format!("is missing, and `scheme` needs it; allowed: {}", BitRate::ALLOWED);
            return Err(Error::new(at.then("rate"), what));
        }
        (None, Some(_)) => {
            let what = "is given without `scheme`; allowed: both, or neither (frames are then forwarded at once)";
            return Err(Error::new(at.then("rate"), what));
        }
        _ => {}
    }
    if let Some(rate) = &direction.rate {
        check_rate(rate.0).map_err(|what| Error::new(at.then("rate"), what))?;
    }
    check_link(direction, at)?;
    check_delay(direction.delay.0).map_err(|what| Error::new(at.then("delay"), what))?;
    if direction.delays.len() > NETWORKS {
        let what = format!("has {} networks; allowed: up to {NETWORKS}", direction.delays.len());
        return Err(Error::new(at.then("delays"), what));
    }
    for (to, delay) in &direction.delays {
        let at = at.then("delays").then(Step::Key(to.clone().into()));
        if to.parse::<ipnet::IpNet>().is_err() {
            return Err(Error::new(at, "is not a network; allowed: as in \"10.0.1.0/24\" or \"fd00:1::/64\""));
        }
        check_delay(delay.0).map_err(|what| Error::new(at, what))?;
    }
    let burst = direction.burst.0;
    if burst > LONGEST_BURST {
        return Err(Error::new(at.then("burst"), format!("is {burst}; allowed: 0 s to {LONGEST_BURST}")));
    }
    let (least, most) = STALE_AFTER;
    let stale_after = direction.stale_after.0;
    if stale_after < least || stale_after > most {
        return Err(Error::new(at.then("stale_after"), format!("is {stale_after}; allowed: {least} to {most}")));
    }
    if direction.overhead.0 > Bytes::new(1000) {
        let what = format!("is {}; allowed: 0 B to 1000 B", direction.overhead.0);
        return Err(Error::new(at.then("overhead"), what));
    }
    Ok(())
}

/// The link behind the queue.
fn check_link(direction: &DirectionTable, at: &Path) -> Result<(), Error> {
    let queued = [("trace", direction.trace.is_some()), ("framing", direction.framing.is_some())];
    if let Some((key, _)) = queued.into_iter().find(|(_, given)| *given && direction.scheme.is_none()) {
        return Err(Error::new(at.then(key), "is given without `scheme`; allowed: together with it"));
    }
    if direction.framing.is_some() && direction.overhead.0 > Bytes::ZERO {
        return Err(Error::new(
            at.then("overhead"),
            "is given beside `framing`, which says it; allowed: one of the two",
        ));
    }
    if direction.trace.is_some() {
        if direction.rate.is_some() {
            return Err(Error::new(at.then("trace"), "is given together with `rate`; allowed: one of the two"));
        }
        // One that names a file is checked when that has been read.
        direction.rates(at)?;
    }
    for (effect, most) in direction.impairments().most_delays() {
        check_delay(most).map_err(|what| Error::new(at.then(effect.key), what))?;
    }
    if direction.jitter.is_some() && !direction.delays.is_empty() {
        let what = "is given beside `delays`; allowed: one of the two";
        return Err(Error::new(at.then("jitter"), what));
    }
    check_changes(direction, &at.then("changes"))
}

fn check_changes(direction: &DirectionTable, at: &Path) -> Result<(), Error> {
    if direction.changes.len() > CHANGES {
        let what = format!("has {} changes; allowed: up to {CHANGES}", direction.changes.len());
        return Err(Error::new(at.clone(), what));
    }
    for (n, change) in direction.changes.iter().enumerate() {
        let at = at.then(n);
        up_to(change.at.0, &TIME, || at.then("at"))?;
        if let Some(every) = change.every {
            positive(every.0, at.then("every"))?;
            up_to(every.0, &TIME, || at.then("every"))?;
        }
        if let Some(rate) = change.rate {
            check_rate(rate.0).map_err(|what| Error::new(at.then("rate"), what))?;
            if direction.trace.is_some() {
                let what = "changes a rate that follows a trace; allowed: a direction with a `rate`";
                return Err(Error::new(at.then("rate"), what));
            }
        }
        let queue = [("rate", change.rate.is_some()), ("scheme", change.scheme.is_some())];
        if let Some((key, _)) = queue.into_iter().find(|(_, given)| *given && direction.scheme.is_none()) {
            let what = "changes a direction without a queue; allowed: a direction with `scheme`";
            return Err(Error::new(at.then(key), what));
        }
        if let Some(delay) = change.delay {
            check_delay(delay.0).map_err(|what| Error::new(at.then("delay"), what))?;
        }
        if change.rate.is_none() && change.delay.is_none() && change.loss.is_none() && change.scheme.is_none() {
            let what = "changes nothing; allowed: at least one of rate, delay, loss and scheme";
            return Err(Error::new(at, what));
        }
    }
    Ok(())
}

impl DirectionTable {
    /// The rates that it follows; `None` without a trace, and before the file that it names has been read.
    ///
    /// # Errors
    /// What is wrong with the trace of this table, whose key is `at`.
    pub(super) fn rates(&self, at: &Path) -> Result<Option<Rates>, Error> {
        let Some(table) = self.trace.as_ref().filter(|table| table.file.is_none()) else { return Ok(None) };
        let at = at.then("trace");
        let framed = match self.framing {
            Some(_) => Some("framing"),
            None => (self.overhead.0 > Bytes::ZERO).then_some("overhead"),
        };
        match table.written(framed, TraceBounds { time: &TIME, rate: &RATE, window: &WINDOW }, &at)? {
            Written::Fixed(rates) => Ok(Some(rates)),
            Written::States(_) => {
                let what = "are drawn for a run whose length is known; allowed: in scenarios, or here `file`, `opportunities` or `rates`";
                Err(Error::new(at.then("states"), what))
            }
        }
    }
}

/// Refuses a rate that is none; the API asks as well.
pub(crate) fn check_rate(rate: BitRate) -> Result<(), String> {
    if !(SLOWEST..=FASTEST).contains(&rate) {
        return Err(format!("is {rate}; allowed: {SLOWEST} to {FASTEST}, as in \"10 Mbit/s\""));
    }
    Ok(())
}

/// Refuses a delay that no path has; the API asks as well.
pub(crate) fn check_delay(delay: Span) -> Result<(), String> {
    if delay > LONGEST_DELAY {
        return Err(format!("is {delay}; allowed: 0 s to {LONGEST_DELAY}"));
    }
    Ok(())
}

/// Refuses a name that would not fit into labels of metrics and columns; the API asks as well.
pub(crate) fn check_label(label: &str) -> Result<(), String> {
    if label.is_empty() || label.len() > LABEL_BYTES || label.chars().any(|c| c.is_control()) {
        return Err(format!("is {label:?}; allowed: 1 to {LABEL_BYTES} bytes without control characters"));
    }
    Ok(())
}

fn check_schedule(schedule: &ScheduleTable, config: &Config) -> Result<(), Error> {
    let at = Path::from("schedule");
    if !(2..=SCHEMES).contains(&schedule.schemes.len()) {
        let what = format!("has {}; allowed: two or more, up to {SCHEMES}", schedule.schemes.len());
        return Err(Error::new(at.then("schemes"), what));
    }
    for label in schedule.schemes.keys() {
        check_label(label).map_err(|what| Error::new(at.then("schemes"), format!("a name {what}")))?;
    }
    if !(SHORTEST_SLOT..=LONGEST_SLOT).contains(&schedule.every.0) {
        let what = format!("is {}; allowed: {SHORTEST_SLOT} to {LONGEST_SLOT}", schedule.every.0);
        return Err(Error::new(at.then("every"), what));
    }
    if config.direction(schedule.direction.into()).changes.iter().any(|change| change.scheme.is_some()) {
        let what = "switches a direction whose `changes` have a scheme, too; allowed: one of the two";
        return Err(Error::new(at.then("direction"), what));
    }
    if config.direction(schedule.direction.into()).scheme.is_none() {
        let name = schedule.direction.name();
        let what = format!(
            "is \"{name}\", which has no queue; allowed: a direction with `scheme` and `rate` (they hold until the first slot)"
        );
        return Err(Error::new(at.then("direction"), what));
    }
    Ok(())
}
