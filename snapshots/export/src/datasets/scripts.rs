//! `scripts`.

use cairn_domain::{ScriptType, address_of};
use cairn_model::{Block, Outpoint};

use crate::{
    Dataset, ExportError,
    columns::{Kind, column, nullable},
    dataset::{Scope, Source},
    rows::Rows,
};

pub(super) const SCRIPTS: Dataset = Dataset {
    name: "scripts",
    about: "Scripts (addresses) that the chain has paid, with their totals as of the tip. Each is in the files of the \
        block that first paid it.",
    sorted_by: &["first_tx_num", "first_vout"],
    columns: &[
        column(
            "script_id",
            Kind::ScriptId,
            "Id of the script: the first 8 bytes of its SHA-256, and a number that distinguishes scripts with the \
            same 8 bytes.",
        ),
        column("script", Kind::Bytes, "The scriptPubKey."),
        column("script_type", Kind::Word, "Type of the script, by Bitcoin Core's name."),
        nullable("address", Kind::Text, "Address of the script; null if scripts of this type have none."),
        column("received", Kind::Sats, "Value of all coins that the script received."),
        column("sent", Kind::Sats, "Value of those coins that were spent or overwritten (BIP 30)."),
        column("balance", Kind::Sats, "Value of the script's coins: received minus sent."),
        column("received_coins", Kind::Long, "Number of coins that the script received."),
        column("sent_coins", Kind::Long, "Number of those coins that were spent or overwritten."),
        column("transactions", Kind::Long, "Number of transactions that pay the script or spend from it."),
        column("first_tx_num", Kind::Long, "`tx_num` of the first transaction that paid the script."),
        column("first_vout", Kind::Int, "Index of the first output that paid the script, in that transaction."),
        column("first_day", Kind::Day, "Day of that block's monotone time."),
        column("last_tx_num", Kind::Long, "`tx_num` of the script's latest transaction."),
        column("last_height", Kind::Int, "Height of that block."),
        column("last_day", Kind::Day, "Day of that block's monotone time."),
    ],
    source: Source::FirstOutputs(rows),
};

fn rows(scope: &mut Scope<'_>, block: &Block, rows: &mut Rows) -> Result<(), ExportError> {
    for (position, tx) in block.txs.iter().enumerate() {
        let tx_num = block.tx_num(position);
        for (vout, output) in (0..).zip(block.outputs_of(tx)) {
            let Some((id, totals)) = scope.first_seen.take(Outpoint { tx_num, vout })? else { continue };
            if !output.spendable || id != output.id {
                return Err(ExportError::Contradiction(format!("output {vout} of {} has another script", tx.txid)));
            }
            let script = block.script(output);
            let (last_height, last_time) = scope.block_of(totals.last)?;
            rows.script_id(id);
            rows.bytes(script);
            rows.text(ScriptType::of_template(totals.template).name());
            rows.maybe(address_of(script, scope.network), |rows, address| rows.text(&address));
            rows.sats(totals.funded);
            rows.sats(totals.spent);
            rows.sats(totals.balance());
            rows.number(totals.funded_count);
            rows.number(totals.spent_count);
            rows.number(totals.tx_count);
            rows.tx(tx_num);
            rows.number(vout);
            rows.day_of(block.mono_time);
            rows.tx(totals.last);
            rows.number(last_height);
            rows.day_of(last_time);
        }
    }
    Ok(())
}
