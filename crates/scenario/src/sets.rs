//! Overrides: `links.bottleneck.rate=50 Mbit/s`.
//!
//! A path goes through tables by key and through lists by number or by the `name` of an element. A key that is
//! not there is added, so that one that no table takes meets the same error as in a file. The value is read as
//! TOML where it is TOML, and is the text itself otherwise.

use sojourn_document::tree::{self, Entry, Node, Origin, Syntax, Value};

/// Applies override number `index` to the document.
///
/// # Errors
/// What is wrong with `text` itself or with the way through the document.
pub(super) fn apply(root: &mut Node, index: usize, text: &str) -> Result<(), String> {
    const FORM: &str = "allowed: KEY=VALUE with a dotted key, as in links.bottleneck.rate=50 Mbit/s";
    let Some((path, value)) = text.split_once('=') else {
        return Err(format!("has no `=`; {FORM}"));
    };
    let steps: Vec<&str> = path.split('.').map(str::trim).collect();
    if steps.iter().any(|step| step.is_empty()) {
        return Err(format!("has an empty key; {FORM}"));
    }
    if steps.len() > tree::DEEPEST {
        return Err(tree::too_deep());
    }
    let origin = Origin::Set(index);
    let mut node = root;
    for (depth, step) in steps.iter().enumerate() {
        let here = if depth == 0 { "the scenario".to_owned() } else { format!("`{}`", steps[..depth].join(".")) };
        node = descend(node, step, origin).map_err(|why| format!("{here} {why}"))?;
    }
    *node = parse(value.trim(), origin, steps.len()).map_err(|e| format!("`{path}` {}", e.why))?;
    Ok(())
}

fn descend<'a>(node: &'a mut Node, step: &str, origin: Origin) -> Result<&'a mut Node, String> {
    match &mut node.value {
        Value::Table(entries) => {
            let at = match entries.iter().position(|entry| entry.key == step) {
                Some(at) => at,
                None => {
                    let node = Node { origin, value: Value::Table(Vec::new()) };
                    entries.push(Entry { key: step.to_owned(), origin, node });
                    entries.len() - 1
                }
            };
            Ok(&mut entries[at].node)
        }
        Value::List(nodes) => {
            let names: Vec<Option<&str>> = nodes.iter().map(name).collect();
            let by_number = step.parse().ok().filter(|at| *at < nodes.len());
            let Some(at) = names.iter().position(|name| *name == Some(step)).or(by_number) else {
                let known: Vec<&str> = names.iter().copied().flatten().collect();
                let hint = sojourn_document::did_you_mean(step, &known);
                return Err(format!("has no element \"{step}\"{hint}; allowed: {}", elements(&names)));
            };
            Ok(&mut nodes[at])
        }
        _ => Err(format!("is neither a table nor a list, so it has no `{step}`; set it as a whole")),
    }
}

/// The `name` of a table.
fn name(node: &Node) -> Option<&str> {
    let Value::Table(entries) = &node.value else { return None };
    entries.iter().find(|entry| entry.key == "name").and_then(|entry| match &entry.node.value {
        Value::Text(name) => Some(name.as_str()),
        _ => None,
    })
}

fn elements(names: &[Option<&str>]) -> String {
    let named: Vec<&str> = names.iter().flatten().copied().collect();
    match (names.len(), named.is_empty()) {
        (0, _) => "none, it is empty".to_owned(),
        (n, true) => format!("0 to {}", n - 1),
        (n, false) => format!("{}, or 0 to {}", named.join(", "), n - 1),
    }
}

fn parse(text: &str, origin: Origin, above: usize) -> Result<Node, Syntax> {
    Ok(match tree::parse_value(text, origin, above)? {
        // No key takes a date; "2026-11-20" may well be a name.
        Some(node) if !matches!(node.value, Value::Date(_)) => node,
        _ => Node { origin, value: Value::Text(text.to_owned()) },
    })
}
