"""Write the Grafana dashboard of sojournd, packaging/grafana/sojournd.json.

    packaging/grafana/make.py            writes it
    packaging/grafana/make.py --check    ends with status 1 where it is not what would be written

Import the file in Grafana (Dashboards, New, Import) and choose the Prometheus data source. prometheus.yml beside it
lets Prometheus read the device.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("sojournd.json")
SOURCE = {"type": "prometheus", "uid": "${source}"}
WHO = 'instance=~"$instance"'
WAY = WHO + ', direction=~"$direction"'


def panel(title: str, unit: str, *queries: tuple[str, str], note: str, kind: str = "timeseries") -> dict[str, Any]:
    """Return a panel; a query is its expression and the legend."""
    return {
        "type": kind,
        "title": title,
        "description": note,
        "datasource": SOURCE,
        "fieldConfig": {
            "defaults": {"unit": unit, "min": 0, "custom": {"showPoints": "never"} if kind == "timeseries" else {}},
            "overrides": [],
        },
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}} if kind == "timeseries" else {},
        "targets": [
            {"refId": chr(65 + n), "datasource": SOURCE, "expr": expression, "legendFormat": legend}
            | ({"format": "table", "instant": True} if kind == "table" else {})
            for n, (expression, legend) in enumerate(queries)
        ],
    }


def rate(metric: str, labels: str = WAY, by: str = "direction") -> str:
    """Return the sum of a counter's rate."""
    return f"sum by (instance, {by}) (rate({metric}{{{labels}}}[$__rate_interval]))"


def quantile(share: float) -> str:
    """Return a quantile of the sojourn times."""
    inner = rate("sojourn_time_seconds_bucket", by="direction, le")
    return f"histogram_quantile({share}, {inner})"


def panels() -> list[dict[str, Any]]:
    """Return every panel, two in a row."""
    drops = f"{rate('sojourn_dropped_packets_total')} / {rate('sojourn_arrived_packets_total')}"
    mean = f"{rate('sojourn_time_seconds_sum')} / {rate('sojourn_time_seconds_count')}"
    found = [
        panel(
            "Queueing delay",
            "s",
            (mean, "{{direction}} mean"),
            (quantile(0.5), "{{direction}} 50 %"),
            (quantile(0.99), "{{direction}} 99 %"),
            note="Time that packets spent in the queue. Quantiles are interpolated in the buckets of the histogram.",
        ),
        panel(
            "Queue",
            "short",
            (f"sojourn_backlog_packets{{{WAY}}}", "{{direction}}"),
            note="Packets that wait at the moment of the scrape.",
        ),
        panel(
            "Throughput and shaped rate",
            "bps",
            (f"8 * {rate('sojourn_forwarded_bytes_total')}", "{{direction}} forwarded"),
            (f"8 * {rate('sojourn_arrived_bytes_total')}", "{{direction}} offered"),
            (f"sojourn_rate_bits_per_second{{{WAY}}}", "{{direction}} shaped rate"),
            note="Bits per second, with the configured overhead of each frame.",
        ),
        panel(
            "Dropped share",
            "percentunit",
            (drops, "{{direction}}"),
            note="Packets that the queue dropped, as a share of those offered.",
        ),
        panel(
            "Drops by reason, and marks",
            "pps",
            (rate("sojourn_dropped_packets_total", by="direction, reason"), "{{direction}} {{reason}}"),
            (rate("sojourn_marked_packets_total"), "{{direction}} marked CE"),
            note="overflow: the queue was full; early: the algorithm decided; flow: against one flow.",
        ),
        panel(
            "Sending time lost",
            "percentunit",
            (rate("sojourn_late_seconds_total"), "{{direction}} processor busy"),
            (rate("sojourn_blocked_seconds_total"), "{{direction}} port full"),
            note="Share of time for which the shaped rate was not reached. It should be 0.",
        ),
        panel(
            "Frames lost at the ports",
            "pps",
            (rate("sojourn_port_trouble_frames_total", WHO, "port, kind"), "{{port}} {{kind}}"),
            (rate("sojourn_unsent_frames_total", by="direction, reason"), "{{direction}} {{reason}}"),
            note="Outside of the queue: no memory, too long, unfinished checksum, not sent.",
        ),
        panel(
            "Links",
            "short",
            (f"sojourn_port_link_up{{{WHO}}}", "{{port}} {{name}}"),
            (f"increase(sojourn_port_link_losses_total{{{WHO}}}[$__rate_interval])", "{{port}} {{name}} lost"),
            note="1: the port has a link. 0: not now.",
        ),
        panel(
            "Free frame memory",
            "percentunit",
            (f"sojourn_frames_free{{{WHO}}} / sojourn_frames{{{WHO}}}", "{{instance}}"),
            note="At 0 the device cannot receive.",
        ),
        panel(
            "Schemes in force",
            "short",
            (f"sojourn_scheme_info{{{WAY}}}", "{{direction}} {{scheme}}"),
            note="One row for each direction with a queue.",
            kind="table",
        ),
        panel(
            "Store and control interface",
            "short",
            (f"sojourn_store_up{{{WHO}}}", "store"),
            (f"sojourn_control_up{{{WHO}}}", "control {{socket}}"),
            (f"sojourn_store_waiting_windows{{{WHO}}}", "windows that wait to be stored"),
            note="1: works. 0: does not work now.",
        ),
    ]
    for number, one in enumerate(found):
        one["id"] = number + 1
        one["gridPos"] = {"h": 8, "w": 12, "x": 12 * (number % 2), "y": 8 * (number // 2)}
    return found


def variable(name: str, label: str) -> dict[str, Any]:
    """Return a variable that is a label of the device's metrics."""
    query = (
        f"label_values(sojourn_uptime_seconds, {label})"
        if name == "instance"
        else (f"label_values(sojourn_passed_packets_total{{{WHO}}}, {label})")
    )
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": SOURCE,
        "definition": query,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "includeAll": True,
        "multi": True,
        "current": {"text": "All", "value": "$__all"},
    }


def dashboard() -> dict[str, Any]:
    """Return the dashboard."""
    source = {"name": "source", "label": "data source", "type": "datasource", "query": "prometheus", "current": {}}
    return {
        "uid": "sojournd",
        "title": "sojournd",
        "description": "Active queue management on real packets",
        "tags": ["aqm", "network"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "timezone": "browser",
        "refresh": "5s",
        "time": {"from": "now-15m", "to": "now"},
        "templating": {"list": [source, variable("instance", "instance"), variable("direction", "direction")]},
        "annotations": {
            "list": [
                {
                    "name": "Scheme changes",
                    "datasource": SOURCE,
                    "enable": True,
                    "iconColor": "blue",
                    # A scheme that was not in force a minute ago.
                    "expr": f"sojourn_scheme_info{{{WAY}}} unless sojourn_scheme_info{{{WAY}}} offset 1m",
                    "titleFormat": "{{direction}}: {{scheme}}",
                }
            ]
        },
        "panels": panels(),
    }


def main() -> int:
    """Do what the command line says."""
    text = json.dumps(dashboard(), indent=2) + "\n"
    if sys.argv[1:] == ["--check"]:
        return 0 if FILE.read_text() == text else 1
    FILE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
