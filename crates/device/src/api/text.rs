//! The status as a table for people: what the page shows, on a terminal.

use super::page::{cells, ports, uptime, whole, NOTHING, PORTS};
use super::StatusDocument;
use std::fmt::Write;

/// The table.
pub(super) fn table(document: &StatusDocument, troubles: &[String]) -> String {
    let StatusDocument { version, status, store, schedule, control, .. } = document;
    let mut text = format!(
        "sojournd {version}, up {}; {} of {} frames of memory free\n",
        uptime(status.uptime_s),
        whole(status.frames_free),
        whole(status.frames)
    );
    // Writing to a String cannot fail; here and below.
    for trouble in troubles {
        let _ = writeln!(text, "! {trouble}");
    }
    let [a, b] = &status.directions;
    let mut rows = vec![[String::new(), "A to B".to_owned(), "B to A".to_owned()]];
    rows.extend(cells(a).into_iter().zip(cells(b)).map(|((_, name, a), (_, _, b))| [name.to_owned(), a, b]));
    text.push('\n');
    aligned(&mut text, &rows);
    let mut rows = vec![vec!["Port".to_owned()]];
    rows[0].extend(PORTS.iter().map(|(_, name)| (*name).to_owned()));
    rows.extend(ports(status).into_iter().map(|(name, cells)| std::iter::once(name).chain(cells).collect()));
    text.push('\n');
    aligned(&mut text, &rows);
    text.push('\n');
    if let Some(store) = store {
        let (stored, waiting, lost) = (whole(store.stored), whole(store.waiting), whole(store.lost));
        let state = if store.up { "works" } else { "does not work" };
        let _ = writeln!(text, "Store: {state}; windows: {stored} stored, {waiting} waiting, {lost} lost");
    }
    if let Some(schedule) = schedule {
        let state = if schedule.running { "running" } else { "stopped" };
        let slot = schedule.slot.map(|slot| format!("; slot {slot}")).unwrap_or_default();
        let label = schedule.label.as_ref().map(|label| format!(" ({label})")).unwrap_or_default();
        let _ = writeln!(text, "Schedule: {state}{slot}{label}");
    }
    let sockets = [&control.tcp, &control.unix].into_iter().flatten();
    let sockets: Vec<_> =
        sockets.map(|one| if one.up { one.at.clone() } else { format!("{} (closed)", one.at) }).collect();
    let _ = writeln!(text, "Control: {}", if sockets.is_empty() { NOTHING.to_owned() } else { sockets.join(", ") });
    // A terminal has one kind of space.
    text.replace('\u{202f}', " ")
}

/// Rows below each other, the first cell at the left and the others too, each column as wide as its widest cell.
fn aligned<R: AsRef<[String]>>(text: &mut String, rows: &[R]) {
    let columns = rows.iter().map(|row| row.as_ref().len()).max().unwrap_or_default();
    let wide = |column: usize| rows.iter().filter_map(|row| Some(row.as_ref().get(column)?.chars().count())).max();
    let widths: Vec<_> = (0..columns).map(|column| wide(column).unwrap_or_default()).collect();
    for row in rows {
        let cells = row.as_ref().iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["", "A"], ["Queue", "1 µs"], ["Load", "–"]].map(|row| row.map(str::to_owned));
        let mut text = String::new();
        aligned(&mut text, &rows);
        assert_eq!(text, "       A\nQueue  1 µs\nLoad   –\n");
    }
}
