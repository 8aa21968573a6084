//! Makes `collisions` and `overwritten` again from the log of blocks.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use cairn_model::{
    Height, InputFlags, Outpoint, Overwritten, ScriptId, ScriptPrefix, ScriptTemplate, SpentCoin, TxNum, Txid,
};
use cairn_reader::{Facts, ReadError};
use cairn_tables::{
    Table, TableInfo,
    block_log::{BlockLog, Decoded, LogRow},
    encode_key,
    journal::{CollidingScripts, Collisions, OverwrittenCoins, OverwrittenRow},
    spenders::Spenders,
};
use cairn_writer::{WriteError, Writer};

use super::{Cannot, MendError};

/// Replaces all rows of both tables.
pub(crate) fn remake(writer: &Writer, facts: &Facts) -> Result<(), MendError> {
    let mut coinbases: HashMap<Txid, TxNum> = HashMap::new();
    let (mut prefixes, mut again) = (BTreeSet::new(), Vec::new());
    walk(writer, |first, height, first_index, row| {
        for (i, tx) in row.txs.iter().enumerate() {
            let tx_num = TxNum(first.0 + i as u64);
            if first_index == 0
                && i == 0
                && let Some(earlier) = coinbases.insert(tx.txid, tx_num)
            {
                again.push((height, earlier));
            }
            for output in row.outputs_of(tx).iter().filter(|output| output.spendable && output.id.ordinal > 0) {
                prefixes.insert(ScriptPrefix::of(row.script(output), facts.script_prefix));
            }
        }
    })?;
    let mut scripts: BTreeMap<ScriptId, (TxNum, Vec<u8>)> = BTreeMap::new();
    if !prefixes.is_empty() {
        walk(writer, |first, _, _, row| {
            for (i, tx) in row.txs.iter().enumerate() {
                for output in row.outputs_of(tx).iter().filter(|output| output.spendable) {
                    let prefix = ScriptPrefix::of(row.script(output), facts.script_prefix);
                    if prefixes.contains(&prefix) {
                        let id = ScriptId { prefix, ordinal: output.id.ordinal };
                        let found = || (TxNum(first.0 + i as u64), row.script(output).to_vec());
                        scripts.entry(id).or_insert_with(found);
                    }
                }
            }
        })?;
    }
    let mut overwritten = Vec::new();
    for (height, earlier) in again {
        overwritten.push((height, coins_left(writer, facts, earlier)?));
    }
    let mut colliding: BTreeMap<ScriptPrefix, CollidingScripts> = BTreeMap::new();
    for (id, script) in scripts {
        colliding.entry(id.prefix).or_default().0.push(script);
    }
    writer.clear(&TableInfo::of::<Collisions>())?;
    writer.clear(&TableInfo::of::<OverwrittenCoins>())?;
    writer.commit::<WriteError>(|batch| {
        colliding.iter().for_each(|(prefix, row)| batch.put_row::<Collisions>(prefix, row));
        let rows = overwritten.iter().filter(|(_, row)| !row.0.is_empty());
        rows.for_each(|(height, row)| batch.put_row::<OverwrittenCoins>(height, row));
        Ok(())
    })?;
    Ok(writer.flush()?)
}

fn walk(writer: &Writer, mut row: impl FnMut(TxNum, Height, u32, &Decoded)) -> Result<(), MendError> {
    let (mut decoded, mut wrong) = (Decoded::default(), None);
    writer.rows::<BlockLog>(|key, value| {
        decoded.txs.clear();
        decoded.inputs.clear();
        decoded.outputs.clear();
        decoded.scripts.clear();
        let found = BlockLog::decode_key(key).and_then(|key| Ok((key, LogRow::decode_into(value, &mut decoded)?)));
        match found {
            Ok((first, (height, first_index, _))) => row(first, height, first_index, &decoded),
            Err(error) => wrong = Some(error),
        }
    })?;
    wrong.map_or(Ok(()), |error| Err(ReadError::from(error).into()))
}

/// Coins of a coinbase that were never spent: a later one with the same txid has overwritten them.
fn coins_left(writer: &Writer, facts: &Facts, tx_num: TxNum) -> Result<OverwrittenRow, MendError> {
    let missing = || Cannot("a coinbase that was overwritten is missing".to_owned());
    let value = writer.get(BlockLog::FAMILY, &encode_key::<BlockLog>(&tx_num))?.ok_or_else(missing)?;
    let mut row = Decoded::default();
    let (birth, ..) = LogRow::decode_into(&value, &mut row).map_err(ReadError::from)?;
    let spent = writer.get(Spenders::FAMILY, &encode_key::<Spenders>(&tx_num))?;
    let spent = spent.map(|bytes| Spenders::decode_value(&bytes)).transpose().map_err(ReadError::from)?;
    let spent: BTreeSet<u32> = spent.iter().flat_map(|row| row.0.iter().map(|s| s.vout)).collect();
    let tx = row.txs.first().ok_or_else(missing)?;
    let outputs = (0..).zip(row.outputs_of(tx)).filter(|(vout, output)| output.spendable && !spent.contains(vout));
    let coin = |(vout, output): (u32, &cairn_model::OutputMeta)| {
        let prefix = ScriptPrefix::of(row.script(output), facts.script_prefix);
        let script = ScriptId { prefix, ordinal: output.id.ordinal };
        let template = ScriptTemplate::of(row.script(output));
        let flags = InputFlags { coinbase: true, anyone_can_pay: false, template };
        let outpoint = Outpoint { tx_num, vout };
        Overwritten { by: 0, coin: SpentCoin { outpoint, value: output.value, script, birth, flags } }
    };
    Ok(OverwrittenRow(outputs.map(coin).collect()))
}
