//! How much memory this process can have. Asked before much of it is taken: the kernel promises more than there is, and ends
//! some process when it is used.

use std::fs::read_to_string;
use std::path::Path;

/// What the rest of the process uses: threads, the control interfaces, the store.
const REST: u64 = 32 << 20;
/// And the addresses that it takes for that: stacks, arenas of the allocator, libraries.
const REST_OF_ADDRESSES: u64 = 192 << 20;

/// Room for `wanted` bytes more, or what there is and who says so.
pub(crate) fn room_for(wanted: u64) -> Result<(), Shortage> {
    let (there, who) = available().into_iter().min().unwrap_or((u64::MAX, ""));
    if wanted <= there {
        return Ok(());
    }
    Err(Shortage { there, who })
}

/// Too little memory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shortage {
    /// Bytes there are, less those that the rest of the process needs.
    pub there: u64,
    /// What bounds them.
    pub who: &'static str,
}

/// Bytes that each bound leaves, as far as the system tells.
fn available() -> Vec<(u64, &'static str)> {
    let text = |path: &str| read_to_string(path).unwrap_or_default();
    let mut bounds = Vec::new();
    let left = |bytes: u64| bytes.saturating_sub(REST);
    let available = in_kib(&text("/proc/meminfo"), "MemAvailable:").map(left);
    bounds.extend(available.map(|bytes| (bytes, "MemAvailable of /proc/meminfo")));
    let (limits, status) = (text("/proc/self/limits"), text("/proc/self/status"));
    for (limit, used, who) in [
        ("Max address space", "VmSize:", "the limit of address space, `ulimit -v`"),
        ("Max data size", "VmData:", "the limit of data size, `ulimit -d`"),
    ] {
        let taken = in_kib(&status, used).unwrap_or(0) + REST_OF_ADDRESSES;
        bounds.extend(soft_limit(&limits, limit).map(|limit| (limit.saturating_sub(taken), who)));
    }
    let group = control_group(&text("/proc/self/cgroup")).map(left);
    bounds.extend(group.map(|bytes| (bytes, "memory.max of the control group")));
    bounds
}

/// The number behind `key` in the form of /proc/meminfo, in bytes.
fn in_kib(text: &str, key: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(key))?;
    rest.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// The soft limit in the form of /proc/self/limits; `None` where it is unlimited.
fn soft_limit(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

/// What the control groups above this process leave it (version 2).
fn control_group(text: &str) -> Option<u64> {
    let own = text.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let root = Path::new("/sys/fs/cgroup");
    let number = |path: &Path| read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let left = |folder: &Path| {
        Some(number(&folder.join("memory.max"))?.saturating_sub(number(&folder.join("memory.current")).unwrap_or(0)))
    };
    root.join(own).ancestors().take_while(|folder| folder.starts_with(root)).filter_map(left).min()
}

/// Bytes in the unit that a reader takes in.
pub(crate) fn shown(bytes: u64) -> String {
    let mib = bytes as f64 / f64::from(1 << 20);
    if mib < 1024.0 {
        format!("{mib:.0} MiB")
    } else {
        format!("{:.1} GiB", mib / 1024.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_files_are_read() {
        assert_eq!(in_kib("MemTotal:  9 kB\nMemAvailable:    2048 kB\n", "MemAvailable:"), Some(2 << 20));
        let limits = "Limit      Soft Limit   Hard Limit   Units\nMax data size   1000  unlimited  bytes\nMax address space  unlimited  unlimited  bytes\n";
        assert_eq!(soft_limit(limits, "Max data size"), Some(1000));
        assert_eq!(soft_limit(limits, "Max address space"), None);
        assert_eq!([shown(192 << 20), shown(64 << 30)], ["192 MiB", "64.0 GiB"]);
        assert!(room_for(1).is_ok() && room_for(u64::MAX).is_err());
    }

    #[test]
    fn frames_that_no_machine_has_are_refused_before_they_are_taken() {
        let error = crate::pool::Pool::new(u32::MAX, 16_384, 256).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::OutOfMemory);
        let said = error.to_string();
        let asked = "key `frames.count`: 4294967295 frames of 16384 B, `frames.size`, are 65536.0 GiB; there are ";
        assert!(said.starts_with(asked) && said.ends_with(" of this size, or more memory"), "{said}");
    }
}
