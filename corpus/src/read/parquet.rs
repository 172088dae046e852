//! Record batches of Parquet.

use std::fs::File;
use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType, Schema};
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::basic::Compression;
use parquet::file::metadata::ParquetMetaData;

use super::{CHUNK_BYTES, Chunk, Source, Total, Wanted, check_columns, chunk_rows};
use crate::error::CorpusError;
use crate::rows::Rows;

/// Keys under which Spark, Avro and Iceberg list the columns of a file. They would not see the new column, so the keys are left out.
const LISTS_OF_COLUMNS: [&str; 4] =
    ["org.apache.spark.sql.parquet.row.metadata", "parquet.avro.schema", "avro.schema", "iceberg.schema"];

/// Opens a file after its first `skip` rows.
pub fn open(name: String, file: File, wanted: &Wanted<'_>, skip: u64) -> Result<Source, CorpusError> {
    let refused = |problem: String| CorpusError::Parquet { file: name.clone(), problem };
    let builder =
        ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| refused(error.to_string()))?;
    check_columns(&name, builder.schema(), wanted)?;
    check_compression(&name, builder.metadata())?;
    let mut schema = Schema::clone(builder.schema());
    schema.metadata.retain(|key, _| !LISTS_OF_COLUMNS.contains(&&**key));
    let schema = Arc::new(schema);
    let all = u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or_default();
    let offset = usize::try_from(skip).unwrap_or(usize::MAX);
    let most = batch_rows(builder.metadata(), wanted);
    let reader = builder.with_batch_size(most).with_offset(offset).build();
    let reader = reader.map_err(|error| refused(error.to_string()))?;
    // a file without rows has a part without rows, which keeps its columns
    let empty = (all == 0).then(|| RecordBatch::new_empty(Arc::clone(&schema)));
    let rows = Batches { file: name.clone(), reader, schema: Arc::clone(&schema), empty };
    Ok(Source {
        name,
        rows: Box::new(rows),
        next: None,
        total: Total::Rows { all, read: skip },
        schema: Some(schema),
    })
}

/// Refuses what this reader is built without, before anything is translated.
fn check_compression(file: &str, metadata: &ParquetMetaData) -> Result<(), CorpusError> {
    let columns = metadata.row_groups().iter().flat_map(|group| group.columns());
    for column in columns {
        let kind = column.compression();
        if matches!(kind, Compression::BROTLI(_) | Compression::LZO) {
            let name = column.column_path().string();
            let kind = kind.to_string();
            let kind = kind.split('(').next().unwrap_or_default();
            let problem = format!(
                "column {name:?} is compressed with {kind}, which cannot be read here; write the file again with zstd, snappy, gzip or lz4"
            );
            return Err(CorpusError::Convert { file: file.to_owned(), problem });
        }
    }
    Ok(())
}

/// Rows of a batch: fewer where rows are long. The file alone decides, so a resumed run cuts alike.
fn batch_rows(metadata: &ParquetMetaData, wanted: &Wanted<'_>) -> usize {
    let long = metadata.row_groups().iter().map(|group| group.total_byte_size() / group.num_rows().max(1));
    let bytes = usize::try_from(long.max().unwrap_or(0)).unwrap_or(0).max(1);
    chunk_rows(wanted).min(CHUNK_BYTES / bytes).max(1)
}

/// Record batches of a Parquet file.
struct Batches {
    file: String,
    reader: ParquetRecordBatchReader,
    /// With the metadata of the file, which the reader's batches lack.
    schema: Arc<Schema>,
    /// The only batch of a file without rows.
    empty: Option<RecordBatch>,
}

impl Batches {
    fn chunk(&self, batch: RecordBatch) -> Result<Chunk, ArrowError> {
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), batch.columns().to_vec())?;
        let sizes = batch.columns().iter().map(|column| size(&column.to_data()));
        let bytes = sizes.sum::<Result<usize, ArrowError>>()?;
        Ok(Chunk { rows: Rows::Table(batch), bad: Vec::new(), bytes })
    }
}

/// Bytes of values. The memory behind them would depend on where reading began.
fn size(data: &ArrayData) -> Result<usize, ArrowError> {
    match data.data_type() {
        // the length is the low half of a view's first eight bytes
        DataType::Utf8View | DataType::BinaryView => {
            let views = &data.buffer::<u128>(0)[..data.len()];
            Ok(views.iter().map(|view| size_of::<u128>() + *view as u32 as usize).sum())
        }
        _ if data.child_data().is_empty() => data.get_slice_memory_size(),
        _ => data
            .child_data()
            .iter()
            .try_fold(data.len() * size_of::<u64>(), |sum, child| Ok(sum + size(child)?)),
    }
}

impl Iterator for Batches {
    type Item = Result<Chunk, CorpusError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.empty.take().map(Ok).or_else(|| self.reader.next())?;
        let chunk = batch.and_then(|batch| self.chunk(batch));
        Some(chunk.map_err(|error| {
            let (file, mut problem) = (self.file.clone(), error.to_string());
            if problem.contains("UTF-8") {
                problem += "; a column of text has other bytes, so write it as binary, or repair it";
            }
            CorpusError::Parquet { file, problem }
        }))
    }
}
