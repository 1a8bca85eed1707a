"""Versions of users' algorithms: 1,000 mutations that decide otherwise have 1,000 versions, and what decides nothing has none.

A mutant drops arrivals whose number modulo 1024 is below its threshold, so two mutants with other thresholds decide
otherwise on the first 1,100 packets. Each gets its threshold by another of the ways that Python has.
"""

import json
import os
import random
import re
import subprocess
import sys
import textwrap
from dataclasses import astuple
from pathlib import Path

import pytest

pytest.importorskip("numba")

import sojourn as sj
from sojourn import _native, plan, plugins
from sojourn.plan.store import Store
from sojourn.plugins import frozen, loading, subset

COUNT = int(os.environ.get("SOJOURN_TEST_MUTANTS", "200"))
PACKETS = 1100
HEAD = "import enum\nimport math\nimport os\nimport numpy as np\nimport sojourn as sj\n\n\n"
NAMES = [*"abcdefghijklmnopqrtuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", "inf", "nan", "parameter", "Algorithm", "DROP", "SEND",
         "from_", "imports", "PacketView", "ACCEP", "QueueView", "annotations", "plugins", "import_", "µ", "été", "K2",
         "max_", "whole_", "line_", "steps_", "state", "given", "given_", "user", "jit", "exp", "host"]  # fmt: skip


def text(used: str, before: str = "", fields: str = "    n: int = 0\n", more: str = "") -> str:
    """An algorithm that drops where the number of the arrival, modulo 1024, is below `used`."""
    body = f"    def enqueue(self, packet, queue):\n        return sj.DROP if packet.number % 1024 < {used} else sj.ACCEPT\n"
    return f"{HEAD}{before}\n\nclass Mutant(sj.Algorithm):\n{fields}\n{body}{more}"


def in_module(folder: Path, k: int, content: str) -> str:
    name = f"sojourn_tuned_{k}"
    (folder / f"{name}.py").write_text(content)
    return name


def named(folder: Path, k: int, chance: random.Random) -> str:
    name = chance.choice(NAMES)
    return text(name, f"{name} = {k}")


def two_names(folder: Path, k: int, chance: random.Random) -> str:
    one, other = chance.sample(NAMES, 2)
    return text(f"{one} + {other}", f"{one} = 7\n{other} = {k} - 7")


def literal(folder: Path, k: int, chance: random.Random) -> str:
    return text(str(k))


def helper(folder: Path, k: int, chance: random.Random) -> str:
    name = chance.choice(["f", "scale", "K", "m", "abs", "max", "range_", "host", "Algorithm_"])
    return text(f"{name}(3.5)", f"def {name}(x):\n    return x + {k} - 3.5")


def helper_of_helper(folder: Path, k: int, chance: random.Random) -> str:
    before = f"G = {k}\n\n\ndef inner(y):\n    return y * G\n\n\ndef outer(y):\n    return inner(y) + 0\n"
    return text("outer(1)", before)


def computed(folder: Path, k: int, chance: random.Random) -> str:
    return text("K", f"def table():\n    return sum([{k}])\n\n\nK = table()")


def of_module(folder: Path, k: int, chance: random.Random) -> str:
    name = in_module(folder, k, f"K = {k}\n")
    return text(f"{name}.K", f"import {name}")


def from_module(folder: Path, k: int, chance: random.Random) -> str:
    name = in_module(folder, k, f"K = {k}\n")
    return text("c", f"from {name} import K as c")


def star(folder: Path, k: int, chance: random.Random) -> str:
    return text("K", f"from {in_module(folder, k, f'K = {k}')} import *")


def helper_of_module(folder: Path, k: int, chance: random.Random) -> str:
    # The module's K is not that of the algorithm's file.
    name = in_module(folder, k, f"K = {k}\n\n\ndef scale(x):\n    return x * K\n")
    return text("larger(K)", f"from {name} import scale as larger\nK = 1")


def two_helpers_of_one_name(folder: Path, k: int, chance: random.Random) -> str:
    name = in_module(folder, k, f"def scale(x):\n    return x + {k}\n")
    return text("scale(other(-2))", f"from {name} import scale as other\n\n\ndef scale(x):\n    return x + 2\n")


def helper_like_a_method(folder: Path, k: int, chance: random.Random) -> str:
    more = "\n    def scale(self, x):\n        return x - 2\n"
    return text("scale(2) + self.scale(2)", f"def scale(x):\n    return x + {k} - 2\n", more=more)


def environment(folder: Path, k: int, chance: random.Random) -> str:
    os.environ["SOJOURN_MUTANT"] = str(k)
    return text("K", 'K = int(os.environ["SOJOURN_MUTANT"])')


def of_numpy(folder: Path, k: int, chance: random.Random) -> str:
    kind = chance.choice(["np.float64", "np.int64", "np.float32", "np.uint16"])
    return text("K", f"K = {kind}({k})")


def of_an_array(folder: Path, k: int, chance: random.Random) -> str:
    return text("K", f"K = np.linspace(0.0, {2 * k}.0, 3)[1]")


def member(folder: Path, k: int, chance: random.Random) -> str:
    return text("K", f"class Mode(enum.IntEnum):\n    FAST = {k}\n\n\nK = Mode.FAST")


def again(folder: Path, k: int, chance: random.Random) -> str:
    return text("K", f"K = 2\nK = K * {k}\nK //= 2")


def conditional(folder: Path, k: int, chance: random.Random) -> str:
    before = f"K = {k}\nif K % 2:\n\n    def f(x):\n        return x * (K - 1) + 1\n\nelse:\n\n    def f(x):\n        return x * K\n"
    return text("f(1)", before)


def decorated(folder: Path, k: int, chance: random.Random) -> str:
    before = f"def plus(fn):\n    def wrapper(x):\n        return fn(x) + {k}\n\n    return wrapper\n\n\n@plus\ndef f(x):\n    return x - 1\n"
    return text("f(1)", before)


def closure(folder: Path, k: int, chance: random.Random) -> str:
    inner = textwrap.indent(text("k").replace(HEAD, ""), "    ")
    return f"{HEAD}def made(k):\n{inner}\n    return Mutant\n\n\nMutant = made({k})\n"


def field(folder: Path, k: int, chance: random.Random) -> str:
    value = chance.choice([str(k), f"float({k})", "K", "table()"])
    return text("self.a", f"K = {k}\n\n\ndef table():\n    return K\n", f"    a: float = {value}\n")


def table(folder: Path, k: int, chance: random.Random) -> str:
    value = chance.choice(
        [f"[0, {k}]", f"tuple(range({k}, {k} + 2))[::-1]", f"np.array([7, {k}])", "list(T)", "[0] + [K] * 3"]
    )
    index = 0 if "range" in value else 1
    found = f"self.t[{index}]" if index else "self.t[0] - 1"
    return text(found, f"K = {k}\nT = (0.5, {k})", f"    t: list = {value}\n")


def number_by_default(folder: Path, k: int, chance: random.Random) -> str:
    value = chance.choice([str(k), f"{k}.0", "K", "np.float64(K)"])
    return text("self.a", f"K = {k}", f'    a: int = sj.parameter({value}, "A number.")\n')


def time_by_default(folder: Path, k: int, chance: random.Random) -> str:
    value = chance.choice([f'"{k} ns"', 'f"{K} ns"', "sj.ns(K)"])
    return text("self.a_ns", f"K = {k}", f'    a_ns: int = sj.parameter({value}, "A time.")\n')


def per_cent(folder: Path, k: int, chance: random.Random) -> str:
    return text("self.a * 1024", "", f'    a: float = sj.parameter("{k / 10.24} %", "A share.")\n')


def method(folder: Path, k: int, chance: random.Random) -> str:
    return text("self.f(1)", more=f"\n    def f(self, x):\n        return x * {k}\n")


def of_a_base(folder: Path, k: int, chance: random.Random) -> str:
    name = in_module(
        folder,
        k,
        f"import sojourn as sj\n\nK = {k}\n\n\nclass Base(sj.Algorithm):\n    def f(self):\n        return K\n",
    )
    return text("self.f()", f"from {name} import Base\nK = 1").replace("(sj.Algorithm)", "(Base)")


def of_a_mixin(folder: Path, k: int, chance: random.Random) -> str:
    base = "import sojourn as sj\n\n\nclass Base(sj.Algorithm):\n    a = 1\n\n    def f(self):\n        return 1\n"
    before = f"from {in_module(folder, k, base)} import Base\n\n\nclass Mixin:\n    a = {k}\n\n    def f(self):\n        return self.a\n"
    return text("self.f()", before).replace("(sj.Algorithm)", "(Mixin, Base)")


def assigned(folder: Path, k: int, chance: random.Random) -> str:
    return text("self.f()", f"def some(self):\n    return {k}\n", more="\n    f = some\n")


def replaced(folder: Path, k: int, chance: random.Random) -> str:
    return (
        text("self.f()", more="\n    def f(self):\n        return 1\n")
        + f"\n\ndef other(self):\n    return {k}\n\n\nMutant.f = other\nMutant.n = 3\n"
    )


def attribute(folder: Path, k: int, chance: random.Random) -> str:
    return text("self.a", fields="    a: int = 1\n") + f"\n\nMutant.a = {k}\n"


def of_init(folder: Path, k: int, chance: random.Random) -> str:
    return text("self.n", more=f"\n    def init(self):\n        self.n = {k}\n")


def truth(folder: Path, k: int, chance: random.Random) -> str:
    bits = " + ".join(f"({1 << bit} if B{bit} else 0)" for bit in range(10))
    return text(bits, "\n".join(f"B{bit} = {bool(k >> bit & 1)}" for bit in range(10)))


def shadowed(folder: Path, k: int, chance: random.Random) -> str:
    before = f"K = 5\n\n\ndef f(K):\n    x = K\n    return x * {k}\n\n\ndef g(x):\n    return f(x) + K - 5\n"
    return text("g(1)", before)


WAYS = [
    named, two_names, literal, helper, helper_of_helper, computed, of_module, from_module, star, helper_of_module,
    two_helpers_of_one_name, helper_like_a_method, environment, of_numpy, of_an_array, member, again, conditional, decorated,
    closure, field, table, number_by_default, time_by_default, per_cent, method, of_a_base, of_a_mixin, assigned, replaced,
    attribute, of_init, truth, shadowed,
]  # fmt: skip


def load(folder: Path, source: str) -> tuple[str, str]:
    """The version of a file's algorithm, run uncompiled, and what the compiler would be given."""
    file = folder / "mutant.py"
    file.write_text(source)
    [name] = plugins.load(file, debug=True)
    [cls] = loading._classes(loading._imported(file))
    return name, subset.prepare(cls, debug=False).identity


def decided(name: str) -> str:
    found = json.loads(_native.plugin_decisions(name, PACKETS, 1, 0))
    assert found["fault"] is None
    return str(found["digest"])


def noisy(source: str) -> str:
    """The same algorithm with comments, docstrings, blank lines, annotations, messages and what is not used."""
    source = re.sub(
        r"^( *)(def \w+\(.*\)):$",
        r'\1\2 -> "nothing":\n\1    """Says: def f(x): return 1."""  # K = 3',
        source,
        flags=re.M,
    )
    source = re.sub(r"^( *)(class \w+(?:\(.*\))?):$", r'\1\2:\n\1    """A class."""', source, flags=re.M)
    source = re.sub(
        r"^( *)return (sj.DROP if) (.*) else sj.ACCEPT$",
        r"\1return (\n\1    # K\n\1  \2 (\3)  # 5\n\n\1  else sj.ACCEPT)",
        source,
        flags=re.M,
    )
    return f'"""A module."""\n# K = 7\n{source}\n\ndef unused(x):\n    return x * 99\n\n\nUNUSED = 3\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("SOJOURN_MUTANT", "0")
    return tmp_path


FRESH = """
import json, sys
from sojourn import _native
from sojourn.plugins import loading
listed = [loading.Shipped(*one) for one in json.load(sys.stdin)]
loading.add_shipped(listed)
print(json.dumps([json.loads(_native.plugin_decisions(one.name, int(sys.argv[1]), 1, 0))["digest"] for one in listed]))
"""


def test_every_mutation_that_decides_otherwise_has_a_version_and_loads_elsewhere(folder):
    chance = random.Random(47)  # noqa: S311
    thresholds = chance.sample(range(1, 1024), COUNT)
    versions, programs, digests = {}, {}, {}
    for number, k in enumerate(thresholds):
        way = WAYS[number % len(WAYS)]
        source = way(folder, k, chance)
        name, program = load(folder, source)
        digest = decided(name)
        for found, key in ((versions, name), (programs, program), (digests, digest)):
            assert key not in found, f"{way.__name__} {k} is taken for {found[key]}"
            found[key] = f"{way.__name__} {k}"
        if number < 2 * len(WAYS):
            assert load(folder, noisy(source)) == (name, program), f"{way.__name__} {k}: {noisy(source)}"
            # What is printed stays where nothing is compiled.
            printing = re.sub(r"^( *)return \($", r"\1print('K', 1)\n\1return (", noisy(source), flags=re.M)
            assert load(folder, printing)[1] == program
    assert len(versions) == len(programs) == len(digests) == COUNT
    # What stores keep, in a process that has neither the files nor the environment.
    given = json.dumps([astuple(one) for one in loading.shipped_in(versions)])
    environment = {name: text for name, text in os.environ.items() if name != "SOJOURN_MUTANT"}
    command = [sys.executable, "-c", FRESH, str(PACKETS)]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True, env=environment, cwd="/")
    assert json.loads(done.stdout) == [decided(one.name) for one in loading.shipped_in(versions)]


LITQ = '''
import sojourn as sj
def table():
    return 0.5
K = 0.5
class Litq(sj.Algorithm):
    """A constant of the file decides."""
    n: int = 0
    def enqueue(self, packet, queue):
        return sj.DROP if queue.chance(K) else sj.ACCEPT
'''
PLAN = 'name = "p"\nscenario = "mm1"\nplugins = ["lit.py"]\nschemes = ["litq"]\nreplications = 1\nset = { duration = "6 s", warm_up = "1 s" }\n'


def test_a_plan_runs_again_after_any_value_was_edited_and_only_then(tmp_path):
    (tmp_path / "p.toml").write_text(PLAN)

    def goodput(source: str) -> tuple[float, int]:
        (tmp_path / "lit.py").write_text(source)
        made = plan.load(tmp_path / "p.toml")
        outcome = made.run(tmp_path / "s", progress=False)
        [value] = outcome.cells[0].series("goodput_bit_s", 1)
        return value, outcome.ran

    half = goodput(LITQ)
    # 1000 packets a second of 1000 bytes are 8 Mbit/s, of which a half, a quarter or nothing is dropped: 4, 6, 8 Mbit/s.
    quarter, none = (
        goodput(LITQ.replace("K = 0.5", "K = 0.25")),
        goodput(LITQ.replace("K = 0.5", "K = table() - 0.5")),
    )
    assert [ran for _, ran in (half, quarter, none)] == [1, 1, 1]
    assert [round(value / 1e6) for value, _ in (half, quarter, none)] == [4, 6, 8]
    # What computes the value, its place and what is said of it do not count: these were run.
    for again in (
        LITQ,
        LITQ.replace("K = 0.5", "K = table()"),
        f"# K = 7\n{LITQ}".replace("A constant", "Something"),
    ):
        assert goodput(again) == (half[0], 0)
    assert len(Store.open(tmp_path / "s").identities()) == 3


def test_a_name_means_what_was_loaded_last_also_if_it_was_loaded_before(tmp_path):
    file = tmp_path / "mutant.py"

    def loaded(k: int) -> str:
        file.write_text(text(str(k)))
        return plugins.load(file, debug=True)[0]

    one, two = loaded(2001), loaded(2002)
    assert one != two
    assert loaded(2001) == one == sj.Scheme("mutant").canonical
    # What a store brings along does not change what the user's name means.
    kept = loading.shipped_in([two])
    for known in (loading._LOADED, loading._ADD):
        del known[two]
    loading.add_shipped(kept)
    assert sj.Scheme("mutant").canonical == one


def test_two_algorithms_of_one_name_are_refused(tmp_path):
    for name, k in (("a", 1), ("b", 2)):
        (tmp_path / f"{name}.py").write_text(text(str(k)))
    again = (
        text("1")
        .replace(HEAD, "")
        .replace("class Mutant", "class Other")
        .replace("n: int", 'name = "mutant"\n    n: int')
    )
    (tmp_path / "c.py").write_text(text("1") + again.replace("< 1", "< 2"))
    (tmp_path / "p.toml").write_text(PLAN.replace('"lit.py"', '"a.py", "b.py"').replace("litq", "mutant"))
    with pytest.raises(
        sj.SojournError, match=r"key plugins\[1\]: .*b.py and .*a.py both have an algorithm mutant; allowed"
    ):
        plan.load(tmp_path / "p.toml")
    with pytest.raises(sj.SojournError, match=r"c\.py has two algorithms mutant; allowed: a name for each"):
        plugins.load(tmp_path / "c.py")
    command = [sys.executable, "-m", "sojourn", "run", "mm1", "--plugin", "a.py", "--plugin", "b.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        "sojourn: b.py and a.py both have an algorithm mutant; allowed: a name for each\n",
    )


def test_a_file_that_changed_after_it_was_imported_is_refused(folder):
    name = in_module(folder, 0, text("K", "K = 3"))
    module = __import__(name)
    known = module.Mutant(debug=True).scheme.canonical
    (folder / f"{name}.py").write_text(text("K * 2", "K = 3"))
    with pytest.raises(
        sj.SojournError, match="enqueue is not what the file says now; allowed: a file that is as it was"
    ):
        module.Mutant(debug=True)
    (folder / f"{name}.py").write_text(text("K", "K = 3"))
    assert module.Mutant(debug=True).scheme.canonical == known
    module.K = 4
    assert module.Mutant(debug=True).scheme.canonical != known


REFUSED = {
    "a function of two arguments": ("f(1)", "import functools\nf = functools.partial(max, 3)", "", "f() cannot be called"),
    "lambda": ("f(1)", "f = lambda x: x", "", "<lambda> is not written with def"),
    "a cache": ("f(1)", "import functools\n\n\n@functools.cache\ndef f(x):\n    return x\n", "", "f() cannot be called"),
    "range": ("self.f()", "def range(k):\n    return k\n", "\n    def f(self):\n        for k in range(3):\n            self.n = k\n        return 1\n", "a loop over something else"),
    "a table of the file": ("T[1]", "T = (1, 2)", "", "T is not a number (a field of the class can be a list"),
    "a method that is a partial function": ("1", "import functools", "\n    dequeue = functools.partial(max, 3)\n", "Mutant.dequeue is a partial, which cannot be a method"),
    "a property": ("self.f", "", "\n    @property\n    def f(self):\n        return 1\n", "Mutant.f is a property"),
    "a static method": ("self.f(1)", "", "\n    @staticmethod\n    def f(x):\n        return x\n", "Mutant.f is a staticmethod"),
    "__init__": ("1", "", "\n    def __init__(self):\n        pass\n", "Mutant.__init__ would not be called; allowed: init(self)"),
    "a large field": ("self.a", "", "\n    a: int = 2**63\n", "Mutant.a = 9223372036854775808 has more than 64 bits"),
    "a name of ours": ("self.f(1)", "", "\n    def f(self, whole):\n        return whole\n", "f has a variable whole, which is a name of Sojourn's"),
    "a private name": ("__K", "__K = 3", "", "the name __K is not defined"),
    "a title of two lines": ("1", "", '\n    title = "a\\nb"\n', "Mutant.title has the control character U+000A"),
    "code from a text": ("f(1)", 'exec("def f(x):\\n    return x")', "", "the source of f cannot be read"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_version_could_not_tell_apart_is_refused(tmp_path, name):
    used, before, more, what = REFUSED[name]
    (tmp_path / "mutant.py").write_text(text(used, before, more=more))
    with pytest.raises(sj.SojournError) as error:
        plugins.load(tmp_path / "mutant.py", debug=True)
    assert what in str(error.value)


def test_what_a_store_could_not_use_again_is_refused_before_a_run(tmp_path, monkeypatch):
    (tmp_path / "lit.py").write_text(LITQ.replace("K = 0.5", "K = 0.375"))
    (tmp_path / "p.toml").write_text(PLAN)
    made = plan.load(tmp_path / "p.toml")
    [kept] = loading.shipped_in([made.schemes[0].canonical])
    for content, what in [
        (
            kept.content.replace("K = 0.375", ""),
            "the stored copy of litq@\\w+ cannot be loaded: litq-\\w+.py, line .*: the name K",
        ),
        (kept.content.replace("0.375", "0.625"), "litq@\\w+ is litq@\\w+ here"),
    ]:
        monkeypatch.setitem(loading._LOADED, kept.name, loading.Shipped(kept.name, kept.kind, content))
        with pytest.raises(sj.SojournError, match=f"{kept.name}: what a store would keep cannot be used .*: {what}"):
            made.run(tmp_path / "s", progress=False)
        assert Store.open(tmp_path / "s").plans() == {}
    monkeypatch.setitem(loading._LOADED, kept.name, kept)
    monkeypatch.setattr(loading, "_decided", lambda one: "something else")
    with pytest.raises(
        sj.SojournError, match="decides otherwise in another process, so its runs could not be repeated"
    ):
        made.run(tmp_path / "s", progress=False)
    assert Store.open(tmp_path / "s").identities() == set()


def test_a_text_that_is_another_algorithm_is_not_kept(tmp_path, monkeypatch):
    (tmp_path / "mutant.py").write_text(text("K", "K = 2003"))
    source = frozen.Frozen.source
    monkeypatch.setattr(frozen.Frozen, "source", lambda self: source(self).replace("2003", "2004"))
    with pytest.raises(
        sj.SojournError, match=r"mutant.py: Mutant cannot be stored, because its copy .*: decides otherwise"
    ):
        plugins.load(tmp_path / "mutant.py", debug=True)


def test_an_uncompiled_algorithm_is_kept_as_one(tmp_path):
    # A number that no mutation has: what decides alike is kept as it was first written, whatever its names.
    (tmp_path / "mutant.py").write_text(text("K", "K = 1021"))
    [name] = plugins.load(tmp_path / "mutant.py", debug=True)
    results = sj.compare("mm1", [name], replicates=1, sets=["duration=1 s", "warm_up=0 s"], out=tmp_path / "out")
    assert results.schemes[0].canonical == name
    assert "K = 1021\n" in next((tmp_path / "out" / "plugins").iterdir()).read_text()
