//! Memory that the process has used and may use.

use std::fs;

use kaldera::fsa::Limits;

/// Returns the peak memory of this process in bytes; `None` if the system does not report it.
pub(crate) fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_ascii_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns the limits that `--max-mem` sets. The default, which 0 also selects, is half of the
/// memory.
pub(crate) fn limits(max_mem: Option<u64>) -> Limits {
    let max_bytes = max_mem.filter(|&bytes| bytes > 0).map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    Limits::default().with_max_bytes(max_bytes)
}

/// Formats a number of bytes in megabytes.
pub(crate) fn megabytes(bytes: u64) -> String {
    let tenths = bytes / 100_000;
    format!("{}.{} MB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn megabytes_have_one_digit_behind_the_point() {
        assert_eq!(megabytes(0), "0.0 MB");
        assert_eq!(megabytes(12_345_678), "12.3 MB");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_peak_is_known_on_linux() {
        assert!(peak_memory().is_some_and(|bytes| bytes > 1_000_000));
    }
}
