//! Metrics by the conventions of Prometheus: base units, `_total` for what only grows, one name a quantity.

use super::Interfaces;
use crate::port::PortCounters;
use crate::status::{Count, DirectionStatus, LiveSojourn, PortStatus, Status, BOUNDS_S};
use crate::store::Health;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use sojourn_measure::window::ClassCounts;
use std::fmt;

/// Of OpenMetrics.
pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The metrics as text.
pub(super) fn encode(
    status: Status,
    windows_closed: [u64; 2],
    store: Option<Health>,
    interfaces: Interfaces,
) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Look { status, windows_closed, store, interfaces }));
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry)?;
    Ok(text)
}

#[derive(Debug)]
struct Look {
    status: Status,
    windows_closed: [u64; 2],
    store: Option<Health>,
    interfaces: Interfaces,
}

type Of<T, N> = fn(&T) -> N;
const EVENTS: [(&str, &str, Of<DirectionStatus, Count>); 4] = [
    ("arrived", "Offered to the queue", |d| d.counts.arrived),
    ("forwarded", "Left the queue to be sent", |d| d.counts.forwarded),
    ("marked", "Marked CE here", |d| d.counts.marked),
    ("arrived_ce", "Arrived with CE", |d| d.counts.ce_on_arrival),
];
const REASONS: [(&str, Of<DirectionStatus, Count>); 3] = [
    ("overflow", |d| d.counts.dropped_overflow),
    ("early", |d| d.counts.dropped_early),
    ("flow", |d| d.counts.dropped_flow),
];
const CLASSES: [(&str, &str, Of<ClassCounts, u64>); 3] = [
    ("arrived", "Offered to the queue, by class of traffic", |c| c.arrived),
    ("dropped", "Dropped, by class of traffic", |c| c.dropped),
    ("marked", "Marked CE, by class of traffic", |c| c.marked),
];
const PORTS: [(&str, &str, Of<PortCounters, u64>); 4] = [
    ("received_frames", "Frames handed to the pipeline", |c| c.received),
    ("received_bytes", "Their bytes, without FCS", |c| c.received_bytes),
    ("sent_frames", "Frames that left", |c| c.sent),
    ("sent_bytes", "Their bytes, without FCS", |c| c.sent_bytes),
];
const PORT_ERRORS: [(&str, Of<PortCounters, u64>); 5] = [
    ("missed", |c| c.missed),
    ("oversize", |c| c.oversize),
    ("checksum_unfinished", |c| c.checksum_unfinished),
    ("send_failed", |c| c.send_failed),
    ("link_dropped", |c| c.link_dropped),
];

type Labels<'a> = Vec<(&'static str, &'a str)>;

/// A metric with one value a set of labels.
fn family<'a, M: EncodeMetric>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    kind: MetricType,
    values: impl IntoIterator<Item = (Labels<'a>, M)>,
) -> fmt::Result {
    let mut values = values.into_iter().peekable();
    if values.peek().is_none() {
        return Ok(());
    }
    let mut metric = encoder.encode_descriptor(name, help, None, kind)?;
    for (labels, value) in values {
        value.encode(metric.encode_family(&labels)?)?;
    }
    Ok(())
}

fn counters<'a>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    values: impl IntoIterator<Item = (Labels<'a>, u64)>,
) -> fmt::Result {
    let values = values.into_iter().map(|(labels, value)| (labels, ConstCounter::new(value)));
    family(encoder, name, help, MetricType::Counter, values)
}

fn gauges<'a>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    values: impl IntoIterator<Item = (Labels<'a>, f64)>,
) -> fmt::Result {
    let values = values.into_iter().map(|(labels, value)| (labels, ConstGauge::new(value)));
    family(encoder, name, help, MetricType::Gauge, values)
}

impl Collector for Look {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Status { uptime_s, directions, ports, frames_free, frames } = &self.status;
        let e = &mut encoder;
        let queued: Vec<&DirectionStatus> = directions.iter().filter(|d| d.scheme.is_some()).collect();
        for (event, help, count) in EVENTS {
            let packets = queued.iter().map(|d| (vec![("direction", d.direction)], count(d).packets));
            counters(e, &format!("sojourn_{event}_packets"), help, packets)?;
            let bytes = queued.iter().map(|d| (vec![("direction", d.direction)], count(d).bytes));
            counters(e, &format!("sojourn_{event}_bytes"), &format!("{help}: bytes, overhead included"), bytes)?;
        }
        let drops = || {
            queued.iter().flat_map(|d| {
                REASONS.map(|(reason, count)| (vec![("direction", d.direction), ("reason", reason)], count(d)))
            })
        };
        let help = "Dropped: the queue was full, the algorithm decided early, or against the flow";
        counters(e, "sojourn_dropped_packets", help, drops().map(|(labels, count)| (labels, count.packets)))?;
        let help = format!("{help}: bytes, overhead included");
        counters(e, "sojourn_dropped_bytes", &help, drops().map(|(labels, count)| (labels, count.bytes)))?;
        for (event, help, count) in CLASSES {
            let classes = queued.iter().flat_map(|d| {
                d.classes.iter().map(|(class, c)| (vec![("direction", d.direction), ("class", *class)], count(c)))
            });
            counters(e, &format!("sojourn_class_{event}_packets"), help, classes)?;
        }
        counters(
            e,
            "sojourn_passed_packets",
            "Frames forwarded without a queue",
            directions.iter().map(|d| (vec![("direction", d.direction)], d.passed)),
        )?;
        counters(
            e,
            "sojourn_faulty_frames",
            "Frames with a fault; runts were dropped, the others treated as any",
            directions.iter().flat_map(|d| {
                d.faults.iter().map(|(fault, n)| (vec![("direction", d.direction), ("fault", *fault)], *n))
            }),
        )?;
        counters(
            e,
            "sojourn_windows",
            "Measurement windows closed",
            directions.iter().zip(self.windows_closed).map(|(d, n)| (vec![("direction", d.direction)], n)),
        )?;
        let late = queued.iter().map(|d| (vec![("direction", d.direction)], ConstCounter::new(d.late_s)));
        let help = "Time that the rate lost because the packet thread came late while packets waited";
        family(e, "sojourn_late_seconds", help, MetricType::Counter, late)?;
        let blocked = queued.iter().map(|d| (vec![("direction", d.direction)], ConstCounter::new(d.blocked_s)));
        let help = "Time for which packets were due and waited because the way out had no room";
        family(e, "sojourn_blocked_seconds", help, MetricType::Counter, blocked)?;
        let sum = |times: &LiveSojourn| ConstCounter::new(times.mean_s.unwrap_or(0.0) * times.packets as f64);
        let lateness = directions.iter().flat_map(|d| {
            let label = |bound| vec![("direction", d.direction), ("bound", bound)];
            [(label("least"), sum(&d.lateness)), (label("most"), sum(&d.lateness_most))]
        });
        let help = "By how much frames left later than at their nominal times, summed: by the clock before and after they left";
        family(e, "sojourn_lateness_seconds", help, MetricType::Counter, lateness)?;
        let dated = directions.iter().map(|d| (vec![("direction", d.direction)], sum(&d.dated_late)));
        let help = "By how much frames may count as arrived later than they did, summed: the kernel did not date them, or time had passed them";
        family(e, "sojourn_dated_late_seconds", help, MetricType::Counter, dated)?;
        let longest = directions.iter().flat_map(|d| {
            let label = |of| vec![("direction", d.direction), ("of", of)];
            [("left", d.lateness_most), ("dated", d.dated_late)]
                .map(|(of, late)| (label(of), late.max_s.unwrap_or(0.0)))
        });
        gauges(e, "sojourn_latest_frame_seconds", "The longest of these times since the start, at most", longest)?;
        let lost = directions.iter().flat_map(|d| {
            let label = |reason| vec![("direction", d.direction), ("reason", reason)];
            [(label("stale"), d.stale), (label("no_room"), d.no_room)]
        });
        let help = "Frames dropped behind the queue because the way out had no room";
        counters(e, "sojourn_unsent_frames", help, lost)?;
        let on_link = directions.iter().flat_map(|d| {
            let direction = d.direction;
            d.on_link().filter_map(move |(effect, n)| Some((vec![("direction", direction), ("effect", effect)], n?)))
        });
        counters(e, "sojourn_link_frames", "What the link did to frames that had left the queue", on_link)?;
        self.beside(e)?;
        gauge_of(e, &queued, "sojourn_backlog_packets", "Packets that wait now", |d| Some(d.backlog.packets as f64))?;
        gauge_of(e, &queued, "sojourn_backlog_bytes", "Bytes that wait now", |d| Some(d.backlog.bytes as f64))?;
        gauge_of(e, &queued, "sojourn_rate_bits_per_second", "The shaped rate", |d| d.rate_bit_s.map(|r| r as f64))?;
        gauge_of(
            e,
            &queued,
            "sojourn_load_ratio",
            "Bits offered over what the rate could carry, since the last look",
            |d| Some(d.load),
        )?;
        let all: Vec<&DirectionStatus> = directions.iter().collect();
        gauge_of(e, &all, "sojourn_delay_line_seconds", "Length of the delay line", |d| Some(d.delay_s))?;
        gauge_of(e, &all, "sojourn_delayed_frames", "Frames on the delay line", |d| Some(d.delayed as f64))?;
        gauge_of(e, &all, "sojourn_ready_frames", "Frames that wait for room at the port", |d| Some(d.ready as f64))?;
        gauges(
            e,
            "sojourn_scheme_info",
            "The scheme in force, always 1",
            queued.iter().map(|d| {
                let scheme = d.scheme.as_deref().unwrap_or_default();
                (vec![("direction", d.direction), ("scheme", scheme), ("label", d.label.as_str())], 1.0)
            }),
        )?;
        gauges(
            e,
            "sojourn_internal",
            "Internals of the scheme, in the unit of each",
            queued.iter().flat_map(|d| {
                d.internals.iter().map(|(name, value)| (vec![("direction", d.direction), ("name", *name)], *value))
            }),
        )?;
        gauges(
            e,
            "sojourn_recent_sojourn_seconds",
            "Quantiles of the sojourn times since the last look",
            queued.iter().flat_map(|d| {
                let quantiles = [("0.5", d.sojourn.p50_s), ("0.95", d.sojourn.p95_s), ("0.99", d.sojourn.p99_s)];
                let direction = d.direction;
                quantiles
                    .into_iter()
                    .filter_map(move |(q, s)| Some((vec![("direction", direction), ("quantile", q)], s?)))
            }),
        )?;
        sojourn_times(e, &queued)?;
        at_ports(e, ports)?;
        gauges(e, "sojourn_frames_free", "Free frames of the frame memory", [(Labels::new(), *frames_free as f64)])?;
        gauges(e, "sojourn_frames", "All frames of the frame memory", [(Labels::new(), *frames as f64)])?;
        gauges(e, "sojourn_uptime_seconds", "Time since the packet thread began", [(Labels::new(), *uptime_s)])
    }
}

impl Look {
    /// Store and control interface.
    fn beside(&self, e: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let health = self.store.as_ref();
        let one = |value: fn(&Health) -> u64| health.map(|health| (Labels::new(), value(health)));
        counters(e, "sojourn_store_windows", "Windows stored", one(|h| h.stored))?;
        counters(e, "sojourn_store_lost_windows", "Windows that could not be stored", one(|h| h.lost))?;
        counters(
            e,
            "sojourn_store_lost_slots",
            "Slots of the schedule that could not be stored",
            one(|h| h.lost_slots),
        )?;
        let gauge = |value: fn(&Health) -> f64| health.map(|health| (Labels::new(), value(health)));
        gauges(e, "sojourn_store_waiting_windows", "Windows that wait to be stored", gauge(|h| h.waiting as f64))?;
        gauges(e, "sojourn_store_up", "1: windows can be stored; 0: not now", gauge(|h| f64::from(u8::from(h.up))))?;
        let Interfaces { tcp, unix } = &self.interfaces;
        let sockets = [("tcp", tcp), ("unix", unix)].into_iter().filter_map(|(name, interface)| {
            Some((vec![("socket", name)], f64::from(u8::from(interface.as_ref()?.up))))
        });
        gauges(e, "sojourn_control_up", "1: the socket of the control interface answers; 0: not now", sockets)
    }
}

fn gauge_of(
    encoder: &mut DescriptorEncoder<'_>,
    directions: &[&DirectionStatus],
    name: &str,
    help: &str,
    value: fn(&DirectionStatus) -> Option<f64>,
) -> fmt::Result {
    let values = directions.iter().filter_map(|d| Some((vec![("direction", d.direction)], value(d)?)));
    gauges(encoder, name, help, values)
}

fn sojourn_times(encoder: &mut DescriptorEncoder<'_>, queued: &[&DirectionStatus]) -> fmt::Result {
    if queued.is_empty() {
        return Ok(());
    }
    let help = "Time in the queue of packets that left it";
    let mut metric = encoder.encode_descriptor("sojourn_time_seconds", help, None, MetricType::Histogram)?;
    for d in queued {
        let labels = [("direction", d.direction)];
        let totals = &d.sojourn_totals;
        let beyond = totals.packets.saturating_sub(totals.buckets.iter().sum());
        let buckets: Vec<(f64, u64)> =
            BOUNDS_S.into_iter().zip(totals.buckets).chain([(f64::INFINITY, beyond)]).collect();
        metric.encode_family(&labels)?.encode_histogram::<[(&str, &str); 0]>(
            totals.sum_s,
            totals.packets,
            &buckets,
            None,
        )?;
    }
    Ok(())
}

fn at_ports(encoder: &mut DescriptorEncoder<'_>, ports: &[PortStatus; 2]) -> fmt::Result {
    let sides = || ports.iter().zip(["a", "b"]);
    for (what, help, count) in PORTS {
        let values =
            sides().map(|(port, side)| (vec![("port", side), ("name", port.name.as_str())], count(&port.counters)));
        counters(encoder, &format!("sojourn_port_{what}"), help, values)?;
    }
    let links =
        || sides().filter_map(|(port, side)| Some((vec![("port", side), ("name", port.name.as_str())], port.link?)));
    let up = links().map(|(labels, link)| (labels, f64::from(u8::from(link.is_up()))));
    gauges(encoder, "sojourn_port_link_up", "1: the interface is up and has a carrier; 0: not now", up)?;
    let lost = links().map(|(labels, link)| (labels, link.lost));
    counters(encoder, "sojourn_port_link_losses", "Times that the link was lost", lost)?;
    let down = links().map(|(labels, link)| (labels, ConstCounter::new(link.down_s)));
    family(encoder, "sojourn_port_link_down_seconds", "Time without a link", MetricType::Counter, down)?;
    let troubles = sides().flat_map(|(port, side)| {
        PORT_ERRORS.map(|(kind, count)| {
            (vec![("port", side), ("name", port.name.as_str()), ("kind", kind)], count(&port.counters))
        })
    });
    let help =
        "Frames that found no memory, were too long, had an unfinished checksum, or that the system did not send";
    counters(encoder, "sojourn_port_trouble_frames", help, troubles)
}
