//! Output of an operation: a JSON object, a file, or rows in the format that the request chose.

use std::{convert::Infallible, fmt, marker::PhantomData};

use cairn_work::Work;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::answers::{
    compact::{self, Selection},
    error::ApiError,
};

/// The media type of most answers.
pub const JSON: &str = "application/json";
/// The media type of answers in CSV.
pub const CSV: &str = "text/csv; charset=utf-8";
/// The media type of answers in Markdown.
pub const MARKDOWN: &str = "text/markdown; charset=utf-8";

/// The media type of pages.
pub const HTML: &str = "text/html; charset=utf-8";

/// Parts of a body, produced while it is sent.
pub type Parts = Box<dyn Iterator<Item = Vec<u8>> + Send>;

/// A serialized answer.
pub enum SerializedAnswer {
    /// The bytes of a JSON object; `_meta` is added to it.
    Json(Vec<u8>),
    /// A file, sent unchanged.
    File {
        /// Its media type.
        media_type: &'static str,
        /// Its bytes.
        bytes: Vec<u8>,
    },
    /// A body of unknown length, sent while it is produced.
    Stream {
        /// Its media type.
        media_type: &'static str,
        /// Its parts.
        parts: Parts,
    },
}

/// Output of an operation. Every type that serializes to an object implements it; so do [`File`] and [`Formatted`].
pub trait Output {
    /// Its media types, the default first.
    const MEDIA: &'static [&'static str];

    /// Schema of the JSON object; a schema of bytes for other output.
    fn schema(generator: &mut SchemaGenerator) -> Schema;

    /// Serializes it; of a JSON object only the selected fields.
    ///
    /// # Errors
    /// Fails if it cannot be written as JSON, or if it is too much work.
    fn write(self, selection: Selection<'_>, work: &Work) -> Result<SerializedAnswer, ApiError>;
}

impl<T: Serialize + JsonSchema> Output for T {
    const MEDIA: &'static [&'static str] = &[JSON];

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<T>()
    }

    fn write(self, selection: Selection<'_>, work: &Work) -> Result<SerializedAnswer, ApiError> {
        compact::to_vec(&self, selection, work).map(SerializedAnswer::Json)
    }
}

/// A media type.
pub trait Media {
    /// The media type.
    const TYPES: &'static [&'static str];
}

/// `image/png`.
pub struct Png;

impl Media for Png {
    const TYPES: &'static [&'static str] = &["image/png"];
}

/// A file of a media type.
pub struct File<M> {
    bytes: Vec<u8>,
    media: PhantomData<M>,
}

impl<M: Media> File<M> {
    /// A file of these bytes.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        File { bytes, media: PhantomData }
    }
}

impl<M: Media> Output for File<M> {
    const MEDIA: &'static [&'static str] = M::TYPES;

    fn schema(_: &mut SchemaGenerator) -> Schema {
        // In OpenAPI 3.1, binary bodies have no schema, only a media type.
        Schema::default()
    }

    fn write(self, _: Selection<'_>, work: &Work) -> Result<SerializedAnswer, ApiError> {
        work.answered(self.bytes.len())?;
        let media_type = M::TYPES.first().copied().unwrap_or("application/octet-stream");
        Ok(SerializedAnswer::File { media_type, bytes: self.bytes })
    }
}

/// The requested format of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// An object with `_meta`.
    #[default]
    Json,
    /// Rows after a header line (RFC 4180), streamed.
    Csv,
    /// A table for people to read.
    Markdown,
}

/// A column of a table: its name, and the cell of a row in it.
pub type Column<R> = (&'static str, fn(&R) -> String);

/// A row of a table, for tabular formats.
pub trait TableRow: Send + Sized + 'static {
    /// The columns, in order.
    const COLUMNS: &'static [Column<Self>];
}

/// Rows and column names, for tabular formats.
pub struct Table {
    columns: Vec<&'static str>,
    rows: Box<dyn Iterator<Item = Vec<String>> + Send>,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("columns", &self.columns).finish_non_exhaustive()
    }
}

impl Table {
    /// A table of these rows; their cells are made while the answer is sent.
    #[must_use]
    pub fn new<R: TableRow>(rows: impl IntoIterator<Item = R, IntoIter: Send + 'static>) -> Self {
        Table::with(R::COLUMNS, rows)
    }

    /// Like [`Table::new`], for rows that several sets of columns show.
    #[must_use]
    pub fn with<R>(columns: &'static [Column<R>], rows: impl IntoIterator<Item = R, IntoIter: Send + 'static>) -> Self {
        let cells = move |row: R| columns.iter().map(|(_, cell)| cell(&row)).collect();
        Table { columns: columns.iter().map(|(name, _)| *name).collect(), rows: Box::new(rows.into_iter().map(cells)) }
    }
}

impl Format {
    /// Answers in this format: with the JSON object, or with the table.
    pub fn answer<S, T, E>(
        self,
        source: S,
        object: impl FnOnce(S) -> Result<T, E>,
        table: impl FnOnce(S) -> Result<Table, E>,
    ) -> Result<Formatted<T>, E> {
        Ok(match self {
            Format::Json => Formatted::Json(object(source)?),
            Format::Csv => Formatted::Csv(table(source)?),
            Format::Markdown => Formatted::Markdown(table(source)?),
        })
    }

    /// Answers in this format: with the JSON object that has the rows, or with a table of them.
    pub fn rows<R: TableRow, T>(self, rows: Vec<R>, object: impl FnOnce(Vec<R>) -> T) -> Formatted<T> {
        let Ok(answer) = self.answer(rows, |rows| Ok::<T, Infallible>(object(rows)), |rows| Ok(Table::new(rows)));
        answer
    }
}

/// An answer in the format that the request chose.
#[derive(Debug)]
pub enum Formatted<T> {
    /// The object.
    Json(T),
    /// Its rows as CSV.
    Csv(Table),
    /// Its rows as a table in Markdown.
    Markdown(Table),
}

/// Rows per part of a stream.
const ROWS_PER_PART: usize = 256;

impl<T: Serialize + JsonSchema> Output for Formatted<T> {
    const MEDIA: &'static [&'static str] = &[JSON, CSV, MARKDOWN];

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<T>()
    }

    fn write(self, selection: Selection<'_>, work: &Work) -> Result<SerializedAnswer, ApiError> {
        Ok(match self {
            Formatted::Json(object) => return object.write(selection, work),
            Formatted::Csv(table) => SerializedAnswer::Stream { media_type: CSV, parts: lines(table, csv_line, None) },
            Formatted::Markdown(table) => {
                let rule = format!("|{}\n", " --- |".repeat(table.columns.len()));
                SerializedAnswer::Stream { media_type: MARKDOWN, parts: lines(table, markdown_line, Some(rule)) }
            }
        })
    }
}

/// The lines of a table, many per part.
fn lines(table: Table, line: fn(&mut String, &mut dyn Iterator<Item = &str>), rule: Option<String>) -> Parts {
    let Table { columns, mut rows } = table;
    let mut head = String::new();
    line(&mut head, &mut columns.into_iter());
    head.extend(rule);
    let body = std::iter::from_fn(move || {
        let mut part = String::new();
        for row in rows.by_ref().take(ROWS_PER_PART) {
            line(&mut part, &mut row.iter().map(String::as_str));
        }
        (!part.is_empty()).then(|| part.into_bytes())
    });
    Box::new(std::iter::once(head.into_bytes()).chain(body))
}

/// A line of CSV. A cell that a spreadsheet would treat as a formula gets a leading apostrophe; numbers do not.
fn csv_line(out: &mut String, cells: &mut dyn Iterator<Item = &str>) {
    for (at, cell) in cells.enumerate() {
        if at > 0 {
            out.push(',');
        }
        let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err();
        let quoted = is_formula || cell.contains([',', '"', '\n', '\r']);
        if quoted {
            out.push('"');
            if is_formula {
                out.push('\'');
            }
            out.push_str(&cell.replace('"', "\"\""));
            out.push('"');
        } else {
            out.push_str(cell);
        }
    }
    out.push_str("\r\n");
}

/// A row of a table in Markdown.
fn markdown_line(out: &mut String, cells: &mut dyn Iterator<Item = &str>) {
    out.push('|');
    for cell in cells {
        out.push(' ');
        for c in cell.chars() {
            match c {
                '\n' | '\r' => out.push(' '),
                // Texts of strangers make neither markup nor links.
                '\\' | '|' | '<' | '[' => out.extend(['\\', c]),
                c => out.push(c),
            }
        }
        out.push_str(" |");
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use cairn_work::Limits;

    use super::*;

    #[derive(Serialize, JsonSchema)]
    struct Nothing {}

    fn text(output: Formatted<Nothing>) -> (String, usize) {
        let SerializedAnswer::Stream { parts, .. } = output.write(Selection::All, &Work::within(Limits::NONE)).unwrap()
        else {
            panic!("no stream")
        };
        let parts: Vec<Vec<u8>> = parts.collect();
        (String::from_utf8(parts.concat()).unwrap(), parts.len())
    }

    impl TableRow for [&'static str; 2] {
        const COLUMNS: &'static [Column<Self>] = &[("a", |[a, _]| (*a).to_owned()), ("b", |[_, b]| (*b).to_owned())];
    }

    fn table(rows: Vec<[&'static str; 2]>) -> Table {
        Table::new(rows)
    }

    #[test]
    fn tables_become_csv() {
        let rows = vec![["1", "-2.5"], ["x,y", "say \"no\""], ["=1+1", "-x"], ["", "two\nlines"]];
        let (csv, parts) = text(Formatted::Csv(table(rows)));
        let expected = "a,b\r\n1,-2.5\r\n\"x,y\",\"say \"\"no\"\"\"\r\n\"'=1+1\",\"'-x\"\r\n,\"two\nlines\"\r\n";
        assert_eq!((csv.as_str(), parts), (expected, 2));
        assert_eq!(text(Formatted::Csv(table(Vec::new()))), ("a,b\r\n".to_owned(), 1));
    }

    #[test]
    fn tables_become_markdown() {
        let (markdown, _) = text(Formatted::Markdown(table(vec![["1", "a|b"], ["2", "c\nd"]])));
        assert_eq!(markdown, "| a | b |\n| --- | --- |\n| 1 | a\\|b |\n| 2 | c d |\n");
    }

    #[test]
    fn long_tables_come_in_parts() {
        let (csv, parts) = text(Formatted::Csv(table(vec![["1", "2"]; 600])));
        assert_eq!((csv.lines().count(), parts), (601, 4));
    }
}
