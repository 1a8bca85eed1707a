"""Pictures of section 7.2: the scheme that each controller chose over time, the queue, and the rewards."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sojourn import stats
from sojourn.stats import Estimate
from sojourn.view import charts, plot
from sojourn.view.palette import INK, MUTED, Look, looks
from sojourn.view.plot import Picture

from .evaluate import Comparison, values
from .model import Weights
from .traffic import phases

if TYPE_CHECKING:
    from .episodes import Episode


def arm_looks(compared: Comparison) -> list[Look]:
    """Return the look of each arm."""
    names = list(compared.names)
    of = looks(names, [name.split("_")[0] for name in compared.adaptive.arms])
    return [of[name] for name in names]


def timeline(compared: Comparison, weights: Weights) -> Picture:
    """Draw the first episode: a strip of choices for each controller, and its queue and the best fixed scheme's."""
    adaptive = compared.adaptive
    best = compared.best(weights)
    strips: list[tuple[str, Episode]] = [
        (f"controller, every {hold * adaptive.interval_s:g} s", compared.learnt[weights.name, hold][0])
        for hold in adaptive.holds
    ]
    strips.append(("told the kind of traffic", compared.clock[weights.name][1][0]))
    own = arm_looks(compared)
    times = np.arange(len(strips[0][1].arm) + 1, dtype=np.float64) * adaptive.interval_s
    with plot.new_figure(plot.WIDTH, 2.2 + 0.36 * len(strips) + 1.4 * len(strips)) as drawing:
        heights = [0.34 * len(strips) + 0.2, *[1.25] * len(strips)]
        panels = drawing.subplots(1 + len(strips), 1, sharex=True, height_ratios=heights)
        for row, (_, episode) in enumerate(strips):
            # One bar a stretch: hairlines between bars would look like switches.
            begins = [k for k, arm in enumerate(episode.arm) if k == 0 or arm != episode.arm[k - 1]]
            for begin, end in pairwise([*begins, len(episode.arm)]):
                span = {"left": times[begin], "height": 0.74, "linewidth": 0}
                panels[0].barh(row, times[end] - times[begin], color=own[episode.arm[begin]].color, **span)
        panels[0].set_yticks(range(len(strips)), [name for name, _ in strips])
        panels[0].set_ylim(len(strips) - 0.5, -0.5)
        panels[0].set_xlim(0, times[-1])
        panels[0].grid(visible=False)
        used = sorted({arm for _, episode in strips for arm in episode.arm})
        handles = [panels[0].barh(-9, 0, color=own[arm].color, label=own[arm].short) for arm in used]
        drawing.legend(handles=handles, loc="outside upper left", ncols=len(used), frameon=False)
        fixed = compared.fixed[best][0]
        for axes, (name, episode) in zip(panels[1:], strips, strict=True):
            for shown, color in ((fixed, MUTED), (episode, "#d55e00")):
                axes.stairs(shown.queue_packets, times, baseline=None, color=color, linewidth=1.3)
            axes.set_title(f"{name}; grey: always {compared.names[best]}", loc="left", fontsize=9)
            axes.set_yscale("symlog", linthresh=10)
            axes.set_ylim(0, 3000)
            axes.set_yticks([0, 10, 100, 1000], ["0", "10", "100", "1000"])
            for begin_s, _, _ in phases(adaptive)[1:]:
                axes.axvline(begin_s, color=INK, linewidth=0.8, linestyle=(0, (2, 2)))
        for begin_s, _, kind in phases(adaptive):
            panels[0].axvline(begin_s, color=INK, linewidth=0.8, linestyle=(0, (2, 2)))
            panels[0].text(begin_s + 0.15, -0.56, kind["name"], fontsize=8.5, va="bottom", ha="left")
        drawing.supylabel("Queue (packets), mean of each window", fontsize=9.5)
        panels[-1].set_xlabel("Time (s)")
    return drawing


def differences(rows: Sequence[tuple[str, Estimate]], baseline: str) -> Picture:
    """Draw paired differences of the reward to a fixed scheme, one row each."""
    with plot.new_figure(plot.WIDTH, 1.0 + 0.27 * len(rows)) as drawing:
        axes = drawing.add_subplot()
        for row, (name, of) in enumerate(rows):
            charts.interval(axes, of, row, charts.CHOSEN if name.startswith("controller") else MUTED)
        axes.axvline(0, color=INK, linewidth=1)
        charts.names(axes, [name for name, _ in rows])
        axes.set_xlabel(f"Reward minus that of {baseline} on the same traffic (95 % intervals); right is better")
    return drawing


def cost(compared: Comparison, weights: Weights) -> Picture:
    """Draw every scheme's reward when it is switched to itself, over the time from one switch to the next."""
    adaptive = compared.adaptive
    own = arm_looks(compared)
    spots = range(len(adaptive.holds) + 1)
    names = [f"{hold * adaptive.interval_s:g} s" for hold in adaptive.holds]
    with plot.new_figure(plot.WIDTH, 3.9) as drawing:
        axes = drawing.add_subplot()
        for arm, look in enumerate(own):
            episodes = [*(compared.anew[hold][arm] for hold in adaptive.holds), compared.fixed[arm]]
            found = [stats.estimate(values(one, weights, "reward")) for one in episodes]
            charts.curve(axes, spots, found, look)
        axes.set_xticks(spots, [*names, "never"])
        axes.set_xlabel("Time from one switch to the same scheme to the next")
        axes.set_ylabel("Reward")
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    return drawing
