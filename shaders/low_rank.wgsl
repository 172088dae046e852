// y = Σ (x · wᵢ) wᵢ over the k largest of a sentence's rotated rows σᵢ wᵢ: a row's projection on the k leading singular
// vectors. Eckart & Young 1936. A workgroup has a row.
// uses: shared/grid.wgsl
const LANES: u32 = 64u;
const MOST_ROWS: u32 = 512u;
const NOTHING: f32 = 1e-10;  // square of the share of the largest singular value below which another one is rounding

struct Params {
    batch: u32,
    length: u32,    // rows of a sentence, MOST_ROWS at most
    quads: u32,     // of a row, with padding
    width: u32,     // elements of a row
    x_stride: u32,  // row stride of x
    x_first: u32,   // first column of x
    rank: u32,
}

@group(0) @binding(0) var<storage, read>       x: array<f32>;              // [batch * length, ...]
@group(0) @binding(1) var<storage, read>       mask: array<u32>;           // [batch, length], nonzero = visible
@group(0) @binding(2) var<storage, read>       rotated: array<vec4<f32>>;  // [batch * length, width]
@group(0) @binding(3) var<storage, read_write> y: array<vec4<f32>>;        // [batch * length, width]
@group(1) @binding(0) var<uniform> p: Params;

var<workgroup> squares: array<f32, MOST_ROWS>;
var<workgroup> factors: array<f32, MOST_ROWS>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // a surplus workgroup computes the last row again
    let row = min(flat_workgroup(workgroup, workgroups), p.batch * p.length - 1u);
    let first_row = row / p.length * p.length;
    var count = 0u;
    for (var other = zero(workgroup); other < p.length; other++) {
        if (mask[first_row + other] != 0u) {
            count = other + 1u;
        }
    }
    for (var i = zero(workgroup) + lane; i < count; i += LANES) {
        var product = 0.0;
        var square = 0.0;
        for (var quad = 0u; quad < p.quads; quad++) {
            let direction = rotated[(first_row + i) * p.quads + quad];
            product += dot(quad_of_x(row, quad), direction);
            square += dot(direction, direction);
        }
        squares[i] = square;
        factors[i] = product / max(square, 1e-30);
    }
    workgroupBarrier();
    for (var i = zero(workgroup) + lane; i < count; i += LANES) {
        let square = squares[i];
        var largest = 0.0;
        var longer = 0u;
        for (var other = 0u; other < count; other++) {
            largest = max(largest, squares[other]);
            if (squares[other] > square || (squares[other] == square && other < i)) {
                longer++;
            }
        }
        if (longer >= p.rank || square <= NOTHING * largest) {
            factors[i] = 0.0;
        }
    }
    workgroupBarrier();
    // hidden rows stay, and so do sentences that have no more rows than the rank
    let stays = count <= p.rank || mask[row] == 0u;
    for (var quad = zero(workgroup) + lane; quad < p.quads; quad += LANES) {
        var value = vec4(0.0);
        if (stays) {
            value = quad_of_x(row, quad);
        } else {
            for (var i = 0u; i < count; i++) {
                value = fma(vec4(factors[i]), rotated[(first_row + i) * p.quads + quad], value);
            }
        }
        y[row * p.quads + quad] = value;
    }
}

// Four elements of a row of x; zeros for padding.
fn quad_of_x(row: u32, quad: u32) -> vec4<f32> {
    let start = row * p.x_stride + p.x_first;
    var value = vec4(0.0);
    for (var i = 0u; i < 4u; i++) {
        if (4u * quad + i < p.width) {
            value[i] = x[start + 4u * quad + i];
        }
    }
    return value;
}
