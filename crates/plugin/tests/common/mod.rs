//! Compiles C for tests.

use std::path::{Path, PathBuf};
use std::process::Command;

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A shared library made of C, in Cargo's folder for tests.
pub fn library(name: &str, source: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plugins");
    std::fs::create_dir_all(&folder).expect("a folder for tests");
    // Tests run side by side, each with a file of its own.
    let (c, so) = (folder.join(format!("{name}.c")), folder.join(format!("lib{name}.so")));
    std::fs::write(&c, source).expect("the source is written");
    let include = root().join("python/sojourn/plugins");
    let built = Command::new("cc")
        .args(["-O2", "-ffp-contract=off", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror", "-I"])
        .args([&include, Path::new("-o"), &so, &c])
        .status()
        .expect("a C compiler");
    assert!(built.success(), "{name} does not compile");
    so
}

/// The example that `sojourn new aqm NAME --language c` writes.
pub fn example(name: &str) -> String {
    let template = root().join("python/sojourn/scaffold/templates/plugin/c.c.in");
    let text = std::fs::read_to_string(template).expect("the template");
    text.replace("${name}", name).replace("${title}", "My PIE")
}
