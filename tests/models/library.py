"""Which model stands for which registered algorithm."""

from __future__ import annotations

import cake
import care
import cobalt
import codel
import controllers
import daqm
import dropping_function
import dualpi2
import fair
import fifo
import pie
import red
import red_family
import schedulers
import sfb
import sred
from base import Model

MODELS: dict[str, type[Model]] = {
    "pfifo": fifo.Pfifo,
    "bfifo": fifo.Bfifo,
    "threshold": fifo.Threshold,
    "dropping_function": dropping_function.DroppingFunction,
    "red": red.Red,
    "ared": red.Ared,
    "nlred": red_family.Nlred,
    "fred": red_family.Fred,
    "choke": red_family.Choke,
    "black": red_family.Black,
    "sred": sred.Sred,
    "care": care.Care,
    "shred": red_family.Shred,
    "pie": pie.Pie,
    "pi": controllers.Pi,
    "rem": controllers.Rem,
    "blue": controllers.Blue,
    "green": controllers.Green,
    "avq": controllers.Avq,
    "sfb": sfb.Sfb,
    "codel": codel.Codel,
    "cobalt": cobalt.Cobalt,
    "daqm": daqm.Daqm,
    "fq_codel": fair.over(
        codel.Codel,
        "flows 64",
        "flows 4 limit 20p quantum 300B target 1ms interval 5ms",
        "flows 3 limit 30p drop_batch 2p noecn count_overflow",
        "memory_limit 90kB quantum 1000B target 500us interval 2ms ce_threshold 300us",
        "flows 2 ce_threshold 300us ce_threshold_selector 0x1/0x3",
        "flows 8 control_law newton target 200us interval 2ms mtu 0B",
        "flows 8 mtu_counts all stale_first_above noecn target 200us interval 2ms",
        "flows 8 control_law newton mtu_counts all count_overflow noecn target 200us interval 2ms limit 60p",
        defaults={"ecn": "true"},
    ),
    "drr": schedulers.Drr,
    "sfq": schedulers.Sfq,
    "cake": cake.Cake,
    "dualpi2": dualpi2.DualPi2,
    "fq_pfifo": fair.over(
        fifo.Pfifo, "flows 64 limit 50p", "flows 4 limit 20p quantum 300B drop_batch 2p memory_limit 60kB"
    ),
    "fq_red": fair.over(
        red.Red,
        "w 0.3 flows 8 ecn limit 60p",
        "w 0.5 min 3kB max 20kB max_p 0.3 bytemode avpkt 500B flows 3 quantum 300B memory_limit 120kB",
        "w 0.5 min 2p max 6p max_p 0.5 ecn nodrop flows 2",
        "w 0.3 wait gentle harddrop ecn adaptive interval 40ms alpha 0.1 beta 0.5 flows 2 limit 30p",
        "min none max none target 200us w 0.3 adaptive flows 2 drop_batch 3p",
    ),
    "fq_pie": fair.over(
        pie.Pie,
        "flows 8 target 2ms tupdate 3ms max_burst 9ms alpha 1Hz beta 10Hz ecn limit 80p",
        "flows 3 quantum 300B derandomize bytemode avpkt 500B target 1ms tupdate 2ms max_burst 4ms beta 10Hz",
        "flows 4 delay departures activate variant linux target 1ms tupdate 2ms max_burst 4ms",
        "mark_ecnth 0.5 ecn target 1ms tupdate 2ms max_burst 4ms beta 10Hz drop_batch 3p",
        "flows 2 delay departure_rate dq_threshold 3kB target 1ms tupdate 2ms drop_batch 2p memory_limit 180kB",
    ),
    "fq_cobalt": fair.over(
        cobalt.Cobalt,
        "flows 8 target 1ms interval 5ms limit 40p p_inc 0.2 p_dec 0.1",
        "flows 3 target 500us interval 2ms memory_limit 90kB ce_threshold 400us noecn blue_threshold 5ms",
        "flows 4 control_law newton target 200us interval 2ms mtu 1514B drop_batch 2p quantum 300B",
        defaults={"ecn": "true"},
    ),
    "fq_daqm": fair.over(
        daqm.Daqm,
        "flows 4 s0 3ms q0 9p drop_duration 2ms drop_rate 0.5 limit 60p",
        "flows 2 s0 none s1 2 s2 2 s3 3 interarrival 1ms inspect lose drop_duration 2ms quantum 300B",
        "flows 2 s0 1ms q0 7p min_queue 5p in_hand apart drop_duration 2ms drop_rate 0.5 limit 60p",
        "flows 2 s0 none q1 1 q2 2 q3 3 sample 1ms ring restarts drop_duration 1ms drop_batch 2p memory_limit 120kB",
        "flows 3 s0 1ms s1 2 interarrival measured sojourn departures flags enqueue target 100ms limit 60p",
        f"flows 3 s0 1ms s1 2 s2 3 s3 4 q0 7p q1 2 q2 3 q3 4 interarrival 1ms sample 3ms limit 60p {daqm.Daqm._OWN}",
    ),
    "fq_rem": fair.over(
        controllers.Rem,
        "flows 8 gamma 0.1 phi 1.5 b_ref 5p ecn limit 80p",
        "flows 3 form queue gamma 0.05 phi 1.3 alpha 0.3 b_ref 3p quantum 300B memory_limit 90kB",
        "flows 2 gamma 0.05 phi 1.2 alpha 0.5 b_ref 5p tupdate 5ms w 0.3 avpkt 300B ecn drop_batch 2p limit 40p",
    ),
    "fq_avq": fair.over(
        controllers.Avq,
        "flows 8 buffer 4p ecn limit 60p",
        "flows 3 buffer 9kB alpha 0.8 gamma 0.9 initial 0.5 quantum 300B memory_limit 120kB",
        "flows 2 buffer 5p unit packets avpkt 500B alpha 2 ecn drop_batch 2p limit 30p",
        "flows 2 limit 15p memory_limit 60kB",
    ),
}
