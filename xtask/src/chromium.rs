//! The browser of the tests: Chromium or Chrome.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::apt;
use crate::process;
use crate::system::System;

/// Names of the programs on a PATH. The first is the same engine without what surrounds a page: the tests take a fifth less time.
const NAMES: [&str; 5] =
    ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
/// Other places of installation.
const PLACES: [&str; 5] = [
    "/snap/bin/chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Google\Chrome\Application\chrome.exe",
];

pub fn find() -> Option<String> {
    let path = path()?;
    // Chrome on Windows opens a window instead of printing its version.
    match System::detect() {
        System::Windows => Some(path.display().to_string()),
        _ => process::probe(Command::new(&path).arg("--version")),
    }
}

/// The program: the value of the variable `CHROMIUM`, or else the first that exists.
pub fn path() -> Option<PathBuf> {
    path_from(env::var_os("CHROMIUM").map(PathBuf::from), &env::var_os("PATH").unwrap_or_default())
}

fn path_from(chosen: Option<PathBuf>, path: &std::ffi::OsStr) -> Option<PathBuf> {
    if chosen.is_some() {
        return chosen;
    }
    let folders: Vec<PathBuf> = env::split_paths(path).collect();
    let on_path = NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    on_path.chain(PLACES.map(PathBuf::from)).find(|place| Path::is_file(place))
}

pub fn install() -> Result<(), String> {
    if let Some(chosen) = env::var_os("CHROMIUM") {
        return Err(format!("CHROMIUM is set to {}, which does not run", Path::new(&chosen).display()));
    }
    match System::detect() {
        // older distributions lack the shell
        System::Debian => apt::install(&["chromium-headless-shell"])
            .or_else(|_| apt::install(&["chromium"]))
            .map_err(|advice| format!("{advice}, or get Chrome")),
        other => Err(advice(other).into()),
    }
}

fn advice(system: System) -> &'static str {
    match system {
        System::Fedora => "run `sudo dnf install chromium`",
        System::Arch => "run `sudo pacman -S chromium`",
        System::Suse => "run `sudo zypper install chromium`",
        System::Alpine => "run `doas apk add chromium`",
        _ => "install Chrome or Chromium, or set CHROMIUM to its path",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_browser_comes_before_those_on_the_path() {
        let folder = env::temp_dir().join(format!("wordloom-xtask-chromium-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("temporary folder");
        for name in ["google-chrome", "chromium"] {
            std::fs::write(folder.join(name), "").expect("a file");
        }
        let found = path_from(None, folder.as_os_str());
        let chosen = path_from(Some("/opt/browser".into()), folder.as_os_str());
        std::fs::remove_dir_all(&folder).expect("temporary folder");
        assert_eq!(found, Some(folder.join("chromium")));
        assert_eq!(chosen, Some("/opt/browser".into()));
    }

    #[test]
    fn every_system_has_advice() {
        for system in [System::Fedora, System::Arch, System::Suse, System::Alpine] {
            assert!(advice(system).contains("chromium`"), "{system:?}");
        }
        assert!(advice(System::MacOs).contains("CHROMIUM"));
    }
}
