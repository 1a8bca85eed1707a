//! `sojournd`.

use clap::{Parser, Subcommand};
use sojourn_device::config::{self, Level, Log, RunTable};
use sojourn_device::daemon;
use std::path::PathBuf;
use std::process::ExitCode;

/// The algorithms of active queue management on real packets.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
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
    /// Prints every key of the configuration with its default, as Markdown.
    Keys,
}

/// Of bad input, and of what cannot be opened.
const REFUSED: u8 = 2;

fn main() -> ExitCode {
    match act(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sojournd: {error}");
            ExitCode::from(REFUSED)
        }
    }
}

fn act(task: Task) -> Result<(), Box<dyn std::error::Error>> {
    match task {
        Task::Run { config: file } => {
            let config = config::load(&file)?;
            log(&config.run);
            daemon::run(config, &file)?;
        }
        Task::Check { config: file } => {
            config::load(&file)?;
            println!("{}: good", file.display());
        }
        Task::Keys => print!("{}", config::reference()),
    }
    Ok(())
}

/// Log lines go to standard error.
fn log(run: &RunTable) {
    let level = match run.level {
        Level::Error => tracing::Level::ERROR,
        Level::Warn => tracing::Level::WARN,
        Level::Info => tracing::Level::INFO,
        Level::Debug => tracing::Level::DEBUG,
    };
    let lines = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr);
    match run.log {
        Log::Text => lines.with_ansi(false).with_target(false).init(),
        Log::Json => lines.json().flatten_event(true).with_target(false).init(),
    }
}
