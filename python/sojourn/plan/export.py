"""A plan's results for other programs: CSV, Parquet, NetCDF, Flent."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow.parquet as pq

from sojourn.base import core, extras
from sojourn.base.errors import StoreError
from sojourn.plan import folder, read, rows
from sojourn.plan.expand import Cells
from sojourn.plan.store import Store
from sojourn.results import fairness, metrics
from sojourn.results.text import frame_as_csv
from sojourn.stats.estimates import jain

if TYPE_CHECKING:
    import xarray

FLENT_TEST: Final = "tcp_nup"
"""Flent's test whose plots the files are made for: uploads beside a ping."""
_FLENT_VERSION: Final = 4
_FLENT_SERIES: Final[dict[str, tuple[str, float, str, str]]] = {
    "goodput_bit_s": ("TCP upload sum", 1e-6, "Mbits/s", "goodput_bit_s"),
    "sojourn_ms": ("Ping (ms) ICMP", 1.0, "ms", "sojourn_ms_mean"),
}
"""Flent's name of a series, the factor to its unit, that unit, and the metric that is the mean of the run."""
_FLENT_FLOW: Final = "TCP upload::"
_FLENT_AVERAGE: Final = "TCP upload avg"
_FLENT_FAIRNESS: Final = ("TCP upload fairness", "Idx", "jain_index")
_FLENT_EPOCH: Final = 946_684_800.0
"""Simulated time has no date; Flent needs one. 2000-01-01, so that nobody takes it for the time of the run."""


def write(cells: Cells, store: Store, kind: str, target: Path, *, table: str = "runs") -> list[Path]:
    """Write a plan's results into a file, or for Flent and Parquet of every table into a folder; return the files.

    The same results give the same bytes.
    """
    return FORMATS[kind](cells, store, target, table)


def _csv(cells: Cells, store: Store, target: Path, table: str) -> list[Path]:
    folder.write_text(target, frame_as_csv(read.frame(cells, store, table)))
    return [target]


def _parquet(cells: Cells, store: Store, target: Path, table: str) -> list[Path]:
    found = read.arrow(read.frame(cells, store, table), table)
    with folder.aside(target) as file:
        pq.write_table(found, file, compression="zstd")
    return [target]


def _netcdf(cells: Cells, store: Store, target: Path, _table: str) -> list[Path]:
    made = dataset(cells, store)
    with folder.aside(target) as file:
        made.to_netcdf(file, engine="h5netcdf")
    return [target]


def dataset(cells: Cells, store: Store) -> xarray.Dataset:
    """Return a plan's runs as an xarray data set.

    With several queues under test, ``sojourn_ms_mean`` and other metrics of queues are of the busiest queue of each
    cell, which the variable ``queue`` names. ``sojourn_ms_mean@left->right`` and the like are of one queue each, for
    the 8 busiest.
    A full grid has a dimension for the scheme and for each factor; anything else has one dimension ``cell`` with the
    levels as coordinates. The last dimension is ``replication``; what a cell has fewer is NaN.
    """
    try:
        import xarray
    except ImportError:
        raise StoreError(f"NetCDF needs xarray and h5netcdf: {extras.install('netcdf')}") from None
    frame = read.frame(cells, store)
    factors = [factor.name for factor in cells.plan.factors]
    names = [name for name in rows.metric_names("runs") if frame[name].notna().any()]
    of_each = read.of_each_queue(cells, store, names)
    frame, names = frame.merge(of_each, on="run", how="left"), [*names, *of_each.columns.drop("run")]
    queue = ["queue"] if len(of_each.columns) > 1 else []
    frame = frame.rename(columns={"scheme": "canonical", "label": "scheme"})
    levels = ["scheme", *factors]
    is_grid = _is_grid(cells, factors)
    index = [*(levels if is_grid else ["cell"]), "replication"]
    found = xarray.Dataset.from_dataframe(
        frame.sort_values(["cell", "replication"])[[*index, *queue, *names]].set_index(index)
    )
    if is_grid:
        # The plan's order, not the alphabet's.
        found = found.reindex({name: _levels(cells, name) for name in levels})
    else:
        by_cell = {cell.number: {"scheme": cell.label, **cell.levels} for cell in cells}
        for name in levels:
            values = [by_cell[int(number)][name] for number in found["cell"].to_numpy()]
            found = found.assign_coords({name: ("cell", _coordinate(values))})
    for name in factors:
        numbers = read.in_base_unit(
            [value if isinstance(value, str) else None for value in found[name].to_numpy().tolist()]
        )
        if numbers is not None:
            unit, sizes = numbers
            found = found.assign_coords(
                {f"{name}_{unit}": (found[name].dims, np.array(sizes), {"units": read.UNITS[unit]})}
            )
    for name in names:
        metric = metrics.find(name)
        found[name].attrs = {"units": metric.unit or "1", "long_name": metric.title, "description": metric.definition}
    found.attrs = {
        "title": cells.plan.name,
        "source": f"Sojourn {read.code_of(cells, store)}",
        "description": cells.plan.description,
    }
    return found


def _is_grid(cells: Cells, factors: list[str]) -> bool:
    sizes = [len(_levels(cells, name)) for name in ("scheme", *factors)]
    has_gaps = any(cell.levels[name] is None for cell in cells for name in factors)
    return int(np.prod(sizes)) == len(cells) and not has_gaps


def _levels(cells: Cells, name: str) -> list[Any]:
    return list(dict.fromkeys(cell.label if name == "scheme" else cell.levels[name] for cell in cells))


def _coordinate(values: list[Any]) -> np.ndarray[Any, Any]:
    if all(read.is_number(value) for value in values):
        return np.array(values)
    return np.array(["" if value is None else str(value) for value in values])


def _flent(cells: Cells, store: Store, place: Path, _table: str) -> list[Path]:
    """Write a ``.flent.gz`` for each run that has time series."""
    series = read.curves(cells, store, "series", "name")
    if series.empty:
        raise StoreError(
            f'the plan {cells.plan.name!r} has no time series: give it `series = "200 ms"` and run it again'
        )
    names = [*(metric for *_, metric in _FLENT_SERIES.values()), _FLENT_FAIRNESS[-1]]
    sampled = series["run"].unique()
    runs = read.frame(cells, store)
    facts = {str(one["run"]): one for one in read.records(runs[runs["run"].isin(sampled)])}
    flows: dict[str, dict[str, float]] = {}
    for one in store.read("flows", ["flow", "goodput_bit_s"], sampled).to_pylist():
        flows.setdefault(one["run"], {})[fairness.SERIES + one["flow"]] = one["goodput_bit_s"]
    written = []
    for run, part in series.groupby("run", sort=False):
        number, replication = int(part["cell"].iloc[0]), int(part["replication"].iloc[0])
        cell, own = cells.cells[number], facts[str(run)]
        document = flent(
            {
                str(name): (one["t_s"].to_numpy(), one["value"].to_numpy())
                for name, one in part.groupby("name", sort=True)
            },
            means={**{name: None if np.isnan(own[name]) else own[name] for name in names}, **flows.get(str(run), {})},
            title=f"{cell}, replication {replication}",
            length_s=float(own["duration_s"]),
            warm_up_s=float(own["warm_up_s"]),
            note=f"Sojourn {read.code_of(cells, store)}, plan {cells.plan.name}: simulated. "
            "Ping is the sojourn time in the queue under test, of several in the busiest. "
            f"Without the warm-up of {own['warm_up_s']:g} s; averages are those of the run's metrics.",
        )
        words = re.sub(r"[^A-Za-z0-9]+", "_", str(cell)).strip("_")
        file = place / f"{FLENT_TEST}-{cells.plan.name}-{number}-{words[:120]}-{replication}.flent.gz"
        # No name and no time in the header of gzip: the same results give the same bytes.
        folder.write_bytes(file, gzip.compress(json.dumps(document, indent=2, sort_keys=True).encode(), mtime=0))
        written.append(file)
    return written


def flent(
    series: Mapping[str, tuple[Any, Any]],
    *,
    means: Mapping[str, float | None],
    title: str,
    length_s: float,
    warm_up_s: float,
    note: str,
) -> core.Document:
    """Return one run's series as a document of Flent's data file format, version 4, for its test ``tcp_nup``.

    The time of the file begins as the warm-up ends. ``flent -f summary`` prints `means` as averages; its medians and
    quantiles are those of the points.

    Parameters
    ----------
    series
        Times in seconds and values, by name: ``goodput_bit_s`` is Flent's ``TCP upload sum`` in Mbit/s,
        ``goodput_bit_s:`` and a flow's name is ``TCP upload::`` and this name, and ``sojourn_ms`` is
        ``Ping (ms) ICMP``; others keep their name. ``TCP upload avg`` and ``TCP upload fairness`` are the mean and
        Jain's index of the flows that have a goodput at a point; without series of flows they have no points.
    means
        The run's metrics ``goodput_bit_s``, ``sojourn_ms_mean`` and ``jain_index``, and the goodput of each flow by
        the name of its series.

    References
    ----------
    Flent's documentation, "The data file format".
    """
    first = next(iter(series.values()))[0]
    # A value is of the interval that ends at its instant.
    measured = np.asarray(first, dtype=np.float64) > warm_up_s * (1 + 1e-12)
    times = np.asarray(first, dtype=np.float64)[measured] - warm_up_s
    results: dict[str, list[float | None]] = {}
    about: dict[str, core.Document] = {}

    def add(label: str, values: Any, unit: str, mean: float | None) -> None:
        results[label] = [float(value) if np.isfinite(value) else None for value in values]
        about[label] = {"UNITS": unit, "MEAN_VALUE": None if mean is None or not np.isfinite(mean) else float(mean)}

    flows = []
    for name, (_, all_values) in series.items():
        values = np.asarray(all_values, dtype=np.float64)[measured]
        label, scale, unit, metric = _FLENT_SERIES.get(name, (name, 1.0, "", ""))
        if name.startswith(fairness.SERIES):
            flows.append(values)
            label, scale, unit, metric = _FLENT_FLOW + name.removeprefix(fairness.SERIES), 1e-6, "Mbits/s", name
        known = values[np.isfinite(values)]
        plain = float(known.mean()) if known.size else None
        mean = means.get(metric) if metric else plain
        add(label, values * scale, unit, None if mean is None else mean * scale)
    together = np.stack(flows, axis=1) if flows else np.empty((len(times), 0))
    shares = [row[np.isfinite(row)] for row in together]
    goodputs = [mean for name, mean in means.items() if name.startswith(fairness.SERIES) and mean is not None]
    average = float(np.mean(goodputs)) * 1e-6 if goodputs else None
    add(_FLENT_AVERAGE, [row.mean() * 1e-6 if row.size else np.nan for row in shares], "Mbits/s", average)
    label, unit, metric = _FLENT_FAIRNESS
    add(label, [jain(row) for row in shares], unit, means.get(metric))
    raw = {
        label: [
            {"t": _FLENT_EPOCH + float(at), "val": value}
            for at, value in zip(times, values, strict=True)
            if value is not None
        ]
        for label, values in results.items()
    }
    when = "2000-01-01T00:00:00.000000Z"
    return {
        "version": _FLENT_VERSION,
        "metadata": {
            "NAME": FLENT_TEST,
            "TITLE": title,
            "NOTE": note,
            "TIME": when,
            "T0": when,
            "LENGTH": length_s - warm_up_s,
            "TOTAL_LENGTH": length_s - warm_up_s,
            "STEP_SIZE": float(np.diff(times).max()) if len(times) > 1 else length_s - warm_up_s,
            "HOST": "simulated",
            "HOSTS": ["simulated"],
            "LOCAL_HOST": "simulated",
            "FLENT_VERSION": f"Sojourn {core.version()}",
            "IP_VERSION": 4,
            "TEST_PARAMETERS": {},
            "SERIES_META": about,
        },
        "x_values": [float(t) for t in times],
        "results": results,
        "raw_values": raw,
    }


FORMATS: Final[dict[str, Callable[[Cells, Store, Path, str], list[Path]]]] = {
    "csv": _csv,
    "parquet": _parquet,
    "netcdf": _netcdf,
    "flent": _flent,
}
"""What writes each format, from cells, store, target and the data set asked for; it returns the files."""
