"""What a scheme costs (RFC 7928, section 11): CPU time a packet, and memory a flow."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import astuple, dataclass
from typing import Any, Final

from sojourn import stats
from sojourn.base import core, toml
from sojourn.model.scheme import Scheme
from sojourn.plugins.loading import shipped_in
from sojourn.stats import Estimate
from sojourn.studies.characterize.networks import UDP, Group, Setting, network
from sojourn.studies.characterize.plans import schemes

_ROUNDS: Final = 5
_RATE_MBIT_S: Final = 200.0
_FEW, _MANY = 100, 10_000
_MEMORY: Final = """
import json, sys
from sojourn.base import core
scenario, task, plugins = json.load(sys.stdin)
if plugins:
    import ctypes
    from sojourn.plugins import loading
    loading.add_shipped(loading.Shipped(*one) for one in plugins)
    # The compiler is no part of the cost: what it freed goes back to the system, and the peak begins anew.
    ctypes.CDLL(None).malloc_trim(0)
    open("/proc/self/clear_refs", "w").write("5")
core.run_reports(scenario, [task], jobs=1)
# Not ru_maxrss, which begins with the peak of the process that started this one.
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a scheme costs more than tail drop: CPU time, and memory."""

    ns_a_packet: Estimate
    bytes_a_flow: float


def measure(given: Scheme) -> Cost:
    """Measure a scheme beside tail drop, by turns, in this process; memory in processes of their own."""
    tasks = _tasks(given)
    plugins = [astuple(one) for one in shipped_in([given.canonical])]
    sizes = {name: [_memory(task, flows, plugins) for flows in (_FEW, _MANY)] for name, task in tasks.items()}
    grown = {name: (most - least) / (_MANY - _FEW) for name, (least, most) in sizes.items()}
    return Cost(cpu_time(given), max(0.0, grown["own"] - grown["tail"]))


def cpu_time(given: Scheme) -> Estimate:
    """Measure the CPU time in ns that a packet takes more than under tail drop."""
    # UDP below the capacity: both schemes see the same packets, and TCP's answer to a drop is no part of the cost.
    scenario = _loaded(_poisson(Setting(rate_mbit_s=_RATE_MBIT_S), 20, 0.9))
    tasks = _tasks(given)
    found: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(_ROUNDS):
        for name, task in tasks.items():
            began = time.process_time()
            report = core.run_reports(scenario, [task], jobs=1)[0]
            spent = time.process_time() - began
            found[name].append(spent / report.section("run")["metrics"]["arrivals_packets"] * 1e9)
    return stats.paired(found["own"], found["tail"])


def _tasks(given: Scheme) -> dict[str, dict[str, Any]]:
    buffer = Setting(rate_mbit_s=_RATE_MBIT_S).buffer()
    return {"own": _task(schemes([given], buffer)[0].text), "tail": _task(f"pfifo limit {buffer}p")}


def _poisson(setting: Setting, flows: int, load: float) -> dict[str, Any]:
    rate = round(setting.rate_mbit_s * 1e6 * load * 1000 / 1028 / flows)
    traffic = {"kind": "poisson", "rate": f"{rate} bit/s", "packet_size": "1000 B"}
    groups = [Group("udp", flows, transport=UDP, traffic=traffic, rtt_ms=100.0, start=None)]
    measured = 1e4 / setting.rate_mbit_s
    return network(setting, groups, name="cost", description="Poisson", warm_up_s=0.0, measured_s=measured)


def _task(scheme: str) -> dict[str, Any]:
    return {"scheme": scheme, "seed": 1, "replication": 0, "series": None}


def _loaded(document: dict[str, Any]) -> core.Document:
    return core.load(toml.dumps(document), source="the cost's scenario")


def _memory(task: dict[str, Any], flows: int, plugins: list[tuple[str, ...]]) -> float:
    """Return the peak of memory of a run with so many flows, in bytes."""
    scenario = _loaded(_poisson(Setting(rate_mbit_s=1000.0), flows, 0.5))
    command = [sys.executable, "-c", _MEMORY]
    given = json.dumps([scenario, task, plugins])
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)  # noqa: S603
    return float(done.stdout) * 1024
