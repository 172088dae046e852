//! The stack machine of pickles, protocols 2 to 5, as far as state dicts use it.
//!
//! Every operation takes time and memory in proportion to the bytes that it reads or the values that it moves. A limit of values
//! holds for the whole pickle, so that short operations that repeat long values end, too. Nothing is called, and nothing
//! recurses.

mod rebuild;

use std::collections::BTreeMap;

use super::globals::{Global, Rebuild};
use super::stream::{Span, Stream};
use super::value::{Object, Pickle, Storage, Value};
use crate::model::error::ModelError;

/// Maximum number of values. A state dict needs about 40 for each tensor.
const VALUES_LIMIT: usize = 1 << 20;
/// Newest protocol.
const PROTOCOL: u8 = 5;

pub struct Machine<'a> {
    stream: Stream<'a>,
    stack: Vec<Value>,
    /// Heights of the stack at the open marks.
    marks: Vec<usize>,
    memo: BTreeMap<u32, Value>,
    objects: Vec<Object>,
    /// Values so far, and copies of them.
    values: usize,
}

/// Runs a pickle to its end.
pub fn run(stream: Stream<'_>) -> Result<Pickle, ModelError> {
    let mut machine = Machine {
        stream,
        stack: Vec::new(),
        marks: Vec::new(),
        memo: BTreeMap::new(),
        objects: Vec::new(),
        values: 0,
    };
    while machine.step()? {}
    let root = machine.pop()?;
    let end = machine.stream.position();
    Ok(Pickle { bytes: machine.stream.into_bytes(), objects: machine.objects, root, end })
}

impl Machine<'_> {
    /// Runs one operation; `false` after the last.
    fn step(&mut self) -> Result<bool, ModelError> {
        let opcode = self.stream.byte()?;
        match opcode {
            b'.' => return Ok(false),
            b'}' => self.push_object(Object::Dict(Vec::new()))?,
            b']' => self.push_object(Object::List(Vec::new()))?,
            b')' => self.push_object(Object::Tuple(Vec::new()))?,
            b't' => {
                let items = self.pop_mark()?;
                self.push_object(Object::Tuple(items))?;
            }
            b'l' => {
                let items = self.pop_mark()?;
                self.push_object(Object::List(items))?;
            }
            b'd' => {
                let items = self.pop_mark()?;
                let pairs = self.pairs(items)?;
                self.push_object(Object::Dict(pairs))?;
            }
            0x85..=0x87 => {
                let items = self.pop_many(usize::from(opcode - 0x84))?;
                self.push_object(Object::Tuple(items))?;
            }
            b'(' | b'0' | b'1' | b'2' | 0x80 | 0x95 => self.housekeeping(opcode)?,
            b'q' | b'r' | 0x94 | b'h' | b'j' => self.memo(opcode)?,
            b'a' | b'e' | b's' | b'u' => self.append(opcode)?,
            b'c' | 0x93 => self.global(opcode)?,
            b'Q' => self.persistent()?,
            b'R' | 0x81 => self.reduce()?,
            b'b' => self.build()?,
            _ => {
                let value = self.plain(opcode)?;
                self.push(value)?;
            }
        }
        Ok(true)
    }

    /// Marks, duplicates, and remarks about the pickle itself.
    fn housekeeping(&mut self, opcode: u8) -> Result<(), ModelError> {
        match opcode {
            b'(' => {
                self.count(1)?;
                self.marks.push(self.stack.len());
            }
            b'0' => drop(self.pop()?),
            b'1' => drop(self.pop_mark()?),
            b'2' => {
                let top = self.top()?;
                self.push(top)?;
            }
            0x80 => {
                let protocol = self.stream.byte()?;
                if protocol > PROTOCOL {
                    let problem =
                        format!("its pickle has the protocol {protocol}; {PROTOCOL} is the newest known");
                    return Err(self.stream.invalid(problem));
                }
            }
            _ => drop(self.stream.array::<8>()?), // a frame's length
        }
        Ok(())
    }

    /// Numbers, texts and constants.
    fn plain(&mut self, opcode: u8) -> Result<Value, ModelError> {
        let stream = &mut self.stream;
        Ok(match opcode {
            b'N' => Value::None,
            0x88 => Value::Bool(true),
            0x89 => Value::Bool(false),
            b'J' => Value::Int(i32::from_le_bytes(stream.array()?).into()),
            b'K' => Value::Int(stream.byte()?.into()),
            b'M' => Value::Int(u16::from_le_bytes(stream.array()?).into()),
            0x8a => {
                let len = stream.byte()?;
                self.long(len.into())?
            }
            0x8b => {
                let len = u32::from_le_bytes(stream.array()?);
                self.long(len.into())?
            }
            b'G' => {
                stream.array::<8>()?;
                Value::Other
            }
            // strings, also Python 2's
            b'U' | 0x8c => {
                let len = stream.byte()?;
                Value::Text(stream.span(len.into())?)
            }
            b'T' | b'X' => {
                let len = u32::from_le_bytes(stream.array()?);
                Value::Text(stream.span(len.into())?)
            }
            0x8d => {
                let len = u64::from_le_bytes(stream.array()?);
                Value::Text(stream.span(len)?)
            }
            // bytes
            b'C' => {
                let len = stream.byte()?;
                stream.span(len.into())?;
                Value::Other
            }
            b'B' => {
                let len = u32::from_le_bytes(stream.array()?);
                stream.span(len.into())?;
                Value::Other
            }
            0x8e | 0x96 => {
                let len = u64::from_le_bytes(stream.array()?);
                stream.span(len)?;
                Value::Other
            }
            b'i' => {
                let [module, name] = [stream.line()?, stream.line()?];
                return Err(self.unknown(module, name));
            }
            _ => {
                let problem =
                    format!("its pickle has the operation {opcode:#04x}, which no state dict needs");
                return Err(stream.invalid(problem));
            }
        })
    }

    /// A whole number of `len` bytes, little-endian in two's complement.
    fn long(&mut self, len: u64) -> Result<Value, ModelError> {
        let span = self.stream.span(len)?;
        let bytes = self.stream.bytes(span);
        if bytes.len() > 8 {
            return Ok(Value::LongInt(span));
        }
        let sign = if bytes.last().is_some_and(|byte| byte & 0x80 != 0) { 0xff } else { 0 };
        let mut whole = [sign; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        Ok(Value::Int(i64::from_le_bytes(whole)))
    }

    fn memo(&mut self, opcode: u8) -> Result<(), ModelError> {
        let index = match opcode {
            b'q' | b'h' => self.stream.byte()?.into(),
            0x94 => self.memo.len() as u32,
            _ => u32::from_le_bytes(self.stream.array()?),
        };
        if matches!(opcode, b'h' | b'j') {
            let Some(&value) = self.memo.get(&index) else {
                return Err(self
                    .stream
                    .invalid(format!("its pickle uses the value {index} before it is there")));
            };
            return self.push(value);
        }
        let top = self.top()?;
        self.count(1)?;
        self.memo.insert(index, top);
        Ok(())
    }

    /// Adds values to a list, or pairs to a dictionary.
    fn append(&mut self, opcode: u8) -> Result<(), ModelError> {
        let items = match opcode {
            b'a' => self.pop_many(1)?,
            b's' => self.pop_many(2)?,
            _ => self.pop_mark()?,
        };
        if matches!(opcode, b's' | b'u') {
            let pairs = self.pairs(items)?;
            let target = self.top()?;
            return match self.object_mut(target) {
                Some(Object::Dict(all)) => {
                    all.extend(pairs);
                    Ok(())
                }
                _ => Err(self.stream.invalid("its pickle sets entries of a value that is no dictionary")),
            };
        }
        let target = self.top()?;
        match self.object_mut(target) {
            Some(Object::List(all)) => {
                all.extend(items);
                Ok(())
            }
            _ => Err(self.stream.invalid("its pickle appends to a value that is no list")),
        }
    }

    fn pairs(&self, items: Vec<Value>) -> Result<Vec<(Value, Value)>, ModelError> {
        match items.as_chunks() {
            (pairs, []) => Ok(pairs.iter().map(|&[key, value]| (key, value)).collect()),
            _ => Err(self.stream.invalid("its pickle has a key without a value")),
        }
    }

    fn global(&mut self, opcode: u8) -> Result<(), ModelError> {
        let [module, name] = match opcode {
            b'c' => [self.stream.line()?, self.stream.line()?],
            _ => match self.pop_many(2)?[..] {
                [Value::Text(module), Value::Text(name)] => [module, name],
                _ => return Err(self.stream.invalid("its pickle names a function that is no text")),
            },
        };
        let text = |span| std::str::from_utf8(self.stream.bytes(span)).ok();
        let known = text(module).zip(text(name)).and_then(|(module, name)| Global::find(module, name));
        match known {
            Some(global) => self.push(Value::Global(global)),
            None => Err(self.unknown(module, name)),
        }
    }

    fn unknown(&self, module: Span, name: Span) -> ModelError {
        /// Longest name in the message, characters.
        const SHOWN: usize = 80;
        let text = |span| String::from_utf8_lossy(self.stream.bytes(span)).into_owned();
        let full = format!("{}.{}", text(module), text(name));
        let global = match full.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}…", &full[..end]),
            None => full,
        };
        ModelError::UnknownGlobal { file: self.stream.file().label().to_owned(), global }
    }

    /// Replaces `("storage", type, key, device, number of elements)` by the storage.
    fn persistent(&mut self) -> Result<(), ModelError> {
        let id = self.pop()?;
        let storage = match self.items(id) {
            Some(
                &[
                    Value::Text(kind),
                    Value::Global(Global::Storage(dtype)),
                    Value::Text(key),
                    _,
                    Value::Int(count),
                    ref rest @ ..,
                ],
            ) if self.stream.bytes(kind) == b"storage" && count >= 0 => {
                if !matches!(rest, [] | [Value::None]) {
                    let problem =
                        "it has views of storages, which PyTorch stopped to write before version 0.4";
                    return Err(self.stream.invalid(problem));
                }
                Storage { key, dtype, count: count.unsigned_abs() }
            }
            _ => {
                return Err(self
                    .stream
                    .invalid("its pickle refers to something else than a storage of numbers"));
            }
        };
        self.push_object(Object::Storage(storage))
    }

    /// Makes the value that a call of a known name would give.
    fn reduce(&mut self) -> Result<(), ModelError> {
        let (arguments, function) = (self.pop()?, self.pop()?);
        let Some(arguments) = self.items(arguments).map(<[Value]>::to_vec) else {
            return Err(self.stream.invalid("its pickle calls a function without a tuple of arguments"));
        };
        self.count(arguments.len())?;
        match function {
            Value::Global(Global::OrderedDict) => self.ordered_dict(&arguments),
            Value::Global(Global::Rebuild(Rebuild::FromType)) => match arguments[..] {
                [Value::Global(Global::Rebuild(rebuild)), Value::Global(Global::TensorClass), inner, _]
                    if rebuild != Rebuild::FromType =>
                {
                    let Some(inner) = self.items(inner).map(<[Value]>::to_vec) else {
                        return Err(self.wrong_arguments());
                    };
                    self.rebuild(rebuild, &inner)
                }
                _ => Err(self.wrong_arguments()),
            },
            Value::Global(Global::Rebuild(rebuild)) => self.rebuild(rebuild, &arguments),
            Value::Global(Global::Size) => match arguments[..] {
                [sizes] if self.items(sizes).is_some() => self.push(sizes),
                _ => Err(self.wrong_arguments()),
            },
            Value::Global(Global::Ignored) => self.push(Value::Other),
            _ => Err(self.stream.invalid("its pickle calls a value that is no function of PyTorch's files")),
        }
    }

    /// `OrderedDict()`, or Python 2's `OrderedDict([[key, value], …])`.
    fn ordered_dict(&mut self, arguments: &[Value]) -> Result<(), ModelError> {
        let pairs = match *arguments {
            [] => Vec::new(),
            [list] => {
                let items = self.items(list).ok_or_else(|| self.wrong_arguments())?;
                let pair = |&item: &Value| match self.items(item) {
                    Some(&[key, value]) => Ok((key, value)),
                    _ => Err(self.wrong_arguments()),
                };
                items.iter().map(pair).collect::<Result<Vec<_>, _>>()?
            }
            _ => return Err(self.wrong_arguments()),
        };
        self.count(2 * pairs.len())?;
        self.push_object(Object::Dict(pairs))
    }

    /// Ignores the attributes of a dictionary (a state dict's versions of modules) or a tensor.
    fn build(&mut self) -> Result<(), ModelError> {
        self.pop()?;
        let target = self.top()?;
        match self.object_mut(target) {
            Some(Object::Dict(_)) => Ok(()),
            _ => Err(self.stream.invalid("its pickle sets the state of a value that has none")),
        }
    }

    /// The items of a tuple or a list.
    fn items(&self, value: Value) -> Option<&[Value]> {
        let Value::Object(index) = value else { return None };
        match &self.objects[index as usize] {
            Object::Tuple(items) | Object::List(items) => Some(items),
            _ => None,
        }
    }

    fn object_mut(&mut self, value: Value) -> Option<&mut Object> {
        let Value::Object(index) = value else { return None };
        self.objects.get_mut(index as usize)
    }

    fn wrong_arguments(&self) -> ModelError {
        self.stream.invalid("its pickle calls a function with other arguments than PyTorch writes")
    }

    fn push(&mut self, value: Value) -> Result<(), ModelError> {
        self.count(1)?;
        self.stack.push(value);
        Ok(())
    }

    fn push_object(&mut self, object: Object) -> Result<(), ModelError> {
        self.count(1)?;
        let index = self.objects.len() as u32;
        self.objects.push(object);
        self.push(Value::Object(index))
    }

    fn count(&mut self, values: usize) -> Result<(), ModelError> {
        self.values += values;
        match self.values <= VALUES_LIMIT {
            true => Ok(()),
            false => {
                let problem =
                    format!("its pickle has more than {VALUES_LIMIT} values, more than a state dict needs");
                Err(self.stream.invalid(problem))
            }
        }
    }

    fn too_few(&self) -> ModelError {
        self.stream.invalid("its pickle takes a value where there is none")
    }

    fn top(&self) -> Result<Value, ModelError> {
        match self.stack.last() {
            Some(&value) if self.stack.len() > self.floor() => Ok(value),
            _ => Err(self.too_few()),
        }
    }

    fn pop(&mut self) -> Result<Value, ModelError> {
        let top = self.top()?;
        self.stack.pop();
        Ok(top)
    }

    fn pop_many(&mut self, count: usize) -> Result<Vec<Value>, ModelError> {
        let start = self.stack.len().checked_sub(count).filter(|&start| start >= self.floor());
        let start = start.ok_or_else(|| self.too_few())?;
        Ok(self.stack.split_off(start))
    }

    /// The values above the last mark, which is removed.
    fn pop_mark(&mut self) -> Result<Vec<Value>, ModelError> {
        match self.marks.pop() {
            Some(start) => Ok(self.stack.split_off(start)),
            None => Err(self.stream.invalid("its pickle closes a mark that is not open")),
        }
    }

    /// Height of the stack below which no operation reaches: the last mark.
    fn floor(&self) -> usize {
        self.marks.last().copied().unwrap_or(0)
    }
}
