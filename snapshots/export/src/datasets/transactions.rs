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
    about: "Transactions of the active chain. Other datasets name a transaction by its number, which joins faster than its id.",
    sorted_by: &["tx_num"],
    columns: &[
        column("tx_num", Kind::Long, "Its index in the chain; 0 is the coinbase of genesis."),
        column("txid", Kind::Hash, "Its id."),
        column("height", Kind::Int, "Height of its block."),
        column("position", Kind::Int, "Its index in the block; 0 is the coinbase."),
        column("time", Kind::Time, "The block's header time."),
        column("day", Kind::Day, "Day of the block's monotone time."),
        column("size", Kind::Int, "Serialized size in bytes, with witness."),
        column("vsize", Kind::Int, "Virtual size: a quarter of the weight, rounded up."),
        column("weight", Kind::Int, "Weight units (BIP 141)."),
        column("inputs", Kind::Int, "Inputs; 0 for a coinbase."),
        column("outputs", Kind::Int, "Outputs."),
        column("input", Kind::Sats, "Value of the coins that it spends; 0 for a coinbase."),
        column("output", Kind::Sats, "Value of its outputs."),
        column("fee", Kind::Sats, "Fee; 0 for a coinbase."),
        column(
            "is_coinjoin",
            Kind::Flag,
            "True if its form is that of a CoinJoin: then it does not count for clusters.",
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
