//! `coins`.

use cairn_domain::ScriptType;
use cairn_model::{Outpoint, day_of};
use cairn_reader::View;
use cairn_tables::coins::Coins;

use crate::{
    Dataset, ExportError, Part,
    columns::{Kind, column},
    dataset::{Scope, Source},
    sink::Sink,
};

pub(super) const COINS: Dataset = Dataset {
    name: "coins",
    about: "Unspent outputs as of the tip, in files by the blocks that created them.",
    sorted_by: &["tx_num", "vout"],
    columns: &[
        column("tx_num", Kind::Long, "`tx_num` of the transaction that created the coin."),
        column("vout", Kind::Int, "Index of the coin's output in that transaction."),
        column("height", Kind::Int, "Height of the block that created the coin."),
        column("day", Kind::Day, "Day of that block's monotone time."),
        column("value", Kind::Sats, "Value of the coin."),
        column("script_id", Kind::ScriptId, "Script of the coin."),
        column("script_type", Kind::Word, "Type of the script, by Bitcoin Core's name."),
        column("is_coinbase", Kind::Flag, "True if the coin is an output of a coinbase."),
    ],
    source: Source::Made(rows),
};

fn rows(scope: &Scope<'_>, view: &View<'_>, part: &Part, sink: &mut Sink) -> Result<(), ExportError> {
    let (mut height, mut day) = (part.from, day_of(scope.time_at(part.from)?));
    let mut end_of_block = part.first_tx;
    for row in view.scan::<Coins>(Some(&Outpoint { tx_num: part.first_tx, vout: 0 }))? {
        let (outpoint, coin) = row?;
        if outpoint.tx_num >= part.tx_end {
            break;
        }
        if outpoint.tx_num >= end_of_block {
            let (found, time) = scope.block_of(outpoint.tx_num)?;
            (height, day) = (found, day_of(time));
            end_of_block = scope.chain.get(height + 1).map_or(part.tx_end, |next| next.first_tx);
            scope.check()?;
        }
        let rows = &mut sink.rows;
        rows.tx(outpoint.tx_num);
        rows.number(outpoint.vout);
        rows.number(height);
        rows.day(day);
        rows.sats(coin.value);
        rows.script_id(coin.script);
        rows.text(ScriptType::of_template(coin.template).name());
        rows.flag(coin.coinbase);
        sink.settle()?;
    }
    Ok(())
}
