//! Which scripts hold what pools mine, and what pools mined day by day.

use std::collections::{BTreeMap, BTreeSet};

use cairn_events::EntityName;
use cairn_model::day_of;
use cairn_tables::{headers::Headers, payouts::Payouts, stages::PAYOUTS};

use crate::{operation::prelude::*, pools::Judge};

/// Blocks whose coinbases identify the scripts of a pool: those of a year.
pub(super) const HOLDER_BLOCKS: u32 = 52_560;
/// A coinbase with more outputs that can be spent pays members.
const MAX_OWN_OUTPUTS: u32 = 2;

/// Blocks, and what their coinbases pay.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct MinedBlocks {
    pub(super) blocks: u32,
    pub(super) sats: Sats,
}

impl MinedBlocks {
    pub(super) fn add(&mut self, blocks: u32, sats: Sats) {
        self.blocks += blocks;
        self.sats = self.sats.saturating_add(sats);
    }
}

#[derive(Default, Debug)]
pub(super) struct Pool {
    /// SHA-256 of the scripts that hold what it mines, ascending.
    pub(super) holders: BTreeSet<[u8; 32]>,
    /// Sum that it mined, by day.
    pub(super) days: BTreeMap<u32, MinedBlocks>,
    /// Blocks of the window that pay members in their coinbase.
    pub(super) pays_members: u32,
}

impl Pool {
    /// Sum that it mined in the window.
    pub(super) fn mined(&self) -> MinedBlocks {
        self.days.values().fold(MinedBlocks::default(), |mut sum, day| {
            sum.add(day.blocks, day.sats);
            sum
        })
    }

    /// True if most of its blocks pay its members in the coinbase: what it holds says nothing of what was mined.
    pub(super) fn is_of_members(&self) -> bool {
        self.pays_members * 2 > self.mined().blocks
    }
}

/// All pools, and the blocks of none.
#[derive(Default, Debug)]
pub(super) struct Pools {
    pub(super) pools: BTreeMap<EntityName, Pool>,
    pub(super) unidentified: BTreeMap<u32, MinedBlocks>,
}

impl Pools {
    /// Of the newest blocks: holders by those of a year, what was mined from a height on. Two rows read for each block,
    /// and the claims about each script that they pay, once.
    pub(super) fn of(judge: &mut Judge<'_, '_>, view: &View<'_>, since: Height) -> Result<Self, ApiError> {
        view.require(&PAYOUTS)?;
        let mut found = Pools::default();
        let tip = view.tip().height;
        // The genesis block pays nobody.
        let from = tip.saturating_sub(HOLDER_BLOCKS - 1).min(since).max(1);
        let mut payouts = view.scan::<Payouts>(Some(&from))?;
        for row in view.scan::<Headers>(Some(&from))?.take((tip + 1).saturating_sub(from) as usize) {
            let (height, header) = row?;
            let paid = payouts.next().transpose()?.filter(|(of, _)| *of == height);
            let (_, paid) = paid.ok_or_else(|| lacks::<Payouts>(format!("block {height}")))?;
            let is_counted = height >= since;
            let Some(judged) = judge.judge(&header.coinbase_script, &paid)? else {
                if is_counted {
                    found.unidentified.entry(day_of(header.mono_time)).or_default().add(1, header.coinbase_sats);
                }
                continue;
            };
            let pool = found.pools.entry(judged.pool).or_default();
            pool.holders.extend(judged.paid.map(|paid| paid.script));
            let is_own = paid.outputs <= MAX_OWN_OUTPUTS;
            if is_own {
                pool.holders.extend(paid.largest.iter().map(|paid| paid.script));
            }
            if is_counted {
                pool.days.entry(day_of(header.mono_time)).or_default().add(1, header.coinbase_sats);
                pool.pays_members += u32::from(!is_own);
            }
        }
        Ok(found)
    }
}
