//! Flows of exchanges: what came to the scripts that count as an exchange's and what left them, by day. A generation is
//! made of the whole index as of one block, and computed again from time to time; blocks after it have rows of their
//! own until then.
//!
//! ```text
//! flows_head      'G' → generation (1) │ height │ hash (32) │ seq │ mark (8) │ n × (length │ exchange │ held │ held then)
//! exchange_flows  generation (1) ‖ mode (1) ‖ exchange ‖ 0 ‖ day (4) → sums by position, see `FlowSum`
//! flow_blocks     'N' ‖ height (4) → hash (32) │ n │ n × (length │ exchange │ length │ sums) │ m × (length │ exchange │ held)
//! ```
//!
//! Mode 0 has labels as they are now, mode 1 as they were asserted at the time of each block. The row of no exchange
//! (an empty name) is of all together: there `FromExchanges` and `ToExchanges` are both what exchanges sent to each
//! other. `held` is what an exchange held with that block, `held then` the same in mode 1. `mark` distinguishes the
//! sets of scripts that documents make members. `flow_blocks` has rows of the newest blocks in mode 0; with those of
//! the last twelve that were the tip when they were written, what exchanges held. The generation that `flows_head` does
//! not name is being written, or is left of a process that was killed.

use cairn_events::EntityName;
use cairn_model::{BlockHash, Height, Sats};

use crate::{
    codec::{DecodeError, Input, KeyCodec, ValueCodec, put_amount, put_bytes, put_varint},
    sums::{Sums, positions},
    table::{Home, Origin, Table, Tuning, table},
};

table! {
    /// Block and generation of the flows.
    pub struct FlowsHead("flows_head": () => FlowsHeadRow) in Home::Shared(b'G'), from Origin::Index;
}

table! {
    /// The flows of a generation by day.
    // Hundreds of exchanges times thousands of days; keys that begin alike.
    pub struct ExchangeFlows("exchange_flows": FlowKey => Sums) in Home::Own(Tuning::SHORT), from Origin::Index;
}

table! {
    /// The flows of blocks after the generation.
    pub struct FlowBlocks("flow_blocks": Height => FlowBlockRow) in Home::Shared(b'N'), from Origin::Index;
}

/// Which labels count.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum FlowMode {
    /// Labels as they are now.
    Latest = 0,
    /// Labels that were asserted by the time of each block.
    PointInTime = 1,
}

impl FlowMode {
    /// Both.
    pub const ALL: [FlowMode; 2] = [FlowMode::Latest, FlowMode::PointInTime];
}

/// Positions of sums of a day.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum FlowSum {
    /// Satoshis that came in.
    Inflow = 0,
    /// Satoshis that went out, fees not counted.
    Outflow = 1,
    /// Satoshis that came back, change included.
    Internal = 2,
    /// Satoshis of fees.
    Fees = 3,
    /// Satoshis of the inflow that came from exchanges.
    FromExchanges = 4,
    /// Satoshis of the outflow that went to exchanges.
    ToExchanges = 5,
    /// Balance of scripts newly attributed to the exchange, minus that of scripts no longer attributed to it.
    Reclassified = 6,
    /// Satoshis of inflow and outflow that count because of documents that the index received on a later day.
    Backfilled = 7,
    /// Transactions.
    Transactions = 8,
}

positions!(FlowSum);

/// Key of a row of flows.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowKey {
    /// Generation of the flows, 0 or 1: one is served while the other is computed.
    pub generation: u8,
    /// Which labels count.
    pub mode: FlowMode,
    /// The exchange; `None` for all together.
    pub exchange: Option<EntityName>,
    /// Day of monotone block time (UTC), in days since 1970.
    pub day: u32,
}

impl KeyCodec for FlowKey {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend([self.generation, self.mode as u8]);
        out.extend_from_slice(self.exchange.as_ref().map_or("", EntityName::as_str).as_bytes());
        out.push(0);
        out.extend_from_slice(&self.day.to_be_bytes());
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let generation = generation(b)?;
        let mode = if b.flag_of("mode")? { FlowMode::PointInTime } else { FlowMode::Latest };
        let name = b.ended()?;
        let exchange = exchange(b, name)?;
        Ok(FlowKey { generation, mode, exchange, day: u32::from_be_bytes(b.array()?) })
    }
}

fn generation(b: &mut Input<'_>) -> Result<u8, DecodeError> {
    b.flag_of("generation").map(u8::from)
}

/// An empty name stands for no exchange.
fn exchange(b: &Input<'_>, name: &[u8]) -> Result<Option<EntityName>, DecodeError> {
    if name.is_empty() { Ok(None) } else { b.parse(name, "name of an entity").map(Some) }
}

fn name(b: &mut Input<'_>) -> Result<Option<EntityName>, DecodeError> {
    let name = b.short_bytes(EntityName::MAX)?;
    exchange(b, name)
}

fn some_name(b: &mut Input<'_>) -> Result<EntityName, DecodeError> {
    name(b)?.ok_or_else(|| b.error("no name"))
}

/// Fails unless names ascend.
fn follow<N: Ord>(b: &Input<'_>, last: Option<&N>, next: &N) -> Result<(), DecodeError> {
    if last.is_some_and(|last| last >= next) { Err(b.error("order")) } else { Ok(()) }
}

/// Balance of an exchange, in satoshis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExchangeBalance {
    /// Which.
    pub exchange: EntityName,
    /// In mode [`FlowMode::Latest`].
    pub latest: Sats,
    /// In mode [`FlowMode::PointInTime`].
    pub point_in_time: Sats,
}

/// Block of a generation of flows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowsHeadRow {
    /// 0 or 1.
    pub generation: u8,
    /// The block.
    pub height: Height,
    /// Its hash.
    pub hash: BlockHash,
    /// The newest input event that the labels had.
    pub seq: u64,
    /// Differs if documents have made other scripts members of exchanges.
    pub mark: [u8; 8],
    /// Balance of each exchange, ascending by name.
    pub held: Vec<ExchangeBalance>,
}

impl ValueCodec for FlowsHeadRow {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.generation);
        put_varint(out, self.height.into());
        out.extend_from_slice(&self.hash.0);
        put_varint(out, self.seq);
        out.extend_from_slice(&self.mark);
        for held in &self.held {
            put_bytes(out, held.exchange.as_str().as_bytes());
            put_amount(out, held.latest);
            put_amount(out, held.point_in_time);
        }
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let (generation, height, hash) = (generation(b)?, b.varint32()?, BlockHash(b.array()?));
        let (seq, mark) = (b.varint()?, b.array()?);
        let mut held: Vec<ExchangeBalance> = Vec::new();
        while b.left() > 0 {
            let next = ExchangeBalance { exchange: some_name(b)?, latest: b.amount()?, point_in_time: b.amount()? };
            follow(b, held.last().map(|last| &last.exchange), &next.exchange)?;
            held.push(next);
        }
        Ok(FlowsHeadRow { generation, height, hash, seq, mark, held })
    }
}

/// Flows of a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowBlockRow {
    /// Hash of the block.
    pub hash: BlockHash,
    /// Flows of each exchange, ascending by name; `None`: of all together.
    pub flows: Vec<(Option<EntityName>, Sums)>,
    /// Balance of each exchange with the block, ascending by name; empty if not stored, or is not kept any more.
    pub held: Vec<(EntityName, Sats)>,
}

impl ValueCodec for FlowBlockRow {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.hash.0);
        put_varint(out, self.flows.len() as u64);
        for (exchange, sums) in &self.flows {
            put_bytes(out, exchange.as_ref().map_or("", EntityName::as_str).as_bytes());
            let mut row = Vec::new();
            sums.encode(&mut row);
            put_bytes(out, &row);
        }
        for (exchange, sats) in &self.held {
            put_bytes(out, exchange.as_str().as_bytes());
            put_amount(out, *sats);
        }
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let hash = BlockHash(b.array()?);
        let mut flows: Vec<(Option<EntityName>, Sums)> = Vec::new();
        for _ in 0..b.count()? {
            let exchange = name(b)?;
            follow(b, flows.last().map(|last| &last.0), &exchange)?;
            let mut row = Input::new(FlowBlocks::NAME, b.bytes()?);
            flows.push((exchange, Sums::decode(&mut row)?));
        }
        let mut held: Vec<(EntityName, Sats)> = Vec::new();
        while b.left() > 0 {
            let next = (some_name(b)?, b.amount()?);
            follow(b, held.last().map(|last| &last.0), &next.0)?;
            held.push(next);
        }
        Ok(FlowBlockRow { hash, flows, held })
    }
}
