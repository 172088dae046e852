//! What the tests share: fixtures, devices, comparison.
#![allow(dead_code, unused_imports, reason = "each test uses some of it")]

mod devices;
mod files;
pub mod pickles;

use std::path::Path;

pub use devices::{devices, gpu, gpu_as, gpu_with_buffers_of, small_gpu_as};
pub use files::{data, edited, model, read, repository, rounded};

/// Marks a test that runs natively and in a browser alike.
#[cfg(not(target_arch = "wasm32"))]
pub use core::prelude::v1::test as portable_test;
#[cfg(target_arch = "wasm32")]
pub use wasm_bindgen_test::wasm_bindgen_test as portable_test;

/// The same for an `async fn`, which waits for devices. Natively each such test blocks a thread of its own; in a
/// browser all tests share one worker, whose event loop drives them one by one.
#[cfg(not(target_arch = "wasm32"))]
pub use pollster::test as device_test;
#[cfg(target_arch = "wasm32")]
pub use wasm_bindgen_test::wasm_bindgen_test as device_test;

#[cfg(target_arch = "wasm32")]
wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_dedicated_worker);

/// All of `all`. In a browser, whose software adapter takes seconds to compile a kernel, only one of them: which, `place` says, so that
/// callers with many places still meet all.
pub fn one_in_browsers<T>(place: usize, all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut all: Vec<T> = all.into_iter().collect();
    if cfg!(target_arch = "wasm32") {
        let chosen = place % all.len();
        all = vec![all.swap_remove(chosen)];
    }
    all
}

/// The tensors of a safetensors file, as f32.
pub struct Tensors(Vec<u8>);

impl Tensors {
    pub fn open(path: &Path) -> Self {
        Self(read(path))
    }

    fn file(&self) -> safetensors::SafeTensors<'_> {
        safetensors::SafeTensors::deserialize(&self.0).expect("a sound fixture")
    }

    pub fn has(&self, name: &str) -> bool {
        self.file().tensor(name).is_ok()
    }

    pub fn names(&self) -> Vec<String> {
        self.file().names().into_iter().map(str::to_owned).collect()
    }

    pub fn shape(&self, name: &str) -> Vec<usize> {
        self.file().tensor(name).unwrap_or_else(|error| panic!("{name}: {error}")).shape().to_vec()
    }

    pub fn f32(&self, name: &str) -> Vec<f32> {
        let file = self.file();
        let tensor = file.tensor(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(tensor.dtype(), safetensors::Dtype::F32, "{name}");
        tensor.data().chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
    }

    pub fn u32(&self, name: &str) -> Vec<u32> {
        let file = self.file();
        let tensor = file.tensor(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(tensor.dtype(), safetensors::Dtype::I32, "{name}");
        tensor.data().chunks_exact(4).map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap())).collect()
    }
}

/// Checks `|got - want| <= absolute + relative * |want|` wherever `compared` says so; a miss tells how many, the first
/// and both values.
#[track_caller]
pub fn assert_close_where(
    what: &str,
    got: &[f32],
    want: &[f32],
    (absolute, relative): (f32, f32),
    compared: impl Fn(usize) -> bool,
) {
    assert_eq!(got.len(), want.len(), "{what}: number of elements");
    let misses: Vec<usize> = (0..want.len())
        .filter(|&i| compared(i))
        .filter(|&i| {
            let close = (got[i] - want[i]).abs() <= absolute + relative * want[i].abs();
            !close // a NaN is not close either
        })
        .collect();
    if let Some(&first) = misses.first() {
        panic!(
            "{what}: {} of {} elements differ, first at {first}: got {}, want {}",
            misses.len(),
            want.len(),
            got[first],
            want[first]
        );
    }
}

#[track_caller]
pub fn assert_close(what: &str, got: &[f32], want: &[f32], tolerance: (f32, f32)) {
    assert_close_where(what, got, want, tolerance, |_| true);
}

/// `[batch, heads, length, d_head]` → `[batch * length, heads * d_head]`
pub fn heads_to_columns(x: &[f32], [batch, heads, length, d_head]: [usize; 4]) -> Vec<f32> {
    let mut out = Vec::with_capacity(x.len());
    for (sentence, position) in (0..batch).flat_map(|sentence| (0..length).map(move |i| (sentence, i))) {
        for head in 0..heads {
            out.extend_from_slice(&x[((sentence * heads + head) * length + position) * d_head..][..d_head]);
        }
    }
    out
}

/// Values and tokens of the result of `log_softmax_top_k`, `[rows, 2 * candidates]`.
pub fn split_top(words: &[u32], candidates: usize) -> (Vec<f32>, Vec<u32>) {
    let rows = || words.chunks_exact(2 * candidates);
    let values = rows().flat_map(|row| &row[..candidates]).map(|&bits| f32::from_bits(bits));
    let tokens = rows().flat_map(|row| &row[candidates..]).copied();
    (values.collect(), tokens.collect())
}
