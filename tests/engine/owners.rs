//! Clusters by the rule of the index against the owners that generated chains know. The index has the same clusters as
//! the oracle (every other test of this folder); `docs/clusters.md` has the figures.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::{Block, Script, ScriptBuf, Txid};
use cairn_chaingen::{EverythingOptions, Joint, Owners, Truth, owned_everything};
use cairn_model::Network;
use cairn_support::cospending::clusters_of;
use cairn_testkit::{BCubed, ClusterId, Oracle, b_cubed, clusters_of_perfect_eligibility};

/// The figures of one kind of chain: precision and recall of the index, recall of perfect eligibility, in thousandths,
/// and transactions that tie strangers together, by what they are.
#[derive(PartialEq, Eq, Debug)]
struct Figures {
    precision: u32,
    recall: u32,
    best_recall: u32,
    false_merges: BTreeMap<String, usize>,
}

fn thousandths(part: f64) -> u32 {
    (part * 1_000.0) as u32
}

fn judged(clusters: &BTreeMap<ScriptBuf, ClusterId>, truth: &Truth) -> BCubed {
    b_cubed(clusters.iter().filter_map(|(script, cluster)| Some((cluster, truth.owner(script)?))))
}

fn figures(joint: &[Joint]) -> Figures {
    let options = EverythingOptions { blocks: 200, max_txs: 10, forks: vec![3], showpieces: false };
    let owners = Owners { count: 20, joint: joint.to_vec(), keyless: true };
    let (chain, truth) = owned_everything(77, &options, owners).unwrap();
    let blocks: Vec<Block> = chain.active().into_iter().map(|mined| mined.block.clone()).collect();
    let oracle = Oracle::of(Network::Regtest, &blocks);
    let height = blocks.len() as u32 - 1;
    let clusters = clusters_of(&oracle, height);
    let by_script = clusters.all().flatten().map(|script| (script.clone(), clusters.cluster_of(script))).collect();
    let found = judged(&by_script, &truth);
    let owner_of = |script: &Script| truth.owner(script);
    let best = judged(&clusters_of_perfect_eligibility(&oracle, height, &owner_of), &truth);
    let told: BTreeMap<Txid, Joint> = truth.joint().iter().copied().collect();
    let mut false_merges: BTreeMap<String, usize> = BTreeMap::new();
    for (tx_num, scripts) in clusters.eligible() {
        let owners: BTreeSet<Option<u32>> = scripts.iter().map(|script| truth.owner(script)).collect();
        if owners.len() > 1 {
            // By txid: a merge that nobody meant would show here.
            let txid = oracle.txs()[tx_num.0 as usize].txid;
            let kind = told.get(&txid).map_or_else(|| format!("{txid}"), |kind| format!("{kind:?}"));
            *false_merges.entry(kind).or_default() += 1;
        }
    }
    Figures {
        precision: thousandths(found.precision),
        recall: thousandths(found.recall),
        best_recall: thousandths(best.recall),
        false_merges,
    }
}

#[test]
fn the_published_figures_hold() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/clusters.md")).unwrap();
    let kinds: [(&str, &[Joint]); 3] = [
        ("no transaction of several owners", &[]),
        ("CoinJoins and pledges", &[Joint::CoinJoin, Joint::Pledge]),
        ("CoinJoins, pledges, PayJoins and mixers", &[Joint::CoinJoin, Joint::Pledge, Joint::PayJoin, Joint::Mixer]),
    ];
    for (name, joint) in kinds {
        let figures = figures(joint);
        let part = |part: u32| format!("{}.{:03}", part / 1_000, part % 1_000);
        let merges: Vec<String> = figures.false_merges.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        let merges = if merges.is_empty() { "none".to_owned() } else { merges.join(", ") };
        let line = format!(
            "| {name} | {} | {} | {} | {merges} |",
            part(figures.precision),
            part(figures.recall),
            part(figures.best_recall)
        );
        assert!(page.contains(&line), "docs/clusters.md lacks the line\n{line}");
        // Only kinds that the detectors cannot distinguish from payments tie strangers together.
        assert!(figures.false_merges.keys().all(|kind| ["PayJoin", "Mixer"].contains(&&kind[..])), "{figures:?}");
        assert_eq!(figures.precision == 1_000, figures.false_merges.is_empty(), "{figures:?}");
    }
}
