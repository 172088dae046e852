@group(0) @binding(0) var<storage, read>       cases: array<vec4<u32>>;  // [cases, 2]: counter; key, 0, 0
@group(0) @binding(1) var<storage, read_write> words: array<vec4<u32>>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    words[id.x] = philox(cases[2u * id.x], cases[2u * id.x + 1u].xy);
}
