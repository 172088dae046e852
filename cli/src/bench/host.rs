//! What the system tells of itself. Only Linux tells some of it without a library.

use std::time::SystemTime;

/// Today, in UTC.
pub fn date() -> String {
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    now.split('T').next().unwrap_or(&now).to_owned()
}

pub fn threads() -> usize {
    rayon::current_num_threads()
}

/// The processor's name.
pub fn processor() -> Option<String> {
    entry("/proc/cpuinfo", "model name")
}

/// The most memory that the process has had, bytes.
pub fn peak_bytes() -> Option<u64> {
    status("VmHWM")
}

/// The memory that the process has, bytes.
pub fn bytes_now() -> Option<u64> {
    status("VmRSS")
}

fn status(key: &str) -> Option<u64> {
    let line = entry("/proc/self/status", key)?;
    let kibibytes: u64 = line.strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// A line `key: value` of a file, which other systems do not have.
fn entry(file: &str, key: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix(':'));
    value.map(|value| value.trim().to_owned())
}
