//! The closed list of Python names that a state dict may use.

use safetensors::Dtype;

/// A name that is known. It stands for itself: nothing is imported or called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Global {
    OrderedDict,
    /// `torch.FloatStorage` and its relatives; `torch.storage.UntypedStorage` holds bytes.
    Storage(Dtype),
    /// `torch.float32` and its relatives.
    Dtype(Dtype),
    Rebuild(Rebuild),
    /// `torch.Size`: a tuple.
    Size,
    /// A value that no tensor needs is made: `torch.device`.
    Ignored,
    /// `torch.Tensor` and `torch.nn.Parameter` as arguments.
    TensorClass,
}

/// The functions that make tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rebuild {
    /// `_rebuild_tensor(storage, offset, size, stride)`
    Tensor,
    /// `_rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks, metadata)`
    TensorV2,
    /// `_rebuild_tensor_v3(storage, offset, size, stride, requires_grad, hooks, dtype, metadata)`
    TensorV3,
    /// `_rebuild_parameter(tensor, requires_grad, hooks)`, perhaps with a state
    Parameter,
    /// `_rebuild_from_type_v2(function, type, arguments, state)`
    FromType,
}

impl Global {
    pub fn find(module: &str, name: &str) -> Option<Self> {
        Some(match (module, name) {
            ("collections", "OrderedDict") => Self::OrderedDict,
            ("torch._utils", "_rebuild_tensor") => Self::Rebuild(Rebuild::Tensor),
            ("torch._utils", "_rebuild_tensor_v2") => Self::Rebuild(Rebuild::TensorV2),
            ("torch._utils", "_rebuild_tensor_v3") => Self::Rebuild(Rebuild::TensorV3),
            ("torch._utils", "_rebuild_parameter" | "_rebuild_parameter_with_state") => {
                Self::Rebuild(Rebuild::Parameter)
            }
            ("torch._tensor", "_rebuild_from_type_v2") => Self::Rebuild(Rebuild::FromType),
            ("torch", "Size") => Self::Size,
            ("torch", "device") => Self::Ignored,
            ("torch" | "torch._tensor", "Tensor") | ("torch.nn.parameter", "Parameter") => Self::TensorClass,
            ("torch" | "torch.storage", "UntypedStorage" | "_UntypedStorage") => Self::Storage(Dtype::U8),
            ("torch" | "torch.cuda", name) if name.ends_with("Storage") => {
                Self::Storage(storage(name.strip_suffix("Storage")?)?)
            }
            ("torch", name) => Self::Dtype(dtype(name)?),
            _ => return None,
        })
    }
}

/// The elements of `torch.*Storage`.
fn storage(name: &str) -> Option<Dtype> {
    Some(match name {
        "Float" => Dtype::F32,
        "Half" => Dtype::F16,
        "BFloat16" => Dtype::BF16,
        "Double" => Dtype::F64,
        "Long" => Dtype::I64,
        "Int" => Dtype::I32,
        "Short" => Dtype::I16,
        "Char" => Dtype::I8,
        "Byte" => Dtype::U8,
        "Bool" => Dtype::BOOL,
        "ComplexFloat" => Dtype::C64,
        _ => return None,
    })
}

fn dtype(name: &str) -> Option<Dtype> {
    Some(match name {
        "float32" | "float" => Dtype::F32,
        "float16" | "half" => Dtype::F16,
        "bfloat16" => Dtype::BF16,
        "float64" | "double" => Dtype::F64,
        "int64" | "long" => Dtype::I64,
        "int32" | "int" => Dtype::I32,
        "int16" | "short" => Dtype::I16,
        "int8" => Dtype::I8,
        "uint8" => Dtype::U8,
        "uint16" => Dtype::U16,
        "uint32" => Dtype::U32,
        "uint64" => Dtype::U64,
        "bool" => Dtype::BOOL,
        "complex64" => Dtype::C64,
        "float8_e4m3fn" => Dtype::F8_E4M3,
        "float8_e5m2" => Dtype::F8_E5M2,
        "float8_e4m3fnuz" => Dtype::F8_E4M3FNUZ,
        "float8_e5m2fnuz" => Dtype::F8_E5M2FNUZ,
        "float8_e8m0fnu" => Dtype::F8_E8M0,
        _ => return None,
    })
}
