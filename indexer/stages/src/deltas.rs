//! Data that stages and drivers exchange: lanes of deltas, rows, errors.

use cairn_tables::{DecodeError, Family, sums::SumOverflow};

/// How the keys of a lane are spread, so that bulk indexing can cut them into ranges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spread {
    /// Keys rise with the chain: rows are written as they come.
    Ascending,
    /// Keys begin with a hash.
    Hash {
        /// Bytes in front of it: 1 for the tag of a shared family.
        skip: usize,
    },
    /// Keys begin with a transaction number.
    TxNum,
    /// There are few keys, so that they need no ranges.
    Few,
    /// A listener emits them in ascending order, as it hears: rows are written as they come.
    Heard,
}

/// How deltas become rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Merge {
    /// A delta is the row's value; undoing deletes the row. So no key may come twice on a chain.
    Put,
    /// Deltas and rows are [`Sums`](cairn_tables::sums::Sums): deltas of a key are added up, as early as they meet;
    /// undoing takes them off. A row of zeros does not exist.
    Add,
    /// [`Stage::fold`] decides.
    Fold,
    /// Groups depend on those before them: [`Stage::fold_ordered`] and, for the whole chain, [`Stage::fold_sequence`]
    /// take them in ascending order, those of a disconnected block in descending order. They may emit into the lanes
    /// behind it.
    Ordered,
    /// As [`Merge::Fold`], for rows of coins: a coin that is made emits [`COIN_MADE`] and its row, the same coin spent
    /// [`COIN_SPENT`] and the same row, and both together leave nothing. Bulk indexing knows which coins are spent in
    /// the end and passes over both deltas.
    Coin {
        /// Where in the key the coin's outpoint lies: TxNum (5) ‖ vout (4).
        outpoint: usize,
    },
}

/// First byte of the delta of a coin that is made; see [`Merge::Coin`].
pub const COIN_MADE: u8 = 1;
/// First byte of the delta of a coin that is spent.
pub const COIN_SPENT: u8 = 2;

/// A stream of deltas that are sorted and folded together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lane {
    /// Name, unique among all lanes: files of bulk indexing carry it.
    pub name: &'static str,
    /// Leading bytes of the key that make a group.
    pub group_len: usize,
    /// How its keys are spread.
    pub spread: Spread,
    /// How its deltas become rows.
    pub merge: Merge,
    /// The families it writes; with [`Merge::Put`] and [`Merge::Add`] exactly one.
    pub families: &'static [Family],
}

/// A delta of a group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Delta<'a> {
    /// The whole key.
    pub key: &'a [u8],
    /// The value that the stage emitted with it.
    pub value: &'a [u8],
}

/// Forward when a block is connected, back when it is disconnected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FoldDirection {
    /// Connect.
    Forward,
    /// Disconnect: the fold takes out what the same deltas put in.
    Back,
}

/// Reading what the stage's tables hold failed.
pub type PriorError = Box<dyn std::error::Error + Send + Sync>;

/// Reads rows of the stage's own tables, as they are before the deltas.
pub trait Prior {
    /// One row's value.
    fn get(&self, family: Family, key: &[u8]) -> Result<Option<Vec<u8>>, PriorError>;
}

/// Nothing: bulk indexing starts from empty tables.
pub struct NoPrior;

impl Prior for NoPrior {
    fn get(&self, _: Family, _: &[u8]) -> Result<Option<Vec<u8>>, PriorError> {
        Ok(None)
    }
}

/// Takes the rows that a fold makes. Within one lane, each family's rows come in ascending order of keys as long as the
/// groups do.
pub trait Rows {
    /// Writes a row.
    fn put(&mut self, family: Family, key: &[u8], value: &[u8]) -> Result<(), StageError>;

    /// Deletes a row.
    ///
    /// # Errors
    /// Fails if the driver takes no deletions: in bulk nothing is there to delete, so the deltas contradict each other.
    fn delete(&mut self, family: Family, key: &[u8]) -> Result<(), StageError>;
}

/// A fold failed: the index and its input contradict each other, or cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// A row or delta is damaged.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// Rows or deltas are damaged: they add up to more than any chain can.
    #[error(transparent)]
    Sum(#[from] SumOverflow),
    /// The table could not be read.
    #[error("cannot read the table: {0}")]
    Prior(PriorError),
    /// A row could not be written.
    #[error("cannot write a row: {0}")]
    Write(PriorError),
    /// The deltas and the table contradict each other.
    #[error("{stage}: {what}")]
    Contradiction {
        /// The stage.
        stage: &'static str,
        /// The contradiction.
        what: &'static str,
    },
}
