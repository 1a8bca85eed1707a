//! Prints what is taken of the frames of captures, for comparison with other programs: a line with the file's name, then one
//! for each frame with its IP packet's bytes or the reason why it is skipped, then the account or the error.
//!
//! `cargo run --release -p sojourn-capture --example packets -- FILE...`

use sojourn_capture::{Frames, Packets};
use std::io::{BufWriter, Write};
use std::path::Path;

fn main() -> std::io::Result<()> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    for file in std::env::args_os().skip(1) {
        let file = Path::new(&file);
        writeln!(out, "file {}", file.display())?;
        match frames(file, &mut out)?.and_then(|()| account(file)) {
            Ok(account) => writeln!(out, "account {account}")?,
            Err(error) => writeln!(out, "error {}", error.what)?,
        }
    }
    out.flush()
}

fn frames(file: &Path, out: &mut impl Write) -> std::io::Result<Result<(), sojourn_capture::Error>> {
    let mut frames = match Frames::open(file) {
        Ok(frames) => frames,
        Err(error) => return Ok(Err(error)),
    };
    loop {
        match frames.take() {
            Ok(Some(frame)) => match frame.packet() {
                Ok(packet) => writeln!(out, "taken {}", packet.bytes)?,
                Err(why) => writeln!(out, "skipped {why}")?,
            },
            Ok(None) => return Ok(Ok(())),
            Err(error) => return Ok(Err(error)),
        }
    }
}

fn account(file: &Path) -> Result<String, sojourn_capture::Error> {
    let mut packets = Packets::open(file)?;
    while packets.take()?.is_some() {}
    let account = packets.account();
    Ok(format!("{} {} {} {}", account.frames, account.taken, account.ip_bytes, account.cut))
}
