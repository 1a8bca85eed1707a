//! The reference of all keys, made from the tables themselves.

use super::Config;
use serde_json::Value;
use std::fmt::Write;

/// A configuration for the page.
const EXAMPLE: &str = r#"[ports.a]
back_end = "af_packet"
interface = "eth0"

[ports.b]
back_end = "af_packet"
interface = "eth1"

[a_to_b]
scheme = "fq_codel"
rate = "95 Mbit/s"
overhead = "24 B"

[b_to_a]
scheme = "fq_codel"
rate = "19 Mbit/s"
overhead = "24 B"
"#;

/// Every key with its values, default and meaning, as Markdown.
#[must_use]
pub fn reference() -> String {
    let schema = schemars::schema_for!(Config).to_value();
    let mut page = String::from(
        "<!-- Made by `sojournd keys` from the program itself: change it there. -->\n\
         # Configuration of sojournd\n\n\
         The configuration is one TOML file. Quantities are texts with a unit: `\"100 Mbit/s\"`, `\"5 ms\"`, `\"24 B\"`. Relative paths\n\
         are relative to the file's folder. `sojournd check FILE` reports the first mistake with file, line, key and what is allowed.\n\n\
         A scheme is written as tc writes it, `\"fq_codel target 5ms\"`, or as a table, `{ kind = \"fq_codel\", target = \"5 ms\" }`; the\n\
         schemes and their parameters are in [algorithms](algorithms.md).\n\n",
    );
    // Writing to a String cannot fail.
    let _ = writeln!(page, "An example; keys that are left out have their defaults:\n\n```toml\n{EXAMPLE}```");
    // The tables in the order of the file.
    for (table, definition) in [
        ("[ports.a], [ports.b]", "PortTable"),
        ("[ports.a.faults], [ports.b.faults]", "FaultsTable"),
        ("[a_to_b], [b_to_a]", "DirectionTable"),
        ("[a_to_b.trace], [b_to_a.trace]", "TraceTable"),
        ("[[a_to_b.changes]], [[b_to_a.changes]]", "ChangeTable"),
        ("[dpdk]", "DpdkTable"),
        ("[frames]", "FramesTable"),
        ("[windows]", "WindowsTable"),
        ("[schedule]", "ScheduleTable"),
        ("[control]", "ControlTable"),
        ("[plugins]", "PluginsTable"),
        ("[run]", "RunTable"),
    ] {
        section(&mut page, table, &schema["$defs"][definition]);
    }
    page
}

fn section(page: &mut String, table: &str, definition: &Value) {
    let text = |value: &Value| value.as_str().unwrap_or_default().replace('\n', " ").replace('|', "\\|");
    // As above.
    let _ = write!(page, "\n## `{table}`\n\n{}\n\n", text(&definition["description"]));
    page.push_str("| key | takes | default | meaning |\n| --- | --- | --- | --- |\n");
    let required = definition["required"].as_array().cloned().unwrap_or_default();
    let Some(properties) = definition["properties"].as_object() else { return };
    for (key, value) in properties {
        let default = match value.get("default") {
            Some(default) if !default.is_null() => format!("`{default}`"),
            _ if required.iter().any(|name| name == key) => "required".to_owned(),
            _ => String::new(),
        };
        let _ = writeln!(page, "| `{key}` | {} | {default} | {} |", takes(value), text(&value["description"]));
    }
}

/// What a key takes, in words.
fn takes(value: &Value) -> String {
    if let Some(words) = value["enum"].as_array() {
        return words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    }
    if let Some(options) = value["anyOf"].as_array() {
        let options: Vec<String> = options.iter().filter(|option| option["type"] != "null").map(takes).collect();
        return options.join(" or ");
    }
    if let Some(reference) = value["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or_default();
        return match name {
            "FaultsTable" | "TraceTable" => "a table".to_owned(),
            "path_or_none" => "a path or `\"none\"`".to_owned(),
            "address" => "a loopback address with a port, or `\"none\"`".to_owned(),
            name => name.to_owned(),
        };
    }
    let one = |kind: &str| match kind {
        "string" => "text",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "`true` or `false`",
        "object" => "a table",
        "array" => "a list",
        _ => "",
    };
    match &value["type"] {
        Value::String(kind) => one(kind).to_owned(),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null").map(one).collect(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_example_is_a_configuration() {
        let config = crate::config::parse(super::EXAMPLE, std::path::Path::new("example.toml"));
        assert!(config.is_ok_and(|config| config.warnings().is_empty()));
    }
}
