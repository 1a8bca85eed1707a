//! The live page: tables made here, so that they read without JavaScript; a script fetches the page again and draws.

use super::error::ApiError;
use super::{access, not_yet, Api, Shared};
use crate::control::Recent;
use crate::status::{Count, DirectionStatus, LinkStatus, Status};
use axum::extract::rejection::FormRejection;
use axum::extract::State;
use axum::http::{header, StatusCode};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::{Form, Router};
use serde::Deserialize;
use sojourn_measure::window::Class;
use std::fmt::Write;
use std::sync::Arc;

/// Windows on the page.
const WINDOWS: usize = 8;
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");

pub(super) fn routes() -> Router<Arc<Api>> {
    Router::new()
        .route("/", get(page))
        .route("/login", get(login).post(log_in))
        .route("/page.css", get(|| async { ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], STYLE) }))
        .route("/page.js", get(|| async { ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], SCRIPT) }))
}

#[derive(Deserialize)]
struct Login {
    token: String,
}

async fn login() -> Html<String> {
    Html(login_page(None))
}

async fn log_in(State(api): Shared, form: Result<Form<Login>, FormRejection>) -> Response {
    let Ok(Form(Login { token })) = form else {
        return ApiError::new(StatusCode::BAD_REQUEST, "the form has no field `token`").into_response();
    };
    match access::log_in(&api, &token) {
        Ok(cookie) => ([(header::SET_COOKIE, cookie)], Redirect::to("/")).into_response(),
        Err(error) => (error.status, Html(login_page(Some("That is not the token.")))).into_response(),
    }
}

async fn page(State(api): Shared) -> Result<Html<String>, ApiError> {
    let status = api.control.status().ok_or_else(not_yet)?;
    Ok(Html(status_page(&status, &api.troubles(&status), &api.control.windows(WINDOWS))))
}

fn frame(title: &str, head: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
         <link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"/page.css\">\n{head}</head>\n<body>\n{body}</body>\n</html>\n"
    )
}

fn login_page(wrong: Option<&str>) -> String {
    let wrong = wrong.map(|what| format!("<p role=\"alert\">{what}</p>\n")).unwrap_or_default();
    frame(
        "sojournd: log in",
        "",
        &format!(
            "<main class=\"login\">\n<h1>sojournd</h1>\n{wrong}<form method=\"post\" action=\"/login\">\n\
             <label for=\"token\">Token</label>\n<input id=\"token\" name=\"token\" type=\"password\" required autofocus \
             autocomplete=\"current-password\">\n<button>Log in</button>\n</form>\n\
             <p>It is in the file that <code>control.token_file</code> names, <code>/var/lib/sojournd/token</code> unless \
             the configuration says otherwise. The page shows the state of the device and cannot change it.</p>\n</main>\n"
        ),
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Three significant digits with the unit that suits.
fn si(value: f64, unit: &str) -> String {
    const STEPS: [(f64, &str); 6] = [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ")];
    if value == 0.0 || !value.is_finite() {
        return format!("0 {unit}");
    }
    let (step, prefix) = STEPS.into_iter().find(|(step, _)| value.abs() >= *step).unwrap_or((1e-6, "µ"));
    let scaled = value / step;
    let digits = if scaled.abs() >= 99.95 {
        0
    } else if scaled.abs() >= 9.995 {
        1
    } else {
        2
    };
    format!("{scaled:.digits$} {prefix}{unit}")
}

/// Thousands apart.
pub(super) fn whole(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

fn percent(ratio: f64) -> String {
    let percent = 100.0 * ratio;
    let digits = if percent >= 10.0 || percent == 0.0 { 1 } else { 3 };
    format!("{percent:.digits$} %")
}

/// Counts of a class of traffic.
fn class(d: &DirectionStatus, class: Class) -> String {
    let counts = d.classes.get(class.name()).copied().unwrap_or_default();
    [counts.arrived, counts.dropped, counts.marked].map(whole).join(" / ")
}

/// A quantity of a direction: what the cell shows, and its number for the script to draw.
struct Row {
    key: &'static str,
    name: &'static str,
    show: fn(&DirectionStatus) -> String,
    /// Drawn: the number, its unit; of what only grows, the change a second is.
    series: Option<Series>,
}

struct Series {
    value: fn(&DirectionStatus) -> Option<f64>,
    unit: &'static str,
    grows: bool,
}

fn dropped(d: &DirectionStatus) -> u64 {
    let counts = &d.counts;
    counts.dropped_overflow.packets + counts.dropped_early.packets + counts.dropped_flow.packets
}

fn counted(count: Count) -> String {
    format!("{} p, {}", whole(count.packets), si(count.bytes as f64, "B"))
}

pub(super) const NOTHING: &str = "–";

/// What a scheme tells of itself: times as times, whole numbers as such, nothing where it has none.
fn internal(name: &str, value: f64) -> String {
    const RATES: [&str; 3] = ["_bit_s", "_bytes_s", "_packets_s"];
    if !value.is_finite() {
        NOTHING.to_owned()
    } else if name.ends_with("_s") && !RATES.iter().any(|rate| name.ends_with(rate)) {
        si(value, "s")
    } else if value.fract() == 0.0 && value.abs() < 1e15 {
        if value < 0.0 {
            format!("−{}", whole(value.abs() as u64))
        } else {
            whole(value as u64)
        }
    } else if value.abs() >= 1e15 || value.abs() < 1e-4 {
        format!("{value:.3e}")
    } else {
        // Six significant digits, without the zeros behind the last one.
        let digits = (5.0 - value.abs().log10().floor()).clamp(0.0, 9.0) as usize;
        let text = format!("{value:.digits$}");
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text
        }
    }
}

/// Parts of a cell that belong together stay on a line.
fn unbroken(text: &str) -> String {
    let parts = text.split(" / ").map(|part| {
        let inner: Vec<_> =
            part.split(", ").map(|piece| format!("<span class=\"n\">{}</span>", escaped(piece))).collect();
        inner.join(", ")
    });
    parts.collect::<Vec<_>>().join(" / ")
}

fn seconds(value: Option<f64>) -> String {
    value.map_or_else(|| NOTHING.to_owned(), |s| si(s, "s"))
}

const ROWS: &[Row] = &[
    Row {
        key: "queue",
        name: "Queue",
        show: |d| counted(d.backlog),
        series: Some(Series { value: |d| Some(d.backlog.packets as f64), unit: "p", grows: false }),
    },
    Row {
        key: "delay",
        name: "Queueing delay, mean",
        show: |d| seconds(d.sojourn.mean_s),
        series: Some(Series { value: |d| d.sojourn.mean_s, unit: "s", grows: false }),
    },
    Row {
        key: "quantiles",
        name: "Queueing delay, 50 / 95 / 99 %",
        show: |d| [d.sojourn.p50_s, d.sojourn.p95_s, d.sojourn.p99_s].map(seconds).join(" / "),
        series: None,
    },
    Row {
        key: "load",
        name: "Load",
        show: |d| percent(d.load),
        series: Some(Series { value: |d| Some(100.0 * d.load), unit: "%", grows: false }),
    },
    Row { key: "throughput", name: "Throughput", show: |d| si(d.throughput_bit_s, "bit/s"), series: None },
    Row {
        key: "drops",
        name: "Dropped",
        show: |d| {
            let arrived = d.counts.arrived.packets;
            format!(
                "{} ({})",
                whole(dropped(d)),
                percent(if arrived == 0 { 0.0 } else { dropped(d) as f64 / arrived as f64 })
            )
        },
        series: Some(Series { value: |d| Some(dropped(d) as f64), unit: "/s", grows: true }),
    },
    Row {
        key: "reasons",
        name: "Dropped: queue full / early / against a flow",
        show: |d| {
            let counts = &d.counts;
            [counts.dropped_overflow, counts.dropped_early, counts.dropped_flow].map(|c| whole(c.packets)).join(" / ")
        },
        series: None,
    },
    Row { key: "late", name: "Sending time lost: the processor was busy", show: |d| si(d.late_s, "s"), series: None },
    Row { key: "blocked", name: "Time blocked: the port was full", show: |d| si(d.blocked_s, "s"), series: None },
    Row { key: "unsent", name: "Dropped after the queue: no room", show: |d| whole(d.stale + d.no_room), series: None },
    Row { key: "marked", name: "Marked CE", show: |d| whole(d.counts.marked.packets), series: None },
    Row { key: "tcp", name: "TCP: arrived / dropped / marked", show: |d| class(d, Class::Tcp), series: None },
    Row { key: "udp", name: "UDP: arrived / dropped / marked", show: |d| class(d, Class::Udp), series: None },
    Row { key: "icmp", name: "ICMP: arrived / dropped / marked", show: |d| class(d, Class::Icmp), series: None },
    Row { key: "other", name: "Other: arrived / dropped / marked", show: |d| class(d, Class::Other), series: None },
    Row { key: "arrived", name: "Arrived", show: |d| counted(d.counts.arrived), series: None },
    Row { key: "forwarded", name: "Forwarded", show: |d| counted(d.counts.forwarded), series: None },
];

fn status_page(status: &Status, troubles: &[String], windows: &[Recent]) -> String {
    let mut body = String::from("<main>\n<h1>sojournd</h1>\n");
    // Writing to a String cannot fail; here and below.
    let _ = writeln!(
        body,
        "<p>Up <span id=\"uptime\">{}</span>, <span id=\"frames\">{} of {}</span> frames of memory free. \
         <span id=\"live\" role=\"status\"></span></p>",
        uptime(status.uptime_s),
        whole(status.frames_free),
        whole(status.frames)
    );
    body.push_str("<div id=\"troubles\" role=\"alert\">");
    for trouble in troubles {
        let _ = write!(body, "<p>{}</p>", escaped(trouble));
    }
    body.push_str("</div>\n");
    directions(&mut body, status);
    body.push_str("<section id=\"charts\" hidden></section>\n");
    port_table(&mut body, status);
    recent(&mut body, windows);
    internals(&mut body, status);
    body.push_str("</main>\n");
    let head =
        "<noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>\n<script src=\"/page.js\" defer></script>\n";
    frame("sojournd", head, &body)
}

pub(super) fn uptime(seconds: f64) -> String {
    let s = seconds as u64;
    match (s / 86400, s / 3600 % 24, s / 60 % 60) {
        (0, 0, 0) => format!("{s} s"),
        (0, 0, minutes) => format!("{minutes} min {} s", s % 60),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}

fn title(d: &DirectionStatus) -> &'static str {
    if d.direction == "a_to_b" {
        "A to B"
    } else {
        "B to A"
    }
}

/// What is known of a direction, in the order of the page: key, name and text of each.
pub(super) fn cells(d: &DirectionStatus) -> Vec<(&'static str, &'static str, String)> {
    let name = d.scheme.clone().unwrap_or_else(|| "none: forwarded at once".into());
    let slot = d.slot.map(|slot| format!(", slot {slot}")).unwrap_or_default();
    let algorithm = name.split(' ').next() == Some(d.label.as_str());
    let unnamed = d.scheme.is_none() || d.label.is_empty() || algorithm && slot.is_empty();
    let label = if unnamed { String::new() } else { format!(" ({}{slot})", d.label) };
    let rate = d.rate_bit_s.map_or_else(|| NOTHING.into(), |rate| si(rate as f64, "bit/s"));
    let frames = if d.delayed == 1 { "frame" } else { "frames" };
    let line = format!("{}, {} {frames} in it", si(d.delay_s, "s"), whole(d.delayed));
    let mut cells =
        vec![("scheme", "Scheme", name + &label), ("rate", "Shaped rate", rate), ("line", "Delay line", line)];
    cells.extend(ROWS.iter().map(|row| {
        let text = if d.scheme.is_some() { (row.show)(d) } else { NOTHING.into() };
        (row.key, row.name, text)
    }));
    let of = |fault| whole(d.faults.get(fault).copied().unwrap_or_default());
    let faults = ["runt", "truncated", "malformed"].map(of).join(" / ");
    cells.push(("passed", "Forwarded without a queue", format!("{} p", whole(d.passed))));
    let times = |known: &[Option<f64>]| match known {
        [None, ..] => NOTHING.to_owned(),
        _ => known.iter().copied().map(seconds).collect::<Vec<_>>().join(" / "),
    };
    let left = times(&[d.lateness.mean_s, d.lateness_most.mean_s, d.lateness_most.max_s]);
    cells.push(("left", "Departure after its time, mean: at least / at most / longest", left));
    let dated = times(&[d.dated_late.mean_s, d.dated_late.max_s]);
    cells.push(("dated", "Arrival dated late, at most: mean / longest", dated));
    cells.push(("faults", "Faulty frames, runt / truncated / malformed", faults));
    cells
}

fn directions(body: &mut String, status: &Status) {
    body.push_str("<div class=\"wide\"><table id=\"directions\">\n<thead><tr><td></td>");
    for d in &status.directions {
        let _ = write!(body, "<th scope=\"col\">{}</th>", title(d));
    }
    body.push_str("</tr></thead>\n<tbody>\n");
    let [a, b] = status.directions.each_ref().map(cells);
    for ((key, name, a), (_, _, b)) in a.into_iter().zip(b) {
        let _ = write!(body, "<tr><th scope=\"row\">{name}</th>");
        for (d, text) in status.directions.iter().zip([a, b]) {
            let text = if key == "scheme" { escaped(&text) } else { unbroken(&text) };
            let _ = write!(body, "<td id=\"{key}-{}\"{}>{text}</td>", d.direction, attributes(d, key));
        }
        body.push_str("</tr>\n");
    }
    body.push_str("</tbody>\n</table></div>\n");
}

/// Those of a cell: what the script is to draw.
fn attributes(d: &DirectionStatus, key: &str) -> String {
    if key == "scheme" {
        return " class=\"scheme\"".to_owned();
    }
    let row = ROWS.iter().find(|row| row.key == key && d.scheme.is_some());
    let drawn = row.and_then(|row| {
        let series = row.series.as_ref()?;
        let value = (series.value)(d)?;
        let grows = if series.grows { " data-grows" } else { "" };
        let name = row.name;
        Some(format!(" data-value=\"{value}\" data-unit=\"{}\" data-name=\"{name}, {}\"{grows}", series.unit, title(d)))
    });
    drawn.unwrap_or_default()
}

/// Columns of a port: the key and the name of each.
pub(super) const PORTS: [(&str, &str); 7] = [
    ("link", "Link"),
    ("received", "Received"),
    ("sent", "Sent"),
    ("missed", "Missed"),
    ("oversize", "Too long"),
    ("checksum", "Checksum unfinished"),
    ("failed", "Not sent"),
];

/// What is known of each port: its name, and the texts of [`PORTS`].
pub(super) fn ports(status: &Status) -> [(String, [String; PORTS.len()]); 2] {
    let sides = [("A", &status.ports[0]), ("B", &status.ports[1])];
    sides.map(|(side, port)| {
        let c = &port.counters;
        let both = |packets, bytes| counted(Count { packets, bytes });
        let link = port.link.map_or_else(|| NOTHING.to_owned(), link);
        let cells = [
            link,
            both(c.received, c.received_bytes),
            both(c.sent, c.sent_bytes),
            whole(c.missed),
            whole(c.oversize),
            whole(c.checksum_unfinished),
            whole(c.send_failed),
        ];
        (format!("{side} ({})", port.name), cells)
    })
}

/// A link that was never lost is up, and no more is to be said of it.
fn link(link: LinkStatus) -> String {
    let lost = match link.lost {
        0 => return link.state.to_owned(),
        1 => "lost once".to_owned(),
        n => format!("lost {} times", whole(n)),
    };
    format!("{} for {}, {lost}", link.state, uptime(link.for_s))
}

fn port_table(body: &mut String, status: &Status) {
    body.push_str(
        "<h2>Ports</h2>\n<div class=\"wide\" role=\"region\" aria-label=\"Ports\" tabindex=\"0\"><table id=\"ports\">\n<thead><tr><td></td>",
    );
    for (_, name) in PORTS {
        let _ = write!(body, "<th scope=\"col\">{name}</th>");
    }
    body.push_str("</tr></thead>\n<tbody>\n");
    for (side, (name, cells)) in ["a", "b"].into_iter().zip(ports(status)) {
        let _ = write!(body, "<tr><th scope=\"row\">{}</th>", escaped(&name));
        for ((key, _), text) in PORTS.iter().zip(cells) {
            let _ = write!(body, "<td id=\"port-{side}-{key}\">{text}</td>");
        }
        body.push_str("</tr>\n");
    }
    body.push_str("</tbody>\n</table></div>\n");
}

fn recent(body: &mut String, windows: &[Recent]) {
    body.push_str("<div id=\"recent\">");
    if !windows.is_empty() {
        body.push_str(
            "<h2>Latest measurement windows</h2>\n<div class=\"wide\" role=\"region\" aria-label=\"Windows\" tabindex=\"0\"><table id=\"windows\">\n<thead><tr>\
             <th scope=\"col\">Scheme</th><th scope=\"col\">Direction</th><th scope=\"col\">Arrivals</th>\
             <th scope=\"col\">Load</th><th scope=\"col\">Mean queue</th><th scope=\"col\">Loss ratio</th>\
             <th scope=\"col\">Burst ratio</th><th scope=\"col\"><abbr title=\"impairment factor I\">I</abbr></th>\
             <th scope=\"col\"><abbr title=\"impairment factor C\">C</abbr></th><th scope=\"col\">Delay, 50 / 99 %</th></tr></thead>\n<tbody>\n",
        );
    }
    for w in windows {
        let number = |value: Option<f64>| value.map_or_else(|| NOTHING.into(), |value| format!("{value:.2}"));
        let _ = writeln!(
            body,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td>{}</td><td>{} / {}</td></tr>",
            escaped(if w.label.is_empty() { &w.scheme } else { &w.label }),
            if w.direction == "a_to_b" { "A to B" } else { "B to A" },
            whole(w.row.arrived),
            if w.complete { "" } else { ", cut short" },
            percent(w.row.load),
            w.row.mean_queue_packets.map_or_else(|| NOTHING.into(), |mean| format!("{mean:.1} p")),
            w.row.loss_ratio.map_or_else(|| NOTHING.into(), percent),
            number(w.row.burst_ratio),
            number(w.row.impairment_i),
            number(w.row.impairment_c),
            seconds(w.row.sojourn_p50_s),
            seconds(w.row.sojourn_p99_s),
        );
    }
    if !windows.is_empty() {
        body.push_str("</tbody>\n</table></div>\n");
    }
    body.push_str("</div>\n");
}

fn internals(body: &mut String, status: &Status) {
    for d in &status.directions {
        let _ = write!(body, "<div id=\"internals-{}\">", d.direction);
        if !d.internals.is_empty() {
            let _ = write!(body, "<h2>Internals, {}</h2>\n<dl>", title(d));
            for (name, value) in &d.internals {
                let _ = write!(body, "<div><dt>{}</dt><dd>{}</dd></div>", escaped(name), internal(name, *value));
            }
            body.push_str("</dl>");
        }
        body.push_str("</div>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_internal_without_a_value_is_a_dash_and_never_nan() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(internal("first_above_s", value), "–");
            assert_eq!(internal("avg", value), "–");
        }
    }

    #[test]
    fn integers_are_integers_and_times_are_times() {
        for (name, value, shown) in [
            ("count", 180.0, "180"),
            ("dropping", 0.0, "0"),
            ("fattest_bytes", 1_234_567.0, "1\u{202f}234\u{202f}567"),
            ("credit", -3.0, "−3"),
            ("drop_next_s", 29.292_343, "29.3 s"),
            ("delay_s", 0.0, "0 s"),
            ("departure_rate_bytes_s", 250_000.0, "250\u{202f}000"),
            ("avg", 12.5, "12.5"),
            // Six significant digits: 0.333333, 123.457.
            ("probability", 1.0 / 3.0, "0.333333"),
            ("avg", 123.456_789, "123.457"),
            ("probability", 1.25e-7, "1.250e-7"),
        ] {
            assert_eq!(internal(name, value), shown, "{name} {value}");
        }
    }

    #[test]
    fn what_belongs_together_is_not_broken() {
        assert_eq!(
            unbroken("160 ms / 1 p, <2 B"),
            "<span class=\"n\">160 ms</span> / <span class=\"n\">1 p</span>, <span class=\"n\">&lt;2 B</span>"
        );
    }
}
