use std::fmt;
use std::str::FromStr;

use super::error::SwitchError;
use super::place::{Block, Part, Place, Target};

/// Parts of a model that are off or changed, `encoder.2.residual=off,decoder.*.feed-forward=off` for example:
/// `[STACK.][LAYER.][BLOCK.]PART=VALUE`, joined by commas.
///
/// What a switch does not name is everywhere: `norm=off` is every norm of a model. If several switches include a place,
/// a layer's number goes before `*`, and a named block before none; `on` gives a place its own back.
///
/// | part | values |
/// |---|---|
/// | `residual` | `off`: a block's input is not added to its result. A block that is off keeps it. |
/// | `norm` | `off`: without norms; without a layer also those before the first and after the last layer |
/// | `positions` | `off`: no token has a position; in T5's relatives, no score has a bias by distance |
/// | `self`, `cross`, `feed-forward` | `off`: the block adds nothing to its input |
/// | `scale` | factor of attention scores in place of 1 / √d_k; `off`: 1 |
/// | `query`, `key` | `query=key`: W_Q := W_K; `key=query`: W_K := W_Q |
/// | `head.N`, `head.*` | `mute`: the head's values are zeros; `uniform`: it weighs all visible tokens alike |
///
/// [`Transformer::set_switches`](crate::Transformer::set_switches) applies them. Other kinds of self-attention are a
/// [`SelfAttentionChoice`](crate::model::SelfAttentionChoice).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Switches {
    settings: Vec<Setting>,
}

/// One switch.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Setting {
    pub text: String,
    pub place: Place,
    pub value: Value,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    /// The model's own.
    On,
    Off,
    Scale(f32),
    /// The other one of queries and keys.
    Shared,
    Mute,
    Uniform,
}

impl Switches {
    /// Whether nothing is switched.
    pub fn is_empty(&self) -> bool {
        self.settings.is_empty()
    }

    pub(super) fn settings(&self) -> &[Setting] {
        &self.settings
    }

    /// The switch that decides a place.
    pub(super) fn of(&self, target: &Target) -> Option<&Setting> {
        let including = self.settings.iter().filter(|setting| setting.place.includes(target));
        including.max_by_key(|setting| setting.place.rank())
    }
}

impl fmt::Display for Switches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, setting) in self.settings.iter().enumerate() {
            write!(f, "{}{}", if index > 0 { "," } else { "" }, setting.text)?;
        }
        Ok(())
    }
}

/// Reads switches; an empty text has none.
impl FromStr for Switches {
    type Err = SwitchError;

    fn from_str(text: &str) -> Result<Self, SwitchError> {
        let mut settings: Vec<Setting> = Vec::new();
        let parts = text.split(',').map(str::trim);
        for text in parts.filter(|_| !text.trim().is_empty()) {
            let wrong = || SwitchError::Switch(text.to_owned());
            let (place, value) = text.split_once('=').ok_or_else(wrong)?;
            let parsed = Place::parse(place).ok_or_else(wrong)?;
            if settings.iter().any(|other| other.place == parsed) {
                return Err(SwitchError::Twice(place.to_owned()));
            }
            let value = value_of(text, &parsed, value)?;
            settings.push(Setting { text: text.to_owned(), place: parsed, value });
        }
        Ok(Self { settings })
    }
}

fn value_of(text: &str, place: &Place, value: &str) -> Result<Value, SwitchError> {
    /// Largest factor of scores: beyond it, only overflow is seen.
    const MOST: f32 = 1000.0;
    let allowed = match (place.part, value) {
        (_, "on") => return Ok(Value::On),
        (Part::Residual | Part::Norm | Part::Positions | Part::Whole | Part::Scale, "off") => {
            return Ok(Value::Off);
        }
        (Part::Query, "key") | (Part::Key, "query") => return Ok(Value::Shared),
        (Part::Head(_), "mute") => return Ok(Value::Mute),
        (Part::Head(_), "uniform") => return Ok(Value::Uniform),
        (Part::Scale, number) => match number.parse() {
            Ok(scale) if (0.0..=MOST).contains(&scale) => return Ok(Value::Scale(scale)),
            _ => "a number from 0 to 1000, off for 1, or on",
        },
        (Part::Query, _) => "key or on",
        (Part::Key, _) => "query or on",
        (Part::Head(_), _) => "mute, uniform or on",
        (Part::Whole, _) if place.block == Some(Block::SelfAttention) => {
            return Err(SwitchError::Kind(text.to_owned()));
        }
        (Part::Residual | Part::Norm | Part::Positions | Part::Whole, _) => "off or on",
    };
    Err(SwitchError::Value { switch: text.to_owned(), allowed })
}
