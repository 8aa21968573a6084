//! `transactions`.

use cairn_domain::coinjoin::{Resolved, is_coinjoin};
use cairn_model::Block;

use crate::{
    Dataset, ExportError,
    columns::{Kind, column},
    dataset::{Scope, Source},
    rows::Rows,
};

pub(super) const TRANSACTIONS: Dataset = Dataset {
    name: "transactions",
    about: "Transactions of the active chain. Other datasets refer to a transaction by `tx_num`, because joins on it \
        are faster than on the txid.",
    sorted_by: &["tx_num"],
    columns: &[
        column("tx_num", Kind::Long, "Index of the transaction in the chain; 0 is the coinbase of the genesis block."),
        column("txid", Kind::Hash, "Id of the transaction."),
        column("height", Kind::Int, "Height of its block."),
        column("position", Kind::Int, "Index of the transaction in its block; 0 is the coinbase."),
        column("time", Kind::Time, "Time in the header of the block."),
        column("day", Kind::Day, "Day of the block's monotone time."),
        column("size", Kind::Int, "Serialized size in bytes, including witnesses."),
        column("vsize", Kind::Int, "Virtual size: a quarter of the weight, rounded up."),
        column("weight", Kind::Int, "Weight units (BIP 141)."),
        column("inputs", Kind::Int, "Number of inputs; 0 for a coinbase."),
        column("outputs", Kind::Int, "Number of outputs."),
        column("input", Kind::Sats, "Value of the spent coins; 0 for a coinbase."),
        column("output", Kind::Sats, "Value of the outputs."),
        column("fee", Kind::Sats, "Fee; 0 for a coinbase."),
        column(
            "is_coinjoin",
            Kind::Flag,
            "True if the transaction has the form of a CoinJoin; such transactions do not join clusters.",
        ),
    ],
    source: Source::Blocks(rows),
};

fn rows(_: &mut Scope<'_>, block: &Block, rows: &mut Rows) -> Result<(), ExportError> {
    for (position, tx) in block.txs.iter().enumerate() {
        let input: u64 = block.inputs_of(tx).iter().map(|input| input.value).sum();
        let output: u64 = block.outputs_of(tx).iter().map(|output| output.value).sum();
        let fee = if position == 0 { Some(0) } else { input.checked_sub(output) };
        let fee = fee.ok_or_else(|| ExportError::Contradiction(format!("transaction {} pays too much", tx.txid)))?;
        rows.tx(block.tx_num(position));
        rows.txid(&tx.txid);
        rows.number(block.height);
        rows.count(position);
        rows.time(block.time());
        rows.day_of(block.mono_time);
        rows.number(tx.size);
        rows.number(tx.vsize());
        rows.number(tx.weight());
        rows.count(tx.inputs.len());
        rows.count(tx.outputs.len());
        rows.sats(input);
        rows.sats(output);
        rows.sats(fee);
        rows.flag(position > 0 && is_coinjoin(&Resolved::of(block, tx)));
    }
    Ok(())
}
