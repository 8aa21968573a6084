//! Fate of dust.

use std::collections::BTreeSet;

use crate::operation::prelude::*;
use cairn_domain::dust::is_dust;
use cairn_model::ScriptPrefix;
use cairn_reader::FoundScript;
use cairn_tables::block_log::BlockLog;

/// Coins of one ping that are looked at: one is the rule.
const MAX_COINS: usize = 8;

/// A coin of a ping.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct DustCoin {
    vout: u32,
    value_sats: u64,
    /// `unspent` or `spent`.
    state: &'static str,
    /// Id of the transaction that spends the coin; null if none does.
    spent_txid: Option<String>,
    #[serde(skip)]
    co_spent: Option<CoSpentDust>,
}

/// Dust that was spent together with other coins.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct CoSpentDust {
    /// Id of the ping.
    txid: String,
    vout: u32,
    value_sats: u64,
    /// Id of the transaction that spends the coin.
    spent_txid: String,
    spent_height: Height,
    /// Header time of the block with that transaction.
    spent_time: String,
    /// Number of other inputs of that transaction.
    other_input_count: u64,
    /// Number of other scripts among these inputs. The spend ties them to the address, unless it is a CoinJoin.
    linked_script_count: u64,
}

impl DustCoin {
    /// The coins of dust that a transaction made for a script. Reads the transaction, and those that spend them.
    pub(super) fn of(view: &View<'_>, found: &FoundScript, tx_num: TxNum) -> Result<Vec<Self>, ApiError> {
        let missing = |of: TxNum| lacks::<BlockLog>(format!("transaction {}", of.0));
        let tx = view.transactions().get(tx_num)?.ok_or_else(|| missing(tx_num))?;
        let length = view.facts().script_prefix;
        let is_own = |output: &cairn_model::OutputMeta| {
            output.id.ordinal == found.id.ordinal
                && ScriptPrefix::of(tx.script(output), length) == found.id.prefix
                && is_dust(output.value)
        };
        let spenders = view.transactions().spenders(tx_num)?;
        let mut coins = Vec::new();
        for (vout, output) in (0u32..).zip(tx.outputs()).filter(|(_, output)| is_own(output)).take(MAX_COINS) {
            let spender = spenders.iter().find(|(of, ..)| *of == vout).map(|(_, spender, _)| *spender);
            let mut coin =
                DustCoin { vout, value_sats: output.value, state: "unspent", spent_txid: None, co_spent: None };
            if let Some(spender) = spender {
                let by = view.transactions().get(spender)?.ok_or_else(|| missing(spender))?;
                let inputs = view.transactions().inputs(&by)?;
                let scripts: BTreeSet<_> = inputs.iter().map(|coin| coin.script).collect();
                let others = (inputs.len() as u64).saturating_sub(1);
                let time = view.chain().get(by.height).map_or(0, |block| block.time);
                (coin.state, coin.spent_txid) = ("spent", Some(by.txid().to_string()));
                coin.co_spent = (others > 0).then(|| CoSpentDust {
                    txid: tx.txid().to_string(),
                    vout,
                    value_sats: output.value,
                    spent_txid: by.txid().to_string(),
                    spent_height: by.height,
                    spent_time: rfc3339(time),
                    other_input_count: others,
                    linked_script_count: (scripts.len() as u64).saturating_sub(1),
                });
            }
            coins.push(coin);
        }
        Ok(coins)
    }

    pub(super) fn co_spent(&self) -> Option<CoSpentDust> {
        self.co_spent.clone()
    }
}
