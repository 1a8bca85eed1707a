"""One C algorithm in ns-3 and here: decisions that were recorded, and ns-3's program where it is installed."""

from __future__ import annotations

import gzip
import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from sojourn import plugins
from sojourn.base.core import SojournError
from sojourn.scaffold import outside, write

ROOT = Path(__file__).resolve().parents[2]
NS3 = ROOT / "crosscheck" / "ns3"
RECORDED = Path(__file__).parent / "recorded" / "my_pie_ns3.txt.gz"

# Drops and marks at the head, draws at each call, and looks at the packet behind the head.
HEAD = r"""
#include "sojourn_aqm.h"
typedef struct { double share; int64_t age_ns; uint64_t seen; } state;
static int32_t set_params(void *at, const sojourn_value *given) {
    ((state *)at)->age_ns = given[0].whole;
    ((state *)at)->share = given[1].real;
    return SOJOURN_DONE;
}
static int32_t enqueue(void *at, const sojourn_packet *arrival, sojourn_queue *queue) {
    ((state *)at)->seen += arrival->size_bytes + arrival->flow % 7 + arrival->source % 5 + arrival->destination % 3;
    return sojourn_uniform(queue) < 0.001 * (double)(((state *)at)->seen % 10) ? SOJOURN_DROP : SOJOURN_ACCEPT;
}
static int32_t dequeue(void *at, const sojourn_packet *head, sojourn_queue *queue) {
    state *self = at;
    const sojourn_packet *next = sojourn_waiting(queue, 1);
    int64_t age_ns = (int64_t)(queue->now_ns - (next ? next : head)->enqueued_ns);
    if (age_ns < self->age_ns || !sojourn_chance(queue, self->share)) return SOJOURN_SEND;
    return head->ecn ? SOJOURN_MARK : SOJOURN_DROP;
}
const sojourn_aqm *sojourn_aqm_plugin(void) {
    static const sojourn_parameter parameters[] = {
        {"age", "5 ms", "Age of the second packet from which the head is dropped.", SOJOURN_TIME},
        {"share", "10%", "Share that is dropped.", SOJOURN_PROBABILITY},
    };
    static const sojourn_aqm table = {
        .version = SOJOURN_AQM_VERSION, .table_bytes = sizeof(sojourn_aqm), .name = "older", .limit = "60p",
        .flags = SOJOURN_MARKS, .line_offset = SOJOURN_NO_LINE, .state_bytes = sizeof(state), .state_align = 8,
        .parameters = parameters, .parameters_len = 2,
        .init = set_params, .set_params = set_params, .enqueue = enqueue, .dequeue = dequeue,
    };
    return &table;
}
"""

# Every second arrival is dropped with the chance of a half; a draw is below a half if its highest bit is 0.
HALF = """
#include "sojourn_aqm.h"
typedef struct { uint64_t calls; } state;
static int32_t init(void *at, const sojourn_value *given) { (void)at; (void)given; return SOJOURN_DONE; }
static int32_t enqueue(void *at, const sojourn_packet *arrival, sojourn_queue *queue) {
    (void)arrival;
    return ((state *)at)->calls++ % 2 && sojourn_chance(queue, 0.5) ? SOJOURN_DROP : SOJOURN_ACCEPT;
}
const sojourn_aqm *sojourn_aqm_plugin(void) {
    static const sojourn_aqm table = {
        .version = SOJOURN_AQM_VERSION, .table_bytes = sizeof(sojourn_aqm), .name = "half",
        .line_offset = SOJOURN_NO_LINE, .state_bytes = 8, .state_align = 8,
        .init = init, .set_params = init, .enqueue = enqueue,
    };
    return &table;
}
"""
DECIDED = [
    "sojourn_aqm=1 rate_bit_s=10000000 aqm=half limit 2p",
    "+ 1000 1500 0 0 7 1 2 | |",
    "+ 2000 1500 0 0 7 1 2 | 7fffffffffffffff | drop:1",
    "+ 3000 1500 0 0 7 1 2 | |",
    # Two wait, so the limit drops it, and the algorithm is not asked.
    "+ 4000 1500 0 0 7 1 2 | | drop:3",
    "- 5000 | | send:0",
    "+ 6000 1500 0 0 7 1 2 | 8000000000000000 |",
    "- 7000 | | send:2",
    "- 8000 | | send:4",
    "- 9000 | |",
]


def built(folder: Path, name: str, source: str) -> Path:
    """Return a shared library."""
    code, library = folder / f"{name}.c", folder / f"lib{name}.so"
    code.write_text(source)
    include = Path(plugins.header()).parent
    flags = ["-O2", "-ffp-contract=off", "-fPIC", "-shared", "-I", include]
    subprocess.run(["cc", *flags, "-o", library, code], check=True)
    return library


@pytest.fixture(scope="module")
def my_pie(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pie")
    write.apply(outside.draft("my_pie", "c", start=folder))
    return built(folder, "my_pie", (folder / "my_pie" / "my_pie.c").read_text())


def finding(library: Path, decisions: Path) -> tuple[str, str | None]:
    """Return what the check says of decisions: on what, and the violation."""
    [(_, findings, _)] = plugins.check(library, decisions=decisions).algorithms
    [one] = [one for one in findings if one.name == "the same decisions as another host"]
    return one.scope, one.violation


def test_decisions_written_by_hand(tmp_path: Path) -> None:
    library, file = built(tmp_path, "half", HALF), tmp_path / "decisions.txt"

    def says(lines: list[str]) -> tuple[str, str | None]:
        file.write_text("\n".join(lines) + "\n")
        return finding(library, file)

    assert says(DECIDED) == (f"{file}, 9 calls, of which 2 drop or mark", None)
    # Calls 2 and 6 are lines 3 and 7 of the file.
    other = [line.replace("7fffffffffffffff | drop:1", "8000000000000000 | drop:1") for line in DECIDED]
    assert "the first: line 3: accepts; the file: drop:1" in str(says(other)[1])
    assert "line 7: draws more random numbers" in str(says([*DECIDED[:6], "+ 6000 1500 0 0 7 1 2 | |"])[1])
    assert "line 2: draws fewer random numbers" in str(says([DECIDED[0], "+ 1 9 0 0 7 1 2 | 7 |"])[1])


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        ([], "line 1: is no head; allowed: sojourn_aqm=1 rate_bit_s=NUMBER"),
        (["sojourn_aqm=2 rate_bit_s=1 aqm=half"], "interface version 2; allowed: 1"),
        (["sojourn_aqm=1 rate_bit_s=1 aqm=half target 5ms"], 'unknown parameter "target"'),
        ([*DECIDED[:2], "nonsense"], "line 3: is no call; allowed: + TIME BYTES"),
        ([DECIDED[0], "+ 1 9 4 0 7 1 2 | |"], "line 2: a value is too large; allowed: ECN up to 3"),
        ([DECIDED[0], "- 9 | |", "- 8 | |"], "line 3: 8 ns is before the call above"),
    ],
)
def test_a_file_that_has_no_decisions_is_refused(tmp_path: Path, lines: list[str], what: str) -> None:
    library, file = built(tmp_path, "half", HALF), tmp_path / "decisions.txt"
    file.write_text("\n".join(lines))
    with pytest.raises(SojournError) as error:
        plugins.check(library, decisions=file)
    assert what in str(error.value)
    with pytest.raises(SojournError, match="No such file"):
        plugins.check(library, decisions=tmp_path / "none.txt")


@pytest.mark.long
def test_what_ns3_recorded_is_decided_here(tmp_path: Path, my_pie: Path) -> None:
    file = tmp_path / "decisions.txt"
    file.write_bytes(gzip.decompress(RECORDED.read_bytes()))
    scope, violation = finding(my_pie, file)
    assert violation is None
    calls, decided = (int(word) for word in scope.replace(",", " ").split() if word.isdigit())
    assert calls > 3000
    assert decided > 100
    # Another target decides otherwise.
    file.write_text(file.read_text().replace("target 5ms", "target 6ms", 1))
    assert finding(my_pie, file)[1] is not None


def ns3() -> Path:
    """Return a folder with ns-3's wheel, unpacked or installed."""
    found = importlib.util.find_spec("ns3")
    places = [os.environ.get("SOJOURN_NS3"), *(found.submodule_search_locations or () if found else ())]
    for place in places:
        if place and list(Path(place).rglob("include")) and shutil.which("g++") and shutil.which("make"):
            return Path(place).resolve()
    pytest.skip("ns-3 is not installed (pip install ns3, or SOJOURN_NS3=FOLDER), or g++ and make are not")


@pytest.mark.parametrize(
    ("name", "parameters", "more"),
    [
        ("my_pie", "", []),
        ("my_pie", "target=5ms,ecn,max_burst=0ms", ["--ecn"]),
        ("my_pie", "", ["--limit=10"]),
        ("older", "age=2ms,share=0.2", ["--ecn"]),
        ("older", "", []),
    ],
)
def test_ns3_and_sojourn_take_the_same_decisions(
    tmp_path: Path, my_pie: Path, name: str, parameters: str, more: list[str]
) -> None:
    wheel = ns3()
    program = my_pie.parent / "dumbbell"
    subprocess.run(["make", "-s", "-C", NS3, f"NS3={wheel}", f"OUT={program.parent}", program], check=True)
    library = my_pie if name == "my_pie" else built(tmp_path, name, HEAD)
    file = tmp_path / "decisions.txt"
    words = ["--flows=10", "--mbit=10", "--rtt=20", "--seconds=10", "--warm-up=1", f"--library={library}"]
    words += [f"--decisions={file}", *([f"--parameters={parameters}"] if parameters else []), *more]
    subprocess.run([program, *words], check=True, stdout=subprocess.DEVNULL)
    scope, violation = finding(library, file)
    assert violation is None
    calls, decided = (int(word) for word in scope.replace(",", " ").split() if word.isdigit())
    # 10 Mbit/s for 10 s are 8,300 packets of 1,500 B, each with two calls.
    assert calls > 15_000
    assert decided > 50
    assert ("mark:" in file.read_text()) == ("--ecn" in more)
