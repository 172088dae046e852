@group(0) @binding(0) var<storage, read>       pairs: array<vec2<f32>>;
@group(0) @binding(1) var<storage, read_write> quotients: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    quotients[id.x] = divide(pairs[id.x].x, pairs[id.x].y);
}
