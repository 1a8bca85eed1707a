//! What stands around the parameters in a line of tc's.

use alloc::vec::Vec;

/// Words of sfb that BLUE has not: tc-sfb(8) writes "blue" in its synopsis where the kind is sfb.
const OF_SFB: &[&str] = &["rehash", "db", "penalty_rate", "penalty_burst"];

const VERBS: &[&str] = &["add", "change", "replace", "link", "show", "list", "ls"];

/// A text without what has no effect here.
pub(super) struct Head<'a> {
    pub kind: &'a str,
    /// The text is a line of tc's, not a scheme alone.
    pub from_tc: bool,
    /// The line is tc's answer (`qdisc red 8001: ...`), not a command: what it leaves out is off.
    pub shown: bool,
    /// What follows the kind.
    pub words: Vec<&'a str>,
}

pub(super) fn read(text: &str) -> Head<'_> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let Some(rest) = after_qdisc(&words) else {
        let (kind, words) = words.split_first().map_or(("", &words[..]), |(kind, rest)| (*kind, rest));
        return Head { kind: resolve(kind, words), from_tc: false, shown: false, words: words.to_vec() };
    };
    let shown = !rest.first().is_some_and(|verb| VERBS.contains(verb));
    let rest = if shown { rest } else { &rest[1..] };
    let (kind, rest) = place(rest).split_first().map_or(("", rest), |(kind, rest)| (*kind, rest));
    // "qdisc red 8001: root": the handle stands after the kind where tc prints.
    let rest = if rest.first().is_some_and(|word| is_handle(word)) { &rest[1..] } else { rest };
    let rest = place(rest);
    // `tc -s` continues with "Sent 0 bytes 0 pkt (dropped 0, ...".
    let end = rest.iter().position(|word| *word == "Sent").unwrap_or(rest.len());
    let words = &rest[..end];
    Head { kind: resolve(kind, words), from_tc: true, shown, words: words.to_vec() }
}

/// What follows "qdisc" in `# tc -s qdisc add ...` or `qdisc red 8001: ...`; `None` when the text begins otherwise.
fn after_qdisc<'a, 'b>(words: &'b [&'a str]) -> Option<&'b [&'a str]> {
    let prompt = words.iter().take_while(|word| matches!(**word, "#" | "$" | "sudo")).count();
    let mut words = &words[prompt..];
    if matches!(words.first(), Some(&"tc" | &"#tc" | &"$tc")) {
        words = &words[1..];
        let options = words.iter().take_while(|word| word.starts_with('-')).count();
        words = &words[options..];
    }
    words.strip_prefix(&["qdisc"])
}

/// What follows the words that say where a discipline is.
fn place<'a, 'b>(mut words: &'b [&'a str]) -> &'b [&'a str] {
    loop {
        let taken = match words.first() {
            Some(&"root" | &"offloaded" | &"deleted") => 1,
            Some(&"dev" | &"parent" | &"handle" | &"refcnt") => 2,
            _ => return words,
        };
        words = words.get(taken..).unwrap_or_default();
    }
}

/// `8001:`, `10:`.
fn is_handle(word: &str) -> bool {
    word.strip_suffix(':').is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn resolve<'a>(kind: &'a str, words: &[&str]) -> &'a str {
    if kind == "blue" && words.iter().any(|word| OF_SFB.contains(word)) {
        "sfb"
    } else {
        kind
    }
}
