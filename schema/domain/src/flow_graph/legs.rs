//! Payments of one transaction between its parties.

use cairn_model::{Sats, ScriptId};

use crate::apportion;

/// Products of input owners and outputs from which on a transaction is not taken apart.
const MAX_PRODUCTS: usize = 250_000;

/// Origin or destination of value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum End {
    /// A script.
    Script(ScriptId),
    /// The miner's new coins, and the fees of a block.
    Coinbase,
    /// Fees.
    Fee,
    /// A CoinJoin.
    CoinJoin,
    /// Outputs that nobody can spend.
    Burned,
}

/// A part of a transaction's value that goes from one party to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leg {
    /// Its payer.
    pub from: End,
    /// Its payee.
    pub to: End,
    /// How much, above zero.
    pub sats: Sats,
}

/// The parties of a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Parties {
    /// A coinbase: only its outputs.
    Coinbase(Vec<(End, Sats)>),
    /// A CoinJoin: inputs and outputs.
    CoinJoin(Vec<(ScriptId, Sats)>, Vec<(End, Sats)>),
    /// Any other: inputs and outputs; the fee is the difference.
    Payment(Vec<(ScriptId, Sats)>, Vec<(End, Sats)>),
}

/// A transaction has more parties than are taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a transaction has too many parties")]
pub struct TooManyParts;

fn of<P: PartialEq>(parties: &[(P, Sats)], party: P) -> Sats {
    parties.iter().filter(|(one, _)| *one == party).map(|(_, sats)| *sats).fold(0, Sats::saturating_add)
}

/// Each party once, ascending, with its sum.
fn grouped<P: Copy + Ord>(parties: &[(P, Sats)]) -> Vec<(P, Sats)> {
    let mut sorted = parties.to_vec();
    sorted.sort_unstable();
    sorted.dedup_by(|(id, sats), (before, sum)| {
        let same = id == before;
        if same {
            *sum = sum.saturating_add(*sats);
        }
        same
    });
    sorted
}

fn leg(from: End, to: End, sats: Sats) -> Option<Leg> {
    (sats > 0).then_some(Leg { from, to, sats })
}

fn sum<P>(parties: &[(P, Sats)]) -> Sats {
    parties.iter().map(|(_, sats)| *sats).fold(0, Sats::saturating_add)
}

/// Sums of the outputs by party, and the fee last.
fn shares(inputs: &[(ScriptId, Sats)], outputs: &[(End, Sats)]) -> Vec<(End, Sats)> {
    let mut shares = grouped(outputs);
    shares.push((End::Fee, sum(inputs).saturating_sub(sum(outputs))));
    shares
}

/// Payments of a script in a transaction, also to itself. Their sum is that of its inputs.
pub fn legs_from(parties: &Parties, script: ScriptId) -> Result<Vec<Leg>, TooManyParts> {
    let from = End::Script(script);
    match parties {
        Parties::Coinbase(_) => Ok(Vec::new()),
        Parties::CoinJoin(inputs, _) => Ok(leg(from, End::CoinJoin, of(inputs, script)).into_iter().collect()),
        Parties::Payment(_, outputs) if outputs.len() > MAX_PRODUCTS => Err(TooManyParts),
        Parties::Payment(inputs, outputs) => {
            let shares = shares(inputs, outputs);
            let weights: Vec<Sats> = shares.iter().map(|(_, sats)| *sats).collect();
            let parts = shares.iter().zip(apportion(of(inputs, script), &weights));
            Ok(parts.filter_map(|((to, _), sats)| leg(from, *to, sats)).collect())
        }
    }
}

/// Payments to a script in a transaction, also by itself. Each part is the same as [`legs_from`] has it of the payer.
pub fn legs_to(parties: &Parties, script: ScriptId) -> Result<Vec<Leg>, TooManyParts> {
    let to = End::Script(script);
    match parties {
        Parties::Coinbase(outputs) => Ok(leg(End::Coinbase, to, of(outputs, to)).into_iter().collect()),
        Parties::CoinJoin(_, outputs) => Ok(leg(End::CoinJoin, to, of(outputs, to)).into_iter().collect()),
        Parties::Payment(inputs, outputs) => {
            let (payers, shares) = (grouped(inputs), shares(inputs, outputs));
            if payers.len().saturating_mul(shares.len()) > MAX_PRODUCTS {
                return Err(TooManyParts);
            }
            let Some(at) = shares.iter().position(|(end, _)| *end == to) else { return Ok(Vec::new()) };
            let weights: Vec<Sats> = shares.iter().map(|(_, sats)| *sats).collect();
            let part = |(payer, sats): (ScriptId, Sats)| leg(End::Script(payer), to, apportion(sats, &weights)[at]);
            Ok(payers.into_iter().filter_map(part).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use cairn_model::ScriptPrefix;
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn id(n: u8) -> ScriptId {
        ScriptId { prefix: ScriptPrefix([n; 8]), ordinal: 0 }
    }

    fn ends(parties: Vec<(ScriptId, Sats)>) -> Vec<(End, Sats)> {
        parties.into_iter().map(|(id, sats)| (End::Script(id), sats)).collect()
    }

    fn side() -> impl Strategy<Value = Vec<(ScriptId, Sats)>> {
        vec((0..6u8, 0..1_000_000u64), 1..8).prop_map(|all| all.into_iter().map(|(n, sats)| (id(n), sats)).collect())
    }

    proptest! {
        /// Inputs equal outputs for every party, and both ends report the same.
        #[test]
        fn value_is_conserved(inputs in side(), outputs in side(), fee in 0..1_000u64) {
            let sum = |all: &[(ScriptId, Sats)]| all.iter().map(|(_, sats)| *sats).sum::<Sats>();
            let mut inputs = inputs;
            // The inputs pay for the outputs and the fee.
            let lacks = (sum(&outputs) + fee).saturating_sub(sum(&inputs));
            inputs[0].1 += lacks;
            let fee = sum(&inputs) - sum(&outputs);
            let parties = Parties::Payment(inputs.clone(), ends(outputs.clone()));
            let mut all = Vec::new();
            for n in 0..6 {
                let legs = legs_from(&parties, id(n)).unwrap();
                prop_assert_eq!(legs.iter().map(|leg| leg.sats).sum::<Sats>(), of(&inputs, id(n)));
                all.extend(legs);
            }
            for n in 0..6 {
                let mut paid: Vec<Leg> = all.iter().filter(|leg| leg.to == End::Script(id(n))).copied().collect();
                paid.sort_by_key(|leg| leg.from);
                prop_assert_eq!(legs_to(&parties, id(n)).unwrap(), paid.clone());
                // Each payer's share is rounded by less than one satoshi.
                let gets: Sats = paid.iter().map(|leg| leg.sats).sum();
                prop_assert!(gets.abs_diff(of(&outputs, id(n))) <= 6);
            }
            let fees: Sats = all.iter().filter(|leg| leg.to == End::Fee).map(|leg| leg.sats).sum();
            prop_assert!(fees.abs_diff(fee) <= 6);
        }
    }

    #[test]
    fn coinbases_and_coinjoins_are_ends() {
        let (inputs, outputs) = (vec![(id(1), 70), (id(2), 50), (id(1), 5)], ends(vec![(id(3), 100), (id(1), 20)]));
        let join = Parties::CoinJoin(inputs.clone(), outputs.clone());
        let (one, three) = (End::Script(id(1)), End::Script(id(3)));
        assert_eq!(legs_from(&join, id(1)).unwrap(), [Leg { from: one, to: End::CoinJoin, sats: 75 }]);
        assert_eq!(legs_to(&join, id(3)).unwrap(), [Leg { from: End::CoinJoin, to: three, sats: 100 }]);
        let coinbase = Parties::Coinbase(outputs.clone());
        assert_eq!(legs_to(&coinbase, id(3)).unwrap(), [Leg { from: End::Coinbase, to: three, sats: 100 }]);
        assert!(legs_from(&coinbase, id(3)).unwrap().is_empty() && legs_to(&coinbase, id(9)).unwrap().is_empty());
        let many =
            Parties::Payment((0..600).map(|n| (id((n % 250) as u8), 1)).collect(), ends(vec![(id(3), 1); 2_000]));
        // Scripts count once.
        assert_eq!(legs_to(&many, id(3)).unwrap().len(), 250);
        let payment = Parties::Payment(inputs, outputs);
        let paid = [Leg { from: one, to: one, sats: 12 }, Leg { from: one, to: three, sats: 60 }];
        let mut legs = legs_from(&payment, id(1)).unwrap();
        legs.retain(|leg| leg.to != End::Fee);
        assert_eq!(legs, paid);
    }
}
