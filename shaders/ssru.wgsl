// A simpler simple recurrent unit: c = f ⊙ c₋₁ + (1 − f) ⊙ x with f = σ(g), and y = max(c, 0). Kim et al. 2019, "From
// Research to Production and Back: Ludicrously Fast Neural Machine Translation", 3.1. One column of a sequence per
// invocation. Cells are cached as keys are; a token whose slot is beyond the cache is not stored.
// uses: shared/grid.wgsl
override CONTINUES: bool = false;  // a sequence continues its history; else it begins with zeros
override KEEPS: bool = false;      // cells are stored

struct Params {
    sequences: u32,
    length: u32,            // tokens of a sequence
    width: u32,             // columns of x and of g
    stride: u32,            // of y and of the cells
    projected_stride: u32,
    cells: u32,             // rows of the cache
    capacity: u32,          // slots per sequence
}

@group(0) @binding(0) var<storage, read>       projected: array<f32>;    // [sequences * length, 2 * width]: x, then g
@group(0) @binding(1) var<storage, read>       cache_slots: array<u32>;  // [sequences * length]: slots of new cells
@group(0) @binding(2) var<storage, read>       slots: array<u32>;        // [sequences, capacity]: those of the history
@group(0) @binding(3) var<storage, read>       key_counts: array<u32>;   // [sequences]: tokens so far, with this one
@group(0) @binding(4) var<storage, read_write> cells: array<f32>;        // [cells, width]
@group(0) @binding(5) var<storage, read_write> y: array<f32>;            // [sequences * length, width]
@group(1) @binding(0) var<uniform> p: Params;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_workgroup(workgroup, workgroups) * 64u + lane;
    let sequence = index / p.stride;
    let column = index % p.stride;
    if (sequence >= p.sequences) {
        return;
    }
    let inside = column < p.width;
    var cell = 0.0;
    if (CONTINUES && inside) {
        let count = min(key_counts[sequence], p.capacity);
        if (count > 1u) {
            let slot = slots[sequence * p.capacity + count - 2u];
            if (slot < p.cells) {
                cell = cells[slot * p.stride + column];
            }
        }
    }
    for (var token = zero(workgroup); token < p.length; token++) {
        let row = sequence * p.length + token;
        if (inside) {
            let at = row * p.projected_stride + column;
            let forget = 1.0 / (1.0 + exp(-clamp(projected[at + p.width], -80.0, 80.0)));
            cell = forget * cell + (1.0 - forget) * projected[at];
        }
        y[row * p.stride + column] = max(cell, 0.0);
        if (KEEPS && inside) {
            let slot = cache_slots[row];
            if (slot < p.cells) {
                cells[slot * p.stride + column] = cell;
            }
        }
    }
}
