//! Rows in memory, with their columns as they came.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Float32Array, LargeStringArray, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema};

/// Rows of one file.
pub enum Rows {
    /// Columns of Arrow types.
    Table(RecordBatch),
    /// Objects of JSON Lines. Numbers and the order of fields stay as they are in the file.
    Json(Vec<JsonRow>),
}

/// An object of JSON Lines.
pub struct JsonRow {
    /// The object, without white space around it.
    pub object: String,
    /// Its text; `None` for null.
    pub text: Option<String>,
}

/// A row that could not be read.
#[derive(Debug, Clone, serde::Serialize)]
pub struct BadRow {
    /// The file.
    pub file: String,
    /// Number of the row in its file, from 1.
    pub row: u64,
    /// What is wrong.
    pub reason: String,
    /// The row as it stands in the file; bytes that are not UTF-8 are replaced.
    pub content: String,
}

/// A column that is added.
pub enum Column {
    Text(String, Vec<Option<String>>),
    Number(String, Vec<Option<f32>>),
}

impl Rows {
    pub fn len(&self) -> usize {
        match self {
            Self::Table(batch) => batch.num_rows(),
            Self::Json(rows) => rows.len(),
        }
    }

    /// The texts of a column, null as `None`. The reader has checked the column.
    pub fn texts(&self, column: &str) -> Vec<Option<String>> {
        match self {
            Self::Json(rows) => rows.iter().map(|row| row.text.clone()).collect(),
            Self::Table(batch) => {
                let array = as_text(&batch[column]);
                array.iter().map(|text| text.map(str::to_owned)).collect()
            }
        }
    }

    /// Adds columns after the others.
    pub fn with_columns(self, columns: Vec<Column>) -> Self {
        match self {
            Self::Table(batch) => {
                let mut fields: Vec<Arc<Field>> = batch.schema().fields().iter().cloned().collect();
                let mut arrays: Vec<ArrayRef> = batch.columns().to_vec();
                for column in columns {
                    let (name, array): (String, ArrayRef) = match column {
                        Column::Text(name, values) => (name, Arc::new(StringArray::from(values))),
                        Column::Number(name, values) => (name, Arc::new(Float32Array::from(values))),
                    };
                    fields.push(Arc::new(Field::new(name, array.data_type().clone(), true)));
                    arrays.push(array);
                }
                let schema = Schema::new_with_metadata(fields, batch.schema().metadata().clone());
                let wider = RecordBatch::try_new(Arc::new(schema), arrays);
                Self::Table(wider.expect("every new column has a value for each row"))
            }
            Self::Json(rows) => {
                let mut columns = columns;
                let add = |(index, mut row): (usize, JsonRow)| {
                    row.object.pop(); // the closing brace
                    for column in &mut columns {
                        if !row.object.trim_end().ends_with('{') {
                            row.object.push(',');
                        }
                        let (name, value) = match column {
                            Column::Text(name, values) => (name, serde_json::json!(values[index].take())),
                            Column::Number(name, values) => (name, serde_json::json!(values[index])),
                        };
                        row.object.push_str(&format!("{}:{value}", serde_json::json!(name)));
                    }
                    row.object.push('}');
                    row
                };
                Self::Json(rows.into_iter().enumerate().map(add).collect())
            }
        }
    }
}

/// Whether a type holds text, perhaps in a dictionary. A file whose texts are all null may have the type of nothing else.
pub fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

/// An array of texts, whatever its layout is. Large offsets hold every text; small ones would not.
fn as_text(array: &ArrayRef) -> LargeStringArray {
    let array = cast(array, &DataType::LargeUtf8).expect("a layout of text, as `is_text` knows them");
    array.as_string::<i64>().clone()
}
