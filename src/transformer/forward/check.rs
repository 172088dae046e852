use super::{ForwardError, ForwardInput, ForwardSelection};
use crate::model::AttentionKind;
use crate::model::config::{Architecture, ModelConfig};
use crate::transformer::global_states::check_attention;

/// One input tensor, `[batch, length]`.
struct Tensor<'a> {
    name: &'static str,
    data: &'a [u32],
    length: usize,
    /// Exclusive upper bound of the values.
    bound: usize,
}

pub fn check(config: &ModelConfig, input: &ForwardInput) -> Result<(), ForwardError> {
    let ForwardInput { batch, source_length, target_length, .. } = *input;
    let tensor = |name, data, length, bound| Tensor { name, data, length, bound };
    let source = source_length;
    let mut tensors = vec![
        tensor("input_ids", &input.input_ids, source, config.source_vocabulary),
        tensor("attention_mask", &input.attention_mask, source, 2),
    ];
    let refuse = |input| Err(ForwardError::Unwanted { input, model_type: config.family.model_type() });
    match (config.token_types, input.token_type_ids.is_empty()) {
        (_, true) => {}
        (0, false) => return refuse("token_type_ids"),
        (types, false) => tensors.push(tensor("token_type_ids", &input.token_type_ids, source, types)),
    }
    if !input.global_attention_mask.is_empty() {
        tensors.push(tensor("global_attention_mask", &input.global_attention_mask, source, 2));
    }
    match (config.architecture(), input.decoder_input_ids.is_empty()) {
        (Architecture::EncoderDecoder, _) => {
            let ids = &input.decoder_input_ids;
            tensors.push(tensor("decoder_input_ids", ids, target_length, config.target_vocabulary));
        }
        (_, true) if target_length == 0 => {}
        _ => return refuse("decoder_input_ids"),
    }
    tensors.iter().try_for_each(|tensor| {
        let positions = match tensor.name {
            "decoder_input_ids" => &config.positions,
            _ => config.source_positions(),
        };
        check_tensor(positions.count(), batch, tensor)
    })?;
    // those of the layers, also if the input names none
    check_attention(config, &[], source)?;
    input.requested_globals().iter().try_for_each(|globals| check_attention(config, globals, source))?;
    Ok(())
}

fn check_tensor(limit: usize, batch: usize, tensor: &Tensor<'_>) -> Result<(), ForwardError> {
    let &Tensor { name, data, length, bound } = tensor;
    if batch == 0 || length == 0 {
        return Err(ForwardError::Empty { input: name });
    }
    if length > limit {
        return Err(ForwardError::TooLong { input: name, length, limit });
    }
    if data.len() != batch * length {
        return Err(ForwardError::Size { input: name, got: data.len(), rows: batch, columns: length });
    }
    let Some(at) = data.iter().position(|&value| value as usize >= bound) else {
        return Ok(());
    };
    let (row, column, value) = (at / length, at % length, data[at]);
    Err(match name {
        "attention_mask" | "global_attention_mask" => ForwardError::Mask { input: name, value, row, column },
        "token_type_ids" => ForwardError::TokenType { value, row, column, types: bound },
        input => ForwardError::Token { input, token: value, row, column, vocabulary: bound },
    })
}

pub fn check_layers(config: &ModelConfig, selection: &ForwardSelection) -> Result<(), ForwardError> {
    for (name, kind, selection) in [
        ("encoder", AttentionKind::Encoder, &selection.encoder_attentions),
        ("decoder", AttentionKind::Decoder, &selection.decoder_attentions),
        ("cross-attention", AttentionKind::Cross, &selection.cross_attentions),
    ] {
        let layers = config.attention_layers(kind);
        if let Some(&layer) = selection.iter().find(|&&layer| layer >= layers) {
            return Err(ForwardError::Layer { kind: name, layer, layers });
        }
    }
    Ok(())
}
