//! Flows of one block, with the labels that there are now.

use std::collections::{BTreeMap, HashMap};

use cairn_domain::exchange_flows::Part;
use cairn_events::EntityName;
use cairn_model::{Block, Sats, ScriptId, day_of, each_once};
use cairn_reader::{ReadError, View};
use cairn_tables::{exchange_flows::FlowMode, sums::Sums, tx_sums::TxSum};

use super::{
    known::{ExchangeId, Exchanges},
    sums::{DaySums, Parts, overflow},
};
use crate::PipelineError;

/// Scripts that are looked up together.
const TOGETHER: usize = 4_096;

/// The flows of a block of the chain, by exchange; `None`: of all together. The view may have later ones.
pub(crate) fn flows_of_block(
    view: &View<'_>,
    exchanges: &Exchanges,
    block: &Block,
) -> Result<Vec<(Option<EntityName>, Sums)>, PipelineError> {
    let owners = owners(view, exchanges, block)?;
    let mut sums = DaySums::default();
    let day = day_of(block.mono_time);
    for (i, tx) in block.txs.iter().enumerate() {
        let mut parts: BTreeMap<ExchangeId, Parts> = BTreeMap::new();
        let mut add = |script: &ScriptId, sent: Sats, received: Sats| {
            if let Some(exchange) = owners.get(script) {
                let Part { sent: all_sent, received: all_received } = &mut parts.entry(*exchange).or_default().all;
                *all_sent = all_sent.saturating_add(sent);
                *all_received = all_received.saturating_add(received);
            }
        };
        let gone = block.overwritten.iter().filter(|gone| gone.by as usize == i).map(|gone| &gone.coin);
        gone.chain(block.inputs_of(tx)).for_each(|coin| add(&coin.script, coin.value, 0));
        let outputs = block.outputs_of(tx).iter().filter(|output| output.spendable);
        outputs.for_each(|output| add(&output.id, 0, output.value));
        let inputs: Sats = block.inputs_of(tx).iter().map(|coin| coin.value).sum();
        let paid: Sats = block.outputs_of(tx).iter().map(|output| output.value).sum();
        // The first transaction of a block makes money.
        let fee = if i == 0 { 0 } else { inputs.saturating_sub(paid) };
        let moved = TxSum { fee, inputs };
        sums.transaction(FlowMode::Latest, day, moved, &parts).map_err(overflow)?;
    }
    let rows = sums.rows(exchanges).map_err(overflow)?;
    Ok(rows.into_iter().map(|((_, exchange, _), sums)| (exchange, sums)).collect())
}

fn owners(view: &View<'_>, exchanges: &Exchanges, block: &Block) -> Result<HashMap<ScriptId, ExchangeId>, ReadError> {
    let spent = block.overwritten.iter().map(|gone| gone.coin.script);
    let spent = spent.chain(block.inputs.iter().map(|coin| coin.script));
    let paid = block.outputs.iter().filter(|output| output.spendable).map(|output| output.id);
    let scripts = each_once(spent.chain(paid));
    let mut owners = HashMap::new();
    for scripts in scripts.chunks(TOGETHER) {
        for (script, standing) in scripts.iter().zip(view.labels().standings(scripts)?) {
            let exchange = standing.owner.and_then(|owner| exchanges.find(&owner.entity));
            owners.extend(exchange.map(|exchange| (*script, exchange)));
        }
    }
    Ok(owners)
}
