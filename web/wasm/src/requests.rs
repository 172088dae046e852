//! Inputs of calls that are read by hand.

use serde_json::{Map, Value};
use wasm_bindgen::prelude::*;
use wordloom::transformer::ForwardInput;
use wordloom::translate::Excess;

use crate::failure::Failure;
use crate::options::{object, take};

pub fn forward_input(input: &JsValue) -> Result<ForwardInput, Failure> {
    let mut input = object(input)?;
    let expected = "a list of equally long lists of token ids";
    let input_ids: Vec<Vec<u32>> = take(&mut input, "inputIds", expected)?;
    let decoder_input_ids: Option<Vec<Vec<u32>>> = take(&mut input, "decoderInputIds", expected)?;
    let token_type_ids: Option<Vec<Vec<u32>>> = take(&mut input, "tokenTypeIds", expected)?;
    let mask = "a list of lists of 0 and 1";
    let attention_mask: Option<Vec<Vec<u32>>> = take(&mut input, "attentionMask", mask)?;
    let global_mask: Option<Vec<Vec<u32>>> = take(&mut input, "globalAttentionMask", mask)?;
    let attention_mask =
        attention_mask.unwrap_or_else(|| input_ids.iter().map(|row| vec![1; row.len()]).collect());
    let flat = |name: &str, rows: &[Vec<u32>]| {
        let length = rows.first().map_or(0, Vec::len);
        match rows.iter().all(|row| row.len() == length) {
            true => Ok((length, rows.concat())),
            false => Err(Failure::input(format!("{name:?} has to be {expected}"))),
        }
    };
    let batch = input_ids.len();
    let (source_length, input_ids) = flat("inputIds", &input_ids)?;
    let (_, attention_mask) = flat("attentionMask", &attention_mask)?;
    let (_, token_type_ids) = flat("tokenTypeIds", &token_type_ids.unwrap_or_default())?;
    let (target_length, decoder_input_ids) = flat("decoderInputIds", &decoder_input_ids.unwrap_or_default())?;
    Ok(ForwardInput {
        batch,
        source_length,
        target_length,
        input_ids,
        attention_mask,
        token_type_ids,
        decoder_input_ids,
        global_attention_mask: flat("globalAttentionMask", &global_mask.unwrap_or_default())?.1,
    })
}

/// The tokens that `globalAttentionMask` of a request names. Without a mask none is global, as in transformers.
pub fn global_tokens(request: &mut Map<String, Value>, ids: usize) -> Result<Vec<usize>, Failure> {
    let expected = "a list of 0 and 1, one for each of inputIds";
    let mask: Option<Vec<u32>> = take(request, "globalAttentionMask", expected)?;
    let mask = mask.unwrap_or_default();
    if !mask.is_empty() && mask.len() != ids || mask.iter().any(|&value| value > 1) {
        return Err(Failure::input(format!("\"globalAttentionMask\" has to be {expected}")));
    }
    Ok((0..mask.len()).filter(|&token| mask[token] == 1).collect())
}

/// The option `document`.
pub fn document(value: Option<Value>) -> Result<Option<Excess>, Failure> {
    match value {
        None | Some(Value::Null | Value::Bool(false)) => Ok(None),
        Some(Value::Bool(true)) => Ok(Some(Excess::Refuse)),
        Some(Value::String(truncate)) if truncate == "truncate" => Ok(Some(Excess::LeaveOut)),
        Some(other) => {
            Err(Failure::input(format!("\"document\" is {other}; expected true, false or \"truncate\"")))
        }
    }
}
