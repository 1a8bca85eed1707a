"""Tables as plain text."""

from __future__ import annotations

import csv
import io
import math
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from sojourn import stats
from sojourn.base import escape
from sojourn.results import headline, metrics

if TYPE_CHECKING:
    import pandas as pd

    from sojourn.results.results import Results

_DIFFERENCES: Final[tuple[str, ...]] = ("sojourn_ms_mean", "sojourn_ms_p99", "goodput_bit_s", "loss_ratio")


def frame_of_queues(results: Results) -> pd.DataFrame:
    """Return the table that has the metrics of the queues under test: ``runs``, or of several ``queues``."""
    return results.queues[results.queues["under_test"]] if len(results.tested) > 1 else results.runs


def more_queues(results: Results) -> str:
    """Return a sentence about the queues under test that tables leave out; empty where there are none."""
    count = len(results.tested)
    if count <= headline.MANY:
        return ""
    return f"The {headline.MANY} busiest of {count} queues under test; the table `queues` has all."


def with_two_queues(results: Results) -> list[str]:
    """Return the labels of the schemes that measured an L4S and a classic queue apart (DualPI2)."""
    if "l4s_packets" not in results.metric_names():
        return []
    return [label for label in results.labels if any(map(math.isfinite, results.values(label, "l4s_packets")))]


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: bool = False, texts: int = 1) -> str:
    """Lay out a table; with `numbers`, every column but the first `texts` is aligned to the right.

    Examples
    --------
    >>> print(table(["a", "b"], [["x", "10"], ["yy", "9"]], numbers=True))
    a    b
    ──────
    x   10
    yy   9
    """
    lines, width = aligned([headers, *rows], texts if numbers else len(headers))
    return "\n".join([lines[0], "─" * width, *lines[1:]])


def aligned(rows: Sequence[Sequence[str]], texts: int) -> tuple[list[str], int]:
    """Return rows as lines, the first `texts` columns to the left and others to the right, and their width."""
    lines = [[escape.terminal(cell) for cell in line] for line in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    made = []
    for line in lines:
        cells = [
            cell.ljust(width) if place < texts else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        made.append("  ".join(cells).rstrip())
    return made, sum(widths) + 2 * (len(widths) - 1)


def _of_queues(
    results: Results, labels: Sequence[str], names: Sequence[str], make: Callable[[str, str], str]
) -> list[list[str]]:
    """Return rows of scheme, queue (where several are under test) and a text for each metric."""
    rows = []
    for label in labels:
        for number, (queue, own) in enumerate(headline.layout(results.tested, names)):
            cells = ["" if name is None else make(label, name) for name in own]
            rows.append(["" if number else label, *([queue] if queue else []), *cells])
    return rows


def _above(results: Results, head: str, columns: Sequence[str], units: Sequence[str], rows: list[list[str]]) -> str:
    """Lay out rows of :func:`_of_queues` with the units above the rule."""
    several = len(results.tested) > 1
    heads = [head, *(["queue"] if several else []), *columns]
    blank = ["", *([""] if several else []), *units]
    body = table(heads, [blank, *rows], numbers=True, texts=2 if several else 1).split("\n")
    note = [more_queues(results)] if several and more_queues(results) else []
    return "\n".join([body[0], body[2], body[1], *body[3:], *note])


def comparison(results: Results) -> str:
    """Return the main metrics, a row for each scheme, or for each queue under test of each scheme."""
    names = [name for name in metrics.MAIN if name in results.metric_names()]
    names = [name for name in names if metrics.is_telling(frame_of_queues(results), name)]
    return _means(results, results.labels, names)


def _means(results: Results, labels: Sequence[str], names: Sequence[str]) -> str:
    columns = [metrics.find(name) for name in names]
    rows = _of_queues(results, labels, names, lambda label, name: shown(results, label, name))
    units = [column.shown_unit for column in columns]
    return _above(results, "scheme", [_short(column) for column in columns], units, rows)


def queues(results: Results) -> str:
    """Return the two queues of DualPI2, a row for each scheme that has them; empty where none has."""
    labels = with_two_queues(results)
    names = [name for name in metrics.QUEUES if name in results.metric_names()]
    return _means(results, labels, names) if labels else ""


def groups(results: Results) -> str:
    """Return the main metric of each group of flows, a row for each scheme."""
    from sojourn.results import groups

    known = groups.of(results)
    headers = ["scheme", *(group.name for group in known)]
    titles = [group.metric.title for group in known]
    which = ["", *(title if title.isupper() else title.lower() for title in titles)]
    units = ["", *(group.metric.shown_unit for group in known)]
    rows = []
    for label in results.labels:
        found = [(groups.estimate(results, label, group), group.metric.scale) for group in known]
        rows.append([label, *(metrics.written(one, scale) for one, scale in found)])
    body = table(headers, [which, units, *rows], numbers=True).split("\n")
    return "\n".join([body[0], *body[2:4], body[1], *body[4:]])


def phases(results: Results) -> str:
    """Return the main metrics of each phase, a row for each scheme; phases of one name count together."""
    names = [name for name in metrics.MAIN if _is_of_phases(results, name)]
    columns = [metrics.find(name) for name in names]
    several = len(results.labels) > 1
    queues = len(results.tested) > 1
    before = [*(["scheme"] if several else []), "phase", "time", *(["queue"] if queues else [])]
    heads = [*before, *(_short(column) for column in columns)]
    units = [*("s" if name == "time" else "" for name in before), *(column.shown_unit for column in columns)]
    rows = []
    for label in results.labels:
        for phase in results.phase_names:
            time = results.values(label, "measured_s", phase=phase).mean()
            for number, (queue, own) in enumerate(headline.layout(results.tested, names)):
                found = [
                    None if name is None else (results.estimate(label, name, phase=phase), metrics.find(name).scale)
                    for name in own
                ]
                cells = ["" if one is None else metrics.written(*one) for one in found]
                first = [*([label] if several else []), phase, f"{time:g}"]
                rows.append([*([""] * len(first) if number else first), *([queue] if queues else []), *cells])
    texts = (2 if several else 1) if not queues else len(before)
    body = table(heads, [units, *rows], numbers=True, texts=texts).split("\n")
    return "\n".join([body[0], body[2], body[1], *body[3:]])


def _is_of_phases(results: Results, name: str) -> bool:
    """Whether phases have a metric that is worth a column."""
    frame = results.phases
    # Results of a folder have a column for every metric.
    if name not in frame or frame[name].isna().all():
        return False
    return metrics.is_telling(frame, name)


def single(results: Results) -> str:
    """Return every metric of one scheme, a row for each."""
    label = results.labels[0]
    several = len(results.tested) > 1
    rows = []
    for name in results.at_queues(results.metric_names()):
        metric, queue = metrics.split(name)
        number = shown(results, label, name, scaled=False)
        rows.append([metric, *([queue] if several else []), number, metrics.unit_of(metric)])
    body = table(["metric", *(["queue"] if several else []), "mean", "unit"], rows)
    return "\n".join([body, *filter(None, [more_queues(results)])])


def footnote(results: Results) -> str:
    """Return a sentence about what the numbers are."""
    runs = f"{results.replications} replication{'s' * (results.replications > 1)}, seed {results.seed}"
    if len(results.tested) > 1:
        runs = f"The queues under test, the busiest first; goodput and the like are of all traffic.\n{runs}"
    if results.repeated.issuperset(results.labels):
        return f"{runs}, which are identical: no intervals."
    if results.replications == 1:
        long_run = one_run(results) if results.kind == "run" else ""
        return f"{runs}: no intervals (--replicates 5 gives them).{long_run}"
    return f"{runs}; ± half-width of the 95 % interval of the mean (Student's t)."


def one_run(results: Results) -> str:
    """Return a sentence with the interval from batch means of a single run's queue."""
    if results.series.empty:
        return ""
    found = results.batch_means(results.labels[0])
    half = found.estimate.half_width
    if half is None:
        return ""
    if not found.is_independent:
        return (
            "\nThe run is too short for an interval from batch means: consecutive batches correlate by "
            f"{found.lag_1:.2f}."
        )
    mean = metrics.written(found.estimate)
    of = f" of {results.queue}" if len(results.tested) > 1 else ""
    return f"\nqueue_packets_mean{of} from {found.batches} batch means of this run: {mean} packets."


def differences(results: Results) -> str:
    """Return the paired differences to the first scheme, a row for each other scheme; empty where there are none."""
    if len(results.labels) < 2 or results.replications < 2:
        return ""
    base = results.labels[0]
    names = [name for name in _DIFFERENCES if name in results.metric_names()]
    columns = [metrics.find(name) for name in names]
    rows = _of_queues(results, results.labels[1:], names, lambda label, name: difference(results, label, name, base))
    units = [f"{column.difference_unit}  " for column in columns]
    body = _above(results, f"minus {base}", [f"{_short(column)}  " for column in columns], units, rows)
    note = difference_note(len(results.labels) - 1, repeated=results.repeated.issuperset(results.labels))
    return f"{body}\n{note}"


def difference_note(comparisons: int, *, repeated: bool, traffic: str = "on the same traffic") -> str:
    """Return sentences about what differences are; `comparisons` counts those of a metric in the corrected family."""
    if repeated:
        return "Differences between single runs, as all replications are identical: no interval and no significance."
    note = f"Paired differences {traffic}, with the correlation r of the pairs; * significant at the 5 % level"
    if comparisons > 1:
        note += (
            f" after Holm's correction for the family of {comparisons} comparisons;\n"
            "~ the interval excludes zero, but the difference is not significant after the correction"
        )
    return f"{note}."


def difference(results: Results, label: str, name: str, base: str) -> str:
    """Return a paired difference as text, with a mark for its significance; empty where it has no such metric."""
    if not results.has(name):
        return ""
    found, p = results.difference(label, name, base), results.corrected(name, base)[label]
    sign = "+" if found.mean > 0 else ""
    mark = " *" if p < 1 - stats.LEVEL else " ~" if found.excludes_zero else "  "
    return f"{sign}{metrics.written(found, metrics.find(name).scale)}{mark}"


def shown(results: Results, label: str, name: str, *, scaled: bool = True) -> str:
    """Return an estimate as text."""
    return metrics.written(results.estimate(label, name), metrics.find(name).scale if scaled else 1.0)


def paragraph(text: str, indent: str = "") -> str:
    """Wrap a text for a terminal."""
    return textwrap.fill(" ".join(text.split()), width=100, initial_indent=indent, subsequent_indent=indent)


def _short(metric: metrics.Metric) -> str:
    return metric.title.lower().replace("queueing ", "").replace(", mean", "").replace("queue length", "queue")


def as_csv(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table as CSV, its texts as :func:`sojourn.base.escape.csv` writes them.

    Examples
    --------
    >>> print(as_csv(["scheme", "loss"], [["red", 0.5], ["a, b", None]]), end="")
    scheme,loss
    red,0.5
    "a, b",
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([escape.csv(value) for value in row] for row in (heads, *rows))
    return out.getvalue()


def frame_as_csv(frame: pd.DataFrame) -> str:
    """Return a frame as CSV without its index, its texts as :func:`sojourn.base.escape.csv` writes them."""
    shown = frame.set_axis([escape.csv(str(name)) for name in frame.columns], axis="columns")
    for place, kind in enumerate(frame.dtypes):
        if kind.kind == "O":
            shown.isetitem(place, frame.iloc[:, place].map(escape.csv, na_action="ignore").tolist())
    return str(shown.to_csv(index=False))


def say(line: str) -> None:
    """Show a line about the progress."""
    print(line, file=sys.stderr, flush=True)
