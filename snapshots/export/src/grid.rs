//! How rows that belong to blocks are divided into files.

use std::fmt;

use cairn_model::{BlockHash, Height, TxNum, date_of, day_of};
use cairn_reader::{ReadError, View};
use cairn_tables::headers::Headers;
use serde::{Deserialize, Serialize};

/// How rows that belong to blocks are divided into files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grid {
    /// Blocks per file. At least 1.
    Blocks(u32),
    /// The blocks of a day, by monotone block time (UTC).
    Days,
}

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Grid::Blocks(count) => write!(f, "{count} blocks"),
            Grid::Days => f.write_str("days"),
        }
    }
}

/// Blocks whose rows are in one file of each dataset.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Part {
    /// Its folder within that of a dataset, in Hive's layout: `from_height=…` or `on_day=…`.
    pub folder: String,
    /// Height of its first block.
    pub from: Height,
    /// Height of its last block.
    pub to: Height,
    /// Hash of its last block: another one means that a reorganization changed the part.
    pub hash: String,
    /// Number of its first transaction.
    #[serde(skip)]
    pub first_tx: TxNum,
    /// One past its last transaction.
    #[serde(skip)]
    pub tx_end: TxNum,
    /// Bytes of its blocks.
    #[serde(skip)]
    pub bytes: u64,
    /// Inputs of its transactions.
    #[serde(skip)]
    pub inputs: u64,
}

impl Part {
    /// True if another one has the same blocks.
    #[must_use]
    pub fn has_blocks_of(&self, other: &Part) -> bool {
        (self.from, self.to, &self.hash) == (other.from, other.to, &other.hash)
    }
}

/// The parts of a chain up to the tip of a view. Reads all headers.
pub(crate) fn parts(view: &View<'_>, grid: Grid) -> Result<Vec<Part>, ReadError> {
    let mut parts: Vec<Part> = Vec::new();
    let mut cell_of_last = None;
    for row in view.scan::<Headers>(None)? {
        let (height, row) = row?;
        if height > view.tip().height {
            break;
        }
        let (cell, folder) = match grid {
            Grid::Blocks(count) => {
                let from = height / count.max(1) * count.max(1);
                (from, format!("from_height={from}"))
            }
            Grid::Days => (day_of(row.mono_time), format!("on_day={}", date_of(row.mono_time))),
        };
        let (hash, first_tx): (BlockHash, TxNum) = (row.hash, row.first_tx);
        if cell_of_last != Some(cell) {
            cell_of_last = Some(cell);
            let (hash, tx_end) = (String::new(), first_tx);
            parts.push(Part { folder, from: height, to: height, hash, first_tx, tx_end, bytes: 0, inputs: 0 });
        }
        if let Some(part) = parts.last_mut() {
            (part.to, part.hash) = (height, hash.to_string());
            part.tx_end = TxNum(first_tx.0 + u64::from(row.tx_count));
            part.bytes += u64::from(row.size);
            part.inputs += u64::from(row.input_count);
        }
    }
    Ok(parts)
}
