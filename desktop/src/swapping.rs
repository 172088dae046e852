//! Encoder layers with another kind of self-attention.

use std::collections::BTreeMap;
use std::ops::Range;

use eframe::egui::Ui;
use wordloom::model::SelfAttentionChoice;

use crate::choice;

/// Kinds that need no weights of their own, and their names in a sentence.
const KINDS: [(&str, &str); 13] = [
    ("window:1", "window of 1"),
    ("window:2", "window of 2"),
    ("window:4", "window of 4"),
    ("window:8", "window of 8"),
    ("window:16", "window of 16"),
    ("full", "full attention"),
    ("uniform", "equal weights"),
    ("shared-qk", "queries as keys"),
    ("blocks:2", "blocks of 2"),
    ("linformer:2", "projection to 2 (approximation)"),
    ("linformer:4", "projection to 4 (approximation)"),
    ("linformer:8", "projection to 8 (approximation)"),
    ("additive", "additive scores (approximation)"),
];
const OWN: &str = "as trained";

/// The swapped layers of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swapping {
    /// Number of the model's encoder layers.
    layers: usize,
    /// Index of the kind of each swapped layer.
    kinds: BTreeMap<usize, usize>,
}

impl Swapping {
    /// No swapped layer, in a model with so many encoder layers.
    pub fn none_of(layers: usize) -> Self {
        Self { layers, kinds: BTreeMap::new() }
    }

    /// The same model without swapped layers.
    pub fn none(&self) -> Self {
        Self::none_of(self.layers)
    }

    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// The engine's choice.
    pub fn choice(&self) -> SelfAttentionChoice {
        let layers = self.kinds.iter().map(|(layer, &kind)| format!("encoder.{layer}={}", KINDS[kind].0));
        layers.collect::<Vec<_>>().join(",").parse().unwrap_or_default() // no layer is no text
    }

    /// `encoder layers 1, 3: window of 8`, for each kind.
    pub fn describe(&self) -> Vec<String> {
        let layers_of = |wanted: usize| self.kinds.iter().filter(move |(_, kind)| **kind == wanted);
        let described = KINDS.iter().enumerate().filter_map(|(kind, (_, name))| {
            let layers: Vec<String> = layers_of(kind).map(|(layer, _)| (layer + 1).to_string()).collect();
            let what = if layers.len() == 1 { "layer" } else { "layers" };
            (!layers.is_empty()).then(|| format!("encoder {what} {}: {name}", layers.join(", ")))
        });
        described.collect()
    }

    /// Shows the kind of one layer, or of all. Returns the new choice, if the user made one.
    pub fn show(&self, ui: &mut Ui, layer: Option<usize>) -> Option<Self> {
        let layers = layer.map_or(0..self.layers, |layer| layer..layer + 1);
        let label = match layer {
            Some(layer) => format!("attention of layer {}", layer + 1),
            None => "attention of all layers".to_owned(),
        };
        let mut now = layers.clone().map(|layer| self.kinds.get(&layer).copied());
        let first = now.next().flatten();
        let shown = match now.all(|kind| kind == first) {
            true => first.map_or(OWN, |kind| KINDS[kind].1),
            false => "several",
        };
        let mut chosen = None;
        choice::show(ui, &label, shown, None, |ui| {
            if ui.selectable_label(shown == OWN, OWN).clicked() {
                chosen = Some(self.with(layers.clone(), None));
            }
            for (kind, (_, name)) in KINDS.iter().enumerate() {
                if ui.selectable_label(shown == *name, *name).clicked() {
                    chosen = Some(self.with(layers.clone(), Some(kind)));
                }
            }
        });
        chosen.filter(|chosen| chosen != self)
    }

    /// The choice with another kind for these layers.
    fn with(&self, layers: Range<usize>, kind: Option<usize>) -> Self {
        let mut with = self.clone();
        for layer in layers {
            match kind {
                Some(kind) => with.kinds.insert(layer, kind),
                None => with.kinds.remove(&layer),
            };
        }
        with
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_the_engine_s_words_and_are_told_by_kind() {
        let none = Swapping::none_of(4);
        assert!(none.choice().is_empty());
        let some = none.with(0..4, Some(6)).with(1..2, Some(3)).with(3..4, None);
        assert_eq!(some.choice().to_string(), "encoder.0=uniform,encoder.1=window:8,encoder.2=uniform");
        assert_eq!(some.describe(), ["encoder layer 2: window of 8", "encoder layers 1, 3: equal weights"]);
        assert_eq!(some.none(), none);
        for (kind, _) in KINDS.iter().enumerate() {
            assert!(!none.with(0..1, Some(kind)).choice().is_empty(), "{}", KINDS[kind].0);
        }
    }
}
