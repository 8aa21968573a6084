//! `coins`: the coin set, by outpoint and by script.

use cairn_model::{Block, InputFlags, Outpoint, ScriptId, ScriptTemplate, SpentCoin};
use cairn_tables::{
    DecodeError, Table, ValueCodec,
    codec::Input,
    coins::{Coin, CoinValue, Coins, CoinsByScript},
    stages,
};

use crate::{
    deltas::{COIN_MADE, COIN_SPENT, FoldDirection, Lane, Merge, Prior, Rows, Spread, StageError},
    group::Group,
    lanes::{DeltaLane, Emitter, Sink},
    stage::{MapContext, Stage, identity},
};

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

const COINS: DeltaLane<Outpoint, Change<Coin>> = DeltaLane::of(&LANES, "coins");
const BY_SCRIPT: DeltaLane<(ScriptId, Outpoint), Change<CoinValue>> = DeltaLane::of(&LANES, "coins_by_script");

/// A delta is its kind and the row's value, so that a spend can be taken back without the table.
struct Change<V>(u8, V);

impl<V: ValueCodec> ValueCodec for Change<V> {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.0);
        self.1.encode(out);
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        Ok(Change(b.byte()?, V::decode(b)?))
    }
}

fn both(emit: &mut Emitter<'_, '_>, kind: u8, outpoint: Outpoint, coin: Coin) {
    let (script, value) = (coin.script, CoinValue(coin.value));
    emit.delta(&COINS, &outpoint, &Change(kind, coin));
    emit.delta(&BY_SCRIPT, &(script, outpoint), &Change(kind, value));
}

fn gone(emit: &mut Emitter<'_, '_>, c: &SpentCoin) {
    let InputFlags { coinbase, template, .. } = c.flags;
    both(emit, COIN_SPENT, c.outpoint, Coin { value: c.value, script: c.script, coinbase, template });
}

impl Stage for CoinsStage {
    identity!(COINS, LANES);

    fn map(&self, block: &Block, _: &MapContext<'_>, sink: &mut Sink<'_>) {
        let mut emit = Emitter::new(sink);
        for (i, tx) in block.txs.iter().enumerate() {
            block.inputs_of(tx).iter().for_each(|coin| gone(&mut emit, coin));
            for (vout, output) in block.outputs_of(tx).iter().enumerate().filter(|(_, o)| o.spendable) {
                let outpoint = Outpoint { tx_num: block.tx_num(i), vout: vout as u32 };
                let template = ScriptTemplate::of(block.script(output));
                let coin = Coin { value: output.value, script: output.id, coinbase: i == 0, template };
                both(&mut emit, COIN_MADE, outpoint, coin);
            }
        }
        block.overwritten.iter().for_each(|o| gone(&mut emit, &o.coin));
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
