//! `sojournd`.

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use hyper::Method;
use serde_json::{json, Map, Value};
use sojourn_device::client::{ClientError, Question};
use sojourn_device::config::{self, Config, Idle, Level, Log, PortTable, RunTable};
use sojourn_device::port::eal::Device;
use sojourn_device::{api, client, daemon, doctor, pool};
use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Of bad input, and of what cannot be opened.
const REFUSED: u8 = 2;
const CONFIG: &str = "/etc/sojournd.toml";
/// What `--version` prints: the version, and which ports this build has.
const LONG_VERSION: &str = if cfg!(feature = "dpdk") {
    concat!(env!("CARGO_PKG_VERSION"), "\nback ends: af_xdp, af_packet, dpdk, pcap, loopback")
} else {
    concat!(
        env!("CARGO_PKG_VERSION"),
        "\nback ends: af_xdp, af_packet, pcap, loopback\n\
         without dpdk: build with `cargo build --release -p sojourn-device --features dpdk`"
    )
};

/// The algorithms of active queue management on real packets.
#[derive(Parser)]
#[command(name = "sojournd", version, long_version = LONG_VERSION, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Runs the device until SIGTERM or SIGINT; SIGHUP reads the configuration again.
    Run {
        /// The configuration.
        config: PathBuf,
    },
    /// Checks a configuration: exit status 0 when it can run, 2 with what is wrong.
    Check {
        /// The configuration.
        config: PathBuf,
    },
    /// Reports settings of this host that will not work with a configuration, and prints the command that fixes each. The exit status is 1 while something must be fixed.
    Doctor {
        /// The configuration.
        config: PathBuf,
    },
    /// Runs the captures that both ports read (back_end = "pcap") through the device in virtual time, as fast as possible, and
    /// prints what was counted, as JSON.
    Replay {
        /// The configuration.
        config: PathBuf,
    },
    /// Prints every key of the configuration with its default, as Markdown.
    Keys,
    /// Prints the state of the running device as a table.
    Status {
        /// Print it as JSON, with every counter.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        running: Running,
    },
    /// Prints the measurement windows that closed last, as JSON.
    Windows {
        /// At most so many, the newest first.
        #[arg(long, default_value_t = 20)]
        limit: usize,
        #[command(flatten)]
        running: Running,
    },
    /// Puts another scheme in force, over what waits.
    Switch {
        /// As tc writes it, "fq_codel target 5ms".
        scheme: String,
        /// Its name in windows and metrics.
        #[arg(long)]
        label: Option<String>,
        #[command(flatten)]
        way: DirectionArgument,
        #[command(flatten)]
        running: Running,
    },
    /// Changes rate or delay.
    Set {
        /// The shaped rate, "100 Mbit/s".
        #[arg(long, required_unless_present = "delay")]
        rate: Option<String>,
        /// The delay line, "10 ms".
        #[arg(long)]
        delay: Option<String>,
        #[command(flatten)]
        way: DirectionArgument,
        #[command(flatten)]
        running: Running,
    },
    /// Starts or stops the schedule, or says how it fares.
    Schedule {
        /// What to do.
        what: Scheduled,
        #[command(flatten)]
        running: Running,
    },
    /// Reads the configuration again, as SIGHUP does.
    Reload(Running),
    /// Prints the script with which a shell completes commands and options.
    Completion {
        /// The shell.
        shell: Shell,
    },
    /// Prints the manual page sojournd(1).
    Manual,
}

/// The same three as of `sojourn`.
#[derive(Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Which device.
#[derive(clap::Args)]
struct Running {
    /// Its Unix socket; the one that the configuration names where absent.
    #[arg(long, conflicts_with = "config")]
    socket: Option<PathBuf>,
    /// Its configuration, of which only `control.socket` is read.
    #[arg(long, default_value = CONFIG)]
    config: PathBuf,
}

#[derive(clap::Args)]
struct DirectionArgument {
    /// Which direction.
    #[arg(long, default_value = "a_to_b", value_parser = ["a_to_b", "b_to_a"])]
    direction: String,
}

#[derive(Clone, Copy, ValueEnum)]
enum Scheduled {
    Start,
    Stop,
    State,
}

fn main() -> ExitCode {
    match act(Arguments::parse().command) {
        Ok(status) => status,
        Err(error) => {
            // Not `eprintln!`, which panics when standard error is full or closed.
            let _ = writeln!(std::io::stderr(), "sojournd: {error}");
            ExitCode::from(REFUSED)
        }
    }
}

fn act(task: Task) -> Result<ExitCode, Box<dyn Error>> {
    match task {
        Task::Run { config: file } => {
            let config = config::load(&file)?;
            log(&config.run);
            daemon::run(config, &file)?;
        }
        Task::Check { config: file } => {
            warn(&config::load(&file)?.warnings());
            println!("{}: good", file.display());
        }
        Task::Doctor { config: file } => {
            if doctor::print(&doctor::examine(&wanted(&config::load(&file)?, file))) {
                return Ok(ExitCode::from(1));
            }
        }
        Task::Replay { config: file } => {
            let config = config::load(&file)?;
            warn(&config.warnings());
            let outcome = daemon::replay(&config)?;
            warn(&outcome.warnings);
            let _ = writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&outcome)?);
        }
        Task::Keys => print!("{}", config::reference()),
        Task::Completion { shell } => completion(shell),
        Task::Manual => manual()?,
        Task::Status { json: false, running } => {
            let answer =
                answered(&running, Question { accept: api::TEXT, ..Question::json(Method::GET, "/status", None) })?;
            // Who reads may have read enough.
            let _ = std::io::stdout().write_all(answer.as_bytes());
        }
        Task::Status { json: true, running } => ask(&running, Method::GET, "/status", None)?,
        Task::Windows { limit, running } => {
            ask(&running, Method::GET, &format!("/windows?limit={limit}"), None)?;
        }
        Task::Switch { scheme, label, way, running } => {
            change(&running, &way, &[("scheme", "SCHEME", Some(scheme)), ("label", "--label", label)])?;
        }
        Task::Set { rate, delay, way, running } => {
            change(&running, &way, &[("rate", "--rate", rate), ("delay", "--delay", delay)])?;
        }
        Task::Schedule { what: Scheduled::State, running } => ask(&running, Method::GET, "/schedule", None)?,
        Task::Schedule { what: Scheduled::Start, running } => {
            ask(&running, Method::POST, "/schedule/start", None)?;
        }
        Task::Schedule { what: Scheduled::Stop, running } => {
            ask(&running, Method::POST, "/schedule/stop", None)?;
        }
        Task::Reload(running) => ask(&running, Method::POST, "/reload", None)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// On standard error, beside an answer on standard output.
fn warn(what: &[String]) {
    for what in what {
        let _ = writeln!(std::io::stderr(), "sojournd: warning: {what}");
    }
}

fn completion(shell: Shell) {
    let shell = match shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "sojournd", &mut script);
    // Who reads may have read enough.
    let _ = std::io::stdout().write_all(&script);
}

/// One page with a section for each command.
fn manual() -> std::io::Result<()> {
    let mut command = Arguments::command();
    command.build();
    let mut page = Vec::new();
    let whole = clap_mangen::Man::new(command.clone()).section("1");
    whole.render_title(&mut page)?;
    whole.render_name_section(&mut page)?;
    whole.render_synopsis_section(&mut page)?;
    whole.render_description_section(&mut page)?;
    whole.render_options_section(&mut page)?;
    writeln!(page, ".SH COMMANDS")?;
    for task in command.get_subcommands().filter(|task| task.get_name() != "help") {
        writeln!(page, ".SS {}", task.get_name())?;
        let man = clap_mangen::Man::new(task.clone());
        let mut part = Vec::new();
        man.render_synopsis_section(&mut part)?;
        man.render_description_section(&mut part)?;
        man.render_options_section(&mut part)?;
        // Its sections are paragraphs here.
        let text = String::from_utf8_lossy(&part).into_owned();
        let kept = text.lines().map(|line| if line.starts_with(".SH") { ".PP" } else { line });
        for line in kept {
            writeln!(page, "{line}")?;
        }
    }
    writeln!(page, ".SH FILES\n.TP\n{CONFIG}\nThe configuration. \\fBsojournd keys\\fR prints its keys.")?;
    writeln!(page, ".SH SEE ALSO\n.BR sojourn (1),\n.BR tc (8)")?;
    let _ = std::io::stdout().write_all(&page);
    Ok(())
}

/// `values` are keys of the request, each with how the command line calls it.
fn change(
    running: &Running,
    way: &DirectionArgument,
    values: &[(&str, &str, Option<String>)],
) -> Result<(), Box<dyn Error>> {
    let given = values.iter().filter_map(|(key, _, value)| Some(((*key).to_owned(), json!(value.as_ref()?))));
    let body = Value::Object(given.collect::<Map<_, _>>());
    let outcome = ask(running, Method::PATCH, &format!("/directions/{}", way.direction), Some(body));
    outcome.map_err(|error| match error {
        ClientError::Refused { key: Some(key), what } => {
            let typed = values.iter().find(|(known, ..)| *known == key).map_or(key.as_str(), |(_, typed, _)| typed);
            let what = what.strip_prefix(&format!("key `{key}`: ")).unwrap_or(&what);
            format!("{typed}: {what}").into()
        }
        other => other.into(),
    })
}

fn answered(running: &Running, question: Question) -> Result<String, ClientError> {
    if let Some(socket) = &running.socket {
        return client::ask(socket, question);
    }
    let (control, wrong) = config::control(&running.config);
    // Without the file of the package, or the right to read it, the socket has its default.
    if let Some(wrong) = wrong.filter(|_| running.config.exists()) {
        let socket = control.socket.0.as_ref().map(|socket| socket.display().to_string()).unwrap_or_default();
        warn(&[format!("{wrong}; the device that runs is asked at {socket}")]);
    }
    let Some(socket) = control.socket.0 else {
        let address = control.listen.0.map_or_else(|| "nothing".to_owned(), |address| address.to_string());
        return Err(ClientError::NoSocket(address));
    };
    client::ask(&socket, question)
}

fn ask(running: &Running, method: Method, path: &str, body: Option<Value>) -> Result<(), ClientError> {
    let answer = answered(running, Question::json(method, path, body))?;
    // Readable, and still JSON.
    let value: Value = serde_json::from_str(&answer).map_err(|e| ClientError::Unclear(e.to_string()))?;
    let warnings = value["warnings"].as_array().into_iter().flatten();
    warn(&warnings.filter_map(|what| what.as_str().map(str::to_owned)).collect::<Vec<_>>());
    // Who reads may have read enough.
    let _ = writeln!(std::io::stdout(), "{value:#}");
    Ok(())
}

/// What the configuration needs of the host.
fn wanted(config: &Config, file: PathBuf) -> doctor::Wanted {
    let ports = [&config.ports.a, &config.ports.b];
    let device = |port: &PortTable| Device::parse(port.device.as_deref()?).ok();
    let devices: Vec<Device> = ports.into_iter().filter_map(device).collect();
    let ports = ports.into_iter().filter_map(|port| (port.back_end.about().uses)(port));
    let frame = config.frames.size.0.get();
    doctor::Wanted {
        ports: ports.collect(),
        room_bytes: (frame - pool::HEADROOM as u64) as u32,
        pool_bytes: u64::from(config.frames.count) * frame,
        // A port of DPDK's has nothing to wait on.
        spins: config.run.idle == Idle::Spin || !devices.is_empty(),
        devices,
        cores: config.dpdk.cores.clone(),
        file: file.canonicalize().unwrap_or(file),
        user: config.run.user.clone(),
    }
}

/// Log lines go to standard error.
fn log(run: &RunTable) {
    let level = match run.level {
        Level::Error => tracing::Level::ERROR,
        Level::Warn => tracing::Level::WARN,
        Level::Info => tracing::Level::INFO,
        Level::Debug => tracing::Level::DEBUG,
    };
    // A line that cannot be written is lost: to say so on the same standard error would panic, in the packet thread as well.
    let lines = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).log_internal_errors(false);
    match run.log {
        Log::Text => lines.with_ansi(false).with_target(false).init(),
        Log::Json => lines.json().flatten_event(true).with_target(false).init(),
    }
}
