//! `sojournd`.

use clap::{Parser, Subcommand};
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
    /// Checks a configuration: exit status 0 when it can run, 2 with what is wrong.
    Check {
        /// The configuration.
        config: PathBuf,
    },
    /// Prints every key of the configuration with its default, as Markdown.
    Keys,
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Task::Check { config } => match sojourn_device::config::load(&config) {
            Ok(_) => {
                println!("{}: good", config.display());
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("sojournd: {error}");
                ExitCode::from(2)
            }
        },
        Task::Keys => {
            print!("{}", sojourn_device::config::reference());
            ExitCode::SUCCESS
        }
    }
}
