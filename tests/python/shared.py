"""What several tests share: a small network, scripts as modules, terminals, and the type of the `command` fixture."""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import sojourn as sj
from sojourn.studies.papers import documents, extension

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
