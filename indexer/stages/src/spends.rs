//! `spends`: who spent each output.

use cairn_model::{Block, TxNum};
use cairn_tables::{
    KeyCodec, Table,
    codec::{Input, put_varint},
    encode_value,
    spenders::{Spender, SpenderRow, Spenders},
    stages::{self, StageInfo},
};

use crate::stage::{Delta, FoldDirection, Group, Lane, Merge, Prior, Rows, Settings, Spread, Stage, StageError};

/// The stage.
pub(crate) struct SpendsStage;

const NAME: &str = stages::SPENDS.name;

const LANES: [Lane; 1] =
    [Lane { name: "spenders", group_len: 5, spread: Spread::TxNum, merge: Merge::Fold, families: &[Spenders::FAMILY] }];

fn spender(delta: &Delta<'_>) -> Result<Spender, StageError> {
    let mut key = Input::new(NAME, delta.key);
    let mut value = Input::new(NAME, delta.value);
    key.tx_num()?;
    let spender = Spender { vout: u32::decode(&mut key)?, distance: value.varint()?, vin: value.varint32()? };
    match spender.distance {
        0 => Err(StageError::Contradiction { stage: NAME, what: "an output is spent before it is created" }),
        _ => Ok(spender),
    }
}

impl Stage for SpendsStage {
    fn info(&self) -> StageInfo {
        stages::SPENDS
    }

    fn lanes(&self) -> &'static [Lane] {
        &LANES
    }

    fn map(&self, block: &Block, _: &Settings, emit: &mut dyn FnMut(usize, &[u8], &[u8])) {
        let (mut key, mut value) = (Vec::with_capacity(9), Vec::with_capacity(16));
        for (i, tx) in block.txs.iter().enumerate() {
            let TxNum(by) = block.tx_num(i);
            for (vin, input) in block.inputs_of(tx).iter().enumerate() {
                key.clear();
                value.clear();
                input.outpoint.encode(&mut key);
                // 0 if a damaged journal says that the coin was made later; the fold refuses that.
                put_varint(&mut value, by.saturating_sub(input.outpoint.tx_num.0));
                put_varint(&mut value, vin as u64);
                emit(0, &key, &value);
            }
        }
    }

    fn fold(
        &self,
        _: usize,
        group: &Group<'_>,
        direction: FoldDirection,
        prior: &dyn Prior,
        rows: &mut dyn Rows,
    ) -> Result<(), StageError> {
        let key = &group[0].key[..5];
        let old = prior.get(Spenders::FAMILY, key).map_err(StageError::Prior)?;
        let mut row = old.map(|b| Spenders::decode_value(&b)).transpose()?.unwrap_or_default().0;
        let before = row.len();
        for delta in group {
            let spender = spender(delta)?;
            match direction {
                FoldDirection::Forward => row.push(spender),
                FoldDirection::Back => row.retain(|s| *s != spender),
            }
        }
        row.sort_unstable();
        let twice = row.windows(2).any(|pair| pair[0].vout == pair[1].vout);
        if twice || (direction == FoldDirection::Back && row.len() + group.len() != before) {
            return Err(StageError::Contradiction { stage: NAME, what: "an output is spent twice, or does not exist" });
        }
        if row.is_empty() {
            rows.delete(Spenders::FAMILY, key)
        } else {
            rows.put(Spenders::FAMILY, key, &encode_value::<Spenders>(&SpenderRow(row)))
        }
    }
}
