//! Kernels for matrix units on any adapter: operations on matrices become functions, in which each lane of a subgroup has a part of the
//! matrix. So staging, places and scales of the kernels are tested without matrix units.
//!
//! Without the widest tiles and those with split inputs, whose workgroups need more memory than a software adapter has.

use wordloom::activation::Activation;
use wordloom::gpu::{Buffer, Gpu};
use wordloom::kernels::linear::{self, LinearShape};
use wordloom::kernels::linear_gradient::{self, Earlier, LinearGradientShape};
use wordloom::kernels::matrix_units::{self, Variant};
use wordloom::kernels::shares::Shares;
use wordloom::kernels::{AdapterClass, Dispatch, Kernel, PANEL, panels, stride, unit_gradient};
use wordloom::precision::WeightPrecision;

use crate::train::assert_near;
use crate::{pad, random, read, run, unpad, untouched, upload, upload_u32};

/// Bytes of a workgroup that all kernels here need at most.
const WORKGROUP_BYTES: u32 = 32_768;

/// Of a difference to the largest result: two halves have 22 bits, and sums are in f32.
const TOLERANCE: f64 = 2e-6;

/// What the operations become. Of a 16 × 16 matrix, a lane has half a row of the sums, and a row of A and half of the columns of B.
const FUNCTIONS: &str = "
var<private> lane_of_subgroup: u32;
fn packed(numbers: vec4<f32>) -> vec2<u32> {
    return vec2(pack2x16float(numbers.xy), pack2x16float(numbers.zw));
}
fn multiplied(a: array<f32, 16>, b: array<f32, 128>, sums: array<f32, 8>) -> array<f32, 8> {
    var a_row = a;
    var b_columns = b;
    var result = sums;
    for (var k = 0u; k < 16u; k++) {
        for (var j = 0u; j < 8u; j++) {
            result[j] += a_row[k] * b_columns[8u * k + j];
        }
    }
    return result;
}
fn stored(high: array<f32, 8>, low: array<f32, 8>, at: u32, stride: u32) {
    var of_high = high;
    var of_low = low;
    let first = at + lane_of_subgroup / 2u * stride + lane_of_subgroup % 2u * 2u;
    for (var j = 0u; j < 8u; j++) {
        sums[first + j / 4u][j % 4u] = of_high[j] + of_low[j] * LOW_UNIT;
    }
}
";

/// Reads a part of A or B from an array of quads. `T`: by rows.
fn load_function(name: &str, array: &str) -> String {
    let is_a = name.contains("_a_");
    let by_rows = name.ends_with("_rows");
    let (count, row, column) = match is_a {
        true => (16, "lane_of_subgroup / 2u", "i"),
        false => (128, "i / 8u", "8u * (lane_of_subgroup % 2u) + i % 8u"),
    };
    let (line, inside) = if by_rows { (row, column) } else { (column, row) };
    format!(
        "fn {name}(at: u32, stride: u32) -> array<f32, {count}> {{
            var part: array<f32, {count}>;
            if ((at | stride) % 2u == 1u) {{
                return part; // matrices are read from multiples of 16 bytes
            }}
            for (var i = 0u; i < {count}u; i++) {{
                let line = {line};
                let inside = {inside};
                let words = {array}[at + line * stride + inside / 4u];
                part[i] = unpack2x16float(select(words.x, words.y, inside % 4u > 1u))[inside % 2u];
            }}
            return part;
        }}\n"
    )
}

/// The text between two others, and what follows.
fn between<'a>(text: &'a str, before: &str, after: &str) -> (&'a str, &'a str) {
    let text = text.strip_prefix(before).unwrap_or_else(|| panic!("no {before:?} before {:.60}", text));
    text.split_once(after).unwrap_or_else(|| panic!("no {after:?} in {text:.60}"))
}

fn emulated(kernel: &Kernel) -> String {
    let text = kernel.text().replace("enable f16;", "").replace("enable wgpu_cooperative_matrix;", "");
    let text = text.replace("array<vec4<f16>,", "array<vec2<u32>,").replace("-> vec4<f16>", "-> vec2<u32>");
    let text = text.replace("vec4<f16>(", "packed(").replace("coop_mat16x16<f32, C>", "array<f32, 8>");
    let mut text = text.replace("coopMultiplyAdd(", "multiplied(");
    let mut functions = String::new();
    while let Some(at) = text.find("coopLoad") {
        let by_rows = text[at..].starts_with("coopLoadT");
        let (_, rest) = between(&text[at..], "coopLoad", "coop_mat16x16<f16, ");
        let (role, rest) = rest.split_once(">>(&").expect("a role");
        let (array, rest) = rest.split_once('[').expect("an array");
        let (place, rest) = rest.split_once("], ").expect("a place");
        let order = if by_rows { "rows" } else { "columns" };
        let name = format!("load_{array}_{}_{order}", role.to_lowercase());
        let call = format!("{name}({place}, {rest}");
        if !functions.contains(&format!("fn {name}(")) {
            functions += &load_function(&name, array);
        }
        text.replace_range(at.., &call);
    }
    while let Some(at) = text.find("coopStoreT(") {
        let (high, rest) = between(&text[at..], "coopStoreT(", " + ");
        let (low, rest) = rest.split_once(" * LOW_UNIT, &sums[").expect("two sums");
        let (place, rest) = rest.split_once("], ").expect("a place");
        let call = format!("stored({high}, {low}, {place}, {rest}");
        text.replace_range(at.., &call);
    }
    let main = text.find("fn main(").expect("an entry point");
    let begin = main + text[main..].find(") {").expect("a body") + 3;
    text.insert_str(begin, " lane_of_subgroup = lane % 32u;");
    text + FUNCTIONS + &functions
}

/// The launch of the emulated kernel.
fn emulation(launch: Dispatch) -> Dispatch {
    let text: &'static str = Box::leak(emulated(launch.kernel).into_boxed_str());
    let name: &'static str = Box::leak(format!("emulated_{}", launch.kernel.name).into_boxed_str());
    let wgsl: &'static [&'static str] = Box::leak(Box::new([text]));
    let kernel = Box::leak(Box::new(Kernel { name, wgsl, ..*launch.kernel }));
    Dispatch { kernel, ..launch }
}

/// A device with room for the workgroups, which every adapter has that these tests run on.
async fn roomy_gpu() -> Gpu {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let adapter =
        instance.request_adapter(&wgpu::RequestAdapterOptions::default()).await.expect("an adapter");
    let mut descriptor = wordloom::gpu::descriptor(&adapter, false);
    let limits = &mut descriptor.required_limits;
    limits.max_compute_workgroup_storage_size =
        WORKGROUP_BYTES.max(limits.max_compute_workgroup_storage_size);
    let (device, queue) = adapter.request_device(&descriptor).await.expect("room");
    Gpu::share(adapter, device, queue).expect("all of WebGPU's limits")
}

/// `[rows, outputs]` of `[rows, inputs]` and `[outputs, inputs]`.
fn product(x: &[f32], weight: &[f32], inputs: usize) -> Vec<f64> {
    let of_row = |x: &[f32]| {
        let dot = |w: &[f32]| x.iter().zip(w).map(|(&x, &w)| f64::from(x) * f64::from(w)).sum::<f64>();
        weight.chunks_exact(inputs).map(dot).collect::<Vec<_>>()
    };
    x.chunks_exact(inputs).flat_map(of_row).collect()
}

fn transposed(x: &[f32], width: usize) -> Vec<f32> {
    (0..width).flat_map(|column| x.iter().skip(column).step_by(width).copied().collect::<Vec<_>>()).collect()
}

#[pollster::test]
async fn layers_on_units_are_those_of_the_formula() {
    let gpu = roomy_gpu().await;
    for precision in WeightPrecision::ALL {
        for ([rows, inputs, outputs], [of_x, of_weights]) in [
            ([1, 4, 4], [1.0, 1.0]),
            ([33, 31, 65], [1000.0, 1.0]),
            ([70, 132, 200], [0.01, 0.01]),
            ([129, 68, 64], [1.0, 0.001]),
        ] {
            let x: Vec<f32> = random(1, rows * inputs).iter().map(|it| it * of_x).collect();
            let mut weight: Vec<f32> = random(2, outputs * inputs).iter().map(|it| it * of_weights).collect();
            weight.chunks_exact_mut(inputs).for_each(|row| precision.round_row(row));
            let shape = LinearShape {
                rows,
                inputs,
                outputs,
                scale: 1.0,
                bias: false,
                activation: Activation::Identity,
                join: None,
                precision,
            };
            let layer = linear::dispatch(&shape, 0..outputs, AdapterClass::Hardware);
            let on_units = matrix_units::dispatch_variant(&layer, Variant::Tile).expect("a form");
            let y = untouched(&gpu, rows * stride(outputs));
            let nothing = upload(&gpu, &[0.0; 4]);
            let (x_buffer, w_buffer) = (
                upload(&gpu, &pad(&x, inputs, 0.0)),
                upload_u32(&gpu, &panels::pack(&weight, outputs, inputs, precision)),
            );
            run(&gpu, &[(emulation(on_units), vec![&x_buffer, &w_buffer, &nothing, &nothing, &y])]);
            let what = format!("{precision:?} [{rows}, {inputs}] · [{inputs}, {outputs}]");
            let got = unpad(&what, &read(&gpu, &y).await, rows, outputs);
            assert_near(&what, &got, &product(&x, &weight, inputs), TOLERANCE);
        }
    }
}

/// Gradients of all sizes, and shares of their summands.
#[pollster::test]
async fn gradients_on_units_are_those_of_the_formula() {
    let gpu = roomy_gpu().await;
    for ([rows, inputs, outputs], count, size) in
        [([1, 1, 1], 1, 1.0), ([33, 31, 65], 1, 1e-9), ([70, 132, 200], 3, 1e4), ([129, 68, 64], 2, 1e-20)]
    {
        let shape = LinearGradientShape { rows, inputs, outputs, scale: 0.5 };
        let [x, weight] = [(1, rows * inputs), (2, outputs * inputs)]
            .map(|(seed, count)| random(seed, count).iter().map(|it| it * 0.02).collect::<Vec<f32>>());
        let dy: Vec<f32> = random(3, rows * outputs).iter().map(|it| it * size).collect();
        let dy_buffer = upload(&gpu, &pad(&dy, outputs, 0.0));
        let largest = untouched(&gpu, unit_gradient::SHARES);
        let find = unit_gradient::largest_dispatch(rows * stride(outputs));
        run(&gpu, &[(find, vec![&dy_buffer, &largest])]);
        let found = read::<f32>(&gpu, &largest).await;
        let most = dy.iter().fold(0.0_f32, |most, it| most.max(it.abs()));
        assert_eq!(found.iter().copied().fold(0.0, f32::max), most);

        let what = format!("{shape:?} of {size:e}");
        let shares = Shares::new(outputs, count);
        let launch = linear_gradient::input_dispatch(&shape, 0..outputs, Earlier::Nothing, shares);
        let launch = emulation(unit_gradient::on_units(&launch));
        let dx = untouched(&gpu, shares.count * shape.input_elements());
        let nothing = upload(&gpu, &[0.0; 4]);
        let packed = panels::pack(&weight, outputs, inputs, WeightPrecision::F32);
        let w_buffer = upload_u32(&gpu, &packed);
        run(&gpu, &[(launch, vec![&dy_buffer, &w_buffer, &nothing, &dx, &largest])]);
        let got = summed(&read(&gpu, &dx).await, shares.count);
        let want = product(&dy, &transposed(&weight, inputs), outputs);
        assert_near(&what, &unpad(&what, &got, rows, inputs), &halved(want), TOLERANCE);

        let shares = Shares::new(rows, count);
        let launch = linear_gradient::weight_dispatch(&shape, 0..outputs, shares);
        let launch = emulation(unit_gradient::on_units(&launch));
        let x_buffer = upload(&gpu, &pad(&x, inputs, 7.0));
        let elements = shape.weight_elements(&(0..outputs));
        let dw: Buffer = upload(&gpu, &vec![0.0; shares.count * elements]);
        run(&gpu, &[(launch, vec![&dy_buffer, &x_buffer, &dw, &largest])]);
        let got = summed(&read(&gpu, &dw).await, shares.count);
        let want = product(&transposed(&dy, outputs), &transposed(&x, inputs), rows);
        let of_weight = |at: usize| {
            let (output, input) = (at / inputs, at % inputs);
            got[(output / PANEL * stride(inputs) + input) * PANEL + output % PANEL]
        };
        let got: Vec<f32> = (0..outputs * inputs).map(of_weight).collect();
        assert_near(&what, &got, &halved(want), TOLERANCE);
    }
}

fn summed(shares: &[f32], count: usize) -> Vec<f32> {
    let length = shares.len() / count;
    (0..length).map(|at| shares.iter().skip(at).step_by(length).sum()).collect()
}

/// Times the scale of the layer.
fn halved(values: Vec<f64>) -> Vec<f64> {
    values.into_iter().map(|value| 0.5 * value).collect()
}
