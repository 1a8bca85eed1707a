"""``sojourn device``."""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from sojourn.base.core import SojournError
from sojourn.base.units import rate_bit_s
from sojourn.cli.options import add_flag, add_force, add_group, add_json, add_out, add_seed, number
from sojourn.plan import folder
from sojourn.real.device import experiment, windows
from sojourn.results import text

_SHOWN: Final = {
    "load": ("load", 1.0, 3),
    "mean_queue_packets": ("queue, packets", 1.0, 1),
    "std_queue_packets": ("deviation", 1.0, 1),
    "loss_ratio": ("loss, %", 100.0, 2),
    "burst_ratio": ("burst ratio", 1.0, 3),
    "impairment_c": ("C", 1.0, 1),
    "sojourn_p50_s": ("sojourn p50, ms", 1e3, 2),
    "sojourn_p99_s": ("p99, ms", 1e3, 2),
}


def add(verbs: Any) -> None:
    """Add the verb ``device`` to `verbs`."""
    actions = add_group(
        verbs,
        "device",
        "Read the measurements of sojournd, or plan or run an experiment with it. The program itself is `sojournd`.",
    )

    listing = actions.add_parser(
        "windows",
        help="show or export the measurement windows in a store",
        description="Print the means of the windows in a store, one row per scheme; with --out, write "
        "every window to a "
        "file.",
        epilog="example: sojourn device windows /var/lib/sojournd/windows.sqlite --out windows.parquet",
    )
    listing.add_argument("store", metavar="STORE", help="the SQLite file of `windows.store`")
    listing.add_argument("--direction", default="a_to_b", metavar="NAME", help="a_to_b (default) or b_to_a")
    add_flag(listing, "--complete", "leave out windows that ended early")
    add_out(listing, metavar="FILE", help="write every window: .parquet (units in its metadata) or .csv")
    add_json(listing, "print every window as one JSON document")
    listing.set_defaults(command=_windows)

    trial = actions.add_parser(
        "experiment",
        help="run a switchback experiment with sojournd between network namespaces (needs root)",
        description="Run sojournd between network namespaces while the kernel's TCP sends through it. "
        "sojournd switches "
        "at random among a FIFO and nine dropping functions; its store of windows is left in a folder.",
        epilog="example: sojourn device experiment out/device --minutes 10",
    )
    trial.add_argument("folder", metavar="DIR", help="where the store, device.sqlite, is written")
    add_force(trial, "DIR")
    trial.add_argument("--minutes", type=number, default=10.0, metavar="N", help="duration in minutes (default 10)")
    trial.add_argument(
        "--slot", type=number, default=10.0, metavar="S", help="length of a slot in seconds (default 10)"
    )
    trial.add_argument("--packets", type=int, default=20_000, metavar="N", help="packets per window (default 20000)")
    trial.add_argument("--rate", default="100 Mbit/s", metavar="RATE", help='shaped rate (default "100 Mbit/s")')
    _add_design(trial)
    add_seed(trial, "seed of schedule and traffic", default=1)
    trial.set_defaults(command=_experiment)

    plan = actions.add_parser(
        "switchback",
        help="write the configuration of a switchback experiment on a network of yours",
        description="Write a configuration with which sojournd switches at random among a FIFO and nine dropping "
        "functions, as Barczyk and Chydzinski (2022) did for a month, and stores its windows. Frames from the first "
        "interface to the second are measured. `sojourn papers run dropping-functions --store FILE` analyses the "
        "store.",
        epilog='example: sojourn device switchback enp1s0f0 enp1s0f1 --rate "1 Gbit/s" --out sojournd.toml',
    )
    plan.add_argument("a", metavar="A", help="interface towards the Internet")
    plan.add_argument("b", metavar="B", help="interface towards the users")
    plan.add_argument("--rate", required=True, metavar="RATE", help="shaped rate, below that of the link behind B")
    plan.add_argument(
        "--slot", type=number, default=3600.0, metavar="S", help="length of a slot in seconds (default 3600)"
    )
    plan.add_argument(
        "--packets", type=int, default=2_000_000, metavar="N", help="packets per window (default 2000000)"
    )
    _add_design(plan)
    add_seed(plan, "seed of the schedule", default=1)
    plan.add_argument(
        "--store",
        default="/var/lib/sojournd/windows.sqlite",
        metavar="FILE",
        help="the store of windows (default /var/lib/sojournd/windows.sqlite)",
    )
    add_out(plan, metavar="FILE", help="the configuration", default="sojournd.toml")
    plan.set_defaults(command=_switchback)


def _add_design(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--design",
        choices=("random", "blocks"),
        default="random",
        help="each slot's scheme drawn by itself (default), or every scheme once in each block of slots",
    )


def _windows(options: argparse.Namespace) -> int:
    store = windows.read(options.store, direction=options.direction, complete=options.complete)
    if options.out is not None:
        folder.refuse_results(options.out, force=options.force)
        _write(store, Path(options.out))
    if options.json:
        rows = json.loads(store.windows.to_json(orient="records", date_format="iso"))
        print(json.dumps({"units": dict(store.units), "windows": rows}, indent=2))
        return 0
    if store.windows.empty:
        print(f"no window of {options.direction} yet")
        return 0
    groups = store.windows.groupby("label", sort=True)
    rows = []
    for label, group in groups:
        means = [(group[name].mean() * scale, digits) for name, (_, scale, digits) in _SHOWN.items()]
        cells = ["" if math.isnan(mean) else f"{mean:.{digits}f}" for mean, digits in means]
        rows.append([str(label), str(len(group)), *cells])
    print(text.table(["scheme", "windows", *(title for title, _, _ in _SHOWN.values())], rows, numbers=True))
    return 0


def _experiment(options: argparse.Namespace) -> int:
    slots = round(options.minutes * 60.0 / options.slot) if options.slot > 0.0 else 0
    if slots < 1 or options.packets < 1:
        raise SojournError("experiment: allowed: --slot above 0, --minutes of at least one slot, --packets from 1")
    plan = experiment.Experiment(
        packets=options.packets,
        slots=slots,
        slot_s=options.slot,
        design=options.design,
        seed=options.seed,
        rate=options.rate,
    )
    folder.refuse_results(Path(options.folder) / experiment.STORE, force=options.force)
    print(experiment.run(plan, options.folder, lambda line: print(line, file=sys.stderr, flush=True)))
    return 0


def _switchback(options: argparse.Namespace) -> int:
    if not options.slot >= 1.0:
        raise SojournError(f"--slot is {options.slot:g} s; allowed: 1 or more")
    if options.packets < 1:
        raise SojournError(f"--packets is {options.packets}; allowed: 1 or more")
    rate_bit_s(options.rate, "--rate")
    if options.a == options.b:
        raise SojournError(f"switchback: both interfaces are {options.a}; allowed: two different ones")
    plan = experiment.Experiment(
        packets=options.packets,
        slot_s=options.slot,
        design=options.design,
        seed=options.seed,
        rate=options.rate,
    )
    folder.refuse_results(options.out, force=options.force)
    folder.write_text(Path(options.out), experiment.switchback(plan, (options.a, options.b), options.store))
    print(f"{options.out} is written. Next: sojournd check {options.out}; sojournd doctor {options.out}")
    print(f"Analysis, at any time: sojourn papers run dropping-functions --store {options.store}")
    return 0


def _write(store: windows.Store, path: Path) -> None:
    table = store.to_arrow()
    if path.suffix == ".parquet":
        with folder.aside(path) as file:
            pq.write_table(table, file)
    elif path.suffix == ".csv":
        folder.write_text(path, text.frame_as_csv(table.to_pandas()))
    else:
        raise SojournError(f'--out "{path}": allowed: a name that ends in .parquet or .csv')
