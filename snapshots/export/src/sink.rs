//! A Parquet file that is being written. It has its name only once it is complete and on disk.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use arrow_schema::DataType;
use cairn_model::Height;
use cairn_store::files::{sync_folder_of, unfinished};
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, Encoding, ZstdLevel},
    file::{
        metadata::SortingColumn,
        properties::{EnabledStatistics, WriterProperties},
    },
    schema::types::ColumnPath,
};
use sha2::{Digest, Sha256};

use crate::{
    ExportError, FileEntry,
    columns::{Column, Kind},
    forms::Format,
    rows::Rows,
};

/// Most rows of a row group: parallel readers take one each.
const GROUP_ROWS: usize = 1 << 20;
/// Level of compression: the lowest. Higher ones take more time than they save space on these columns.
const LEVEL: i32 = 1;

/// Counts and hashes written bytes.
struct Hashed {
    file: BufWriter<File>,
    hash: Sha256,
    bytes: u64,
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hash.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Statistics of the rows of a file.
pub(crate) struct Shape {
    pub(crate) columns: &'static [Column],
    /// Columns that they are sorted by.
    pub(crate) sorted_by: &'static [&'static str],
}

/// A file that is being written.
pub(crate) struct Sink {
    /// Rows that are not encoded yet.
    pub(crate) rows: Rows,
    writer: ArrowWriter<Hashed>,
    /// The block that the rows are as of, if that is not the tip.
    pub(crate) as_of: Option<Height>,
    /// Facts that a reader needs about the rows.
    pub(crate) note: Option<String>,
    /// Bytes of encoded rows that are kept in memory at most.
    budget: usize,
    count: u64,
    path: PathBuf,
    unfinished: PathBuf,
}

impl Sink {
    /// Begins a file of these columns.
    pub(crate) fn begin(shape: &Shape, path: &Path, format: Format, budget: usize) -> Result<Self, ExportError> {
        let unfinished = unfinished(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(ExportError::at(folder))?;
        }
        let file = File::create(&unfinished).map_err(ExportError::at(&unfinished))?;
        let rows = Rows::new(shape.columns, format);
        let hashed = Hashed { file: BufWriter::with_capacity(1 << 18, file), hash: Sha256::new(), bytes: 0 };
        let properties = Some(properties(shape, format)?);
        let writer = ArrowWriter::try_new(hashed, Arc::clone(rows.schema()), properties)?;
        Ok(Sink { rows, writer, as_of: None, note: None, budget, count: 0, path: path.to_owned(), unfinished })
    }

    /// Encodes rows if there are enough, and ends the row group if it takes too much memory.
    pub(crate) fn settle(&mut self) -> Result<(), ExportError> {
        if self.rows.are_many() {
            self.encode()?;
        }
        Ok(())
    }

    fn encode(&mut self) -> Result<(), ExportError> {
        self.count += self.rows.len() as u64;
        let batch = self.rows.take()?;
        self.writer.write(&batch).map_err(|e| self.told(e))?;
        if self.writer.memory_size() > self.budget {
            self.writer.flush().map_err(|e| self.told(e))?;
        }
        Ok(())
    }

    /// Errors of the disk are reported with the path.
    fn told(&self, error: parquet::errors::ParquetError) -> ExportError {
        match error {
            parquet::errors::ParquetError::External(source) => match source.downcast::<io::Error>() {
                Ok(source) => ExportError::at(&self.unfinished)(*source),
                Err(source) => ExportError::Parquet(parquet::errors::ParquetError::External(source)),
            },
            other => ExportError::Parquet(other),
        }
    }

    /// Completes the file; `path` is how the manifest names it.
    pub(crate) fn finish(mut self, path: String) -> Result<FileEntry, ExportError> {
        self.encode()?;
        self.writer.finish().map_err(|e| self.told(e))?;
        let Sink { mut writer, count, path: finished, unfinished, as_of, note, .. } = self;
        let hashed = writer.inner_mut();
        hashed.file.flush().map_err(ExportError::at(&unfinished))?;
        hashed.file.get_ref().sync_all().map_err(ExportError::at(&unfinished))?;
        let (bytes, hash) = (hashed.bytes, std::mem::take(&mut hashed.hash));
        fs::rename(&unfinished, &finished).map_err(ExportError::at(&finished))?;
        sync_folder_of(&finished)?;
        Ok(FileEntry { path, rows: count, bytes, sha256: hex::encode(hash.finalize()), as_of_height: as_of, note })
    }
}

/// How columns are encoded. Hashes and ids of scripts do not compress, numbers of transactions are small distances; few
/// texts and rounded amounts repeat, which a dictionary shows.
fn properties(shape: &Shape, format: Format) -> Result<WriterProperties, ExportError> {
    let zstd = Compression::ZSTD(ZstdLevel::try_new(LEVEL)?);
    let mut made = WriterProperties::builder()
        .set_created_by(format!("cairn {}", env!("CARGO_PKG_VERSION")))
        .set_compression(zstd)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_dictionary_enabled(false);
    let mut sorting = Vec::new();
    for (at, column) in (0..).zip(shape.columns.iter().filter(|column| column.is_in(format))) {
        let name = column.name_in(format);
        let path = ColumnPath::from(name.clone());
        if shape.sorted_by.contains(&name.as_str()) {
            sorting.push(SortingColumn { column_idx: at, descending: false, nulls_first: true });
            made = made.set_column_statistics_enabled(path.clone(), EnabledStatistics::Page);
        }
        let is_text = column.type_in(format) == DataType::Utf8;
        made = match column.kind {
            Kind::Long => made.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
            Kind::Word | Kind::Int | Kind::Time | Kind::Day | Kind::Sats | Kind::Price | Kind::Text => {
                made.set_column_dictionary_enabled(path, true)
            }
            Kind::Bytes if !is_text => made.set_column_encoding(path, Encoding::DELTA_LENGTH_BYTE_ARRAY),
            Kind::Hash | Kind::ScriptId if !is_text => made.set_column_compression(path, Compression::UNCOMPRESSED),
            Kind::Hash | Kind::ScriptId | Kind::Bytes | Kind::Wide | Kind::Flag => made,
        };
    }
    Ok(made.set_sorting_columns(Some(sorting).filter(|sorting| !sorting.is_empty())).build())
}
