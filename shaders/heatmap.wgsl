// Attention maps as colours, from the weights: one pixel per invocation, one band of the picture's rows per launch.
// Maps form a grid, layers as rows and heads as columns, with gaps; a band shows only its own layer.
// uses: shared/grid.wgsl
override LANES: u32 = 64u;

struct Params {
    layer: u32,           // row of the grid of `weights`
    heads: u32,           // columns of the grid
    first_head: u32,      // layer's head in the first column
    queries: u32,
    keys: u32,
    weights_stride: u32,  // row stride
    blocks_stride: u32,   // blocks per map
    width: u32,           // of the picture, pixels
    first_row: u32,       // of the band, pixels
    rows: u32,
}

struct View {
    origin: vec2<f32>,  // the grid's point in the upper left corner, cells
    step: vec2<f32>,    // cells from pixel to pixel
    gap: f32,           // cells between maps
    rows: u32,          // queries of each map that are shown
    scale: u32,         // see below
    background: u32,    // RGBA, red in the lowest byte
    level: u32,         // a pixel shows whole blocks of 2^level x 2^level cells
    level_begin: u32,   // first of those blocks in a map
    level_columns: u32,
    unused: u32,
}

@group(0) @binding(0) var<storage, read>       weights: array<f32>;  // [heads * queries, keys]
@group(0) @binding(1) var<storage, read>       maxima: array<f32>;   // [heads, 1 + queries]: of the map, then of its rows
@group(0) @binding(2) var<storage, read>       blocks: array<u32>;   // [heads, blocks of all levels]: weight and share, f16
@group(0) @binding(3) var<storage, read>       view: View;
@group(0) @binding(4) var<storage, read>       colours: array<u32>;  // [256], RGBA
@group(0) @binding(5) var<storage, read_write> pixels: array<u32>;   // [height, width], RGBA
@group(1) @binding(0) var<uniform> p: Params;

const LINEAR: u32 = 0u;
const LOGARITHMIC: u32 = 1u;
const ROWS: u32 = 2u;

// ln 10⁴: the logarithmic scale begins at 10⁻⁴
const DECADES: f32 = 9.210340371976182;

// First and end of the blocks under a pixel, along one axis; if cells are larger than pixels, the cell in its middle. A
// map's first and last pixel also show the rest at its edge, less than half a pixel.
fn covered(middle: f32, step: f32, count: u32) -> vec2<u32> {
    let one = min(u32(middle), count - 1u);
    if (step <= 1.0) {
        return vec2(one, one + 1u);
    }
    let first = select(min(u32(max(middle - 0.5 * step, 0.0)), one), 0u, middle < step);
    let within = clamp(u32(ceil(middle + 0.5 * step)), one + 1u, count);
    let end = select(within, count, middle + step >= f32(count));
    return vec2(first >> view.level, ((end - 1u) >> view.level) + 1u);
}

fn share(weight: f32, largest: f32) -> f32 {
    return select(0.0, weight / largest, largest > 0.0);
}

// A weight, with its share of its row's largest, scaled to 0 … 1.
fn scaled(weight: f32, share_of_row: f32, head: u32) -> f32 {
    if (view.scale == LOGARITHMIC) {
        return select(0.0, 1.0 + log(weight) / DECADES, weight > 1e-4);
    }
    return select(share(weight, maxima[head * (1u + p.queries)]), share_of_row, view.scale == ROWS);
}

fn largest_of_blocks(head: u32, rows: vec2<u32>, columns: vec2<u32>, zero: u32) -> f32 {
    let begin = head * p.blocks_stride + view.level_begin;
    var largest = vec2(0.0);
    for (var row = zero + rows.x; row < rows.y; row++) {
        for (var column = zero + columns.x; column < columns.y; column++) {
            largest = max(largest, unpack2x16float(blocks[begin + row * view.level_columns + column]));
        }
    }
    return scaled(largest.x, largest.y, head);
}

fn largest_of_cells(head: u32, queries: vec2<u32>, keys: vec2<u32>, zero: u32) -> f32 {
    var value = 0.0;
    for (var query = zero + queries.x; query < queries.y; query++) {
        let row = head * p.queries + query;
        var largest = 0.0;
        for (var key = zero + keys.x; key < keys.y; key++) {
            largest = max(largest, weights[row * p.weights_stride + key]);
        }
        value = max(value, scaled(largest, share(largest, maxima[row + head + 1u]), head));
    }
    return value;
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_workgroup(workgroup, workgroups) * LANES + lane;
    if (index >= p.width * p.rows) {
        return;
    }
    let pixel = p.first_row * p.width + index;
    let position = vec2(f32(pixel % p.width), f32(pixel / p.width));
    let point = view.origin + (position + 0.5) * view.step;
    let size = vec2(f32(p.keys), f32(p.queries));
    let column = floor(point.x / (size.x + view.gap));
    let middle = point - vec2(column, f32(p.layer)) * (size + view.gap);
    let inside = column >= 0.0 && column < f32(p.heads) && all(middle >= vec2(0.0)) && all(middle < size);
    if (!inside) {
        pixels[pixel] = view.background;
        return;
    }
    let head = p.first_head + u32(column);
    let of_queries = covered(middle.y, view.step.y, p.queries);
    let of_keys = covered(middle.x, view.step.x, p.keys);
    let queries = min(of_queries << vec2(view.level), vec2(p.queries));
    let keys = min(of_keys << vec2(view.level), vec2(p.keys));
    if (queries.x >= view.rows) {
        pixels[pixel] = view.background;
        return;
    }
    var value: f32;
    if (view.level > 0u && queries.y <= view.rows) {
        value = largest_of_blocks(head, of_queries, of_keys, zero(workgroup));
    } else {
        let shown = vec2(queries.x, min(queries.y, view.rows));
        value = largest_of_cells(head, shown, keys, zero(workgroup));
    }
    pixels[pixel] = colours[min(u32(clamp(value, 0.0, 1.0) * 255.0 + 0.5), 255u)];
}
