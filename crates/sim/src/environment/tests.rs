use super::*;

const NETWORK: &str = r#"{
  "name": "small", "duration": "3 s", "warm_up": "1 s",
  "nodes": [{"name": "a"}, {"name": "b"}],
  "links": [{"name": "link", "from": "a", "to": "b", "rate": "10 Mbit/s", "delay": "10 ms", "queue": "pfifo limit 100p", "under_test": true}],
  "flows": [{"name": "bulk", "from": "a", "to": "b", "count": 3, "transport": {"kind": "tcp"}, "traffic": {"kind": "bulk"}}]
}"#;

fn network() -> Arc<Network> {
    Arc::new(sojourn_scenario::load(NETWORK, "small", &[]).unwrap().resolve().unwrap())
}

fn document(scheme: &str, action: &str, observations: &[&str], reward: &str) -> Document {
    serde_json::from_value(serde_json::json!({
        "scheme": scheme, "queue": "a->b", "step": "10 ms", "observations": observations, "reward": reward,
        "action": serde_json::from_str::<serde_json::Value>(action).unwrap(),
    }))
    .unwrap()
}

fn refused(scheme: &str, action: &str, observation: &str) -> String {
    match Spec::new(&document(scheme, action, &[observation], "0"), vec![network()]) {
        Ok(_) => panic!("{scheme} {action} {observation} is accepted"),
        Err(why) => why,
    }
}

const TARGET: &str = r#"{"parameters": [{"name": "target", "low": "1 ms", "high": "100 ms", "log": true}]}"#;
const FIRST: Begin = Begin { environment: 0, network: 0, seed: 1, replication: 0 };

#[test]
fn an_episode_is_the_run_that_is_not_acted_on() {
    // The action holds CoDel's target at 10 ms, the middle of 1 and 100 ms by their ratio, as the scheme has it.
    let document = document("codel target 10ms", TARGET, &["sojourn_ms_mean", "drops_packets"], "0 - drops_packets");
    let spec = Arc::new(Spec::new(&document, vec![network()]).unwrap());
    let mut environment = Environment::new(Arc::clone(&spec));
    let mut seen = [0.0_f32; 2];
    environment.begin(&FIRST, &mut seen).unwrap();
    assert!((environment.time_s() - 1.0).abs() < 1e-12);
    let (mut steps, mut reward) = (0, 0.0);
    loop {
        let (gained, is_over) = environment.step(&[0.0], &mut seen).unwrap();
        assert_eq!(gained, -f64::from(seen[1]));
        (steps, reward) = (steps + 1, reward + gained);
        if is_over {
            break;
        }
    }
    // Two seconds of 10 ms.
    assert_eq!(steps, 200);
    let mut simulation =
        Simulation::new(network(), Options { scheme: spec.scheme.clone(), seed: 1, ..Options::default() });
    simulation.watch();
    simulation.run_until(Instant::ZERO + Span::from_millis(1000));
    simulation.window(spec.ports[0]);
    simulation.run_until(Instant::ZERO + Span::from_millis(3000));
    assert_eq!(simulation.window(spec.ports[0]).unwrap().drops_packets as f64, -reward);
    assert!(environment.step(&[0.0], &mut seen).unwrap_err().contains("reset first"));
    let metrics = |report: &RunReport| serde_json::to_value(report).unwrap()["queues"][0]["metrics"].clone();
    assert_eq!(metrics(environment.report().unwrap()), metrics(&simulation.run().unwrap()));
}

#[test]
fn a_parameter_is_set_on_its_scale_and_the_probability_is_kept() {
    let action = r#"{"parameters": [{"name": "target", "low": "1ms", "high": "100ms", "log": true}, {"name": "limit", "low": "10p", "high": "30p"}]}"#;
    let document = document("pie", action, &["internal_drop_probability", "action_0"], "1");
    let spec = Arc::new(Spec::new(&document, vec![network()]).unwrap());
    let mut environment = Environment::new(Arc::clone(&spec));
    let mut seen = [0.0_f32; 2];
    environment.begin(&FIRST, &mut seen).unwrap();
    let scheme = |environment: &Environment| {
        let episode = environment.episode.as_ref().unwrap();
        episode.simulation.scheme_of(episode.port).unwrap().text()
    };
    environment.step(&[-1.0, 2.0], &mut seen).unwrap();
    assert_eq!(scheme(&environment), "pie limit 30p target 1ms");
    let before = (0..20).map(|_| environment.step(&[-1.0, 2.0], &mut seen).map(|_| seen[0]).unwrap()).last().unwrap();
    assert!(before > 0.001, "{before}");
    environment.step(&[0.5, 0.0], &mut seen).unwrap();
    // 100^0.75 = 31.6227766 times 1 ms; half way between 10 and 30.
    assert_eq!(scheme(&environment), "pie limit 20p target 31622.777us");
    // A step of 10 ms is shorter than tupdate, 15 ms: at most one update, which lowers it a little.
    assert!(seen[0] > 0.5 * before && seen[1] == 0.5, "{before} {seen:?}");
}

#[test]
fn a_probability_drops_as_often_as_it_says() {
    let action = r#"{"probability": {"low": 0, "high": 1}}"#;
    let document = document("dropping_function table 0:0 limit 1000p", action, &["backlog_packets"], "1/0");
    let wrong = Spec::new(&document, vec![network()]).err().unwrap();
    assert!(wrong.starts_with("reward: \"1/0\", column 2: this constant is inf"), "{wrong}");
    let document = Document { reward: "loss_ratio".into(), ..document };
    let mut environment = Environment::new(Arc::new(Spec::new(&document, vec![network()]).unwrap()));
    let mut seen = [0.0_f32];
    environment.begin(&FIRST, &mut seen).unwrap();
    let mut drops = 0.0;
    for _ in 0..20 {
        drops += environment.step(&[-1.0], &mut seen).unwrap().0;
    }
    assert_eq!(drops, 0.0);
    // Every packet that arrives; those that wait leave first.
    let mut judged = 0;
    for _ in 0..100 {
        let is_empty = seen[0] == 0.0;
        let (loss, _) = environment.step(&[1.0], &mut seen).unwrap();
        assert!(loss == 1.0 || loss == 0.0 || !is_empty, "{loss}");
        judged += u32::from(is_empty && loss == 1.0);
    }
    assert!(judged > 0);
}

#[test]
fn a_scheme_is_chosen_by_its_number() {
    let action = r#"{"schemes": ["pfifo limit 100p", "pie", "codel"]}"#;
    let document = document("pie", action, &["internal_drop_probability", "internal_count"], "0");
    let mut environment = Environment::new(Arc::new(Spec::new(&document, vec![network()]).unwrap()));
    let mut seen = [0.0_f32; 2];
    environment.begin(&FIRST, &mut seen).unwrap();
    let probability = seen[0];
    assert!(probability > 0.0);
    // The first scheme again: nothing is switched, and nothing is forgotten.
    environment.step(&[1.0], &mut seen).unwrap();
    assert!(seen[0] > 0.0 && environment.episode.as_ref().unwrap().simulation.scheme_of(0).unwrap().name() == "pie");
    environment.step(&[2.0], &mut seen).unwrap();
    assert_eq!(seen[0], 0.0);
    let why = environment.step(&[3.0], &mut seen).unwrap_err();
    assert_eq!(why, "action 3; allowed: 0 to 2");
}

#[test]
fn threads_change_nothing() {
    let document = document("pie", TARGET, &["sojourn_ms_mean", "utilisation", "s1", "q2"], "utilisation");
    let run = |threads| {
        let spec = Spec::new(&document, vec![network()]).unwrap();
        let mut pool = Pool::new(spec, 5, threads).unwrap();
        let begins: Vec<Begin> = (0..5).map(|k| Begin { environment: k, seed: 7 + k as u64, ..FIRST }).collect();
        pool.begin(&begins).unwrap();
        let mut all: Vec<f64> = Vec::new();
        for step in 0..200 {
            let actions: Vec<f64> = (0..5).map(|k| f64::from((step / 10 + k) % 3 - 1)).collect();
            pool.step(&actions).unwrap();
            all.extend(pool.observations().map(|value| f64::from(*value)));
            all.extend(pool.rewards());
        }
        assert_eq!(pool.ended().collect::<Vec<_>>(), [1; 5]);
        all.push(pool.report(4).unwrap().len() as f64);
        all
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(3));
}

#[test]
fn what_is_wrong_is_said() {
    for (scheme, action, observation, part) in [
        ("pie", TARGET, "sojourn_ms", "observation 0: \"sojourn_ms\", column 1: \"sojourn_ms\" is unknown"),
        (
            "pie",
            r#"{"parameters": [{"name": "targt", "low": "1ms", "high": "2ms"}]}"#,
            "1",
            "no parameter \"targt\" (did you mean \"target\"?)",
        ),
        (
            "pie",
            r#"{"parameters": [{"name": "target", "low": "2ms", "high": "1ms"}]}"#,
            "1",
            "the bounds of target are 2000000 and 1000000",
        ),
        (
            "pie",
            r#"{"parameters": [{"name": "limit", "low": "1p", "high": "1kB"}]}"#,
            "1",
            "the units \"p\" and \"kB\"; allowed: the same",
        ),
        (
            "pie",
            r#"{"parameters": [{"name": "target", "low": "0ms", "high": "1ms", "log": true}]}"#,
            "1",
            "allowed with log: above 0",
        ),
        (
            "fq_codel",
            r#"{"parameters": [{"name": "flows", "low": "1", "high": "9"}]}"#,
            "1",
            "flows cannot change during a run",
        ),
        ("pie", r#"{"parameters": []}"#, "1", "0 parameters; allowed: 1 to 4096"),
        ("pie", r#"{"schemes": []}"#, "1", "0 schemes"),
        ("pie", r#"{"schemes": ["coddel"]}"#, "1", "did you mean \"codel\"?"),
        ("pie", r#"{"probability": {"low": 0, "high": 1}}"#, "1", "allowed with a drop probability: dropping_function"),
        ("dropping_function", r#"{"probability": {"low": 0, "high": 2}}"#, "1", "from 0 to 2; allowed: within 0 to 1"),
    ] {
        let why = refused(scheme, action, observation);
        assert!(why.contains(part), "{why}");
    }
    let mut one = document("pie", TARGET, &["1"], "1");
    one.queue = "b->a".into();
    let why = Spec::new(&one, vec![network()]).err().unwrap();
    assert_eq!(why, "no queue \"b->a\" is under test in small; allowed: a->b");
    one.queue = "a->b".into();
    one.step = "10".into();
    assert!(Spec::new(&one, vec![network()]).err().unwrap().starts_with("step: "));
    one.step = "3 s".into();
    assert!(Spec::new(&one, vec![network()]).err().unwrap().contains("longer than small lasts after its warm-up"));
}
