//! The Vulkan driver on the CPU (Mesa's lavapipe), which tests the GPU path without a GPU.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::apt;
use crate::process;
use crate::system::System;

const LOADER: &str = "libvulkan.so.1";

pub fn find() -> Option<String> {
    match System::detect() {
        System::MacOs => Some("not needed: tests run on Metal".into()),
        System::Windows => Some("not needed: tests run on Direct3D 12 (WARP where there is no GPU)".into()),
        _ if !has_loader() => None,
        _ => manifest_folders(|name| env::var_os(name))
            .iter()
            .find_map(|folder| lavapipe_in(folder))
            .map(|manifest| manifest.display().to_string()),
    }
}

pub fn install() -> Result<(), String> {
    match System::detect() {
        System::Debian => apt::install(&["mesa-vulkan-drivers", "libvulkan1"]),
        other => Err(advice(other).into()),
    }
}

fn advice(system: System) -> &'static str {
    match system {
        System::Fedora => "run `sudo dnf install mesa-vulkan-drivers vulkan-loader`",
        System::Arch => "run `sudo pacman -S vulkan-swrast vulkan-icd-loader`",
        System::Suse => "run `sudo zypper install libvulkan_lvp libvulkan1`",
        System::Alpine => "run `doas apk add mesa-vulkan-swrast vulkan-loader`",
        _ => "install the Vulkan loader and Mesa's lavapipe, or any other Vulkan driver",
    }
}

fn has_loader() -> bool {
    // In Debian, ldconfig is not in a user's PATH.
    let listed = ["ldconfig", "/sbin/ldconfig"].iter().any(|ldconfig| {
        process::probe(Command::new(ldconfig).arg("-p")).is_some_and(|libraries| libraries.contains(LOADER))
    });
    let own = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let folders = ["/usr/lib", "/usr/lib64", "/usr/local/lib"].map(PathBuf::from);
    listed || env::split_paths(&own).chain(folders).any(|folder| folder.join(LOADER).exists())
}

/// The Vulkan loader's folders of driver manifests ("Driver Discovery on Linux" in its documentation).
fn manifest_folders(variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let home = |below: &str| variable("HOME").map(|home| Path::new(&home).join(below));
    let configuration = variable("XDG_CONFIG_HOME").map(PathBuf::from).or_else(|| home(".config"));
    let data = variable("XDG_DATA_HOME").map(PathBuf::from).or_else(|| home(".local/share"));
    let shared = variable("XDG_DATA_DIRS").unwrap_or("/usr/local/share:/usr/share".into());
    let fixed = ["/etc", "/usr/local/share", "/usr/share", "/run/opengl-driver/share"].map(PathBuf::from);
    let roots = configuration.into_iter().chain(data).chain(env::split_paths(&shared)).chain(fixed);
    roots.map(|root| root.join("vulkan/icd.d")).collect()
}

/// `lvp_icd.x86_64.json`, since Mesa 24 also `lvp_icd.json`.
fn lavapipe_in(folder: &Path) -> Option<PathBuf> {
    let mut files = folder.read_dir().ok()?.filter_map(Result::ok).map(|entry| entry.path());
    files.find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("lvp_icd.")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn manifests_are_sought_in_user_and_system_folders() {
        let folders = manifest_folders(|name| (name == "HOME").then(|| "/home/ada".into()));
        for folder in ["/home/ada/.local/share", "/home/ada/.config", "/etc", "/usr/share"] {
            assert!(folders.contains(&Path::new(folder).join("vulkan/icd.d")), "{folder}: {folders:?}");
        }
        let folders = manifest_folders(|name| (name == "XDG_DATA_DIRS").then(|| "/opt/share".into()));
        assert!(folders.contains(&PathBuf::from("/opt/share/vulkan/icd.d")), "{folders:?}");
    }

    #[test]
    fn only_lavapipe_counts() {
        let folder = env::temp_dir().join(format!("wordloom-xtask-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("temporary folder");
        fs::write(folder.join("radeon_icd.x86_64.json"), "{}").expect("manifest");
        let hardware_only = lavapipe_in(&folder);
        fs::write(folder.join("lvp_icd.x86_64.json"), "{}").expect("manifest");
        let both = lavapipe_in(&folder);
        fs::remove_dir_all(&folder).expect("temporary folder");
        assert_eq!(hardware_only, None);
        assert_eq!(both, Some(folder.join("lvp_icd.x86_64.json")));
        assert_eq!(lavapipe_in(&folder), None);
    }

    #[test]
    fn every_system_has_advice() {
        for (system, package) in [
            (System::Fedora, "mesa-vulkan-drivers"),
            (System::Arch, "vulkan-swrast"),
            (System::Suse, "libvulkan_lvp"),
            (System::Alpine, "mesa-vulkan-swrast"),
            (System::OtherUnix, "lavapipe"),
        ] {
            assert!(advice(system).contains(package), "{system:?}");
        }
    }
}
