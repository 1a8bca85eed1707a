//! Texts of tc's own: lines as `tc qdisc show` prints them and examples as the manual pages show them, and what they mean.

// Clippy's leave for tests ends at functions that are not tests themselves.
#![allow(clippy::panic)]

use sojourn_aqm::Config;

fn canonical(text: &str) -> String {
    text.parse::<Config>().unwrap_or_else(|error| panic!("{text}: {error}")).text()
}

fn refusal(text: &str) -> String {
    match text.parse::<Config>() {
        Ok(config) => panic!("{text} was read as {config:?}"),
        Err(error) => error.to_string(),
    }
}

/// Every text means the same as the library's own beside it, and that prints and reads back unchanged.
#[track_caller]
fn mean(table: &[(&str, &str)]) {
    for (text, own) in table {
        assert_eq!(canonical(text), *own, "{text}");
        assert_eq!(canonical(own), *own, "read back: {text}");
    }
}

#[test]
fn fifos() {
    mean(&[
        // tc-pfifo(8), "OUTPUT": packets.
        ("qdisc pfifo 8001: dev eth0 limit 100p", "pfifo limit 100p"),
        ("tc qdisc add dev eth0 root pfifo limit 100", "pfifo limit 100p"),
        ("qdisc pfifo 0: root refcnt 2 limit 1000p", "pfifo"),
        // tc(8): a bare size is bytes; Kb is 1024 bytes.
        ("bfifo limit 3000", "bfifo limit 3000B"),
        ("qdisc bfifo 8003: root refcnt 2 limit 64Kb", "bfifo limit 64KiB"),
        ("qdisc bfifo 8003: root refcnt 2 limit 1000b", "bfifo limit 1000B"),
    ]);
}

#[test]
fn red() {
    mean(&[
        // tc-red(8), "EXAMPLE". Probability 0.02 is tc's default. Excess 55 + 1 - 30000/1000 = 26 packets:
        // (1 - (1 - 1/16)^55) 16 = 15.5 < 26 <= (1 - (1 - 1/32)^55) 32 = 26.4, so w is 2^-5.
        (
            "# tc qdisc add dev eth0 parent 1:1 handle 10: red\n limit 400000 min 30000 max 90000 avpkt 1000\n burst 55 ecn adaptive bandwidth 10Mbit",
            "red limit 400000B min 30000B max 90000B max_p 0.02 w 0.03125 ecn adaptive",
        ),
        // What tc prints for it, without avpkt and burst: burst (2 30000 + 90000) / 3000 = 50, excess 21:
        // (1 - (15/16)^50) 16 = 15.4 < 21 <= (1 - (31/32)^50) 32 = 25.5, 2^-5.
        (
            "qdisc red 10: parent 1:1 limit 400000b min 30000b max 90000b ecn adaptive",
            "red limit 400000B min 30000B max 90000B max_p 0.02 w 0.03125 ecn adaptive",
        ),
        // With -d tc prints w and the probability themselves.
        (
            "qdisc red 10: dev eth0 root refcnt 2 limit 400000b min 30000b max 90000b ewma 6 probability 0.1 Scell_log 13",
            "red limit 400000B min 30000B max 90000B w 0.015625",
        ),
        // limit 60 x 1024; max a quarter of it, 15360; min a third, 5120; burst (10240 + 15360) / 3000 = 8, excess
        // 8 + 1 - 5.12 = 3.88: (1 - (3/4)^8) 4 = 3.6 < 3.88 <= (1 - (7/8)^8) 8 = 5.25, 2^-3.
        ("red limit 60Kb avpkt 1000", "red limit 60KiB min 5KiB max 15KiB max_p 0.02 w 0.125"),
        // max is three times min where it is not given.
        (
            "red limit 400000 min 20000 avpkt 1000 probability 0.05",
            // burst (40000 + 60000) / 3000 = 33, excess 14: (1 - (7/8)^33) 8 = 7.9 < 14 <= (1 - (15/16)^33) 16 = 14.1.
            "red limit 400000B min 20000B max 60000B max_p 0.05 w 0.0625",
        ),
        // Old kernels: (90000 - 30000) 2^-22 = 0.0143...
        (
            "red limit 400000b min 30000b max 90000b ewma 5 Plog 22 Scell_log 11",
            "red limit 400000B min 30000B max 90000B max_p 0.01430511474609375 w 0.03125",
        ),
        // nodrop needs ecn, as in the kernel; qevents have no effect here.
        (
            "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 ecn harddrop nodrop qevent early_drop block 10 qevent mark block 11",
            "red limit 400000B min 30000B max 90000B max_p 0.02 w 0.03125 ecn harddrop nodrop",
        ),
        // The library's own form in packets keeps the library's defaults; "probability" is tc's name for max_p.
        ("red min 30p max 90p limit 1000p", "red min 30p max 90p"),
        ("red min 30p max 90p probability 0.02", "red min 30p max 90p max_p 0.02"),
        ("red min 30kB max 90kB limit 400kB avpkt 500B", "red limit 400000B min 30000B max 90000B avpkt 500B"),
        // burst in packets: excess 55 + 1 - 30 = 26, 2^-5 as above.
        ("red min 30p max 90p burst 55", "red min 30p max 90p max_p 0.02 w 0.03125"),
        // What the text says itself stays.
        ("red limit 400000 min 30000 max 90000 w 0.01 max_p 0.3", "red limit 400000B min 30000B max 90000B max_p 0.3 w 0.01"),
    ]);
    // tc refuses these too: thresholds of less than a packet (its burst would be 0), and a burst below min.
    assert!(refusal("red limit 1000").contains("packets are written \"30p\""));
    assert!(refusal("red min 30 max 90 limit 1000").contains("burst 0 is too small"));
    assert!(refusal("red limit 400000 min 30000 max 90000 burst 29").contains("allowed: 31 or more"));
    assert!(refusal("red burst 20").contains("burst is given without min"));
    assert!(refusal("red limit 400000 min 30000 max 90000 nodrop").contains("nodrop is given without ecn"));
}

#[test]
fn choke() {
    mean(&[
        // tc-choke(8): packets. burst (2 83 + 250) / 3 = 138, excess 138 + 1 - 83 = 56:
        // (1 - (31/32)^138) 32 = 31.6 < 56 <= (1 - (63/64)^138) 64 = 56.7, 2^-6.
        ("choke limit 1000 bandwidth 10mbit", "choke min 83p max 250p max_p 0.02 w 0.015625"),
        (
            // Excess 20 + 1 - 10 = 11: (1 - (7/8)^20) 8 = 7.4 < 11 <= (1 - (15/16)^20) 16 = 11.6, 2^-4.
            "tc qdisc add dev eth0 root choke limit 1000 min 10 max 30 avpkt 1000 burst 20 ecn bandwidth 10mbit probability 0.1",
            "choke min 10p max 30p w 0.0625 ecn",
        ),
        ("qdisc choke 8002: root refcnt 2 limit 1000p min 10p max 30p ecn ewma 4 probability 0.02 Scell_log 9",
         "choke min 10p max 30p max_p 0.02 w 0.0625 ecn"),
        ("choke min 30p max 90p", "choke min 30p max 90p"),
    ]);
}

#[test]
fn codel() {
    mean(&[
        // tc-codel(8), "EXAMPLES".
        ("qdisc codel 801b: dev eth0 root refcnt 2 limit 1000p target 5.0ms interval 100.0ms", "codel"),
        ("# tc qdisc add dev eth0 root codel limit 100 target 4ms interval 30ms ecn", "codel limit 100p target 4ms interval 30ms ecn"),
        (
            "qdisc codel 801c: dev eth0 root refcnt 2 limit 100p target 4.0ms interval 30.0ms ecn\n Sent 237573074 bytes 268561 pkt (dropped 0, overlimits 0 requeues 5)\n backlog 0b 0p requeues 5\n count 0 lastcount 0 ldelay 76us drop_next 0us",
            "codel limit 100p target 4ms interval 30ms ecn",
        ),
        ("qdisc codel 1: root limit 1000p target 5ms ce_threshold 1ms interval 100ms", "codel ce_threshold 1ms"),
        ("codel target 999us", "codel target 999us"),
    ]);
    // Linux reads "5" as 5 us.
    let error = refusal("codel target 5");
    assert!(error.contains("target: \"5\" has no unit (tc would read microseconds)"), "{error}");
}

#[test]
fn fq_codel() {
    mean(&[
        (
            "qdisc fq_codel 0: root refcnt 2 limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms memory_limit 32Mb ecn drop_batch 64",
            "fq_codel",
        ),
        // tc-fq_codel(8), "EXAMPLES": ECN is on unless taken away.
        ("#tc qdisc add dev eth0 root fq_codel", "fq_codel"),
        (
            "qdisc fq_codel 8002: dev eth0 root refcnt 2 limit 10240p flows 1024 quantum 1514\n target 5.0ms interval 100.0ms ecn\n Sent 428514 bytes 2269 pkt (dropped 0, overlimits 0 requeues 0)",
            "fq_codel",
        ),
        // Where tc shows no ecn, it is off.
        (
            "qdisc fq_codel 8003: dev eth0 root refcnt 2 limit 2000p flows 1024 quantum 1514 target 3.0ms interval 40.0ms\n Sent 2588985006 bytes 1783629 pkt (dropped 0, overlimits 0 requeues 34869)",
            "fq_codel limit 2000p target 3ms interval 40ms noecn",
        ),
        ("#tc qdisc add dev eth0 root fq_codel limit 2000 target 3ms interval 40ms noecn", "fq_codel limit 2000p target 3ms interval 40ms noecn"),
        (
            "fq_codel ce_threshold 1ms ce_threshold_selector 0x1/0x3 memory_limit 4Mb quantum 300",
            "fq_codel quantum 300B memory_limit 4MiB ce_threshold 1ms ce_threshold_selector 0x1/0x3",
        ),
    ]);
}

#[test]
fn pie() {
    mean(&[
        // tc-pie(8), "EXAMPLES": alpha 2/16 = 0.125 Hz and beta 20/16 = 1.25 Hz are RFC 8033's.
        (
            "qdisc pie 8036: dev eth0 root refcnt 2 limit 1000p target 15.0ms tupdate 16.0ms alpha 2 beta 20",
            "pie tupdate 16ms",
        ),
        ("# tc qdisc add dev eth0 root pie dq_rate_estimator", "pie delay departure_rate"),
        (
            "# tc qdisc add dev eth0 root pie limit 100 target 20ms tupdate 30ms ecn",
            "pie limit 100p target 20ms tupdate 30ms ecn",
        ),
        (
            "# tc qdisc add dev eth0 root pie limit 100 target 50ms tupdate 30ms bytemode",
            "pie limit 100p target 50ms tupdate 30ms bytemode",
        ),
        ("pie noecn nobytemode no_dq_rate_estimator", "pie"),
        // The later word counts.
        ("pie dq_rate_estimator no_dq_rate_estimator", "pie"),
        ("pie no_dq_rate_estimator dq_rate_estimator", "pie delay departure_rate"),
        // 1/16 and 32/16 Hz, beside gains in Hz.
        ("pie alpha 1 beta 32", "pie alpha 0.0625 beta 2.0"),
        ("pie alpha 0.25 beta 2.5", "pie alpha 0.25 beta 2.5"),
        ("pie alpha 1Hz beta 12 Hz", "pie alpha 1.0 beta 12.0"),
        ("pie alpha 0", "pie alpha 0.0"),
    ]);
    // tc's own bound, and no way to mean 33 Hz by it.
    assert!(refusal("pie alpha 33").contains("a whole number 0 to 32 is sixteenths of a Hz"));
    assert!(refusal("pie alpha -1").contains("is refused"));
}

#[test]
fn fq_pie() {
    mean(&[
        // tc-fq_pie(8), "EXAMPLES".
        (
            "qdisc fq_pie 8001: root refcnt 2 limit 10240p flows 1024 target 15.0ms tupdate 16.0ms alpha 2 beta 20 quantum 1514b memory_limit 32Mb ecn_prob 10",
            "fq_pie tupdate 16ms",
        ),
        (
            "qdisc fq_pie 8001: root refcnt 2 limit 10240p flows 1024 target 15.0ms tupdate 15.0ms alpha 2 beta 20 quantum 1514b memory_limit 32Mb ecn_prob 10 dq_rate_estimator",
            "fq_pie delay departure_rate",
        ),
        // A percentage.
        ("fq_pie ecn ecn_prob 20", "fq_pie ecn mark_ecnth 0.2"),
    ]);
}

#[test]
fn sfb() {
    mean(&[
        // tc passes its own increment and decrement, which are not the kernel's.
        ("# tc qdisc add dev eth0 handle 1: root sfb", "sfb increment 0.0005 decrement 0.00005"),
        // Milliseconds.
        ("sfb rehash 600000 db 60000 limit 1000 max 25 target 20 increment 0.00050 decrement 0.00005 penalty_rate 10 penalty_burst 20",
         "sfb increment 0.0005 decrement 0.00005"),
        ("blue rehash 300000 db 30000 penalty_rate 10", "sfb rehash 300s db 30s"),
        ("qdisc sfb 1: root refcnt 2 rehash 10min db 60s limit 1000p max 25p target 20p increment 0.0005 decrement 5e-05 penalty_rate 10pps penalty_burst 20p",
         "sfb increment 0.0005 decrement 0.00005"),
        ("qdisc sfb 1: root limit 1000 max 25 target 20\n  increment 0.00050 decrement 0.00005 penalty rate 12 burst 24 (300000ms 30000ms)",
         "sfb increment 0.0005 decrement 0.00005 penalty_rate 12 penalty_burst 24p rehash 300s db 30s"),
        // (5 x 40 + 1) / 4 = 50 and (4 x 50 + 3) / 5 = 40.
        ("sfb target 40", "sfb target 40p max 50p"),
        ("sfb max 50", "sfb target 40p max 50p"),
        ("sfb target 24p", "sfb target 24p"),
    ]);
}

#[test]
fn sfq() {
    mean(&[
        ("# tc qdisc add dev ppp0 root sfq", "sfq"),
        // tc-sfq(8): perturb is in seconds.
        ("tc qdisc add dev eth0 root sfq limit 3000 flows 512 divisor 16384 perturb 10 headdrop",
         "sfq limit 3000p flows 512 divisor 16384 perturb 10s headdrop"),
        ("qdisc sfq 8005: root refcnt 2 limit 127p quantum 1514b depth 127 flows 127/1024 divisor 1024 perturb 60sec", "sfq perturb 60s"),
    ]);
    // tc-sfq(8), "Example of sfq with optional RED mode". burst = (2 * 8000 + 60000)/(3 * 1000) = 25, and 25 + 1 - 8 = 18 is more
    // than (1 - (31/32)^25) * 32 = 17.5, not more than (1 - (63/64)^25) * 64 = 20.8: 2^-6, as Linux then shows it, and the default.
    let red = "sfq limit 3000p flows 512 divisor 16384 headdrop min 8000B max 60000B max_p 0.2 ecn";
    mean(&[
        ("tc qdisc add dev eth0 parent 1:1 handle 10: sfq limit 3000 flows 512 divisor 16384 redflowlimit 100000 min 8000 max 60000 probability 0.20 ecn headdrop", red),
        ("qdisc sfq 8038: root refcnt 2 limit 3000p quantum 1514b depth 127 headdrop flows 512 divisor 16384 ewma 6 min 8000b max 60000b probability 0.2 ecn", red),
        // A quarter, and a third of that: 25000 and 8333; (2 * 8333 + 25000)/3000 = 13, and 13 + 1 - 8.333 = 5.667 is more than
        // (1 - (3/4)^13) * 4 = 3.9, not more than (1 - (7/8)^13) * 8 = 6.6: 2^-3.
        ("tc qdisc add dev eth0 root sfq redflowlimit 100000", "sfq min 8333B max 25000B w 0.125"),
        ("sfq redflowlimit 100000 harddrop ecn burst 25 min 8000 max 60000", "sfq min 8000B max 60000B ecn harddrop"),
        // Bytes with their unit are the library's own text, in which nothing is computed.
        ("sfq min 5kB max 60kB", "sfq min 5000B max 60000B"),
    ]);
    assert!(refusal("sfq redflowlimit 50000 min 8000 max 60000").starts_with("sfq: max is above redflowlimit"));
    assert!(refusal("tc qdisc add dev eth0 root sfq ecn").starts_with("sfq: ecn and harddrop act only with RED"));
}

#[test]
fn cake() {
    mean(&[
        // tc-cake(8), "EXAMPLES": ethernet is overhead 38 and mpu 84.
        ("# tc qdisc add root dev eth0 cake bandwidth 100Mbit ethernet", "cake bandwidth 100Mbit/s overhead 38 mpu 84B"),
        (
            "qdisc cake 1: root refcnt 2 bandwidth 100Mbit diffserv3 triple-isolate rtt 100.0ms noatm overhead 38 mpu 84\n Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)\n backlog 0b 0p requeues 0\n memory used: 0b of 5000000b",
            "cake bandwidth 100Mbit/s overhead 38 mpu 84B",
        ),
        ("# tc qdisc replace dev eth0 handle 1: root cake diffserv3", "cake"),
        (
            "qdisc cake 8001: root refcnt 2 bandwidth unlimited diffserv3 triple-isolate nonat nowash no-ack-filter split-gso rtt 100ms raw overhead 0",
            "cake",
        ),
        (
            "qdisc cake 8001: root refcnt 2 bandwidth 6250Kbit besteffort dual-srchost nat wash ingress ack-filter-aggressive no-split-gso rtt 30ms atm overhead 40 mpu 64 memlimit 32Mb fwmark 0xf",
            "cake bandwidth 6.25Mbit/s rtt 30ms diffserv besteffort flowmode dual-srchost ack_filter aggressive wash ingress overhead 40 mpu 64B framing atm memlimit 32MiB",
        ),
        // Megabytes a second, and bit/s without a unit.
        ("cake bandwidth 1mbps autorate-ingress", "cake bandwidth 8Mbit/s"),
        ("cake bandwidth 20000000 egress", "cake bandwidth 20Mbit/s"),
        ("cake satellite flowblind diffserv4", "cake rtt 1s diffserv diffserv4 flowmode flowblind"),
        // Each word adds: 30 + 4 + 4, and the framing is the last that was named.
        ("cake pppoe-ptm ether-vlan ether-vlan", "cake overhead 38 framing ptm"),
        ("cake docsis", "cake overhead 18 mpu 64B"),
        ("cake ethernet overhead 20", "cake overhead 20 mpu 84B"),
        ("cake ethernet conservative", "cake overhead 48 mpu 84B framing atm"),
        ("cake pppoe-llcsnap raw overhead -14", "cake overhead -14"),
        ("cake pppoa-vcmux noatm", "cake overhead 10"),
    ]);
    assert!(refusal("cake overhead 256 ether-vlan").contains("overhead: \"260\" is refused"));
    assert!(refusal("cake rtt 100").contains("microseconds"));
}

#[test]
fn dualpi2() {
    mean(&[
        // Linux's defaults, 41/256 and 819/256 Hz, as tc prints them.
        (
            "qdisc dualpi2 8001: root refcnt 2 limit 10000p memlimit 15140000B target 15ms tupdate 16ms alpha 0.160156 beta 3.199219 step_thresh 1ms min_qlen_step 0p coupling_factor 2 drop_on_overload drop_dequeue classic_protection 10% l4s_ect split_gso",
            "dualpi2 limit 10000p memlimit 15140kB tupdate 16ms alpha 0.160156 beta 3.199219 l4s_aqm step classic_protection 0.1",
        ),
        ("sudo tc qdisc add dev eth0 root dualpi2 any_ect", "dualpi2 any_ect"),
        ("dualpi2 classic_protection 25 overflow drop_enqueue no_split_gso", "dualpi2 nodrop_on_overload drop_enqueue classic_protection 0.25 nosplit_gso"),
        ("dualpi2 classic_protection 1", "dualpi2 classic_protection 0.01"),
        ("dualpi2 classic_protection 1.0", "dualpi2 classic_protection 1.0"),
        ("dualpi2 step_thresh 5p", "dualpi2 l4s_aqm step step_thresh 5p"),
        ("dualpi2 l4s_aqm ramp step_thresh 5p", "dualpi2"),
    ]);
    assert!(refusal("dualpi2 step_thresh 1000").contains("microseconds"));
}

#[test]
fn lines_of_tc_are_refused_where_they_are_wrong() {
    assert!(refusal("tc qdisc add dev eth0 root htb default 10").starts_with("unknown algorithm \"htb\""));
    assert!(refusal("tc qdisc add dev eth0 root").starts_with("unknown algorithm \"\""));
    assert!(refusal("qdisc").starts_with("unknown algorithm \"\""));
    assert!(refusal("tc class add dev eth0").starts_with("unknown algorithm \"tc\""));
    assert!(refusal("qdisc codel 8001: root burst 5").starts_with("codel: unknown parameter \"burst\""));
    assert!(refusal("red burst").contains("burst has no value"));
}
