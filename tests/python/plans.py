"""What the tests of plans share: a small plan, and what must hold of any store."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from faults import faults
from shared import small_network
from sojourn import SojournError, plan
from sojourn.plan import execute, rows, verify
from sojourn.plan.store import Store

LONG = 3000


def small_plan(replications: int = 3, **changes: object) -> plan.Plan:
    """Two schemes, two rates: four cells."""
    given: dict[str, object] = {
        "name": "small",
        "scenario": small_network().to_toml(),
        "schemes": (plan.Scheme("codel"), plan.Scheme("pie", "PIE")),
        "vary": (plan.grid("links.bottleneck.rate", values=["5 Mbit/s", "10 Mbit/s"]),),
        "replications": replications,
    }
    return plan.Plan(**{**given, **changes})  # type: ignore[arg-type]


def results_of(folder: Path) -> dict[str, bytes]:
    """Return every file of results, by its place in the store."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*.parquet"))}


def check_store(folder: Path, allowed: set[str]) -> set[str]:
    """Check that a store is whole, and that no run of it is double, half there or foreign; return the runs."""
    assert not verify.verify(folder).damaged
    store = Store.open(folder)
    found = store.read("runs", columns=["run"])["run"].to_pylist()
    twice = [run for run, count in Counter(found).items() if count > 1]
    assert not twice, f"{len(twice)} runs are there twice"
    assert set(found) <= allowed
    for table in ("queues", "flows", "distributions"):
        # Every run of the small plan has rows in each of these.
        assert set(store.read(table, columns=["run"])["run"].to_pylist()) == set(found), table
    for table in rows.NAMES:
        for file in store.files(table):
            assert isinstance(pq.read_table(file), pa.Table)
    return set(found)


# What other processes do: here, where they find it whatever folder the tests were started in.


SWEEP = small_plan(replications=60)


def drive(folder: Path, scheduler: str | None = None) -> None:
    """Run the plan, writing and merging all the time, so that kills meet it at that."""
    execute.FLUSH_S = 0.005
    execute.PARTS = 4
    execute.run(SWEEP, folder, jobs=2, scheduler=scheduler)


def drive_long(folder: Path, address: str, said: Any) -> None:
    try:
        execute.run(small_plan(replications=LONG), folder, scheduler=address)
    except SojournError as error:
        said.put(str(error))


def hold(folder: Path, held: object, done: object) -> None:
    with Store.writing(folder):
        held.set()  # type: ignore[attr-defined]
        done.wait(30)  # type: ignore[attr-defined]


def foreign() -> str:
    return "9.9.9+feed"


def become_foreign() -> None:
    from sojourn.base import core as theirs

    theirs.build = foreign


def become_ours() -> None:
    from sojourn import _native
    from sojourn.base import core as theirs

    theirs.build = _native.build


def drive_killed(root: Path, at: int, number: int) -> None:
    """Run a plan, and end by a signal in the middle of a call for a file."""
    execute.FLUSH_S = 1e9
    with faults(root, at, number):
        execute.run(small_plan(replications=2, sets=("duration=4 s",)), root / "store", jobs=1)
