//! Applications over a line whose times can be worked out by hand.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use sojourn_sim::{Options, RunReport, Simulation};
use std::sync::Arc;

/// A link of 8 Mbit/s, a byte a microsecond, and 10 ms each way.
fn text(link: &str, seconds: u32, flows: &str) -> String {
    format!(
        "name = \"t\"\nduration = \"{seconds} s\"\n[[links]]\nname = \"l\"\nfrom = \"server\"\nto = \"client\"\n\
         delay = \"10 ms\"\nunder_test = true\n{link}\n{flows}"
    )
}

fn flow(name: &str, keys: &str, traffic: &str) -> String {
    format!(
        "[[flows]]\nname = \"{name}\"\nfrom = \"server\"\nto = \"client\"\n{keys}\ntraffic = {{ kind = {traffic} }}\n"
    )
}

fn run(link: &str, seconds: u32, flows: &str) -> RunReport {
    let document = sojourn_scenario::load(&text(link, seconds, flows), "test", &[]).unwrap_or_else(|e| panic!("{e}"));
    let network = Arc::new(document.resolve().unwrap());
    Simulation::new(network, Options { seed: 7, ..Options::default() }).run().unwrap()
}

fn of(report: &RunReport, group: &str, metric: &str) -> f64 {
    let group = report.groups.iter().find(|one| one.name == group).expect("the group");
    group.metrics.get(metric).flatten().unwrap_or_else(|| panic!("no {metric}"))
}

const FAST: &str = "rate = \"8 Mbit/s\"";
const UDP: &str = "transport = { kind = \"udp\" }";

#[test]
fn a_response_takes_the_round_trips_of_its_connection() {
    // SYN 60 B and 10 ms, SYN-ACK 60 B and 10 ms, ACK and request 60 + 452 B and 10 ms, response 1052 B and 10 ms, the SYN-ACK a
    // nanosecond late: 41.684001 ms. Then on the open connection 452 B and 1052 B: 21.504 ms. Start at 0, so the second begins at
    // 1.0417 s, and three are complete after 3 s.
    let traffic = "\"request_response\", response_size = \"1000 B\", pause = \"1 s\"";
    let report = run(FAST, 3, &flow("f", "", traffic));
    assert_eq!(of(&report, "f", "responses_completed"), 3.0);
    let mean = of(&report, "f", "response_s_mean") * 1e3;
    assert!((mean - (41.684_001 + 2.0 * 21.504) / 3.0).abs() < 1e-6, "{mean}");
    // With a new connection each, all take as long as the first.
    let report = run(FAST, 3, &flow("f", "", &format!("{traffic}, persistent = false")));
    assert!((of(&report, "f", "response_s_mean") * 1e3 - 41.684_001).abs() < 1e-6);
    // Each response is counted once, in one flow: 3000 B in 3 s.
    assert_eq!(of(&report, "f", "goodput_bit_s"), 8000.0);
}

#[test]
fn a_page_is_loaded_when_its_last_object_is_there() {
    // One connection: the first object as above, the second with an acknowledgement of the first (52 B) before its request:
    // 41.684001 + 21.556 ms.
    let traffic = "\"web\", objects = 2, connections = 1, pause = \"1 s\"";
    let page = of(&run(FAST, 4, &flow("f", "", traffic)), "f", "page_load_s_mean") * 1e3;
    assert!((page - 63.240_001).abs() < 1e-6, "{page}");
    // RFC 7928's page: 50 objects over 6 connections are 9 objects on two of them, one round trip each, and the handshake: 10
    // round trips of 20 ms. Its 50 kB and headers take 58 ms at 8 Mbit/s, which overlap in part.
    let report = run(FAST, 20, &flow("f", "", "\"web\""));
    let page = of(&report, "f", "page_load_s_mean") * 1e3;
    assert!(page > 200.0 && page < 258.0, "{page}");
    assert_eq!(report.flows.len(), 6);
    // The next page begins when the one before is complete.
    assert!((of(&report, "f", "pages_completed") * page / 1e3 - 20.0).abs() < 0.3);
    // A page whose document comes first takes as much longer as the document: a round trip or more.
    let html = of(&run(FAST, 20, &flow("f", "", "\"web\", html = \"1 kB\"")), "f", "page_load_s_mean") * 1e3;
    assert!(html > page + 20.0 && html < page + 60.0, "{html}");
}

#[test]
fn what_is_lost_is_asked_for_again() {
    // One packet of five is lost in each direction: SYNs, requests and data, also of connections that have been replaced. Every
    // page has 50 objects of 1000 B, and nothing else is delivered: what is left over is of the last page.
    let link =
        "rate = \"8 Mbit/s\"\nloss = { down = \"20%\", up = \"20%\" }\njitter = { down = \"5 ms\", up = \"5 ms\" }\n\
                duplicate = { down = \"5%\", up = \"5%\" }";
    let report = run(link, 300, &flow("f", "", "\"web\""));
    let pages = of(&report, "f", "pages_completed");
    assert!(pages >= 10.0, "{pages}");
    let bytes = of(&report, "f", "goodput_bit_s") / 8.0 * 300.0;
    assert!((pages * 50_000.0..(pages + 1.0) * 50_000.0 + 1.0).contains(&bytes), "{pages} pages, {bytes} B");
}

#[test]
fn clients_end_and_pause_as_other_flows() {
    let traffic = "\"request_response\", response_size = \"1000 B\", pause = \"100 ms\"";
    // About 8.2 responses a second (0.1 s and 21.5 ms): 2 s make 16.
    let stopped = run(FAST, 10, &flow("f", "stop = \"2 s\"", traffic));
    let paused = "[[changes]]\nat = \"1 s\"\nstop = [\"f\"]\n[[changes]]\nat = \"9 s\"\nstart = [\"f\"]\n";
    let paused = run(FAST, 10, &(flow("f", "", traffic) + paused));
    for report in [stopped, paused] {
        let count = of(&report, "f", "responses_completed");
        assert!((15.0..=18.0).contains(&count), "{count}");
    }
}

#[test]
fn video_stalls_by_as_much_as_the_line_is_too_slow() {
    // A segment of 4 s at 2 Mbit/s is 8 Mbit. 1.5 Mbit/s carry 1.5 * 1448 / 1500 = 1.448 Mbit/s of payload: 5.525 s. So 1.525 s of
    // 5.525 s are without a picture, 27.6 %, and the request adds a round trip. The
    // last of 215 segments may be cut off, 0.4 %.
    let slow = run("rate = \"1.5 Mbit/s\"", 1200, &flow("v", "", "\"video\", rates = [\"2 Mbit/s\"]"));
    let share = of(&slow, "v", "video_rebuffer_ratio");
    assert!((0.274..0.285).contains(&share), "{share}");
    assert_eq!(of(&slow, "v", "video_switches_per_min"), 0.0);
    // With choices, both keep below the line's rate and never stall.
    for adaptation in ["buffer", "rate"] {
        let traffic =
            format!("\"video\", adaptation = \"{adaptation}\", rates = [\"0.5 Mbit/s\", \"1 Mbit/s\", \"2 Mbit/s\"]");
        let report = run("rate = \"1.5 Mbit/s\"", 120, &flow("v", "", &traffic));
        let rate = of(&report, "v", "video_bit_rate_bit_s");
        assert!((0.8e6..1.45e6).contains(&rate), "{adaptation}: {rate}");
        assert_eq!(of(&report, "v", "video_stalls"), 0.0, "{adaptation}");
    }
}

#[test]
fn a_call_has_the_delay_of_frame_codec_and_buffer() {
    // 160 B and RTP's 12 B are an IP packet of 200 B: 10.2 ms. Mouth to ear: frame 20 ms, look-ahead 3.75 ms, 10.2 ms and 60 ms.
    let report = run(FAST, 20, &flow("v", UDP, "\"voip\", playout = \"fixed\""));
    assert!((of(&report, "v", "voip_mouth_to_ear_ms_mean") - 93.95).abs() < 1e-9);
    assert_eq!((of(&report, "v", "voip_loss_ratio"), of(&report, "v", "voip_late_ratio")), (0.0, 0.0));
    let (r, mos) = (of(&report, "v", "voip_r"), of(&report, "v", "voip_mos"));
    assert!((90.0..93.2).contains(&r) && (4.34..4.41).contains(&mos), "{r} {mos}");
    // 5 % of 3000 frames are lost: standard error 0.4 %. R falls by 95 * 5 / (5 + 25.1) = 15.8, give or take 1.3.
    let lossy =
        run("rate = \"8 Mbit/s\"\nloss = { down = \"5%\" }", 60, &flow("v", UDP, "\"voip\", playout = \"fixed\""));
    let lost = of(&lossy, "v", "voip_loss_ratio");
    assert!((lost - 0.05).abs() < 0.016, "{lost}");
    assert!((r - of(&lossy, "v", "voip_r") - 15.8).abs() < 4.0);
    // Opus has no R.
    let opus = run(FAST, 5, &flow("v", UDP, "\"voip\", codec = \"opus\""));
    let group = opus.groups.iter().find(|group| group.name == "v").expect("the group");
    assert_eq!((group.metrics.of("voip_r"), group.metrics.of("voip_mos")), (None, None));
}

#[test]
fn a_game_counts_what_takes_longer() {
    // Half of the packets take 40 ms to 60 ms, uniform: none above 100 ms, and half above 50 ms; 1280 packets, standard error 1.4 %.
    let link = "rate = \"1 Gbit/s\"\njitter = { down = \"10 ms\" }";
    let scenario = text(link, 20, &flow("g", UDP, "\"gaming\"")).replace("delay = \"10 ms\"", "delay = \"50 ms\"");
    let network =
        Arc::new(sojourn_scenario::load(&scenario, "t", &[]).unwrap_or_else(|e| panic!("{e}")).resolve().unwrap());
    let report = Simulation::new(network, Options::default()).run().unwrap();
    let share = of(&report, "g", "delay_above_50_ms_ratio");
    assert!((share - 0.5).abs() < 0.06, "{share}");
    assert_eq!(of(&report, "g", "delay_above_100_ms_ratio"), 0.0);
}

#[test]
fn recorded_packets_are_sent_as_they_were() {
    // 0, 20, ... 80 ms, again each second, for 3 s: 15 packets of 160 B, and one as the run ends.
    let report = run(FAST, 3, &flow("p", UDP, "\"replay\", packets = \"0:160 20000000:160x4\", period = \"1 s\""));
    assert_eq!(of(&report, "p", "sent_packets"), 16.0);
    assert_eq!(of(&report, "p", "goodput_bit_s"), 15.0 * 160.0 * 8.0 / 3.0);
    // Once.
    let report = run(FAST, 3, &flow("p", UDP, "\"replay\", packets = \"0:160 20000000:160x4\""));
    assert_eq!(of(&report, "p", "sent_packets"), 5.0);
}

#[test]
fn a_bad_application_has_one_error_that_says_what_is_allowed() {
    for (keys, traffic, why) in [
        ("", "\"web\", objects = 0", "traffic.objects`: is 0; allowed: 1 to 10000"),
        ("", "\"web\", connections = 65", "traffic.connections`: is 65; allowed: 1 to 64"),
        (
            "",
            "\"web\", request_size = \"2 kB\"",
            "traffic.request_size`: is 2000 B; allowed: 1 B to 1400 B, one packet",
        ),
        ("", "\"web\", object_size = \"0 B\"", "traffic.object_size`: is 0; allowed: 1 B or more"),
        (UDP, "\"web\"", "traffic.kind`: sends at the rate of its transport, and udp sets none"),
        (
            "transport = { handshake = false }",
            "\"web\"",
            "transport.handshake`: is false, and a client opens its connections",
        ),
        (
            "transport = { kind = \"tcp\" }",
            "\"voip\"",
            "traffic.kind`: is heard as its packets arrive, which only udp lets it",
        ),
        (UDP, "\"voip\", codec = \"g729\"", "unknown"),
        (UDP, "\"voip\", rate = \"64 kbit/s\"", "traffic.rate`: is of `codec` \"opus\" alone"),
        (UDP, "\"gaming\", interval = \"0 s\"", "traffic.interval`: is 0 ns; allowed: 100 us to 10 s"),
        ("", "\"video\", rates = [\"2 Mbit/s\", \"1 Mbit/s\"]", "traffic.rates[1]`: is 1 Mbit/s, not above 2 Mbit/s"),
        ("", "\"video\", buffer = \"1 s\"", "traffic.buffer`: is 1 s; allowed: at least a segment, 4 s"),
        ("", "\"request_response\"", "traffic`: has none or several of `response_size`, `response_sizes` and `file`"),
        (
            "",
            "\"request_response\", response_sizes = { \"1 kB\" = 0.5 }",
            "response_sizes`: has probabilities with the sum 0.5000",
        ),
        (
            "",
            "\"request_response\", response_sizes = { \"1 kB\" = -1.0 }",
            "response_sizes.1 kB`: is -1.0; allowed: a probability",
        ),
        (UDP, "\"replay\"", "traffic`: has neither `packets` nor `file`"),
        (UDP, "\"replay\", packets = \"5\"", "traffic.packets`: entry 1, \"5\": is no packet"),
        (UDP, "\"replay\", packets = \"9:1\", period = \"1 ns\"", "traffic.period`: is 1 ns; allowed: above 0 s"),
    ] {
        let error =
            sojourn_scenario::load(&text(FAST, 1, &flow("f", keys, traffic)), "t", &[]).expect_err(traffic).to_string();
        assert!(error.contains(why), "{error}");
    }
}
