//! `block_log`: the transactions of the active chain, at most 64 to a row, without scriptSig and witness. Together with
//! `headers` and `prevouts` it is the journal's record of connected blocks: every other table can be rebuilt from it.
//!
//! ```text
//! TxNum of the row's first transaction (5) →
//!   height │ index in the block │ offset in the block's bytes │ n │ n × transaction
//! transaction: txid (32) │ size │ witness bytes │ inputs │ outputs │ input… │ output…
//! input:  amount │ script prefix (8) │ height − birth height │ flags [│ ordinal]
//! flags:  1 coinbase │ 2 anyone-can-pay │ 4 ordinal follows │ template of the spent script (4 bits from bit 3)
//! output: amount │ script: tag [│ ordinal] │ bytes
//! ```
//!
//! Scripts of the standard templates are stored as their payload (tag 0–6), others whole. Bit 7 of the tag is set if an
//! ordinal follows, which only scripts with a colliding prefix have.

use std::ops::Range;

use cairn_model::{
    Block, Height, InputFlags, Outpoint, OutputMeta, Sats, ScriptId, ScriptPrefix, SpentCoin, TxMeta, TxNum, Txid,
    is_unspendable,
};

use crate::{
    codec::{DecodeError, Input, MAX_BLOCK_SIZE, TEMPLATE_SHIFT, ValueCodec, put_amount, put_bytes, put_varint},
    table::{Compression, Home, Origin, Table, Tuning, table},
};

/// Transactions of a row.
pub const TXS_PER_ROW: usize = 64;

table! {
    /// The table.
    // Rows of some 10 KB, nearly all hashes and scripts; scripts repeat within a row, so LZ4 pays a little. A data
    // block has one such row, or a few short ones: requests read single rows, and pay for the whole data block.
    pub struct BlockLog("block_log": TxNum => LogRow)
        in Home::Own(Tuning { block_size: 8 << 10, compression: Compression::Lz4, ..Tuning::PLAIN }), from Origin::Stage("chain");
}

/// A row: the bytes of up to 64 transactions of one block. They are decoded into a [`Decoded`] when needed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogRow {
    /// Height of the block.
    pub height: Height,
    /// Index in the block of the row's first transaction.
    pub first_index: u32,
    /// Offset in the block's bytes at which the row's first transaction begins.
    pub raw_offset: u32,
    /// The transactions.
    pub txs: Decoded,
}

/// A transaction's place, as the log has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoggedTx {
    /// Height of its block.
    pub height: Height,
    /// Its index in the block.
    pub index: u32,
    /// Offset in the block's bytes at which it begins.
    pub raw_offset: u32,
    /// Inputs of the row's transactions before it: where its own begin in the row of `prevouts`.
    pub first_input: u32,
}

/// An input as the log has it: the coin that it spends, without the outpoint, which is in `prevouts`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoggedInput {
    /// Value of the spent coin.
    pub value: Sats,
    /// Its script.
    pub script: ScriptId,
    /// Height of the block that made it.
    pub birth: Height,
    /// Facts about coin and input.
    pub flags: InputFlags,
}

impl LoggedInput {
    /// The coin of this outpoint, which it spends.
    #[must_use]
    pub fn coin(&self, outpoint: Outpoint) -> SpentCoin {
        let LoggedInput { value, script, birth, flags } = *self;
        SpentCoin { outpoint, value, script, birth, flags }
    }
}

/// Transactions, flat as in [`Block`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Decoded {
    /// Transactions in order.
    pub txs: Vec<TxMeta>,
    /// Inputs in order.
    pub inputs: Vec<LoggedInput>,
    /// Outputs in order. `id.prefix` is left zero: who needs ids hashes the scripts.
    pub outputs: Vec<OutputMeta>,
    /// scriptPubKeys, back to back.
    pub scripts: Vec<u8>,
}

impl Decoded {
    /// Inputs of the transaction at `index`.
    #[must_use]
    pub fn inputs_of(&self, tx: &TxMeta) -> &[LoggedInput] {
        &self.inputs[tx.inputs.start as usize..tx.inputs.end as usize]
    }

    /// Outputs of a transaction.
    #[must_use]
    pub fn outputs_of(&self, tx: &TxMeta) -> &[OutputMeta] {
        &self.outputs[tx.outputs.start as usize..tx.outputs.end as usize]
    }

    /// Removes all transactions; the memory stays.
    pub fn clear(&mut self) {
        self.txs.clear();
        self.inputs.clear();
        self.outputs.clear();
        self.scripts.clear();
    }

    /// scriptPubKey of an output.
    #[must_use]
    pub fn script(&self, output: &OutputMeta) -> &[u8] {
        &self.scripts[output.script.start as usize..output.script.end as usize]
    }
}

/// The rows of a block, encoded: `emit(first TxNum, value)`. `tx_offset` is where the first transaction begins in the
/// block's bytes (80 for the header and the transaction count).
pub fn encode_block(block: &Block, mut emit: impl FnMut(TxNum, &[u8])) {
    let total: u64 = block.txs.iter().map(|t| u64::from(t.size)).sum();
    let mut raw_offset = u64::from(block.size).saturating_sub(total);
    let mut out = Vec::with_capacity(16 << 10);
    for (chunk_index, chunk) in block.txs.chunks(TXS_PER_ROW).enumerate() {
        let first_index = chunk_index * TXS_PER_ROW;
        out.clear();
        put_varint(&mut out, block.height.into());
        put_varint(&mut out, first_index as u64);
        put_varint(&mut out, raw_offset);
        put_varint(&mut out, chunk.len() as u64);
        for tx in chunk {
            let logged =
                |&SpentCoin { value, script, birth, flags, .. }: &_| LoggedInput { value, script, birth, flags };
            let inputs = block.inputs_of(tx).iter().map(logged);
            let outputs = block.outputs_of(tx).iter().map(|o| (o.value, o.id.ordinal, block.script(o)));
            put_tx(&mut out, block.height, tx, inputs, outputs);
            raw_offset += u64::from(tx.size);
        }
        emit(block.tx_num(first_index), &out);
    }
}

fn put_tx<'a>(
    out: &mut Vec<u8>,
    height: Height,
    tx: &TxMeta,
    inputs: impl ExactSizeIterator<Item = LoggedInput>,
    outputs: impl ExactSizeIterator<Item = (Sats, u8, &'a [u8])>,
) {
    out.extend_from_slice(&tx.txid.0);
    put_varint(out, tx.size.into());
    put_varint(out, (tx.size - tx.base_size).into());
    put_varint(out, inputs.len() as u64);
    put_varint(out, outputs.len() as u64);
    for input in inputs {
        put_amount(out, input.value);
        out.extend_from_slice(&input.script.prefix.0);
        put_varint(out, u64::from(height - input.birth));
        let ordinal = input.script.ordinal;
        let InputFlags { coinbase, anyone_can_pay, template } = input.flags;
        let facts = u8::from(coinbase) | u8::from(anyone_can_pay) << 1 | u8::from(ordinal != 0) << 2;
        out.push(facts | template.code() << TEMPLATE_SHIFT);
        if ordinal != 0 {
            out.push(ordinal);
        }
    }
    for (value, ordinal, script) in outputs {
        put_amount(out, value);
        put_script(out, script, ordinal);
    }
}

const RAW: u8 = 7;
const HAS_ORDINAL: u8 = 0x80;

/// Bytes before a payload, the payload's length, and the bytes after it.
type Template = (&'static [u8], usize, &'static [u8]);

const TEMPLATES: [Template; RAW as usize] = [
    (&[0x76, 0xa9, 0x14], 20, &[0x88, 0xac]), // P2PKH
    (&[0xa9, 0x14], 20, &[0x87]),             // P2SH
    (&[0x00, 0x14], 20, &[]),                 // P2WPKH
    (&[0x00, 0x20], 32, &[]),                 // P2WSH
    (&[0x51, 0x20], 32, &[]),                 // P2TR
    (&[0x21], 33, &[0xac]),                   // P2PK, compressed key
    (&[0x41], 65, &[0xac]),                   // P2PK, uncompressed key
];

fn template_of(script: &[u8]) -> Option<usize> {
    TEMPLATES.iter().position(|(head, n, tail)| {
        script.len() == head.len() + n + tail.len() && script.starts_with(head) && script.ends_with(tail)
    })
}

fn put_script(out: &mut Vec<u8>, script: &[u8], ordinal: u8) {
    let matching = template_of(script);
    let tag = matching.map_or(RAW, |t| t as u8);
    out.push(tag | if ordinal != 0 { HAS_ORDINAL } else { 0 });
    if ordinal != 0 {
        out.push(ordinal);
    }
    match matching {
        Some(t) => {
            let (head, n, _) = TEMPLATES[t];
            out.extend_from_slice(&script[head.len()..head.len() + n]);
        }
        None => put_bytes(out, script),
    }
}

/// Appends a script of a template whose payload has `N` bytes.
#[inline(always)]
fn fill<const N: usize>(b: &mut Input<'_>, scripts: &mut Vec<u8>, template: Template) -> Result<(), DecodeError> {
    let payload = b.array::<N>()?;
    scripts.reserve(template.0.len() + N + template.2.len());
    scripts.extend_from_slice(template.0);
    scripts.extend_from_slice(&payload);
    scripts.extend_from_slice(template.2);
    Ok(())
}

/// Appends the script to `scripts`; returns its range and ordinal.
fn take_script(b: &mut Input<'_>, scripts: &mut Vec<u8>) -> Result<(Range<u32>, u8), DecodeError> {
    let tag = b.byte()?;
    let ordinal = if tag & HAS_ORDINAL != 0 { b.ordinal()? } else { 0 };
    let start = scripts.len() as u32;
    // Lengths that the compiler knows make moves of calls.
    match tag & !HAS_ORDINAL {
        0 => fill::<20>(b, scripts, TEMPLATES[0])?,
        1 => fill::<20>(b, scripts, TEMPLATES[1])?,
        2 => fill::<20>(b, scripts, TEMPLATES[2])?,
        3 => fill::<32>(b, scripts, TEMPLATES[3])?,
        4 => fill::<32>(b, scripts, TEMPLATES[4])?,
        5 => fill::<33>(b, scripts, TEMPLATES[5])?,
        6 => fill::<65>(b, scripts, TEMPLATES[6])?,
        RAW => {
            let script = b.bytes()?;
            if template_of(script).is_some() {
                return Err(b.error("script without its tag"));
            }
            scripts.extend_from_slice(script);
        }
        _ => return Err(b.error("script tag")),
    }
    Ok((start..scripts.len() as u32, ordinal))
}

/// Steps over the head of a transaction: its size, the numbers of its inputs and outputs. Lengths are checked, here and
/// below, contents are not.
fn skip_head(b: &mut Input<'_>) -> Result<(u32, usize, usize), DecodeError> {
    b.take(32)?;
    let size = b.varint32()?;
    b.skip_varint()?;
    Ok((size, b.count()?, b.count()?))
}

fn skip_inputs(b: &mut Input<'_>, n: usize) -> Result<(), DecodeError> {
    for _ in 0..n {
        b.skip_varint()?;
        b.take(size_of::<ScriptPrefix>())?;
        b.skip_varint()?;
        if b.byte()? & 4 != 0 {
            b.byte()?;
        }
    }
    Ok(())
}

fn skip_outputs(b: &mut Input<'_>, n: usize) -> Result<(), DecodeError> {
    for _ in 0..n {
        b.skip_varint()?;
        let tag = b.byte()?;
        if tag & HAS_ORDINAL != 0 {
            b.byte()?;
        }
        let length = match TEMPLATES.get(usize::from(tag & !HAS_ORDINAL)) {
            Some((_, n, _)) => *n,
            None => b.count()?,
        };
        b.take(length)?;
    }
    Ok(())
}

fn take_tx(b: &mut Input<'_>, height: Height, into: &mut Decoded) -> Result<(), DecodeError> {
    let txid = Txid(b.array()?);
    let size = b.varint32()?;
    let base_size = size.checked_sub(b.varint32()?).ok_or_else(|| b.error("witness larger than transaction"))?;
    let (input_count, output_count) = (b.count()?, b.count()?);
    let (first_input, first_output) = (into.inputs.len() as u32, into.outputs.len() as u32);
    let overflow = b.error("sum too large");
    let mut sum = 0u64;
    // Each takes bytes of the row, so a damaged count reserves no more than a multiple of those.
    into.inputs.reserve(input_count);
    into.outputs.reserve(output_count);
    for _ in 0..input_count {
        let value = b.coin_amount()?;
        sum = sum.checked_add(value).ok_or(overflow.clone())?;
        let prefix = ScriptPrefix(b.array()?);
        let birth = height.checked_sub(b.varint32()?).ok_or_else(|| b.error("birth height"))?;
        let bits = b.byte()?;
        let template = b.template(bits >> TEMPLATE_SHIFT)?;
        let ordinal = if bits & 4 != 0 { b.ordinal()? } else { 0 };
        let flags = InputFlags { coinbase: bits & 1 != 0, anyone_can_pay: bits & 2 != 0, template };
        into.inputs.push(LoggedInput { value, script: ScriptId { prefix, ordinal }, birth, flags });
    }
    sum = 0;
    for _ in 0..output_count {
        let value = b.coin_amount()?;
        sum = sum.checked_add(value).ok_or(overflow.clone())?;
        let (script, ordinal) = take_script(b, &mut into.scripts)?;
        let spendable = height != 0 && !is_unspendable(&into.scripts[script.start as usize..script.end as usize]);
        into.outputs.push(OutputMeta {
            value,
            script,
            id: ScriptId { prefix: ScriptPrefix::default(), ordinal },
            spendable,
        });
    }
    into.txs.push(TxMeta {
        txid,
        size,
        base_size,
        inputs: first_input..into.inputs.len() as u32,
        outputs: first_output..into.outputs.len() as u32,
    });
    Ok(())
}

/// Height, index and offset of the first transaction, and how many there are.
fn head(b: &mut Input<'_>) -> Result<(Height, u32, u32, usize), DecodeError> {
    let (height, first_index, raw_offset) = (b.varint32()?, b.varint32()?, b.varint32()?);
    let n = b.count()?;
    if first_index > MAX_BLOCK_SIZE || raw_offset > MAX_BLOCK_SIZE {
        return Err(b.error("place in the block"));
    }
    if n == 0 || n > TXS_PER_ROW {
        return Err(b.error("transactions"));
    }
    Ok((height, first_index, raw_offset, n))
}

impl LogRow {
    /// Decodes a row's transactions onto the end of `into`, for who wants a whole block. Returns the row's height and
    /// the index of its first transaction.
    pub fn decode_into(bytes: &[u8], into: &mut Decoded) -> Result<(Height, u32, u32), DecodeError> {
        let b = &mut Input::new(BlockLog::NAME, bytes);
        let head = Self::decode_onto(b, into)?;
        b.finish()?;
        Ok(head)
    }

    /// Decodes one transaction of a row: `into` then holds it alone. Earlier bytes are only skipped, later ones not
    /// read. `None` if the row is shorter.
    ///
    /// # Errors
    /// Fails only on damage up to the transaction; later bytes are not read.
    pub fn decode_one(bytes: &[u8], at: usize, into: &mut Decoded) -> Result<Option<LoggedTx>, DecodeError> {
        let Some((mut b, place)) = Self::step_to(bytes, at)? else { return Ok(None) };
        into.clear();
        take_tx(&mut b, place.height, into)?;
        Ok(Some(place))
    }

    /// Place and id of one transaction of a row, without its content. `None` if the row is shorter.
    pub fn find_one(bytes: &[u8], at: usize) -> Result<Option<(LoggedTx, Txid)>, DecodeError> {
        let Some((mut b, place)) = Self::step_to(bytes, at)? else { return Ok(None) };
        Ok(Some((place, Txid(b.array()?))))
    }

    /// Appends the ids of some transactions of a row, which stand at ascending positions, in one pass. The height of
    /// the row; `None` if the row is shorter, or the positions do not ascend.
    pub fn txids(bytes: &[u8], positions: &[usize], into: &mut Vec<Txid>) -> Result<Option<Height>, DecodeError> {
        let mut b = Input::new(BlockLog::NAME, bytes);
        let (height, _, _, n) = head(&mut b)?;
        let mut next = 0;
        for &at in positions {
            if at >= n || at < next {
                return Ok(None);
            }
            while next < at {
                let (_, inputs, outputs) = skip_head(&mut b)?;
                skip_inputs(&mut b, inputs)?;
                skip_outputs(&mut b, outputs)?;
                next += 1;
            }
            into.push(Txid(b.clone().array()?));
        }
        Ok(Some(height))
    }

    /// Appends one script of a row: that of output `vout` of the transaction at `at`. The height of the row; `None` if
    /// there is no such output.
    pub fn script_of(bytes: &[u8], at: usize, vout: u32, into: &mut Vec<u8>) -> Result<Option<Height>, DecodeError> {
        let Some((mut b, place)) = Self::step_to(bytes, at)? else { return Ok(None) };
        let (_, inputs, outputs) = skip_head(&mut b)?;
        if vout as usize >= outputs {
            return Ok(None);
        }
        skip_inputs(&mut b, inputs)?;
        skip_outputs(&mut b, vout as usize)?;
        b.skip_varint()?;
        take_script(&mut b, into)?;
        Ok(Some(place.height))
    }

    /// The rest from the transaction at `at`, and its position.
    fn step_to(bytes: &[u8], at: usize) -> Result<Option<(Input<'_>, LoggedTx)>, DecodeError> {
        let mut b = Input::new(BlockLog::NAME, bytes);
        let (height, first_index, mut raw_offset, n) = head(&mut b)?;
        if at >= n {
            return Ok(None);
        }
        let mut first_input = 0u32;
        for _ in 0..at {
            let (size, inputs, outputs) = skip_head(&mut b)?;
            skip_inputs(&mut b, inputs)?;
            skip_outputs(&mut b, outputs)?;
            raw_offset = raw_offset.saturating_add(size);
            first_input = first_input.saturating_add(inputs as u32);
        }
        Ok(Some((b, LoggedTx { height, index: first_index + at as u32, raw_offset, first_input })))
    }

    fn decode_onto(b: &mut Input<'_>, into: &mut Decoded) -> Result<(Height, u32, u32), DecodeError> {
        let (height, first_index, raw_offset, n) = head(b)?;
        for _ in 0..n {
            take_tx(b, height, into)?;
        }
        Ok((height, first_index, raw_offset))
    }
}

impl ValueCodec for LogRow {
    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.height.into());
        put_varint(out, self.first_index.into());
        put_varint(out, self.raw_offset.into());
        put_varint(out, self.txs.txs.len() as u64);
        for tx in &self.txs.txs {
            let outputs = self.txs.outputs_of(tx).iter().map(|o| (o.value, o.id.ordinal, self.txs.script(o)));
            put_tx(out, self.height, tx, self.txs.inputs_of(tx).iter().copied(), outputs);
        }
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let mut txs = Decoded::default();
        let (height, first_index, raw_offset) = Self::decode_onto(b, &mut txs)?;
        Ok(LogRow { height, first_index, raw_offset, txs })
    }
}
