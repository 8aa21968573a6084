//! B-cubed: how well a clustering agrees with the truth, judged item by item and averaged over the items.

use std::collections::BTreeMap;

/// Precision and recall of a clustering.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BCubed {
    /// Over the items: the share of the item's cluster that has the item's owner. Exactly 1 if no cluster mixes owners.
    pub precision: f64,
    /// Over the items: the share of the owner's items that are in the item's cluster. Exactly 1 if no owner is split.
    pub recall: f64,
}

/// B-cubed (Bagga and Baldwin, 1998) of items that are given as (cluster, owner). Both are 1 where there is no item.
pub fn b_cubed<C: Ord, O: Ord>(items: impl IntoIterator<Item = (C, O)>) -> BCubed {
    let mut both: BTreeMap<(C, O), u64> = BTreeMap::new();
    for item in items {
        *both.entry(item).or_default() += 1;
    }
    let mut clusters: BTreeMap<&C, u64> = BTreeMap::new();
    let mut owners: BTreeMap<&O, u64> = BTreeMap::new();
    for ((cluster, owner), count) in &both {
        *clusters.entry(cluster).or_default() += count;
        *owners.entry(owner).or_default() += count;
    }
    let (mut precision, mut recall, mut all) = (0.0, 0.0, 0);
    for ((cluster, owner), &count) in &both {
        // Each of the items in common has this share.
        precision += count as f64 * (count as f64 / clusters[cluster] as f64);
        recall += count as f64 * (count as f64 / owners[owner] as f64);
        all += count;
    }
    if all == 0 {
        return BCubed { precision: 1.0, recall: 1.0 };
    }
    BCubed { precision: precision / all as f64, recall: recall / all as f64 }
}
