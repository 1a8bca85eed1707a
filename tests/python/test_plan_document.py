"""Plan documents: what they say, and what messages say of what they may not."""

from __future__ import annotations

from pathlib import Path

import pytest

import sojourn as sj
from plans import small_plan
from shared import small_network
from sojourn import plan
from sojourn.model.scheme import with_parameters
from sojourn.plan import key_lines

BASE = """\
name = "sweep"
scenario = "dumbbell"
schemes = ["codel", { label = "PIE", text = "pie target 10ms" }]
replications = 4

[set]
links.bottleneck.delay = "20 ms"
"""


def cells(more: str = "", base: str = BASE) -> plan.Cells:
    return plan.cells(plan.loads(f"{base}\n{more}", source="sweep.toml"))


def levels(found: plan.Cells, name: str) -> list[object]:
    return list(dict.fromkeys(cell.levels[name] for cell in found))


def test_variations_cross_and_schemes_come_last() -> None:
    found = cells(
        '[[vary]]\nkey = "links.bottleneck.rate"\nvalues = ["10 Mbit/s", "20 Mbit/s"]\n'
        '[[vary]]\nkey = ["nodes.sender.count", "nodes.receiver.count"]\nname = "flows"\nvalues = [1, 2, 3]\n'
    )
    # 2 rates x 3 counts x 2 schemes.
    assert len(found) == 12
    assert [str(cell) for cell in found][:3] == [
        "scheme=codel, rate=10 Mbit/s, flows=1",
        "scheme=PIE, rate=10 Mbit/s, flows=1",
        "scheme=codel, rate=10 Mbit/s, flows=2",
    ]
    # 2 x 3 scenarios, shared by the schemes, and the override of [set] in each.
    assert len(found.scenarios) == 6
    assert all('"delay":"20 ms"' in text for text in found.scenarios.values())


@pytest.mark.parametrize(
    ("scale", "ends", "expected"),
    [
        ("linear", '"5 ms"|"15 ms"', ["5 ms", "10 ms", "15 ms"]),
        ("log", '"1 ms"|"100 ms"', ["1 ms", "10 ms", "100 ms"]),
        # 1, 10^0.5 = 3.16, 10: whole numbers stay whole.
        ("log", "1|10", [1, 3, 10]),
    ],
)
def test_ranges(scale: str, ends: str, expected: list[object]) -> None:
    low, high = ends.split("|")
    key = "links.bottleneck.delay" if "ms" in ends else "flows.bulk.count"
    found = cells(f'[[vary]]\nkey = "{key}"\nname = "x"\nfrom = {low}\nto = {high}\nsteps = 3\nscale = "{scale}"\n')
    assert levels(found, "x") == expected


def test_lists_that_go_together() -> None:
    found = cells(
        '[[vary]]\nzip = [\n  { key = "links.bottleneck.rate", values = ["10 Mbit/s", "50 Mbit/s"] },\n'
        '  { key = "links.bottleneck.delay", values = ["5 ms", "1 ms"] },\n]\n'
    )
    assert [(c.levels["rate"], c.levels["delay"]) for c in found][::2] == [
        ("10 Mbit/s", "5 ms"),
        ("50 Mbit/s", "1 ms"),
    ]


def test_a_latin_hypercube_has_one_point_in_every_part_of_every_range() -> None:
    text = (
        "[[vary]]\npoints = 8\nseed = 3\nlatin_hypercube = [\n"
        '  { key = "links.bottleneck.rate", from = "10 Mbit/s", to = "90 Mbit/s" },\n'
        '  { key = "links.bottleneck.delay", from = "1 ms", to = "256 ms", scale = "log" },\n]\n'
    )
    found = cells(text)
    rates = sorted(float(str(c.levels["rate"]).split()[0]) for c in found if c.label == "PIE")
    delays = sorted(float(str(c.levels["delay"]).split()[0]) for c in found if c.label == "PIE")
    # Eight parts of 10 Mbit/s each; eight factors of 2.
    assert [int((rate - 10) // 10) for rate in rates] == list(range(8))
    assert all(2**k <= delay <= 2 ** (k + 1) for k, delay in enumerate(delays))
    assert [str(c) for c in cells(text)] == [str(c) for c in found]
    assert [str(c) for c in cells(text.replace("seed = 3", "seed = 4"))] != [str(c) for c in found]


def test_parameters_of_schemes() -> None:
    found = cells('[[vary]]\nkey = "scheme.target"\nvalues = ["5 ms", "20 ms"]\n')
    assert [(c.label, c.scheme.text) for c in found] == [
        ("codel", "codel target 5ms"),
        ("PIE", "pie target 5ms"),
        ("codel", "codel target 20ms"),
        ("PIE", "pie target 20ms"),
    ]


def test_numbers_are_numbers_and_flags_are_flags() -> None:
    assert with_parameters(plan.Scheme("fq_codel ecn"), {"flows": 1, "ecn": False}).text == "fq_codel flows 1 noecn"
    assert with_parameters(plan.Scheme("codel"), {"ecn": True, "target": "7 ms"}).text == "codel ecn target 7ms"
    assert with_parameters(plan.Scheme("codel noecn", "x"), {"ecn": True}) == plan.Scheme("codel ecn", "x")


def test_a_parameter_of_one_scheme_does_not_multiply_the_others() -> None:
    found = cells('[[vary]]\nkey = "schemes.PIE.target"\nvalues = ["5 ms", "20 ms"]\n')
    assert [(c.label, c.levels["target"]) for c in found] == [("codel", None), ("PIE", "5 ms"), ("PIE", "20 ms")]


def test_pairing_says_which_cells_share_traffic() -> None:
    sweep = '[[vary]]\nkey = "links.bottleneck.rate"\nvalues = ["10 Mbit/s", "20 Mbit/s"]\n'
    assert len({cell.seed for cell in cells(sweep)}) == 1
    by_scheme = cells(sweep, BASE.replace("replications", 'paired = ["scheme"]\nreplications'))
    assert by_scheme.cells[0].seed == by_scheme.cells[1].seed != by_scheme.cells[2].seed
    none = cells(sweep, BASE.replace("replications", "paired = []\nreplications"))
    assert len({cell.seed for cell in none}) == 4


def test_a_scenario_is_found_beside_its_plan(tmp_path: Path) -> None:
    (tmp_path / "net.toml").write_text(small_network().to_toml())
    (tmp_path / "plan.toml").write_text('name = "x"\nscenario = "net.toml"\n')
    (cell,) = plan.cells(plan.load(tmp_path / "plan.toml"))
    assert cell.label == "as written"
    assert cell.run(0).scheme is None


def test_a_scenario_may_be_in_the_plan() -> None:
    tables = small_network().to_toml().replace("[[", "[[scenario.")
    head, blocks = tables.split("\n\n", 1)
    inside = f'name = "x"\n[scenario]\n{head}\n\n{blocks.replace("[flows.", "[scenario.flows.")}'
    (cell,) = plan.cells(plan.loads(inside))
    (other,) = plan.cells(plan.Plan(name="y", scenario=small_network().to_toml()))
    assert cell.run(0) == other.run(0)


def test_a_plan_written_and_read_again_has_the_same_runs() -> None:
    for one in (
        small_plan(paired=("scheme",), series="100 ms", metrics=("loss_ratio",)),
        small_plan(precision=(plan.Precision("sojourn_ms_mean", "5 %", 3, 30),), sets=("duration=6 s",), seed=9),
    ):
        again = plan.loads(plan.dumps(one))
        assert [c.run(1) for c in plan.cells(again)] == [c.run(1) for c in plan.cells(one)]
        assert (again.precision, again.metrics, again.most) == (one.precision, one.metrics, one.most)


HEAD = 'name = "sweep"\nscenario = "dumbbell"\n'


def test_one_metric_may_stand_without_a_list() -> None:
    assert plan.loads(HEAD + '[show]\nmetrics = "utilisation"\n').metrics == ("utilisation",)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            "replicates = 3",
            r"sweep.toml:3: key replicates: unknown \(did you mean `replications`\?\); "
            "allowed: name, .*replications",
        ),
        ("replications = 0", r"sweep.toml:3: key replications: 0 is impossible; allowed: whole numbers from 1"),
        ('schemes = ["codle"]', r"sweep.toml:3: key schemes\[0\]: .*codle"),
        ("schemes = []", r"sweep.toml:3: key schemes: allowed: a list such as"),
        ('[[vary]]\nkey = "a"', r"sweep.toml:3: key vary\[0\]: needs exactly one of `values`"),
        ('[[vary]]\nkey = "a"\nvalues = 3', r"sweep.toml:5: key vary\[0\].values: 3 is not a list"),
        ('[[vary]]\nkey = "a"\nfrom = "1 ms"\nto = "1 s"\nsteps = 3', r"key vary\[0\]: .*different units"),
        ('[[vary]]\nkey = "a"\nfrom = "9 ms"\nto = "1 ms"\nsteps = 3', r"key vary\[0\]: .*is not below"),
        (
            '[[vary]]\nkey = "a"\nfrom = "1 ms"\nto = "5.0.5 ms"\nsteps = 3',
            r"key vary\[0\]: to='5.0.5 ms' is not an end",
        ),
        ('[[vary]]\nkey = "a"\nfrom = "1 ms"\nto = ". ms"\nsteps = 3', r"key vary\[0\]: to='. ms' is not an end"),
        ('[[vary]]\nkey = "a"\nfrom = "1 ms"\nto = "1e999 ms"\nsteps = 3', r"key vary\[0\]: to: .*up to 1e\+300"),
        ('[[vary]]\nkey = "a"\nfrom = nan\nto = 1\nsteps = 3', r"key vary\[0\]: from: .*up to 1e\+300"),
        # A whole number that no float can hold.
        (f'[[vary]]\nkey = "a"\nfrom = 1\nto = 1{"0" * 400}\nsteps = 3', r"key vary\[0\]: to: .*up to 1e\+300"),
        ('[[vary]]\nzip = [{ key = "a", values = [1] }, { key = "b", values = [1, 2] }]', "a has 1, b has 2"),
        (
            '[[vary]]\nzip = [{ key = "a", values = [["x"]] }]',
            r"sweep.toml:4: key vary\[0\].zip\[0\]: "
            ".*is not a value",
        ),
        ('[precision]\nmetric = "speed"\nwithin = "5 %"', r"sweep.toml:3: key precision: unknown metric `speed`"),
        ("precision = 5", "sweep.toml:3: key precision: 5 is not a goal"),
        ('replications = 2\n[precision]\nmetric = "utilisation"\nwithin = "5 %"', "key replications: does not go"),
        ('[show]\nmetrics = ["speed"]', r"sweep.toml:4: key show.metrics: unknown metric `speed`"),
        ('paired = ["rate"]', r'sweep.toml:3: key paired: .*allowed: "all", or a list of scheme'),
        ("series = 5", "sweep.toml:3: key series: 5 is not an interval"),
        ("seed = ", r"sweep.toml: .*line 3"),
    ],
)
def test_messages_say_where_and_what_is_allowed(text: str, what: str) -> None:
    with pytest.raises(sj.SojournError, match=what):
        plan.loads(HEAD + text + "\n", source="sweep.toml")


def test_every_bad_cell_is_named_before_anything_runs() -> None:
    with pytest.raises(sj.SojournError) as caught:
        cells(
            '[[vary]]\nkey = "links.bottleneck.rate"\nvalues = ["10 Mbit/s", "10 MB"]\n'
            '[[vary]]\nkey = "scheme.target"\nvalues = ["5 ms", "5"]\n'
        )
    message = str(caught.value)
    # 2 schemes x 2 x 2: a bad rate spoils four, a bad target two of the other four.
    assert "sweep.toml: 6 of 8 cells are impossible; nothing was run" in message
    assert "scheme=codel, rate=10 Mbit/s, target=5" in message
    assert "rate=10 MB" in message
    assert "unknown unit" in message


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"vary": (plan.grid("links.x.rate", values=["1 Mbit/s"]),)}, "links.*has no element"),
        ({"vary": (plan.grid("scheme.speed", values=[1]),)}, "codel: unknown parameter `speed`"),
        ({"vary": (plan.grid("seed", values=[1]),)}, "`seed` has a meaning of its own"),
        ({"vary": (plan.grid("schemes.red.limit", values=[1]),)}, "names no scheme"),
        ({"schemes": (plan.Scheme("codel"), plan.Scheme("codel", "same"))}, "two cells are the same runs"),
        ({"series": "0 ms"}, "interval of 0"),
        ({"paired": ("load",)}, "`load` does not vary"),
    ],
)
def test_impossible_plans_are_refused_whole(changes: dict[str, object], what: str) -> None:
    with pytest.raises(sj.SojournError, match=what):
        small_plan(**changes).check()  # type: ignore[arg-type]


def test_places_of_keys() -> None:
    found = key_lines.lines('a = 1\n[b]\nc.d = 2\n[[e]]\n"f" = 3\n[[e]]\n  g = 4 # x = 5\n')
    assert found[("b", "c", "d")] == 3
    assert found[("e", 1, "g")] == 7
    assert key_lines.line_of(found, ("e", 0, "f", "h")) == 5


def test_an_infinite_number_in_a_scenario_is_refused_at_its_place() -> None:
    text = """\
name = "sweep"
schemes = ["codel"]

[scenario]
name = "link"
duration = "1 s"
links = [{ name = "wire", from = "left", to = 3e308, rate = "5 Mbit/s", delay = "5 ms", under_test = true }]
flows = [{ name = "bulk", from = "left", to = "right" }]
"""
    with pytest.raises(sj.SojournError, match=r"`links\[0\]\.to`: is inf; allowed: a text in quotes"):
        plan.cells(plan.loads(text, source="sweep.toml"))
