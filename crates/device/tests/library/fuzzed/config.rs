//! What holds of any text that is read as the device's configuration: it is refused with one message, or it reads back from
//! its canonical form and a device made of it accounts for every frame.

use sojourn_device::config::{self, Config, DirectionName};
use sojourn_device::engine::{Direction, Engine};
use sojourn_device::path::Path;
use sojourn_device::pool::Pool;
use sojourn_device::port::{loopback, FaultConfig, Faults, Port};
use sojourn_device::record::Recorder;
use sojourn_random::Stream;
use sojourn_units::{Instant, Probability, Span};

const POOL: u32 = 256;

/// A fuzzer's input; `None` when it is refused.
///
/// # Panics
/// With what it broke.
pub fn check_input(input: &[u8]) -> Option<Config> {
    let text = std::str::from_utf8(input).ok()?;
    let file = std::path::Path::new("fuzz.toml");
    let config = match config::parse(text, file) {
        Ok(config) => config,
        Err(error) => {
            assert!(error.to_string().starts_with("fuzz.toml:"), "no place: {error}");
            return None;
        }
    };
    let canonical = config.to_json();
    let mut again = config::parse(&canonical, file).unwrap_or_else(|error| panic!("{error}: {canonical}"));
    if std::env::var_os("FUZZ_DEFECT").is_some() {
        forget(&mut again);
    }
    assert_eq!(again, config, "reads back as another");
    check_device(&config);
    Some(config)
}

/// The defect that the fuzzer must find: the canonical form forgets the direction of a schedule that is not started.
fn forget(config: &mut Config) {
    if let Some(schedule) = config.schedule.as_mut().filter(|schedule| !schedule.start) {
        schedule.direction = DirectionName::default();
    }
}

fn check_device(config: &Config) {
    let ((a, far_a), (b, far_b)) = (loopback("a"), loopback("b"));
    let with_faults = |port: Box<dyn Port>, table: &config::PortTable| match &table.faults {
        None => port,
        Some(table) => {
            let chance = |p: f64| Probability::new(p).unwrap_or_else(|| panic!("{p} was accepted as a probability"));
            let (loss, duplication) = (chance(table.loss), chance(table.duplication));
            let (reordering, corruption) = (chance(table.reordering), chance(table.corruption));
            Box::new(Faults::new(port, FaultConfig { loss, duplication, reordering, corruption, seed: table.seed }))
        }
    };
    let ports = [with_faults(Box::new(a), &config.ports.a), with_faults(Box::new(b), &config.ports.b)];
    let paths = Direction::ALL.map(|direction| {
        let table = config.direction(direction);
        let mut path = Path::new(&table.path(), Box::new(Stream::seeded(1)), 7, Recorder::idle());
        path.set_delays(&table.delays());
        path
    });
    let mut engine = Engine::new(Pool::new(POOL, 2048, 256).expect("memory"), ports, paths);
    let mut now = Instant::ZERO;
    let mut sent = [0, 0];
    for _ in 0..20 {
        for _ in 0..4 {
            far_a.put(vec![0; 900]);
            far_b.put(vec![0; 60]);
        }
        engine.step(now).expect("loopback works");
        now += Span::from_millis(1);
        sent[0] += std::iter::from_fn(|| far_b.get()).count() as u64;
        sent[1] += std::iter::from_fn(|| far_a.get()).count() as u64;
    }
    let ports = engine.port_counters();
    let mut waiting = 0;
    for direction in Direction::ALL {
        let (path, at) = (engine.path(direction), engine.frame_counts(direction));
        let here = at.queued + at.delayed + at.ready;
        let dropped = path.counters().dropped_total().packets + path.stale() + path.no_room();
        let port = ports[direction as usize];
        assert_eq!(port.received, sent[direction as usize] + dropped + here, "{}", direction.name());
        waiting += here;
    }
    // A frame that a port holds back for the next one is with the port.
    let held = u64::from(POOL) - engine.pool.free() as u64 - waiting;
    let reorders = [&config.ports.a, &config.ports.b].iter().filter(|port| port.faults.is_some()).count() as u64;
    assert!(held <= reorders, "{held} frames of the pool are lost");
}
