//! tc's syntax: every text that `tc qdisc show` prints or a manual page shows means here what it means to tc.
//!
//! Governing texts: tc(8), tc-red(8), tc-choke(8), tc-sfb(8), tc-sfq(8), tc-codel(8), tc-fq_codel(8), tc-pie(8),
//! tc-fq_pie(8), tc-cake(8), tc-dualpi2(8), tc-pfifo(8), and the formats in which iproute2 prints.
//! Only the parameters are tc's: the algorithm stays the library's (`pie` is RFC 8033's, `pie preset linux-6.12` Linux's),
//! and a parameter that the text leaves open has the library's default, except where a rule below says otherwise.
//!
//! Whole lines: `tc qdisc add dev eth0 parent 1:1 handle 10: KIND ...` and `qdisc KIND 8001: root refcnt 2 ...` are read
//! from KIND on, up to the statistics that `-s` adds. `#`, `sudo`, tc's options, the verb, `dev`, `root`, `parent`,
//! `handle`, `refcnt`, `offloaded` and `deleted` have no effect here.
//!
//! Units: a bare rate is bit/s, `mbps` megabytes/s; a bare size is bytes, `k`, `kb`, `Kb` 1024 bytes, `m`, `mb`, `Mb`
//! 1024^2. A bare time is refused: tc would read microseconds. But `kB`, `MB`, `GB` are 1000, 1000^2, 1000^3 bytes
//! everywhere in this library; tc, to which capitals are all the same, would read powers of 1024.
//!
//! | kind | tc's words | here |
//! |---|---|---|
//! | `red` | bare `min`, `max`, `limit` | bytes, and the defaults of a text in bytes are tc's, below; `30p` is packets |
//! | `red`, `choke` | `probability` | `max_p` |
//! | | `burst`, `ewma` | `w`, by Floyd's rule as tc computes it; `ewma N` is 2^-N |
//! | | `Plog N` | `max_p`, (max - min) 2^-N, as old kernels |
//! | | `bandwidth`, `Scell_log` | no effect: idle time is measured at the present rate of the link |
//! | `red` | `adaptative`, `qevent NAME block N` | `adaptive`; no effect |
//! | `pie`, `fq_pie` | whole `alpha`, `beta` | sixteenths of a Hz; `0.125` and `2Hz` are Hz ([`Gain`](crate::schemes::pie::Gain)) |
//! | | `dq_rate_estimator` | `delay departure_rate`; with `no_` before it, not that |
//! | `fq_pie` | `ecn_prob N` | `mark_ecnth N%` |
//! | `fq_codel` | an answer of tc's without `ecn` | `noecn` |
//! | `sfq` | bare `perturb` | seconds |
//! | `sfb` | bare `rehash`, `db` | milliseconds; `blue rehash ... db ...`, the manual's synopsis, is `sfb` |
//! | | `redflowlimit` and RED's words | refused: `fq_red` is the nearest |
//! | `dualpi2` | whole `classic_protection` | per cent |
//! | | `step_thresh`, `min_qlen_step` | with them `l4s_aqm step`, the only one that tc knows |
//! | `cake` | `bandwidth unlimited` | no bandwidth |
//! | | `ethernet`, `docsis`, `pppoe-ptm`, `conservative`, `raw`, ... | `overhead`, `mpu` and `framing` as tc-cake(8) lists them |
//! | | `nat`, `nonat`, `split-gso`, `no-split-gso`, `fwmark N`, `autorate-ingress`, `via-ethernet` | no effect |
//!
//! tc's defaults in RED, when `min`, `max` or `limit` is in bytes and written as tc alone writes bytes (bare, or with `b`,
//! `Kb`, `Mb`...), or when `burst`, `bandwidth`, `ewma`, `Plog` or `Scell_log` is given: probability 0.02, max a quarter of
//! limit or three times min, min a third of max, burst (2 min + max) / (3 avpkt). In CHOKe likewise, in packets, when one of
//! those five words is given. A preset switches these defaults off.

mod cake;
mod dialect;
mod ewma;
mod head;
mod pairs;
mod red;

use crate::registry::{self, Entry};
use crate::Param;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use dialect::Word;
pub(crate) use dialect::{no_effect_reason, translate};
use head::Head;

/// A text taken apart, and not yet translated.
pub(crate) struct Text {
    pub entry: &'static Entry,
    pub pairs: Vec<(String, String)>,
    /// A whole line of tc's: everything in it is tc's.
    pub from_tc: bool,
}

/// Takes a text apart into the algorithm's name and its parameters as written.
///
/// # Errors
/// Unknown algorithm, unknown parameter, or one without its value.
pub(crate) fn read(text: &str) -> Result<Text, String> {
    let Head { kind, from_tc, shown, words } = head::read(text);
    let entry = registry::find(kind).ok_or_else(|| registry::unknown_algorithm(kind))?;
    let mut pairs = pairs_of(entry, &dialect::split_joined_words(entry.name, &words))
        .map_err(|why| format!("{}: {why}", entry.short_name()))?;
    if shown {
        dialect::add_omitted_defaults(entry.name, &mut pairs);
    }
    Ok(Text { entry, pairs, from_tc })
}

fn pairs_of(entry: &Entry, words: &[&str]) -> Result<Vec<(String, String)>, String> {
    let known = entry.params();
    let mut words = words.iter().copied().peekable();
    let mut pairs = Vec::new();
    while let Some(word) = words.next() {
        let is = |p: &&Param| p.flag && (word == p.name || word.strip_prefix("no") == Some(p.name));
        if let Some(flag) = known.iter().find(is) {
            pairs.push((flag.name.to_owned(), (word == flag.name).to_string()));
            continue;
        }
        if let Some((_, name, value)) = entry.words.iter().find(|(alone, _, _)| *alone == word) {
            pairs.push(((*name).to_owned(), (*value).to_owned()));
            continue;
        }
        let param = known.iter().find(|p| p.name == word);
        let foreign = if param.is_some() { None } else { dialect::word(entry.name, word) };
        match foreign {
            Some(Word::Alone(..) | Word::Revoke(..) | Word::Flag) => {
                pairs.push((word.to_owned(), "true".to_owned()));
                continue;
            }
            Some(Word::Idle(values, _)) => {
                (0..values).for_each(|_| {
                    words.next();
                });
                pairs.push((word.to_owned(), "true".to_owned()));
                continue;
            }
            None if param.is_none() && word != "preset" => {
                return Err(registry::unknown_parameter(word, &known, entry.presets));
            }
            _ => {}
        }
        let Some(value) = words.next() else {
            let allowed = match param {
                Some(param) => param.allowed.clone(),
                None if word == "preset" => entry.presets.join(", "),
                None => "a value, as in tc".to_owned(),
            };
            return Err(format!("{word} has no value; allowed: {allowed}"));
        };
        let mut value = value.to_owned();
        if value.parse::<f64>().is_ok() {
            if let Some(unit) = words.next_if(|next| is_unit(next, entry.name, &known)) {
                value.push_str(unit);
            }
        }
        pairs.push((word.to_owned(), value));
    }
    Ok(pairs)
}

/// "target 5 ms" reads as "target 5ms": a number whose unit stands apart. In "limit 1000 min 30p" min is a parameter.
fn is_unit(word: &str, kind: &str, known: &[Param]) -> bool {
    UNITS.contains(&word) && known.iter().all(|p| p.name != word) && dialect::word(kind, word).is_none()
}

/// Units that may stand apart from their number.
const UNITS: &[&str] = &[
    "ns", "us", "ms", "s", "min", "h", "p", "packets", "B", "kB", "MB", "KiB", "MiB", "bit/s", "kbit/s", "Mbit/s",
    "Gbit/s", "bit", "kbit", "mbit", "gbit", "Hz",
];

/// The words of `pairs` that do nothing in a scheme `kind`, with the reason of each.
pub(crate) fn idle(kind: &str, pairs: &[(String, String)]) -> Vec<(String, &'static str)> {
    let told = |(word, value): &(String, String)| {
        let why = no_effect_reason(kind, word).filter(|_| value != "false")?;
        Some((word.clone(), why))
    };
    let mut found: Vec<(String, &'static str)> = pairs.iter().filter_map(told).collect();
    found.dedup();
    found
}

#[cfg(test)]
mod tests;
