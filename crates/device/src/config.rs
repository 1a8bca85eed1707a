//! The configuration: one TOML file, checked as a whole before anything is opened.

mod check;
mod choices;
mod keys;
mod libraries;
mod tables;
#[cfg(test)]
mod tests;

pub use crate::port::BackEnd;
pub(crate) use check::{check_delay, check_label, check_rate};
pub(crate) use choices::words;
pub use choices::*;
pub use keys::reference;
pub use tables::*;

use crate::engine::Direction;
use crate::frame::Key;
use crate::path::{Link, LinkChange, PathConfig};
use ipnet::IpNet;
use sojourn_aqm::inert::Host;
use sojourn_aqm::{Rates, Traced};
use sojourn_document::tree::{self, Origin};
use sojourn_document::{line_and_column, read, Error, Quantity, Scheme};
use sojourn_units::{BitRate, Bytes, Instant, Span};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reads a configuration and checks it whole. `source` is the file's name in errors; paths in it are relative to its folder.
///
/// # Errors
/// The first thing that is wrong: `FILE:LINE:COLUMN: key ...: why; allowed: ...`.
pub fn parse(text: &str, source: &Path) -> Result<Config, Error> {
    read_config(text, source, false)
}

/// As [`parse`]; with `files` it reads the traces that it names.
fn read_config(text: &str, source: &Path, files: bool) -> Result<Config, Error> {
    let place = |origin: Origin| match origin {
        Origin::Text(at) => {
            let (line, column) = line_and_column(text, at);
            format!("{}:{line}:{column}", source.display())
        }
        // There are no overrides here.
        Origin::Set(_) => source.display().to_string(),
    };
    let root = tree::parse(text)
        .map_err(|e| Error::new(sojourn_document::Path::default(), e.why).at(place(Origin::Text(e.at))))?;
    libraries::load(&root).map_err(|e| {
        let origin = root.find(e.key());
        e.at(place(origin))
    })?;
    let mut config: Config = read(&root).map_err(|e| {
        let (path, origin, what) = e.into_parts();
        Error::new(path, what).at(place(origin.unwrap_or(root.origin)))
    })?;
    check::check(&config).map_err(|e| {
        let origin = root.find(e.key());
        e.at(place(origin))
    })?;
    let folder = source.parent().unwrap_or(Path::new(""));
    config.below(folder);
    if files {
        config.take_traces(folder).map_err(|e| {
            let origin = root.find(e.key());
            e.at(place(origin))
        })?;
    }
    Ok(config)
}

/// Reads the configuration in a file, as [`parse`].
///
/// # Errors
/// As [`parse`], or the file or a trace that it names cannot be read.
pub fn load(file: &Path) -> Result<Config, Error> {
    let text = read_text(file).map_err(|e| {
        let hint = match e.kind() {
            ErrorKind::PermissionDenied => "; `sojournd doctor FILE` as root prints how to let `run.user` read it",
            _ => "",
        };
        Error::new(sojourn_document::Path::default(), format!("{e}{hint}")).at(file.display().to_string())
    })?;
    read_config(&text, file, true)
}

/// Where the device that runs by the configuration in `file` answers, and what of the file could not be read. Whatever else is
/// wrong in the file, it keeps nobody from a device that runs: what is not found there has its default.
#[must_use]
pub fn control(file: &Path) -> (ControlTable, Option<Error>) {
    let mut table = ControlTable::default();
    let failed =
        |what: String| Some(Error::new(sojourn_document::Path::default(), what).at(file.display().to_string()));
    let text = match read_text(file) {
        Ok(text) => text,
        Err(error) => return (table, failed(error.to_string())),
    };
    let (root, wrong) = match tree::parse(&text) {
        Ok(root) => (Some(root), None),
        // The mistake may be in another table.
        Err(error) => {
            let (line, column) = line_and_column(&text, error.at);
            let place = format!("{}:{line}:{column}", file.display());
            let wrong = Error::new(sojourn_document::Path::default(), error.why).at(place);
            (tree::parse(&of_table(&text, "control")).ok(), Some(wrong))
        }
    };
    let node = |key: &'static str| root.as_ref()?.at(&sojourn_document::Path::from("control").then(key));
    if let Some(Ok(socket)) = node("socket").map(read::<PathOrNone>) {
        table.socket = socket;
    }
    if let Some(Ok(listen)) = node("listen").map(read::<Listen>) {
        table.listen = listen;
    }
    if let Some(socket) = &mut table.socket.0 {
        *socket = file.parent().unwrap_or(Path::new("")).join(&*socket);
    }
    (table, wrong)
}

/// The lines of a table, with its header.
fn of_table(text: &str, name: &str) -> String {
    let header = |line: &str| line.trim_start().starts_with('[');
    let own = |line: &&str| line.trim_start().trim_start_matches('[').trim_start().starts_with(name) && header(line);
    let mut lines = text.lines().skip_while(|line| !own(line));
    let first = lines.next().unwrap_or_default();
    std::iter::once(first).chain(lines.take_while(|line| !header(line))).collect::<Vec<_>>().join("\n")
}

/// Longest configuration and longest trace.
const LONGEST: u64 = 1 << 24;
const LONGEST_TRACE: u64 = 1 << 28;

fn read_text(file: &Path) -> std::io::Result<String> {
    read_up_to(file, LONGEST, "a configuration")
}

fn read_up_to(file: &Path, longest: u64, what: &str) -> std::io::Result<String> {
    let mut text = String::new();
    // A device or a growing file has no end.
    let length = std::fs::File::open(file)?.take(longest + 1).read_to_string(&mut text)?;
    if length as u64 > longest {
        let what = format!("is longer than {longest} bytes, the most that {what} may have");
        return Err(std::io::Error::new(ErrorKind::InvalidData, what));
    }
    Ok(text)
}

/// What its writer should change in a scheme.
fn of_scheme(config: &sojourn_aqm::Config, host: &Host<'_>) -> Vec<String> {
    let name = config.name();
    let inert = config.inert(host).into_iter().map(|one| format!("{name}: {}", one.why));
    config.warning().into_iter().chain(inert).collect()
}

impl DirectionTable {
    /// What settings of a scheme here depend on. The traffic is not known.
    fn host(&self) -> Host<'static> {
        let framing = self.framing.is_some().then_some("framing");
        Host { framing: framing.or((self.overhead.0 > Bytes::ZERO).then_some("overhead")), ..Host::default() }
    }

    /// As [`Config::warnings`], of the direction called `name`.
    #[must_use]
    pub fn warnings(&self, name: &str) -> Vec<String> {
        let changed = self.changes.iter().enumerate();
        let changed = changed.filter_map(|(i, one)| Some((format!("changes[{i}].scheme"), one.scheme.as_ref()?)));
        let own = self.scheme.iter().map(|scheme| ("scheme".to_owned(), scheme));
        let schemes = own.chain(changed).flat_map(|(key, Scheme(config))| {
            of_scheme(config, &self.host()).into_iter().map(move |what| format!("key `{name}.{key}`: {what}"))
        });
        let plain = Self::default();
        let unshaped = [("overhead", self.overhead != plain.overhead), ("burst", self.burst != plain.burst)];
        let unshaped = unshaped.into_iter().filter(|(_, is_set)| self.scheme.is_none() && *is_set);
        let unshaped = unshaped.map(|(key, _)| {
            format!("key `{name}.{key}`: has no effect without `scheme`: frames are forwarded at once")
        });
        schemes.chain(unshaped).collect()
    }
}

impl Config {
    /// What its writer should change although it is accepted, with the key of each: former names of presets, and what has no
    /// effect.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let own = Direction::ALL.into_iter().flat_map(|way| self.direction(way).warnings(way.name()));
        let Some(schedule) = &self.schedule else { return own.collect() };
        let host = self.direction(Direction::from(schedule.direction)).host();
        let drawn = schedule.schemes.iter().flat_map(|(name, Scheme(config))| {
            of_scheme(config, &host).into_iter().map(move |what| format!("key `schedule.schemes.{name}`: {what}"))
        });
        own.chain(drawn).collect()
    }

    /// Puts the contents of the traces that are named in the place of their names.
    fn take_traces(&mut self, folder: &Path) -> Result<(), Error> {
        for (name, table) in [("a_to_b", &mut self.a_to_b), ("b_to_a", &mut self.b_to_a)] {
            let at = sojourn_document::Path::from(name);
            let Some(trace) = &mut table.trace else { continue };
            if let Some(file) = trace.file.clone() {
                let wrong = |why: String| Error::new(at.then("trace").then("file"), format!("{file}: {why}"));
                let text = read_up_to(&folder.join(&file), LONGEST_TRACE, "a trace");
                trace.take(&text.map_err(|e| wrong(e.to_string()))?).map_err(wrong)?;
            }
            table.rates(&at)?;
        }
        Ok(())
    }

    /// Makes relative paths those below `folder`.
    fn below(&mut self, folder: &Path) {
        let ports = [&mut self.ports.a, &mut self.ports.b];
        let mut paths: Vec<&mut PathBuf> =
            ports.into_iter().flat_map(|port| [&mut port.read, &mut port.write, &mut port.trace]).flatten().collect();
        paths.extend(self.windows.store.0.as_mut());
        paths.extend(self.control.socket.0.as_mut());
        paths.push(&mut self.control.token_file);
        paths.extend(self.plugins.as_mut().map(|table| &mut table.record));
        for path in paths {
            *path = folder.join(&*path);
        }
    }

    /// What is configured for a direction.
    #[must_use]
    pub fn direction(&self, direction: crate::engine::Direction) -> &DirectionTable {
        match direction {
            crate::engine::Direction::AToB => &self.a_to_b,
            crate::engine::Direction::BToA => &self.b_to_a,
        }
    }

    /// Keys of the flow hashes, one a direction. Where a port is a network's, a secret that is drawn here and stored nowhere;
    /// elsewhere those of `seed`.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn keys(&self, seed: u64) -> std::io::Result<[Key; 2]> {
        let is_live = |port: &PortTable| port.back_end.about().is_live;
        if is_live(&self.ports.a) || is_live(&self.ports.b) {
            return Ok([Key::drawn()?, Key::drawn()?]);
        }
        Ok([seed.into(), seed.wrapping_add(1).into()])
    }

    /// The configuration in its canonical form, defaults included, as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Only maps with keys that are no strings can fail, and there is none.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl DirectionTable {
    /// What the packet path is given.
    #[must_use]
    pub fn path(&self) -> PathConfig {
        PathConfig {
            scheme: self.scheme.as_ref().map(|scheme| scheme.0.clone()),
            rate: match (&self.rate, &self.followed()) {
                (Some(rate), _) => rate.0,
                (None, Some(rates)) => rates.mean().max(BitRate::from_bit_s(1)),
                (None, None) => BitRate::ZERO,
            },
            overhead: self.overhead.0,
            burst: self.burst.0,
            delay: self.delay.0,
        }
    }

    /// The rates that it follows; it has been checked.
    fn followed(&self) -> Option<Rates> {
        self.rates(&sojourn_document::Path::default()).ok().flatten()
    }

    /// The link behind its queue.
    #[must_use]
    pub fn link(&self) -> Link {
        let window = self.trace.as_ref().map_or(Traced::WINDOW, |table| table.window.0);
        let change = |table: &ChangeTable| LinkChange {
            at: Instant::ZERO + table.at.0,
            every: table.every.map(|every| every.0),
            rate: table.rate.map(|rate| rate.0),
            delay: table.delay.map(|delay| delay.0),
            loss: table.loss.map(|loss| loss.0),
            scheme: table.scheme.as_ref().map(|scheme| scheme.0.clone()),
        };
        Link {
            impairments: self.impairments(),
            framing: self.framing.map(|framing| framing.0),
            trace: self.followed().map(|rates| (Arc::new(rates), window)),
            changes: self.changes.iter().map(change).collect(),
        }
    }

    /// Its delay lines of other lengths, smallest networks first.
    #[must_use]
    pub fn delays(&self) -> Vec<(IpNet, Span)> {
        let read = |(to, delay): (&String, &Quantity<Span>)| Some((to.parse::<IpNet>().ok()?, delay.0));
        let mut delays: Vec<_> = self.delays.iter().filter_map(read).collect();
        delays.sort_by_key(|(to, _)| std::cmp::Reverse(to.prefix_len()));
        delays
    }

    /// Its delay line.
    #[must_use]
    pub fn delay(&self) -> Span {
        self.delay.0
    }
}
