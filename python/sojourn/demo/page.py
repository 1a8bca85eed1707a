"""The demonstration's report page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from sojourn import metrics, report
from sojourn.demo import picture, published, setting
from sojourn.report import context, svg
from sojourn.results import Results

_PAYLOAD_BITS = 1400 * 8


def render(meta: Mapping[str, Any], parts: Mapping[str, Results]) -> str:
    """Return the page.

    Parameters
    ----------
    meta
        The demonstration's meta data.
    parts
        Its results by name.
    """
    readings = {reading: parts[reading.name] for reading in setting.READINGS}
    first = next(iter(readings.values()))
    shown = [*readings.values(), parts["dumbbell"]]
    return report.page(
        "demo.html.j2",
        title="Eight schemes on a LAN, published and measured",
        meta=meta,
        facts=_facts(meta, first),
        readings=[(reading, context.sections(results, f"{reading.name}-")) for reading, results in readings.items()],
        dumbbell=context.sections(parts["dumbbell"].only(setting.DUMBBELL_PICTURED), "dumbbell-"),
        all_schemes={
            "headlines": context.headlines(parts["dumbbell"]),
            "summary": context.summary_table(parts["dumbbell"]),
            "drops": context.drops_table(parts["dumbbell"]),
        },
        comparison=svg.inline(
            picture.comparison(readings),
            "comparison",
            "Published and measured numbers of Table 8: a panel for each metric, a row for each scheme.",
        ),
        metrics=published.METRICS,
        rows=[_row(label, readings) for label in first.labels],
        agreements=[
            (
                metric,
                [(reading, published.agreement(results, metric)) for reading, results in readings.items()],
            )
            for metric in published.METRICS
        ],
        headlines=_headlines(readings),
        interarrivals={
            name: setting.interarrival(parts[setting.fifo_part(name)]).replace("ms", " ms")
            for name in (*(r.name for r in readings), "dumbbell")
        },
        little=[_little(label, readings) for label in first.labels],
        halves=[_published_share(first, key) for key in ("flow_completion_time_s", "throughput_kbps")],
        is_idle=[bool((results.runs["queue_packets_mean"] == 0).all()) for results in readings.values()],
        never_started=_never_started(first),
        payload_packets=published.numbers()["CoDel", "throughput_kbps"] * 1e3 / _PAYLOAD_BITS,
        rank_threshold=published.RANK_THRESHOLD,
        definitions=context.definitions(shown),
        ratio=_ratio,
    )


def _facts(meta: Mapping[str, Any], first: Results) -> list[tuple[str, str]]:
    return [
        ("Published", "S. Shu, bachelor thesis, Groningen 2023, Table 8"),
        ("Simulated", f"{first.scenario['duration']} of HTTP traffic at a constant bit rate"),
        ("Replications", f"{meta['replications']} a scheme, seed {meta['seed']}"),
        ("Sojourn", str(meta["version"])),
        ("Run on", str(meta["date"])),
    ]


def _row(label: str, readings: Mapping[setting.Reading, Results]) -> dict[str, Any]:
    """Return one scheme's lines of the table: published, then each reading."""
    first = next(iter(readings.values()))
    pairs = {
        reading: [published.pair(results, label, metric) for metric in published.METRICS]
        for reading, results in readings.items()
    }
    return {
        "label": label,
        "swatch": svg.swatch(first.plot.looks[label]),
        "published": [f"{published.numbers()[label, metric.key]:g}" for metric in published.METRICS],
        "measured": [(reading, [_cell(found) for found in pairs[reading]]) for reading in readings],
    }


def _cell(found: published.Pair) -> dict[str, Any]:
    mean, _, half = metrics.rounded(found.measured.mean, found.measured.half_width).partition(" ± ")
    kind = "in" if found.is_in_interval else "near" if found.is_one_of_ours else "out"
    return {"mean": mean, "half": half, "kind": kind, "estimate": found.measured}


def _headlines(readings: Mapping[setting.Reading, Results]) -> list[str]:
    sentences = []
    for reading, results in readings.items():
        found = {metric.title.lower(): published.agreement(results, metric).verdict for metric in published.METRICS}
        groups: dict[str, list[str]] = {}
        for title, verdict in found.items():
            groups.setdefault(verdict, []).append(title)
        told = "; ".join(f"{', '.join(titles)}: {verdict}" for verdict, titles in groups.items())
        sentences.append(f"{reading.title[:1].upper()}{reading.title[1:]}: {told}.")
    return sentences


def _little(label: str, readings: Mapping[setting.Reading, Results]) -> dict[str, Any]:
    """Return the packets a second that Little's law implies, published and measured."""
    measured = []
    for results in readings.values():
        queue, sojourn_ms = (results.estimate(label, name).mean for name in ("queue_packets_mean", "sojourn_ms_mean"))
        measured.append(f"{queue / sojourn_ms * 1e3:.0f}" if sojourn_ms > 0 else "–")
    first = next(iter(readings.values()))
    return {
        "label": label,
        "swatch": svg.swatch(first.plot.looks[label]),
        "queue": f"{published.numbers()[label, 'queue_length_packets']:g}",
        "sojourn": f"{published.numbers()[label, 'sojourn_time_ms']:g}",
        "published": f"{published.implied_rate(label):.0f}",
        "measured": measured,
    }


def _published_share(results: Results, key: str) -> str:
    """Return published over measured, from the least to the greatest scheme."""
    metric = next(metric for metric in published.METRICS if metric.key == key)
    found = published.agreement(results, metric)
    return f"{1 / found.greatest_ratio:.2f} to {1 / found.least_ratio:.2f}"


def _never_started(results: Results) -> int:
    """Return the number of flows that the run's end forestalls."""
    flows = results.flows[(results.flows["scheme"] == results.labels[0]) & (results.flows["replication"] == 0)]
    return int((flows["sent_packets"] == 0).sum())


def _ratio(low: float, high: float) -> str:
    if not math.isfinite(low):
        return "–"
    return f"{low:.2g} to {high:.2g}"
