//! Counts the clusters whose claims reach the scripts of one address.

use std::collections::HashSet;

use cairn_model::TxNum;

/// Parts of clusters that count, by their tops. The first ones that are met count, up to a limit, until a new round
/// begins: scripts of further ones have more claims than are read. The knowledge of a script is of one round.
pub(super) struct CountedClusters {
    max: usize,
    tops: HashSet<TxNum>,
    round: u32,
}

impl CountedClusters {
    pub(super) fn new(max: usize) -> Self {
        CountedClusters { max, tops: HashSet::new(), round: 1 }
    }

    /// The number of the round, from 1.
    pub(super) fn round(&self) -> u32 {
        self.round
    }

    /// Begins a new round if the limit was reached.
    pub(super) fn begin(&mut self) {
        if self.tops.len() >= self.max {
            self.tops.clear();
            self.round += 1;
        }
    }

    /// True if a cluster counts. It does from now on if there is room.
    pub(super) fn counts(&mut self, top: TxNum) -> bool {
        if self.tops.len() < self.max {
            self.tops.insert(top);
        }
        self.tops.contains(&top)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// Reads every script again after a full round, as if nothing of it were known.
    #[derive(Default)]
    struct Forgetful {
        clusters: BTreeSet<u64>,
        is_cut: BTreeMap<u64, bool>,
    }

    const MAX: usize = 5;

    impl Forgetful {
        fn begin(&mut self) {
            if self.clusters.len() >= MAX {
                self.clusters.clear();
                self.is_cut.clear();
            }
        }

        fn ask(&mut self, script: u64) -> bool {
            if let Some(known) = self.is_cut.get(&script) {
                return *known;
            }
            let is_cut = top(script).is_some_and(|top| {
                let is_new = !self.clusters.contains(&top);
                if is_new && self.clusters.len() < MAX {
                    self.clusters.insert(top);
                }
                !self.clusters.contains(&top)
            });
            self.is_cut.insert(script, is_cut);
            is_cut
        }
    }

    /// Every fourth script is in no cluster; some clusters have several.
    fn top(script: u64) -> Option<u64> {
        (!script.is_multiple_of(4)).then_some(script % 13)
    }

    #[test]
    fn what_is_known_of_scripts_changes_no_answer() {
        let (mut cut, mut rounds) = (0, 0);
        for seed in 0..2_000u64 {
            let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mut random = |below: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) % below
            };
            let (mut clusters, mut forgetful) = (CountedClusters::new(MAX), Forgetful::default());
            let mut known: BTreeMap<u64, (u32, bool)> = BTreeMap::new();
            for _ in 0..60 {
                if random(8) == 0 {
                    clusters.begin();
                    forgetful.begin();
                    continue;
                }
                let script = random(40);
                let of = known.get(&script).filter(|(round, _)| *round == clusters.round()).map(|(_, cut)| *cut);
                let is_cut = of.unwrap_or_else(|| top(script).is_some_and(|top| !clusters.counts(TxNum(top))));
                known.insert(script, (clusters.round(), is_cut));
                assert_eq!(is_cut, forgetful.ask(script), "seed {seed}");
                cut += u64::from(is_cut);
            }
            rounds += u64::from(clusters.round() - 1);
        }
        assert!(cut > 2_000 && rounds > 2_000, "{cut}, {rounds}");
    }
}
