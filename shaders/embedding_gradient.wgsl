// The gradient of an embedding's table: table[t] += scale · Σ dy[r] over the rows r that looked up t, in the order that
// the host gives. One workgroup per pair of `segments`.
// uses: shared/grid.wgsl
override PANELS: bool = false;  // the table is in panels; else its rows have the stride of activations
const LANES: u32 = 64u;
const NO_ROW: u32 = 0xffffffffu;

struct Params {
    rows: u32,        // of dy
    width: u32,       // elements of a row, without padding
    segments: u32,    // pairs
    first_row: u32,   // of this part of the table
    part_rows: u32,
    scale: f32,
}

@group(0) @binding(0) var<storage, read>       dy: array<vec4<f32>>;        // [rows, width]
@group(0) @binding(1) var<storage, read>       order: array<u32>;           // [rows]: rows of dy
@group(0) @binding(2) var<storage, read>       segments: array<vec2<u32>>;  // row of the table, first index in `order`
@group(0) @binding(3) var<storage, read_write> table: array<f32>;
@group(1) @binding(0) var<uniform> p: Params;

var<workgroup> ends: array<u32, LANES>;

// Whether the list ends before or at a pair; later pairs may hold anything.
fn has_ended(pair: u32, lane: u32) -> bool {
    var ended = 0u;
    for (var i = lane; i <= pair; i += LANES) {
        ended |= select(0u, 1u, segments[i].x == NO_ROW);
    }
    ends[lane] = ended;
    workgroupBarrier();
    var any = 0u;
    for (var i = 0u; i < LANES; i++) {
        any |= ends[i];
    }
    return any != 0u;
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let pair = flat_workgroup(workgroup, workgroups);
    if (pair >= p.segments) {
        return;
    }
    let ended = has_ended(pair, lane);
    let segment = segments[pair];
    // a row before the part wraps around to a large number
    let table_row = segment.x - p.first_row;
    if (ended || table_row >= p.part_rows) {
        return;
    }
    var end = p.rows;
    if (pair + 1u < p.segments) {
        end = min(end, segments[pair + 1u].y);
    }
    let quads = (p.width + 3u) / 4u;
    for (var quad = zero(workgroup) + lane; quad < quads; quad += LANES) {
        var sum = vec4(0.0);
        for (var i = segment.y; i < end; i++) {
            let row = order[i];
            if (row < p.rows) {
                sum += dy[row * quads + quad];
            }
        }
        for (var i = 0u; i < 4u && 4u * quad + i < p.width; i++) {
            var at = 4u * (table_row * quads + quad) + i;
            if (PANELS) {
                at = 64u * (table_row / 64u * 4u * quads + 4u * quad + i) + table_row % 64u;
            }
            table[at] += p.scale * sum[i];
        }
    }
}
