//! What is accepted, and what a refusal says.

use super::{parse, reference, BackEnd, Config, PortTable};
use std::path::Path;

const GOOD: &str = r#"[ports.a]
back_end = "af_xdp"
interface = "eth0"

[ports.b]
back_end = "loopback"

[a_to_b]
scheme = "fq_codel target 5ms"
rate = "100 Mbit/s"
overhead = "24 B"
delay = "10 ms"

[frames]
count = 8192

[schedule]
schemes = { codel = "codel", pie = { kind = "pie", target = "15 ms" } }
every = "1 h"
seed = 7

[control]
listen = "127.0.0.1:9180"
token_file = "token"
"#;

fn read(text: &str) -> Result<Config, String> {
    parse(text, Path::new("dir/d.toml")).map_err(|e| e.to_string())
}

#[test]
fn a_file_is_read_with_its_defaults_and_paths_below_its_folder() {
    let config = read(GOOD).unwrap();
    assert_eq!(config.ports.a.back_end, BackEnd::AfXdp);
    assert_eq!(config.a_to_b.path().rate.bit_s(), 100_000_000);
    assert_eq!(config.a_to_b.path().overhead.get(), 24);
    assert_eq!(config.a_to_b.path().delay.nanos(), 10_000_000);
    assert_eq!(config.b_to_a.path().scheme, None);
    assert_eq!(config.windows.packets, 2_000_000);
    assert_eq!(config.control.token_file, Path::new("dir/token"));
    assert_eq!(config.control.socket.0.as_deref(), Some(Path::new("/run/sojournd/control.sock")));
    let schedule = config.schedule.unwrap();
    assert_eq!((schedule.every.0.seconds(), schedule.seed, schedule.schemes.len()), (3600.0, 7, 2));
}

#[test]
fn the_smallest_network_comes_first() {
    let lines = "[b_to_a.delays]\n\"10.0.0.0/8\" = \"1 ms\"\n\"10.0.1.0/24\" = \"2 ms\"\n\"fd00::/64\" = \"3 ms\"\n";
    let config = read(&format!("{GOOD}\n{lines}")).unwrap();
    let found: Vec<_> = config.b_to_a.delays().iter().map(|(to, delay)| (to.to_string(), delay.nanos())).collect();
    let expected = [("fd00::/64", 3_000_000), ("10.0.1.0/24", 2_000_000), ("10.0.0.0/8", 1_000_000)];
    assert_eq!(found, expected.map(|(to, ns)| (to.to_owned(), ns)));
    let wrong = read(&format!("{GOOD}\n{}", lines.replace("0/24", "0/33"))).unwrap_err();
    assert!(wrong.contains("10.0.1.0/33") && wrong.contains("allowed: as in"), "{wrong}");
}

#[test]
fn the_keys_of_a_network_are_secret_and_others_are_those_of_the_seed() {
    let live = read(&format!("{GOOD}\n[run]\nseed = 5\n")).unwrap();
    let [drawn, again] = [live.keys(5).unwrap(), live.keys(5).unwrap()];
    assert!(drawn[0] != drawn[1] && drawn[0] != again[0] && drawn[0] != 5.into());
    let port = "back_end = \"af_xdp\"\ninterface = \"eth0\"";
    for other in ["back_end = \"loopback\"", "back_end = \"pcap\""] {
        let config = read(&GOOD.replace(port, other)).unwrap();
        assert_eq!(config.keys(5).unwrap(), [5.into(), 6.into()], "{other}");
    }
}

#[test]
fn the_canonical_form_reads_back_to_the_same() {
    let config = read(GOOD).unwrap();
    assert_eq!(parse(&config.to_json(), Path::new("")).unwrap(), config);
}

#[test]
fn what_is_wrong_is_said_with_file_line_key_and_what_is_allowed() {
    // (in the good text, in its place, the whole message); lines and columns counted in the text of `GOOD`.
    let table = [
        ("[frames]", "[frame]", "dir/d.toml:14:2: key `frame`: is not a key here (did you mean \"frames\"?); allowed: ports, a_to_b, b_to_a, dpdk, frames, windows, schedule, control, plugins, run"),
        ("count = 8192", "cont = 1", "dir/d.toml:15:1: key `frames.cont`: is not a key here (did you mean \"count\"?); allowed: count, size"),
        ("count = 8192", "count = 8", "dir/d.toml:15:9: key `frames.count`: is 8; allowed: 256 to 4194304"),
        ("count = 8192", "size = \"3000 B\"", "dir/d.toml:15:8: key `frames.size`: is 3000 B; allowed: \"2048 B\" or \"4096 B\""),
        ("\"af_xdp\"", "\"af_xpd\"", "dir/d.toml:2:12: key `ports.a.back_end`: \"af_xpd\" is unknown (did you mean \"af_xdp\"?); allowed: {back_ends}"),
        ("interface = \"eth0\"\n", "", "dir/d.toml:1:1: key `ports.a.interface`: is missing; allowed: the name of a network interface, as in \"eth0\""),
        ("\"loopback\"", "\"loopback\"\ninterface = \"x\"", "dir/d.toml:7:13: key `ports.b.interface`: does not apply to back_end = \"loopback\"; allowed: with back_end = \"af_xdp\" or \"af_packet\""),
        ("\"loopback\"", "\"af_packet\"\ninterface = \"eth0\"", "dir/d.toml:7:13: key `ports.b.interface`: is the interface of port A too; allowed: another interface"),
        ("\"100 Mbit/s\"", "100", "dir/d.toml:10:8: key `a_to_b.rate`: 100 has no unit; allowed: a rate with its unit: bit/s, kbit/s, Mbit/s, Gbit/s (or bit, kbit, mbit, gbit as in tc), as in \"10 Mbit/s\""),
        ("\"100 Mbit/s\"", "\"0 bit/s\"", "dir/d.toml:10:8: key `a_to_b.rate`: is 0 bit/s; allowed: 1 kbit/s to 10000 Gbit/s, as in \"10 Mbit/s\""),
        ("rate = \"100 Mbit/s\"\n", "", "dir/d.toml:8:1: key `a_to_b.rate`: is missing, and `scheme` needs it; allowed: a rate with its unit: bit/s, kbit/s, Mbit/s, Gbit/s (or bit, kbit, mbit, gbit as in tc), as in \"10 Mbit/s\""),
        ("scheme = \"fq_codel target 5ms\"\n", "", "dir/d.toml:9:8: key `a_to_b.rate`: is given without `scheme`; allowed: both, or neither (frames are then forwarded at once)"),
        ("\"fq_codel target 5ms\"", "\"fq_codel target 5\"", "dir/d.toml:9:10: key `a_to_b.scheme`: fq_codel: target: \"5\" has no unit (tc would read microseconds); allowed: a time with its unit: ns, us, ms, s, min or h, as in \"5 ms\" or \"100ms\""),
        ("delay = \"10 ms\"", "stale_after = \"20 s\"", "dir/d.toml:12:15: key `a_to_b.stale_after`: is 20 s; allowed: 1 ms to 10 s"),
        ("\"10 ms\"", "\"10 min\"", "dir/d.toml:12:9: key `a_to_b.delay`: is 600 s; allowed: 0 s to 60 s"),
        ("codel = \"codel\", ", "", "dir/d.toml:18:11: key `schedule.schemes`: has 1; allowed: two or more, up to 1000"),
        ("every = \"1 h\"", "every = \"1 ms\"", "dir/d.toml:19:9: key `schedule.every`: is 1 ms; allowed: 10 ms to 31622400 s"),
        ("seed = 7", "seed = 7\ndirection = \"b_to_a\"", "dir/d.toml:21:13: key `schedule.direction`: is \"b_to_a\", which has no queue; allowed: a direction with `scheme` and `rate` (they hold until the first slot)"),
        ("seed = 7", "design = \"random\"", "dir/d.toml:17:1: key `schedule.seed`: is missing"),
        ("127.0.0.1:9180", "0.0.0.0:9180", "dir/d.toml:23:10: key `control.listen`: \"0.0.0.0:9180\" can be reached from other machines; allowed: a loopback address with a port, as in \"127.0.0.1:9180\" or \"[::1]:9180\", or \"none\""),
        ("127.0.0.1:9180", "localhost", "dir/d.toml:23:10: key `control.listen`: \"localhost\" is not an address with a port; allowed: a loopback address with a port, as in \"127.0.0.1:9180\" or \"[::1]:9180\", or \"none\""),
        ("[frames]", "[frames", "dir/d.toml:14:8: unclosed table, expected `]`"),
        ("\"loopback\"", "\"dpdk\"", "dir/d.toml:5:1: key `ports.b.device`: is missing; allowed: a virtual device as DPDK's --vdev takes it, as in \"net_af_packet0,iface=eth0\", or a PCI address, as in \"0000:01:00.0\""),
        ("\"loopback\"", "\"dpdk\"\ndevice = \"eth0\"", "dir/d.toml:7:10: key `ports.b.device`: is \"eth0\"; allowed: a virtual device as DPDK's --vdev takes it, as in \"net_af_packet0,iface=eth0\", or a PCI address, as in \"0000:01:00.0\""),
        ("overhead = \"24 B\"", "trace = { opportunities = \"5\" }", "dir/d.toml:11:9: key `a_to_b.trace`: is given together with `rate`; allowed: one of the two"),
        ("rate = \"100 Mbit/s\"", "trace = { opportunities = \"5\" }", "dir/d.toml:10:27: key `a_to_b.trace.opportunities`: counts bytes of IP, and the link has `overhead`; allowed: no `overhead`, or `rates`"),
        ("rate = \"100 Mbit/s\"", "trace = { states = [] }", "dir/d.toml:10:20: key `a_to_b.trace.states`: are drawn for a run whose length is known; allowed: in scenarios, or here `file`, `opportunities` or `rates`"),
        ("scheme = \"fq_codel target 5ms\"\nrate = \"100 Mbit/s\"", "framing = \"raw\"", "dir/d.toml:9:11: key `a_to_b.framing`: is given without `scheme`; allowed: together with it"),
        ("delay = \"10 ms\"", "framing = \"docsis\"", "dir/d.toml:11:12: key `a_to_b.overhead`: is given beside `framing`, which says it; allowed: one of the two"),
        ("delay = \"10 ms\"", "jitter = \"2 min\"", "dir/d.toml:12:10: key `a_to_b.jitter`: is 120 s; allowed: 0 s to 60 s"),
        ("delay = \"10 ms\"", "jitter = \"1 ms\"\ndelays = { \"10.0.0.0/8\" = \"1 ms\" }", "dir/d.toml:12:10: key `a_to_b.jitter`: is given beside `delays`; allowed: one of the two"),
        ("delay = \"10 ms\"", "changes = [{ at = \"1 s\" }]", "dir/d.toml:12:12: key `a_to_b.changes[0]`: changes nothing; allowed: at least one of rate, delay, loss and scheme"),
        ("delay = \"10 ms\"", "changes = [{ at = \"1 s\", rate = \"1 bit/s\" }]", "dir/d.toml:12:33: key `a_to_b.changes[0].rate`: is 1 bit/s; allowed: 1 kbit/s to 10000 Gbit/s, as in \"10 Mbit/s\""),
        ("delay = \"10 ms\"", "changes = [{ at = \"1 s\", every = \"0 s\", loss = \"1%\" }]", "dir/d.toml:12:34: key `a_to_b.changes[0].every`: is 0; allowed: a time above 0, as in \"5 ms\""),
        ("delay = \"10 ms\"", "[b_to_a]\nchanges = [{ at = \"1 s\", rate = \"1 Mbit/s\" }]", "dir/d.toml:13:33: key `b_to_a.changes[0].rate`: changes a direction without a queue; allowed: a direction with `scheme`"),
        ("delay = \"10 ms\"", "changes = [{ at = \"1 s\", scheme = \"codel\" }]", "dir/d.toml:17:1: key `schedule.direction`: switches a direction whose `changes` have a scheme, too; allowed: one of the two"),
        ("[frames]", "[dpdk]\ncores = [0]\n[frames]", "dir/d.toml:15:9: key `dpdk.cores`: is set, but no port uses DPDK; allowed: with back_end = \"dpdk\""),
    ];
    let mut wrong = Vec::new();
    let back_ends = BackEnd::ALL.iter().map(|back_end| back_end.name()).collect::<Vec<_>>().join(", ");
    for (old, new, message) in table {
        assert!(GOOD.contains(old), "the test's own text lacks {old}");
        let message = message.replace("{back_ends}", &back_ends);
        match read(&GOOD.replacen(old, new, 1)) {
            Err(found) if found == message => {}
            found => wrong.push((new, found.map(|_| "accepted"))),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Both ports are DPDK's.
const DPDK: &str = r#"[ports.a]
back_end = "dpdk"
device = "net_ring0"

[ports.b]
back_end = "dpdk"
device = "net_ring1"

[dpdk]
cores = [0, 1]
arguments = ["--log-level=debug"]
"#;

#[test]
fn ports_of_dpdk_need_a_build_that_has_it() {
    let found = read(DPDK);
    if cfg!(feature = "dpdk") {
        assert_eq!(found.unwrap().dpdk.cores, [0, 1]);
    } else {
        let message = found.unwrap_err();
        assert!(
            message.starts_with("dir/d.toml:2:12: key `ports.a.back_end`: back_end = \"dpdk\" is not available in this build (build with `cargo build --release -p sojourn-device --features dpdk`"),
            "{message}"
        );
        assert!(message.contains("--features dpdk") && message.contains("libdpdk-dev"), "{message}");
    }
}

#[test]
fn what_is_wrong_of_dpdk_is_said_by_every_build() {
    let table = [
        ("net_ring1", "net_ring0,nodeaction=r0:0:CREATE", "dir/d.toml:7:10: key `ports.b.device`: is net_ring0, the device of port A too; allowed: another device"),
        ("[0, 1]", "[0, 1, 0]", "dir/d.toml:10:9: key `dpdk.cores`: is [0, 1, 0]; allowed: 1 to 5 CPUs, each once, as in [0, 1, 2]"),
        ("[0, 1]", "[0, 1, 2, 3, 4, 5]", "dir/d.toml:10:9: key `dpdk.cores`: is [0, 1, 2, 3, 4, 5]; allowed: 1 to 5 CPUs, each once, as in [0, 1, 2]"),
        ("--log-level=debug", "--lcores=0-3", "dir/d.toml:11:13: key `dpdk.arguments`: contains \"--lcores=0-3\", which `cores` sets; allowed: other arguments"),
    ];
    for (old, new, message) in table {
        assert_eq!(read(&DPDK.replacen(old, new, 1)).unwrap_err(), message);
    }
}

#[test]
fn every_key_has_a_meaning() {
    for line in reference().lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").collect();
        assert!(cells.len() == 4 && !cells[1].trim().is_empty() && !cells[3].trim().is_empty(), "{line}");
    }
}

#[test]
fn the_page_of_keys_is_up_to_date() {
    let page = include_str!("../../../../docs/reference/device.md");
    assert!(page == reference(), "docs/reference/device.md is not what `sojournd keys` prints");
}

#[test]
fn former_names_of_presets_are_warned_of_with_their_keys() {
    assert_eq!(read(GOOD).unwrap().warnings(), Vec::<String>::new());
    let former = GOOD
        .replace("fq_codel target 5ms", "fq_red preset seed000")
        .replace("codel = \"codel\"", "red = { kind = \"red\", preset = \"seed000\" }");
    let other = "[b_to_a]\nscheme = \"avq preset seed004\"\nrate = \"20 Mbit/s\"\n";
    assert_eq!(
        read(&format!("{former}\n{other}")).unwrap().warnings(),
        [
            "key `a_to_b.scheme`: fq_red: \"preset seed000\" is now called \"preset shu2023\"",
            "key `b_to_a.scheme`: avq: \"preset seed004\" is now called \"preset hassan\"",
            "key `schedule.schemes.red`: red: \"preset seed000\" is now called \"preset shu2023\"",
        ]
    );
}

#[test]
fn what_has_no_effect_is_warned_of_with_its_key() {
    let inert = GOOD
        .replace("fq_codel target 5ms", "cake nat overhead 44")
        .replace("codel = \"codel\"", "codel = \"red interval 1s\"");
    let other = "[b_to_a]\noverhead = \"24 B\"\n";
    assert_eq!(
        read(&format!("{inert}\n{other}")).unwrap().warnings(),
        [
            "key `a_to_b.scheme`: cake: `overhead` counts bytes a second time: `overhead` of the link counts them already",
            "key `a_to_b.scheme`: cake: `nat` has no effect: addresses are hashed as the packets carry them",
            "key `b_to_a.overhead`: has no effect without `scheme`: frames are forwarded at once",
            "key `schedule.schemes.codel`: red: `interval` has no effect without `adaptive`",
        ]
    );
    // ECN-capable frames, marked ones and acknowledgements may come.
    for scheme in ["cake wash ack-filter", "codel ecn ce_threshold 1ms", "dualpi2 min_th 1ms", "cake nonat split-gso"] {
        assert_eq!(read(&GOOD.replace("fq_codel target 5ms", scheme)).unwrap().warnings(), Vec::<String>::new());
    }
}

#[test]
fn every_key_of_a_port_is_of_all_back_ends_or_belongs_to_those_that_read_it() {
    let schema = schemars::schema_for!(PortTable).to_value();
    let keys = schema["properties"].as_object().unwrap();
    for owner in BackEnd::ALL {
        for key in owner.about().keys.iter().chain(owner.about().needs.iter().map(|(key, _)| key)) {
            assert!(keys.contains_key(*key), "{}: there is no key {key} in PortTable", owner.name());
        }
    }
    for (key, about) in keys {
        let owners = BackEnd::ALL.iter().filter(|owner| owner.about().keys.contains(&key.as_str()));
        let owners: Vec<&str> = owners.map(|owner| owner.name()).collect();
        let of_all = ["back_end", "trace", "faults"].contains(&key.as_str());
        assert_eq!(owners.is_empty(), of_all, "{key}: name it in `keys` of the back ends that read it");
        // The reference names them.
        let text = about["description"].as_str().unwrap_or_default().replace('\n', " ");
        for owner in owners {
            assert!(text.contains(&format!("`{owner}`")), "{key}: say \"For `{owner}`.\" in its description");
        }
    }
}

#[test]
fn a_trace_takes_the_place_of_its_file_and_a_wrong_one_names_its_line() {
    let folder = std::env::temp_dir().join(format!("sojournd-trace-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("d.toml");
    let text = GOOD.replace("rate = \"100 Mbit/s\"\noverhead = \"24 B\"", "trace = { file = \"t.txt\" }");
    std::fs::write(&file, text).unwrap();
    std::fs::write(folder.join("t.txt"), "0\n3\n4\n").unwrap();
    let config = super::load(&file).unwrap();
    // Three opportunities of 1500 B in a period of 4 ms: 9 Mbit/s.
    assert_eq!(config.a_to_b.path().rate.bit_s(), 9_000_000);
    let link = config.a_to_b.link();
    assert!(link.trace.is_some() && link.framing.is_none());
    assert_eq!(parse(&config.to_json(), Path::new("")).unwrap(), config);
    std::fs::write(folder.join("t.txt"), "0\n3\n2\n").unwrap();
    let wrong = super::load(&file).unwrap_err().to_string();
    assert!(
        wrong.ends_with("key `a_to_b.trace.file`: t.txt: line 3: is 2, after 3; allowed: times that never fall"),
        "{wrong}"
    );
    std::fs::remove_file(folder.join("t.txt")).unwrap();
    let absent = super::load(&file).unwrap_err().to_string();
    assert!(absent.contains("d.toml:10:18: key `a_to_b.trace.file`: t.txt: No such file"), "{absent}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_device_that_runs_is_found_whatever_is_wrong_with_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("d.toml");
    let own = folder.path().join("c.sock");
    let tail = "[control] # here\nsocket = \"c.sock\"\nlisten = \"127.0.0.1:7\"\n[run]\nuser = \"root\"\n";
    for (head, is_wrong) in [
        ("", false),
        // A key that is none, a value that is none: of no concern here.
        ("[a_to_b]\nrrate = 7\nscheme = \"codell\"\n", false),
        // Not even TOML, above the table.
        ("[a_to_b]\nrate = \"7\n", true),
    ] {
        std::fs::write(&file, format!("{head}{tail}")).unwrap();
        let (control, wrong) = super::control(&file);
        assert_eq!(control.socket.0.as_ref(), Some(&own), "{head}");
        assert_eq!(control.listen.0.map(|address| address.port()), Some(7), "{head}");
        assert_eq!(wrong.is_some(), is_wrong, "{head}");
        if let Some(wrong) = wrong {
            assert!(wrong.to_string().contains("d.toml:2:"), "{wrong}");
        }
    }
    let default = super::ControlTable::default().socket.0;
    // A typo in the table itself, or no file at all: where it is by default.
    std::fs::write(&file, tail.replace("c.sock\"", "c.sock")).unwrap();
    assert_eq!(super::control(&file).0.socket.0, default);
    assert_eq!(super::control(Path::new("/nonexistent/d.toml")).0.socket.0, default);
    std::fs::write(&file, tail.replace("c.sock", "none")).unwrap();
    assert_eq!(super::control(&file).0.socket.0, None);
}
