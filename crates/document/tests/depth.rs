//! Documents that are nested too deeply are refused with one sentence, in linear time and without deep recursion.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use sojourn_document::tree::{self, Node, Origin, Value, DEEPEST};
use sojourn_document::{line_and_column, read};

const TOO_DEEP: &str = "is nested too deeply; allowed: at most 128 levels of tables and lists";

/// Levels of tables and lists from `node` down.
fn levels(node: &Node) -> usize {
    match &node.value {
        Value::List(nodes) => 1 + nodes.iter().map(levels).max().unwrap_or(0),
        Value::Table(entries) => 1 + entries.iter().map(|entry| levels(&entry.node)).max().unwrap_or(0),
        _ => 0,
    }
}

/// Line, column and reason of a refusal; the thread's stack is that of a worker of the device's API.
fn refused(text: &str) -> (usize, usize, String) {
    let text = text.to_owned();
    let parse = move || {
        let error = tree::parse(&text).expect_err("refused");
        let (line, column) = line_and_column(&text, error.at);
        (line, column, error.why)
    };
    std::thread::Builder::new().stack_size(512 << 10).spawn(parse).unwrap().join().unwrap()
}

fn json_lists(levels: usize) -> String {
    format!("{{\"a\": {}1{}}}", "[".repeat(levels), "]".repeat(levels))
}

fn json_tables(levels: usize) -> String {
    format!("{{\"a\": {}1{}}}", "{\"a\": ".repeat(levels), "}".repeat(levels))
}

#[test]
fn json_of_128_levels_is_read_and_one_more_is_refused_where_it_opens() {
    for text in [json_lists(127), json_tables(127)] {
        assert_eq!(levels(&tree::parse(&text).unwrap()), DEEPEST);
    }
    // {"a": [[...: the 128th bracket of the lists.
    assert_eq!(refused(&json_lists(128)), (1, 7 + 127, TOO_DEEP.to_owned()));
    assert_eq!(refused(&format!("{{\n\"a\":\n{}", &json_lists(128)[6..])), (3, 128, TOO_DEEP.to_owned()));
    assert_eq!(refused(&json_tables(128)).2, TOO_DEEP);
}

#[test]
fn toml_of_128_levels_is_read_and_one_more_is_refused_however_it_is_written() {
    let keys = |count: usize| vec!["k"; count].join(".");
    let lists = |levels: usize| format!("a = {}1{}", "[".repeat(levels), "]".repeat(levels));
    let tables = |levels: usize| format!("a = {}1{}", "{a = ".repeat(levels), "}".repeat(levels));
    let dotted = |levels: usize| format!("{} = 1.5", keys(levels + 1));
    let header = |levels: usize| format!("[{}]\nx = 1", keys(levels));
    let array_header = |levels: usize| format!("[[{}]]\nx = 1", keys(levels - 1));
    // Header, dotted key, tables in lists with dotted keys.
    let mixed = |levels: usize| {
        format!("[{}]\nx.y = [{{ a.b = {}1{} }}]", keys(10), "[".repeat(levels - 14), "]".repeat(levels - 14))
    };
    // Every header leads through one list more.
    let through = |levels: usize| {
        (1..=levels / 2).map(|count| format!("[[{}]]\n", keys(count))).collect::<String>()
            + if levels % 2 == 1 { "y = []" } else { "" }
    };
    let forms: [&dyn Fn(usize) -> String; 7] = [&lists, &tables, &dotted, &header, &array_header, &mixed, &through];
    for (form, text) in forms.iter().enumerate() {
        assert_eq!(
            levels(&tree::parse(&text(127)).unwrap_or_else(|_| panic!("{}", text(127)))),
            DEEPEST,
            "form {form}"
        );
        let (_, _, why) = refused(&text(128));
        assert_eq!(why, TOO_DEEP, "form {form}");
        assert_eq!(refused(&text(2001)).2, TOO_DEEP, "form {form}");
    }
    assert_eq!(refused(&format!("x = 1\n{}", lists(128))), (2, 5 + 127, TOO_DEEP.to_owned()));
}

#[test]
fn brackets_in_texts_comments_and_beside_each_other_make_no_depth() {
    let open = "[{".repeat(300);
    tree::parse(&format!("{{\"a\": \"{open}\\\"{open}\", \"b\": [{}[]]}}", "[], {}, ".repeat(300))).unwrap();
    tree::parse(&format!(
        "# {open}\na = \"{open}\" # {open}\nb = [{}]\nc = '{open}'\n",
        "[1.5], {x.y = 1}, ".repeat(300)
    ))
    .unwrap();
    tree::parse(&format!("{}d = '''\n{open}\n'''\n", "[[a.b]]\nc.d.e = [[1.5]]\n".repeat(300))).unwrap();
}

#[test]
fn deep_texts_of_a_megabyte_are_refused_at_once() {
    for text in [
        json_lists(500_000),
        json_tables(150_000),
        format!("{{\"a\":{}", "[".repeat(1 << 20)),
        format!("a = {}", "[".repeat(1 << 20)),
        format!("a = {}", "{a = ".repeat(200_000)),
        format!("a = {}", "[}{]".repeat(200_000)),
        format!("{} = 1", vec!["a"; 500_000].join(".")),
        format!("[{}]", vec!["a"; 500_000].join(".")),
    ] {
        assert_eq!(refused(&text).2, TOO_DEEP);
    }
}

/// Neither brackets that do not match nor stray tokens take the parser deeper than the scan has counted.
#[test]
fn soups_of_brackets_end_with_an_error_or_a_document() {
    let mut state = 1_u64;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let parts = [
        "[", "[", "[", "{", "{", "{a=", "{a.b=", "]", "}", "a", ".", "a.b.", "=", "a=", ",", "\n", "1", "\"", "'", "#",
        " ",
    ];
    for _ in 0..2000 {
        let length = 1 + draw(3000);
        // Runs of one part, so that some go deep.
        let mut text = String::new();
        while text.len() < length {
            let part = parts[draw(parts.len())];
            text.push_str(&part.repeat(1 + draw(100) * draw(2)));
        }
        for text in [format!("a={text}"), format!("{{\"a\":{text}"), text] {
            let parse = || {
                if let Ok(node) = tree::parse(&text) {
                    assert!(levels(&node) <= DEEPEST);
                }
            };
            std::thread::scope(|scope| {
                std::thread::Builder::new().stack_size(512 << 10).spawn_scoped(scope, parse).unwrap().join().unwrap();
            });
        }
    }
}

/// 300,000 members and 100,000 tables: in a test build seconds, where a quadratic reader would take hours.
#[test]
fn long_documents_are_read_in_linear_time() {
    let members: Vec<String> = (0..300_000).map(|k| format!("\"k{k}\": {k}")).collect();
    let Value::Table(entries) = tree::parse(&format!("{{{}}}", members.join(","))).unwrap().value else {
        panic!("a table")
    };
    assert_eq!(entries.len(), 300_000);
    // At depth 100 each of these is read once, not once for each level.
    let filling = format!("[{}0]", "1,".repeat(100_000));
    let text = format!("{{\"a\": {}{filling}{}}}", "[".repeat(100), "]".repeat(100));
    assert_eq!(levels(&tree::parse(&text).unwrap()), 102);
    let text = format!("{}x = {filling}", ["{a = "; 0].join(""));
    assert_eq!(levels(&tree::parse(&text).unwrap()), 2);
    let text = format!("a = {}{filling}{}", "{a = ".repeat(100), "}".repeat(100));
    assert_eq!(levels(&tree::parse(&text).unwrap()), 102);
}

#[test]
fn a_value_of_an_override_counts_from_its_place() {
    let lists = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    let read = |levels: usize, above| tree::parse_value(&lists(levels), Origin::Set(0), above);
    assert!(read(127, 1).unwrap().is_some());
    assert_eq!(read(128, 1).unwrap_err().why, TOO_DEEP);
    assert!(read(27, 101).unwrap().is_some());
    assert_eq!(read(28, 101).unwrap_err().why, TOO_DEEP);
    assert_eq!(tree::parse_value(&"[".repeat(100_000), Origin::Set(0), 1).unwrap_err().why, TOO_DEEP);
    assert!(tree::parse_value("50 Mbit/s", Origin::Set(0), 1).unwrap().is_none());
}

#[test]
fn every_json_value_keeps_its_place() {
    let text = "{ \"a\": 1,\n  \"b\\\"[\": [ true, {\"c\" : null}, \"t\\\\\" ],\n \"d\":-2.5e3}";
    let root = tree::parse(text).unwrap();
    let at = |origin: Origin| match origin {
        Origin::Text(at) => &text[at..],
        Origin::Set(_) => "",
    };
    let Value::Table(entries) = &root.value else { panic!("a table") };
    assert!(at(root.origin).starts_with("{ \"a\""));
    assert!(at(entries[0].node.origin).starts_with("1,"));
    assert_eq!(entries[1].key, "b\"[");
    assert!(at(entries[1].node.origin).starts_with("[ true"));
    let Value::List(nodes) = &entries[1].node.value else { panic!("a list") };
    assert!(at(nodes[0].origin).starts_with("true"));
    assert!(at(nodes[1].origin).starts_with("{\"c\""));
    assert!(at(nodes[2].origin).starts_with("\"t\\\\\" ]"));
    assert!(at(entries[2].node.origin).starts_with("-2.5e3"));
    assert!(read::<f64>(&entries[2].node).is_ok_and(|x| x == -2500.0));
}

#[test]
fn a_key_written_twice_is_refused_where_it_is_written_again() {
    let error = tree::parse("{\"a\": {\"b\": 1,\n \"b\": 2}}").unwrap_err();
    assert_eq!(
        (error.why.as_str(), &"{\"a\": {\"b\": 1,\n \"b\": 2}}"[error.at..]),
        ("duplicate key `b`", "\"b\": 2}}")
    );
}
