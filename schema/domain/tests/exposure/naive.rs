//! Follows every way of every coin by itself: shares are exact fractions, and FIFO has an origin for each satoshi.

use std::collections::BTreeMap;

use cairn_domain::exposure::{Origin, Stop, TracedInput, TracedTx};
use cairn_model::{Outpoint, Sats, ScriptId};

use crate::{fractions::Fraction, world::World};

/// Where something comes from, and how many transactions away that is.
pub type From = (Origin, u8);

/// The parts of a coin: shares that add up to 1, and the origin of each satoshi.
pub struct Parts {
    pub shares: BTreeMap<From, Fraction>,
    pub satoshis: Vec<From>,
}

impl Parts {
    fn whole(of: From, value: Sats) -> Self {
        Parts { shares: BTreeMap::from([(of, Fraction::new(1, 1))]), satoshis: vec![of; value as usize] }
    }
}

pub struct Naive<'w> {
    pub world: &'w World,
    pub subject: ScriptId,
    pub hops: u8,
}

impl Naive<'_> {
    /// The parts of a coin that the subject received.
    pub fn received(&self, coin: Outpoint) -> Parts {
        let tx = &self.world.txs[&coin.tx_num];
        let value = tx.outputs[coin.vout as usize].value;
        if tx.is_coinbase { Parts::whole((Origin::Mined, 0), value) } else { self.made(tx, coin, 1) }
    }

    /// The parts of an output of a transaction whose inputs are this many transactions away.
    fn made(&self, tx: &TracedTx, coin: Outpoint, distance: u8) -> Parts {
        let value = tx.outputs[coin.vout as usize].value;
        if tx.is_coinjoin {
            return Parts::whole((Origin::Stop(Stop::CoinJoin), 0), value);
        }
        let brought: Sats = tx.inputs.iter().map(|input| input.value).sum();
        let (mut shares, mut satoshis) = (BTreeMap::<From, Fraction>::new(), Vec::new());
        for input in &tx.inputs {
            let parts = self.spent(input, distance);
            for (of, share) in parts.shares {
                let weight = match brought {
                    // A transaction of nothing: any weight is as good.
                    0 => Fraction::new(1, tx.inputs.len() as u64),
                    _ => Fraction::new(input.value, brought),
                };
                let more = share.times(&weight);
                let sum = shares.entry(of).or_insert(Fraction::new(0, 1));
                *sum = sum.plus(&more);
            }
            satoshis.extend(parts.satoshis);
        }
        let before: Sats = tx.outputs[..coin.vout as usize].iter().map(|output| output.value).sum();
        Parts { shares, satoshis: satoshis[before as usize..(before + value) as usize].to_vec() }
    }

    fn spent(&self, input: &TracedInput, distance: u8) -> Parts {
        let role = self.world.role(input.script);
        let is_own = input.script == self.subject;
        let end = match role.source {
            Some(source) if !is_own => Some((Origin::Source(source), distance)),
            _ if input.is_coinbase => Some((Origin::Mined, 0)),
            _ if role.is_service && !is_own => Some((Origin::Stop(Stop::Service), 0)),
            _ if role.is_busy => Some((Origin::Stop(Stop::Busy), 0)),
            _ if distance == self.hops => Some((Origin::Stop(Stop::HopLimit), 0)),
            _ => None,
        };
        match end {
            Some(end) => Parts::whole(end, input.value),
            None => self.made(&self.world.txs[&input.coin.tx_num], input.coin, distance + 1),
        }
    }
}
