//! Compiles the shim for DPDK where the feature `dpdk` asks for it; Debian has DPDK as `libdpdk-dev`.

fn main() {
    println!("cargo:rerun-if-changed=shim/dpdk.c");
    #[cfg(feature = "dpdk")]
    if let Err(why) = dpdk() {
        println!("cargo::error=feature dpdk: {why}");
    }
}

#[cfg(feature = "dpdk")]
fn dpdk() -> Result<(), String> {
    let output = std::process::Command::new("pkg-config").args(["--cflags", "libdpdk"]).output();
    let output = output.map_err(|error| format!("pkg-config does not run: {error}"))?;
    if !output.status.success() {
        return Err("pkg-config does not know libdpdk; on Debian: apt-get install libdpdk-dev".to_owned());
    }
    let mut build = cc::Build::new();
    build.file("shim/dpdk.c").opt_level(3);
    for flag in String::from_utf8_lossy(&output.stdout).split_whitespace() {
        build.flag(flag);
    }
    build.compile("sojourn_dpdk");
    // The few of its hundred libraries that the shim calls; drivers are loaded by DPDK itself.
    for library in ["rte_ethdev", "rte_mbuf", "rte_mempool", "rte_ring", "rte_eal"] {
        println!("cargo:rustc-link-lib=dylib={library}");
    }
    Ok(())
}
