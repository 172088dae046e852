// Attention maps as colours, straight from where the weights are: one pixel per invocation, of which only those of one layer
// are painted. Maps stand in a grid, layers as rows and heads as columns, with a gap between them.
// uses: shared/grid.wgsl
override LANES: u32 = 64u;

struct Params {
    layer: u32,           // the row of the grid that `weights` are
    layers: u32,
    heads: u32,           // columns of the grid
    first_head: u32,      // of the layer's
    queries: u32,
    keys: u32,
    weights_stride: u32,  // between rows
    width: u32,           // of the picture, pixels
    height: u32,
}

struct View {
    origin: vec2<f32>,  // the grid's point in the upper left corner, cells
    step: vec2<f32>,    // cells from pixel to pixel
    gap: f32,           // cells between maps
    rows: u32,          // queries of each map that are shown
    scale: u32,         // see below
    background: u32,    // RGBA, red in the lowest byte
}

@group(0) @binding(0) var<storage, read>       weights: array<f32>;  // [heads * queries, keys]
@group(0) @binding(1) var<storage, read>       maxima: array<f32>;   // [heads, 1 + queries]: of the map, then of its rows
@group(0) @binding(2) var<storage, read>       view: View;
@group(0) @binding(3) var<storage, read>       colours: array<u32>;  // [256], RGBA
@group(0) @binding(4) var<storage, read_write> pixels: array<u32>;   // [height, width], RGBA
@group(1) @binding(0) var<uniform> p: Params;

const LINEAR: u32 = 0u;
const LOGARITHMIC: u32 = 1u;
const ROWS: u32 = 2u;

// ln 10⁴: the logarithmic scale begins at 10⁻⁴
const DECADES: f32 = 9.210340371976182;

// The cells that a pixel covers along one axis, first and end; where cells are larger than pixels, the one in its middle.
fn covered(middle: f32, step: f32, count: u32) -> vec2<u32> {
    let one = min(u32(middle), count - 1u);
    if (step <= 1.0) {
        return vec2(one, one + 1u);
    }
    let first = u32(max(middle - 0.5 * step, 0.0));
    let end = min(u32(ceil(middle + 0.5 * step)), count);
    return vec2(min(first, one), max(end, one + 1u));
}

// 0 … 1
fn scaled(weight: f32, head: u32, query: u32) -> f32 {
    let of_map = (p.first_head + head) * (1u + p.queries);
    if (view.scale == LOGARITHMIC) {
        return select(0.0, 1.0 + log(weight) / DECADES, weight > 1e-4);
    }
    let largest = maxima[select(of_map, of_map + 1u + query, view.scale == ROWS)];
    return select(0.0, weight / largest, largest > 0.0);
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let pixel = flat_workgroup(workgroup, workgroups) * LANES + lane;
    if (pixel >= p.width * p.height) {
        return;
    }
    let position = vec2(f32(pixel % p.width), f32(pixel / p.width));
    let point = view.origin + (position + 0.5) * view.step;
    let size = vec2(f32(p.keys), f32(p.queries));
    let place = floor(point / (size + view.gap));
    let middle = point - place * (size + view.gap);
    let inside = all(place >= vec2(0.0)) && all(place < vec2(f32(p.heads), f32(p.layers)))
        && all(middle >= vec2(0.0)) && all(middle < size);
    if (!inside) {
        if (p.layer == 0u) {
            pixels[pixel] = view.background;
        }
        return;
    }
    let head = u32(place.x);
    if (u32(place.y) != p.layer) {
        return;
    }
    let of_queries = covered(middle.y, view.step.y, p.queries);
    let of_keys = covered(middle.x, view.step.x, p.keys);
    if (of_queries.x >= view.rows) {
        pixels[pixel] = view.background;
        return;
    }
    var value = 0.0;
    let end = min(of_queries.y, view.rows);
    for (var query = zero(workgroup) + of_queries.x; query < end; query++) {
        let row = ((p.first_head + head) * p.queries + query) * p.weights_stride;
        var largest = 0.0;
        for (var key = zero(workgroup) + of_keys.x; key < of_keys.y; key++) {
            largest = max(largest, weights[row + key]);
        }
        value = max(value, scaled(largest, head, query));
    }
    pixels[pixel] = colours[min(u32(clamp(value, 0.0, 1.0) * 255.0 + 0.5), 255u)];
}
