//! The choice of a map in a trace.

use wasm_bindgen::JsValue;
use wordloom::trace::AttentionKind;

use crate::failure::Failure;
use crate::options::{object, take};

/// One layer or head, their mean, or (for a picture) all side by side.
#[derive(Clone, Copy, PartialEq)]
pub enum Pick {
    Index(usize),
    Mean,
    All,
}

#[derive(Clone, Copy, PartialEq)]
pub struct Which {
    pub sentence: usize,
    pub kind: AttentionKind,
    pub layer: Pick,
    pub head: Pick,
}

impl Which {
    pub fn new(value: &JsValue) -> Result<Self, Failure> {
        let mut value = object(value)?;
        let mut pick = |name: &str| match value.remove(name).unwrap_or_default() {
            serde_json::Value::String(word) if word == "mean" => Ok(Pick::Mean),
            serde_json::Value::String(word) if word == "all" => Ok(Pick::All),
            serde_json::Value::Number(number) if number.is_u64() => {
                // a module has 32 bits: a larger number is no layer of any model
                Ok(Pick::Index(number.as_u64().and_then(|index| index.try_into().ok()).unwrap_or(usize::MAX)))
            }
            other => Err(Failure::input(format!(
                "{name:?} is {other}; expected a number, counted from 0, \"mean\" or, for a picture, \"all\""
            ))),
        };
        let (layer, head) = (pick("layer")?, pick("head")?);
        Ok(Self {
            sentence: take(&mut value, "sentence", "a number, counted from 0")?,
            kind: take(&mut value, "kind", "\"encoder\", \"decoder\" or \"cross\"")?,
            layer,
            head,
        })
    }

    /// Whether all heads are chosen, side by side.
    pub fn is_grid(self) -> bool {
        self.layer == Pick::All && self.head == Pick::All
    }

    /// Numbers of the chosen layers among the stored ones.
    pub fn layers_of(self, kept: &[usize]) -> Result<Vec<usize>, Failure> {
        let Self { kind, layer, head, .. } = self;
        if layer == Pick::All || head == Pick::All {
            return Err(Failure::input("\"all\" is for pictures of all heads"));
        }
        match layer {
            Pick::Index(index) if kept.contains(&index) => Ok(vec![index]),
            Pick::Index(index) => {
                Err(Failure::input(format!("the trace has no {kind} attention of layer {index}")))
            }
            _ => Ok(kept.to_vec()),
        }
    }

    /// Numbers of the one chosen layer and head.
    pub fn head(self) -> Result<[usize; 2], Failure> {
        match (self.layer, self.head) {
            (Pick::Index(layer), Pick::Index(head)) => Ok([layer, head]),
            _ => Err(Failure::input("\"layer\" and \"head\" have to be numbers: of one head, not of a mean")),
        }
    }
}
