//! The operating system, which decides where software comes from.

use std::fs;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum System {
    Debian,
    Fedora,
    Arch,
    Suse,
    Alpine,
    OtherUnix,
    MacOs,
    Windows,
}

impl System {
    pub fn detect() -> System {
        match std::env::consts::OS {
            "macos" => System::MacOs,
            "windows" => System::Windows,
            _ => System::from_os_release(&fs::read_to_string("/etc/os-release").unwrap_or_default()),
        }
    }

    /// From the text of `/etc/os-release`: the first known name of `ID`, then `ID_LIKE`.
    fn from_os_release(text: &str) -> System {
        let value = |key: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
            value.unwrap_or_default().trim_matches(['"', '\''])
        };
        let mut names = value("ID").split_whitespace().chain(value("ID_LIKE").split_whitespace());
        let known = names.find_map(|name| match name {
            "debian" | "ubuntu" => Some(System::Debian),
            "fedora" | "rhel" | "centos" => Some(System::Fedora),
            "arch" => Some(System::Arch),
            "suse" | "opensuse" => Some(System::Suse),
            "alpine" => Some(System::Alpine),
            _ => None,
        });
        known.unwrap_or(System::OtherUnix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn os_release_names_the_family() {
        for (text, system) in [
            ("PRETTY_NAME=\"Debian GNU/Linux 12\"\nVERSION_ID=\"12\"\nID=debian\n", System::Debian),
            ("ID=ubuntu\nID_LIKE=debian\n", System::Debian),
            ("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", System::Debian),
            ("ID=fedora\n", System::Fedora),
            ("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n", System::Fedora),
            ("ID=manjaro\nID_LIKE=arch\n", System::Arch),
            ("ID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\n", System::Suse),
            ("ID=alpine\n", System::Alpine),
            ("ID=nixos\n", System::OtherUnix),
            ("", System::OtherUnix),
        ] {
            assert_eq!(System::from_os_release(text), system, "{text:?}");
        }
    }
}
