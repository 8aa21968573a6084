//! `spends`: who spent each output.

use cairn_model::{Block, Outpoint, TxNum};
use cairn_tables::{
    DecodeError, Table, ValueCodec,
    codec::{Input, put_varint},
    encode_value,
    spenders::{Spender, SpenderRow, Spenders},
    stages,
};

use crate::{
    deltas::{Delta, FoldDirection, Lane, Merge, Prior, Rows, Spread, StageError},
    group::Group,
    lanes::{DeltaLane, Emitter, Sink},
    stage::{MapContext, Stage, identity},
};

pub(crate) struct SpendsStage;

const NAME: &str = stages::SPENDS.name;

const LANES: [Lane; 1] =
    [Lane { name: "spenders", group_len: 5, spread: Spread::TxNum, merge: Merge::Fold, families: &[Spenders::FAMILY] }];

const SPENDERS: DeltaLane<Outpoint, Spending> = DeltaLane::of(&LANES, "spenders");

/// Which input spends an output.
struct Spending {
    /// Number of the spending transaction − that of the funding one. 0 if a damaged journal says that the coin was made
    /// later; the fold refuses that.
    distance: u64,
    vin: u32,
}

impl ValueCodec for Spending {
    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.distance);
        put_varint(out, self.vin.into());
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        Ok(Spending { distance: b.varint()?, vin: b.varint32()? })
    }
}

fn spender(delta: &Delta<'_>) -> Result<Spender, StageError> {
    match SPENDERS.read(delta)? {
        (_, Spending { distance: 0, .. }) => {
            Err(StageError::Contradiction { stage: NAME, what: "an output is spent before it is created" })
        }
        (Outpoint { vout, .. }, Spending { distance, vin }) => Ok(Spender { vout, distance, vin }),
    }
}

impl Stage for SpendsStage {
    identity!(SPENDS, LANES);

    fn map(&self, block: &Block, _: &MapContext<'_>, sink: &mut Sink<'_>) {
        let mut emit = Emitter::new(sink);
        for (i, tx) in block.txs.iter().enumerate() {
            let TxNum(by) = block.tx_num(i);
            for (vin, input) in block.inputs_of(tx).iter().enumerate() {
                let distance = by.saturating_sub(input.outpoint.tx_num.0);
                emit.delta(&SPENDERS, &input.outpoint, &Spending { distance, vin: vin as u32 });
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
        for delta in group.iter() {
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
