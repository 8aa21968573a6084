//! Mends blocks of the journal: they are read again from their source, their inputs are resolved against the log, and
//! the rows are compared with those that are there.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

use cairn_model::{
    Block, Height, InputFlags, Outpoint, ScriptId, ScriptPrefix, ScriptTemplate, SpentCoin, TxNum, Txid,
};
use cairn_reader::{ReadError, View};
use cairn_sources::Decoded;
use cairn_tables::{
    Table,
    block_log::{self, BlockLog},
    encode_key, encode_value,
    headers::{HeaderRow, Headers},
    journal::{Collisions as CollisionsTable, OverwrittenCoins},
    prevouts::{self, Prevouts},
};
use cairn_writer::{WriteError, Writer};

use super::{Cannot, MendError, source::BlockSource, swap::Replacement};
use crate::{
    collisions::Collisions,
    resolve::{ChainPosition, check_amounts, unresolved},
};

/// Blocks that were read again.
struct RereadBlocks<'v, 'r> {
    view: &'v View<'r>,
    collisions: Collisions,
    blocks: BTreeMap<Height, Block>,
    /// Height and index of their transactions.
    txs: HashMap<Txid, (Height, usize)>,
}

/// Makes the rows of these heights, ascending, again. `memory` bounds the blocks that are held.
pub(crate) fn mend(
    writer: &Writer,
    datadir: &Path,
    view: &View<'_>,
    heights: &[Height],
    memory: u64,
    source: &dyn BlockSource,
) -> Result<(), MendError> {
    let rows = view.scan::<CollisionsTable>(None)?.collect::<Result<Vec<_>, ReadError>>()?;
    let collisions = Collisions::of_rows(rows.into_iter());
    let mut remade = RereadBlocks { view, collisions, blocks: BTreeMap::new(), txs: HashMap::new() };
    let mut bytes = 0u64;
    for height in heights {
        let row = view.header(*height)?.ok_or_else(|| Cannot(format!("there is no header {height}")))?;
        // Decoded, a block takes about twice its bytes.
        bytes += u64::from(row.size) * 2;
        if bytes > memory {
            return Err(Cannot("more blocks are damaged than fit in the memory limit".to_owned()).into());
        }
        let missing = || Cannot(format!("no source has block {} at height {height}", row.hash));
        let (decoded, _) = source.block(*height, Some(row.hash))?.ok_or_else(missing)?;
        remade.add(decoded, &row, *height)?;
    }
    let end = view.tip().tx_end;
    let (mut log, mut spent) = (BTreeMap::new(), BTreeMap::new());
    for block in remade.blocks.values() {
        block_log::encode_block(block, |first, value| drop(log.insert(first, value.to_vec())));
        prevouts::encode_block(block, |first, row| drop(spent.insert(first, encode_value::<Prevouts>(&row))));
    }
    let ranges: Vec<_> = remade.blocks.values().map(|b| b.first_tx..TxNum(b.first_tx.0 + b.txs.len() as u64)).collect();
    let of_block = |tx_num: TxNum| {
        let at = ranges.partition_point(|range| range.end <= tx_num);
        ranges.get(at).is_some_and(|range| range.contains(&tx_num))
    };
    replace::<BlockLog>(writer, datadir, log, end, of_block)?;
    replace::<Prevouts>(writer, datadir, spent, end, of_block)?;
    writer.commit::<WriteError>(|batch| {
        for block in remade.blocks.values() {
            batch.put_row::<Headers>(&block.height, &HeaderRow::of(block));
        }
        Ok(())
    })?;
    Ok(writer.flush()?)
}

/// Replaces a family if its rows differ from the new ones, cannot be read, or lie above the tip.
fn replace<T: Table<Key = TxNum>>(
    writer: &Writer,
    datadir: &Path,
    new: BTreeMap<TxNum, Vec<u8>>,
    end: TxNum,
    of_block: impl Fn(TxNum) -> bool,
) -> Result<(), MendError> {
    // The first walk finds out whether there is anything to do: most damage is in one of two families.
    let (mut same, mut found) = (true, 0usize);
    let places = writer.salvage::<MendError>(T::FAMILY, |key, value| {
        match T::decode_key(key) {
            Ok(tx_num) if tx_num < end && !of_block(tx_num) => {}
            Ok(tx_num) if tx_num < end => {
                found += 1;
                same &= new.get(&tx_num).is_some_and(|row| row == value);
            }
            _ => same = false,
        }
        Ok(())
    })?;
    if same && places == 0 && found == new.len() {
        return Ok(());
    }
    let mut replacement = Replacement::begin(datadir, T::FAMILY)?;
    let mut new = new.into_iter().peekable();
    writer.salvage::<MendError>(T::FAMILY, |key, value| {
        let Some(tx_num) = T::decode_key(key).ok().filter(|n| *n < end && !of_block(*n)) else { return Ok(()) };
        while let Some((tx_num, row)) = new.next_if(|(n, _)| *n < tx_num) {
            replacement.put(&encode_key::<T>(&tx_num), &row)?;
        }
        Ok(replacement.put(key, value)?)
    })?;
    for (tx_num, row) in new {
        replacement.put(&encode_key::<T>(&tx_num), &row)?;
    }
    Ok(replacement.finish(writer)?)
}

impl RereadBlocks<'_, '_> {
    fn add(&mut self, mut decoded: Decoded, row: &HeaderRow, height: Height) -> Result<(), MendError> {
        let place = ChainPosition { height, first_tx: row.first_tx, mono_time: row.mono_time, position: row.position };
        let mut block = unresolved(&mut decoded, place);
        for output in block.outputs.iter_mut().filter(|output| output.spendable) {
            let script = &block.scripts[output.script.start as usize..output.script.end as usize];
            let ordinal = self.collisions.find(output.id.prefix, script);
            output.id.ordinal = ordinal.ok_or_else(|| Cannot("a script that shares a prefix is unknown".to_owned()))?;
        }
        let index_of: HashMap<Txid, usize> = block.txs.iter().enumerate().map(|(i, tx)| (tx.txid, i)).collect();
        let mut inputs = Vec::with_capacity(decoded.prevouts.len());
        for (prevout, flags) in decoded.prevouts.iter().zip(&decoded.flags) {
            let coin = match index_of.get(&prevout.txid) {
                Some(&i) => coin_of(&block, i, prevout.vout, *flags),
                None => match self.txs.get(&prevout.txid) {
                    Some((height, i)) => self.blocks.get(height).and_then(|b| coin_of(b, *i, prevout.vout, *flags)),
                    None => self.logged(&prevout.txid, prevout.vout, *flags)?,
                },
            };
            let missing = || Cannot(format!("height {height} spends an output that the log does not have"));
            inputs.push(coin.filter(|coin| coin.birth <= height).ok_or_else(missing)?);
        }
        block.inputs = inputs;
        block.overwritten = self.view.get::<OverwrittenCoins>(&height)?.map(|row| row.0).unwrap_or_default();
        if height > 0 {
            check_amounts(self.view.network(), &block)?;
        }
        self.txs.extend(block.txs.iter().enumerate().map(|(i, tx)| (tx.txid, (height, i))));
        self.blocks.insert(height, block);
        Ok(())
    }

    /// An output as a spent coin, out of a row of the log that was not damaged.
    fn logged(&self, txid: &Txid, vout: u32, flags: InputFlags) -> Result<Option<SpentCoin>, MendError> {
        let Some(tx) = self.view.transactions().by_txid(txid)? else { return Ok(None) };
        let Some(output) = tx.outputs().get(vout as usize).filter(|output| output.spendable) else { return Ok(None) };
        let prefix = ScriptPrefix::of(tx.script(output), self.view.facts().script_prefix);
        let script = ScriptId { prefix, ordinal: output.id.ordinal };
        let outpoint = Outpoint { tx_num: tx.tx_num, vout };
        let template = ScriptTemplate::of(tx.script(output));
        let flags = InputFlags { coinbase: tx.is_coinbase(), template, ..flags };
        Ok(Some(SpentCoin { outpoint, value: output.value, script, birth: tx.height, flags }))
    }
}

/// An output of a remade block as a spent coin.
fn coin_of(block: &Block, index: usize, vout: u32, flags: InputFlags) -> Option<SpentCoin> {
    let output = block.outputs_of(block.txs.get(index)?).get(vout as usize).filter(|output| output.spendable)?;
    let outpoint = Outpoint { tx_num: block.tx_num(index), vout };
    let flags = InputFlags { coinbase: index == 0, template: ScriptTemplate::of(block.script(output)), ..flags };
    Some(SpentCoin { outpoint, value: output.value, script: output.id, birth: block.height, flags })
}
