#!/usr/bin/env python3
"""Play adaptive video over HTTP: segments of four seconds, the bit rate chosen by the throughput of the last ones.

    player.py serve              serves segments of any size, on port 80
    player.py play server 20     plays 20 s of video from that host, and prints what the viewer saw

The rule is "RB" of Yin et al. (SIGCOMM 2015): the highest rate below the harmonic mean of the throughput of the last
five segments.
"""

from __future__ import annotations

import http.client
import http.server
import json
import sys
import time

RATES_KBIT_S = (235, 375, 560, 750, 1050, 1750, 2350, 3000, 4300, 5800)
SEGMENT_S = 4.0
MOST_BUFFERED_S = 12.0


class Segments(http.server.BaseHTTPRequestHandler):
    """Answers `/N` with N bytes."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer."""
        size = int(self.path[1:])
        self.send_response(200)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        self.wfile.write(bytes(size))

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def play(host: str, length_s: float) -> dict[str, float]:
    """Play, and return the mean bit rate, the stalls and the time that they took."""
    connection = http.client.HTTPConnection(host, timeout=120)
    throughputs: list[float] = []
    chosen: list[int] = []
    buffered, stalls, stalled_s, begun = 0.0, 0, 0.0, False
    while len(chosen) * SEGMENT_S < length_s:
        mean = len(throughputs[-5:]) / sum(1 / one for one in throughputs[-5:]) if throughputs else 0.0
        rate = max((one for one in RATES_KBIT_S if one * 1e3 < mean), default=RATES_KBIT_S[0])
        size, start = int(rate * 1e3 * SEGMENT_S / 8), time.monotonic()
        connection.request("GET", f"/{size}")
        if len(connection.getresponse().read()) != size:
            raise SystemExit("a segment is not complete")
        took = time.monotonic() - start
        throughputs.append(size * 8 / took)
        chosen.append(rate)
        if begun and took > buffered:
            stalls, stalled_s = stalls + 1, stalled_s + took - buffered
        buffered = max(0.0, buffered - took if begun else 0.0) + SEGMENT_S
        begun = True
        if buffered > MOST_BUFFERED_S:
            time.sleep(buffered - MOST_BUFFERED_S)
            buffered = MOST_BUFFERED_S
    return {"mean_kbit_s": sum(chosen) / len(chosen), "stalls": stalls, "stalled_s": round(stalled_s, 3)}


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        http.server.ThreadingHTTPServer(("", 80), Segments).serve_forever()
    print(json.dumps(play(sys.argv[2], float(sys.argv[3]))))
