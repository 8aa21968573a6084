//! Wallets that spend in a transaction, and are paid more by it than they bring.

use bitcoin::ScriptBuf;
use cairn_model::TxNum;

use crate::{lookup::fits, support::World};

/// Pairs of scripts that bring less to a transaction than it pays them: the smallest input's and the largest output's.
pub fn of(world: &World) -> Vec<[ScriptBuf; 2]> {
    let txs = world.oracle.blocks().iter().flat_map(|block| &block.txdata);
    let pair = |(number, tx): (usize, &bitcoin::Transaction)| {
        let spent = world.oracle.spent(TxNum(number as u64));
        let least = spent.iter().filter(|coin| fits(&coin.script)).min_by_key(|coin| coin.value_sats)?;
        let most = tx.output.iter().filter(|output| fits(&output.script_pubkey)).max_by_key(|output| output.value)?;
        let of_least = spent.iter().filter(|coin| coin.script == least.script || coin.script == most.script_pubkey);
        let brought: u64 = of_least.map(|coin| coin.value_sats).sum();
        let gains = !most.script_pubkey.is_op_return() && brought > 0 && brought < most.value.to_sat();
        gains.then(|| [least.script.clone(), most.script_pubkey.clone()])
    };
    txs.enumerate().filter_map(pair).collect()
}
