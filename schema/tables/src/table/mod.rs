//! The definition of a table: name, column family, sortable key, value.

mod family;

pub use self::family::{Compression, Family, Home, Tuning};
use self::family::{DECLARED, same};
use crate::{
    KeyCodec, ValueCodec,
    codec::{DecodeError, Input},
};

/// Origin of a table's rows. It determines if the rows are the same in all indexes of a chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// Blocks, folded by the stage of this name, which owns the table. The rows are the same in every index of the
    /// chain, and checksums cover them.
    Stage(&'static str),
    /// Blocks, folded by the late stage of this name out of the tables of others. The rows are the same in every index
    /// of the chain that it has followed as far, and checksums cover them.
    Late(&'static str),
    /// The index itself: versions, checkpoints, the folder of block files.
    Index,
    /// Observations of this index. No stage owns them, and rebuilding stages does not change them.
    Observations,
    /// Input events: what was imported. No stage owns them, nothing can rebuild them, and an index has its own.
    Events,
    /// A fold over the input events of this index: the same rows for the same events, in whatever order they came.
    FoldedEvents,
    /// Blocks and input events together: the same rows for the same chain and events, in whatever order they came. No
    /// stage owns them, and an index has its own.
    Joined,
}

/// A typed table.
pub trait Table {
    /// Name in the registry, on the command line and in documents.
    const NAME: &'static str;
    /// Its column family.
    const HOME: Home;
    /// Origin of its rows.
    const ORIGIN: Origin;
    /// Its column family, derived from [`Table::HOME`].
    const FAMILY: Family = Family::of(Self::NAME, Self::HOME);
    /// First byte of its keys in the shared family, derived from [`Table::HOME`].
    const TAG: Option<u8> = Self::HOME.tag();
    /// Key type.
    type Key: KeyCodec;
    /// Value type.
    type Value: ValueCodec;

    /// Reads a key, including the tag.
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

    /// True if a value may have an earlier form that is still read and rewritten in the current one. Every other value
    /// has only one form.
    fn is_earlier_form(_: &[u8]) -> bool {
        false
    }

    /// Reads a value.
    fn decode_value(bytes: &[u8]) -> Result<Self::Value, DecodeError> {
        let mut input = Input::new(Self::NAME, bytes);
        let value = Self::Value::decode(&mut input)?;
        input.finish()?;
        Ok(value)
    }
}

/// Declares a table: its name, its key and value, its column family, and the origin of its rows.
macro_rules! table {
    ($(#[$doc:meta])* $vis:vis struct $table:ident($name:literal: $key:ty => $value:ty) in $home:expr, from $origin:expr;) => {
        $(#[$doc])*
        $vis struct $table;

        impl $crate::Table for $table {
            const NAME: &'static str = $name;
            const HOME: $crate::Home = $home;
            const ORIGIN: $crate::Origin = $origin;
            type Key = $key;
            type Value = $value;
        }
    };
}
pub(crate) use table;

/// The bytes of a key, including the tag.
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

/// How many tables there are.
pub(crate) const COUNT: usize = DECLARED.len();

/// Metadata of a table for the command line and for checks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableInfo {
    /// Name.
    pub name: &'static str,
    /// Its column family.
    pub family: Family,
    /// First byte of its keys in the shared family.
    pub tag: Option<u8>,
    /// Origin of its rows.
    pub origin: Origin,
}

impl TableInfo {
    /// The metadata of a table.
    #[must_use]
    pub const fn of<T: Table>() -> Self {
        TableInfo { name: T::NAME, family: T::FAMILY, tag: T::TAG, origin: T::ORIGIN }
    }

    /// True if its checksum is the same in every index of a chain.
    #[must_use]
    pub const fn is_summed(&self) -> bool {
        matches!(self.origin, Origin::Stage(_) | Origin::Late(_))
    }

    /// True if the stage of this name owns it.
    #[must_use]
    pub const fn is_of(&self, stage: &str) -> bool {
        match self.origin {
            Origin::Stage(owner) | Origin::Late(owner) => same(owner, stage),
            Origin::Index | Origin::Observations | Origin::Events | Origin::FoldedEvents | Origin::Joined => false,
        }
    }
}
