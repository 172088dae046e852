//! The values that a pickle makes.

use safetensors::Dtype;

use super::globals::Global;
use super::stream::Span;

/// A value on the stack. Values with parts are in [`Pickle::objects`], so that no value is copied, compared or dropped in
/// depth, however the file nests or repeats them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    None,
    Bool(bool),
    Int(i64),
    /// A string.
    Text(Span),
    /// Bytes of a whole number of more than 64 bits.
    LongInt(Span),
    Global(Global),
    /// Index in [`Pickle::objects`].
    Object(u32),
    /// A value that no tensor needs: a fraction, bytes, a device.
    Other,
}

#[derive(Clone, Debug)]
pub enum Object {
    Tuple(Vec<Value>),
    List(Vec<Value>),
    /// A dictionary, ordered or not. Of equal keys, the last one counts.
    Dict(Vec<(Value, Value)>),
    Storage(Storage),
    Tensor(Box<View>),
}

/// Memory that tensors share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Storage {
    /// Name in the file.
    pub key: Span,
    pub dtype: Dtype,
    /// Number of elements.
    pub count: u64,
}

/// A tensor: a view of a storage.
#[derive(Clone, Debug)]
pub struct View {
    pub storage: Storage,
    pub dtype: Dtype,
    /// Elements before the first one.
    pub offset: u64,
    pub shape: Vec<usize>,
    /// Elements from one index of each axis to the next.
    pub strides: Vec<usize>,
}

/// The result of a pickle.
pub struct Pickle {
    /// The pickle itself, for its [`Span`]s.
    pub bytes: Vec<u8>,
    pub objects: Vec<Object>,
    pub root: Value,
    /// End in the file, bytes.
    pub end: u64,
}

impl Pickle {
    pub fn object(&self, value: Value) -> Option<&Object> {
        match value {
            Value::Object(index) => self.objects.get(index as usize),
            _ => None,
        }
    }

    pub fn bytes(&self, span: Span) -> &[u8] {
        &self.bytes[span.range()]
    }

    pub fn text(&self, span: Span) -> Option<&str> {
        std::str::from_utf8(self.bytes(span)).ok()
    }

    /// What a value is, for messages.
    pub fn kind(&self, value: Value) -> &'static str {
        match value {
            Value::None => "None",
            Value::Bool(_) => "a truth value",
            Value::Int(_) | Value::LongInt(_) => "a number",
            Value::Text(_) => "a string",
            Value::Global(_) => "a function or class",
            Value::Other => "a number or bytes",
            Value::Object(_) => match self.object(value) {
                Some(Object::Tuple(_)) => "a tuple",
                Some(Object::List(_)) => "a list",
                Some(Object::Dict(_)) => "a dictionary",
                Some(Object::Storage(_)) => "a storage without a tensor",
                Some(Object::Tensor(_)) => "a tensor",
                None => "nothing",
            },
        }
    }
}
