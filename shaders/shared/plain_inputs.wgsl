// The bindings of a linear layer that reads its inputs unchanged.
// uses: shared/linear.wgsl

@group(0) @binding(3) var<storage, read>       z: array<vec4<f32>>;     // [rows, outputs]
@group(0) @binding(4) var<storage, read_write> y: array<vec4<f32>>;     // [rows, outputs]

fn joined(value: vec4<f32>, at: u32) -> vec4<f32> {
    if (p.join == 1u) {
        return value + z[at];
    }
    if (p.join == 2u) {
        return value * z[at];
    }
    return value;
}

fn statistics_of(starts: vec4<u32>, lane: u32) -> mat2x4<f32> {
    return mat2x4<f32>();
}

fn input(start: u32, quad: u32, mean: f32, factor: f32) -> vec4<f32> {
    return x[start + quad];
}

fn keep(row: u32, start: u32, lane: u32, mean: f32, factor: f32) {
}

fn note_quad(at: u32, row: u32, part_quad: u32, value: vec4<f32>) {
}

fn note_panel(first: u32, row: u32, panel: u32, notes: bool) {
}
