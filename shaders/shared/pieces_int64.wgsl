// The same as shared/pieces.wgsl with integers of 64 bits: eight elements at a time. Every head starts at a multiple of eight.
// uses: what attention.wgsl and cached_attention.wgsl define
alias Piece = vec4<u64>;

const PIECE: u32 = 8u;  // elements

// Of the buffer of queries.
fn piece_of_queries(start: u32) -> Piece {
    let a = bitcast<vec4<u32>>(q[start / 4u]);
    let b = bitcast<vec4<u32>>(q[start / 4u + 1u]);
    let low = vec4<u64>(vec4(a.x, a.z, b.x, b.z));
    let high = vec4<u64>(vec4(a.y, a.w, b.y, b.w));
    return low | (high << vec4(32u));
}

fn elements(piece: Piece) -> array<vec4<f32>, 2> {
    let low = vec4<u32>(piece);
    let high = vec4<u32>(piece >> vec4(32u));
    let a = vec4(low.x, high.x, low.y, high.y);
    let b = vec4(low.z, high.z, low.w, high.w);
    return array(bitcast<vec4<f32>>(a), bitcast<vec4<f32>>(b));
}

// Sixteen elements of a head; the last eight again beyond its end.
fn key16(start: u32, d: u32) -> mat4x4<f32> {
    let a = elements(k[(start + min(d, D_HEAD - 8u)) / 8u]);
    let b = elements(k[(start + min(d + 8u, D_HEAD - 8u)) / 8u]);
    return mat4x4(a[0], a[1], b[0], b[1]);
}

// As `key16`.
fn value16(start: u32, d: u32) -> mat4x4<f32> {
    let a = elements(v[(start + min(d, D_VALUE - 8u)) / 8u]);
    let b = elements(v[(start + min(d + 8u, D_VALUE - 8u)) / 8u]);
    return mat4x4(a[0], a[1], b[0], b[1]);
}
