//! A step that is skipped if its inputs have not changed since its last success.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use super::{shown, target};

pub struct Step {
    pub name: &'static str,
    /// Files, and folders with their whole content.
    pub inputs: Vec<PathBuf>,
    /// Files that must exist afterwards.
    pub output: PathBuf,
    pub command: Command,
}

impl Step {
    pub fn run(mut self) -> Result<(), String> {
        let done = target().join("web-steps").join(self.name);
        run_if_stale(&done, &self.inputs, &self.output, self.name, || shown(&mut self.command))
    }
}

/// Runs `work` unless it has succeeded after the last change of its inputs. The file `done` stores the success.
pub fn run_if_stale(
    done: &Path,
    inputs: &[PathBuf],
    output: &Path,
    name: &str,
    work: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    let begun = SystemTime::now(); // later changes are not in the result
    if output.exists() && is_fresh(done, inputs) {
        anstream::println!("    {name}: nothing has changed");
        return Ok(());
    }
    let _ = fs::remove_file(done); // a failure must not keep an older success
    work()?;
    if !output.exists() {
        return Err(format!("{name}: {} was not made", output.display()));
    }
    remember(done, begun).map_err(|error| format!("cannot write {}: {error}", done.display()))
}

fn is_fresh(done: &Path, inputs: &[PathBuf]) -> bool {
    let done = fs::metadata(done).and_then(|done| done.modified());
    let changed = inputs
        .iter()
        .map(|input| newest(input))
        .try_fold(SystemTime::UNIX_EPOCH, |latest, time| io::Result::Ok(latest.max(time?)));
    matches!((done, changed), (Ok(done), Ok(changed)) if changed < done)
}

fn remember(done: &Path, begun: SystemTime) -> io::Result<()> {
    fs::create_dir_all(done.parent().unwrap_or(Path::new(".")))?;
    File::create(done)?.set_modified(begun)
}

/// Time of the last change of a file, or in a folder. A removed file changes its folder's time.
fn newest(path: &Path) -> io::Result<SystemTime> {
    let found = fs::metadata(path)?;
    let mut latest = found.modified()?;
    if found.is_dir() {
        for entry in fs::read_dir(path)? {
            latest = latest.max(newest(&entry?.path())?);
        }
    }
    Ok(latest)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("wordloom-xtask-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(folder.join("input/deep")).expect("a temporary folder");
            fs::write(folder.join("input/deep/a.ts"), "a").expect("a file");
            Self(folder)
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.join(name)
        }

        /// Runs the step with `work`. Returns whether it ran.
        fn step(&self, work: impl FnOnce() -> Result<(), String>) -> (bool, Result<(), String>) {
            // file times are coarse: a change must lie clearly before or after a step
            std::thread::sleep(Duration::from_millis(20));
            let mut ran = false;
            let result = run_if_stale(
                &self.path("done/step"),
                &[self.path("input")],
                &self.path("output"),
                "step",
                || {
                    ran = true;
                    work()
                },
            );
            std::thread::sleep(Duration::from_millis(20));
            (ran, result)
        }

        fn build(&self) -> bool {
            let (ran, result) = self.step(|| fs::write(self.path("output"), "").map_err(|e| e.to_string()));
            assert_eq!(result, Ok(()));
            ran
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_step_runs_again_only_after_a_change() {
        let folder = Folder::new("change");
        assert!(folder.build(), "the first time");
        assert!(!folder.build(), "nothing has changed");
        fs::write(folder.path("input/deep/a.ts"), "b").expect("a file");
        assert!(folder.build(), "a file has changed");
        fs::remove_file(folder.path("input/deep/a.ts")).expect("a file");
        assert!(folder.build(), "a file went away");
        fs::remove_file(folder.path("output")).expect("a file");
        assert!(folder.build(), "the output went away");
        assert!(!folder.build());
    }

    #[test]
    fn a_failed_step_runs_again() {
        let folder = Folder::new("failure");
        assert!(folder.build());
        fs::write(folder.path("input/b.ts"), "b").expect("a file");
        assert_eq!(folder.step(|| Err("wrong".into())), (true, Err("wrong".into())));
        assert!(folder.build());
    }

    #[test]
    fn a_change_meanwhile_counts() {
        let folder = Folder::new("meanwhile");
        let work = || {
            std::thread::sleep(Duration::from_millis(20));
            fs::write(folder.path("input/b.ts"), "typed during the build").expect("a file");
            fs::write(folder.path("output"), "").map_err(|error| error.to_string())
        };
        assert_eq!(folder.step(work), (true, Ok(())));
        assert!(folder.build());
    }

    #[test]
    fn a_step_that_makes_nothing_fails() {
        let folder = Folder::new("nothing");
        let (_, result) = folder.step(|| Ok(()));
        assert!(result.is_err_and(|error| error.contains("was not made")));
    }
}
