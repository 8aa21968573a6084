//! The newest blocks, each with its pool: one pass over the rows of `headers` and `payouts`.

use std::{cmp::Reverse, collections::HashMap};

use cairn_domain::pools::{AttributedBy, shares};
use cairn_events::EntityName;
use cairn_tables::{
    headers::Headers,
    payouts::{Payout, Payouts},
    stages::PAYOUTS,
};

use super::judge::Judge;
use crate::operation::prelude::*;

#[derive(Clone, Copy, Debug)]
pub(crate) struct ScannedBlock {
    pub(crate) height: Height,
    /// Its pool, by place in [`ScannedBlocks::pools`].
    pub(crate) pool: Option<usize>,
    pub(crate) by: Option<AttributedBy>,
    /// The pool that its tag names, if it names another.
    pub(crate) other_pool: Option<usize>,
    /// The largest payout to a script of its pool.
    pub(crate) paid: Option<Payout>,
    /// True if it has only its coinbase.
    pub(crate) is_empty: bool,
    pub(crate) fees: Sats,
    /// Sum of the outputs of its coinbase.
    pub(crate) reward: Sats,
}

#[derive(Default, Debug)]
pub(crate) struct ScannedBlocks {
    /// The blocks, ascending by height.
    pub(crate) blocks: Vec<ScannedBlock>,
    /// The pools, in no order.
    pub(crate) pools: Vec<EntityName>,
    places: HashMap<EntityName, usize>,
}

/// Figures of a pool in a window.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Sum {
    pub(crate) blocks: u32,
    /// Those among them with only their coinbase.
    pub(crate) empty: u32,
    /// Those that only a tag identifies.
    pub(crate) by_tag: u32,
    /// Those whose tag names another pool.
    pub(crate) disputed: u32,
    pub(crate) fees: u128,
    /// Sum that their coinbases pay.
    pub(crate) reward: u128,
    /// The newest.
    pub(crate) last: Option<Height>,
    /// Share of the window's blocks in millionths.
    pub(crate) share: u32,
}

impl Sum {
    pub(crate) fn total(pools: &[(usize, Sum)]) -> Self {
        let mut total = Sum::default();
        for (_, sum) in pools {
            total.blocks += sum.blocks;
            total.empty += sum.empty;
            total.by_tag += sum.by_tag;
            total.disputed += sum.disputed;
            total.fees += sum.fees;
            total.reward += sum.reward;
            total.last = total.last.max(sum.last);
            total.share += sum.share;
        }
        total
    }

    /// Adds a block, which must be newer than those before.
    pub(crate) fn add(&mut self, block: &ScannedBlock) {
        self.blocks += 1;
        self.empty += u32::from(block.is_empty);
        self.by_tag += u32::from(block.by == Some(AttributedBy::Tag));
        self.disputed += u32::from(block.other_pool.is_some());
        self.fees += u128::from(block.fees);
        self.reward += u128::from(block.reward);
        self.last = Some(block.height);
    }
}

#[derive(Debug)]
pub(crate) struct Ranking {
    /// Index of each pool in [`ScannedBlocks::pools`], and its sums: the pool with the most blocks first, equal ones by
    /// name.
    pub(crate) pools: Vec<(usize, Sum)>,
    pub(crate) unidentified: Sum,
    pub(crate) blocks: u32,
}

impl ScannedBlocks {
    /// Looks at the newest blocks, at most `most`, without the genesis block, which pays nobody. Reads two rows for
    /// each, and once the claims about each script that they pay.
    pub(crate) fn newest(judge: &mut Judge<'_, '_>, view: &View<'_>, most: u32) -> Result<Self, ApiError> {
        view.require(&PAYOUTS)?;
        let tip = view.tip().height;
        let from = tip.saturating_sub(most).saturating_add(1);
        let mut scanned = ScannedBlocks::default();
        if tip == 0 {
            return Ok(scanned);
        }
        scanned.blocks.reserve((tip - from + 1) as usize);
        let mut payouts = view.scan::<Payouts>(Some(&from))?;
        for row in view.scan::<Headers>(Some(&from))?.take((tip - from + 1) as usize) {
            let (height, header) = row?;
            let paid = payouts.next().transpose()?.filter(|(of, _)| *of == height);
            let (_, paid) = paid.ok_or_else(|| lacks::<Payouts>(format!("block {height}")))?;
            let judged = judge.judge(&header.coinbase_script, &paid)?;
            let pool = judged.as_ref().map(|judged| scanned.place(&judged.pool));
            let other_pool = judged.as_ref().and_then(|judged| judged.other_pool.as_ref());
            let other_pool = other_pool.map(|pool| scanned.place(pool));
            scanned.blocks.push(ScannedBlock {
                height,
                pool,
                by: judged.as_ref().map(|judged| judged.by),
                other_pool,
                paid: judged.as_ref().and_then(|judged| judged.paid),
                is_empty: header.tx_count <= 1,
                fees: header.fees,
                reward: header.coinbase_sats,
            });
        }
        Ok(scanned)
    }

    fn place(&mut self, pool: &EntityName) -> usize {
        if let Some(place) = self.places.get(pool) {
            return *place;
        }
        self.pools.push(pool.clone());
        self.places.insert(pool.clone(), self.pools.len() - 1);
        self.pools.len() - 1
    }

    /// The place of a pool; `None` if no block has it.
    pub(crate) fn place_of(&self, pool: &EntityName) -> Option<usize> {
        self.places.get(pool).copied()
    }

    /// Returns the newest of these blocks, at most `most`.
    pub(crate) fn last(&self, most: u32) -> &[ScannedBlock] {
        let from = self.blocks.len().saturating_sub(most as usize);
        self.blocks.get(from..).unwrap_or_default()
    }

    /// Ranks the pools by the newest blocks. Shares add up to 1, blocks of no known pool included.
    pub(crate) fn ranking(&self, most: u32) -> Ranking {
        let (mut sums, mut unidentified) = (vec![Sum::default(); self.pools.len()], Sum::default());
        let blocks = self.last(most);
        for block in blocks {
            match block.pool.and_then(|place| sums.get_mut(place)) {
                Some(sum) => sum.add(block),
                None => unidentified.add(block),
            }
        }
        let mut pools: Vec<(usize, Sum)> = sums.into_iter().enumerate().filter(|(_, sum)| sum.blocks > 0).collect();
        pools.sort_by_key(|(place, sum)| (Reverse(sum.blocks), self.pools.get(*place)));
        let mut counts: Vec<u32> = pools.iter().map(|(_, sum)| sum.blocks).collect();
        counts.push(unidentified.blocks);
        let shares = shares(&counts);
        for (sum, share) in pools.iter_mut().map(|(_, sum)| sum).chain([&mut unidentified]).zip(shares) {
            sum.share = share;
        }
        Ranking { pools, unidentified, blocks: u32::try_from(blocks.len()).unwrap_or(u32::MAX) }
    }
}
