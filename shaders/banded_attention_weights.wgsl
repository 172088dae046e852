// The weights of an attention to bands and side keys: first those of the side keys, then those of the band, whose column
// j is key `start - left + j` of the query's block that begins with `start`. One workgroup per query and head.
// uses: shared/banded_attention.wgsl, shared/reduce.wgsl, shared/masked.wgsl, shared/grid.wgsl

@group(0) @binding(6) var<storage, read_write> weights: array<f32>;  // [batch * heads * length, most_sides + band]

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // a surplus workgroup computes the last row again
    let rows = p.batch * p.heads * p.length;
    let row = min(flat_workgroup(workgroup, workgroups), rows - 1u);
    let query = row % p.length;
    let head = row / p.length % p.heads;
    let sentence = row / p.length / p.heads;
    let sides = side_count(sentence);
    let band = band_of(query);
    let width = p.most_sides + p.left + p.block + p.right;
    let out_stride = stride_of(width);
    let out = row * out_stride;

    // scores first, then weights in the same place
    var maximum = MASKED;
    for (var column = zero(workgroup) + lane; column < width; column += LANES) {
        let is_side = column < p.most_sides;
        // keys before the text become very large numbers
        let key = query / p.block * p.block + (column - p.most_sides) - p.left;
        let at = select(key, column, is_side);
        var visible = at < sides;
        if (!is_side) {
            visible = at >= band.x && at < band.y;
            if (visible) {
                visible = key_mask[sentence * p.length + at] != 0u;
            }
        }
        var score = MASKED;
        if (visible) {
            score = score_of(sentence, head, query, at, is_side, sides);
        }
        weights[out + column] = score;
        maximum = max(maximum, score);
    }
    maximum = reduce_max(lane, maximum);
    var sum = 0.0;
    for (var column = zero(workgroup) + lane; column < width; column += LANES) {
        let score = weights[out + column];
        sum += select(exp(score - maximum), 0.0, score == MASKED);
    }
    sum = reduce_sum(lane, sum);
    let factor = select(0.0, 1.0 / sum, sum > 0.0);
    for (var column = zero(workgroup) + lane; column < out_stride; column += LANES) {
        if (column >= width) {
            weights[out + column] = 0.0;
        } else {
            let score = weights[out + column];
            weights[out + column] = select(exp(score - maximum) * factor, 0.0, score == MASKED);
        }
    }
}
