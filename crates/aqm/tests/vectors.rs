//! Replays every file of `vectors/` and fails where a registered algorithm has none; the format is in `vectors/README.md`.

// Clippy's leave for tests ends at functions that are not tests themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "vectors/replay.rs"]
mod replay;

use sojourn_aqm::registry;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// Registered algorithms whose vectors are still to be written. Must become empty.
const PENDING: &[&str] = &[];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors")
}

/// `(algorithm, file name, text)`: the algorithm is the file's name up to the first `-` or `.`.
fn files() -> Vec<(String, String, String)> {
    let mut files: Vec<_> = fs::read_dir(folder())
        .expect("the folder vectors")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "vec"))
        .map(|path| {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            let algorithm = name.split(['-', '.']).next().unwrap_or_default().to_owned();
            (algorithm, format!("vectors/{name}"), fs::read_to_string(&path).expect("a text"))
        })
        .collect();
    files.sort();
    files
}

#[test]
fn every_vector_holds() {
    let mut wrong = Vec::new();
    for (algorithm, file, text) in files() {
        if let Err(why) = replay::file(&algorithm, &text) {
            wrong.push(format!("{file}:{why}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_algorithm_has_vectors_with_provenance() {
    let files = files();
    let with: BTreeSet<&str> = files.iter().map(|(algorithm, ..)| algorithm.as_str()).collect();
    let registered: BTreeSet<&str> = registry::ALL.iter().map(|entry| entry.name).collect();
    let pending: BTreeSet<&str> = PENDING.iter().copied().collect();
    let missing: Vec<_> = registered.iter().filter(|name| !with.contains(*name) && !pending.contains(*name)).collect();
    assert!(missing.is_empty(), "no file in vectors/ for {missing:?}");
    let written: Vec<_> = pending.iter().filter(|name| with.contains(*name)).collect();
    assert!(written.is_empty(), "no longer pending: {written:?}");
    let unknown: Vec<_> = with.difference(&registered).collect();
    assert!(unknown.is_empty(), "vectors for no registered algorithm: {unknown:?}");
    for (algorithm, file, text) in &files {
        let start = format!("# {algorithm}: ");
        let source = text.lines().next().and_then(|line| line.strip_prefix(&start)).unwrap_or_default();
        assert!(source.len() > 10, "{file}: the first line must be \"{start}\" and the source");
    }
}

/// What `replay` says of a text, after the line's number.
fn said(text: &str) -> String {
    replay::file("dropping_function", text).expect_err("accepted").to_string()
}

#[test]
fn what_differs_is_named_with_its_line() {
    let start = "scheme dropping_function table 0:0,1:0.5 limit 2p\ndraws 0.4 0.6\n0 + 0 100\n";
    assert_eq!(replay::file("dropping_function", &format!("{start}0 + 1 100\n0 d 1 early\n0 + 2 100\n")), Ok(()));
    for (rest, what) in [
        ("0 + 1 100\n", "4: expected nothing, got \"d 1 early\""),
        ("0 + 1 100\n0 d 1 overflow\n", "5: expected \"d 1 overflow\", got \"d 1 early\""),
        ("0 + 1 100\n0 d 1 early\n0 m 0\n", "6: expected \"m 0\", got nothing"),
        ("0 + 1 100\n1 d 1 early\n", "5: this outcome is not at the instant of the event before it"),
        ("0 + 1 100\n0 d 1 early\n", "5: of the draws given, 1 are left over"),
        ("0 + 2 100\n", "4: the next serial number is 1, not 2"),
        ("0 ?\n0 - 0 ce\n", "5: expected \"- 0 ce\", got \"- 0\""),
        ("0 ?\n0 - 0\n0 ?\n0 - 1\n", "7: expected \"- 1\", got \"e\""),
        ("0 = probability 0.5\n", "4: probability is 0, not 0.5"),
        ("0 = probability 0 packets 2\n", "4: packets is 1, not 2"),
        ("0 = nothing 0\n", "4: there is no internal nothing; there are: packets, bytes, probability, in_service"),
        ("1 ?\n1 - 0\n0.5 ?\n0.5 e\n", "6: time runs backwards"),
        ("0 x 1\n", "4: \"x\" is unknown; allowed: +, ?, rate, d, m, -, e, n, ="),
        ("0.0000000001 ?\n", "4: \"0.0000000001\" is no time in seconds with at most nine decimals"),
        (
            "0 + 1 100 flow\n",
            "4: \"flow\" is no fact key=value; allowed: flow, source, destination, ecn, dscp, window, ack",
        ),
        ("0 + 1 100 ecn=no\n", "4: \"ecn=no\" is no fact"),
        ("scheme pfifo\n", "4: the scheme is pfifo, the file's name says dropping_function"),
        ("scheme dropping_function function d9\n", "4: dropping_function: function: \"d9\" is unknown"),
        ("draws 1\n", "4: \"1\" is no uniform number from 0 up to but without 1"),
    ] {
        let said = said(&format!("{start}{rest}"));
        assert!(said.starts_with(what), "{rest}: {said}");
    }
    assert_eq!(said("0 ?\n"), "1: no scheme yet");
    assert!(said("scheme dropping_function table 0:0.5\n0 + 0 9\n").starts_with("2: a random number is drawn, but"));
    assert!(said("# nothing\n").starts_with("1: nothing is expected here"));
}
