//! What makes a table: a name, a column family, a key that sorts, a value.

use crate::codec::{DecodeError, Input};

/// A column family of the database. Small tables share one, told apart by a first byte, because every family costs a
/// file at each commit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Family {
    /// One row a block.
    Headers,
    /// Transactions, 64 to a row.
    BlockLog,
    /// What the inputs spend, beside `BlockLog`.
    Prevouts,
    /// txid prefix to number.
    TxNums,
    /// Who spent an output.
    Spenders,
    /// The coin set.
    Coins,
    /// The coin set by script.
    CoinsByScript,
    /// What happened to a script, 128 transactions to a row.
    History,
    /// Sums per script.
    Totals,
    /// Small tables, each behind its tag.
    Small,
    /// The mempool as it was last kept.
    Mempool,
}

/// How the rows of a family are compressed on disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compression {
    /// Long rows of hashes and packed numbers: compression would cost and save nothing.
    None,
    /// Short rows, or repeating keys or scripts.
    Lz4,
}

/// How the database should keep a family; the reason stands in the table's documentation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tuning {
    /// Uncompressed bytes of a data block.
    pub block_size: usize,
    /// Compression of data blocks.
    pub compression: Compression,
    /// Bits per key of the filter for point look-ups; 0 for none.
    pub filter_bits: u8,
    /// Bytes of the key that the filter covers; 0 for the whole key.
    pub filter_prefix: usize,
}

impl Family {
    /// All families, in the order in which they are opened.
    pub const ALL: [Family; 11] = [
        Family::Headers,
        Family::BlockLog,
        Family::Prevouts,
        Family::TxNums,
        Family::Spenders,
        Family::Coins,
        Family::CoinsByScript,
        Family::History,
        Family::Totals,
        Family::Small,
        Family::Mempool,
    ];

    /// Its name in the database.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Family::Headers => "headers",
            Family::BlockLog => "block_log",
            Family::Prevouts => "prevouts",
            Family::TxNums => "tx_nums",
            Family::Spenders => "spenders",
            Family::Coins => "coins",
            Family::CoinsByScript => "coins_by_script",
            Family::History => "history",
            Family::Totals => "totals",
            Family::Small => "small",
            Family::Mempool => "mempool",
        }
    }

    /// Whether only the writer reads it back. A reader in another process does without it: its table files are replaced
    /// with nearly every commit, and an index of before it had a place is still readable.
    #[must_use]
    pub fn is_writers_own(self) -> bool {
        matches!(self, Family::Mempool)
    }

    /// Its place in [`Family::ALL`].
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }

    /// How it is kept.
    #[must_use]
    pub fn tuning(self) -> Tuning {
        let plain = Tuning { block_size: 16 << 10, compression: Compression::None, filter_bits: 0, filter_prefix: 0 };
        // Beside a key RocksDB stores eight bytes that are the same in every row of a table file. Where rows are short,
        // LZ4 takes off a quarter for those alone, hashes or not.
        let short = Tuning { block_size: 4 << 10, compression: Compression::Lz4, ..plain };
        match self {
            // Read in runs by height and one by one; hashes do not compress.
            Family::Headers => Tuning { block_size: 4 << 10, ..plain },
            // Rows of some 10 KB, nearly all hashes and scripts; scripts repeat within a block, so LZ4 pays a little.
            Family::BlockLog => Tuning { block_size: 32 << 10, compression: Compression::Lz4, ..plain },
            Family::Prevouts => plain,
            // Asked for txids that do not exist as well: the filter on the 8 prefix bytes answers those from memory.
            Family::TxNums => Tuning { filter_bits: 10, filter_prefix: 8, ..short },
            // Unspent transactions have no row; the filter spares their look-up.
            Family::Spenders => Tuning { filter_bits: 10, ..short },
            // Each spend at the tip is a point look-up that hits, so a filter would only cost.
            Family::Coins => short,
            // Keys of one script share 9 bytes; restart intervals already drop them, LZ4 drops the rest.
            Family::CoinsByScript => Tuning { block_size: 8 << 10, ..short },
            Family::History => Tuning { block_size: 8 << 10, ..short },
            // Every output at the tip asks whether its script is known; new ones are the common case.
            Family::Totals => Tuning { filter_bits: 10, filter_prefix: 8, ..short },
            Family::Small => Tuning { block_size: 4 << 10, filter_bits: 10, ..plain },
            // Rows come and go within the hour: in a family of their own, so that compaction does not move anything else
            // with them. Written blindly and read back as a whole; scripts and coins' hashes repeat a little.
            Family::Mempool => Tuning { compression: Compression::Lz4, ..plain },
        }
    }
}

/// A key whose bytes sort as the key does.
pub trait KeyCodec: Sized {
    /// Appends the key's bytes.
    fn encode(&self, out: &mut Vec<u8>);
    /// Reads the key back.
    ///
    /// # Errors
    /// The bytes are not a key of this table.
    fn decode(bytes: &mut Input<'_>) -> Result<Self, DecodeError>;
}

/// A value.
pub trait ValueCodec: Sized {
    /// Appends the value's bytes.
    fn encode(&self, out: &mut Vec<u8>);
    /// Reads the value back.
    ///
    /// # Errors
    /// The bytes are not a value of this table.
    fn decode(bytes: &mut Input<'_>) -> Result<Self, DecodeError>;
}

/// A typed table.
pub trait Table {
    /// Name in the registry, on the command line and in documents.
    const NAME: &'static str;
    /// The family that holds it.
    const FAMILY: Family;
    /// First byte of its keys where the family is shared.
    const TAG: Option<u8> = None;
    /// Key type.
    type Key: KeyCodec;
    /// Value type.
    type Value: ValueCodec;

    /// Reads a key, tag included.
    ///
    /// # Errors
    /// The bytes are not a key of this table.
    fn decode_key(bytes: &[u8]) -> Result<Self::Key, DecodeError> {
        let mut input = Input::new(Self::NAME, bytes);
        if let Some(tag) = Self::TAG
            && input.byte()? != tag
        {
            return Err(input.error("tag"));
        }
        let key = Self::Key::decode(&mut input)?;
        input.finish()?;
        Ok(key)
    }

    /// Reads a value.
    ///
    /// # Errors
    /// The bytes are not a value of this table.
    fn decode_value(bytes: &[u8]) -> Result<Self::Value, DecodeError> {
        let mut input = Input::new(Self::NAME, bytes);
        let value = Self::Value::decode(&mut input)?;
        input.finish()?;
        Ok(value)
    }
}

/// The bytes of a key, tag included.
#[must_use]
pub fn encode_key<T: Table + ?Sized>(key: &T::Key) -> Vec<u8> {
    let mut out = Vec::with_capacity(20);
    out.extend(T::TAG);
    key.encode(&mut out);
    out
}

/// The bytes of a value.
#[must_use]
pub fn encode_value<T: Table + ?Sized>(value: &T::Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(32);
    value.encode(&mut out);
    out
}

/// What the command line and the checks need to know of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableInfo {
    /// Name.
    pub name: &'static str,
    /// The family that holds it.
    pub family: Family,
    /// First byte of its keys where the family is shared.
    pub tag: Option<u8>,
}

impl TableInfo {
    /// Of a table.
    #[must_use]
    pub const fn of<T: Table>() -> Self {
        TableInfo { name: T::NAME, family: T::FAMILY, tag: T::TAG }
    }
}
