"""One algorithm, two worlds: Linux's cubic through the device, and the simulator's through the same setting."""

from __future__ import annotations

import json
import statistics
import sys
import time

from tables import spread, table

import sojourn as sj
from sojourn.real.device.lab import Lab, LabError

SCHEMES = ["pfifo limit 100p", "codel", "pie", "fq_codel", "red min 30p max 90p limit 1000p", "daqm"]
RATE_MBIT_S = 50
ONE_WAY_MS = 10
FLOWS = 4
#: Slow start and the first losses are over.
WARM_UP_S = 10
#: Replications of the simulator: it costs little.
REPLICATES = 10
METRICS = {
    "sojourn_ms": ("sojourn_ms_mean", 1),
    "goodput_mbit_s": ("goodput_bit_s", 1e6),
    "loss_ratio": ("loss_ratio", 1),
}
#: How close the device must be.
SOJOURN_WITHIN, GOODPUT_WITHIN = 0.20, 0.03
#: A device that lost more of its rate than this for want of processor time served another link than the simulator.
LATE_AT_MOST = 0.005


def network(seconds: float) -> sj.Network:
    """Return the laboratory as the simulator sees it: Linux's defaults, 14 B of Ethernet with every packet."""
    access = sj.gbit_s(10)
    return (
        sj.Network(name="device", duration=sj.s(WARM_UP_S + seconds), warm_up=sj.s(WARM_UP_S))
        .node(name="sender", count=FLOWS)
        .node(name="receiver", count=FLOWS)
        .link(
            name="bottleneck",
            from_="left",
            to="right",
            rate=sj.mbit_s(RATE_MBIT_S),
            delay=sj.ms(ONE_WAY_MS),
            overhead=sj.bytes_(14),
            queue="codel",
            under_test=True,
        )
        .link(name="sender_access", from_="sender", to="left", rate=access, delay=sj.ms(0))
        .link(name="receiver_access", from_="right", to="receiver", rate=access, delay=sj.ms(0))
        .flow(
            name="bulk",
            from_="sender",
            to="receiver",
            transport=sj.tcp(congestion_control="cubic", recovery="rack", tail_loss_probe=True),
            # iperf3 begins its connections one after the other, within milliseconds.
            start=sj.draw.uniform(sj.s(0), sj.s(0.02)),
        )
    )


def simulate(seconds: float) -> dict[str, dict[str, float]]:
    """Return mean sojourn time (ms), goodput of all flows (Mbit/s) and loss ratio, by scheme, with half-widths."""
    summary = sj.compare(network(seconds), SCHEMES, replicates=REPLICATES, seed=1).summary()
    rows = summary.set_index(["scheme", "metric"])
    found: dict[str, dict[str, float]] = {}
    for scheme in SCHEMES:
        own = found.setdefault(scheme, {})
        for name, (metric, size) in METRICS.items():
            row = rows.loc[(scheme, metric)]
            own[name] = float(row["mean"]) / size
            own[f"{name}_half"] = float(row["high"] - row["low"]) / 2 / size
    return found


def _look(lab: Lab) -> dict[str, float]:
    way = lab.status()["directions"][0]
    counts = way["counts"]
    return {
        "packets": way["sojourn_totals"]["packets"],
        "sum_s": way["sojourn_totals"]["sum_s"],
        "arrived": counts["arrived"]["packets"],
        "dropped": sum(counts[f"dropped_{reason}"]["packets"] for reason in ("overflow", "early", "flow")),
        "late_s": way["late_s"],
    }


def measure(scheme: str, seconds: float) -> dict[str, float]:
    """Return the same of one run of the device, and the share of time that it came late."""
    with Lab(name="bench") as lab:
        delay = f"{ONE_WAY_MS} ms"
        rate = f"{RATE_MBIT_S} Mbit/s"
        lab.start_device(lab.toml(scheme=scheme, rate=rate, delay=delay, return_delay=delay, idle="spin"))
        server, port = lab.start_iperf_server()
        command = ["iperf3", "--json", "-c", lab.address("server"), "-p", str(port), "-C", "cubic", "-P", str(FLOWS)]
        command += ["-O", str(WARM_UP_S), "-t", f"{seconds:g}", "--logfile", str(lab.folder / "iperf.json")]
        client = lab.start("client", *command)
        time.sleep(WARM_UP_S)
        begin = _look(lab)
        time.sleep(seconds - 0.5)
        end = _look(lab)
        client.wait(timeout=30)
        lab.stop(server, kill=True)
        lab_log = lab.device_log()
        document = json.loads((lab.folder / "iperf.json").read_text())
    gone = {key: end[key] - begin[key] for key in begin}
    if not gone["packets"]:
        raise LabError(f"{scheme}: no packet left the queue in {seconds:g} s; the device says:\n{lab_log}")
    return {
        "sojourn_ms": gone["sum_s"] / gone["packets"] * 1e3,
        "goodput_mbit_s": document["end"]["sum_received"]["bits_per_second"] / 1e6,
        "loss_ratio": gone["dropped"] / gone["arrived"],
        "late_ratio": gone["late_s"] / (seconds - 0.5),
    }


def agreement(runs: int, seconds: float) -> list[dict[str, object]]:
    """Compare the device with the simulator; each run takes ten times `seconds` after the warm-up."""
    seconds *= 10
    simulated = simulate(seconds)
    results: list[dict[str, object]] = []
    rows = []
    for scheme in SCHEMES:
        measured = [measure(scheme, seconds) for _ in range(runs)]
        sys.stdout.flush()
        device = {key: statistics.median(run[key] for run in measured) for key in measured[0]}
        model = simulated[scheme]
        sojourn = device["sojourn_ms"] / model["sojourn_ms"] - 1
        goodput = device["goodput_mbit_s"] / model["goodput_mbit_s"] - 1
        holds = abs(sojourn) <= SOJOURN_WITHIN and abs(goodput) <= GOODPUT_WITHIN
        judged = device["late_ratio"] <= LATE_AT_MOST
        verdict = ("yes" if holds else "no") if judged else "machine too busy"
        results.append(
            {"scheme": scheme, "device": device, "device_runs": measured, "simulator": model, "within": verdict}
        )
        rows.append(
            [
                scheme,
                spread([run["sojourn_ms"] for run in measured]),
                f"{model['sojourn_ms']:.2f} ± {model['sojourn_ms_half']:.2f}",
                f"{sojourn:+.1%}",
                spread([run["goodput_mbit_s"] for run in measured]),
                f"{model['goodput_mbit_s']:.2f} ± {model['goodput_mbit_s_half']:.2f}",
                f"{goodput:+.1%}",
                spread([run["loss_ratio"] for run in measured], ".3%"),
                f"{model['loss_ratio']:.3%} ± {model['loss_ratio_half']:.3%}",
                f"{device['late_ratio']:.2%}",
                verdict,
            ]
        )
    title = (
        f"{FLOWS} Linux cubic flows, {RATE_MBIT_S} Mbit/s, {2 * ONE_WAY_MS} ms: device (median of {runs} runs of "
        f"{seconds:g} s, least and most) beside the simulator (mean of {REPLICATES}, 95 % interval); "
        "asked for: 20 % and 3 %"
    )
    header = [
        "scheme",
        "sojourn ms",
        "simulator",
        "apart",
        "goodput Mbit/s",
        "simulator",
        "apart",
        "lost",
        "simulator",
    ]
    table(title, [*header, "late", "within"], rows)
    return results
