//! Tables as JSON Lines, with what JSON has no place for: numbers that are none, and time zones.

use std::fmt::Debug;
use std::io::Write;
use std::sync::{Arc, LazyLock};

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, Float64Array, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_json::writer::{LineDelimited, NullableEncoder, WriterBuilder, make_encoder};
use arrow_json::{Encoder, EncoderFactory, EncoderOptions};
use arrow_schema::{ArrowError, DataType, FieldRef};

use super::convert::times;

/// Writes the rows of a table as objects, a line each.
pub fn write(writer: &mut impl Write, batch: &RecordBatch) -> Result<(), ArrowError> {
    let builder = WriterBuilder::new().with_explicit_nulls(true).with_encoder_factory(Arc::new(Whole));
    let mut json = builder.build::<_, LineDelimited>(writer);
    json.write(batch)?;
    json.finish()
}

/// Encoders for values that would be lost: by default, what is no finite number becomes null, and a time that has no text
/// becomes the text of an error.
#[derive(Debug)]
struct Whole;

impl EncoderFactory for Whole {
    fn make_default_encoder<'a>(
        &self,
        field: &'a FieldRef,
        array: &'a dyn Array,
        _: &'a EncoderOptions,
    ) -> Result<Option<NullableEncoder<'a>>, ArrowError> {
        let encoder: Box<dyn Encoder + 'a> = match array.data_type() {
            DataType::Float16 | DataType::Float32 | DataType::Float64 => {
                let values = cast(array, &DataType::Float64)?.as_primitive::<Float64Type>().clone();
                if values.iter().flatten().all(f64::is_finite) {
                    return Ok(None);
                }
                Box::new(Numbers { values, finite: make_encoder(field, array, &PLAIN)? })
            }
            kind if kind.is_temporal() => Box::new(Times(times(array)?)),
            _ => return Ok(None),
        };
        Ok(Some(NullableEncoder::new(encoder, array.nulls().cloned())))
    }
}

/// The options of an encoder that is not this module's.
static PLAIN: LazyLock<EncoderOptions> = LazyLock::new(EncoderOptions::default);

/// Numbers of which some are not finite. They are texts, as Protocol Buffers have them in JSON.
struct Numbers<'a> {
    values: Float64Array,
    finite: NullableEncoder<'a>,
}

impl Encoder for Numbers<'_> {
    fn encode(&mut self, row: usize, out: &mut Vec<u8>) {
        let value = self.values.value(row);
        let name: &[u8] = match value {
            _ if value.is_finite() => return self.finite.encode(row, out),
            _ if value.is_nan() => b"\"NaN\"",
            _ if value > 0.0 => b"\"Infinity\"",
            _ => b"\"-Infinity\"",
        };
        out.extend_from_slice(name);
    }
}

/// Times as texts, which have no sign that JSON escapes.
struct Times(StringArray);

impl Encoder for Times {
    fn encode(&mut self, row: usize, out: &mut Vec<u8>) {
        out.push(b'"');
        out.extend_from_slice(self.0.value(row).as_bytes());
        out.push(b'"');
    }
}
