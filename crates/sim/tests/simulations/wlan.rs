//! The 802.11 cell against Bianchi's analysis of saturated stations.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use crate::common::{estimate, metric, runs};
use sojourn_sim::RunReport;

/// The parameters of Bianchi's paper (IEEE JSAC 18(3), 2000, table II): FHSS at 1 Mbit/s, payload 8184 bits, MAC header
/// 272 bits, PHY header 128 bits, W = 32, m = 5. His model has no retry limit, no EIFS and no time-out after a collision.
fn bianchi(stations: u32, rts: bool, duration: &str) -> String {
    let threshold = if rts { "0 B" } else { "none" };
    format!(
        r#"
        name = "bianchi"
        duration = "{duration}"
        warm_up = "5 s"
        [[nodes]]
        name = "station"
        count = {stations}
        [[cells]]
        name = "wlan"
        access_point = "ap"
        stations = ["station"]
        data_rate = "1 Mbit/s"
        basic_rate = "1 Mbit/s"
        slot = "50 us"
        sifs = "28 us"
        preamble = "128 us"
        control_preamble = "128 us"
        symbol = "0 s"
        mac_header = "34 B"
        cw_min = 31
        cw_max = 1023
        short_retry_limit = 1000000
        long_retry_limit = 1000000
        answer_timeout = "0 s"
        eifs = "128 us"
        delay = "1 us"
        rts_threshold = "{threshold}"
        queue = "pfifo limit 3p"
        [[flows]]
        name = "saturated"
        from = "station"
        to = "ap"
        transport = {{ kind = "udp", header = "0 B" }}
        traffic = {{ kind = "cbr", rate = "1 Mbit/s", packet_size = "1023 B" }}
        "#
    )
}

/// Bianchi's equations 7 and 9 (fixed point) and 10 to 13 (throughput): share of payload, conditional collision probability.
fn theory(stations: u32, rts: bool) -> (f64, f64) {
    let (w, m, n) = (32.0, 5, f64::from(stations));
    let attempt = |p: f64| {
        // (1 - (2p)^m) / (1 - 2p) is the sum of (2p)^i below m, which stays defined at p = 1/2.
        let sum: f64 = (0..m).map(|i| (2.0 * p).powi(i)).sum();
        2.0 / (w + 1.0 + p * w * sum)
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let p = (low + high) / 2.0;
        // The left side grows with p, the right side falls.
        if p < 1.0 - (1.0 - attempt(p)).powf(n - 1.0) {
            low = p;
        } else {
            high = p;
        }
    }
    let (p, tau) = (low, attempt(low));
    // Microseconds at 1 Mbit/s: one a bit.
    let (slot, sifs, difs, delay, phy) = (50.0, 28.0, 128.0, 1.0, 128.0);
    let (payload, header, ack, request, clear) = (8184.0, phy + 272.0, phy + 112.0, phy + 160.0, phy + 112.0);
    let frame = header + payload + sifs + delay + ack + difs + delay;
    let (success, collision) = if rts {
        (request + sifs + delay + clear + sifs + delay + frame, request + difs + delay)
    } else {
        (frame, header + payload + difs + delay)
    };
    let busy = 1.0 - (1.0 - tau).powf(n);
    let alone = n * tau * (1.0 - tau).powf(n - 1.0);
    (alone * payload / ((1.0 - busy) * slot + alone * success + (busy - alone) * collision), p)
}

fn collision_probability(report: &RunReport) -> f64 {
    let stations = &report.cells[0].stations;
    let of = |what: fn(&sojourn_sim::simulation::StationReport) -> u64| stations.iter().map(what).sum::<u64>() as f64;
    of(|station| station.collisions) / of(|station| station.attempts)
}

#[test]
fn saturation_throughput_is_bianchis() {
    for rts in [false, true] {
        for stations in [1, 2, 5, 10, 20, 50] {
            let reports = runs(&bianchi(stations, rts, "45 s"), None, 4, 2);
            let shares: Vec<f64> = reports.iter().map(|report| metric(report, "throughput_bit_s") / 1e6).collect();
            let collisions: Vec<f64> = reports.iter().map(collision_probability).collect();
            let (expected, p) = theory(stations, rts);
            let ((share, error), (collided, collided_error)) = (estimate(shares), estimate(collisions));
            let what = format!("{stations} stations, RTS {rts}");
            println!("{what}: {share:.4} ± {error:.4} against {expected:.4}, p {collided:.4} against {p:.4}");
            assert!((share - expected).abs() <= 0.03 * expected + 2.0 * error, "{what}: {share} against {expected}");
            assert!((collided - p).abs() <= 0.03 * p + 3.0 * collided_error, "{what}: p {collided} against {p}");
        }
    }
}

/// Stations `fast` and `slow`, each with packets of `bytes` at `rate` for the access point; `keys` are the cell's.
fn uplink(fast: u32, slow: u32, keys: &str, bytes: u32, rate: &str) -> String {
    let mut text = String::from("name = \"uplink\"\nduration = \"22 s\"\nwarm_up = \"2 s\"\n");
    let groups: Vec<_> = [("fast", fast), ("slow", slow)].into_iter().filter(|(_, count)| *count > 0).collect();
    for (name, count) in &groups {
        text += &format!("[[nodes]]\nname = \"{name}\"\ncount = {count}\n");
    }
    let names: Vec<_> = groups.iter().map(|(name, _)| format!("\"{name}\"")).collect();
    text += &format!("[[cells]]\nname = \"wlan\"\naccess_point = \"ap\"\nstations = [{}]\n{keys}\n", names.join(", "));
    for (name, _) in &groups {
        text += &format!(
            "[[flows]]\nname = \"{name}\"\nfrom = \"{name}\"\nto = \"ap\"\n\
             transport = {{kind = \"udp\", header = \"0 B\"}}\n\
             traffic = {{kind = \"cbr\", rate = \"{rate}\", packet_size = \"{bytes} B\"}}\n"
        );
    }
    text
}

fn group_mean(report: &RunReport, group: &str) -> f64 {
    let of: Vec<f64> =
        report.flows.iter().filter(|f| f.group == group).map(|f| f.metrics.of("throughput_bit_s").unwrap()).collect();
    of.iter().sum::<f64>() / of.len() as f64
}

#[test]
fn one_slow_station_slows_all() {
    // Heusse, Rousseau, Berger-Sabbatel, Duda, "Performance anomaly of 802.11b", INFOCOM 2003, equations 1 to 9: with N
    // hosts, one of them at 1 Mbit/s, every host gets X = s / ((N-1) T_f + T_s + P_c t_jam N), where T is a host's
    // transmission with t_cont = SLOT (1 + P_c)/(2N) CW_min/2, P_c = 1 - (1 - 1/CW_min)^(N-1) and
    // t_jam = 2/N T_s + (1 - 2/N) T_f. Long preambles here; times in microseconds. They call it an approximation: 10 %.
    // After a collision all compete again at once, as in theirs: with EIFS, whose frame was the shorter waits longer.
    for hosts in [2, 4, 10] {
        let n = f64::from(hosts);
        let (cw_min, s) = (31.0_f64, 1500.0 * 8.0);
        let collide = 1.0 - (1.0 - 1.0 / cw_min).powf(n - 1.0);
        let overhead = 50.0 + 192.0 + 10.0 + 192.0 + 14.0 * 8.0;
        let contend = 20.0 * (1.0 + collide) / (2.0 * n) * cw_min / 2.0;
        let time = |rate: f64| overhead + contend + 1536.0 * 8.0 / rate;
        let (fast, slow) = (time(11.0), time(1.0));
        let jam = 2.0 / n * slow + (1.0 - 2.0 / n) * fast;
        let expected = s / ((n - 1.0) * fast + slow + collide * jam * n) * 1e6;
        let keys = "profile = \"802.11b\"\nrates = {slow = \"1 Mbit/s\"}\nqueue = \"pfifo limit 3p\"\neifs = \"50 us\"\nanswer_timeout = \"0 s\"";
        let reports = runs(&uplink(hosts - 1, 1, keys, 1500, "6 Mbit/s"), None, 8, 2);
        let of = |group| estimate(reports.iter().map(|report| group_mean(report, group)));
        let ((fast, _), (slow, error)) = (of("fast"), of("slow"));
        println!("{hosts} hosts: {fast:.0} and {slow:.0} ± {error:.0} against {expected:.0}");
        assert!((fast - expected).abs() < 0.10 * expected, "{hosts} hosts: {fast} against {expected}");
        // Equal chances of access.
        assert!((fast - slow).abs() < 3.0 * error + 0.02 * fast, "{hosts} hosts: fast {fast}, slow {slow} ± {error}");
        // Alone with its equals a fast host gets far more; even the slow one's rate bounds it now.
        assert!(fast < 1e6);
    }
}

#[test]
fn an_idle_cell_takes_a_frame_at_once() {
    // 802.11g, 1000 B: 26 us of preamble and extension, (16 + 6 + 1036 * 8) / 216 = 38.5, so 39 symbols of 4 us, and 1 us
    // of propagation: 183 us. The post-back-off, 15 slots of 9 us at most, is long over at 100 packets/s.
    let report = runs(&uplink(1, 0, "", 1000, "800 kbit/s"), None, 1, 1).remove(0);
    assert!((metric(&report, "one_way_delay_ms_mean") - 0.183).abs() < 1e-9);
    // Each exchange holds the channel for 183 us, SIFS 10, the acknowledgement 26 + 6 symbols of 4, and 1: 244 us.
    let cell = &report.cells[0];
    assert!((cell.medium_utilisation - 0.0244).abs() < 0.0001, "{}", cell.medium_utilisation);
    assert!((cell.stations[1].air_time_share - 0.0244).abs() < 0.0001);
    assert_eq!((cell.stations[1].collisions, cell.stations[1].retries, cell.collision_share), (0, 0, 0.0));
}

#[test]
fn a_station_alone_sends_as_computed_by_hand() {
    // 802.11g, 1000 B: 244 us as above, DIFS 28 us, 7.5 slots of 9 us in the mean: 339.5 us a packet.
    let report = runs(&uplink(1, 0, "queue = \"pfifo limit 3p\"", 1000, "50 Mbit/s"), None, 1, 1).remove(0);
    let expected = 8000.0 / 339.5e-6;
    let goodput = metric(&report, "throughput_bit_s");
    // Some 59,000 back-offs of variance (16^2 - 1)/12 slots^2: 0.05 % of the cycle.
    assert!((goodput - expected).abs() < 0.002 * expected, "{goodput} against {expected}");
}

#[test]
fn the_first_standard_sends_as_computed_by_hand() {
    // IEEE 802.11-1997, clause 15, 1000 B, one station, times in microseconds: DIFS 10 + 2 x 20 = 50; 15.5 slots of 20 in the
    // mean; preamble 144 and header 48; 1036 B at 2 or 1 Mbit/s; 1 of propagation; SIFS 10; an acknowledgement of 192 and
    // 14 B at 1 Mbit/s; 1: 5012 and 9156 a packet, so 1.596 and 0.874 Mbit/s.
    for (keys, rate, cycle) in [("", 2.0, 5012.0), ("data_rate = \"1 Mbit/s\"\n", 1.0, 9156.0)] {
        let by_hand = 50.0 + 15.5 * 20.0 + 192.0 + 8288.0 / rate + 1.0 + 10.0 + 192.0 + 112.0 + 1.0;
        assert_eq!(by_hand, cycle);
        let keys = format!("profile = \"802.11\"\n{keys}queue = \"pfifo limit 3p\"");
        let report = runs(&uplink(1, 0, &keys, 1000, "5 Mbit/s"), None, 1, 1).remove(0);
        let expected = 8000.0 / (cycle * 1e-6);
        let goodput = metric(&report, "throughput_bit_s");
        // Some 2000 to 4000 back-offs of variance (32^2 - 1)/12 slots^2: 185 us of a cycle each, 0.06 % of the mean; and one
        // packet more or less in 20 s, 0.05 %.
        assert!((goodput - expected).abs() < 0.003 * expected, "{goodput} against {expected}");
    }
}

#[test]
fn errors_cost_their_repetitions_and_wider_windows() {
    // 802.11g, 1000 B, one station; a frame is lost with p. Attempt i = 0, 1, ... happens with p^i and backs off for
    // min(2^(4+i), 1024) - 1 slots over 2; a lost one takes 182 us and the time-out of 10 + 9 + 26 us, a good one
    // 244 + 28 us. Without a limit the sums are infinite; with 7 attempts p^7 of all packets are dropped.
    for p in [0.1_f64, 0.5] {
        let keys = format!("frame_error_rate = {p}\nqueue = \"pfifo limit 3p\"");
        let report = runs(&uplink(1, 0, &keys, 1000, "50 Mbit/s"), None, 1, 1).remove(0);
        let attempts: f64 = (0..7).map(|i| p.powi(i)).sum();
        let windows: f64 = (0..7).map(|i| p.powi(i) * ((1 << (4 + i)).min(1024) - 1) as f64 / 2.0).sum();
        let delivered = 1.0 - p.powi(7);
        let cycle = windows * 9.0 + (attempts - delivered) * (182.0 + 45.0) + delivered * (244.0 + 28.0);
        let expected = delivered * 8000.0 / (cycle * 1e-6);
        let goodput = metric(&report, "throughput_bit_s");
        assert!((goodput - expected).abs() < 0.01 * expected, "p {p}: {goodput} against {expected}");
        let station = &report.cells[0].stations[1];
        let packets = (station.attempts - station.retries) as f64;
        let drops = station.retry_drops as f64 / packets;
        // Binomial: four standard deviations.
        let spread = 4.0 * (p.powi(7) / packets).sqrt();
        assert!((drops - p.powi(7)).abs() < spread + 1.0 / packets, "p {p}: {drops} dropped, {}", p.powi(7));
        // Each attempt delivers or is an error, but for the one that the end cuts.
        let errors = station.attempts as f64 - metric(&report, "delivered_packets");
        assert!((station.frame_errors as f64 - errors).abs() <= 1.0);
    }
}

#[test]
fn the_long_retry_limit_counts_data_after_cts() {
    // A lone station's RTS never fails, so its limit of 1 drops nothing; data after CTS have errors with p = 0.3, and
    // after 2 of them the packet is dropped: p^2 = 9 % of all. Without RTS the short limit of 1 drops p = 30 %.
    for (threshold, expected) in [("0 B", 0.09_f64), ("none", 0.3)] {
        let keys = format!(
            "frame_error_rate = 0.3\nshort_retry_limit = 1\nlong_retry_limit = 2\nrts_threshold = \"{threshold}\"\n\
             queue = \"pfifo limit 3p\""
        );
        let report = runs(&uplink(1, 0, &keys, 1000, "50 Mbit/s"), None, 1, 1).remove(0);
        let station = &report.cells[0].stations[1];
        let packets = (station.attempts - station.retries) as f64;
        let drops = station.retry_drops as f64 / packets;
        // Binomial: four standard deviations.
        let spread = 4.0 * (expected * (1.0 - expected) / packets).sqrt();
        assert!((drops - expected).abs() < spread, "rts_threshold {threshold}: {drops} dropped, {expected} expected");
    }
}

#[test]
fn aggregation_gains_as_computed_by_hand() {
    // 802.11n at 65 Mbit/s, 1500 B: a subframe has 4 + 1540 B. In 5.484 ms, of which 36 us are preamble, 1362 symbols of 260
    // bits carry 44,262 B beside 22 bits: 28 subframes, (22 + 28 * 1544 * 8) / 260 = 1331 symbols of 4 us after 36 us. In 10 ms
    // the size is the limit, 42 of them fit in 65,535 B: 1996 symbols. SIFS 16; block ACK 20 + 3 * 4; 2 us of propagation;
    // DIFS 34; 7.5 * 9. Alone: 36 + 48 * 4, SIFS, ACK 20 + 2 * 4, and the same rest.
    let rest = 16.0 + 2.0 + 34.0 + 67.5;
    for (frames, limit, cycle) in [
        (1, "aggregate_frames = 1", 36.0 + 192.0 + 28.0 + rest),
        (1, "aggregate_duration = \"0 s\"", 36.0 + 192.0 + 28.0 + rest),
        (28, "", 36.0 + 5324.0 + 32.0 + rest),
        (42, "aggregate_duration = \"10 ms\"", 36.0 + 7984.0 + 32.0 + rest),
    ] {
        let keys = format!("profile = \"802.11n\"\n{limit}\nqueue = \"pfifo limit 300p\"");
        let report = runs(&uplink(1, 0, &keys, 1500, "70 Mbit/s"), None, 1, 1).remove(0);
        let expected = f64::from(frames) * 12_000.0 / (cycle * 1e-6);
        let goodput = metric(&report, "throughput_bit_s");
        assert!((goodput - expected).abs() < 0.005 * expected, "{frames} frames: {goodput} against {expected}");
    }
}

#[test]
fn errors_within_an_aggregate_keep_the_order() {
    // TCP up and down over A-MPDUs with a tenth of the frames lost: all are repeated at the link and delivered in order,
    // so TCP sees neither loss nor reordering and sends nothing again. 1 - 0.1^7 of all get through.
    let text = r#"
        name = "tcp"
        duration = "10 s"
        [[nodes]]
        name = "station"
        count = 3
        [[cells]]
        name = "wlan"
        access_point = "ap"
        stations = ["station"]
        profile = "802.11n"
        frame_error_rate = 0.1
        access_point_under_test = true
        [[links]]
        name = "wire"
        from = "ap"
        to = "server"
        rate = "1 Gbit/s"
        delay = "5 ms"
        [[flows]]
        name = "up"
        from = "station"
        to = "server"
        transport = { kind = "tcp", window_limit = "60 p", min_rto = "1 s" }
        [[flows]]
        name = "down"
        from = "server"
        to = "station"
        transport = { kind = "tcp", window_limit = "60 p", min_rto = "1 s" }
    "#;
    let report = runs(text, None, 1, 1).remove(0);
    let stations = &report.cells[0].stations;
    assert!(stations.iter().all(|station| station.frame_errors > 100), "{stations:?}");
    assert_eq!(stations.iter().map(|station| station.retry_drops).sum::<u64>(), 0);
    assert_eq!(metric(&report, "retransmissions_segments"), 0.0);
    assert!(metric(&report, "goodput_bit_s") > 20e6);
}

#[test]
fn a_scheme_on_the_access_points_queue_keeps_it_short() {
    // Where bufferbloat lives: five downloads through an 802.11b cell of some 5 Mbit/s. The tail drop queue of 100 packets
    // stands at (100 * 1500 B) / 5 Mbit/s = 240 ms for most of the time; CoDel's target is 5 ms.
    let text = r#"
        name = "downlink"
        duration = "30 s"
        warm_up = "5 s"
        [[nodes]]
        name = "station"
        count = 5
        [[cells]]
        name = "wlan"
        access_point = "ap"
        stations = ["station"]
        profile = "802.11b"
        access_point_under_test = true
        [[links]]
        name = "wire"
        from = "server"
        to = "ap"
        rate = "100 Mbit/s"
        delay = "10 ms"
        [[flows]]
        name = "down"
        from = "server"
        to = "station"
        transport = { kind = "tcp" }
    "#;
    let sojourn = |scheme| metric(&runs(text, Some(scheme), 1, 1).remove(0), "sojourn_ms_mean");
    let (tail, codel) = (sojourn("pfifo limit 100p"), sojourn("codel"));
    assert!((120.0..300.0).contains(&tail), "{tail}");
    assert!(codel < 40.0, "{codel}");
}

/// Every share of the channel's time is at most 1, though colliding stations send at once and the last frame outlasts the run.
#[test]
fn shares_of_the_channels_time_are_at_most_one() {
    // A window of two slots, so that most transmissions of eight stations collide.
    let text = bianchi(8, false, "2 s").replace("warm_up = \"5 s\"", "warm_up = \"1 s\"\npooled = true");
    let text = text.replace("cw_min = 31", "cw_min = 1").replace("cw_max = 1023", "cw_max = 1\nunder_test = true");
    let report = runs(&text, None, 1, 1).remove(0);
    let of =
        |name: &str| report.queues.iter().find(|queue| queue.name == name).and_then(|it| it.metrics.of("utilisation"));
    let utilisation = of("all").expect("the stations are measured together");
    assert!((0.9..=1.0).contains(&utilisation), "{utilisation}");
    // A frame of 34 B and 1023 B takes 8.584 ms: one is on the channel when the run of 4 ms begins to be measured and ends.
    let text = bianchi(1, false, "8 ms").replace("warm_up = \"5 s\"", "warm_up = \"4 ms\"");
    let text = text.replace("rate = \"1 Mbit/s\", packet_size", "rate = \"1 Gbit/s\", packet_size");
    let report = runs(&text, None, 1, 1).remove(0);
    let cell = &report.cells[0];
    assert_eq!((cell.medium_utilisation, cell.stations[1].air_time_share), (1.0, 1.0));
}

#[test]
fn air_time_fairness_gives_stations_the_same_time() {
    // IP packets of 1500 B to a station at 54 and one at 6 Mbit/s. A frame has 1536 B, so 12310 bits with service and tail:
    // 57 symbols of 216 bits, or 513 of 24 bits; a symbol takes 4 us and the preamble 26. The answer, 14 B at 6 Mbit/s,
    // takes 26 + 6 x 4 us, SIFS 10 us, and the propagation 1 us each way: 316 and 2140 us for an exchange.
    let text = |keys: &str| {
        let mut text = format!(
            "name = \"down\"\nduration = \"22 s\"\nwarm_up = \"2 s\"\n[[nodes]]\nname = \"fast\"\n[[nodes]]\nname = \"slow\"\n\
             [[cells]]\nname = \"wlan\"\naccess_point = \"ap\"\nstations = [\"fast\", \"slow\"]\nrates = {{slow = \"6 Mbit/s\"}}\n{keys}\n"
        );
        for station in ["fast", "slow"] {
            text += &format!(
                "[[flows]]\nname = \"{station}\"\nfrom = \"ap\"\nto = \"{station}\"\n\
                 transport = {{kind = \"udp\", header = \"0 B\"}}\n\
                 traffic = {{kind = \"poisson\", rate = \"40 Mbit/s\", packet_size = \"1500 B\"}}\n"
            );
        }
        text
    };
    let of = |keys: &str| {
        let reports = runs(&text(keys), None, 3, 2);
        ["fast", "slow"].map(|group| estimate(reports.iter().map(|report| group_mean(report, group))).0)
    };
    let [fast, slow] = of("airtime_fairness = true");
    let ratio = fast * 316.0 / (slow * 2140.0);
    assert!((ratio - 1.0).abs() < 0.01, "air time {ratio}: {fast} and {slow}");
    // With one queue, each packet that is sent is as likely of one as of the other: of some 45,000, both have the half, with
    // a standard error of their ratio of 1/sqrt(45,000) x 2 = 0.009.
    let [fast, slow] = of("");
    assert!((fast / slow - 1.0).abs() < 0.03, "{fast} and {slow}");
}

#[test]
fn a_station_that_moves_has_its_new_rate_in_both_directions() {
    // As a station alone at 54 Mbit/s above: 339.5 us a packet. At 6 Mbit/s (16 + 6 + 1036 * 8) / 24 = 346.25, so 347 symbols
    // of 4 us for the data, 1388 in place of 156: 1571.5 us.
    let change = "[[changes]]\nat = \"12 s\"\nqueue = \"wlan:fast0\"\nrate = \"6 Mbit/s\"\nphase = \"far\"\n";
    let up = uplink(1, 0, "queue = \"pfifo limit 3p\"\naccess_point_queue = \"pfifo limit 3p\"", 1000, "50 Mbit/s");
    let down = up.replace("from = \"fast\"\nto = \"ap\"", "from = \"ap\"\nto = \"fast\"");
    assert_ne!(up, down);
    for (text, sender) in [(up, 1), (down, 0)] {
        let report = runs(&format!("{text}{change}"), None, 1, 1).remove(0);
        for (phase, cycle) in [("start", 339.5e-6), ("far", 1571.5e-6)] {
            let found = report.phases.iter().find(|one| one.phase == phase && one.group.is_empty()).unwrap();
            let goodput = found.metrics.of("throughput_bit_s").unwrap();
            let expected = 8000.0 / cycle;
            // Some 6400 back-offs of variance (16^2 - 1)/12 slots^2 at 6 Mbit/s: 42 us of a cycle each, 0.03 % of the mean.
            assert!((goodput - expected).abs() < 0.003 * expected, "{sender} {phase}: {goodput} against {expected}");
        }
        // Alone it has all of the air time, whoever sends.
        let stations = &report.cells[0].stations;
        assert!(stations[sender].air_time_share > 0.7 && stations[1 - sender].air_time_share == 0.0);
        assert_eq!(stations[1].air_time_both_share, stations[sender].air_time_share);
        assert_eq!(stations[0].air_time_both_share, stations[sender].air_time_share);
    }
}

#[test]
fn air_time_fairness_serves_whoever_waits() {
    // One queue and equal air time are the same with a single station.
    let text = |keys: &str| {
        format!(
            "name = \"down\"\nduration = \"5 s\"\n[[nodes]]\nname = \"one\"\n[[cells]]\nname = \"wlan\"\naccess_point = \"ap\"\n\
             stations = [\"one\"]\nprofile = \"802.11n\"\naccess_point_queue = \"fq_codel\"\n{keys}\n\
             [[flows]]\nname = \"one\"\nfrom = \"ap\"\nto = \"one\"\n\
             transport = {{kind = \"tcp\", congestion_control = \"cubic\"}}\ntraffic = {{kind = \"bulk\"}}\n"
        )
    };
    let goodput = |keys: &str| metric(&runs(&text(keys), None, 1, 1)[0], "goodput_bit_s");
    let (plain, fair) = (goodput(""), goodput("airtime_fairness = true"));
    assert!(plain > 40e6 && (fair / plain - 1.0).abs() < 0.02, "{plain} and {fair}");
}

#[test]
fn a_frame_that_is_repeated_is_counted_once() {
    // Every other frame has errors, so most runs end with one that is still to be repeated: the audit of the run must find
    // it at one of the two ports of the access point.
    let text =
        "name = \"down\"\nduration = \"300 ms\"\n[[nodes]]\nname = \"one\"\ncount = 2\n[[cells]]\nname = \"wlan\"\n\
                access_point = \"ap\"\nstations = [\"one\"]\nframe_error_rate = 0.5\nairtime_fairness = true\n\
                [[flows]]\nname = \"one\"\nfrom = \"ap\"\nto = \"one\"\ntransport = {kind = \"udp\"}\n\
                traffic = {kind = \"poisson\", rate = \"40 Mbit/s\", packet_size = \"1500 B\"}\n";
    let reports = runs(text, None, 20, 2);
    assert!(reports.iter().all(|report| report.conservation.in_flight > 0));
}

#[test]
fn aggregates_of_one_station_do_not_keep_others_waiting() {
    // 64 frames of 1068 B (IP packets of 1028 B with headers and padding) last longer than the 5.484 ms of an A-MPDU, and the
    // queue of the slow station is never empty: a rest of its frames must not be the beginning of its next A-MPDU. Both
    // stations want more than they get, so each has half of the air time. At 65 Mbit/s an A-MPDU has 41 frames, which last
    // 36 us + 1348 symbols of 4 us + 50 us for SIFS, block acknowledgement and propagation = 5.478 ms; at 6.5 Mbit/s 4
    // frames, 36 us + 1316 x 4 us + 50 us = 5.350 ms. The rates differ by 41/4 x 5.350/5.478 = 10.0.
    let mut text = String::from(
        "name = \"down\"\nduration = \"22 s\"\nwarm_up = \"2 s\"\n[[nodes]]\nname = \"fast\"\n[[nodes]]\nname = \"slow\"\n\
         [[cells]]\nname = \"wlan\"\naccess_point = \"ap\"\nstations = [\"fast\", \"slow\"]\nprofile = \"802.11n\"\n\
         rates = {slow = \"6500 kbit/s\"}\nairtime_fairness = true\n",
    );
    for station in ["fast", "slow"] {
        text += &format!(
            "[[flows]]\nname = \"{station}\"\nfrom = \"ap\"\nto = \"{station}\"\ntransport = {{kind = \"udp\"}}\n\
             traffic = {{kind = \"poisson\", rate = \"60 Mbit/s\", packet_size = \"1000 B\"}}\n"
        );
    }
    let reports = runs(&text, None, 3, 2);
    let [fast, slow] = ["fast", "slow"].map(|group| estimate(reports.iter().map(|report| group_mean(report, group))).0);
    assert!((fast / slow / 10.0 - 1.0).abs() < 0.03, "{fast} and {slow}");
}

#[test]
fn an_aggregate_has_frames_for_one_receiver() {
    // The access point's queue holds frames for two stations in random order. An A-MPDU takes those up to the first that is
    // for the other: n with probability 2^-n. 1500 B at 65 Mbit/s: alone 36 + 192 us and an acknowledgement of 28; n
    // subframes of 1544 B 36 us, ceil((22 + n * 12,352) / 260) symbols of 4 us, a block acknowledgement of 32; and the rest
    // as above.
    let rest = 16.0 + 2.0 + 34.0 + 67.5;
    let cycle: f64 = (1..40)
        .map(|n| {
            let data = if n == 1 { 192.0 + 28.0 } else { ((22 + n * 12_352) as u64).div_ceil(260) as f64 * 4.0 + 32.0 };
            0.5_f64.powi(n) * (36.0 + data + rest)
        })
        .sum();
    let expected = 2.0 * 12_000.0 / (cycle * 1e-6);
    let mut text = String::from(
        "name = \"down\"\nduration = \"21 s\"\nwarm_up = \"1 s\"\n[[nodes]]\nname = \"station\"\ncount = 2\n\
         [[cells]]\nname = \"wlan\"\naccess_point = \"ap\"\nstations = [\"station\"]\nprofile = \"802.11n\"\n",
    );
    text += "[[flows]]\nname = \"down\"\nfrom = \"ap\"\nto = \"station\"\ntransport = {kind = \"udp\"}\n\
             traffic = {kind = \"poisson\", rate = \"60 Mbit/s\", packet_size = \"1472 B\"}\n";
    let report = runs(&text, None, 1, 1).remove(0);
    let goodput = metric(&report, "throughput_bit_s");
    // Some 35,000 A-MPDUs of 565 us and two frames in the mean. Their number n has the standard deviation sqrt(2), and a
    // frame more takes 190 us more: (1 - 190 * 2 / 565) * sqrt(2) / 2 / sqrt(35,000) = 0.12 %.
    assert!((goodput - expected).abs() < 0.005 * expected, "{goodput} against {expected}");
}

#[test]
fn a_collision_counts_for_who_sent_and_for_whom() {
    // A window of one slot: station a, which sends up, and the access point, which sends to b and c by turns, always collide.
    // 1000 B take 182 us without the propagation (as above), and the time-out for the answer 10 + 9 + 26 us: 182 of 227 us.
    let mut text = String::from(
        "name = \"collisions\"\nduration = \"6 s\"\nwarm_up = \"1 s\"\n[[nodes]]\nname = \"a\"\n[[nodes]]\nname = \"b\"\n\
         [[nodes]]\nname = \"c\"\n[[cells]]\nname = \"wlan\"\naccess_point = \"ap\"\nstations = [\"a\", \"b\", \"c\"]\n\
         airtime_fairness = true\ncw_min = 0\ncw_max = 0\n",
    );
    for (from, to) in [("a", "ap"), ("ap", "b"), ("ap", "c")] {
        text += &format!(
            "[[flows]]\nname = \"to_{to}\"\nfrom = \"{from}\"\nto = \"{to}\"\n\
             transport = {{kind = \"udp\", header = \"0 B\"}}\n\
             traffic = {{kind = \"cbr\", rate = \"50 Mbit/s\", packet_size = \"1000 B\"}}\n"
        );
    }
    let report = runs(&text, None, 1, 1).remove(0);
    let [ap, a, b, c] = &report.cells[0].stations[..] else { panic!("{:?}", report.cells[0].stations) };
    assert_eq!((a.attempts, ap.attempts), (a.collisions, ap.collisions));
    let whole = 182.0 / 227.0;
    for share in [ap.air_time_share, a.air_time_share, a.air_time_both_share] {
        assert!((share - whole).abs() < 0.001, "{share}");
    }
    // What the access point sends counts for its receiver, whose turn then ends: b and c have the same.
    for share in [b.air_time_both_share, c.air_time_both_share] {
        assert!((share - whole / 2.0).abs() < 0.005, "{share}");
    }
    assert_eq!(b.air_time_share, 0.0);
}

#[test]
fn air_time_fairness_counts_what_stations_send() {
    // Station a sends 5 Mbit/s in packets of 1500 B, 417 exchanges of 316 us a second (as above): 13 % of the time. The access
    // point has more for both stations than it can send, and gives a so much less.
    let mut text = String::from(
        "name = \"both\"\nduration = \"12 s\"\nwarm_up = \"2 s\"\n[[nodes]]\nname = \"a\"\n[[nodes]]\nname = \"b\"\n\
         [[cells]]\nname = \"wlan\"\naccess_point = \"ap\"\nstations = [\"a\", \"b\"]\nairtime_fairness = true\n",
    );
    for (name, from, to, rate) in [("up", "a", "ap", 5), ("to_a", "ap", "a", 40), ("to_b", "ap", "b", 40)] {
        text += &format!(
            "[[flows]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\n\
             transport = {{kind = \"udp\", header = \"0 B\"}}\n\
             traffic = {{kind = \"poisson\", rate = \"{rate} Mbit/s\", packet_size = \"1500 B\"}}\n"
        );
    }
    let report = runs(&text, None, 1, 1).remove(0);
    let [_, a, b] = &report.cells[0].stations[..] else { panic!("{:?}", report.cells[0].stations) };
    assert!(a.air_time_share > 0.12, "{a:?}");
    // Collisions of what a sends do not count for the access point: some 1 % of the time.
    let ratio = a.air_time_both_share / b.air_time_both_share;
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
}

#[test]
fn a_station_that_moves_has_shorter_aggregates() {
    // As above 28 subframes of 1544 B at 65 Mbit/s. At 6.5 Mbit/s 1362 symbols of 26 bits carry 4423 B: two subframes,
    // ceil((22 + 2 * 12,352) / 26) = 951 symbols of 4 us, and the same rest.
    let keys = "profile = \"802.11n\"\nqueue = \"pfifo limit 300p\"";
    let change = "[[changes]]\nat = \"12 s\"\nqueue = \"wlan:fast0\"\nrate = \"6500 kbit/s\"\nphase = \"far\"\n";
    let report = runs(&format!("{}{change}", uplink(1, 0, keys, 1500, "70 Mbit/s")), None, 1, 1).remove(0);
    let rest = 32.0 + 16.0 + 2.0 + 34.0 + 67.5;
    for (phase, frames, cycle) in [("start", 28.0, 36.0 + 5324.0 + rest), ("far", 2.0, 36.0 + 3804.0 + rest)] {
        let found = report.phases.iter().find(|one| one.phase == phase && one.group.is_empty()).unwrap();
        let (goodput, expected) = (found.metrics.of("throughput_bit_s").unwrap(), frames * 12_000.0 / (cycle * 1e-6));
        assert!((goodput - expected).abs() < 0.01 * expected, "{phase}: {goodput} against {expected}");
    }
}
