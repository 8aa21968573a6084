//! `coins`: the coin set, by outpoint and by script.

use cairn_model::{Block, InputFlags, Outpoint, ScriptId, ScriptTemplate, SpentCoin};
use cairn_tables::{
    KeyCodec, Table, ValueCodec,
    coins::{Coin, CoinValue, Coins, CoinsByScript},
    stages::{self, StageInfo},
};

use crate::stage::{
    COIN_MADE, COIN_SPENT, FoldDirection, Group, Lane, Merge, Prior, Rows, Settings, Spread, Stage, StageError,
};

/// The stage.
pub(crate) struct CoinsStage;

const NAME: &str = stages::COINS.name;

const LANES: [Lane; 2] = [
    Lane {
        name: "coins",
        group_len: 9,
        spread: Spread::TxNum,
        merge: Merge::Coin { outpoint: 0 },
        families: &[Coins::FAMILY],
    },
    Lane {
        name: "coins_by_script",
        group_len: 18,
        spread: Spread::Hash { skip: 0 },
        merge: Merge::Coin { outpoint: ScriptId::LEN },
        families: &[CoinsByScript::FAMILY],
    },
];

/// A delta is its kind and the row's value, so that a spend can be taken back without the table.
struct Emitter<'e> {
    key: Vec<u8>,
    value: Vec<u8>,
    emit: &'e mut dyn FnMut(usize, &[u8], &[u8]),
}

impl Emitter<'_> {
    fn both(&mut self, kind: u8, outpoint: Outpoint, coin: Coin) {
        self.key.clear();
        self.value.clear();
        self.value.push(kind);
        outpoint.encode(&mut self.key);
        coin.encode(&mut self.value);
        (self.emit)(0, &self.key, &self.value);
        self.key.clear();
        self.value.clear();
        self.value.push(kind);
        (coin.script, outpoint).encode(&mut self.key);
        CoinValue(coin.value).encode(&mut self.value);
        (self.emit)(1, &self.key, &self.value);
    }

    fn gone(&mut self, c: &SpentCoin) {
        let InputFlags { coinbase, template, .. } = c.flags;
        self.both(COIN_SPENT, c.outpoint, Coin { value: c.value, script: c.script, coinbase, template });
    }
}

impl Stage for CoinsStage {
    fn info(&self) -> StageInfo {
        stages::COINS
    }

    fn lanes(&self) -> &'static [Lane] {
        &LANES
    }

    fn map(&self, block: &Block, _: &Settings, emit: &mut dyn FnMut(usize, &[u8], &[u8])) {
        let mut emitter = Emitter { key: Vec::with_capacity(18), value: Vec::with_capacity(24), emit };
        for (i, tx) in block.txs.iter().enumerate() {
            block.inputs_of(tx).iter().for_each(|coin| emitter.gone(coin));
            for (vout, output) in block.outputs_of(tx).iter().enumerate().filter(|(_, o)| o.spendable) {
                let outpoint = Outpoint { tx_num: block.tx_num(i), vout: vout as u32 };
                let template = ScriptTemplate::of(block.script(output));
                let coin = Coin { value: output.value, script: output.id, coinbase: i == 0, template };
                emitter.both(COIN_MADE, outpoint, coin);
            }
        }
        block.overwritten.iter().for_each(|o| emitter.gone(&o.coin));
    }

    fn fold(
        &self,
        lane: usize,
        group: &Group<'_>,
        direction: FoldDirection,
        _: &dyn Prior,
        rows: &mut dyn Rows,
    ) -> Result<(), StageError> {
        let family = LANES[lane].families[0];
        let key = group[0].key;
        let kind = |kind: u8| group.iter().filter(move |d| d.value.first() == Some(&kind));
        let (made, spent) = (kind(COIN_MADE).count(), kind(COIN_SPENT).count());
        if made > 1 || spent > 1 || made + spent != group.len() {
            return Err(StageError::Contradiction { stage: NAME, what: "a coin was created or spent twice" });
        }
        if group.iter().any(|d| d.value[1..] != group[0].value[1..]) {
            return Err(StageError::Contradiction { stage: NAME, what: "a spent coin differs from the created one" });
        }
        match (made, spent, direction) {
            // Made and spent between two states of the table: no trace.
            (1, 1, _) => Ok(()),
            (1, _, FoldDirection::Forward) | (_, 1, FoldDirection::Back) => rows.put(family, key, &group[0].value[1..]),
            _ => rows.delete(family, key),
        }
    }
}
