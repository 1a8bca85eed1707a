//! tc's words for each kind, and what they are here.

use super::pairs::Pairs;
use super::{cake, red};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// A word of tc's that is not one of the algorithm's parameters.
#[derive(Clone, Copy)]
pub(super) enum Word {
    /// Stands alone for a parameter's value.
    Alone(&'static str, &'static str),
    /// Stands alone and takes back what such a word before it said.
    Revoke(&'static str, &'static str),
    /// Stands alone; [`translate`] makes something of it.
    Flag,
    /// Takes a value, which [`translate`] makes something of.
    Value,
    /// As [`Self::Value`], but what is made of it does not say what the word says, for this reason.
    Partly(&'static str),
    /// Takes so many values, and has no effect for this reason; no reason where the word says what happens here anyway.
    Idle(usize, Option<&'static str>),
}

use Word::{Alone, Flag, Idle, Partly, Revoke, Value};

/// Why RED's words for idle times do nothing.
const PRESENT_RATE: &str = "idle time is measured at the present rate of the link";

type Words = &'static [(&'static str, Word)];

const RED: Words = &[
    ("burst", Value),
    ("probability", Value),
    ("bandwidth", Partly(PRESENT_RATE)),
    ("ewma", Value),
    ("Plog", Value),
    ("Scell_log", Partly(PRESENT_RATE)),
    ("adaptative", Alone("adaptive", "true")),
    ("qevent", Idle(3, Some("there are no filters that events could be given to"))),
];

const CHOKE: Words = &[
    ("burst", Value),
    ("probability", Value),
    ("bandwidth", Partly(PRESENT_RATE)),
    ("ewma", Value),
    ("Plog", Value),
    ("Scell_log", Partly(PRESENT_RATE)),
];

const PIE: Words = &[
    ("dq_rate_estimator", Alone("delay", "departure_rate")),
    ("no_dq_rate_estimator", Revoke("delay", "departure_rate")),
];

const FQ_PIE: Words = &[
    ("dq_rate_estimator", Alone("delay", "departure_rate")),
    ("no_dq_rate_estimator", Revoke("delay", "departure_rate")),
    ("ecn_prob", Value),
];

const SFB: Words = &[("penalty", Idle(0, None)), ("rate", Value), ("burst", Value)];

const SFQ: Words =
    &[("redflowlimit", Value), ("avpkt", Value), ("burst", Value), ("probability", Value), ("ewma", Value)];

/// Besides those that [`Cake`](crate::schemes::cake::Cake) itself lists and those for links (`framing::WORDS`).
const CAKE: Words = &[
    ("nat", Idle(0, Some("addresses are hashed as the packets carry them"))),
    ("nonat", Idle(0, None)),
    // What tc prints by default; packets are never aggregated.
    ("split-gso", Idle(0, None)),
    ("no-split-gso", Idle(0, Some("packets are never aggregated"))),
    ("fwmark", Idle(1, Some("packets have no marks of a firewall"))),
    ("autorate-ingress", Idle(0, Some("the bandwidth stays as it is set"))),
    // tc prints it beside the overhead that it follows from.
    ("via-ethernet", Idle(0, None)),
];

fn words(kind: &str) -> Words {
    match kind {
        "red" => RED,
        "choke" => CHOKE,
        "pie" => PIE,
        "fq_pie" => FQ_PIE,
        "sfb" => SFB,
        "sfq" => SFQ,
        "cake" => CAKE,
        _ => &[],
    }
}

/// What `word` is to tc in a text for `kind`.
pub(super) fn word(kind: &str, word: &str) -> Option<Word> {
    match kind {
        "cake" if crate::link::framing::Word::find(word).is_some() => return Some(Flag),
        _ => {}
    }
    words(kind).iter().find(|(name, _)| *name == word).map(|(_, word)| *word)
}

/// Why `word` has no effect in a text for `kind`, where it has none.
pub(crate) fn no_effect_reason(kind: &str, name: &str) -> Option<&'static str> {
    match word(kind, name)? {
        Partly(why) => Some(why),
        Idle(_, why) => why,
        _ => None,
    }
}

/// tc's parameters as the library's own. `from_tc`: the text is a whole line of tc's.
///
/// # Errors
/// Values that tc refuses too.
pub(crate) fn translate(
    kind: &str,
    pairs: &[(String, String)],
    from_tc: bool,
) -> Result<Vec<(String, String)>, String> {
    let mut own = Vec::with_capacity(pairs.len());
    for (name, value) in pairs {
        match word(kind, name) {
            Some(Alone(param, stands_for)) if value == "true" => own.push((param.to_string(), stands_for.to_string())),
            Some(Revoke(param, said)) if value == "true" => {
                own.retain(|(name, value)| (&**name, &**value) != (param, said))
            }
            Some(Alone(..) | Revoke(..) | Idle(..)) => {}
            Some(Flag | Value | Partly(_)) | None => own.push((name.clone(), value.clone())),
        }
    }
    let mut pairs = Pairs(own);
    match kind {
        "red" => red::red(&mut pairs, from_tc)?,
        "choke" => red::choke(&mut pairs, from_tc)?,
        "fq_pie" => {
            // tc-fq_pie(8): a percentage.
            pairs.map("ecn_prob", |n| n.parse::<u32>().ok().map(|n| format!("{n}%")));
            pairs.rename("ecn_prob", "mark_ecnth");
        }
        "sfq" => sfq(&mut pairs, from_tc)?,
        "cake" => cake::cake(&mut pairs),
        "sfb" => sfb(&mut pairs, from_tc),
        "dualpi2" => dualpi2(&mut pairs),
        _ => {}
    }
    Ok(pairs.0)
}

/// Words that tc joined, apart: older releases print "penalty rate 10 burst 20 (600000ms 60000ms)" for sfb.
pub(super) fn split_joined_words<'a>(kind: &str, words: &[&'a str]) -> Vec<&'a str> {
    let split = |word: &'a str| match (kind, word.strip_prefix('('), word.strip_suffix(')')) {
        ("sfb", Some(rehash), _) => ["rehash", rehash],
        ("sfb", _, Some(db)) => ["db", db],
        _ => [word, ""],
    };
    words.iter().flat_map(|word| split(word)).filter(|word| !word.is_empty()).collect()
}

/// What tc's answer leaves out because it is off, where a scheme that leaves it out has it on.
pub(super) fn add_omitted_defaults(kind: &str, pairs: &mut Vec<(String, String)>) {
    if kind == "fq_codel" && !pairs.iter().any(|(name, _)| name == "ecn") {
        pairs.push(("ecn".to_string(), "false".to_string()));
    }
}

fn sfq(pairs: &mut Pairs, from_tc: bool) -> Result<(), String> {
    pairs.unit("perturb", "s");
    // tc -d prints "flows 127/1024": queues and buckets.
    pairs.map("flows", |flows| flows.split_once('/').map(|(queues, _)| queues.to_string()));
    red::sfq(pairs, from_tc)
}

fn sfb(pairs: &mut Pairs, from_tc: bool) {
    pairs.rename("rate", "penalty_rate");
    pairs.rename("burst", "penalty_burst");
    pairs.map("penalty_rate", |rate| rate.strip_suffix("pps").map(ToString::to_string));
    pairs.unit("rehash", "ms");
    pairs.unit("db", "ms");
    // tc derives one from the other, rounded up; a text of the library's own has "20p", not "20".
    let whole = |pairs: &Pairs, key| pairs.get(key).and_then(|n| n.parse::<u64>().ok()).filter(|n| *n > 0);
    match (whole(pairs, "target"), whole(pairs, "max")) {
        (Some(target), None) => pairs.default("max", || (target.saturating_mul(5).saturating_add(1) / 4).to_string()),
        (None, Some(max)) => pairs.default("target", || (max.saturating_mul(4).saturating_add(3) / 5).to_string()),
        _ => {}
    }
    if from_tc {
        // tc-sfb(8); the kernel's own, and the library's, hold where tc says nothing.
        pairs.default("increment", || "0.0005".to_string());
        pairs.default("decrement", || "0.00005".to_string());
    }
}

/// tc knows the step alone, so its words mean the step; under the ramp they say nothing.
fn dualpi2(pairs: &mut Pairs) {
    const STEP: &[&str] = &["step_thresh", "min_qlen_step"];
    if pairs.get("l4s_aqm") == Some("ramp") {
        STEP.iter().for_each(|key| drop(pairs.take(key)));
    } else if pairs.has(STEP) {
        pairs.default("l4s_aqm", || "step".to_string());
    }
}
