"""What several tests share: a small network, scripts as modules, terminals, and the type of the `command` fixture."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import sojourn as sj
from sojourn.studies.papers import documents, extension
from sojourn.view.report import engine

SCHEMES = ("pfifo limit 60p", "codel", "pie")
REPLICATIONS = 4

Command = Callable[..., subprocess.CompletedProcess[str]]


def small_network() -> sj.Network:
    """Four flows through 5 Mbit/s for 4 s: congested, and simulated in milliseconds."""
    return sj.dumbbell(
        flows=4, rate=sj.mbit_s(5), base_rtt=sj.ms(40), duration=sj.s(4), warm_up=sj.s(1), name="small"
    )


def study(name: str, module: str) -> ModuleType:
    """A module of a study's code, as the commands have it: ``study("daqm", "evaluate")``."""
    code = extension.package(documents.folder() / name)
    assert code
    return importlib.import_module(f"{code.__name__}.{module}")


def without_live_figures(text: str) -> str:
    """A report without the script of its live figures and their data, which must be those and nothing else."""
    text = text.replace(f"<script>\n{engine.own('live.js')}\n</script>\n", "")
    for data in re.findall(r'<script type="application/json" class="live">(.*?)</script>', text, flags=re.DOTALL):
        assert "<" not in data
        assert set(json.loads(data)) == {"t_s", "end_s", "warm_up_s", "schemes", "figures"}
    return re.sub(r'<script type="application/json" class="live">.*?</script>', "", text, flags=re.DOTALL)


def script(path: str) -> ModuleType:
    """A script of the repository as a module: ``docs/blocks.py``."""
    file = Path(__file__).resolve().parents[2] / path
    spec = importlib.util.spec_from_file_location(f"script_{file.stem}", file)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look up their module.
    sys.modules[spec.name] = module
    # A script finds those beside it.
    sys.path.insert(0, str(file.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(file.parent))
    return module


def read_terminal(ours: int) -> str:
    """What programs wrote to a pseudo-terminal until all of them ended; closes our side."""
    shown = b""
    while True:
        try:
            shown += os.read(ours, 4096)
        except OSError:  # Linux reports the end of a terminal so
            break
    os.close(ours)
    return shown.decode(errors="replace")
