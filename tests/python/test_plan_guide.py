"""The plans in the guide are plans."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sojourn import plan

GUIDES = Path(__file__).resolve().parents[2] / "docs" / "guides"
TEXTS = [
    pytest.param(text, id=f"{page.stem}:{number}")
    for page in sorted(GUIDES.glob("plan*.md"))
    for number, text in enumerate(re.findall(r"^```toml\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE), 1)
]
WHOLE = 'name = "part"\nscenario = "dumbbell"\nschemes = ["codel", { label = "PIE", text = "pie" }]\n'


def test_the_guide_has_plans() -> None:
    assert len(TEXTS) >= 3


@pytest.mark.parametrize("text", TEXTS)
def test_every_plan_in_the_guide_is_possible(text: str) -> None:
    plan.cells(plan.loads(text if "scenario =" in text else WHOLE + text))
