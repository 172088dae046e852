//! A teacher-forced pass: token ids in, tensors out.

use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyDict, PyList};
use wordloom::model::AttentionKind;
use wordloom::transformer::{ForwardError as LibraryError, ForwardInput, ForwardSelection, Tensor};

use crate::engine::Engine;
use crate::errors::{ForwardError, OrRaise, wrong_value};
use crate::run::{Watch, run};
use crate::strings::ids;

#[pymethods]
impl Engine {
    /// Runs lists of rows of equal length. Returns tensors by their names in transformers, each as `(shape, bytes of f32)`.
    #[pyo3(signature = (inputs, hidden_states, attentions))]
    fn forward<'py>(
        &self,
        py: Python<'py>,
        inputs: &Bound<'py, PyDict>,
        hidden_states: bool,
        attentions: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let transformer = self.transformer();
        let input = input(inputs)?;
        let layers = |kind| match attentions {
            true => (0..transformer.config().attention_layers(kind)).collect(),
            false => Vec::new(),
        };
        let selection = ForwardSelection {
            hidden: true,
            logits: true,
            hidden_states,
            encoder_attentions: layers(AttentionKind::Encoder),
            decoder_attentions: layers(AttentionKind::Decoder),
            cross_attentions: layers(AttentionKind::Cross),
            taps: Vec::new(),
        };
        let found: Result<_, LibraryError> = run(py, &Watch::default(), |_| {
            pollster::block_on(transformer.forward_selected(&input, &selection))
        })?;
        let found = found.or_raise()?;
        let output = PyDict::new(py);
        for (name, one) in
            [("logits", found.logits), ("encoder_last_hidden_state", found.encoder_last_hidden_state)]
        {
            if !one.data.is_empty() {
                output.set_item(name, tensor(py, &one)?)?;
            }
        }
        for (name, many) in [
            ("encoder_hidden_states", found.encoder_hidden_states),
            ("decoder_hidden_states", found.decoder_hidden_states),
            ("encoder_attentions", found.encoder_attentions),
            ("encoder_global_attentions", found.encoder_global_attentions),
            ("decoder_attentions", found.decoder_attentions),
            ("cross_attentions", found.cross_attentions),
        ] {
            if !many.is_empty() {
                let many = many.iter().map(|one| tensor(py, one)).collect::<PyResult<Vec<_>>>()?;
                output.set_item(name, PyList::new(py, many)?)?;
            }
        }
        Ok(output)
    }
}

/// A tensor as `(shape, bytes of f32)`. The bytes may be written to.
pub fn tensor<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<(Vec<usize>, Bound<'py, PyByteArray>)> {
    Ok((tensor.shape.clone(), floats(py, &tensor.data)?))
}

pub fn floats<'py>(py: Python<'py>, values: &[f32]) -> PyResult<Bound<'py, PyByteArray>> {
    PyByteArray::new_with(py, values.len() * 4, |bytes| {
        for (bytes, value) in bytes.chunks_exact_mut(4).zip(values) {
            bytes.copy_from_slice(&value.to_ne_bytes());
        }
        Ok(())
    })
}

fn input(inputs: &Bound<'_, PyDict>) -> PyResult<ForwardInput> {
    let matrix = |name: &str| match inputs.get_item(name)? {
        Some(rows) => rows_of(&rows, name).map(Some),
        None => Ok(None),
    };
    let Some((batch, source_length, input_ids)) = matrix("input_ids")? else {
        return Err(wrong_value("input_ids are missing"));
    };
    let beside = |name: &str| match matrix(name)? {
        Some((rows, length, _)) if (rows, length) != (batch, source_length) => {
            Err(ForwardError::new_err(format!(
                "{name} is [{rows}, {length}], but input_ids are [{batch}, {source_length}]; pass the same shape"
            )))
        }
        found => Ok(found.map(|(.., values)| values)),
    };
    let attention_mask = beside("attention_mask")?.unwrap_or_else(|| vec![1; input_ids.len()]);
    let (targets, target_length, decoder_input_ids) = matrix("decoder_input_ids")?.unwrap_or_default();
    if target_length > 0 && targets != batch {
        return Err(wrong_value(format!("input_ids have {batch} rows, but decoder_input_ids {targets}")));
    }
    Ok(ForwardInput {
        batch,
        source_length,
        target_length,
        input_ids,
        attention_mask,
        global_attention_mask: beside("global_attention_mask")?.unwrap_or_default(),
        token_type_ids: beside("token_type_ids")?.unwrap_or_default(),
        decoder_input_ids,
    })
}

/// Number of rows, their length, and all values.
fn rows_of(rows: &Bound<'_, PyAny>, name: &str) -> PyResult<(usize, usize, Vec<u32>)> {
    let rows = rows.try_iter()?.map(|row| ids(&row?, name)).collect::<PyResult<Vec<_>>>()?;
    let length = rows.first().map_or(0, Vec::len);
    match rows.iter().position(|row| row.len() != length) {
        Some(row) => Err(wrong_value(format!(
            "{name}: row {row} has {} values, but row 0 has {length}; pad rows, and mask the padding with attention_mask",
            rows[row].len()
        ))),
        None => Ok((rows.len(), length, rows.concat())),
    }
}
