//! Paints maps on a separate thread, because a large picture takes longer than a frame.
//!
//! Only the last request is painted. Until it is ready, the window shows the previous picture, moved and stretched.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use eframe::egui::{ColorImage, Context};
use wordloom::Device;
use wordloom::heatmap::{self, GridShape, HeatmapError, Maps, Painter, Pixels, View, shape_of};
use wordloom::trace::{AttentionKind, LayerAttention, Trace, TracedSentence};

/// The chosen maps: all of a kind, or one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen {
    pub sentence: usize,
    pub kind: AttentionKind,
    pub one: Option<Head>,
}

/// One map of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The layer's number in the model; a trace may lack some layers.
    pub layer: usize,
    /// The head; `None` is the mean of the layer's heads.
    pub head: Option<usize>,
}

/// A request for a picture.
#[derive(Clone)]
pub struct PictureRequest {
    pub trace: Arc<Trace>,
    pub chosen: Chosen,
    pub view: View,
}

impl PictureRequest {
    /// Whether both show the same maps, in any view.
    pub fn same_maps(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.trace, &other.trace) && self.chosen == other.chosen
    }

    /// Whether both are the same picture.
    pub fn same(&self, other: &Self) -> bool {
        self.same_maps(other) && self.view == other.view
    }
}

/// A picture that was painted.
pub struct Picture {
    pub request: PictureRequest,
    pub image: Result<ColorImage, String>,
}

/// The window's handle of the thread.
pub struct Gallery {
    requests: Sender<PictureRequest>,
    pictures: Receiver<Picture>,
}

impl Gallery {
    /// Starts the thread. It repaints the window after every picture.
    pub fn open(device: &Device, window: Context) -> std::io::Result<Self> {
        let (requests, received) = channel::<PictureRequest>();
        let (painted, pictures) = channel();
        let painter = Painter::new(device);
        std::thread::Builder::new().name("gallery".into()).spawn(move || {
            let mut maps: Option<(PictureRequest, Maps)> = None;
            while let Ok(first) = received.recv() {
                let request = received.try_iter().last().unwrap_or(first);
                let image = paint(&painter, &mut maps, &request).map_err(|error| error.to_string());
                if painted.send(Picture { request, image }).is_err() {
                    return; // the window has been closed
                }
                window.request_repaint();
            }
        })?;
        Ok(Self { requests, pictures })
    }

    /// Requests a picture.
    pub fn request(&self, request: PictureRequest) {
        let _ = self.requests.send(request); // the thread may have ended
    }

    /// The last picture since the last call.
    pub fn picture(&self) -> Option<Picture> {
        self.pictures.try_iter().last()
    }
}

fn paint(
    painter: &Painter,
    cached: &mut Option<(PictureRequest, Maps)>,
    request: &PictureRequest,
) -> Result<ColorImage, HeatmapError> {
    if !cached.as_ref().is_some_and(|(of, _)| of.same_maps(request)) {
        *cached = None; // frees its memory before allocating more
    }
    let maps = match cached {
        Some((_, maps)) => maps,
        None => {
            let sentence = request.trace.sentences.get(request.chosen.sentence).ok_or(HeatmapError::Empty)?;
            let layers = layers(sentence, &request.chosen);
            let maps = painter.load(&layers.iter().map(AsRef::as_ref).collect::<Vec<_>>())?;
            &mut cached.insert((request.clone(), maps)).1
        }
    };
    let pixels = pollster::block_on(painter.paint(maps, &request.view))?;
    Ok(ColorImage::from_rgba_unmultiplied([pixels.width as usize, pixels.height as usize], &pixels.rgba))
}

/// Paints a picture for a file.
pub fn paint_once(request: &PictureRequest) -> Result<Pixels, HeatmapError> {
    let sentence = request.trace.sentences.get(request.chosen.sentence).ok_or(HeatmapError::Empty)?;
    let layers = layers(sentence, &request.chosen);
    heatmap::paint(&layers.iter().map(AsRef::as_ref).collect::<Vec<_>>(), &request.view)
}

/// A layer of a trace, or a layer computed from it.
enum Layer<'a> {
    Kept(&'a LayerAttention),
    Made(Box<LayerAttention>),
}

impl AsRef<LayerAttention> for Layer<'_> {
    fn as_ref(&self) -> &LayerAttention {
        match self {
            Self::Kept(layer) => layer,
            Self::Made(layer) => layer,
        }
    }
}

/// The chosen maps, as rows of a grid.
fn layers<'a>(sentence: &'a TracedSentence, chosen: &Chosen) -> Vec<Layer<'a>> {
    match chosen.one {
        None => sentence.layers(chosen.kind).map(Layer::Kept).collect(),
        Some(Head { layer, head }) => {
            let Some(layer) = sentence.layer(chosen.kind, layer) else { return Vec::new() };
            let made = match head {
                None => layer.averaged(),
                Some(head) if head < layer.heads => layer.only(head),
                Some(_) => return Vec::new(),
            };
            vec![Layer::Made(Box::new(made))]
        }
    }
}

/// The shape of the grid of the chosen maps.
pub fn shape(sentence: &TracedSentence, chosen: &Chosen) -> Option<GridShape> {
    match chosen.one {
        None => shape_of(&sentence.layers(chosen.kind).collect::<Vec<_>>()).ok(),
        Some(Head { layer, .. }) => {
            let layer = sentence.layer(chosen.kind, layer)?;
            (layer.queries > 0 && layer.keys > 0).then_some(GridShape {
                layers: 1,
                heads: 1,
                queries: layer.queries,
                keys: layer.columns(),
            })
        }
    }
}
