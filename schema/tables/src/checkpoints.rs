//! The checkpoint of each stage.
//!
//! ```text
//! checkpoints  's' ‖ stage name → 0xff │ fields: tag │ length │ bytes, ascending tags
//!   1 version of the stage's tables
//!   2 height of the newest block that they contain
//!   3 its hash (32)
//!   4 sequence number of the newest input event that they contain; omitted if there is none
//!   5 dependencies of the stage: n × (length of the name │ name │ version), ascending names; omitted if there are none
//! ```
//!
//! Fields with other tags belong to later programs and are kept unchanged. In the earlier form, a row was version │
//! height │ hash, with numbers in bincode; its first byte is never above 0xfc. Such rows are still read, and rewritten
//! in the current form with the stage's next block.

use bincode::{Decode, Encode};
use cairn_model::{BlockHash, Height};

use crate::{
    codec::{DecodeError, Input, ValueCodec, bincode_value, put_bytes, put_varint},
    stages::{CHAIN, StageInfo},
    table::{Home, Origin, Table},
};

/// The table.
pub struct Checkpoints;

impl Table for Checkpoints {
    const NAME: &'static str = "checkpoints";
    const HOME: Home = Home::Shared(b's');
    const ORIGIN: Origin = Origin::Index;
    type Key = String;
    type Value = Checkpoint;

    fn is_earlier_form(value: &[u8]) -> bool {
        value.first() != Some(&MARK)
    }
}

/// State of a stage's tables.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checkpoint {
    /// Version of the tables.
    pub version: u32,
    /// Height of the newest block.
    pub height: Height,
    /// Its hash.
    pub hash: BlockHash,
    /// Sequence number of the newest input event; 0 if there is none.
    pub seq: u64,
    /// Names and versions of the stage's dependencies, ascending by name.
    pub dependencies: Vec<(String, u32)>,
    /// Fields of later programs, unchanged.
    pub further: Vec<u8>,
}

impl Checkpoint {
    /// The checkpoint of a stage of this program after a block.
    #[must_use]
    pub fn of(stage: &StageInfo, height: Height, hash: BlockHash) -> Self {
        let dependencies = stage.dependencies();
        Checkpoint { version: stage.version, height, hash, seq: 0, dependencies, further: Vec::new() }
    }

    /// The same; if it is the journal's, with the sequence number of the newest input event. No other stage reads
    /// events.
    #[must_use]
    pub fn with_events(self, stage: &StageInfo, seq: u64) -> Self {
        if stage.name == CHAIN.name { Checkpoint { seq, ..self } } else { self }
    }

    /// True if this version of the stage wrote the tables, with the current versions of its dependencies.
    #[must_use]
    pub fn is_of(&self, stage: &StageInfo) -> bool {
        self.version == stage.version && self.dependencies == stage.dependencies()
    }
}

/// First byte of a row of tagged fields.
const MARK: u8 = 0xff;

const VERSION: u64 = 1;
const HEIGHT: u64 = 2;
const HASH: u64 = 3;
const SEQ: u64 = 4;
const DEPENDENCIES: u64 = 5;

fn put_field(out: &mut Vec<u8>, tag: u64, bytes: &[u8]) {
    put_varint(out, tag);
    put_bytes(out, bytes);
}

fn put_number(out: &mut Vec<u8>, tag: u64, number: u64) {
    let mut bytes = Vec::with_capacity(10);
    put_varint(&mut bytes, number);
    put_field(out, tag, &bytes);
}

impl ValueCodec for Checkpoint {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(MARK);
        put_number(out, VERSION, self.version.into());
        put_number(out, HEIGHT, self.height.into());
        put_field(out, HASH, &self.hash.0);
        if self.seq != 0 {
            put_number(out, SEQ, self.seq);
        }
        if !self.dependencies.is_empty() {
            let mut bytes = Vec::new();
            for (name, version) in &self.dependencies {
                put_bytes(&mut bytes, name.as_bytes());
                put_varint(&mut bytes, (*version).into());
            }
            put_field(out, DEPENDENCIES, &bytes);
        }
        out.extend_from_slice(&self.further);
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let all = b.take(b.left())?;
        match all.split_first() {
            Some((&MARK, fields)) => of_fields(fields),
            _ => {
                let Earlier { version, height, hash } =
                    <Earlier as ValueCodec>::decode(&mut Input::new(Checkpoints::NAME, all))?;
                let (hash, dependencies, further) = (BlockHash(hash), Vec::new(), Vec::new());
                Ok(Checkpoint { version, height, hash, seq: 0, dependencies, further })
            }
        }
    }
}

fn of_fields(fields: &[u8]) -> Result<Checkpoint, DecodeError> {
    let b = &mut Input::new(Checkpoints::NAME, fields);
    let (mut version, mut height, mut hash, mut seq) = (None, None, None, 0);
    let (mut dependencies, mut further) = (Vec::new(), Vec::new());
    let mut last = 0;
    while b.left() > 0 {
        let start = fields.len() - b.left();
        let tag = b.varint()?;
        if tag <= last {
            return Err(b.error("fields out of order"));
        }
        last = tag;
        let field = &mut Input::new(Checkpoints::NAME, b.bytes()?);
        match tag {
            VERSION => version = Some(field.varint32()?),
            HEIGHT => height = Some(field.varint32()?),
            HASH => hash = Some(BlockHash(field.array()?)),
            SEQ => seq = Some(field.varint()?).filter(|seq| *seq != 0).ok_or_else(|| b.error("sequence number 0"))?,
            DEPENDENCIES => dependencies = take_dependencies(field)?,
            _ => {
                further.extend_from_slice(&fields[start..fields.len() - b.left()]);
                continue;
            }
        }
        field.finish()?;
    }
    let lacks = |what: &'static str| move || DecodeError { table: Checkpoints::NAME, what };
    let version = version.ok_or_else(lacks("no version"))?;
    let height = height.ok_or_else(lacks("no height"))?;
    let hash = hash.ok_or_else(lacks("no hash"))?;
    Ok(Checkpoint { version, height, hash, seq, dependencies, further })
}

fn take_dependencies(b: &mut Input<'_>) -> Result<Vec<(String, u32)>, DecodeError> {
    let mut found: Vec<(String, u32)> = Vec::new();
    while b.left() > 0 {
        let name = str::from_utf8(b.bytes()?).map_err(|_| b.error("not UTF-8"))?;
        if found.last().is_some_and(|(last, _)| last.as_str() >= name) {
            return Err(b.error("dependencies out of order"));
        }
        found.push((name.to_owned(), b.varint32()?));
    }
    if found.is_empty() { Err(b.error("no dependencies")) } else { Ok(found) }
}

#[derive(Encode, Decode)]
struct Earlier {
    version: u32,
    height: Height,
    hash: [u8; 32],
}

bincode_value!(Earlier);
