//! Every registered algorithm keeps the contract, under its defaults, every preset, and every single change of a parameter.

// Clippy's leave for tests ends at functions that are not tests themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "contract/body.rs"]
mod body;
#[path = "contract/broken.rs"]
mod broken;
#[path = "../../../fuzz/kept.rs"]
mod kept;

use sojourn_aqm::registry::{self, Entry};
use sojourn_aqm::{Config, Param};
use std::collections::BTreeSet;

fn parse(text: &str) -> Config {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Presets that leave something for the user to measure, and what completes them.
fn complete(entry: &Entry, preset: &str) -> String {
    let bare = format!("{} preset {preset}", entry.name);
    match bare.parse::<Config>() {
        Ok(_) => bare,
        Err(error) => {
            let completed = format!("{bare} interarrival 1ms");
            assert!(error.to_string().contains("interarrival"), "{bare}: {error}");
            parse(&completed);
            completed
        }
    }
}

/// Texts that a parameter may accept, extremes among them.
fn candidates(param: &Param) -> Vec<String> {
    let words: &[&str] = match param.kind {
        "flag" => return [format!("no{}", param.name), param.name.to_owned()].into(),
        "choice" => return param.allowed.split(", ").map(|word| format!("{} {word}", param.name)).collect(),
        "time" => &["0ns", "1ns", "1us", "3ms", "1s", "1h", "none"],
        "bytes" => &["0B", "1B", "300B", "1514B", "20kB", "1GiB", "none"],
        "packets" => &["0p", "1p", "2p", "7p", "30p", "100000p", "none"],
        "probability" => &["0", "1", "0.5", "0.001", "none"],
        "rate" => &["1bit", "1mbit", "100gbit", "none"],
        "count" => &["0", "1", "2", "17", "65536"],
        "number" => &["0", "1", "0.001", "0.5", "100", "1000000", "none"],
        _ => &["0p", "1p", "7p", "50p", "3kB", "100kB", "1ms", "measured", "none"],
    };
    words.iter().map(|word| format!("{} {word}", param.name)).collect()
}

/// Combinations that single changes do not reach: tiny targets, tiny limits, few queues, every reading of dAQM.
const ODD: &[&str] = &[
    "codel limit 5p target 0ns interval 1ns mtu 0B ecn",
    "codel limit 20kB target 1us interval 50us mtu 0B control_law newton",
    "codel target 1ms interval 5ms ce_threshold 0ns count_overflow limit 9p",
    "cobalt limit 5p target 0ns interval 1ns ecn p_inc 1 p_dec 0",
    "cobalt limit 30p target 1us interval 1ms p_inc 0.3 p_dec 0.01 blue_threshold 1ms control_law newton mtu 1514B",
    "fq_codel flows 1 limit 1p",
    "fq_pfifo flows 2 limit 9p quantum 256B memory_limit 9kB drop_batch 1p",
    "threshold limit 9p q_th 1p at exceeds ecn",
    "threshold limit 9kB q_th 100p",
    "dropping_function limit 9p function d8 count system ecn",
    "dropping_function limit 20p table 0:0,1:1,2:0,3:0.5 between step",
    "dropping_function formula 1/(n+1)",
    "dropping_function formula \"(sojourn - 1ms) / (head - delay) + average / utilisation * (size > 1kB)\" window 1ns limit 9p",
    "red limit 9kB min 1kB max 2kB w 1 max_p 1 wait bytemode avpkt 64B ecn harddrop",
    "red min none max none w none adaptive interval 1us target 0ns ecn nodrop alpha 1 beta 0",
    "ared limit 20p target 1us interval 1us alpha 1 beta 0 w 1 ecn harddrop",
    "shred limit 20p min 0p max 3p w 1 window_w 1 max_p 1 gentle wait bytemode avpkt 64B ecn harddrop",
    "pie limit 9p target 0ns tupdate 1us alpha 32 beta 32 max_burst 0ns ecn mark_ecnth 1 bytemode avpkt 64B derandomize",
    "pie limit 20kB delay departure_rate dq_threshold 1B activate tupdate 1ns variant linux",
    "fq_codel flows 3 limit 9p drop_batch 2p quantum 256B target 0ns interval 1us mtu 0B",
    "fq_codel flows 2 memory_limit 9kB quantum 1MiB noecn",
    "fq_codel flows 65536 limit 40p ce_threshold 1us count_overflow stale_first_above control_law newton target 1us interval 10us",
    "fq_pie flows 3 limit 30p target 1us tupdate 1ms max_burst 0ns ecn",
    "fq_red flows 2 limit 40p min 1p max 3p ecn quantum 300B",
    "fq_cobalt flows 1 limit 20p target 0ns interval 1ns p_inc 1 p_dec 0",
    "fq_rem gamma 1 phi 2 b_ref 0p tupdate 1ns ecn limit 30p flows 3",
    "fq_avq buffer 3kB alpha 1000 ecn limit 20p initial 0 flows 2 memory_limit 9kB",
    "fq_daqm s0 0ns drop_rate 1 drop_duration 1ms limit 30p flows 4",
    "rem gamma 1 phi 2 b_ref 0p tupdate 1ns ecn limit 30p",
    "rem form queue gamma 10 phi 1.1 b_ref 3p w 0.1 tupdate 1h",
    "pi a 0.1 b 0.05 q_ref 2p tupdate 1us ecn limit 20kB",
    "avq buffer 3kB alpha 1000 ecn limit 20p initial 0",
    "avq unit packets buffer 2p alpha 0 gamma 1 initial 1",
    "sfb target 1p max 3p increment 0.5 decrement 0.1 rehash 1ms db 1ms penalty_rate 1000 limit 20p",
    "sfb target 0p max 1p increment 1 decrement 0 rehash 1ns db 0ns noecn",
    "drr limit 7p flows 3 quantum 64B headdrop",
    "drr limit 30p flows 1 quantum 1MiB",
    "sfq limit 1p depth 1p flows 1 divisor 1 quantum 64B perturb 1ns",
    "sfq limit 20p depth 5p flows 3 divisor 8 perturb 1ms headdrop",
    "cake bandwidth 1mbit diffserv8 ack_filter aggressive ingress memlimit 20kB wash overhead 44 atm mpu 96",
    "cake bandwidth 512bit precedence ack_filter on rtt 1us flowblind noecn",
    "cake bandwidth 100gbit diffserv4 hosts rtt 1ns ptm overhead -64 memlimit 9kB",
    "cake besteffort dual-dsthost rtt 1us memlimit 1B",
    "cake diffserv8 srchost rtt 10us control_law newton ingress ack_filter on",
    "daqm s0 0ns drop_rate 1 drop_duration 1us limit 9p",
    "daqm s0 none q0 5p q1 0 q2 0 q3 0 drop_rate 0.5 drop_duration 1ms sample 1ms ring restarts",
    "daqm preset c3 interarrival measured inspect deliver drop_duration 1ms",
    "daqm preset c3 interarrival measured inspect lose drop_duration 100us flags enqueue",
    "daqm preset c2 interarrival 1us sojourn departures inspect lose sample 1ns",
    "daqm s0 none s1 0.01 interarrival measured inspect deliver drop_duration 0ns limit 20kB",
    "daqm preset c3 interarrival measured inspect lose drop_duration 1us min_queue 5p",
    "daqm preset c3 interarrival measured inspect deliver drop_duration 1us min_queue 5p in_hand apart ring array sample 1us",
    "daqm preset c3 interarrival measured inspect lose drop_duration 1us in_hand apart limit 12p",
    "dualpi2 limit 5p target 0ns tupdate 1ns alpha 10000000 beta 10000000 any_ect mtu 0B",
    "dualpi2 limit 60kB overflow drop_enqueue min_th 0ns range 0ns th_len 0p target 1us tupdate 10us coupling_factor 255",
    "dualpi2 preset linux-7.2 limit 40p drop_enqueue min_qlen_step 3p step_thresh 2p max_rtt 1us typical_rtt 1h",
    "dualpi2 limit 1ms scheduler ts_fifo tshift 1us marking random classic_protection 100% target 1us mtu 1GiB",
    "dualpi2 limit 20p nqb 0 nqb_limit 0ns target 0ns tupdate 1ns alpha 10000000 beta 10000000 mtu 0B",
    "dualpi2 preset linux-7.2 memlimit 20kB scheduler wrr classic_protection 0.3 target 100us alpha 50 beta 500 mtu 100B",
    "nlred limit 9kB min 1kB max 2kB w 1 max_p 1 gentle wait bytemode ecn",
    "fred limit 9p min 1p max 2p w 1 max_p 1 minq 0p ecn",
    "fred limit 20kB min 3p max 1000p w 0.5 minq 100p",
    "choke limit 7p min 0p max 3p w 1 max_p 1 ecn",
    "choke min 1p max 100000p w 0.3 max_p 0",
    "black limit 12p min 0p max 9p w 1 q_th 0p m 1 cache 1 ecn",
    "black min 1p max 60p w 0.2 q_th 2p m 7 cache 256 hit matched",
    "black min 1p max 60p w 0.2 q_th 2p m 40 cache 4",
    "sred limit 9p zombies 1 replace 1 max_p 1 flows 1 ecn",
    "sred limit 9kB zombies 65536 replace 0.001 flows 4294967295",
    "sred limit 30p zombies 3 replace 1e-300 max_p 1 ecn",
    "care limit 9p p_cap 1 captures 2 q_th 0p",
    "care limit 20kB p_cap 0.9 captures 1024 q_th 2p",
    "blue limit 5p d1 1 d2 0.3 freeze_time 1ns idle lasting raise_above 0p ecn",
    "blue limit 9kB d1 0.1 d2 0.1 freeze_time 0ns raise_above 3p",
    "green limit 9p rtt 1us flows 1 window 0ns",
    "green rtt 10ms mss 9000B c 100 window 1h flows 3 ecn",
    "green scheme rate limit 20kB interval 1ns time_constant 1h dp 0.01 c_t 0",
    "green scheme rate interval 3ms time_constant 1ns dp 1 ecn",
];

/// An algorithm with few queues: Miri executes the making of each.
fn with_few_queues(name: &str) -> Config {
    parse(&match name {
        "sfq" => "sfq flows 4 divisor 16".to_owned(),
        name if name == "drr" || name.starts_with("fq_") => format!("{name} flows 4"),
        name => name.to_owned(),
    })
}

/// Defaults, presets, and the odd ones.
fn main_texts() -> Vec<String> {
    let mut texts: Vec<String> = ODD.iter().map(|text| (*text).to_owned()).collect();
    for entry in registry::ALL {
        texts.push(entry.name.to_owned());
        texts.extend(entry.presets.iter().map(|preset| complete(entry, preset)));
    }
    texts
}

#[test]
fn every_algorithm_has_odd_parameters() {
    let mut missing = Vec::new();
    for entry in registry::ALL {
        let own = entry.params().iter().any(|parameter| parameter.name != "limit");
        let odd = ODD.iter().any(|text| text.split(' ').next() == Some(entry.name));
        missing.extend((own && !odd).then_some(entry.name));
    }
    assert!(missing.is_empty(), "no text in ODD, in crates/aqm/tests/contract.rs, of {missing:?}");
}

#[test]
fn defaults_presets_and_odd_parameters_keep_the_contract() {
    // Miri takes some ten thousand times as long: every algorithm once, and no preset.
    if cfg!(miri) {
        for entry in registry::ALL {
            body::check_configs(&[with_few_queues(entry.name)], &body::bytes(0, 48));
        }
        return;
    }
    for text in main_texts() {
        let config = parse(&text);
        for seed in 0..4 {
            body::check_configs(std::slice::from_ref(&config), &body::bytes(seed, 12_000));
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes Miri minutes")]
fn a_change_of_parameters_at_run_time_keeps_the_contract() {
    // Every text beside one of the next, so that also the algorithm changes; and each algorithm from its defaults.
    let configs: Vec<Config> = main_texts().iter().map(|text| parse(text)).collect();
    for (i, config) in configs.iter().enumerate() {
        let other = configs[(i + 1) % configs.len()].clone();
        body::check_configs(&[config.clone(), other, parse(config.name())], &body::bytes(i as u64, 12_000));
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes Miri minutes")]
fn every_input_that_the_fuzzer_kept_keeps_the_contract() {
    let (mut algorithms, mut replayed) = (BTreeSet::new(), 0);
    // Texts that are refused are kept too: they must not panic.
    for configs in kept::inputs("registry").iter().filter_map(|input| body::check_input(input)) {
        replayed += 1;
        algorithms.extend(configs.iter().map(Config::name));
    }
    // An empty or foreign corpus proves nothing. It is renewed by `fuzz/run minimise`.
    assert!(replayed >= 50 && algorithms.len() >= 30, "{replayed} inputs, {algorithms:?}");
}

#[test]
#[cfg_attr(miri, ignore = "takes Miri minutes")]
fn every_single_change_of_a_parameter_keeps_the_contract_or_is_refused() {
    let mut run = 0;
    for entry in registry::ALL {
        for param in entry.params() {
            let mut accepted = 0;
            for change in candidates(&param) {
                // A small buffer, so that every run overflows; and what sojourn derivatives need.
                let base = if param.name == "limit" { "" } else { "limit 40p " };
                let extra = if entry.name.ends_with("daqm") && param.name != "interarrival" {
                    "interarrival measured "
                } else {
                    ""
                };
                let texts =
                    [format!("{} {base}{extra}{change}", entry.name), format!("{} {extra}{change}", entry.name)];
                if let Some(config) = texts.iter().find_map(|text| text.parse::<Config>().ok()) {
                    accepted += 1;
                    run += 1;
                    body::check_configs(&[config], &body::bytes(run, 2_000));
                }
            }
            assert!(accepted > 0, "no candidate for {} {} ({}) was accepted", entry.name, param.name, param.kind);
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes Miri minutes")]
fn canonical_text_reads_back_to_the_same_parameters() {
    let mut texts = main_texts();
    for entry in registry::ALL {
        for param in entry.params() {
            texts.extend(candidates(&param).into_iter().map(|change| format!("{} {change}", entry.name)));
        }
    }
    for text in texts {
        let Ok(config) = text.parse::<Config>() else { continue };
        let canonical = config.text();
        let again = parse(&canonical);
        assert_eq!(again.text(), canonical, "{text}");
        assert_eq!(again.params(), config.params(), "{text} prints as {canonical}");
        // And as a table of all its parameters.
        let pairs: Vec<_> = config.params().into_iter().map(|param| (param.name.to_owned(), param.value)).collect();
        let table = Config::from_pairs(config.name(), &pairs).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(table.text(), canonical, "{text} as a table");
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes Miri minutes")]
fn what_is_unknown_is_refused_with_what_is_allowed() {
    for entry in registry::ALL {
        let refused = |text: &str| match text.parse::<Config>() {
            Ok(config) => panic!("{text} was accepted as {config:?}"),
            Err(error) => error.to_string(),
        };
        let name = entry.name;
        let message = refused(&format!("{name} nonsense 1"));
        assert!(message.starts_with(&format!("{name}: unknown parameter \"nonsense\"; allowed: ")), "{message}");
        let message = refused(&format!("{name} preset nonsense"));
        assert!(message.contains("unknown preset \"nonsense\"") || entry.presets.is_empty(), "{message}");
        for param in entry.params() {
            assert!(message.contains(param.name) || message.contains("unknown preset"), "{message}");
            if param.flag {
                continue;
            }
            for text in [format!("{name} {} nonsense", param.name), format!("{name} {}", param.name)] {
                let message = refused(&text);
                assert!(message.contains(param.name) && message.contains("allowed: "), "{text}: {message}");
            }
        }
    }
    let message = "fairy_queue".parse::<Config>().map(|config| config.text()).expect_err("unknown name").to_string();
    assert!(registry::ALL.iter().all(|entry| message.contains(entry.name)), "{message}");
}

#[test]
fn descriptions_are_complete_and_true() {
    for entry in registry::ALL {
        let about = entry.about;
        for text in [about.title, about.summary, about.source, about.signals_on] {
            assert!(!text.trim().is_empty(), "{}", entry.name);
        }
        let params = entry.params();
        assert!(params.iter().all(|param| param.doc.len() > 10 && !param.allowed.is_empty()), "{}", entry.name);
        assert!(about.ecn || params.iter().all(|param| param.name != "ecn"), "{}: ecn", entry.name);
        assert_eq!(registry::ALL.iter().filter(|other| other.name == entry.name).count(), 1, "{}", entry.name);
    }
}

#[test]
fn former_names_of_presets_work_with_a_warning_and_are_listed_nowhere() {
    let newest = sojourn_aqm::NEWEST_KERNEL;
    assert_eq!(sojourn_aqm::KERNELS.last(), Some(&newest.1));
    for (former, present) in sojourn_aqm::FORMER_PRESETS.iter().chain([&newest]) {
        let with: Vec<&Entry> = registry::ALL.iter().filter(|entry| entry.presets.contains(present)).collect();
        assert!(!with.is_empty(), "no algorithm has the preset {present}");
        for entry in registry::ALL {
            let name = entry.name;
            assert!(!entry.presets.contains(former), "{name} lists {former}");
            let written = format!("{name} preset {former}");
            if !entry.presets.contains(present) {
                assert!(written.parse::<Config>().is_err(), "{written}");
                continue;
            }
            let (old, new) = (parse(&written), parse(&format!("{name} preset {present}")));
            assert_eq!(old.text(), new.text());
            assert_eq!(new.warning(), None);
            let warning = old.warning().expect("a former name is warned of");
            if former == &newest.0 {
                // What it means changes with the library, so it says what it is.
                assert!(
                    warning.starts_with(&format!("{name}: \"preset linux\" is \"preset {present}\" here")),
                    "{warning}"
                );
            } else {
                assert_eq!(warning, format!("{name}: \"preset {former}\" is now called \"preset {present}\""));
            }
            let pairs = [("preset".to_owned(), (*former).to_owned())];
            let table = Config::from_pairs(name, &pairs).expect("the same as a table");
            assert_eq!((table.text(), table.warning()), (new.text(), Some(warning)));
            // No message that lists presets knows the former name.
            for wrong in [format!("{name} preset nonsense"), format!("{name} preset")] {
                let message = wrong.parse::<Config>().expect_err("refused").to_string();
                let words: Vec<&str> = message.split([' ', ',', '"']).collect();
                assert!(words.contains(present) && !words.contains(former), "{wrong}: {message}");
            }
        }
    }
}

#[test]
fn a_slip_is_answered_with_the_nearest_name() {
    let refused = |text: &str| text.parse::<Config>().expect_err("a slip").to_string();
    assert!(
        refused("fq_codle").starts_with("unknown algorithm \"fq_codle\" (did you mean \"fq_codel\"?); allowed: pfifo")
    );
    assert!(refused("codel taget 5ms")
        .starts_with("codel: unknown parameter \"taget\" (did you mean \"target\"?); allowed: "));
    assert!(refused("pie preset shu2032")
        .ends_with("unknown preset \"shu2032\" (did you mean \"shu2023\"?); allowed: linux-6.1, linux-6.12, linux-7.2, ns3, shu2023"));
    assert!(refused("avq unit packet")
        .ends_with("\"packet\" is unknown (did you mean \"packets\"?); allowed: bytes, packets"));
    assert!(refused("blue preset x").ends_with("unknown preset \"x\"; this algorithm has no presets"));
}
