//! Generators against their formulas. Statistical bounds are five standard errors of the mean:
//! with the fixed seed the outcome is fixed, and a wrong formula is tens of standard errors away.

use super::on_off::Periods;
use super::renewal::{Gap, Renewal};
use super::switched_poisson::Switched;
use super::{Distribution, Emission, Process, Source, KINDS};
use sojourn_aqm::Random;
use sojourn_random::Stream;
use sojourn_units::{BitRate, Bytes, Span};

const MILLION: usize = 1_000_000;

fn stream() -> Stream {
    Stream::new(1, 0, "traffic/tests")
}

fn source(packet_size: Distribution<Bytes>, process: impl Process + 'static) -> Source {
    Source::new(packet_size, Box::new(process))
}

/// Packets of one size.
fn of(bytes: u64, process: impl Process + 'static) -> Source {
    source(Distribution::Constant(Bytes::new(bytes)), process)
}

/// 1400 B at 1.5 Mbit/s, always ON.
fn cbr() -> Source {
    let (on, off) = (Distribution::Constant(Span::MAX), Distribution::Constant(Span::ZERO));
    of(1400, Periods::new(BitRate::from_bit_s(1_500_000), on, off))
}

fn poisson(packets_per_second: f64) -> Renewal {
    Renewal::new(Gap::Exponential(1e9 / packets_per_second))
}

/// A random source for generators that must not draw.
struct Never;

impl Random for Never {
    fn next_u64(&mut self) -> u64 {
        panic!("drew a random number")
    }
}

fn take(source: &mut Source, random: &mut dyn Random, n: usize) -> Vec<Emission> {
    (0..n).map(|_| source.next(random)).collect()
}

/// Instants of the emissions in ns.
fn instants(emissions: &[Emission]) -> Vec<u64> {
    emissions
        .iter()
        .scan(0, |now, emission| {
            *now += emission.gap.nanos();
            Some(*now)
        })
        .collect()
}

fn near(measured: f64, expected: f64, deviation: f64, n: usize, what: &str) {
    let bound = 5.0 * deviation / (n as f64).sqrt();
    assert!((measured - expected).abs() < bound, "{what}: {measured}, not {expected} +- {bound}");
}

#[test]
fn constant_bit_rate_is_exact_in_the_long_run_and_draws_nothing() {
    // 1400 B at 1.5 Mbit/s: 11,200 bit x 1e9 / 1.5e6 = 7,466,666.67 ns. Packet k leaves at floor(k x that), exactly.
    let emissions = take(&mut cbr(), &mut Never, 300_000);
    for (k, at) in (1u128..).zip(instants(&emissions)) {
        assert_eq!(u128::from(at), k * 11_200_000_000_000 / 1_500_000);
    }
    assert!(emissions.iter().all(|e| e.bytes == 1400));
    assert_eq!(emissions[0].gap, Span::from_nanos(7_466_666));
    // 300,000 packets of 7,466,666.67 ns: 2240 s to the nanosecond.
    assert_eq!(*instants(&emissions).last().unwrap(), 2_240_000_000_000);
}

#[test]
fn on_for_a_second_and_off_for_none_is_constant_bit_rate() {
    let (on, off) = (Distribution::Constant(Span::from_secs(1)), Distribution::Constant(Span::ZERO));
    let mut on_off = of(1400, Periods::new(BitRate::from_bit_s(1_500_000), on, off));
    assert_eq!(take(&mut on_off, &mut Never, 10_000), take(&mut cbr(), &mut Never, 10_000));
}

#[test]
fn an_on_off_source_starts_off_and_carries_the_residual_of_a_packet() {
    // A packet takes 400 ms of ON time. OFF 1.5 s first; ON from 1.5 s to 2.5 s gives packets at 1.9 s and 2.3 s and
    // leaves 200 ms towards the third; OFF to 4 s; ON from 4 s: the third after another 200 ms at 4.2 s, then 4.6 s,
    // and at 5.0 s the fifth just as ON ends.
    let mut source = of(
        1000,
        Periods::new(
            BitRate::from_bit_s(20_000),
            Distribution::Constant(Span::from_secs(1)),
            Distribution::Constant(Span::from_millis(1500)),
        ),
    );
    let emissions = take(&mut source, &mut Never, 7);
    let ms: Vec<u64> = instants(&emissions).iter().map(|ns| ns / 1_000_000).collect();
    // ON again from 6.5 s.
    assert_eq!(ms, [1900, 2300, 4200, 4600, 5000, 6900, 7300]);
}

#[test]
fn a_packet_longer_than_an_on_period_takes_several() {
    // 2.5 s of ON time, ON 1 s and OFF 1 s: 1 s + 1 s ON, 1 s + 1 s ON, 1 s + 0.5 s ON.
    let mut source = of(
        2500,
        Periods::new(
            BitRate::from_bit_s(8_000),
            Distribution::Constant(Span::from_secs(1)),
            Distribution::Constant(Span::from_secs(1)),
        ),
    );
    let emission = source.next(&mut Never);
    assert_eq!(emission, Emission { gap: Span::from_millis(5500), bytes: 2500 });
}

#[test]
fn random_periods_give_the_duty_cycle() {
    // Exponential ON of 1 s and OFF of 1.5 s: ON 40 % of the time, so 0.4 x 125 packets a second.
    // The ON time within T is normal with variance 2 T a^2 b^2 / (a + b)^3 = T x 0.288 s for means a = 1 s and b = 1.5 s
    // (alternating renewal process), at 125 packets a second of ON time.
    let exponential = |ms| Distribution::Exponential { mean: Span::from_millis(ms), max: None };
    let mut source = of(1000, Periods::new(BitRate::from_bit_s(1_000_000), exponential(1000), exponential(1500)));
    let emissions = take(&mut source, &mut stream(), MILLION);
    let seconds = *instants(&emissions).last().unwrap() as f64 / 1e9;
    let on_share = MILLION as f64 / 125.0 / seconds;
    let error = (0.288 / seconds).sqrt();
    assert!((on_share - 0.4).abs() < 5.0 * error, "{on_share} with standard error {error}");
}

#[test]
fn poisson_gaps_are_exponential() {
    // 892 packets a second (FTP in Shu 2023): mean gap 1 / 892 s, standard deviation the same.
    let mut source = of(1400, poisson(892.0));
    let emissions = take(&mut source, &mut stream(), MILLION);
    let gaps: Vec<f64> = emissions.iter().map(|e| e.gap.seconds()).collect();
    let mean = gaps.iter().sum::<f64>() / MILLION as f64;
    near(mean, 1.0 / 892.0, 1.0 / 892.0, MILLION, "mean gap");
    // The second moment of an exponential is 2 m^2 and its variance (24 - 4) m^4.
    let square = gaps.iter().map(|g| (g * 892.0).powi(2)).sum::<f64>() / MILLION as f64;
    near(square, 2.0, 20f64.sqrt(), MILLION, "second moment");
    // Memoryless: e^-1 of them are longer than the mean, e^-3 than three times it.
    for times in [1.0, 3.0] {
        let longer = gaps.iter().filter(|g| **g * 892.0 > times).count() as f64 / MILLION as f64;
        let p = f64::exp(-times);
        near(longer, p, (p * (1.0 - p)).sqrt(), MILLION, "share of long gaps");
    }
}

#[test]
fn a_switched_process_has_its_rates_and_correlation() {
    // 1000 and 100 packets a second, held for 0.1 s and 0.3 s: (0.1 x 1000 + 0.3 x 100) / 0.4 = 325 a second.
    let mut source = of(100, Switched::new([1000.0, 100.0], [Span::from_millis(100), Span::from_millis(300)]));
    let emissions = take(&mut source, &mut stream(), MILLION);
    let last = *instants(&emissions).last().unwrap() as f64 * 1e-9;
    // Counts vary by their index of dispersion, 1 + 2 (r1 - r2)^2 p1 p2 / (mean (1/h1 + 1/h2)) with shares p of time:
    // 1 + 2 x 900^2 x 0.25 x 0.75 / (325 x 13.33) = 71.1: a million packets are off by sqrt(71.1 x 10^6) = 8430.
    near(MILLION as f64 / last / 325.0, 1.0, 71.1_f64.sqrt(), MILLION, "rate");
    // The index itself, from counts in windows of 10 s, long against the phases: 3250 packets with variance 71.1 x 3250.
    let mut counts = vec![0.0_f64; (last / 10.0) as usize];
    for at in instants(&emissions) {
        if let Some(count) = counts.get_mut((at as f64 * 1e-10) as usize) {
            *count += 1.0;
        }
    }
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    let variance = counts.iter().map(|c| (c - mean) * (c - mean)).sum::<f64>() / (counts.len() - 1) as f64;
    // The end effect of a window of T is 1/(T x 13.33), under 1 %; a sample variance of 307 windows has 2/307 relative.
    near(variance / mean / 71.1, 1.0, (2.0_f64).sqrt(), counts.len(), "index of dispersion");
}

#[test]
fn a_fast_poisson_process_keeps_its_rate_although_gaps_are_whole_nanoseconds() {
    // 400 million a second: a mean gap of 2.5 ns, which rounding each gap by itself would get wrong.
    let mut source = of(64, poisson(4e8));
    let emissions = take(&mut source, &mut stream(), MILLION);
    let mean = *instants(&emissions).last().unwrap() as f64 / MILLION as f64;
    near(mean, 2.5, 2.5, MILLION, "mean gap in ns");
}

#[test]
fn pareto_and_weibull_have_their_means_and_tails() {
    // Pareto, k = 1.5 ms, alpha = 2.5 (Shu 2023): mean alpha k / (alpha - 1) = 2.5 ms,
    // variance k^2 alpha / ((alpha - 1)^2 (alpha - 2)) = 1.5^2 x 2.5 / (1.5^2 x 0.5) = 5 ms^2.
    let pareto = Distribution::Pareto { scale: Span::from_micros(1500), shape: 2.5, max: None };
    // Weibull, b = 1 ms, c = 1.5: mean Gamma(1 + 1/1.5) = 0.902745 ms, E[X^2] = Gamma(1 + 2/1.5) = 1.190639 ms^2,
    // so the variance is 1.190639 - 0.902745^2 = 0.375690 ms^2.
    let weibull = Distribution::Weibull { scale: Span::from_millis(1), shape: 1.5, max: None };
    for (gap, mean, variance, beyond, tail) in [
        // P(X > 3 ms) = (1.5 / 3)^2.5.
        (pareto, 2.5, 5.0f64, 3.0, 0.5f64.powf(2.5)),
        // P(X > 2 ms) = exp(-2^1.5).
        (weibull, 0.902_745, 0.375_690, 2.0, f64::exp(-(2f64.powf(1.5)))),
    ] {
        assert!((gap.mean() / 1e6 - mean).abs() < 1e-6, "{}", gap.mean());
        let mut source = of(1400, Renewal::new(Gap::Drawn(gap)));
        let gaps: Vec<f64> = take(&mut source, &mut stream(), MILLION).iter().map(|e| e.gap.millis()).collect();
        near(gaps.iter().sum::<f64>() / MILLION as f64, mean, variance.sqrt(), MILLION, "mean gap in ms");
        let share = gaps.iter().filter(|g| **g > beyond).count() as f64 / MILLION as f64;
        near(share, tail, (tail * (1.0 - tail)).sqrt(), MILLION, "tail");
    }
    let least = take(&mut of(1, Renewal::new(Gap::Drawn(pareto))), &mut stream(), 10_000);
    // A gap starts from k, less what the rounding of the one before has left.
    assert!(least.iter().all(|e| e.gap >= Span::from_nanos(1_499_999)));
}

#[test]
fn weibull_of_shape_one_is_exponential() {
    let (mut a, mut b) = (stream(), stream());
    for _ in 0..1000 {
        let weibull = Distribution::Weibull { scale: Span::from_millis(7), shape: 1.0, max: None }.draw(&mut a);
        let exponential = Distribution::Exponential { mean: Span::from_millis(7), max: None }.draw(&mut b);
        assert!((weibull - exponential).abs() <= 1e-9 * exponential, "{weibull} {exponential}");
    }
}

#[test]
fn exponential_sizes_are_whole_bytes_of_the_right_mean() {
    let mut source = source(Distribution::Exponential { mean: Bytes::new(1000), max: None }, poisson(1000.0));
    let emissions = take(&mut source, &mut stream(), MILLION);
    let mean = emissions.iter().map(|e| f64::from(e.bytes)).sum::<f64>() / MILLION as f64;
    // Rounding to the nearest byte and up from 0 moves the mean by less than 0.001 B.
    near(mean, 1000.0, 1000.0, MILLION, "mean size in bytes");
    assert!(emissions.iter().all(|e| e.bytes > 0));
    // Not cut at any MTU: P(X > 9000) = e^-9 = 1.2e-4.
    assert!(emissions.iter().filter(|e| e.bytes > 9000).count() > 50);
}

#[test]
fn a_bounded_distribution_is_the_conditional_one() {
    // Exponential, mean 1000 B, up to 1000 B: mean 1000 (1 - 1 / (e - 1)) = 418.0233 B; the second moment of x = X / 1000
    // given x <= 1 is (2 - 5/e) / (1 - 1/e) = 0.254070, so the variance is 0.254070 - 0.174743 = 0.079326.
    let bounded = Distribution::Exponential { mean: Bytes::new(1000), max: Some(Bytes::new(1000)) };
    assert!((bounded.mean() - 418.0233).abs() < 1e-4, "{}", bounded.mean());
    let mut random = stream();
    let values: Vec<f64> = (0..MILLION).map(|_| bounded.draw(&mut random)).collect();
    assert!(values.iter().all(|x| *x <= 1000.0));
    near(values.iter().sum::<f64>() / MILLION as f64, 418.0233, 1000.0 * 0.079_326f64.sqrt(), MILLION, "mean");
    // Pareto of index 1 from 1 to e: density 1 / (x^2 (1 - 1/e)), mean 1 / (1 - 1/e) = 1.581977; in units of 1 MB.
    let bounded = Distribution::Pareto { scale: Bytes::new(1_000_000), shape: 1.0, max: Some(Bytes::new(2_718_282)) };
    assert!((bounded.mean() / 1e6 - 1.581_977).abs() < 1e-5, "{}", bounded.mean());
    // Weibull of shape 1 up to its scale is the exponential above.
    let bounded = Distribution::Weibull { scale: Bytes::new(1000), shape: 1.0, max: Some(Bytes::new(1000)) };
    assert!((bounded.mean() - 418.0233).abs() < 1e-3, "{}", bounded.mean());
}

#[test]
fn uniform_lies_between_its_ends() {
    let uniform = Distribution::Uniform(Bytes::new(40), Bytes::new(1500));
    assert!((uniform.mean() - 770.0).abs() < 1e-12);
    let mut random = stream();
    let values: Vec<f64> = (0..MILLION).map(|_| uniform.draw(&mut random)).collect();
    assert!(values.iter().all(|x| (40.0..1500.0).contains(x)));
    // Variance of a uniform: 1460^2 / 12.
    near(values.iter().sum::<f64>() / MILLION as f64, 770.0, 1460.0 / 12f64.sqrt(), MILLION, "mean");
}

#[test]
fn the_same_stream_gives_the_same_packets() {
    let start = source(Distribution::Exponential { mean: Bytes::new(500), max: None }, poisson(100.0));
    let run = || take(&mut start.clone(), &mut stream(), 1000);
    assert_eq!(run(), run());
}

#[test]
fn endless_gaps() {
    // A Pareto tail of index 0.01 soon exceeds any time: the gap is the longest there is, and nothing overflows.
    let gap = Distribution::Pareto { scale: Span::from_secs(1), shape: 0.01, max: None };
    let mut source = of(1, Renewal::new(Gap::Drawn(gap)));
    let emissions = take(&mut source, &mut stream(), 1000);
    assert!(emissions.iter().any(|e| e.gap == Span::MAX));
}

#[test]
fn every_kind_has_a_line() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    for file in files.filter(|path| path.is_file()) {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let is_kind = std::fs::read_to_string(&file).unwrap().contains("\nimpl Kind for ");
        assert!(
            !is_kind || KINDS.iter().any(|kind| kind.name == name),
            "src/{name}.rs has no line in `traffic_kinds!`, in lib.rs"
        );
    }
}
