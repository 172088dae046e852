//! Muted heads, and the translation without muting.

use eframe::egui::{RichText, Ui};
use wordloom::trace::{AttentionKind, HeadName};

use crate::theme;

/// The heads that the user muted, unless the engine refused.
#[derive(Default)]
pub struct Muting {
    heads: Vec<HeadName>,
    /// The last text that was translated with all heads, and its translation.
    plain: Option<(String, String)>,
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
    pub fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    pub fn has(&self, head: HeadName) -> bool {
        self.heads.contains(&head)
    }

    pub fn set(&mut self, mut heads: Vec<HeadName>) {
        heads.sort_unstable();
        heads.dedup();
        self.heads = heads;
    }

    /// Forgets everything, for another model.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Remembers a translation with all heads.
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

    /// Shows the muted heads and the translation without muting. Returns whether the user unmutes all heads.
    pub fn show(&self, ui: &mut Ui, text: &str, translation: Option<&str>) -> bool {
        if self.heads.is_empty() {
            return false;
        }
        let mut all = false;
        theme::card(ui).show(ui, |ui| {
            ui.set_width(ui.available_width());
            ui.label(
                RichText::new(format!("Muted: {}", self.describe().join("; "))).color(theme::accent(ui)),
            );
            if let Some((_, plain)) = self.plain.as_ref().filter(|(of, _)| of == text) {
                let text = match translation {
                    Some(translation) if translation == plain => {
                        "The translation is the same with all heads.".to_owned()
                    }
                    _ => format!("With all heads: {plain}"),
                };
                ui.label(RichText::new(text).weak());
            }
            all = ui.button("Unmute all").clicked();
        });
        all
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
