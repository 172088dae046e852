//! Parts of the model that are off or changed.

use std::collections::BTreeSet;

use eframe::egui::{Button, Ui};
use wordloom::model::Switches;

use crate::choice;

/// A part that can be switched.
struct Part {
    /// Switch without its place.
    switch: &'static str,
    /// Name on a button.
    label: &'static str,
    /// Name in a sentence.
    told: &'static str,
}

const fn part(switch: &'static str, label: &'static str, told: &'static str) -> Part {
    Part { switch, label, told }
}

const PARTS: [Part; 8] = [
    part("residual=off", "No residuals", "without residual connections"),
    part("norm=off", "No norms", "without norms"),
    part("positions=off", "No positions", "without positions"),
    part("self=off", "No self-attention", "without self-attention"),
    part("cross=off", "No cross-attention", "without cross-attention"),
    part("feed-forward=off", "No feed-forward", "without feed-forward networks"),
    part("scale=off", "No 1/√d_k", "scores not divided by √d_k"),
    part("query=key", "W_Q := W_K", "queries computed with the weights of the keys"),
];

const STACKS: [&str; 2] = ["encoder", "decoder"];

/// A place of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    #[default]
    Everywhere,
    /// Index in [`STACKS`].
    Stack(usize),
    Layer(usize, usize),
}

impl Place {
    /// Beginning of a switch.
    fn words(self) -> String {
        match self {
            Self::Everywhere => String::new(),
            Self::Stack(stack) => format!("{}.", STACKS[stack]),
            Self::Layer(stack, layer) => format!("{}.{layer}.", STACKS[stack]),
        }
    }

    fn name(self) -> String {
        match self {
            Self::Everywhere => "the whole model".to_owned(),
            Self::Stack(stack) => format!("the {}", STACKS[stack]),
            Self::Layer(stack, layer) => format!("{} layer {}", STACKS[stack], layer + 1),
        }
    }

    fn has(self, part: &Part) -> bool {
        let of_stacks_alone = matches!(self, Self::Layer(..)) && part.switch == "positions=off";
        let of_the_decoder = matches!(self, Self::Stack(0) | Self::Layer(0, _)) && part.switch == "cross=off";
        !(of_stacks_alone || of_the_decoder)
    }
}

/// The switched parts of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Switching {
    /// Numbers of layers of encoder and decoder.
    layers: [usize; 2],
    /// Chosen place, whose parts are shown.
    place: Place,
    /// Places and indices of parts.
    parts: BTreeSet<(Place, usize)>,
}

impl Switching {
    /// All parts as trained, in a model with so many layers of encoder and decoder.
    pub fn none_of(layers: [usize; 2]) -> Self {
        Self { layers, ..Self::default() }
    }

    /// The same model with all of its parts.
    pub fn none(&self) -> Self {
        Self { parts: BTreeSet::new(), ..self.clone() }
    }

    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The engine's switches.
    pub fn switches(&self) -> Switches {
        let switches =
            self.parts.iter().map(|(place, part)| format!("{}{}", place.words(), PARTS[*part].switch));
        switches.collect::<Vec<_>>().join(",").parse().unwrap_or_default() // no part is no text
    }

    /// `encoder layer 2: without norms`, for each part.
    pub fn describe(&self) -> Vec<String> {
        let described = self.parts.iter().map(|(place, part)| match place {
            Place::Everywhere => PARTS[*part].told.to_owned(),
            place => format!("{}: {}", place.name().trim_start_matches("the "), PARTS[*part].told),
        });
        described.collect()
    }

    /// Shows the choice of a place and a button for each of its parts. Returns the new choice, if the user made one.
    pub fn show(&self, ui: &mut Ui) -> Option<Self> {
        let mut chosen = self.clone();
        ui.horizontal_wrapped(|ui| {
            choice::show(ui, "parts of", &self.place.name(), None, |ui| {
                let stacks = (0..STACKS.len()).filter(|&stack| self.layers[stack] > 0);
                let places = stacks.flat_map(|stack| {
                    let layers = (0..self.layers[stack]).map(move |layer| Place::Layer(stack, layer));
                    [Place::Stack(stack)].into_iter().chain(layers)
                });
                for place in [Place::Everywhere].into_iter().chain(places) {
                    ui.selectable_value(&mut chosen.place, place, place.name());
                }
            });
            for (index, part) in PARTS.iter().enumerate().filter(|(_, part)| self.place.has(part)) {
                let key = (self.place, index);
                let off = self.parts.contains(&key);
                if ui.add(Button::selectable(off, part.label)).on_hover_text(part.told).clicked() {
                    match off {
                        true => chosen.parts.remove(&key),
                        false => chosen.parts.insert(key),
                    };
                }
            }
        });
        (chosen != *self).then_some(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_a_switch_of_the_engine_and_is_told() {
        let none = Switching::none_of([4, 3]);
        assert!(none.switches().is_empty());
        for place in
            [Place::Everywhere, Place::Stack(0), Place::Stack(1), Place::Layer(0, 3), Place::Layer(1, 2)]
        {
            for (index, part) in PARTS.iter().enumerate().filter(|(_, part)| place.has(part)) {
                let one = Switching { parts: BTreeSet::from([(place, index)]), ..none.clone() };
                assert_eq!(one.switches().to_string(), format!("{}{}", place.words(), part.switch));
            }
        }
        let parts = BTreeSet::from([(Place::Layer(0, 1), 1), (Place::Everywhere, 2), (Place::Stack(1), 0)]);
        let some = Switching { parts, ..none.clone() };
        assert_eq!(
            some.describe(),
            ["without positions", "decoder: without residual connections", "encoder layer 2: without norms"]
        );
        assert_eq!(some.none(), none);
    }
}
