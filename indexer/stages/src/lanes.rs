//! Lanes with types: a stage declares each lane once, emits keys and values, and reads back what it emitted. Bytes are
//! the drivers' business.

use std::marker::PhantomData;

use cairn_tables::{DecodeError, KeyCodec, Table, ValueCodec, codec::Input};

use crate::deltas::{Delta, Lane, Merge, Spread};

impl Lane {
    /// A lane of rows of a table, which are put.
    #[must_use]
    pub const fn put<T: Table>(spread: Spread) -> Self {
        Lane::rows::<T>(spread, Merge::Put)
    }

    /// A lane of sums of a table, which are added up.
    #[must_use]
    pub const fn add<T: Table>(spread: Spread) -> Self {
        Lane::rows::<T>(spread, Merge::Add)
    }

    const fn rows<T: Table>(spread: Spread, merge: Merge) -> Self {
        // Every key is its own group.
        Lane { name: T::NAME, group_len: usize::MAX, spread, merge, families: const { &[T::FAMILY] } }
    }
}

/// A lane of the rows of a table, by its place among the lanes of a stage.
pub struct RowLane<T>(usize, PhantomData<fn() -> T>);

impl<T: Table> RowLane<T> {
    /// The lane that has the table's name. To be used in constants: a stage without such a lane does not compile.
    ///
    /// # Panics
    /// There is none.
    #[must_use]
    pub const fn of(lanes: &[Lane]) -> Self {
        RowLane(place(lanes, T::NAME), PhantomData)
    }
}

/// A lane of deltas, by its place among the lanes of a stage.
pub struct DeltaLane<K, V>(usize, &'static str, PhantomData<fn() -> (K, V)>);

impl<K: KeyCodec, V: ValueCodec> DeltaLane<K, V> {
    /// The lane of that name. To be used in constants: a stage without such a lane does not compile.
    ///
    /// # Panics
    /// There is none.
    #[must_use]
    pub const fn of(lanes: &[Lane], name: &'static str) -> Self {
        DeltaLane(place(lanes, name), name, PhantomData)
    }

    /// Reads a delta.
    pub fn read(&self, delta: &Delta<'_>) -> Result<(K, V), DecodeError> {
        let (mut key, mut value) = (Input::new(self.1, delta.key), Input::new(self.1, delta.value));
        let read = (K::decode(&mut key)?, V::decode(&mut value)?);
        key.finish()?;
        value.finish()?;
        Ok(read)
    }

    /// Reads the value of a delta, for callers that read its key by other means.
    pub fn read_value(&self, delta: &Delta<'_>) -> Result<V, DecodeError> {
        let mut value = Input::new(self.1, delta.value);
        let read = V::decode(&mut value)?;
        value.finish()?;
        Ok(read)
    }
}

const fn place(lanes: &[Lane], name: &str) -> usize {
    let (mut at, name) = (0, name.as_bytes());
    while at < lanes.len() {
        let (other, mut byte) = (lanes[at].name.as_bytes(), 0);
        while byte < other.len() && byte < name.len() && other[byte] == name[byte] {
            byte += 1;
        }
        if byte == other.len() && byte == name.len() {
            return at;
        }
        at += 1;
    }
    panic!("no lane of that name")
}

/// Takes the deltas of a map: lane, key, value.
pub type Sink<'s> = dyn FnMut(usize, &[u8], &[u8]) + 's;

/// Memory of an emitter, for the next one.
#[derive(Default)]
pub struct EmitterMemory {
    key: Vec<u8>,
    value: Vec<u8>,
}

/// Writes keys and values into lanes.
pub struct Emitter<'s, 'f> {
    sink: &'s mut Sink<'f>,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl<'s, 'f> Emitter<'s, 'f> {
    /// Emits into a sink.
    pub fn new(sink: &'s mut Sink<'f>) -> Self {
        Emitter::reusing(sink, EmitterMemory::default())
    }

    /// Emits into a sink, with the memory of an earlier emitter: for callers that make one for each group.
    pub fn reusing(sink: &'s mut Sink<'f>, memory: EmitterMemory) -> Self {
        Emitter { sink, key: memory.key, value: memory.value }
    }

    /// Its memory, when it is done.
    #[must_use]
    pub fn into_memory(self) -> EmitterMemory {
        EmitterMemory { key: self.key, value: self.value }
    }

    /// A row, or with [`Merge::Add`] what is added to it.
    pub fn row<T: Table>(&mut self, lane: &RowLane<T>, key: &T::Key, value: &T::Value) {
        self.row_bytes(lane, key, |out| value.encode(out));
    }

    /// A row whose value is encoded by `value`.
    pub fn row_bytes<T: Table>(&mut self, lane: &RowLane<T>, key: &T::Key, value: impl FnOnce(&mut Vec<u8>)) {
        self.key.clear();
        self.value.clear();
        self.key.extend(T::TAG);
        key.encode(&mut self.key);
        value(&mut self.value);
        (self.sink)(lane.0, &self.key, &self.value);
    }

    /// A delta.
    pub fn delta<K: KeyCodec, V: ValueCodec>(&mut self, lane: &DeltaLane<K, V>, key: &K, value: &V) {
        self.key.clear();
        self.value.clear();
        key.encode(&mut self.key);
        value.encode(&mut self.value);
        (self.sink)(lane.0, &self.key, &self.value);
    }
}
