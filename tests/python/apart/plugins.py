"""Algorithms of users in Python and C: comparisons, plans and workers; what is refused, and what the check finds."""

import dataclasses
import html
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("numba")

import sojourn as sj
from sojourn import _native, plan, plugins
from sojourn.base import core
from sojourn.model.scheme import Scheme, unversioned
from sojourn.plan import execute
from sojourn.plan.store import Store
from sojourn.plan.worker import Batch
from sojourn.plugins import compiled, loading, subset, table
from sojourn.plugins.declared import snake
from sojourn.scaffold import outside, write
from sojourn.studies.characterize import cost

HEAD = (
    "import math\nimport sojourn as sj\nimport numpy as np\nGAIN = 0.5\n\n\ndef helper(x):\n    return x * GAIN\n\n\n"
)
EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "plugins"
SHORT = ["duration=3 s", "warm_up=1 s"]


def written(folder: Path, body: str, name: str = "Mine", fields: str = "    x: float = 0.0\n") -> Path:
    file = folder / f"{name.lower()}.py"
    text = textwrap.indent(textwrap.dedent(body), "    ")
    file.write_text(f"{HEAD}class {name}(sj.Algorithm):\n{fields}{text}")
    return file


def decisions(scheme: str, packets: int = 20_000) -> dict[str, object]:
    return json.loads(_native.plugin_decisions(scheme, packets, 1, 0))


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The examples of `sojourn new aqm py_pie --language python` and so on, built."""
    folder = tmp_path_factory.mktemp("examples")
    for language in ("python", "c"):
        write.apply(outside.draft(f"{language}_pie", language, start=folder))
    own = folder / "c_pie"
    flags = ["-O2", "-ffp-contract=off", "-fPIC", "-shared"]
    subprocess.run(["cc", *flags, "-o", own / "libc_pie.so", own / "c_pie.c"], check=True)
    return {"python": folder / "python_pie" / "python_pie.py", "c": own / "libc_pie.so"}


def test_examples_in_python_and_c_decide_as_pie_over_a_million_packets(examples):
    plugins.load(examples["python"])
    plugins.load(examples["c"])
    # Both are the core of RFC 8033, which is what `pie` does by default.
    for text, packets in (("", 1_000_000), (" target 5ms ecn", 200_000), (" alpha 0.5 max_burst 0ms", 200_000)):
        found = [decisions(name + text, packets) for name in ("python_pie", "c_pie", "pie")]
        assert found[2]["dropped"] > 1000
        assert len({(one["digest"], one["dropped"], one["marked"], one["sent"], one["fault"]) for one in found}) == 1


@pytest.mark.parametrize("language", ["python", "c"])
@pytest.mark.long
def test_the_tests_of_the_examples_pass(examples, language):
    folder = examples[language].parent
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        f"test_{folder.name}.py",
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert "2 passed" in done.stdout, done.stdout


def of_cc(source: Path, library: Path) -> None:
    flags = ["-std=c++20", "-Wall", "-Wextra", "-Werror", "-O2", "-ffp-contract=off", "-fPIC", "-shared"]
    subprocess.run(
        ["g++", *flags, "-I", Path(plugins.header()).parent, "-o", library, source],
        check=True,
    )


def of_zig(source: Path, library: Path) -> None:
    zig, folder = [sys.executable, "-m", "ziglang"], library.parent
    translated = subprocess.run([*zig, "translate-c", "-lc", plugins.header()], check=True, capture_output=True)
    (folder / "sojourn_aqm.zig").write_bytes(translated.stdout)
    (folder / source.name).write_bytes(source.read_bytes())
    flags = ["-dynamic", "-O", "ReleaseSafe", "-fPIC", f"-femit-bin={library}", "--name", library.stem[3:]]
    subprocess.run([*zig, "build-lib", *flags, source.name], check=True, cwd=folder)


@pytest.mark.parametrize(("language", "build"), [("cc", of_cc), ("zig", of_zig)])
def test_the_examples_in_cpp_and_zig_are_built_and_decide_alike(tmp_path, language, build):
    if language == "cc" and not shutil.which("g++"):
        pytest.skip("g++ is not installed")
    if language == "zig" and not (os.environ.get("SOJOURN_TEST_SCAFFOLD") and find_spec("ziglang")):
        pytest.skip("set SOJOURN_TEST_SCAFFOLD=1 and install ziglang; half a minute of CPU time")
    library = tmp_path / f"liboldest_{language}.so"
    build(EXAMPLES / f"oldest.{language}", library)
    plugins.load(library)
    body = """
        def enqueue(self, packet, queue):
            if queue.now_ns - queue.oldest_ns <= self.target_ns:
                return sj.ACCEPT
            return sj.DROP
    """
    plugins.load(
        written(tmp_path, body, "Oldest", '    target_ns: int = sj.parameter("20 ms", "Age of the head.")\n')
    )
    for text in ("", " target 3ms"):
        own, python = (decisions(name + text) for name in (f"oldest_{language}", "oldest"))
        assert own["dropped"] > 1000
        assert own["internals"]["drops"] == own["dropped"]
        assert (own["digest"], own["fault"]) == (python["digest"], None)


def test_debug_runs_the_methods_as_they_are(examples):
    plugins.load(examples["python"])
    compiled_ = decisions("python_pie target 1ms max_burst 0ms", 5000)
    [name] = plugins.load(examples["python"], debug=True)
    uncompiled = decisions(f"{name} target 1ms max_burst 0ms", 5000)
    assert compiled_["dropped"] > 10
    assert uncompiled == compiled_
    plugins.load(examples["python"])


def test_a_class_is_a_scheme_wherever_a_text_is():
    class Twenty(sj.Algorithm):
        """Drops arrivals while the oldest packet has waited for longer than a target."""

        target_ns: int = sj.parameter("20 ms", "Age of the head above which arrivals are dropped.")
        drops: int = 0

        def enqueue(self, packet, queue):
            if queue.now_ns - queue.oldest_ns > self.target_ns:
                self.drops += 1
                return sj.DROP
            return sj.ACCEPT

    net = sj.dumbbell(flows=2, duration=sj.s(3), warm_up=sj.s(1))
    results = sj.compare(net, [Twenty(target=sj.ms(10)), Twenty(label="slow", target=sj.ms(40)), "pie"], replicates=2)
    assert results.labels == ("twenty target 10ms", "slow", "pie")
    # A queue whose arrivals are dropped above an age holds that age at most, and TCP fills it.
    delays = [results.estimate(label, "sojourn_ms_mean").mean for label in results.labels[:2]]
    assert delays[0] < 10 < delays[1] < 41
    assert sj.compare(net, {"mine": Twenty()}, replicates=1).labels == ("mine",)
    entry = next(one for one in core.aqms() if one["name"] == "twenty")
    assert (entry["title"], entry["parameters"][1]["default"]) == ("Twenty", "20ms")
    assert any(one["name"] == "fq:twenty" for one in core.aqms())
    with pytest.raises(sj.SojournError, match='twenty: unknown parameter "targt" \\(did you mean "target"'):
        Twenty(targt=sj.ms(10))
    with pytest.raises(sj.SojournError, match="twenty: target: "):
        Scheme("twenty target 10")


@pytest.mark.parametrize(
    ("body", "line", "what"),
    [
        ("    return [sj.ACCEPT for k in range(3)][0]", 14, "a list comprehension is not in the subset"),
        ("    d = {1: 2}\n    return sj.ACCEPT", 14, "a dict is not in the subset"),
        ("    try:\n        return sj.ACCEPT\n    except Exception:\n        return sj.DROP", 14, "try is not in the subset"),
        ("    with open('x') as f:\n        return sj.ACCEPT", 14, "with is not in the subset"),
        ("    return sj.DROP if np.random.rand() < 0.1 else sj.ACCEPT", 14, "random numbers come from queue.uniform()"),
        ("    return sj.DROP if self.x ** 2 > 1 else sj.ACCEPT", 14, "write x * x"),
        ("    return sj.DROP if math.gamma(self.x) > 1 else sj.ACCEPT", 14, "math.gamma is not available"),
        ("    for k in [1, 2]:\n        pass\n    return sj.ACCEPT", 14, "a loop over something else than range"),
        ("    return self.nothing(1)", 14, "there is no method nothing"),
        ("    return unknown", 14, "the name unknown is not defined"),
        ("    return 'accept'", 14, "'accept' is not a number"),
        ("    if queue.packets > 3:\n        return sj.DROP", 13, "enqueue can end without an answer"),
        ("    return self.x", 13, "enqueue answers with float64"),
        ("    self.x = self.y\n    return sj.ACCEPT", 14, "the class declares no field y"),
        ("    self.x = queue\n    return sj.ACCEPT", 14, "the types do not fit"),
    ],
)  # fmt: skip
def test_what_the_subset_lacks_is_named_with_file_and_line(tmp_path, body, line, what):
    file = written(tmp_path, f"def enqueue(self, packet, queue):\n{body}\n")
    with pytest.raises(sj.SojournError) as error:
        plugins.load(file)
    assert str(error.value).startswith(f"{file}, line {line}: ")
    assert what in str(error.value)


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ("    target_ns: int = sj.parameter(15, 'A target.')\n", 'has no unit; write it with one, as in "15 ms"'),
        (
            "    target: int = sj.parameter('15 ms', 'A target.')\n",
            "has a unit that the name has not; end the name in",
        ),
        ("    target_ns: int = sj.parameter('15', 'A target.')\n", "the default of the parameter target: "),
        ("    target_ns: int = sj.parameter('15 ms', '')\n", "the parameter target has no doc"),
        ("    limit_packets: int = sj.parameter('9 packets', 'A limit.')\n", "which Sojourn keeps for itself"),
        ("    x: float\n", "has no initial value"),
        ("    x: str = 'a'\n", "cannot be a field"),
        ("    period = 'target'\n    x: float = 0.0\n", "update and period belong together"),
        ("    name = 'codel'\n    x: float = 0.0\n", 'there is a built-in algorithm "codel"'),
    ],
)
def test_what_a_class_declares_is_checked(tmp_path, fields, what):
    file = written(tmp_path, "def enqueue(self, packet, queue):\n    return sj.ACCEPT\n", fields=fields)
    with pytest.raises(sj.SojournError) as error:
        plugins.load(file)
    assert what in str(error.value)
    assert str(error.value).startswith(str(file))


def test_files_that_are_no_plug_ins(tmp_path):
    cases = {"a.txt": ("", "is no plug-in"), "b.py": ("x = 1", "has no algorithm"), "c.py": ("x = ", "line 1: ")}
    cases["d.py"] = ("import nothing_of_that_name", "cannot be imported: ModuleNotFoundError")
    cases["e.so"] = ("not a library", "e.so: ")
    for name, (text, what) in cases.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(sj.SojournError) as error:
            plugins.load(tmp_path / name)
        assert what in str(error.value), name
        assert str(error.value).startswith(str(tmp_path / name)), name
        assert str(error.value).count(name) == 1, name
    with pytest.raises(sj.SojournError, match="there is no file"):
        plugins.load(tmp_path / "none.py")


FAULTS = {
    "ByZero": ("return sj.DROP if 1.0 / self.x > 3 else sj.ACCEPT", "enqueue raised an exception", 17),
    "WholeByZero": ("return sj.DROP if 7 // int(self.x) > 3 else sj.ACCEPT", "enqueue raised an exception", 17),
    "OutOfRange": ("return sj.DROP if self.cells[packet.size_bytes] > 3 else sj.ACCEPT", "enqueue raised an exception", 17),
    "NoPacketWaits": ("return sj.DROP if queue.waiting(queue.packets).flow > 0 else sj.ACCEPT", "enqueue raised", 17),
    "NotANumber": ("return sj.DROP if queue.chance(math.inf * self.x) else sj.ACCEPT", "(NaN)", 17),
    "NoAnswer": ("return 0", "enqueue gives no answer (0)", 17),
    "Nonsense": ("return 42", "enqueue gives the answer 42; allowed: 1 (accept), 2 (drop), 3 (mark)", 17),
    "MarksAll": ("return sj.MARK", "marks a packet that is not ECN-capable", 17),
    "Raises": ("assert queue.packets < 2\n    return sj.ACCEPT", "enqueue raised an exception", 17),
    "TooBold": ("self.probability = 1.5\n    return sj.ACCEPT", "internal probability is 1.5", None),
    "Endless": ("while self.x < 1.0:\n        self.x = self.x * 2.0\n    return sj.ACCEPT", "a loop in enqueue does not end", 17),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_check_finds_planted_faults_of_python(tmp_path, name):
    body, what, line = FAULTS[name]
    fields = "    marks = True\n    x: float = 0.0\n    probability: float = 0.0\n    cells: list = [0.0] * 8\n"
    file = written(tmp_path, f"def enqueue(self, packet, queue):\n    {body}\n", name, fields)
    plugins.load(file)
    parts = json.loads(_native.plugin_check(name if name.islower() else snake(name)))
    found = next(part["violation"] for part in parts if part["violation"])
    assert what in found
    assert line is None or f"({file}, line {line})" in found


C_FAULTS = {
    "loops": ("for (;;) __asm__ volatile(\"\");", "takes longer than"),
    "crashes": ("*(volatile int *)0 = 1;", "ends the process (signal 11)"),
    "global_state": ("static int all; return all++ % 7 ? SOJOURN_ACCEPT : SOJOURN_DROP;", "decide otherwise"),
}  # fmt: skip


@pytest.mark.parametrize("name", C_FAULTS)
def test_check_survives_faults_of_c(tmp_path, name):
    body, what = C_FAULTS[name]
    source = tmp_path / f"{name}.c"
    source.write_text(
        f"""#include "sojourn_aqm.h"
static int32_t init(void *at, const sojourn_value *given) {{ (void)at; (void)given; return SOJOURN_DONE; }}
static int32_t enqueue(void *at, const sojourn_packet *arrival, sojourn_queue *queue) {{
    (void)at; (void)arrival; (void)queue;
    {body}
    return SOJOURN_ACCEPT;
}}
const sojourn_aqm *sojourn_aqm_plugin(void) {{
    static const sojourn_aqm table = {{
        .version = SOJOURN_AQM_VERSION, .table_bytes = sizeof(sojourn_aqm), .name = "{name}",
        .line_offset = SOJOURN_NO_LINE, .state_bytes = 8, .state_align = 8,
        .init = init, .set_params = init, .enqueue = enqueue,
    }};
    return &table;
}}
"""
    )
    library = tmp_path / f"lib{name}.so"
    include = Path(plugins.header()).parent
    subprocess.run(["cc", "-O1", "-fPIC", "-shared", "-I", include, "-o", library, source], check=True)
    # The limit ends the loop that does not end; the others are done long before.
    verdict = plugins.check(library, time_limit_s=2 if name == "loops" else 200)
    assert not verdict.ok
    assert what in str(verdict)


def test_a_wrong_answer_ends_a_run_with_one_error(tmp_path):
    file = written(
        tmp_path, "def enqueue(self, packet, queue):\n    return 42 if packet.number > 99 else sj.ACCEPT\n", "Late"
    )
    command = [sys.executable, "-m", "sojourn", "compare", "dumbbell", "--plugin", str(file), "--aqm", "late"]
    command += [f"--set={one}" for one in SHORT]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    expected = "sojourn: late: enqueue gives the answer 42; allowed: 1 (accept), 2 (drop), 3 (mark)"
    assert ended.stderr == f"{expected} ({file}, line 14)\n"


def swept(folder: Path, factor: str) -> tuple[plan.Plan, Path]:
    body = f"def enqueue(self, packet, queue):\n    self.x = self.x * {factor} + GAIN\n    return sj.ACCEPT\n"
    written(folder, body, "Swept")
    file = folder / "sweep.toml"
    file.write_text(
        'name = "sweep"\nscenario = "dumbbell"\nplugins = ["swept.py"]\nschemes = ["swept limit 50p", "pie"]\n'
        'replications = 2\nset = { duration = "2 s", warm_up = "1 s" }\n'
    )
    return plan.load(file), file


def test_a_plan_repeats_every_run_of_an_algorithm_that_was_edited(tmp_path):
    store = tmp_path / "store"

    first = {one.canonical for one in swept(tmp_path, "0.5")[0].schemes}
    swept(tmp_path, "0.5")[0].run(store, progress=False)
    before = set(Store.open(store).identities())
    swept(tmp_path, "0.5")[0].run(store, progress=False)
    assert set(Store.open(store).identities()) == before
    # One constant: the two runs of `swept` are others, those of `pie` are not.
    edited, _ = swept(tmp_path, "0.25")
    assert len({one.canonical for one in edited.schemes} - first) == 1
    edited.run(store, progress=False)
    after = set(Store.open(store).identities())
    assert (len(before), len(after), len(before - after)) == (4, 6, 0)


def test_a_store_and_workers_have_the_source_and_refuse_a_mismatch(tmp_path):
    store = tmp_path / "store"
    made, _ = swept(tmp_path, "0.125")
    made.run(store, progress=False)
    # Another process knows the algorithm from the store alone.
    program = (
        "import sys\nfrom sojourn.plan.store import Store\nfrom sojourn.plan import read\n"
        "print(read.plans(Store.open(sys.argv[1]))[0].plan.schemes[0].canonical)"
    )
    ended = subprocess.run([sys.executable, "-c", program, store], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == made.schemes[0].canonical
    [shipped] = loading.shipped_in([made.schemes[0].canonical])
    assert shipped.name == made.schemes[0].algorithm + "@" + shipped.name.partition("@")[2]
    other = loading.Shipped("swept@0123456789ab", shipped.kind, shipped.content)
    with pytest.raises(sj.SojournError, match="swept@0123456789ab is swept@"):
        loading.add_shipped([other])
    batch = Batch("another build", ('{"aqm": "' + shipped.name + '"}',), ())
    assert batch.plugins == (shipped,)


def compile_for_another_processor() -> None:
    import numba

    numba.config.CPU_NAME = "generic"
    compiled.target.cache_clear()


@pytest.mark.filterwarnings("default")
@pytest.mark.long
def test_workers_in_other_processes_compile_the_source_and_refuse_another_target(tmp_path):
    distributed = pytest.importorskip("distributed")
    made, _ = swept(tmp_path, "0.75")
    (tmp_path / "swept.py").unlink()
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        there = execute.run(made, tmp_path / "there", scheduler=cluster.scheduler_address)
        made.run(tmp_path / "here", progress=False)
        assert (there.ran, there.failures) == (4, ())
        found = [
            {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*.parquet")}
            for folder in (tmp_path / "there", tmp_path / "here")
        ]
        assert found[0] == found[1]
        assert found[0]
        with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
            client.run(compile_for_another_processor)
        edited, _ = swept(tmp_path, "0.875")
        refused = execute.run(edited, tmp_path / "other", scheduler=cluster.scheduler_address)
    assert refused.ran == 2
    assert [one.cell for one in refused.failures] == ["scheme=swept limit 50p"] * 2
    assert re.search(
        r"swept@\w+ is swept@\w+ here \(numba .*, generic\): results would not be", refused.failures[0].why
    )


@pytest.mark.long
def test_a_run_folder_has_the_source_and_the_command_that_repeats_it(tmp_path):
    written(tmp_path, "def enqueue(self, packet, queue):\n    return sj.ACCEPT\n", "Kept")
    command = [sys.executable, "-m", "sojourn", "compare"]
    first = [
        "dumbbell",
        "--plugin",
        "kept.py",
        "--aqm",
        "kept",
        "--aqm",
        "slow=fq:kept limit 40p",
        "--replicates",
        "2",
    ]
    first += [f"--set={one}" for one in SHORT]
    subprocess.run([*command, *first, "--out", "out"], check=True, cwd=tmp_path)
    (tmp_path / "kept.py").unlink()
    out = tmp_path / "out"
    page = html.unescape((out / "report.html").read_text(encoding="utf-8"))
    again = shlex.split(re.search(r"sojourn compare (scenario.toml .*--out again)", page)[1])
    assert [str(file.relative_to(out)) for file in (out / "plugins").iterdir()] == [
        again[again.index("--plugin") + 1]
    ]
    subprocess.run([*command, *again], check=True, cwd=out)
    for name in ("summary.csv", "schemes.json"):
        assert (out / name).read_bytes() == (out / "again" / name).read_bytes()
    shutil.rmtree(out / "again")
    # What is not the run's own is not replaced.
    (out / "plugins" / "mine.txt").touch()
    over = [*command, *first[:1], "--out", "out", "--force"]
    done = subprocess.run(over, cwd=tmp_path, text=True, capture_output=True, check=False)
    assert done.stderr.endswith(
        "it holds 'plugins/mine.txt', which Sojourn did not write; name a new or empty folder\n"
    )


def test_the_memory_of_a_characterisation_is_that_of_the_algorithm(tmp_path):
    # Half a megabyte in each instance: two megabytes in four queues.
    fields = "    cells: list = [0.0] * 65_000\n"
    file = written(tmp_path, "def enqueue(self, packet, queue):\n    return sj.ACCEPT\n", "Large", fields)
    plugins.load(file)
    given = Scheme("fq:large flows 4")
    shipped = [dataclasses.astuple(one) for one in loading.shipped_in([given.canonical])]
    tail, own = (
        cost._memory({"scheme": text, "seed": 1, "replication": 0, "series": None}, 100, shipped)
        for text in ("pfifo limit 1000p", given.text)
    )
    assert 1_500_000 < own - tail < 20_000_000


def test_the_version_follows_from_source_compiler_and_target(tmp_path, monkeypatch):
    body = "def enqueue(self, packet, queue):\n    return sj.DROP if queue.chance(helper(0.1)) else sj.ACCEPT\n"

    def version(text: str, head: str = HEAD) -> str:
        file = written(tmp_path, text, "Versioned")
        file.write_text(file.read_text().replace(HEAD, head))
        return plugins.load(file)[0]

    first = version(body)
    assert version(f"# A comment.\n{body}") == first
    others = {
        version(body.replace("0.1", "0.2")),
        version(body, HEAD.replace("GAIN = 0.5", "GAIN = 0.25")),
        version(body, HEAD.replace("x * GAIN", "x + GAIN")),
    }
    monkeypatch.setattr(compiled, "target", lambda: "numba 99 on another processor")
    others.add(version(body))
    assert len(others | {first}) == 5
    monkeypatch.setattr(table, "VERSION", 2)
    with pytest.raises(sj.SojournError, match="interface version 2; this build of Sojourn reads version 1"):
        version(body)


def test_texts_without_versions():
    assert unversioned("my_pie@0123456789ab target 10ms") == "my_pie target 10ms"
    assert unversioned("fq:my_pie@0123456789ab") == "fq:my_pie"
    assert unversioned("pie target 10ms") == "pie target 10ms"
    assert Scheme("pie").exact == "pie"
    assert subset.MOST_STEPS == 100_000


def test_language_of_new(tmp_path):
    made = outside.draft("mine", "python", start=tmp_path)
    assert set(made.contents) == {"mine/mine.py", "mine/test_mine.py", "mine/README.md"}
    for name, language, what in [
        ("pie", "c", "there is an algorithm `pie` already"),
        ("My", "c", "is not a name of an algorithm"),
        ("mine", "go", "unknown --language `go`"),
    ]:
        with pytest.raises(sj.SojournError, match=what):
            outside.draft(name, language, start=tmp_path)
