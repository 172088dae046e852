//! The result of a device's check on disk, beside the compiled pipelines, so that later runs know it.
//!
//! The file is text: a head that names adapter, driver, program version and the shaders' checksum, then a line for each kernel
//! that is passed over. A file of another head, or a damaged one, counts as no check.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};

use super::pipeline_file::{owner, write_whole};
use super::verdict::{Extent, Verdict};
use crate::kernels::{self, PassedOver};
use crate::precision::WeightPrecision;

/// Limit on a file's size; a larger file is not Wordloom's.
const MOST_BYTES: u64 = 1 << 16;

pub(super) struct VerdictFile {
    path: PathBuf,
    head: String,
}

impl VerdictFile {
    /// The file of an adapter in a folder, which need not exist.
    pub fn of(adapter: &wgpu::AdapterInfo, folder: &Path) -> Self {
        let owner = owner(adapter);
        let mut name = DefaultHasher::new();
        name.write(owner.as_bytes());
        // a line per field, whatever a driver writes into its own
        let fields: Vec<String> =
            owner.split('\n').map(|field| field.replace(char::is_control, " ")).collect();
        let head = format!("wordloom check\n{}\nshaders {:016x}\n", fields.join("\n"), shaders());
        Self { path: folder.join(format!("check_{:016x}.txt", name.finish())), head }
    }

    /// The stored result; `None` without a file of this head.
    pub fn read(&self) -> Option<Verdict> {
        let about = fs::metadata(&self.path).ok()?;
        if !about.is_file() || about.len() > MOST_BYTES {
            return None;
        }
        parse(fs::read_to_string(&self.path).ok()?.strip_prefix(&self.head)?)
    }

    /// Writes a result. An error costs another check, nothing else.
    pub fn store(&self, verdict: &Verdict) {
        let _ = write_whole(&self.path, &[format!("{}{}", self.head, write(verdict)).as_bytes()]);
    }
}

/// A checksum of all shaders: a changed kernel needs a new check, and so does a program that also trains.
fn shaders() -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write_u8(cfg!(feature = "training").into());
    for kernel in kernels::all().chain(kernels::matrix_units::all()) {
        kernel.wgsl.iter().for_each(|text| hasher.write(text.as_bytes()));
    }
    hasher.finish()
}

fn write(verdict: &Verdict) -> String {
    let extent = match verdict.extent {
        Extent::Nothing => "nothing",
        Extent::Quick => "quick",
        Extent::Full => "full",
    };
    let PassedOver { wrong, slow, .. } = &*verdict.passed_over;
    let mut text = format!("extent {extent}\n");
    verdict.precisions.iter().for_each(|precision| text.push_str(&format!("precision {precision}\n")));
    for (what, names) in [("wrong", wrong), ("slow", slow)] {
        names.iter().for_each(|name| text.push_str(&format!("{what} {name}\n")));
    }
    text.push_str("end\n");
    text
}

/// `None` if a line is not of [`write`], or the end is missing.
fn parse(text: &str) -> Option<Verdict> {
    let (mut passed_over, mut precisions) = (PassedOver::default(), BTreeSet::new());
    let mut lines = text.lines();
    let extent = match lines.next()? {
        "extent nothing" => Extent::Nothing,
        "extent quick" => Extent::Quick,
        "extent full" => Extent::Full,
        _ => return None,
    };
    loop {
        match lines.next()? {
            "end" => break,
            line => match line.split_once(' ')? {
                ("precision", name) => {
                    let known = WeightPrecision::ALL.into_iter().find(|known| known.name() == name);
                    precisions.insert(known?);
                }
                ("wrong", name) => drop(passed_over.wrong.insert(name.to_owned())),
                ("slow", name) => drop(passed_over.slow.insert(name.to_owned())),
                _ => return None,
            },
        }
    }
    Some(Verdict { extent, precisions, passed_over: passed_over.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_read_as_it_was_written() {
        let mut passed_over = PassedOver::default();
        assert_eq!(parse(&write(&Verdict::default())), Some(Verdict::default()));
        passed_over.wrong.insert("matmul_tiled_q8".into());
        passed_over.slow.extend(["layer_norm".to_owned(), "attention_tile".to_owned()]);
        for extent in [Extent::Quick, Extent::Full] {
            let precisions = [WeightPrecision::F32, WeightPrecision::Q8].into();
            let verdict = Verdict { extent, precisions, passed_over: passed_over.clone().into() };
            assert_eq!(parse(&write(&verdict)), Some(verdict));
        }
    }

    #[test]
    fn a_damaged_result_is_none() {
        let mut passed_over = PassedOver::default();
        passed_over.wrong.insert("matmul_tiled_q8".into());
        let whole =
            write(&Verdict { extent: Extent::Full, passed_over: passed_over.into(), ..Verdict::default() });
        assert!(parse(&whole).is_some());
        for end in 0..whole.len() - 1 {
            let read = parse(&whole[..end]);
            assert!(read.is_none(), "{:?} was read as {read:?}", &whole[..end]);
        }
        assert_eq!(parse("extent full\nfine layer_norm\nend\n"), None);
    }
}
