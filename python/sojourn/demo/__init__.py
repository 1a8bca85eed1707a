"""The demonstration: a published experiment beside our own runs of it, and all schemes on a plain dumbbell.

The published experiment is Table 8 of S. Shu's thesis on dAQM (Groningen, 2023): eight schemes on a LAN, HTTP flows
at a constant bit rate, packets of 1400 B. Nothing here is fitted to its numbers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from sojourn import folder
from sojourn.core import SojournError, version
from sojourn.demo import setting, text
from sojourn.network import Network, load
from sojourn.results import Results
from sojourn.runner import compare

FORMAT: Final = "sojourn demo 1"
DUMBBELL: Final = "dumbbell"


def run(
    out: str | Path,
    *,
    quick: bool = False,
    replicates: int | None = None,
    seed: int = 1,
    jobs: int | None = None,
) -> str:
    """Run the demonstration, write its folder, and return its table with the report's path last.

    Parameters
    ----------
    out
        The folder; an earlier demonstration in it is replaced.
    quick
        Fewer replications and a shorter dumbbell.
    replicates
        Number of replications; by default 10, with `quick` 3.
    seed
        Of all runs.
    jobs
        Number of threads.

    Raises
    ------
    SojournError
        If the folder cannot be written.
    """
    count = replicates if replicates is not None else 3 if quick else 10
    options: dict[str, Any] = {"replicates": count, "seed": seed, "jobs": jobs}
    with folder.staged(out) as staging:
        parts: dict[str, Results] = {}
        for reading in setting.READINGS:
            net = load("lan", sets=[f"buses.lan.device_queue={reading.device_queue}"])
            parts |= _with_fifo(reading.name, net, setting.LAN_FIFO, setting.lan_schemes, options)
        net = load(DUMBBELL, sets=["duration=20 s", "warm_up=5 s"] if quick else [])
        parts |= _with_fifo(DUMBBELL, net, setting.DUMBBELL_FIFO, setting.dumbbell_schemes, options)
        for name, results in parts.items():
            (staging / name).mkdir()
            folder.write(results, staging / name)
        meta = {
            "format": FORMAT,
            "version": version(),
            "date": folder.now(),
            "replications": count,
            "seed": seed,
            "quick": quick,
            "parts": list(parts),
        }
        (staging / "meta.json").write_text(json.dumps(meta, indent=2) + "\n", encoding="utf-8")
        (staging / folder.REPORT).write_text(page(staging), encoding="utf-8")
        table = text.table({reading: parts[reading.name] for reading in setting.READINGS})
    return f"{table}\n\n{Path(out) / folder.REPORT}"


def page(place: Path) -> str:
    """Return the report of a demonstration's folder, made from the folder alone.

    Raises
    ------
    SojournError
        If the folder is not one, or damaged.
    """
    from sojourn.demo.page import render

    meta = folder.read_meta(place)
    if meta["format"] != FORMAT:
        raise SojournError(f"{place}: not a demonstration of this version (format {meta['format']!r})")
    return render(meta, {name: folder.read(place / name) for name in meta["parts"]})


def _with_fifo(
    name: str, net: Network, fifo: str, schemes: setting.SchemesFor, options: dict[str, Any]
) -> dict[str, Results]:
    """Run the FIFO that dAQM's D is read from, then the schemes."""
    first = compare(net, [fifo], **options)
    return {
        setting.fifo_part(name): first,
        name: compare(net, schemes(setting.interarrival(first)), **options),
    }
