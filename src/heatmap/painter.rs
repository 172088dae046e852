//! Painting on a device, and without one.

use std::borrow::Cow;
use std::sync::Arc;

use super::band_cells::BandCells;
use super::{GridShape, HeatmapError, Pixels, View, shape_of};
use crate::cpu::{self, MapCells, MatrixCells};
use crate::device::Device;
use crate::gpu::{Buffer, Gpu, Readback, Recording};
use crate::graph::DeviceTensor;
use crate::kernels::heatmap::{self, Band};
use crate::kernels::{map_blocks, stride};
use crate::model::LayerAttention;

/// Paints on the device of a model.
#[derive(Clone)]
pub struct Painter {
    device: Device,
}

/// Maps on a device, ready to be painted.
pub struct Maps {
    shape: GridShape,
    /// The first of the layers' heads in the grid.
    first_head: usize,
    home: Home,
}

enum Home {
    Host(HostMaps),
    Gpu(Box<GpuMaps>),
}

#[derive(Clone)]
struct HostMaps {
    layers: Vec<Arc<HostLayer<'static>>>,
}

enum HostLayer<'a> {
    /// Weights and largest weights.
    Matrix(Cow<'a, [f32]>, Vec<f32>),
    Bands(BandCells<'a>),
}

struct GpuMaps {
    gpu: Arc<Gpu>,
    /// Number of heads in each layer, shown or not.
    heads: usize,
    layers: Vec<GpuLayer>,
    view: Buffer,
    colours: Buffer,
    /// Buffers for pictures of the last requested size.
    canvas: Option<Canvas>,
}

#[derive(Clone)]
struct GpuLayer {
    /// `[heads * queries, keys]`
    weights: Buffer,
    /// `[heads, 1 + queries]`
    maxima: Buffer,
    /// Maxima of blocks of cells, made when a picture first has more cells than pixels.
    blocks: Option<Buffer>,
}

struct Canvas {
    size: [u32; 2],
    pixels: Buffer,
    readback: Readback,
    /// The recording for the bands that were painted last.
    paint: Option<(Vec<Band>, Recording)>,
}

impl Painter {
    /// A painter for a device.
    pub fn new(device: &Device) -> Self {
        Self { device: device.clone() }
    }

    /// Uploads maps to the device. Each layer is a row of the grid, in the given order.
    ///
    /// # Errors
    /// [`HeatmapError`]: no layers, layers of different shapes, or too little memory on the device.
    pub fn load(&self, layers: &[&LayerAttention]) -> Result<Maps, HeatmapError> {
        let shape = shape_of(layers)?;
        let home = match &self.device {
            Device::Cpu => Home::Host(HostMaps::new(shape, layers)),
            // bands are a part of the matrix that a host paints in milliseconds
            Device::Gpu(_) if layers.iter().any(|layer| layer.bands.is_some()) => {
                Home::Host(HostMaps::new(shape, layers))
            }
            Device::Gpu(gpu) => {
                let uploaded = layers.iter().map(|layer| {
                    let padded = stride(shape.keys);
                    let mut stored = vec![0.0; shape.heads * shape.queries * padded];
                    let rows = layer.weights.chunks_exact(shape.keys);
                    for (stored, row) in stored.chunks_exact_mut(padded).zip(rows) {
                        stored[..shape.keys].copy_from_slice(row);
                    }
                    Ok(gpu.upload("attention maps", &stored)?)
                });
                let weights = uploaded.collect::<Result<Vec<_>, HeatmapError>>()?;
                Home::Gpu(Box::new(GpuMaps::new(gpu.clone(), shape, weights)?))
            }
        };
        Ok(Maps { shape, first_head: 0, home })
    }

    /// As [`Painter::load`], for attention on a device: `[heads * queries, keys]` of each layer. Copies nothing if
    /// it is the painter's own GPU.
    ///
    /// # Errors
    /// [`HeatmapError::Empty`]; too little memory on the device.
    pub(crate) async fn take(
        &self,
        shape: GridShape,
        layers: &[&DeviceTensor],
    ) -> Result<Maps, HeatmapError> {
        if layers.is_empty() {
            return Err(HeatmapError::Empty);
        }
        let buffers: Option<Vec<_>> = layers.iter().map(|layer| layer.on_gpu()).collect();
        let home = match (buffers, &self.device) {
            (Some(buffers), Device::Gpu(gpu)) if buffers.iter().all(|(own, _)| Arc::ptr_eq(own, gpu)) => {
                let weights = buffers.into_iter().map(|(_, buffer)| buffer.clone()).collect();
                Home::Gpu(Box::new(GpuMaps::new(gpu.clone(), shape, weights)?))
            }
            _ => {
                let mut host = Vec::with_capacity(layers.len());
                for layer in layers {
                    let weights = layer.read_rows(0..layer.shape().rows).await?;
                    let maxima = maxima(shape, &weights);
                    host.push(Arc::new(HostLayer::Matrix(weights.into(), maxima)));
                }
                Home::Host(HostMaps { layers: host })
            }
        };
        Ok(Maps { shape, first_head: 0, home })
    }

    /// Paints the part of the maps that a view selects.
    ///
    /// # Errors
    /// [`HeatmapError`]: an invalid view, or an error of the device.
    pub async fn paint(&self, maps: &mut Maps, view: &View) -> Result<Pixels, HeatmapError> {
        match &mut maps.home {
            Home::Host(host) => host.paint(maps.shape, maps.first_head, view),
            Home::Gpu(gpu) => gpu.paint(maps.shape, maps.first_head, view).await,
        }
    }
}

impl Maps {
    /// The shape of the grid.
    pub fn shape(&self) -> GridShape {
        self.shape
    }

    /// One head of one layer (a row of this grid), in the same memory.
    ///
    /// # Errors
    /// [`HeatmapError::Empty`] if there is no such head.
    pub fn only(&self, layer: usize, head: usize) -> Result<Self, HeatmapError> {
        if layer >= self.shape.layers || head >= self.shape.heads {
            return Err(HeatmapError::Empty);
        }
        let home = match &self.home {
            Home::Host(host) => Home::Host(HostMaps { layers: vec![host.layers[layer].clone()] }),
            Home::Gpu(gpu) => Home::Gpu(Box::new(gpu.only(layer)?)),
        };
        let shape = GridShape { layers: 1, heads: 1, ..self.shape };
        Ok(Self { shape, first_head: self.first_head + head, home })
    }
}

/// Paints on the CPU, for maps that are seen once.
///
/// # Errors
/// [`HeatmapError`]: no layers, layers of different shapes, or an invalid view.
pub fn paint(layers: &[&LayerAttention], view: &View) -> Result<Pixels, HeatmapError> {
    let shape = shape_of(layers)?;
    let layers: Vec<_> = layers.iter().map(|layer| HostLayer::new(shape, Cow::Borrowed(*layer))).collect();
    paint_on_cpu(shape, (layers.iter(), 0), view)
}

fn maxima(shape: GridShape, weights: &[f32]) -> Vec<f32> {
    let mut maxima = vec![0.0; shape.heads * (1 + shape.queries)];
    cpu::map_maxima(shape, weights, &mut maxima);
    maxima
}

fn paint_on_cpu<'a>(
    shape: GridShape,
    (layers, first_head): (impl Iterator<Item = &'a HostLayer<'a>>, usize),
    view: &View,
) -> Result<Pixels, HeatmapError> {
    let words = view.words(shape)?;
    let [width, height] = view.size;
    let mut pixels = vec![0; width as usize * height as usize];
    let cells: Vec<LayerCells<'_>> = layers.map(|layer| layer.cells(shape)).collect();
    let cells: Vec<&dyn MapCells> = cells.iter().map(LayerCells::cells).collect();
    cpu::heatmap(shape, (&cells, first_head), &words, &view.colours.table(), width as usize, &mut pixels);
    Ok(picture(view.size, &pixels))
}

/// A layer as the CPU's kernel takes it.
enum LayerCells<'a> {
    Matrix(MatrixCells<'a>),
    Bands(&'a BandCells<'a>),
}

impl LayerCells<'_> {
    fn cells(&self) -> &dyn MapCells {
        match self {
            Self::Matrix(cells) => cells,
            Self::Bands(cells) => *cells,
        }
    }
}

impl<'a> HostLayer<'a> {
    fn new(shape: GridShape, layer: Cow<'a, LayerAttention>) -> Self {
        if layer.bands.is_some() {
            return Self::Bands(BandCells::new(layer));
        }
        let maxima = maxima(GridShape { keys: layer.keys, ..shape }, &layer.weights);
        let weights = match layer {
            Cow::Borrowed(layer) => Cow::Borrowed(&layer.weights[..]),
            Cow::Owned(layer) => Cow::Owned(layer.weights),
        };
        Self::Matrix(weights, maxima)
    }

    fn cells(&'a self, shape: GridShape) -> LayerCells<'a> {
        match self {
            Self::Matrix(weights, maxima) => {
                let (queries, heads) = (shape.queries, maxima.len() / (1 + shape.queries));
                let keys = weights.len() / (heads * queries);
                LayerCells::Matrix(MatrixCells { queries, keys, weights, maxima })
            }
            Self::Bands(cells) => LayerCells::Bands(cells),
        }
    }
}

fn picture([width, height]: [u32; 2], pixels: &[u32]) -> Pixels {
    // colours have red in the lowest byte, which is first in memory on all little-endian machines
    Pixels { width, height, rgba: bytemuck::cast_slice(pixels).to_vec() }
}

impl HostMaps {
    fn new(shape: GridShape, layers: &[&LayerAttention]) -> Self {
        let owned = |layer: &&LayerAttention| Arc::new(HostLayer::new(shape, Cow::Owned((*layer).clone())));
        Self { layers: layers.iter().map(owned).collect() }
    }

    fn paint(&self, shape: GridShape, head: usize, view: &View) -> Result<Pixels, HeatmapError> {
        paint_on_cpu(shape, (self.layers.iter().map(|layer| &**layer), head), view)
    }
}

impl GpuMaps {
    fn new(gpu: Arc<Gpu>, shape: GridShape, weights: Vec<Buffer>) -> Result<Self, HeatmapError> {
        let with_maxima = weights.into_iter().map(|weights| {
            let maxima = gpu.buffer("largest weights", shape.heads * (1 + shape.queries))?;
            Ok(GpuLayer { weights, maxima, blocks: None })
        });
        let layers = with_maxima.collect::<Result<Vec<_>, HeatmapError>>()?;
        let mut launches = Vec::new();
        for GpuLayer { weights, maxima, .. } in &layers {
            let [of_rows, of_maps] = heatmap::maxima(shape);
            launches.push((of_rows, vec![weights, maxima]));
            launches.push((of_maps, vec![maxima]));
        }
        let recording = gpu.record("largest weights", &launches)?;
        gpu.submit(&recording, 1, &[]);
        Self::of_layers(gpu, shape.heads, layers)
    }

    fn of_layers(gpu: Arc<Gpu>, heads: usize, layers: Vec<GpuLayer>) -> Result<Self, HeatmapError> {
        let view = gpu.buffer("view", size_of::<heatmap::ViewWords>() / 4)?;
        let colours = gpu.buffer("colours", 256)?;
        Ok(Self { gpu, heads, layers, view, colours, canvas: None })
    }

    fn only(&self, layer: usize) -> Result<Self, HeatmapError> {
        Self::of_layers(self.gpu.clone(), self.heads, vec![self.layers[layer].clone()])
    }

    async fn paint(
        &mut self,
        shape: GridShape,
        first_head: usize,
        view: &View,
    ) -> Result<Pixels, HeatmapError> {
        let words = view.words(shape)?;
        if words.level > 0 {
            self.make_blocks(shape)?;
        }
        if self.canvas.as_ref().is_none_or(|canvas| canvas.size != view.size) {
            self.canvas = None; // frees its memory before allocating more
            let pixels = self.gpu.buffer("pixels", view.size[0] as usize * view.size[1] as usize)?;
            let readback = self.gpu.readback("pixels", &pixels)?;
            self.canvas = Some(Canvas { size: view.size, pixels, readback, paint: None });
        }
        let Self { gpu, layers, canvas: Some(canvas), .. } = self else { unreachable!("made above") };
        let bands = heatmap::bands(shape, &words, view.size[1]);
        if canvas.paint.as_ref().is_none_or(|(painted, _)| *painted != bands) {
            let launches: Vec<_> = (bands.iter())
                .map(|band| {
                    let GpuLayer { weights, maxima, blocks } = &layers[band.layer];
                    let blocks = blocks.as_ref().unwrap_or(maxima); // a placeholder that the shader does not read
                    let bound = vec![weights, maxima, blocks, &self.view, &self.colours, &canvas.pixels];
                    (heatmap::paint(shape, first_head, view.size[0], band), bound)
                })
                .collect();
            let paint = gpu.record("heatmap", &launches)?;
            canvas.paint = Some((bands, paint));
        }
        let Some((_, paint)) = &canvas.paint else { unreachable!("made above") };
        gpu.write(&self.view, 0, &[words]);
        gpu.write(&self.colours, 0, &view.colours.table());
        let submission = gpu.submit(paint, 1, &[(&canvas.pixels, &canvas.readback)]);
        let count = view.size[0] as usize * view.size[1] as usize;
        let pixels =
            gpu.map(&canvas.readback, Some(submission), |pixels| picture(view.size, &pixels[..count]));
        Ok(pixels.await?)
    }

    /// Makes the blocks once. The canvas binds them.
    fn make_blocks(&mut self, shape: GridShape) -> Result<(), HeatmapError> {
        if self.layers.iter().all(|layer| layer.blocks.is_some()) {
            return Ok(());
        }
        let of_layer = GridShape { heads: self.heads, ..shape };
        let elements = map_blocks::elements(of_layer);
        let made = self.layers.iter().map(|_| self.gpu.buffer("smaller maps", elements));
        let made = made.collect::<Result<Vec<_>, _>>()?;
        let mut launches = Vec::new();
        for (GpuLayer { weights, maxima, .. }, blocks) in self.layers.iter().zip(&made) {
            for (level, launch) in map_blocks::launches(of_layer).enumerate() {
                let bound = if level == 0 { vec![weights, maxima, blocks] } else { vec![blocks] };
                launches.push((launch, bound));
            }
        }
        let recording = self.gpu.record("smaller maps", &launches)?;
        self.gpu.submit(&recording, 1, &[]);
        for (layer, blocks) in self.layers.iter_mut().zip(made) {
            layer.blocks = Some(blocks);
        }
        self.canvas = None;
        Ok(())
    }
}
