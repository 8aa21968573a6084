//! `outputs`.

use cairn_domain::{address_of, script_type};
use cairn_model::Block;

use crate::{
    Dataset, ExportError,
    columns::{Extra, Kind, column, nullable},
    dataset::{Scope, Source},
    rows::Rows,
};

pub(super) const OUTPUTS: Dataset = Dataset {
    name: "outputs",
    about: "Outputs of transactions. Unspent ones are also in `coins`; `inputs` has what spends the others.",
    sorted_by: &["tx_num", "vout"],
    columns: &[
        column("tx_num", Kind::Long, "`tx_num` of the transaction."),
        column("vout", Kind::Int, "Index of the output in the transaction."),
        column("height", Kind::Int, "Height of the transaction's block."),
        column("day", Kind::Day, "Day of the block's monotone time."),
        column("value", Kind::Sats, "Value of the output."),
        nullable(
            "script_id",
            Kind::ScriptId,
            "Script of the output; null if the output is unspendable: OP_RETURN, scripts longer than 10,000 bytes, \
            and the coinbase of the genesis block.",
        ),
        column("script_type", Kind::Word, "Type of the script, by Bitcoin Core's name."),
        column("script", Kind::Bytes, "The scriptPubKey."),
        nullable("address", Kind::Text, "Address of the script; null if it has none.").with(Extra::Addresses),
    ],
    source: Source::Blocks(rows),
};

fn rows(scope: &mut Scope<'_>, block: &Block, rows: &mut Rows) -> Result<(), ExportError> {
    for (position, tx) in block.txs.iter().enumerate() {
        for (vout, output) in block.outputs_of(tx).iter().enumerate() {
            let script = block.script(output);
            rows.tx(block.tx_num(position));
            rows.count(vout);
            rows.number(block.height);
            rows.day_of(block.mono_time);
            rows.sats(output.value);
            rows.maybe(Some(output.id).filter(|_| output.spendable), Rows::script_id);
            rows.text(script_type(script).name());
            rows.bytes(script);
            if scope.format.addresses {
                rows.maybe(address_of(script, scope.network), |rows, address| rows.text(&address));
            }
        }
    }
    Ok(())
}
