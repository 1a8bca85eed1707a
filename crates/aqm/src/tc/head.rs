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
    // What tc prints has blanks in parentheses between two values, and no formulas.
    let mut words: Vec<&str> = text.split_whitespace().collect();
    if words.contains(&"formula") {
        words = words_of(text);
    }
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

/// The words of a text. Blanks in quotes or parentheses do not end a word, as in `formula "n / 300"` and
/// `formula min(1, n / 300)`; quotes around a whole word are not part of it.
fn words_of(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut begin, mut depth, mut quote) = (None, 0_u32, None);
    let bare = |word: &'_ str| -> (usize, usize) {
        let inner =
            word.strip_prefix(['"', '\'']).and_then(|rest| rest.strip_suffix(word.get(..1).unwrap_or_default()));
        inner.map_or((0, word.len()), |inner| (1, inner.len() + 1))
    };
    let mut add = |from: usize, to: usize| {
        let word = text.get(from..to).unwrap_or_default();
        let (first, last) = bare(word);
        words.push(word.get(first..last).unwrap_or_default());
    };
    for (at, c) in text.char_indices() {
        match (c, quote) {
            (_, Some(open)) if c == open => quote = None,
            (_, Some(_)) => {}
            ('"' | '\'', None) => quote = Some(c),
            ('(', None) => depth += 1,
            (')', None) => depth = depth.saturating_sub(1),
            _ if c.is_whitespace() && depth == 0 => {
                if let Some(from) = begin.take() {
                    add(from, at);
                }
                continue;
            }
            _ => {}
        }
        begin = begin.or(Some(at));
    }
    if let Some(from) = begin {
        add(from, text.len());
    }
    words
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
