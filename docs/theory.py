"""Writes the pages on theory, with pictures and with the simulator beside every prediction.

``docs/theory.py`` runs all of it: about ten minutes of CPU time. The runs depend on the seed alone, so pages change
only when the library does. ``docs/theory.py queues`` makes one page.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pages import Pages, chart, model, save, shown, table, write_named

import sojourn as sj
from sojourn import stats, theory
from sojourn.stats import Floats
from sojourn.theory import plots, stability
from sojourn.theory.fluid import SAWTOOTH, FlowClass, Fluid, Link
from sojourn.theory.translate import controller
from sojourn.view import charts
from sojourn.view.canvas import logarithmic
from sojourn.view.palette import INK, MUTED
from sojourn.view.plot import WIDTH, new_figure

NINE = tuple(f"d{k}" for k in range(9))
SERVED = 1250
"""Packets/s that leave the M/M/1 scenario at most: 10 Mbit/s, 1000 B on average."""
RED = "red limit 9000p min 200p max 2000p max_p 0.05 w 0.00005 gentle avpkt 1500B"
COV = 0.4
"""The queue's coefficient of variation that counts as the onset of oscillation."""


def scheme(name: str) -> str:
    """One of the nine functions, counting as Theorem 1 counts."""
    return f"dropping_function function {name} count system"


class Beside:
    """Predictions beside means over replications, each with an interval that holds for all at once (Bonferroni)."""

    LEVEL = 0.99

    def __init__(self) -> None:
        self.pairs: list[tuple[str, float, Floats]] = []

    def add(self, name: str, predicted: float, measured: Floats) -> None:
        """Takes one comparison."""
        self.pairs.append((name, predicted, measured))

    def bounds(self) -> list[tuple[str, float, stats.Estimate]]:
        """Name, prediction and estimate of each."""
        level = 1 - (1 - self.LEVEL) / len(self.pairs)
        return [(name, predicted, stats.estimate(values, level=level)) for name, predicted, values in self.pairs]

    def misses(self) -> str:
        """What lies outside."""
        missed = [name for name, predicted, of in self.bounds() if not of.covers(predicted)]
        if not missed:
            return "no prediction lies outside its interval"
        return f"predictions outside their intervals: {'; '.join(missed)}"


def simulated(net: sj.Network, schemes: list[str]) -> dict[str, dict[str, Floats]]:
    """Metrics by scheme: one value per replication."""
    runs = sj.compare(net, schemes, replicates=20, seed=1).runs
    names = ("system_packets_mean", "system_packets_sd", "loss_ratio", "burst_ratio")
    return {
        str(label): {name: part[name].to_numpy(dtype=np.float64) for name in names}
        for label, part in runs.groupby("scheme")
    }


def mm1(*sets: str) -> sj.Network:
    """The M/M/1 scenario with changes."""
    return sj.load("mm1", sets=["duration=410 s", "warm_up=10 s", *sets])


def queues() -> dict[str, Any]:
    """Steady states against the simulator."""
    loads = (0.8, 0.9, 1.0, 1.1, 1.2)
    beside = Beside()
    means: dict[tuple[str, float], stats.Estimate] = {}
    for load in loads:
        rate = f"flows.poisson.traffic.packets_per_second={SERVED * load}"
        found = simulated(mm1(rate), [scheme(name) for name in NINE])
        for name in NINE:
            own, predicted = found[scheme(name)], theory.queue(scheme(name), load=load)
            means[name, load] = stats.estimate(own["system_packets_mean"])
            beside.add(f"{name}, load {load:g}: mean", predicted.mean_packets, own["system_packets_mean"])
            beside.add(f"{name}, load {load:g}: sd", predicted.sd_packets, own["system_packets_sd"])
            # Below 100 expected drops in a run a ratio is no estimate.
            if predicted.loss_ratio * SERVED * load * 400 >= 100:
                beside.add(f"{name}, load {load:g}: loss", predicted.loss_ratio, own["loss_ratio"])
    at_one = [
        [
            name,
            f"{found.mean_packets:.3f}",
            f"{found.sd_packets:.2f}",
            f"{found.loss_ratio:.5f}",
            f"{theory.loss_runs(scheme(name), load=1.0).burst_ratio:.3f}",
            f"{found.response:.2f}",
        ]
        for name in NINE
        for found in [theory.queue(scheme(name), load=1.0)]
    ]
    with chart("theory-queues.png", 3.8, "load", "mean packets in the system") as axes:
        fine = np.linspace(0.78, 1.22, 89)
        for k, name in enumerate(("d0", "d1", "d4", "d7")):
            color = plots.COLORS[k]
            axes.plot(fine, [theory.queue(scheme(name), load=x).mean_packets for x in fine], color=color, label=name)
            for load in loads:
                of, at = means[name, load], load + 0.002 * (k - 1.5)
                axes.errorbar([at], [of.mean], yerr=[of.half_width], color=color, fmt="o", markersize=3)
    others = others_than_poisson()
    rows = [
        [name, f"{value:.5g}", f"{of.mean:.5g} ± {of.half_width or 0:.2g}"] for name, value, of in others.bounds()
    ]
    times = np.geomspace(10, 20_000, 60)
    change = "mean service times after the load went from 0.8 to 1.1"
    with chart("theory-change.png", 3.2, change, "mean packets in the system") as axes:
        for k, name in enumerate(("d0", "d1", "d7")):
            after = theory.after_change(scheme(name), before=0.8, load=1.1, times=times)
            axes.plot(after.time, after.mean_packets, color=plots.COLORS[k], label=name)
        logarithmic(axes, "x")
    return {
        "at_one": table(["function", "mean", "sd", "loss", "burst ratio", "response"], at_one),
        "count": len(beside.pairs),
        "misses": beside.misses(),
        "others": table(["", "theory", "simulation, simultaneous 99 % interval"], rows),
        "other_misses": others.misses(),
        "model": model("queue"),
    }


def others_than_poisson() -> Beside:
    """Other sizes of packets and other arrivals under d1."""
    others, law = Beside(), scheme("d1")
    half_s = "flows.poisson.traffic.packet_size=1000 B"
    # 40 B and 1500 B, half each: two Poisson streams; 770 B on average, so 10 Mbit/s serve 1623.4 a second.
    served = 10e6 / 8 / 770
    of_size = {"from": "source", "to": "sink", "transport": {"kind": "udp", "header": "0 B"}}
    poisson = {"kind": "poisson", "packets_per_second": served / 2}
    flows = [
        {"name": f"of-{size}", **of_size, "traffic": {**poisson, "packet_size": f"{size} B"}} for size in (40, 1500)
    ]
    mixed = sj.Network.from_dict({**mm1().to_dict(), "flows": flows})
    # Phases of 0.08 s and 0.24 s: 100 mean service times busy, a quarter of the time, at five times the rate.
    bursts = theory.switched(ratio=5, busy=0.25, cycle=100)
    low = 0.95 * SERVED / 2
    switched = (
        f'flows.poisson.traffic={{kind="switched_poisson", packets_per_second=[{5 * low}, {low}], '
        'hold=["80 ms", "240 ms"], packet_size={exponential={mean="1000 B"}}}'
    )
    cases: list[tuple[str, sj.Network, float, dict[str, Any]]] = [
        ("fixed sizes, load 1", mm1("flows.poisson.traffic.packets_per_second=1250", half_s), 1.0,
         {"service": theory.fixed()}),
        ("40 B and 1500 B, load 1", mixed, 1.0, {"service": theory.sizes([40, 1500], [1, 1])}),
        ("bursts, load 0.95", mm1(switched), 0.95, {"arrivals": bursts}),
    ]  # fmt: skip
    for name, net, load, how in cases:
        own = simulated(net, [law])[law]
        predicted = theory.queue(law, load=load, **how)
        others.add(f"{name}: mean", predicted.mean_packets, own["system_packets_mean"])
        others.add(f"{name}: sd", predicted.sd_packets, own["system_packets_sd"])
        others.add(f"{name}: loss", predicted.loss_ratio, own["loss_ratio"])
        if "arrivals" in how:
            burst = theory.loss_runs(law, load=load, **how).burst_ratio
            others.add(f"{name}: burst ratio", burst, own["burst_ratio"])
    return others


def designs() -> dict[str, Any]:
    """The nine functions solved for, and the best law."""
    rows = []
    for shape in theory.SHAPES.values():
        own = theory.design(shape.name, theory.Goal(mean_packets=50))
        solved = f"{own.location:.4f}"
        rows.append(
            [
                shape.published,
                shape.title,
                f"{shape.location:g}",
                solved.rstrip("0").rstrip(".") if own.is_whole else solved,
                f"{own.location - shape.location:+.4f}",
                f"{theory.queue(scheme(shape.published), load=1.0).mean_packets:.4f}",
            ]
        )
    laws = {name: theory.law(scheme(name)) for name in NINE}
    save(plots.dropping_functions(laws, lengths=(75, 130)), "theory-functions.png")
    costs = []
    at_one = {name: theory.queue(scheme(name), load=1.0) for name in NINE}
    for ratio in (100, 1000, 5000):
        best = theory.admission(load=1.0, delay_cost=1, loss_cost=ratio)
        each = {name: found.mean_packets + ratio * found.loss_ratio for name, found in at_one.items()}
        least = min(each, key=lambda name: each[name])
        shown_costs = (f"{best.cost:.2f}", f"{least}: {each[least]:.2f}", f"{max(each.values()):.2f}")
        costs.append([str(ratio), str(best.length), *shown_costs])
    heads = ["cost of a loss / of a service time", "best: drop from", "its cost", "best of the nine", "worst of them"]
    return {
        "rows": table(["", "shape", "published location", "solved", "difference", "mean of the published"], rows),
        "costs": table(heads, costs),
        "model": model("design"),
    }


def fluid_of(text: str, flows: int, rate_mbit_s: float, rtt_ms: float) -> Fluid:
    """One class of Reno over one link."""
    own, limit = controller(text)
    link = Link(capacity_packets_s=rate_mbit_s * 1e6 / 12_000, controller=own, buffer_packets=limit)
    return Fluid([link], [FlowClass(flows=flows, base_rtt_s=rtt_ms / 1e3, closure=SAWTOOTH)])


def dumbbell(flows: int, rate_mbit_s: float, rtt_ms: float, seconds: int) -> sj.Network:
    """The same in the simulator: Linux Reno, whose window grows by one packet a round trip."""
    return sj.dumbbell(
        flows=flows,
        rate=sj.mbit_s(rate_mbit_s),
        base_rtt=sj.ms(rtt_ms),
        congestion_control="reno",
        duration=sj.s(seconds),
        warm_up=sj.s(seconds / 3),
    )


def fluids() -> dict[str, Any]:
    """Fixed points against the simulator, and one trajectory."""
    rows = []
    for flows, rate in ((20, 60), (50, 120), (100, 200), (200, 300)):
        bdp = rate * 1e6 / 12_000 * 0.1
        for text in (
            f"red limit 4000p min {bdp * 0.1:.0f}p max {bdp:.0f}p max_p 0.01 w 0.00002 gentle avpkt 1500B",
            "pi limit 4000p q_ref 200p",
        ):
            found = fluid_of(text, flows, rate, 100).steady()
            runs = sj.compare(dumbbell(flows, rate, 100, 120), [text], replicates=4, seed=1).runs
            queue, loss = (stats.estimate(runs[name].to_numpy()) for name in ("queue_packets_mean", "loss_ratio"))
            rows.append(
                [
                    text.split()[0],
                    str(flows),
                    f"{found.window_packets[0]:.1f}",
                    f"{found.queue_packets[0]:.1f}",
                    shown(queue, 1),
                    f"{found.queue_packets[0] / queue.mean:.3f}",
                    f"{found.probability[0]:.5f}",
                    shown(loss, 5),
                    f"{found.probability[0] / loss.mean:.3f}",
                ]
            )
    with new_figure(WIDTH, 4.6) as drawing:
        panels = drawing.subplots(2, 1, sharex=True)
        for axes, rtt in zip(panels, (80, 200), strict=True):
            own = fluid_of(RED, 200, 240, rtt).run(duration_s=60, step_s=rtt / 1e3 / 20)
            samples = sj.compare(dumbbell(200, 240, rtt, 60), [RED], replicates=1, seed=1, series=sj.ms(100)).series
            samples = samples[samples["name"] == "queue_packets"]
            axes.plot(samples["t_s"], samples["value"], color=MUTED, linewidth=0.9, label="simulator")
            axes.plot(own.time_s, own.queue_packets[:, 0], color=plots.COLORS[1], linewidth=1.4, label="fluid")
            axes.set(ylabel="packets", title=f"base RTT {rtt} ms")
        panels[1].set_xlabel("s")
        charts.legend(drawing, panels, loc="outside upper left", ncols=2)
    save(drawing, "theory-fluid.png")
    return {"rows": table(["", "flows", "window", "queue", "simulated", "ratio", "loss", "simulated", "ratio"], rows)}


def stable() -> dict[str, Any]:
    """The stable region, and where it ends in the simulator."""
    region = stability.chart(
        lambda rtt, flows: fluid_of(RED, int(flows), 240, rtt * 1e3),
        np.geomspace(0.04, 0.4, 25),  # type: ignore[arg-type]
        np.geomspace(60, 600, 25).round(),  # type: ignore[arg-type]
    )
    save(plots.stable_region(region, first="base RTT (s)", second="flows"), "theory-region.png")
    loops = {f"{rtt} ms": stability.linearise(fluid_of(RED, 200, 240, rtt)) for rtt in (80, 120, 200)}
    save(plots.nyquist(loops), "theory-nyquist.png")
    margins = [
        [
            name,
            f"{linear.steady.window_packets[0]:.1f}",
            f"{stability.delay_margin(linear).delay_s * 1e3:.0f}",
            f"{float(stability.roots(linear)[0].real):.3f}",
        ]
        for name, linear in loops.items()
    ]
    return {
        "cov": COV,
        "onsets": onsets(),
        "margins": table(["base RTT", "window", "delay margin (ms)", "growth (1/s)"], margins),
        "threshold": thresholds(),
        "decays": decays(),
        "model": model("stability"),
    }


def onsets() -> str:
    """Where the queue begins to oscillate in the simulator, beside the prediction."""
    rows = []
    x, y = "base RTT (ms); dotted: where the linear model loses stability", "sd / mean of the queue"
    with chart("theory-onset.png", 3.6, x, y, loc="outside upper left", ncols=3) as axes:
        for k, (flows, red) in enumerate(
            (
                (200, RED),
                (200, "red limit 9000p min 200p max 1400p max_p 0.05 w 0.00002 gentle avpkt 1500B"),
                (150, RED),
            )
        ):
            hopf = stability.hopf(lambda rtt, n=flows, s=red: fluid_of(s, n, 240, rtt * 1e3), 0.02, 0.9)
            assert hopf is not None  # noqa: S101 - the settings are chosen so
            predicted = hopf.value * 1e3
            rtts = [round(predicted * part) for part in (0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5)]
            spread = []
            for rtt in rtts:
                runs = sj.compare(dumbbell(flows, 240, rtt, 90), [red], replicates=3, seed=1).runs
                spread.append(float((runs["queue_packets_sd"] / runs["queue_packets_mean"]).mean()))
            onset = float(np.interp(COV, spread, rtts))
            label = f"{flows} flows, w {red.split('w ')[1].split()[0]}"
            axes.plot(rtts, spread, color=plots.COLORS[k], marker="o", markersize=4, label=label)
            axes.axvline(predicted, color=plots.COLORS[k], linestyle=":", linewidth=1.2)
            shape = red.removeprefix("red limit 9000p ").removesuffix(" gentle avpkt 1500B")
            at_rtt = (f"{predicted:.1f}", f"{hopf.window_packets:.1f}", f"{hopf.period_s:.2f}")
            rows.append([shape, str(flows), *at_rtt, f"{onset:.0f}", f"{onset / predicted:.2f}"])
        axes.axhline(COV, color=INK, linewidth=0.8)
    at = ["predicted (ms)", "window at that RTT", "period at that RTT (s)", "onset simulated (ms)", "ratio"]
    return table(["RED", "flows", *at], rows)


def thresholds() -> str:
    """At which RTTs a threshold is stable."""
    rtts, found = np.geomspace(0.01, 1.0, 60), []
    with chart(
        "theory-threshold.png", 3.4, "base RTT (ms), 50 flows over 6250 packets/s", "growth in a round trip"
    ) as axes:
        for k, q_th in enumerate((15, 50, 100)):
            growth = []
            for rtt in rtts:
                link = Link(capacity_packets_s=6250.0, controller=controller(f"threshold q_th {q_th}p")[0])
                linear = stability.linearise(Fluid([link], [FlowClass(flows=50, base_rtt_s=float(rtt))]))
                growth.append(float(stability.roots(linear)[0].real) * linear.delay_s)
            axes.plot(rtts * 1e3, growth, color=plots.COLORS[k], label=f"q_th = {q_th}")
            found.append(f"* q_th = {q_th}: {_sides(rtts, growth)}")
        axes.axhline(0, color=INK, linewidth=0.8)
        logarithmic(axes, "x")
    return "\n".join(found)


def decays() -> str:
    """Whether a disturbance dies out under a threshold: in the fluid model, and in the simulator."""
    rows, at_s, steps = [], 20.0, 60
    for q_th in (15, 50, 100):
        for rtt_s in (0.01, 0.025, 0.05, 0.1, 0.2, 0.3):
            step_s = max(rtt_s, 0.05)
            end_s = at_s + 4 * rtt_s
            text = f"threshold q_th {q_th}p"
            link = Link(capacity_packets_s=6250.0, controller=controller(text)[0])
            linear = stability.linearise(Fluid([link], [FlowClass(flows=50, base_rtt_s=rtt_s)]))
            growth = float(stability.roots(linear)[0].real) * linear.delay_s
            still = dumbbell(50, 75, 1e3 * rtt_s, 1).to_dict()
            still |= {"duration": f"{end_s + steps * step_s} s", "warm_up": f"{at_s - 2} s"}
            half = [{"at": f"{at_s} s", "rate": "37.5 Mbit/s"}, {"at": f"{end_s} s", "rate": "75 Mbit/s"}]
            pair = [
                sj.compare(sj.Network.from_dict(one), [text], replicates=20, seed=1, series=f"{step_s} s")
                for one in (still, {**still, "changes": half})
            ]
            own = [one.series[one.series["name"] == "goodput_bit_s"] for one in pair]
            level = [one.pivot(index="t_s", columns="replication", values="value") for one in own]
            lost = 100 * (level[0] - level[1])[level[0].index > end_s] / 75e6
            mean = lost.mean(axis=1)
            after = next(t - end_s for t, value in mean.items() if value < mean.max() / 10)
            rest = stats.estimate(lost.iloc[-steps // 4 :].mean().to_numpy())
            spread = (pair[0].runs["queue_packets_sd"] / pair[0].runs["queue_packets_mean"]).mean()
            rows.append(
                [
                    *(str(q_th), f"{1e3 * rtt_s:g} ms", f"{growth:+.2f}", f"{mean.max():.0f} %"),
                    *(f"{after:.2f} s", f"{rest.mean:.1f} ± {rest.half_width or 0:.1f} %", f"{spread:.2f}"),
                ]
            )
    heads = [
        "threshold",
        "base RTT",
        "fluid: growth in a round trip",
        "simulated: greatest loss",
        "below a tenth after",
    ]
    return table([*heads, "at the end", "queue's coefficient of variation"], rows)


def _sides(rtts: Floats, growth: list[float]) -> str:
    signs = np.array(growth) < 0
    if signs.all():
        return "stable at every RTT in the figure"
    crossings = [rtts[k] * 1e3 for k in range(1, len(signs)) if signs[k] != signs[k - 1]]
    first = "stable" if signs[0] else "unstable"
    return f"{first} at small RTTs, changes at {' and '.join(f'{c:.0f} ms' for c in crossings)}"


def rules() -> dict[str, Any]:
    """Response functions."""
    loss = np.geomspace(1e-6, 0.1, 80)
    with chart("theory-rules.png", 3.8, "loss ratio", "mean window (packets)") as axes:
        reno = [theory.square_root_window(loss_ratio=p) for p in loss]
        timeouts = [theory.padhye_rate(loss_ratio=p, rtt_s=0.1) * 0.1 for p in loss]
        axes.plot(loss, reno, color=plots.COLORS[0], label="Reno, square root")
        axes.plot(loss, timeouts, color=plots.COLORS[0], linestyle="--", label="Reno with timeouts, RTT 100 ms")
        for k, rtt in enumerate((0.02, 0.1, 0.3), 1):
            cubic = [theory.cubic_window(loss_ratio=p, rtt_s=rtt) for p in loss]
            axes.plot(loss, cubic, color=plots.COLORS[k], label=f"CUBIC, RTT {rtt * 1e3:g} ms")
        logarithmic(axes, "x")
        logarithmic(axes, "y")
    rows = [
        [f"{scv:g}", f"{found.load:.3f}", f"{found.mean_packets:.2f}", f"{found.response:.3f}"]
        for scv in (0, 0.5, 1, 4)
        for found in [theory.kleinrock(scv=scv)]
    ]
    return {
        "kleinrock": table(["service's squared variation", "load", "packets", "response"], rows),
        "losses": losses(),
        "model": model("rules"),
    }


def losses() -> str:
    """Reno's losses under CoDel, beside the square-root rule and the same with timeouts."""
    rows = []
    marks, no_delay = {"ecn": True}, {"ack_every": "1 p"}
    for flows, rate, what, scheme, transport in (
        (20, 20, "", "codel", no_delay),
        (20, 20, "an acknowledgement for every second packet", "codel", {}),
        (20, 20, "RACK and tail loss probes", "codel", no_delay | {"recovery": "rack", "tail_loss_probe": True}),
        (20, 20, "marks in place of drops", "codel ecn", no_delay | marks),
        (4, 20, "", "codel", no_delay),
        (20, 200, "", "codel", no_delay),
    ):
        net = dumbbell(flows, rate, 40, 60).to_dict()
        net["flows"][0]["transport"] |= transport
        runs = sj.compare(sj.Network.from_dict(net), [scheme], replicates=5, seed=1).runs
        delay_s = float(runs["sojourn_ms_mean"].mean()) / 1e3
        signals = stats.estimate((runs["loss_ratio"] + runs["mark_ratio"]).to_numpy())
        empty, own = (rate * 1e6 / 12_000 * rtt / flows for rtt in (0.04, 0.04 + delay_s))
        timeouts = runs["timeouts"] / runs["measured_s"] / flows
        rows.append(
            [
                *(str(flows), str(rate), what, f"{1e3 * delay_s:.1f}", f"{own:.1f}", f"{150 / empty**2:.3g}"),
                f"{150 / own**2:.3g}",
                f"{100 * theory.padhye_loss_ratio(window=own, rtt_s=0.04 + delay_s):.3g}",
                shown(signals, 3, 100),
                f"{timeouts.mean():.3f}",
            ]
        )
    heads = ["flows", "Mbit/s", "TCP", "queueing (ms)", "window", "rule, no queue (%)", "rule (%)"]
    return table([*heads, "with timeouts (%)", "simulated (%)", "timeouts per flow and second"], rows)


PAGES: Pages = {
    "queues": ("concepts/theory-queues.md", queues),
    "design": ("concepts/theory-design.md", designs),
    "fluid": ("concepts/theory-fluid.md", fluids),
    "stability": ("concepts/theory-stability.md", stable),
    "rules": ("concepts/theory-rules.md", rules),
}


if __name__ == "__main__":
    write_named(PAGES)
