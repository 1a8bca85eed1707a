"""Presets named after a kernel: what `tc -d qdisc show` of that kernel answers, beside ours."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from sojourn.base import core
from sojourn.model.scheme import Scheme
from sojourn.tc.kinds import KINDS, Option, Switch
from test_tc_linux import same

RECORDED = Path(__file__).parents[2] / "crosscheck/recorded"
KERNELS = {"linux-6.1": "linux_tc.jsonl", "linux-6.12": "linux_tc_6.12.jsonl"}


def rows(file: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    about, *found = (json.loads(row) for row in (RECORDED / file).read_text(encoding="utf-8").splitlines())
    return about, found


def answers(preset: str) -> dict[str, str]:
    """What a kernel answers to each line: 6.1's answers, but where another kernel's differ."""
    own = {row["line"]: row["detail"] for row in rows(KERNELS[preset])[1]}
    return {row["line"]: row["detail"] for row in rows(KERNELS["linux-6.1"])[1]} | own


def parameters(text: str) -> dict[str, str]:
    return {parameter.name: parameter.value for parameter in Scheme(text).parameters()}


PRESETS = {entry["name"]: entry["presets"] for entry in core.aqms()}
PLAIN = ("codel", "fq_codel", "pie", "fq_pie", "pfifo", "sfb", "sfq", "cake")
"""What tc installs by its name alone; bfifo then has a limit of the interface's queue, and red none."""


@pytest.mark.parametrize("preset", KERNELS)
def test_the_records_are_of_the_kernels_that_presets_name(preset: str) -> None:
    assert f" {preset.removeprefix('linux-')}." in rows(KERNELS[preset])[0]["kernel"]


@pytest.mark.parametrize("kind", PLAIN)
@pytest.mark.parametrize("preset", KERNELS)
def test_a_preset_has_what_its_kernel_shows(preset: str, kind: str) -> None:
    # A discipline without presets is a whole line of tc, which has tc's defaults.
    ours = f"{kind} preset {preset}" if preset in PRESETS[kind] else f"tc qdisc replace dev eth0 root {kind}"
    given, shown = parameters(ours), parameters(answers(preset)[kind])
    differing = {
        option.name: (given[option.name], shown[option.name])
        for option in KINDS[kind].options
        if not alike(option, kind, given[option.name], shown[option.name])
    }
    assert not differing


def alike(option: Option, kind: str, ours: str, linux: str) -> bool:
    # PIE's delay by timestamps and that of departing packets are one word of tc.
    if isinstance(option, Switch):
        return option.words[ours] == option.words[linux]
    return same(option.name, kind, ours, linux)


def test_newer_kernels_show_what_6_1_shows() -> None:
    about, differing = rows(KERNELS["linux-6.12"])
    assert about["lines"] == "those of linux_tc.jsonl; 0 of 105 are shown in another way"
    assert not differing


def test_fq_codel_has_ecn_and_resets_the_time_above_target() -> None:
    for preset in ("linux-6.1", "linux-6.12", "linux-7.2"):
        found = parameters(f"fq_codel preset {preset}")
        assert (found["ecn"], found["stale_first_above"]) == ("on", "off")


def test_dualpi2_came_after_6_12() -> None:
    assert PRESETS["dualpi2"] == ["rfc", "linux-7.2"]
    # Linux: `min_qlen_step` is 0, so that the step marks the only packet of the queue too.
    assert parameters("dualpi2 preset linux-7.2")["min_qlen_step"] == "0p"
    with pytest.raises(sj.SojournError, match=r'unknown preset "linux-6.1".*allowed: rfc, linux-7.2'):
        core.parse_aqm("dualpi2 preset linux-6.1")


def test_linux_without_a_version_is_the_newest_kernel_and_recorded_under_its_name() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scheme = Scheme("codel preset linux limit 100p")
    assert scheme.label == scheme.text == "codel preset linux-7.2 limit 100p"
    assert scheme.canonical == Scheme("codel preset linux-7.2 limit 100p").canonical
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert Scheme("codel preset linux", "mine").label == "mine"
        assert Scheme("avq preset seed004").text == "avq preset hassan"


def test_what_linux_is_is_said_once() -> None:
    code = "from sojourn.base.core import parse_aqm as parse\nfor _ in range(2): parse('fq_codel preset linux')"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stderr.count('fq_codel: "preset linux" is "preset linux-7.2" here') == 1
