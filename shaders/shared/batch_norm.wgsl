// Reading rows of a batch norm. Rows that belong to no sentence fill a batch of training: they count in no statistics.

struct Params {
    rows: u32,
    width: u32,     // columns, without padding
    epsilon: f32,
    momentum: f32,  // share of a batch in the new running statistics
}

@group(1) @binding(0) var<uniform> p: Params;

fn stride() -> u32 {
    return (p.width + 3u) / 4u * 4u;
}
