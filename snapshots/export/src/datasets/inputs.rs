//! `inputs`.

use cairn_domain::ScriptType;
use cairn_model::Block;

use crate::{
    Dataset, ExportError,
    columns::{Extra, Kind, column, nullable},
    dataset::{Scope, Source},
    rows::Rows,
};

pub(super) const INPUTS: Dataset = Dataset {
    name: "inputs",
    about: "Inputs of transactions, each with the coin that it spends. Coinbases have no rows here. `prev_tx_num` and \
        `prev_vout` are the outpoint: join `transactions` for the txid, and `scripts` by `script_id` for the \
        address.",
    sorted_by: &["tx_num", "vin"],
    columns: &[
        column("tx_num", Kind::Long, "`tx_num` of the spending transaction."),
        column("vin", Kind::Int, "Index of the input in the transaction."),
        column("height", Kind::Int, "Height of the transaction's block."),
        column("day", Kind::Day, "Day of the block's monotone time."),
        column("prev_tx_num", Kind::Long, "`tx_num` of the transaction that created the coin."),
        column("prev_vout", Kind::Int, "Index of the coin's output in that transaction."),
        column("value", Kind::Sats, "Value of the coin."),
        column("script_id", Kind::ScriptId, "Script of the coin."),
        column("script_type", Kind::Word, "Type of the script, by Bitcoin Core's name."),
        column("birth_height", Kind::Int, "Height of the block that created the coin."),
        column(
            "age_seconds",
            Kind::Long,
            "Age of the coin by monotone block time; age times value is the coin-seconds destroyed.",
        ),
        column("is_coinbase", Kind::Flag, "True if the coin is an output of a coinbase."),
        column(
            "is_anyone_can_pay",
            Kind::Flag,
            "True if a signature of the input has SIGHASH_ANYONECANPAY; such inputs do not join clusters.",
        ),
        column("prev_txid", Kind::Hash, "Id of the transaction that created the coin.").with(Extra::Txids),
        nullable("address", Kind::Text, "Address of the coin's script; null if it has none.").with(Extra::Addresses),
    ],
    source: Source::Blocks(rows),
};

fn rows(scope: &mut Scope<'_>, block: &Block, rows: &mut Rows) -> Result<(), ExportError> {
    for (position, tx) in block.txs.iter().enumerate() {
        for (vin, coin) in block.inputs_of(tx).iter().enumerate() {
            let age = block.mono_time.checked_sub(scope.time_at(coin.birth)?);
            let age =
                age.ok_or_else(|| ExportError::Contradiction(format!("{} spends a coin of a later block", tx.txid)))?;
            rows.tx(block.tx_num(position));
            rows.count(vin);
            rows.number(block.height);
            rows.day_of(block.mono_time);
            rows.tx(coin.outpoint.tx_num);
            rows.number(coin.outpoint.vout);
            rows.sats(coin.value);
            rows.script_id(coin.script);
            rows.text(ScriptType::of_template(coin.flags.template).name());
            rows.number(coin.birth);
            rows.number(age);
            rows.flag(coin.flags.coinbase);
            rows.flag(coin.flags.anyone_can_pay);
            if scope.format.has_spent() {
                let (txid, address) = scope.spent.next()?;
                if let Some(txid) = txid {
                    rows.txid(&txid);
                }
                if scope.format.addresses {
                    rows.maybe(address, |rows, address| rows.text(&address));
                }
            }
        }
    }
    Ok(())
}
