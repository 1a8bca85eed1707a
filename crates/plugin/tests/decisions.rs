//! Algorithms from outside: what they decide, and which tables and answers are refused.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{example, library};
use sojourn_aqm::{Config, Discipline};
use sojourn_plugin::{add_library, contract};

fn parse(text: &str) -> Config {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The smallest library, with `body` for what differs from an algorithm that accepts everything.
fn small(name: &str, table: &str, enqueue: &str) -> String {
    format!(
        r#"#include "sojourn_aqm.h"
#include <stddef.h>
typedef struct {{ double probability; uint64_t calls; }} state;
static int32_t init(void *at, const sojourn_value *given) {{ (void)at; (void)given; return SOJOURN_DONE; }}
static int32_t enqueue(void *at, const sojourn_packet *arrival, sojourn_queue *queue) {{
    state *self = at; (void)arrival; (void)queue; self->calls += 1;
    {enqueue}
}}
const sojourn_aqm *sojourn_aqm_plugin(void) {{
    static const sojourn_parameter parameters[] = {{{{"target", "5ms", "A target.", SOJOURN_TIME}}}};
    static const sojourn_internal internals[] = {{{{"probability", offsetof(state, probability), SOJOURN_DOUBLE}}}};
    static sojourn_aqm table = {{
        .version = SOJOURN_AQM_VERSION, .table_bytes = sizeof(sojourn_aqm), .name = "{name}",
        .flags = SOJOURN_MARKS, .line_offset = SOJOURN_NO_LINE,
        .state_bytes = sizeof(state), .state_align = _Alignof(state),
        .parameters = parameters, .parameters_len = 1, .internals = internals, .internals_len = 1,
        .init = init, .set_params = init, .enqueue = enqueue,
    }};
    static sojourn_parameter other[1];
    (void)other;
    {table}
    return &table;
}}
"#
    )
}

#[test]
fn the_example_in_c_decides_as_pie_over_a_million_packets() {
    add_library(&library("c_pie", &example("c_pie")), "1").unwrap();
    // The example is the core of RFC 8033, which is what `pie` does by default.
    for (mine, own) in [
        ("c_pie", "pie"),
        ("c_pie target 5ms ecn", "pie target 5ms ecn"),
        ("c_pie tupdate 30ms max_burst 0ms", "pie tupdate 30ms max_burst 0ms"),
    ] {
        let [mine, own] = [mine, own].map(|text| contract::decisions(&parse(text), 1_000_000, 1, 0));
        assert!(own.dropped > 1000, "{own:?}");
        assert_eq!(
            (mine.digest, mine.dropped, mine.marked, mine.sent, mine.fault),
            (own.digest, own.dropped, own.marked, own.sent, None)
        );
    }
    // Another seed of the arrivals gives other decisions, so the digest looks at them.
    let [one, two] = [1, 2].map(|seed| contract::decisions(&parse("c_pie"), 10_000, seed, 0).digest);
    assert_ne!(one, two);
    let parts = contract::check("c_pie").unwrap();
    assert!(parts.iter().all(|part| part.violation.is_none()), "{parts:?}");
}

#[test]
fn its_name_text_and_parameters_are_as_those_of_built_in_algorithms() {
    add_library(&library("named", &example("named")), "a1").unwrap();
    let config = parse("named target 10 ms ecn");
    assert_eq!((config.text().as_str(), parse(&config.text()) == config), ("named@a1 target 10ms ecn", true));
    assert_eq!(parse("fq:named target 10ms quantum 300").text(), "fq:named@a1 quantum 300B target 10ms");
    let error = |text: &str| text.parse::<Config>().unwrap_err().to_string();
    assert!(
        error("named targt 10ms").contains("named: unknown parameter \"targt\" (did you mean \"target\"?)"),
        "{}",
        error("named targt 10ms")
    );
    assert!(error("named target 10").starts_with("named: target: "), "{}", error("named target 10"));
    assert!(error("named@b2").contains("\"named@b2\" is not loaded, but \"named@a1\" is"), "{}", error("named@b2"));
    assert!(error("nmed").contains("(did you mean \"named\"?)"), "{}", error("nmed"));
    let table = Config::from_pairs("named", &[("target".into(), "10 ms".into()), ("ecn".into(), "true".into())]);
    assert_eq!(table.unwrap(), config);
    // A newer one of the same name is what the name means; schemes of the older one stay what they are.
    add_library(&library("named_again", &example("named")), "b2").unwrap();
    assert_eq!((parse("named").text().as_str(), parse("named@a1").text().as_str()), ("named@b2", "named@a1"));
    assert!(config.with("target 20ms").unwrap().text().starts_with("named@a1 target 20ms"));
    let mut names = Vec::new();
    let mut queue: Box<dyn Discipline> = config.build();
    queue.internals(Default::default(), Default::default(), &mut |name, _| names.push(name));
    assert_eq!(names, ["probability", "delay_old_s", "burst_ns", "wrong_answers"]);
}

#[test]
fn answers_that_are_none_are_counted_described_and_contained() {
    let cases = [
        ("zero", "return 0;", "enqueue gives no answer (0); allowed: 1 (accept), 2 (drop), 3 (mark)"),
        ("nonsense", "return 77;", "enqueue gives the answer 77; allowed: 1 (accept), 2 (drop), 3 (mark)"),
        ("send", "return SOJOURN_SEND;", "enqueue gives the answer 4; allowed"),
        ("marker", "return SOJOURN_MARK;", "enqueue marks a packet that is not ECN-capable"),
        ("raised", "return SOJOURN_RAISED;", "enqueue raised an exception"),
        ("not_a_number", "return sojourn_chance(queue, 0.0 / self->probability) ? SOJOURN_DROP : SOJOURN_ACCEPT;", "(NaN)"),
        ("looker", "const sojourn_packet *last = 0; for (uint64_t k = 0; k < 65; k++) last = sojourn_waiting(queue, k); (void)last; return SOJOURN_ACCEPT;", "looks at more than 64"),
    ];
    for (name, body, expected) in cases {
        let name = format!("wrong_{name}");
        add_library(&library(&name, &small(&name, "", body)), "1").unwrap();
        let seen = contract::decisions(&parse(&name), 255, 1, 0);
        let fault = seen.fault.unwrap();
        assert!(fault.starts_with(&format!("{name}: ")) && fault.contains(expected), "{fault}");
        // Every packet is accepted but those that were marked as they may be.
        assert_eq!(seen.dropped, 0, "{name}");
        let wrong = seen.internals.iter().find(|(name, _)| *name == "wrong_answers").unwrap().1;
        let capable = if name == "wrong_marker" { 0.4..0.6 } else { 0.99..1.01 };
        assert!(capable.contains(&(wrong / 255.0)), "{name}: {wrong} of 255");
    }
}

#[test]
fn a_table_that_the_header_does_not_allow_is_refused() {
    let cases = [
        ("version", "table.version = 2;", "interface version 2; this build of Sojourn reads version 1"),
        ("bytes", "table.table_bytes = 8;", "table_bytes is 8; allowed: sizeof(sojourn_aqm)"),
        ("name", "table.name = \"My PIE\";", "the algorithm is called \"My PIE\"; allowed"),
        ("built_in", "table.name = \"codel\";", "there is a built-in algorithm \"codel\""),
        ("state", "table.state_bytes = 1u << 30;", "a state of 1073741824 bytes"),
        ("function", "table.enqueue = 0;", "enqueue is NULL; allowed: a function"),
        ("period", "table.period = \"target\";", "period and update belong together"),
        (
            "unit",
            "other[0] = parameters[0]; other[0].initial = \"5\"; table.parameters = other;",
            "the default of the parameter target: ",
        ),
        (
            "kind",
            "other[0] = parameters[0]; other[0].kind = 99; table.parameters = other;",
            "99 is no kind of parameter",
        ),
        (
            "doc",
            "other[0] = parameters[0]; other[0].doc = 0; table.parameters = other;",
            "the parameter target has no doc",
        ),
        (
            "kept",
            "other[0] = parameters[0]; other[0].name = \"limit\"; table.parameters = other;",
            "which Sojourn keeps for itself",
        ),
        ("internal", "table.state_bytes = 4;", "the internal probability lies at 0"),
    ];
    for (name, change, expected) in cases {
        let name = format!("table_{name}");
        let error = add_library(&library(&name, &small(&name, change, "return SOJOURN_ACCEPT;")), "1").unwrap_err();
        assert!(error.contains(expected), "{name}: {error}");
        assert!(name.parse::<Config>().is_err(), "{name} was added all the same");
    }
    let missing = add_library(&library("missing", "int nothing;"), "1").unwrap_err();
    assert!(missing.contains("does not define sojourn_aqm_plugin()"), "{missing}");
    assert!(add_library(std::path::Path::new("/nonexistent.so"), "1").unwrap_err().contains("/nonexistent.so"));
}

#[test]
fn the_contract_finds_what_no_answer_shows() {
    let global = "static uint64_t all; return all++ % 7 ? SOJOURN_ACCEPT : SOJOURN_DROP;";
    add_library(&library("global_state", &small("global_state", "", global)), "1").unwrap();
    let odd = "self->probability = 1.5; return SOJOURN_ACCEPT;";
    add_library(&library("odd_probability", &small("odd_probability", "", odd)), "1").unwrap();
    let found =
        |name: &str| contract::check(name).unwrap().into_iter().find_map(|part| part.violation).unwrap_or_default();
    assert!(found("global_state").contains("the same seed and input decide otherwise"), "{}", found("global_state"));
    assert!(found("odd_probability").contains("internal probability is 1.5"), "{}", found("odd_probability"));
}
