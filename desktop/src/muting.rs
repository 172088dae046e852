//! Muted heads, swapped attention and switched parts, and the translation of the model as it was trained.

use eframe::egui::{RichText, Ui};
use wordloom::trace::{AttentionKind, HeadName};

use crate::swapping::Swapping;
use crate::switching::Switching;
use crate::theme;

/// The heads that the user muted, the layers that they swapped and the parts that they switched, unless the engine refused.
#[derive(Default)]
pub struct Muting {
    heads: Vec<HeadName>,
    pub swapping: Swapping,
    pub switching: Switching,
    /// The last text that was translated by the model as it was trained, and its translation.
    plain: Option<(String, String)>,
}

/// What the user takes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Undo {
    pub muting: bool,
    pub swapping: bool,
    pub switching: bool,
}

/// The user's name of a kind of attention: from queries to keys.
pub fn kind_name(kind: AttentionKind) -> &'static str {
    match kind {
        AttentionKind::Cross => "Translation to source",
        AttentionKind::Encoder => "Source",
        AttentionKind::Decoder => "Translation",
    }
}

impl Muting {
    /// Whether the model is as it was trained.
    pub fn is_empty(&self) -> bool {
        self.heads.is_empty() && self.only_heads()
    }

    /// Whether nothing but heads differs.
    fn only_heads(&self) -> bool {
        self.swapping.is_empty() && self.switching.is_empty()
    }

    pub fn has(&self, head: HeadName) -> bool {
        self.heads.contains(&head)
    }

    pub fn set(&mut self, mut heads: Vec<HeadName>) {
        heads.sort_unstable();
        heads.dedup();
        self.heads = heads;
    }

    /// Forgets everything, for another model with so many layers of encoder and decoder.
    pub fn forget(&mut self, layers: [usize; 2]) {
        let (swapping, switching) = (Swapping::none_of(layers[0]), Switching::none_of(layers));
        *self = Self { swapping, switching, ..Self::default() };
    }

    /// Remembers a translation of the model as it was trained.
    pub fn remember_plain(&mut self, text: String, translation: String) {
        self.plain = Some((text, translation));
    }

    /// The muted heads, with this head toggled.
    pub fn turned(&self, head: HeadName) -> Vec<HeadName> {
        let others = self.heads.iter().copied().filter(|&other| other != head);
        others.chain((!self.has(head)).then_some(head)).collect()
    }

    /// The muted heads of other layers, and all heads of this layer (`count`) except this one.
    pub fn isolated(&self, head: HeadName, count: usize) -> Vec<HeadName> {
        let elsewhere = |other: &HeadName| (other.kind, other.layer) != (head.kind, head.layer);
        let own = (0..count).map(|index| HeadName { head: index, ..head }).filter(|&other| other != head);
        self.heads.iter().copied().filter(elsewhere).chain(own).collect()
    }

    /// Shows what differs from the trained model, and its translation. Returns what the user takes back.
    pub fn show(&self, ui: &mut Ui, text: &str, translation: Option<&str>) -> Undo {
        let mut undo = Undo::default();
        if self.is_empty() {
            return undo;
        }
        let parts = [
            ("Muted", self.describe()),
            ("Swapped", self.swapping.describe()),
            ("Switched", self.switching.describe()),
        ];
        let before = if self.only_heads() { "with all heads" } else { "as trained" };
        theme::card(ui).show(ui, |ui| {
            ui.set_width(ui.available_width());
            for (what, described) in parts.iter().filter(|(_, described)| !described.is_empty()) {
                let line = format!("{what}: {}", described.join("; "));
                ui.label(RichText::new(line).color(theme::accent(ui)));
            }
            if let Some((_, plain)) = self.plain.as_ref().filter(|(of, _)| of == text) {
                let text = match translation {
                    Some(translation) if translation == plain => {
                        format!("The translation is the same {before}.")
                    }
                    _ if self.only_heads() => format!("With all heads: {plain}"),
                    _ => format!("As trained: {plain}"),
                };
                ui.label(RichText::new(text).weak());
            }
            ui.horizontal(|ui| {
                undo.muting = !self.heads.is_empty() && ui.button("Unmute all").clicked();
                let as_trained = !self.only_heads() && ui.button("As trained").clicked();
                undo.swapping = as_trained && !self.swapping.is_empty();
                undo.switching = as_trained && !self.switching.is_empty();
            });
        });
        undo
    }

    /// `Translation to source, layer 3: heads 1, 2, 4–8`, for each layer.
    fn describe(&self) -> Vec<String> {
        let layers = self.heads.chunk_by(|a, b| (a.kind, a.layer) == (b.kind, b.layer));
        let described = layers.map(|heads| {
            let HeadName { kind, layer, .. } = heads[0];
            let what = if heads.len() == 1 { "head" } else { "heads" };
            format!("{}, layer {}: {what} {}", kind_name(kind), layer + 1, runs(heads))
        });
        described.collect()
    }
}

/// `1, 2, 4–8`, for sorted heads.
fn runs(heads: &[HeadName]) -> String {
    let next = |a: &HeadName, b: &HeadName| a.head + 1 == b.head;
    let runs = heads.chunk_by(next).map(|run| match run {
        [] => String::new(),
        [one] => (one.head + 1).to_string(),
        [first, second] => format!("{}, {}", first.head + 1, second.head + 1),
        [first, .., last] => format!("{}–{}", first.head + 1, last.head + 1),
    });
    runs.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heads(names: &[&str]) -> Vec<HeadName> {
        names.iter().map(|name| name.parse().expect("a head")).collect()
    }

    #[test]
    fn one_head_alone_leaves_other_layers_as_they_are() {
        let mut muting = Muting::default();
        muting.set(heads(&["cross.2.1", "cross.0.7"]));
        muting.set(muting.isolated(heads(&["cross.2.1"])[0], 4));
        assert_eq!(muting.heads, heads(&["cross.0.7", "cross.2.0", "cross.2.2", "cross.2.3"]));
        muting.set(muting.turned(heads(&["cross.2.2"])[0]));
        assert_eq!(muting.heads, heads(&["cross.0.7", "cross.2.0", "cross.2.3"]));
        muting.set(muting.turned(heads(&["cross.2.2"])[0]));
        assert!(muting.has(heads(&["cross.2.2"])[0]));
    }

    #[test]
    fn muted_heads_are_told_by_layer_and_in_runs() {
        let mut muting = Muting::default();
        let cross = (0..8).filter(|head| *head != 2).map(|head| format!("cross.1.{head}"));
        let cross: Vec<HeadName> = cross.map(|name| name.parse().expect("a head")).collect();
        muting.set([cross, heads(&["encoder.0.3"])].concat());
        assert_eq!(
            muting.describe(),
            ["Source, layer 1: head 4", "Translation to source, layer 2: heads 1, 2, 4–8"]
        );
    }
}
