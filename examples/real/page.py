#!/usr/bin/env python3
"""Load a page of 60 objects in headless Chromium while two uploads run, scheme by scheme, and simulate the same.

    page.py                                      ten loads under pfifo, codel, fq_codel and cake
    page.py --loads 2 --objects 10 --aqm codel   a small version

Chromium loads the page again and again without a cache; the page itself measures from the start of its navigation to
its `load` event and tells the server.
"""

from __future__ import annotations

import argparse
import http.server
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path

import sojourn as sj
from sojourn.stats import estimate

DOWN, UP, RTT = "20 Mbit/s", "5 Mbit/s", "40 ms"
OBJECT_BYTES, HTML_BYTES = 10_000, 20_000
SCHEMES = ("pfifo", "codel", "fq_codel", "cake")
# Of a load; tail drop takes half of it.
LIMIT_S = 60.0
TELL = """<script>addEventListener("load", () => setTimeout(() => {
  const took = performance.getEntriesByType("navigation")[0].loadEventStart;
  fetch("/took?ms=" + took).then(() => setTimeout(() => { location = "/page?" + Math.random(); }, 200));
}))</script>"""
# Two connections that send without end.
UPLOADS = """
import socket, threading
def send():
    there = socket.socket()
    there.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    there.connect(("server", 9000))
    while True:
        there.sendall(bytes(1 << 16))
for _ in range(2):
    threading.Thread(target=send).start()
"""


class Page(http.server.BaseHTTPRequestHandler):
    """The page, its objects, and where it tells how long it took."""

    protocol_version = "HTTP/1.1"
    # A response in one piece, and its last segment without waiting for an acknowledgement.
    wbufsize = -1
    disable_nagle_algorithm = True
    objects = 60
    took: Path

    def do_GET(self) -> None:
        """Answer."""
        kind, body = "application/octet-stream", bytes(OBJECT_BYTES)
        if self.path.startswith("/page"):
            images = "".join(f'<img src="/object{number}?{time.time_ns()}">' for number in range(self.objects))
            kind, body = "text/html", f"<!DOCTYPE html><title>page</title>{TELL}{images}".encode().ljust(HTML_BYTES)
        elif self.path.startswith("/took"):
            with self.took.open("a", encoding="ascii") as file:
                file.write(self.path.partition("=")[2] + "\n")
            kind, body = "text/plain", b"thanks"
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Server(http.server.ThreadingHTTPServer):
    """Serves with CUBIC, whatever the system's default is."""

    request_queue_size = 64

    def server_bind(self) -> None:
        """Set the congestion control, which connections take over."""
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
        super().server_bind()

    def handle_error(self, *_: object) -> None:
        """Chromium resets connections when it ends."""


def serve(objects: int, took: str) -> None:
    """Serve the page, and take what is uploaded."""

    def sink() -> None:
        listener = socket.create_server(("", 9000))
        while True:
            threading.Thread(target=drain, args=(listener.accept()[0],), daemon=True).start()

    def drain(connection: socket.socket) -> None:
        while connection.recv(1 << 16):
            pass

    Page.objects, Page.took = objects, Path(took)
    threading.Thread(target=sink, daemon=True).start()
    Server(("", 80), Page).serve_forever()


def loaded(scheme: str, loads: int, objects: int) -> list[float]:
    """Return page load times in seconds, in Chromium."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or "google-chrome"
    with tempfile.TemporaryDirectory() as folder, Path(os.devnull).open("r+b") as nothing:
        took = Path(folder) / "took"
        took.touch()
        quiet = (nothing.fileno(), nothing.fileno(), nothing.fileno())
        # Where the system keeps apart what a sandbox needs, the shell itself is one.
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
        with sj.emulate(down=DOWN, up=UP, rtt=RTT, aqm=scheme, up_aqm=scheme) as lab:
            lab.serve([sys.executable, __file__, "--serve", str(took), "--objects", str(objects)])
            lab.start("client", [sys.executable, "-c", UPLOADS], streams=quiet)
            # The first load, with the start of Chromium in it, does not count.
            browser = lab.start(
                "client",
                [chromium, *flags, f"--user-data-dir={folder}/profile", "http://server/page"],
                streams=quiet,
            )
            until = time.monotonic() + LIMIT_S * (loads + 1)
            while len(took.read_text(encoding="ascii").splitlines()) < loads + 1:
                if browser.poll() is not None or time.monotonic() > until:
                    raise SystemExit(f"{chromium} ended, or loaded too little in {LIMIT_S * (loads + 1):g} s")
                time.sleep(0.1)
            browser.signal(signal.SIGTERM)
            browser.wait(30.0)
        return [float(line) / 1e3 for line in took.read_text(encoding="ascii").splitlines()[1 : loads + 1]]


def simulated(scheme: str, loads: int, objects: int) -> sj.stats.Estimate:
    """Return the mean page load time of several replications of the simulation."""
    net = sj.Network.from_dict(
        {
            "name": "page",
            "duration": "40 s",
            "warm_up": "5 s",
            "links": [
                {
                    "name": "access",
                    "from": "server",
                    "to": "client",
                    "rate": DOWN,
                    "reverse_rate": UP,
                    "delay": f"{float(RTT.split(maxsplit=1)[0]) / 2} ms",
                    "queue": scheme,
                    "reverse_queue": scheme,
                    "under_test": True,
                }
            ],
            "flows": [
                {
                    "name": "page",
                    "from": "server",
                    "to": "client",
                    "start": "3 s",
                    "traffic": {
                        "kind": "web",
                        "html": f"{HTML_BYTES} B",
                        "objects": objects,
                        "object_size": f"{OBJECT_BYTES} B",
                        "persistent": True,
                        "pause": "200 ms",
                    },
                },
                {"name": "uploads", "from": "client", "to": "server", "count": 2},
            ],
        }
    )
    groups = sj.run(net, replicates=max(2, loads)).groups
    return estimate(list(groups[groups["group"] == "page"]["page_load_s_mean"]))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aqm", action="append", help="a scheme, repeatable")
    parser.add_argument("--loads", type=int, default=10)
    parser.add_argument("--objects", type=int, default=60)
    parser.add_argument("--serve", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.serve:
        serve(options.objects, options.serve)
        return
    found = {}
    for scheme in options.aqm or SCHEMES:
        real = estimate(loaded(scheme, options.loads, options.objects))
        beside = simulated(scheme, options.loads, options.objects)
        found[scheme] = [(one.mean, one.half_width) for one in (real, beside)]
        if not options.json:
            shown = (f"{mean:6.2f} ± {half or 0:.2f} s" for mean, half in found[scheme])
            print(f"{scheme:10s} {'  '.join(shown)}", flush=True)
    if options.json:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
