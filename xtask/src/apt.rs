//! Debian packages, installed as root, through sudo, or not at all.

use std::io::{self, IsTerminal};
use std::process::Command;

use crate::process;

/// The way to run a command as root.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Privilege {
    Root,
    Sudo { may_ask: bool },
    Nobody,
}

/// Whether all of `packages` are installed; `false` without dpkg.
pub fn installed(packages: &[&str]) -> bool {
    let mut query = Command::new("dpkg-query");
    query.args(["--show", "--showformat", "${db:Status-Status}\n"]).args(packages);
    process::probe(&mut query).is_some_and(|statuses| statuses.lines().all(|status| status == "installed"))
}

/// Installs `packages`, and prints each command first.
///
/// # Errors
/// One line with the user's alternative.
pub fn install(packages: &[&str]) -> Result<(), String> {
    install_as(Privilege::detect(), packages)
}

fn install_as(privilege: Privilege, packages: &[&str]) -> Result<(), String> {
    let [mut update, mut install] = commands(privilege, packages);
    let by_hand =
        format!("`apt-get update && apt-get install --no-install-recommends {}`", packages.join(" "));
    if privilege == Privilege::Nobody {
        return Err(format!("run as root {by_hand}"));
    }
    // One broken source fails the update; the installation shows whether it matters.
    if let Err(failure) = process::run_shown(&mut update) {
        anstream::println!("    apt-get update: {failure}; trying with the lists at hand");
    }
    process::run_shown(&mut install).map_err(|failure| format!("apt-get: {failure}; run as root {by_hand}"))
}

impl Privilege {
    fn detect() -> Privilege {
        let root = process::probe(Command::new("id").arg("-u")).is_some_and(|user| user == "0");
        let sudo = || process::probe(Command::new("sudo").arg("--version")).is_some();
        // Continuous integration may have a terminal, but no user.
        let may_ask = io::stdin().is_terminal() && std::env::var_os("CI").is_none();
        if root {
            Privilege::Root
        } else if sudo() {
            Privilege::Sudo { may_ask }
        } else {
            Privilege::Nobody
        }
    }

    /// The words before `env` that run a command as root.
    fn prefix(self) -> &'static [&'static str] {
        match self {
            Privilege::Root | Privilege::Nobody => &[],
            Privilege::Sudo { may_ask: true } => &["sudo"],
            Privilege::Sudo { may_ask: false } => &["sudo", "--non-interactive"],
        }
    }
}

/// `apt-get update` and `apt-get install` of `packages`, without questions.
fn commands(privilege: Privilege, packages: &[&str]) -> [Command; 2] {
    let apt_get = |words: &[&str]| {
        // The variable is set by `env` because sudo drops the environment.
        let silent = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet"];
        let mut all = privilege.prefix().iter().chain(&silent).chain(words);
        let mut command = Command::new(all.next().expect("`env` is there"));
        command.args(all);
        command
    };
    // A package that conflicts with one of the user's must fail, never remove it.
    let install = ["install", "--yes", "--no-install-recommends", "--no-remove"];
    [apt_get(&["update"]), apt_get(&[&install, packages].concat())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apt_runs_silently_and_as_root() {
        for (privilege, prefix) in [
            (Privilege::Root, ""),
            (Privilege::Sudo { may_ask: true }, "sudo "),
            (Privilege::Sudo { may_ask: false }, "sudo --non-interactive "),
        ] {
            let lines = commands(privilege, &["one", "two"]).map(|command| process::line(&command));
            let apt_get = format!("{prefix}env DEBIAN_FRONTEND=noninteractive apt-get --quiet");
            assert_eq!(lines[0], format!("{apt_get} update"));
            assert_eq!(
                lines[1],
                format!("{apt_get} install --yes --no-install-recommends --no-remove one two")
            );
        }
    }

    #[test]
    fn an_unknown_package_is_not_installed() {
        assert!(!installed(&["wordloom-no-such-package"]));
    }

    #[test]
    fn without_rights_the_line_to_run_is_given() {
        let advice = install_as(Privilege::Nobody, &["libvulkan1"]).expect_err("nothing may run");
        assert!(advice.starts_with("run as root `apt-get"), "{advice}");
        assert!(advice.ends_with(" libvulkan1`"), "{advice}");
    }
}
