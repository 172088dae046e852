//! Node.js with npm, and the npm packages for building and testing `web/`.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::apt;
use crate::process;
use crate::system::System;

const OLDEST: u32 = 20;
const LOCK: &str = "web/package-lock.json";
/// The file that npm writes last, so it is new only after a complete installation.
const INSTALLED: &str = "web/node_modules/.package-lock.json";

pub fn find() -> Option<String> {
    let node = node_version().filter(|version| is_young(version))?;
    let npm = process::probe(npm().arg("--version"))?;
    Some(format!("Node {node}, npm {npm}"))
}

pub fn install() -> Result<(), String> {
    let advice = format!("install Node.js {OLDEST} or newer with npm (https://nodejs.org)");
    if let Some(version) = node_version().filter(|version| !is_young(version)) {
        return Err(format!("{advice}: {version} is too old"));
    }
    if System::detect() != System::Debian {
        return Err(advice);
    }
    // Debian 12 has 18, which would be in the way of a newer one.
    match candidate() {
        Some(version) if !is_young(&version) => Err(format!("{advice}: Debian's {version} is too old")),
        // Node's own packages contain npm, and conflict with Debian's.
        Some(version) if version.contains("nodesource") => apt::install(&["nodejs"]),
        _ => apt::install(&["nodejs", "npm"]),
    }
}

/// The npm command, which is a script on Windows.
pub fn npm() -> Command {
    Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" })
}

pub fn find_packages() -> Option<String> {
    let time = |path| fs::metadata(path).and_then(|file| file.modified()).ok();
    (time(INSTALLED)? >= time(LOCK)?)
        .then(|| Path::new(INSTALLED).parent().expect("a folder").display().to_string())
}

pub fn install_packages() -> Result<(), String> {
    let mut command = npm();
    command.arg("ci").current_dir("web");
    process::run_shown(&mut command).map_err(|failure| format!("npm: {failure}; run `npm ci` in web/"))
}

fn node_version() -> Option<String> {
    process::probe(Command::new("node").arg("--version"))
}

/// The version of Node.js that apt would install, by its lists.
fn candidate() -> Option<String> {
    let policy = process::probe(Command::new("apt-cache").args(["policy", "nodejs"]))?;
    let version = policy.lines().find_map(|line| line.trim().strip_prefix("Candidate: "))?;
    (version != "(none)").then(|| version.to_owned())
}

/// Whether the major version of `v20.19.4` or `20.19.2+dfsg-1` is new enough.
fn is_young(version: &str) -> bool {
    let major = version.trim_start_matches('v').split('.').next().and_then(|major| major.parse().ok());
    major.is_some_and(|major: u32| major >= OLDEST)
}

#[cfg(test)]
mod tests {
    use super::is_young;

    #[test]
    fn versions_are_compared_by_their_first_number() {
        for version in ["v20.0.0", "v22.11.0", "20.19.2+dfsg-1", "v100.1.0"] {
            assert!(is_young(version), "{version}");
        }
        for version in ["v18.20.4", "18.20.4+dfsg-1~deb12u1", "v9.0.0", "", "(none)"] {
            assert!(!is_young(version), "{version}");
        }
    }
}
