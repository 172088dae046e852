//! System information. Without a library, some of it is available on Linux only.

use std::time::SystemTime;

pub fn date() -> String {
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    now.split('T').next().unwrap_or(&now).to_owned()
}

pub fn threads() -> usize {
    rayon::current_num_threads()
}

pub fn processor() -> Option<String> {
    entry("/proc/cpuinfo", "model name")
}

pub fn peak_bytes() -> Option<u64> {
    status("VmHWM")
}

pub fn bytes_now() -> Option<u64> {
    status("VmRSS")
}

fn status(key: &str) -> Option<u64> {
    let line = entry("/proc/self/status", key)?;
    let kibibytes: u64 = line.strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Value of a line `key: value` in a file.
fn entry(file: &str, key: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix(':'));
    value.map(|value| value.trim().to_owned())
}
