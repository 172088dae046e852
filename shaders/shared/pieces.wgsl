// How keys and values of attention are read and written: four elements at a time.
// uses: what attention.wgsl and cached_attention.wgsl define
alias Piece = vec4<f32>;

const PIECE: u32 = 4u;  // elements

// Of the buffer of queries, where the elements begin at a multiple of four.
fn piece_of_queries(start: u32) -> Piece {
    return q[start / 4u];
}
