//! The functions of `torch._utils` that make tensors, as notes of where their elements are.

use safetensors::Dtype;

use super::super::globals::{Global, Rebuild};
use super::super::value::{Object, Storage, Value, View};
use super::Machine;
use crate::model::error::ModelError;

/// Maximum number of axes, as in PyTorch.
const MOST_AXES: usize = 64;

impl Machine<'_> {
    pub(super) fn rebuild(&mut self, function: Rebuild, arguments: &[Value]) -> Result<(), ModelError> {
        let view = match (function, arguments) {
            (Rebuild::Parameter, &[tensor, ..]) => {
                return match self.is_tensor(tensor) {
                    true => self.push(tensor),
                    false => Err(self.wrong_arguments()),
                };
            }
            (Rebuild::Tensor, &[storage, offset, shape, strides]) => {
                self.view(storage, None, offset, [shape, strides])?
            }
            (Rebuild::TensorV2, &[storage, offset, shape, strides, _, _, ref metadata @ ..]) => {
                self.check_metadata(metadata)?;
                self.view(storage, None, offset, [shape, strides])?
            }
            (
                Rebuild::TensorV3,
                &[
                    storage,
                    offset,
                    shape,
                    strides,
                    _,
                    _,
                    Value::Global(Global::Dtype(dtype)),
                    ref metadata @ ..,
                ],
            ) => {
                self.check_metadata(metadata)?;
                self.view(storage, Some(dtype), offset, [shape, strides])?
            }
            _ => return Err(self.wrong_arguments()),
        };
        self.push_object(Object::Tensor(Box::new(view)))
    }

    fn is_tensor(&self, value: Value) -> bool {
        matches!(value, Value::Object(index) if matches!(self.objects[index as usize], Object::Tensor(_)))
    }

    /// Metadata can say that elements are to be negated or conjugated.
    fn check_metadata(&self, metadata: &[Value]) -> Result<(), ModelError> {
        let is_empty = match *metadata {
            [] | [Value::None] => true,
            [Value::Object(index)] => {
                matches!(&self.objects[index as usize], Object::Dict(pairs) if pairs.is_empty())
            }
            _ => false,
        };
        match is_empty {
            true => Ok(()),
            false => Err(self
                .stream
                .invalid("a tensor is marked as negated or conjugated; save a plain copy of it")),
        }
    }

    /// A view within its storage. `dtype`: of the elements, if the storage holds bytes.
    fn view(
        &mut self,
        storage: Value,
        dtype: Option<Dtype>,
        offset: Value,
        [shape, strides]: [Value; 2],
    ) -> Result<View, ModelError> {
        let Some(storage) = self.storage(storage) else { return Err(self.wrong_arguments()) };
        let Value::Int(offset) = offset else { return Err(self.wrong_arguments()) };
        let (shape, strides) = (self.sizes(shape)?, self.sizes(strides)?);
        if shape.len() != strides.len() {
            return Err(self.wrong_arguments());
        }
        self.count(2 * shape.len())?;
        let dtype = dtype.unwrap_or(storage.dtype);
        // of the tensor's elements, in a storage of bytes or of elements
        let room = storage
            .count
            .checked_mul(storage.dtype.bitsize() as u64)
            .map(|bits| bits / dtype.bitsize() as u64);
        let offset = u64::try_from(offset).ok();
        let end = offset.and_then(|offset| end(offset, &shape, &strides));
        match (offset, end, room) {
            (Some(offset), Some(end), Some(room)) if end <= room => {
                Ok(View { storage, dtype, offset, shape, strides })
            }
            _ => Err(self.stream.invalid(format!(
                "a tensor {dtype} {shape:?} with strides {strides:?} leaves its storage of {} elements",
                storage.count
            ))),
        }
    }

    fn storage(&self, value: Value) -> Option<Storage> {
        match value {
            Value::Object(index) => match &self.objects[index as usize] {
                Object::Storage(storage) => Some(*storage),
                _ => None,
            },
            _ => None,
        }
    }

    fn sizes(&self, value: Value) -> Result<Vec<usize>, ModelError> {
        let items = self.items(value).filter(|items| items.len() <= MOST_AXES);
        let sizes = items.and_then(|items| {
            let size = |&item: &Value| match item {
                Value::Int(size) => usize::try_from(size).ok(),
                _ => None,
            };
            items.iter().map(size).collect()
        });
        sizes.ok_or_else(|| self.wrong_arguments())
    }
}

/// The end of a view in its storage, elements; `None` if a number overflows.
fn end(offset: u64, shape: &[usize], strides: &[usize]) -> Option<u64> {
    let elements = shape.iter().try_fold(1usize, |product, &size| product.checked_mul(size))?;
    if elements == 0 {
        return Some(offset);
    }
    let last = shape.iter().zip(strides).try_fold(0u64, |sum, (&size, &stride)| {
        sum.checked_add((size as u64 - 1).checked_mul(stride as u64)?)
    })?;
    offset.checked_add(last)?.checked_add(1)
}
