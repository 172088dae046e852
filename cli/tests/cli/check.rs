//! `check`: a stored result is shown and obeyed. The check itself is tested in the library's `tests/check.rs`.

use std::path::PathBuf;
use std::sync::Arc;

use wordloom::device::Gpu;
use wordloom::gpu::{self, Extent, Verdict};
use wordloom::kernels::PassedOver;

use super::{run, run_with};

/// A folder of stored results, removed at the end.
struct Stored(PathBuf);

impl Stored {
    /// The result of a check of the first adapter.
    fn wrong(name: &str, kernels: &[&str]) -> Self {
        let folder =
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        pollster::block_on(async {
            let adapter = gpu::any().await.expect("a GPU adapter");
            let gpu = Gpu::open_with_pipelines(adapter, Some(&folder)).await.expect("opens");
            let wrong = kernels.iter().map(|&kernel| kernel.to_owned()).collect();
            let passed_over = Arc::new(PassedOver { wrong, ..PassedOver::default() });
            gpu.set_verdict(Verdict { extent: Extent::Full, passed_over, ..Verdict::default() });
        });
        Self(folder)
    }

    fn run(&self, arguments: &[&str]) -> super::Run {
        run_with(arguments, "", &[("WORDLOOM_PIPELINE_CACHE", self.0.to_str().expect("UTF-8"))])
    }
}

impl Drop for Stored {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The output of a run that succeeded; stderr names the device.
fn said(run: &super::Run) -> &str {
    assert!(run.output.status.success(), "{}", run.stderr());
    run.stdout()
}

#[test]
fn a_stored_result_is_shown() {
    let right = Stored::wrong("checked-right", &[]);
    let shown = right.run(&["check"]);
    let text = said(&shown);
    assert!(
        text.contains("was checked before, and every kernel was right; `--recheck` checks it again"),
        "{text}"
    );
    let wrong = Stored::wrong("checked-wrong", &["matmul_tiled_q8"]);
    let shown = wrong.run(&["check"]);
    assert!(said(&shown).contains("\n    matmul_tiled_q8 (wrong)\n"), "{}", shown.stdout());
}

/// A wrong kernel of one class changes nothing; of both, the device is refused by name.
#[test]
fn a_stored_result_is_obeyed() {
    let arguments = ["translate", "--device", "gpu", "Good morning!"];
    let one = Stored::wrong("obeyed-one", &["matvec_wide_f32", "matvec_4rows_wide_f32"]);
    assert_eq!(said(&one.run(&arguments)), "Guten Morgen!\n");
    let both = Stored::wrong("obeyed-both", &["attention", "attention_tile", "attention_workgroup"]);
    let refused = both.run(&arguments);
    assert_eq!(refused.output.status.code(), Some(1), "{}", refused.stderr());
    for part in ["computes wrong numbers with the kernel `attention", "--device cpu", "check --recheck"] {
        assert!(refused.stderr().contains(part), "{part:?} is not in {}", refused.stderr());
    }
}

#[test]
fn the_cpu_has_nothing_to_compare_with() {
    let refused = run(&["check", "--device", "cpu"], "");
    assert_eq!(refused.output.status.code(), Some(2));
    assert!(refused.stderr().contains("compares a GPU with the CPU"), "{}", refused.stderr());
}
