//! "Did you mean": the known name nearest to one that is not known.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The name nearest to `word`, if one is near enough to be what was meant: at most a third of the word's letters (and at
/// least one) inserted, left out, replaced or swapped with their neighbour. Case does not count, `-` is `_`.
///
/// ```
/// use sojourn_aqm::suggest::nearest;
/// assert_eq!(nearest("fq-codle", &["codel", "fq_codel", "fq_pie"]), Some("fq_codel"));
/// assert_eq!(nearest("wfq", &["codel", "fq_codel", "pie"]), None);
/// ```
#[must_use]
pub fn nearest<'a>(word: &str, names: &[&'a str]) -> Option<&'a str> {
    let word = letters(word);
    let most = (word.len() / 3).max(1);
    // Far longer words are no slip, and the time of a comparison grows with both lengths.
    let near = names.iter().filter(|name| name.chars().count().abs_diff(word.len()) <= most);
    let rated = near.map(|name| (distance(&word, &letters(name)), *name));
    rated.filter(|(distance, _)| *distance <= most).min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// ` (did you mean "NAME"?)` where a name is near, else nothing.
#[must_use]
pub fn did_you_mean(word: &str, names: &[&str]) -> String {
    nearest(word, names).map_or_else(String::new, |name| format!(" (did you mean \"{name}\"?)"))
}

fn letters(word: &str) -> Vec<char> {
    word.chars().flat_map(char::to_lowercase).map(|c| if c == '-' { '_' } else { c }).collect()
}

/// Optimal string alignment: insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
fn distance(a: &[char], b: &[char]) -> usize {
    let width = b.len() + 1;
    // Row i, column j: from the first i letters of `a` to the first j of `b`.
    let mut costs: Vec<usize> = (0..(a.len() + 1) * width).map(|at| at / width + at % width).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let at = i * width + j;
            let replaced = costs[at - width - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(costs[at - width] + 1).min(costs[at - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(costs[at - 2 * width - 2] + 1);
            }
            costs[at] = least;
        }
    }
    costs[a.len() * width + b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(a: &str, b: &str) -> usize {
        distance(&letters(a), &letters(b))
    }

    #[test]
    fn a_distance_counts_insertions_deletions_replacements_and_swaps() {
        assert_eq!(between("target", "target"), 0);
        assert_eq!(between("", "red"), 3);
        assert_eq!(between("red", ""), 3);
        assert_eq!(between("taget", "target"), 1, "one letter left out");
        assert_eq!(between("tarrget", "target"), 1, "one letter too many");
        assert_eq!(between("tagret", "target"), 1, "two neighbours swapped");
        // The textbook example: two replacements (k by s, e by i) and one insertion (g).
        assert_eq!(between("kitten", "sitting"), 3);
    }

    #[test]
    fn a_slip_finds_its_name_and_another_word_finds_none() {
        let names = ["pfifo", "red", "codel", "fq_codel", "dualpi2"];
        assert_eq!(nearest("coddel", &names), Some("codel"));
        assert_eq!(nearest("FQ-CoDel", &names), Some("fq_codel"));
        assert_eq!(nearest("dualpi", &names), Some("dualpi2"));
        assert_eq!(nearest("rde", &names), Some("red"));
        // Two of three letters differ, which is more than a third.
        assert_eq!(nearest("wfd", &names), None);
        assert_eq!(nearest("nonsense", &names), None);
        assert_eq!(nearest("", &names), None);
        assert_eq!(did_you_mean("taget", &["target"]), " (did you mean \"target\"?)");
        assert_eq!(did_you_mean("nonsense", &["target"]), "");
    }
}
