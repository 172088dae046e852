//! Every kernel compared with the CPU operator of the same name: sizes around its tiles, every mask, every variant, on
//! any adapter (also software).

mod additive_attention;
mod attention;
mod banded_attention;
#[path = "../common/mod.rs"]
mod common;
mod divide;
#[cfg(not(target_arch = "wasm32"))]
mod emulated_units;
mod graph;
mod heatmap;
mod linear;
mod low_rank;
mod normalized_linear;
mod output_layer;
mod project_length;
mod rows;
mod selected_linear;
mod ssru;
mod sum_blocks;
mod top_k;
mod train;

use common::{Tensors, data};
use wordloom::answers::random;
use wordloom::gpu::{Buffer, Gpu};
use wordloom::kernels::{Dispatch, stride};

/// Content of buffers before a kernel writes.
const UNTOUCHED: f32 = -12345.0;

fn upload(gpu: &Gpu, data: &[f32]) -> Buffer {
    gpu.upload("test", data).unwrap()
}

fn upload_u32(gpu: &Gpu, data: &[u32]) -> Buffer {
    gpu.upload("test", data).unwrap()
}

fn untouched(gpu: &Gpu, elements: usize) -> Buffer {
    upload(gpu, &vec![UNTOUCHED; elements])
}

fn run(gpu: &Gpu, launches: &[(Dispatch, Vec<&Buffer>)]) {
    let recording = gpu.record("test", launches).unwrap();
    gpu.submit(&recording, 1, &[]);
}

async fn read<T: bytemuck::AnyBitPattern>(gpu: &Gpu, buffer: &Buffer) -> Vec<T> {
    gpu.read(buffer).await.unwrap()
}

fn pad(data: &[f32], width: usize, filler: f32) -> Vec<f32> {
    let rows = data.chunks_exact(width);
    rows.flat_map(|row| row.iter().copied().chain(std::iter::repeat_n(filler, stride(width) - width)))
        .collect()
}

/// Removes the padding and checks that it is zero.
fn unpad(what: &str, data: &[f32], rows: usize, width: usize) -> Vec<f32> {
    let mut out = Vec::with_capacity(rows * width);
    for row in data[..rows * stride(width)].chunks_exact(stride(width)) {
        out.extend_from_slice(&row[..width]);
        assert!(row[width..].iter().all(|&padding| padding == 0.0), "{what}: padding {:?}", &row[width..]);
    }
    out
}

fn fixture(name: &str) -> Tensors {
    Tensors::open(&data("kernels").join(name).with_extension("safetensors"))
}
