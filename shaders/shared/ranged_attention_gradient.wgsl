// The gradient of the scores of attention over ranges: with P = exp(score - log Σ exp), P' = P ⊙ kept (dropout) and
// dP' = dcontext · Vᵀ, dS = P ⊙ (dP' ⊙ kept - delta). Dao et al. 2022, "FlashAttention", appendix B.
// uses: shared/ranged_attention.wgsl

@group(0) @binding(4) var<storage, read> statistics: array<f32>;              // [q_rows, 2 * heads]: log Σ exp, delta
@group(0) @binding(5) var<storage, read> context_gradient: array<vec4<f32>>;  // [q_rows, heads * d_value]
@group(0) @binding(6) var<storage, read> step_state: array<u32>;

// P' and dS of a query and a key.
struct Pair {
    weight: f32,
    score_gradient: f32,
}

// Four elements of the gradient of a query's context.
fn context_gradient4(row: u32, head: u32, d: u32) -> vec4<f32> {
    let start = min(row, p.q_rows - 1u) * stride_of(p.heads * D_VALUE) + head * D_VALUE;
    let i = places(start, d, D_VALUE);
    if (ALIGNED) {
        return select(vec4(0.0), context_gradient[i.x / 4u], d < D_VALUE);
    }
    let x = context_gradient[i.x / 4u][i.x % 4u];
    let y = context_gradient[i.y / 4u][i.y % 4u];
    let z = context_gradient[i.z / 4u][i.z % 4u];
    let w = context_gradient[i.w / 4u][i.w % 4u];
    return select(vec4(0.0), vec4(x, y, z, w), are_inside(d, D_VALUE));
}

// The pair that belongs to the products q·k and dcontext·v.
fn pair_of(query: u32, key: u32, head: u32, product: f32, value_product: f32) -> Pair {
    let at = query * stride_of(2u * p.heads) + head;
    let score = with_distance_bias(product * p.scale, head, query, key);
    // rounding can bring a score of one visible key above its sum
    let weight = exp(min(score - statistics[at], 0.0));
    let factor = kept(query, key, head);
    return Pair(weight * factor, weight * (value_product * factor - statistics[at + p.heads]));
}
