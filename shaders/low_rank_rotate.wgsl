// Rotates pairs of a sentence's rows until all are orthogonal: one-sided Jacobi, Hestenes 1958. Row i then is σᵢ wᵢᵀ of the
// rows' singular value decomposition. A workgroup has a sentence, and each of its sixteen teams a pair of rows at a time. A
// round is a set of pairs without a common row (the circle method); a sweep of all rounds has every pair once.
// uses: shared/grid.wgsl
const LANES: u32 = 256u;
const TEAM: u32 = 16u;   // lanes of a pair
const TEAMS: u32 = 16u;
const ORTHOGONAL: f32 = 4e-14;  // square of the cosine of two rows that count as orthogonal

struct Params {
    batch: u32,
    length: u32,       // rows of a sentence
    quads: u32,        // of a row, with padding
    width: u32,        // elements of a row
    x_stride: u32,     // row stride of x
    x_first: u32,      // first column of x
    first_round: u32,  // of this launch, in its sweep
    rounds: u32,       // of this launch
    is_first: u32,     // nonzero: begins with the rows of x
}

@group(0) @binding(0) var<storage, read>       x: array<f32>;              // [batch * length, ...]
@group(0) @binding(1) var<storage, read>       mask: array<u32>;           // [batch, length], nonzero = visible
@group(0) @binding(2) var<storage, read_write> rotated: array<vec4<f32>>;  // [batch * length, width]
@group(1) @binding(0) var<uniform> p: Params;

var<workgroup> products: array<vec3<f32>, LANES>;  // a·a, b·b, a·b of a lane's elements

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let sentence = flat_workgroup(workgroup, workgroups);
    if (sentence >= p.batch) {
        return;
    }
    let first_row = sentence * p.length;
    var count = 0u;
    for (var row = zero(workgroup); row < p.length; row++) {
        if (mask[first_row + row] != 0u) {
            count = row + 1u;
        }
    }
    if (p.is_first != 0u) {
        for (var at = zero(workgroup) + lane; at < p.length * p.quads; at += LANES) {
            rotated[first_row * p.quads + at] = quad_of_x(first_row + at / p.quads, at % p.quads);
        }
        storageBarrier();
    }
    let team = lane / TEAM;
    let own = lane % TEAM;
    let players = count + count % 2u;
    let blocks = ((p.length + 1u) / 2u + TEAMS - 1u) / TEAMS;
    for (var round = zero(workgroup) + p.first_round; round < p.first_round + p.rounds; round++) {
        for (var block = zero(workgroup); block < blocks; block++) {
            let pair = rows_of(block * TEAMS + team, round, players);
            let is_pair = round + 1u < players && block * TEAMS + team < players / 2u && max(pair.x, pair.y) < count;
            let a = (first_row + pair.x) * p.quads;
            let b = (first_row + pair.y) * p.quads;
            var of_lane = vec3(0.0);
            if (is_pair) {
                for (var i = own; i < p.quads; i += TEAM) {
                    let left = rotated[a + i];
                    let right = rotated[b + i];
                    of_lane += vec3(dot(left, left), dot(right, right), dot(left, right));
                }
            }
            products[lane] = of_lane;
            workgroupBarrier();
            var sums = vec3(0.0);
            for (var i = 0u; i < TEAM; i++) {
                sums += products[team * TEAM + i];
            }
            workgroupBarrier();
            if (is_pair && sums.z * sums.z > ORTHOGONAL * sums.x * sums.y) {
                let turn = rotation(sums);
                for (var i = own; i < p.quads; i += TEAM) {
                    let left = rotated[a + i];
                    let right = rotated[b + i];
                    rotated[a + i] = turn.x * left - turn.y * right;
                    rotated[b + i] = turn.y * left + turn.x * right;
                }
            }
        }
        // the next round has other pairs
        storageBarrier();
    }
}

// The two rows of a pair. The last of an even number of players stays, the others move in a circle.
fn rows_of(pair: u32, round: u32, players: u32) -> vec2<u32> {
    let others = max(players, 2u) - 1u;
    if (pair == 0u) {
        return vec2(others, round % others);
    }
    return vec2((round + pair) % others, (round + others - pair % others) % others);
}

// Cosine and sine of the rotation that makes two rows orthogonal.
fn rotation(products: vec3<f32>) -> vec2<f32> {
    let cotangent = clamp((products.y - products.x) / (2.0 * products.z), -1e15, 1e15);  // of twice the angle
    let tangent = select(-1.0, 1.0, cotangent >= 0.0) / (abs(cotangent) + sqrt(1.0 + cotangent * cotangent));
    let cosine = 1.0 / sqrt(1.0 + tangent * tangent);
    return vec2(cosine, cosine * tangent);
}

// Four elements of a row; zeros for a hidden row and for padding.
fn quad_of_x(row: u32, quad: u32) -> vec4<f32> {
    let start = row * p.x_stride + p.x_first;
    var value = vec4(0.0);
    for (var i = 0u; i < 4u; i++) {
        if (4u * quad + i < p.width && mask[row] != 0u) {
            value[i] = x[start + 4u * quad + i];
        }
    }
    return value;
}
