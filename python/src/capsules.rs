//! Arrow's C data interface through Python's capsules: arrays come and go without a copy.
//! <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>

#![expect(unsafe_code, reason = "the interface is pointers")]

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{Array, ArrayReader, ArrayRef, RecordBatchReader, make_array};
use arrow_schema::{ArrowError as LibraryError, Field, FieldRef};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};

use crate::errors::{ArrowError, OrRaise};

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// Schema and array capsules.
pub type ArrayCapsules<'py> = (Bound<'py, PyCapsule>, Bound<'py, PyCapsule>);

/// What an object with Arrow's methods holds.
pub enum Arrow {
    /// An array, with its type and the metadata of its schema.
    Array(ArrayRef, FieldRef),
    /// The chunks of a column or of a table, with the type of each and the metadata of their schema.
    Chunks(Vec<ArrayRef>, FieldRef),
}

/// Takes an object's array or stream. Offsets and UTF-8 are checked.
pub fn import(object: &Bound<'_, PyAny>) -> PyResult<Arrow> {
    if object.hasattr("__arrow_c_array__")? {
        let capsules = object.call_method0("__arrow_c_array__")?;
        let (schema, array): ArrayCapsules<'_> = capsules.extract()?;
        let (array, field) = take_array(&schema, &array)?;
        return Ok(Arrow::Array(array, field));
    }
    if object.hasattr("__arrow_c_stream__")? {
        let stream = object.call_method0("__arrow_c_stream__")?;
        let mut reader = take_stream(stream.cast::<PyCapsule>()?)?;
        let field = reader.field().clone();
        let chunks: Result<Vec<ArrayRef>, LibraryError> = reader.by_ref().map(checked).collect();
        return Ok(Arrow::Chunks(chunks.or_raise()?, field));
    }
    Err(PyTypeError::new_err(format!(
        "{} is no Arrow data; pass an object with __arrow_c_array__ or __arrow_c_stream__, such as an array, \
         a batch or a table of pyarrow, or a series or a frame of polars",
        object.get_type().name()?
    )))
}

fn take_array(schema: &Bound<'_, PyCapsule>, array: &Bound<'_, PyCapsule>) -> PyResult<(ArrayRef, FieldRef)> {
    let (schema, array) = (schema.pointer_checked(Some(SCHEMA))?, array.pointer_checked(Some(ARRAY))?);
    // SAFETY: capsules of these names hold these structs. `from_raw` moves a struct out and marks the capsule's as released, so that
    // the capsule frees nothing.
    let (schema, array) = unsafe {
        (FFI_ArrowSchema::from_raw(schema.as_ptr().cast()), FFI_ArrowArray::from_raw(array.as_ptr().cast()))
    };
    if schema.release().is_none() || array.is_released() {
        return Err(ArrowError::new_err("the data has been taken already; capsules of Arrow are used once"));
    }
    let field = Field::try_from(&schema).or_raise()?;
    // SAFETY: the producer vouches for its pointers; what they point to is checked
    let array = checked(unsafe { from_ffi(array, &schema) }.map(make_array)).or_raise()?;
    Ok((array, Arc::new(field)))
}

fn take_stream(stream: &Bound<'_, PyCapsule>) -> PyResult<ArrayStreamReader> {
    let stream = stream.pointer_checked(Some(STREAM))?;
    // SAFETY: as above
    unsafe { ArrayStreamReader::from_raw(stream.as_ptr().cast::<FFI_ArrowArrayStream>()) }.or_raise()
}

fn checked(array: Result<ArrayRef, LibraryError>) -> Result<ArrayRef, LibraryError> {
    let array = array?;
    array.to_data().validate_full()?;
    Ok(array)
}

/// Schema and array of an array, for another library.
pub fn export<'py>(py: Python<'py>, array: &dyn Array, field: &Field) -> PyResult<ArrayCapsules<'py>> {
    let (array, _) = to_ffi(&array.to_data()).or_raise()?;
    Ok((export_schema(py, field)?, PyCapsule::new_with_value(py, array, ARRAY)?))
}

/// The schema of a field, for another library.
pub fn export_schema<'py>(py: Python<'py>, field: &Field) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowSchema::try_from(field).or_raise()?, SCHEMA)
}

/// A stream of batches, for another library.
pub fn export_stream<'py>(
    py: Python<'py>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
}
