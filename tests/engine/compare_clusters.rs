//! Clusters, as of several heights, against the oracle.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bitcoin::ScriptBuf;
use cairn_model::ScriptId;
use cairn_reader::{AsOf, ClusterRoot, Explanation, MemberPlace, View};
use cairn_tables::{
    clusters::{ClusterChildren, ClusterDays, ClusterOf, Clusters as Forest, NET_EXTERNAL},
    periods::Period,
    script_days::BANDS,
    sums::Sums,
    transfers::{Consolidations, LargeChange, LargeTransfers},
};
use cairn_testkit::{Clusters, Oracle};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::cospending::{clusters_of, paid_by_day, paid_by_tx};

/// Panics at the first difference.
pub fn assert_clusters_equal(view: &View<'_>, oracle: &Oracle) {
    let tip = view.tip().height;
    let mut rng = ChaCha8Rng::seed_from_u64(u64::from(tip));
    let ids: HashMap<&ScriptBuf, ScriptId> =
        oracle.scripts().map(|script| (script, view.scripts().find(script.as_bytes()).unwrap().unwrap().id)).collect();
    let mut heights = BTreeSet::from([rng.random_range(0..=tip), tip]);
    // The walk through a long chain takes a minute for each height.
    if ids.len() < 10_000 {
        heights.extend([0, tip.saturating_sub(1)]);
    }
    for height in heights {
        let expected = clusters_of(oracle, height);
        assert_height_equal(view, &expected, &ids, &mut rng);
        bands(view, oracle, height);
    }
    paid(view, oracle);
    large(view, oracle);
    // Nothing that no script leads to: every cluster of the tip was walked through.
    let now = clusters_of(oracle, tip);
    let clustered: usize = now.all().filter(|members| members.len() > 1).map(|members| members.len()).sum();
    assert_eq!(view.scan::<ClusterOf>(None).unwrap().count(), clustered, "scripts with a node");
    assert_eq!(view.scan::<Forest>(None).unwrap().count(), now.eligible().len(), "nodes");
    let children: usize = view.scan::<ClusterChildren>(None).unwrap().map(|row| row.unwrap().1.0.len()).sum();
    let roots = now.all().filter(|members| members.len() > 1).count();
    assert_eq!(children, now.eligible().len() - roots, "children");
}

fn paid(view: &View<'_>, oracle: &Oracle) {
    let tip = view.tip().height;
    let mut expected = paid_by_day(oracle, tip);
    let mut all = 0;
    for day in (0..=tip).map(|height| oracle.day(height)).collect::<BTreeSet<u32>>() {
        let row = view.get::<ClusterDays>(&Period::day(day)).unwrap().unwrap_or_default();
        let of_day = expected.remove(&day).unwrap_or(0);
        assert_eq!(row.get(NET_EXTERNAL), i128::from(of_day), "paid to others on day {day}");
        all += i128::from(of_day);
        assert_eq!(view.days().clusters(day).unwrap().get(NET_EXTERNAL), all, "paid to others up to day {day}");
    }
    assert!(expected.is_empty());
}

/// Transactions that move 100 BTC and more, and those that gather coins.
fn large(view: &View<'_>, oracle: &Oracle) {
    let paid = paid_by_tx(oracle, view.tip().height);
    let large = paid.iter().filter(|(_, (paid, _))| paid.to_scripts >= 10_000_000_000);
    let transfers = large.clone().map(|(tx, (paid, coinjoin))| (*tx, (paid.to_scripts, *coinjoin)));
    let found = view.scan::<LargeTransfers>(None).unwrap().map(|row| row.unwrap());
    let found: BTreeMap<_, _> = found.map(|(tx, row)| (tx, (row.sats, row.coinjoin))).collect();
    assert_eq!(found, transfers.collect(), "large transfers");
    let change = large.filter(|(_, (paid, coinjoin))| !coinjoin && paid.to_scripts > paid.to_clusters);
    let change = change.map(|(tx, (paid, _))| (*tx, paid.to_scripts - paid.to_clusters));
    let found = view.scan::<LargeChange>(None).unwrap().map(|row| row.unwrap());
    assert_eq!(found.map(|(tx, row)| (tx, row.0)).collect::<BTreeMap<_, _>>(), change.collect(), "large change");
    let gathered = paid.iter().filter(|(_, (_, coinjoin))| !coinjoin).filter_map(|(tx_num, _)| {
        let tx = &oracle.blocks()[oracle.txs()[tx_num.0 as usize].height as usize].txdata;
        let first = oracle.headers()[oracle.txs()[tx_num.0 as usize].height as usize].first_tx;
        let tx = &tx[(tx_num.0 - first.0) as usize];
        let (inputs, outputs) = (tx.input.len(), tx.output.len());
        let sats: u64 = oracle.spent(*tx_num).iter().map(|coin| coin.value_sats).sum();
        (inputs >= 10 && inputs >= 5 * outputs).then_some((*tx_num, (inputs as u32, outputs as u32, sats)))
    });
    let found = view.scan::<Consolidations>(None).unwrap().map(|row| row.unwrap());
    let found: BTreeMap<_, _> = found.map(|(tx, row)| (tx, (row.inputs, row.outputs, row.sats))).collect();
    assert_eq!(found, gathered.collect(), "consolidations");
}

fn assert_height_equal(
    view: &View<'_>,
    expected: &Clusters,
    ids: &HashMap<&ScriptBuf, ScriptId>,
    rng: &mut ChaCha8Rng,
) {
    let at = view.as_of(expected.height()).unwrap();
    let mut roots: BTreeMap<ClusterRoot, &ScriptBuf> = BTreeMap::new();
    let mut strangers: Option<&ScriptBuf> = None;
    for members in expected.all() {
        let of: Vec<ScriptId> = members.iter().map(|script| ids[*script]).collect();
        let found = view.clusters().of_scripts(&of, at).unwrap();
        for (membership, script) in found.iter().zip(&of) {
            assert_eq!(view.clusters().of_script(*script, at).unwrap(), *membership);
            assert_eq!(membership.script, *script);
            assert_eq!(membership.root, found[0].root, "as of {}: {members:?} are not together", at.height);
            assert!(membership.path.is_sorted_by_key(|tie| tie.by), "links rise along the path");
            assert!(membership.path.iter().all(|tie| tie.by < at.tx_end));
        }
        let Some(root) = found[0].root else {
            assert_eq!(members.len(), 1, "as of {}: {members:?} have no cluster", at.height);
            assert!(expected.transactions(members[0]).is_empty());
            continue;
        };
        if let Some(other) = roots.insert(root, members[0]) {
            panic!("as of {}: {other:x} and {:x} are together", at.height, members[0]);
        }
        let transactions = expected.transactions(members[0]);
        let size = view.clusters().size(root, at).unwrap().expect("few children");
        assert_eq!((size.scripts, size.transactions), (members.len() as u64, transactions.len() as u64));
        let tip = at.height == view.tip().height;
        assert_eq!(size.balance, tip.then(|| expected.balance(members[0])), "balance as of {}", at.height);
        // The cluster is named after one of its transactions, and each of them leads to it.
        assert!(transactions.contains(&root.0));
        for tx in &transactions {
            let (of_tx, path) = view.clusters().of_node(*tx, at).unwrap().expect("a cluster");
            assert_eq!((of_tx, path.is_empty()), (root, *tx == root.0));
            let before = AsOf { tx_end: *tx, ..at };
            assert_eq!(view.clusters().of_node(*tx, before).unwrap(), None, "a cluster before its transaction");
        }
        pages(view, root, at, of.iter().copied().collect(), rng);
        if size.transactions == 2 {
            // The second joined by itself, and has no children.
            let below = "0.0.0".parse().unwrap();
            assert_eq!(view.clusters().members(root, at, &below, 1).unwrap(), None);
        }
        explanations(view, expected, ids, at, &members, strangers, rng);
        strangers = Some(members[0]);
    }
}

fn pages(view: &View<'_>, root: ClusterRoot, at: AsOf, expected: BTreeSet<ScriptId>, rng: &mut ChaCha8Rng) {
    let limit = rng.random_range(1..expected.len() + 3);
    let (mut found, mut next) = (Vec::new(), Some(MemberPlace::default()));
    while let Some(place) = next {
        assert_eq!(place.to_string().parse::<MemberPlace>().unwrap(), place);
        let page = view.clusters().members(root, at, &place, limit).unwrap().expect("a place of the cluster");
        assert!(page.next.is_none() || page.scripts.len() == limit);
        found.extend(page.scripts);
        next = page.next;
    }
    assert_eq!(found.len(), expected.len(), "as of {}", at.height);
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected);
    let beyond: MemberPlace = format!("{}.0", 1_000_000).parse().unwrap();
    assert_eq!(view.clusters().members(root, at, &beyond, 1).unwrap(), None);
}

fn explanations(
    view: &View<'_>,
    expected: &Clusters,
    ids: &HashMap<&ScriptBuf, ScriptId>,
    at: AsOf,
    members: &[&ScriptBuf],
    stranger: Option<&ScriptBuf>,
    rng: &mut ChaCha8Rng,
) {
    let names: HashMap<ScriptId, &ScriptBuf> = members.iter().map(|script| (ids[*script], *script)).collect();
    for _ in 0..4 {
        let [a, b] = [(); 2].map(|()| members[rng.random_range(0..members.len())]);
        let explained = view.clusters().explain(ids[a], ids[b], at).unwrap();
        let Explanation::Steps(steps) = explained else { panic!("{a:x} and {b:x}: {explained:?}") };
        let steps: Vec<_> =
            steps.iter().map(|step| (names[&step.from].clone(), step.by, names[&step.to].clone())).collect();
        expected.explains(&steps, a, b).unwrap();
    }
    if let Some(stranger) = stranger {
        assert_eq!(view.clusters().explain(ids[stranger], ids[members[0]], at).unwrap(), Explanation::Apart);
    }
}

fn bands(view: &View<'_>, oracle: &Oracle, height: u32) {
    let last = view.days().last_of_day(height).unwrap();
    let bands = clusters_of(oracle, last).balance_bands();
    let each =
        bands.iter().flat_map(|(band, of)| [(*band, i128::from(of.holders)), (BANDS + band, i128::from(of.sats))]);
    let found = view.days().clusters(oracle.day(last)).unwrap();
    let found = Sums::of(found.iter().filter(|(position, _)| *position < NET_EXTERNAL)).unwrap();
    assert_eq!(found, Sums::of(each).unwrap(), "clusters by balance at {last}");
}
