"""What each command does."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from contextlib import ExitStack
from pathlib import Path

import sojourn
from sojourn import core, folder, tune
from sojourn.cli import tc, text
from sojourn.network import bundled_scenarios, load
from sojourn.results import Results
from sojourn.scheme import DEFAULT_SCHEMES


def run(options: argparse.Namespace) -> None:
    """Run a scenario as it is written."""
    if options.tc:
        tc.run(options)
    else:
        _execute(options, None)


def compare(options: argparse.Namespace) -> None:
    """Compare schemes on a scenario."""
    _execute(options, options.aqm or list(DEFAULT_SCHEMES))


def _execute(options: argparse.Namespace, schemes: list[str] | None) -> None:
    network = load(options.file, sets=options.sets)
    with ExitStack() as stack:
        # Before the runs: an output folder that cannot be written must not cost an hour.
        staging = stack.enter_context(folder.staged(options.out)) if options.out else None
        # The warm-up is judged by time series: one run of each scheme always has them.
        series = options.series or "auto"
        if schemes is None:
            results = sojourn.run(
                network,
                replicates=1 if options.replicates is None else options.replicates,
                seed=options.seed,
                jobs=options.jobs,
                series=series,
            )
        else:
            results = sojourn.compare(
                network,
                schemes,
                replicates=options.replicates,
                seed=options.seed,
                jobs=options.jobs,
                series=series,
            )
        if staging:
            folder.write(results, staging, command=shlex.join(["sojourn", *sys.argv[1:]]))
    _print(options, results)


def _print(options: argparse.Namespace, results: Results) -> None:
    for found in results.warnings:
        print(f"sojourn: warning: {found.text}", file=sys.stderr)
    if options.json:
        asked = bool(options.series or options.out or results.scenario.get("series"))
        print(json.dumps(results.to_document(series=asked), ensure_ascii=False, allow_nan=False))
        return
    print(text.single(results) if results.kind == "run" else text.comparison(results))
    if differences := text.differences(results):
        print(f"\n{differences}\n")
    print(text.footnote(results))
    if options.out:
        print(f"Report: {Path(options.out) / folder.REPORT}")


def listing(options: argparse.Namespace) -> None:
    """List algorithms, scenarios or metrics."""
    match options.what:
        case "aqms":
            rows = list(core.aqms())
            shown = "\n".join(_aqm(row) for row in rows)
        case "scenarios":
            rows = [_scenario(name, toml) for name, toml in bundled_scenarios().items()]
            shown = text.table(["name", "description"], [[row["name"], row["description"]] for row in rows])
        case _:
            rows = list(core.metrics())
            shown = text.table(
                ["metric", "unit", "of", "estimator"],
                [[row["name"], row["unit"], ", ".join(row["scopes"]), row["estimator"]] for row in rows],
            )
    print(json.dumps(rows, ensure_ascii=False) if options.json else shown)


def _scenario(name: str, toml: str) -> core.Document:
    document = core.load(toml, source=f"{name}.toml")
    return {"name": name, "description": document.get("description") or "", "scenario": document}


def _aqm(row: core.Document) -> str:
    lines = [f"{row['name']}  ({row['title']})", text.paragraph(str(row["summary"]), "    ")]
    if row["presets"]:
        lines.append(f"    preset: {', '.join(row['presets'])}")
    for parameter in row["parameters"]:
        default = "" if parameter["default"] in (None, "") else f" [{parameter['default']}]"
        lines.append(text.paragraph(f"{parameter['name']}{default}  {parameter['doc']}", "      "))
    lines.append(text.paragraph(f"Source: {row['source']}", "    "))
    return "\n".join(lines) + "\n"


def report(options: argparse.Namespace) -> None:
    """Draw a run folder's report again."""
    place = Path(options.folder)
    meta = folder.read_meta(place)
    if meta["format"] == folder.FORMAT:
        page = _page(place)
    elif meta["format"] == tune.FORMAT:
        # Its runs are in its log: nothing is simulated, and every file is written again.
        tune.run(tune.Plan.read(place / "tune.toml"), place)
        print(place / folder.REPORT)
        return
    else:
        from sojourn.demo import page as demo_page

        page = demo_page(place)
    folder.write_text(place / folder.REPORT, page)
    print(place / folder.REPORT)


def _page(place: Path) -> str:
    from sojourn.report import render

    return render(folder.read(place))


def demo(options: argparse.Namespace) -> None:
    """Run the demonstration."""
    from sojourn import demo as demonstration

    print(
        demonstration.run(
            options.out,
            quick=options.quick,
            replicates=options.replicates,
            seed=options.seed,
            jobs=options.jobs,
        )
    )


def schema(_: argparse.Namespace) -> None:
    """Print the JSON Schema of scenarios."""
    print(json.dumps(core.schema(), indent=2, ensure_ascii=False))
