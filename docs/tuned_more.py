"""What was looked at after the study of docs/tuned.py, and so is no test: whole fronts, and plain rules.

``docs/tuned_more.py`` evaluates every point of each scheme's front on the held-out networks, and draws them.
"""

from __future__ import annotations

import json

from pages import BLUE, RED, save
from tuned import DELAY, GOODPUT, JOBS, MEASURES, OUT, PROTOCOL, Judge, networks, plan_of, shown

from sojourn import stats
from sojourn.base import core
from sojourn.studies import tune
from sojourn.view.plot import WIDTH, new_figure

RULES = {
    "more than 5 packets wait": "q0 5p drop_rate 0.05721 drop_duration 1.658ms",
    "more than 5 packets wait, no phase": "q0 5p drop_rate 0.01 drop_duration 1us",
}
STYLES = {
    "daqm": (RED, "o"),
    "derivatives": (RED, "x"),
    "pie": (BLUE, "s"),
    "codel": (BLUE, "^"),
    "cobalt": (BLUE, "v"),
}


def main() -> None:
    """Evaluates and draws."""
    judge = Judge.over(networks()[1])
    points = {}
    with new_figure(WIDTH, 4.4) as figure:
        axes = figure.add_subplot()
        for one in PROTOCOL["scheme"]:
            if one["id"] not in STYLES:
                continue
            found = tune.run(plan_of(one), OUT / one["id"], jobs=JOBS, progress=False)
            own = []
            for trial in found.candidates:
                x, y = (stats.estimate(judge.scores(trial.text, measure)).mean for measure in (GOODPUT, DELAY))
                own.append((x, y, trial.text))
            own.sort()
            points[one["id"]] = own
            color, marker = STYLES[one["id"]]
            xs, ys = [100 * x for x, _, _ in own], [y for _, y, _ in own]
            axes.plot(xs, ys, marker=marker, color=color, linewidth=0.8, markersize=4, label=one["name"])
            print(one["id"], flush=True)
        for name, text in RULES.items():
            scheme = core.parse_aqm(f"daqm s0 none {text} limit 1000p")
            print(
                f"| {name} | " + " | ".join(shown(judge.scores(scheme, each)) for each in MEASURES) + " |", flush=True
            )
            points[name] = [(*(float(judge.scores(scheme, each).mean()) for each in (GOODPUT, DELAY)), scheme)]
            ((x, y, _),) = points[name]
            axes.plot(100 * x, y, "*", color="black", markersize=9)
        axes.set_xlabel("goodput over that of CoDel with defaults, logarithm in %")
        axes.set_ylabel("p99 queueing delay, logarithm")
        axes.set_xlim(left=-25)
        axes.legend()
    save(figure, "tuned-fronts.png")
    (OUT / "fronts.json").write_text(json.dumps(points, indent=1))


if __name__ == "__main__":
    main()
