"""The experiment's traffic and configuration, without a network; tests/device runs it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from sojourn.cli import main
from sojourn.real.device import experiment, traffic
from sojourn.real.device.lab import Lab


class _Lab(Lab):
    """A laboratory that is not built: names alone."""

    def __init__(self) -> None:
        self._clients = 5

    @property
    def folder(self) -> Path:
        return Path("/lab")


_PLAN = experiment.Experiment(slots=4, slot_s=5.0, packets=4000, rate="100 Mbit/s")


def test_sizes_of_transfers_have_the_mean_that_the_arrival_rate_is_made_for() -> None:
    sizes = {"shape": 1.2, "least": 40_000.0, "most": 10_000_000.0}
    mean = traffic.pareto_mean(**sizes)
    # By quantiles: the midpoints of a million equal shares.
    numeric = sum(traffic.pareto((n + 0.5) / 1e6, **sizes) for n in range(1_000_000)) / 1e6
    assert numeric == pytest.approx(mean, rel=1e-3)


def test_what_clients_send_is_the_stated_share_of_the_link() -> None:
    plans = [experiment.sender_plan(_PLAN, _Lab(), number, 0.0, 20.0) for number in range(5)]
    tcp = plans[0]["transfers"]
    mean = traffic.pareto_mean(shape=tcp["shape"], least=tcp["least_bytes"], most=tcp["most_bytes"])
    assert 5 * 8 * tcp["a_second"] * mean == pytest.approx(100e6 * experiment.TRANSFERS_SHARE)
    # A stream is there life_s of the time between arrivals: by Little's law a_second * life_s at a time.
    udp = sum(kind["a_second"] * kind["life_s"] * kind["rate_bit_s"] for kind in plans[0]["streams"])
    assert 5 * udp == pytest.approx(100e6 * sum(kind["share"] for kind in experiment.STREAMS))
    assert len({plan["seed"] for plan in plans}) == 5


def test_arrivals_follow_the_demand() -> None:
    plan = experiment.sender_plan(_PLAN, _Lab(), 0, 0.0, 20.0)
    plan["demand"] = {"period_s": 8.0, "low": 1.0, "high": 3.0}
    sender = traffic.Sender(plan)
    due, early, late = 0.0, 0, 0
    while due < 8.0:
        due = sender._next(due, 1000.0)
        early += due < 2.0
        late += 2.0 <= due < 6.0
    sender.close()
    # The triangle from 1 to 3 and back: a mean of 1.5 over the first quarter, 2.5 over the middle half.
    assert early == pytest.approx(2 * 1500, rel=0.06)
    assert late == pytest.approx(4 * 2500, rel=0.04)


def test_the_configuration_gives_every_client_its_delay_and_the_schedule_its_schemes() -> None:
    document = tomllib.loads(experiment.configuration(_PLAN, _Lab(), Path("/lab/device.sqlite")))
    assert document["b_to_a"]["delays"] == {
        "10.77.0.10/32": "4 ms",
        "10.77.0.11/32": "14 ms",
        "10.77.0.12/32": "35 ms",
        "10.77.0.13/32": "90 ms",
        "10.77.0.14/32": "200 ms",
    }
    assert document["schedule"]["every"] == "5 s"
    assert list(document["schedule"]["schemes"]) == ["none", *(f"d{n}" for n in range(9))]
    assert document["windows"] == {"packets": 4000, "store": "/lab/device.sqlite"}


def test_a_plan_without_a_slot_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["device", "experiment", "nowhere", "--minutes", "0.01"]) == 2
    assert "at least one slot" in capsys.readouterr().err


def test_a_switchback_of_ones_own_is_that_of_the_laboratory(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "sojournd.toml"
    words = ["device", "switchback", "wan0", "lan0", "--rate", "1 Gbit/s", "--out", str(file)]
    assert main(words) == 0
    assert f"sojournd doctor {file}" in capsys.readouterr().out
    own = tomllib.loads(file.read_text(encoding="utf-8"))
    assert (own["ports"]["a"]["interface"], own["ports"]["b"]["interface"]) == ("wan0", "lan0")
    # The study's: windows of two million packets, slots of an hour.
    assert (own["windows"]["packets"], own["schedule"]["every"], own["a_to_b"]["rate"]) == (
        2_000_000,
        "3600 s",
        "1 Gbit/s",
    )
    laboratory = tomllib.loads(experiment.configuration(_PLAN, _Lab(), Path("/lab/device.sqlite")))
    assert own["schedule"]["schemes"] == laboratory["schedule"]["schemes"]
    assert main(words) == 2
    assert "is there already" in capsys.readouterr().err
    for wrong, why in (
        (["lan0", "lan0", "--rate", "1 Gbit/s"], "two different ones"),
        (["wan0", "lan0", "--rate", "1 Gbi"], "--rate is '1 Gbi'"),
        (["wan0", "lan0", "--rate", "1 Gbit/s", "--slot", "0"], "--slot is 0 s; allowed: 1 or more"),
        (["wan0", "lan0", "--rate", "1 Gbit/s", "--packets", "0"], "--packets is 0; allowed: 1 or more"),
    ):
        assert main(["device", "switchback", *wrong, "--out", str(tmp_path / "other.toml")]) == 2
        assert why in capsys.readouterr().err
