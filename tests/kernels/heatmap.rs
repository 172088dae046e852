//! Pictures of attention: the GPU's compared with the CPU's, and expected single pixels.

use wordloom::Device;
use wordloom::heatmap::{ColourMap, GridShape, HeatmapError, Painter, Pixels, Scale, View, paint};
use wordloom::trace::{AttentionKind, LayerAttention};

use crate::common::{device_test, gpu};
use crate::random;

fn maps(shape: GridShape, seed: u32) -> Vec<LayerAttention> {
    let GridShape { layers, heads, queries, keys } = shape;
    let layer = |layer: usize| {
        // few large weights among many small ones, as in real attention
        let weights = random(seed + layer as u32, heads * queries * keys);
        let weights = weights.iter().map(|weight| weight.powi(8)).collect();
        LayerAttention { kind: AttentionKind::Cross, layer, heads, queries, keys, weights, bands: None }
    };
    (0..layers).map(layer).collect()
}

fn refs(layers: &[LayerAttention]) -> Vec<&LayerAttention> {
    layers.iter().collect()
}

/// Tolerates rounding to the next of 256 colours, and neighbouring cells at edges if cells are smaller than pixels.
fn assert_alike(what: &str, got: &Pixels, want: &Pixels) {
    assert_eq!([got.width, got.height], [want.width, want.height], "{what}");
    let pixels = got.rgba.chunks_exact(4).zip(want.rgba.chunks_exact(4));
    let others = pixels.filter(|(a, b)| a.iter().zip(*b).any(|(a, b)| a.abs_diff(*b) > 6)).count();
    let most = got.rgba.len() / 4 / 1000;
    assert!(others <= most, "{what}: {others} pixels differ, {most} may");
}

#[device_test]
async fn a_gpu_paints_what_the_cpu_paints() {
    let painter = Painter::new(&Device::Gpu(gpu().await));
    for (shape, size) in [
        (GridShape { layers: 1, heads: 1, queries: 1, keys: 1 }, [5, 3]),
        (GridShape { layers: 1, heads: 1, queries: 7, keys: 9 }, [200, 160]),
        (GridShape { layers: 3, heads: 8, queries: 13, keys: 6 }, [640, 301]),
        (GridShape { layers: 2, heads: 5, queries: 130, keys: 67 }, [257, 90]),
    ] {
        let layers = maps(shape, 7);
        let layers = refs(&layers);
        let mut maps = painter.load(&layers).unwrap();
        assert_eq!(maps.shape(), shape);
        let whole = View::fit(shape, size);
        let mut near = View { scale: Scale::Logarithmic, colours: ColourMap::Cividis, ..whole };
        near.zoom([31.0, 17.0], 2.37);
        let rows = (shape.queries as u32).div_ceil(2);
        let background = [10, 20, 30, 255];
        let half = View { scale: Scale::Rows, colours: ColourMap::Greys, rows, background, ..whole };
        let mut far = View { colours: ColourMap::Magma, ..whole };
        far.zoom([3.0, 2.0], 0.41);
        for view in [whole, near, half, far] {
            let got = painter.paint(&mut maps, &view).await.unwrap();
            assert_alike(&format!("{shape:?}, {view:?}"), &got, &paint(&layers, &view).unwrap());
        }
        // one map alone, from the same memory, before and after smaller maps were made
        let (layer, head) = (shape.layers - 1, shape.heads - 1);
        let map = &layers[layer].weights[head * shape.queries * shape.keys..];
        let alone = LayerAttention { heads: 1, weights: map.to_vec(), ..layers[layer].clone() };
        let mut fresh = painter.load(&layers).unwrap();
        for view in [whole, far] {
            let want = paint(&[&alone], &view).unwrap();
            for maps in [&mut maps, &mut fresh] {
                let got = painter.paint(&mut maps.only(layer, head).unwrap(), &view).await.unwrap();
                assert_alike(&format!("one of {shape:?}, {view:?}"), &got, &want);
            }
        }
    }
}

/// Two layers of two heads of 2 x 3; cells of 4 pixels; a gap of one cell.
#[device_test]
async fn a_pixel_has_the_colour_of_its_cell() {
    let layer = |layer: usize, weights: [f32; 12]| LayerAttention {
        kind: AttentionKind::Cross,
        layer,
        heads: 2,
        queries: 2,
        keys: 3,
        weights: weights.to_vec(),
        bands: None,
    };
    let layers =
        [layer(0, [1.0, 0.0, 0.0, 0.2, 0.3, 0.5, 0.25, 0.25, 0.5, 0.01, 0.0, 0.99]), layer(1, [0.0; 12])];
    let layers = refs(&layers);
    let grey = |value: f32| {
        let [r, g, b] = ColourMap::Greys.colour((value * 255.0).round() / 255.0);
        [r, g, b, 255]
    };
    let background = [1, 2, 3, 4];
    let view = View {
        size: [28, 20],
        origin: [0.0; 2],
        cell: [4.0; 2],
        gap: 1.0,
        rows: u32::MAX,
        scale: Scale::Linear,
        colours: ColourMap::Greys,
        background,
    };
    for device in [Device::Cpu, Device::Gpu(gpu().await)] {
        let painter = Painter::new(&device);
        let mut maps = painter.load(&layers).unwrap();
        for (scale, cells) in [
            // the second head's largest weight is 0.99
            (
                Scale::Linear,
                [((0, 0), 1.0), ((11, 7), 0.5), ((0, 4), 0.2), ((16, 0), 0.25 / 0.99), ((27, 7), 1.0)],
            ),
            (Scale::Rows, [((0, 0), 1.0), ((11, 7), 1.0), ((0, 4), 0.4), ((16, 0), 0.5), ((27, 7), 1.0)]),
            // 0.01 is halfway between 10⁻⁴ and 1
            (
                Scale::Logarithmic,
                [((0, 0), 1.0), ((4, 0), 0.0), ((16, 7), 0.5), ((20, 7), 0.0), ((1, 13), 0.0)],
            ),
        ] {
            let picture = painter.paint(&mut maps, &View { scale, ..view }).await.unwrap();
            let pixel = |x: usize, y: usize| picture.rgba[4 * (y * 28 + x)..][..4].to_vec();
            for ((x, y), value) in cells {
                let (got, want) = (pixel(x, y), grey(value));
                let apart = got.iter().zip(&want).map(|(a, b)| a.abs_diff(*b)).max();
                assert!(apart <= Some(2), "{device}, {scale}, ({x}, {y}): {got:?}, not {want:?}");
            }
            for (x, y) in [(12, 0), (15, 7), (0, 8), (27, 11)] {
                assert_eq!(pixel(x, y), background, "{device}, {scale}, ({x}, {y}) is between maps");
            }
        }
        // with one row shown, a pixel of three by two cells has the largest visible weight
        let far = View { size: [8, 2], cell: [4.0 / 3.0, 2.0].map(|cell| cell / 4.0), rows: 1, ..view };
        let picture = painter.paint(&mut maps, &far).await.unwrap();
        assert_eq!(picture.rgba[..4], grey(1.0), "{device}");
    }
}

/// A large weight stays visible for any number of cells per pixel, but only in pixels beside its cell.
#[device_test]
async fn the_largest_of_many_cells_is_seen() {
    let shape = GridShape { layers: 1, heads: 1, queries: 301, keys: 203 };
    let GridShape { queries, keys, .. } = shape;
    for [query, key] in [[0, 0], [300, 202], [127, 128], [64, 199]] {
        let mut weights = vec![1e-3; queries * keys];
        weights[query * keys + key] = 1.0;
        let kind = AttentionKind::Cross;
        let layer = LayerAttention { kind, layer: 0, heads: 1, queries, keys, weights, bands: None };
        for device in [Device::Cpu, Device::Gpu(gpu().await)] {
            let painter = Painter::new(&device);
            let mut maps = painter.load(&[&layer]).unwrap();
            for (scale, step) in [
                (Scale::Linear, 1.5),
                (Scale::Linear, 2.0),
                (Scale::Logarithmic, 3.9),
                (Scale::Logarithmic, 4.0),
                (Scale::Linear, 25.0),
            ] {
                let size = [keys, queries].map(|cells| (cells as f32 / step).ceil() as u32);
                let origin = [0.0; 2];
                let cell = [1.0 / step; 2];
                let view = View { origin, cell, scale, colours: ColourMap::Greys, ..View::fit(shape, size) };
                let picture = painter.paint(&mut maps, &view).await.unwrap();
                let [r, g, b] = ColourMap::Greys.colour(1.0);
                let place = [key, query].map(|cell| (cell as f32 + 0.5) / step);
                // distances from each bright pixel's middle to the cell's middle
                let pixels = picture.rgba.chunks_exact(4).enumerate();
                let apart: Vec<f32> = pixels
                    .filter(|(_, colour)| **colour == [r, g, b, 255])
                    .map(|(pixel, _)| {
                        let at = [pixel as u32 % size[0], pixel as u32 / size[0]];
                        (0..2).map(|axis| (at[axis] as f32 + 0.5 - place[axis]).abs()).fold(0.0, f32::max)
                    })
                    .collect();
                let what = format!("{device}, {scale}, {step} cells a pixel, {query}, {key}: {apart:?}");
                assert!(apart.iter().any(|&apart| apart <= 1.0), "{what}");
                assert!(apart.iter().all(|&apart| apart < 2.0), "{what}");
            }
        }
    }
}

#[device_test]
async fn what_cannot_be_painted_is_said() {
    let shape = GridShape { layers: 2, heads: 1, queries: 2, keys: 2 };
    let layers = maps(shape, 1);
    let view = View::fit(shape, [10, 10]);
    let fails = |view: View| paint(&refs(&layers), &view).unwrap_err();
    assert_eq!(paint(&[], &view), Err(HeatmapError::Empty));
    assert!(matches!(fails(View { size: [0, 9], ..view }), HeatmapError::Size { width: 0, .. }));
    assert!(matches!(fails(View { size: [1 << 17, 1 << 17], ..view }), HeatmapError::Size { .. }));
    assert!(matches!(fails(View { cell: [0.0, 1.0], ..view }), HeatmapError::View { what: "cell", .. }));
    assert!(matches!(
        fails(View { origin: [f32::NAN, 1.0], ..view }),
        HeatmapError::View { what: "origin", .. }
    ));
    let others = maps(GridShape { keys: 3, layers: 1, ..shape }, 1);
    let error = paint(&[&layers[0], &others[0]], &view).unwrap_err();
    assert_eq!(error, HeatmapError::Uneven { first: 0, other: 0 });
}

#[device_test]
async fn a_view_finds_the_cell_under_a_pixel() {
    let shape = GridShape { layers: 4, heads: 8, queries: 12, keys: 9 };
    let mut view = View::fit(shape, [900, 700]);
    let seen = |view: &View| {
        let cells = (0..700).flat_map(|y| (0..900).map(move |x| (x, y)));
        let cells = cells.filter_map(|(x, y)| view.at(shape, [x as f32 + 0.5, y as f32 + 0.5]));
        cells.collect::<std::collections::HashSet<_>>().len()
    };
    assert_eq!(seen(&view), 4 * 8 * 12 * 9, "every cell fits");
    let under = view.at(shape, [333.5, 222.5]);
    assert!(under.is_some());
    view.zoom([333.5, 222.5], 3.0);
    assert_eq!(view.at(shape, [333.5, 222.5]), under);
    view.pan([50.0, -20.0]);
    assert_eq!(view.at(shape, [383.5, 202.5]), under);
    assert!(view.at(shape, [-1e6, 0.0]).is_none());
}
