"""A plan as a TOML document."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sojourn.base import core, toml
from sojourn.plan.identity import SIMULATED
from sojourn.plan.parts import AUTO
from sojourn.plugins.loading import shipped_in

if TYPE_CHECKING:
    from sojourn.plan.model import Plan


def dumps(plan: Plan) -> str:
    """Write a plan as TOML that :func:`sojourn.plan.loads` takes back, its variations as the points they have."""
    scenario = toml.dumps(core.load(plan.scenario, source=plan.source, sets=plan.sets))
    texts = [one.exact for one in plan.schemes]
    schemes = [
        text if one.label == text else {"label": one.label, "text": text}
        for one, text in zip(plan.schemes, texts, strict=True)
    ]
    plugins = [{"name": one.name, "kind": one.kind, "content": one.content} for one in shipped_in([scenario, *texts])]
    series: Any = plan.series or "none"
    if plan.series not in (None, AUTO):
        series = {"interval": plan.series, "replications": plan.series_replications}
    goals = [{"metric": g.metric, "within": g.within, "floor": g.floor, "ceiling": g.ceiling} for g in plan.precision]
    document: dict[str, Any] = {
        "name": plan.name,
        "description": plan.description or None,
        "world": None if plan.world == SIMULATED else plan.world,
        "seed": plan.seed,
        "replications": None if plan.precision else plan.replications,
        "paired": None if plan.paired is None else list(plan.paired),
        "plugins": plugins or None,
        "schemes": schemes or None,
        "series": series,
        "show": {"metrics": list(plan.metrics), "figures": [{"y": f.y, "x": f.x} for f in plan.figures]},
        "precision": goals or None,
    }
    lines = [f"{key} = {toml.inline(found)}" for key, found in document.items() if found is not None]
    for variation in plan.vary:
        columns = [
            {"key": list(factor.keys), "name": factor.name, "values": [point[k] for point in variation.points]}
            for k, factor in enumerate(variation.factors)
        ]
        lines += ["", "[[vary]]", "zip = [", *(f"  {toml.inline(column)}," for column in columns), "]"]
    # Lines that start with a bracket are headers: values stand behind their key.
    return "\n".join([*lines, "", "[scenario]", re.sub(r"^(\[\[?)", r"\1scenario.", scenario, flags=re.MULTILINE)])
