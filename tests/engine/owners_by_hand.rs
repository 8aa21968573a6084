//! Owners of clusters by the claims about some of their scripts, by hand.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use cairn_events::{ClaimType, EntityName};
use cairn_model::{ScriptId, TxNum};
use cairn_reader::{ListClaims, Membership, View};
use cairn_tables::{cluster_owners::OwnersRow, labels::ScriptHash};
use cairn_testkit::Oracle;

use crate::labels_by_hand::{ClaimStatus, hash, standing};

/// The owner of the other scripts of a cluster by the claims of some of its scripts, by hand.
fn owner(said: &[Vec<ListClaims>]) -> Option<EntityName> {
    let all: Vec<ClaimStatus<'_>> = said.iter().flat_map(|said| standing(said)).collect();
    let level = |one: &ClaimStatus<'_>| u32::from(one.claim.level) * 6 / 10;
    let mut votes: BTreeMap<(&EntityName, &str), u32> = BTreeMap::new();
    let control = |one: &&ClaimStatus<'_>| {
        one.claim.is_inherited && !one.contested() && one.claim.claim_type == ClaimType::ControlledBy
    };
    for one in all.iter().filter(control) {
        let Some(entity) = &one.claim.entity else { continue };
        let vote = votes.entry((entity, one.of.list.source.as_str())).or_default();
        *vote = (*vote).max(level(one));
    }
    let mut sums: BTreeMap<&EntityName, u32> = BTreeMap::new();
    votes.iter().for_each(|((entity, _), level)| *sums.entry(entity).or_default() += level);
    let (winner, sum) = sums.iter().min_by_key(|(name, sum)| (Reverse(**sum), **name))?;
    let makes = |one: &ClaimStatus<'_>| control(&one) && level(one) >= 50 && one.claim.entity.as_ref() == Some(*winner);
    let is_clear = sum * 4 >= sums.values().sum::<u32>() * 3;
    (is_clear && all.iter().any(makes)).then(|| (*winner).clone())
}

/// The scripts of each cluster, by its root, with what they hold.
fn clusters(view: &View<'_>, oracle: &Oracle) -> BTreeMap<TxNum, Vec<(ScriptHash, u64)>> {
    let mut found = Vec::new();
    for (script, totals) in oracle.all_totals() {
        let of = view.scripts().find(script.as_bytes()).unwrap();
        found.extend(of.map(|of| (of.id, hash(script.as_bytes()), totals.funded_sats - totals.spent_sats)));
    }
    let ids: Vec<ScriptId> = found.iter().map(|(id, ..)| *id).collect();
    let mut all: BTreeMap<TxNum, Vec<(ScriptHash, u64)>> = BTreeMap::new();
    for (of, (_, script, holds)) in view.clusters().of_scripts(&ids, view.as_of_tip()).unwrap().into_iter().zip(found) {
        of.root.iter().for_each(|root| all.entry(root.0).or_default().push((script, holds)));
    }
    all
}

/// The owners of clusters with scripts whose claims extend to the others: `claimed` has one such script of each, by its
/// root.
pub(crate) fn rows(
    view: &View<'_>,
    oracle: &Oracle,
    claimed: &BTreeMap<TxNum, Membership>,
    named: &BTreeSet<ScriptHash>,
    said: impl Fn(&ScriptHash) -> Vec<ListClaims>,
) -> Vec<(TxNum, OwnersRow)> {
    let clusters = if claimed.is_empty() { BTreeMap::new() } else { clusters(view, oracle) };
    let mut rows = Vec::new();
    for (root, of) in claimed {
        let heirs = view.clusters().claimed_scripts(of, view.as_of_tip(), 16).unwrap().scripts;
        let said: Vec<_> = heirs.iter().map(&said).collect();
        let Some(owner) = owner(&said) else { continue };
        let rest = clusters[root].iter().filter(|(script, _)| !named.contains(script));
        let counted: Vec<u64> = rest.map(|(_, holds)| *holds).collect();
        let (scripts, balance) = (counted.len() as u64, counted.iter().sum());
        rows.push((*root, OwnersRow { owners: vec![owner], is_suspect: false, scripts, balance }));
    }
    rows
}
