//! Owners of the scripts of the `everything` shape, with one owner and with several.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bitcoin::{OutPoint, Script, Transaction, Txid};
use cairn_chaingen::{
    Chain, Coin, Error, Everything, EverythingOptions, Joint, Owners, Truth, demo, everything, owned_everything,
};

fn options() -> EverythingOptions {
    EverythingOptions { blocks: 170, max_txs: 8, forks: vec![2, 9], showpieces: false }
}

fn owners(joint: &[Joint], keyless: bool) -> Owners {
    Owners { count: 15, joint: joint.to_vec(), keyless }
}

/// Every transaction that spends, with what it spends; one that was mined on two branches comes twice.
fn spends(chain: &Chain) -> impl Iterator<Item = (&Transaction, &Vec<Coin>)> {
    chain.arrivals().iter().flat_map(|mined| mined.block.txdata.iter().skip(1).zip(&mined.spent))
}

fn is_keyless(script: &Script) -> bool {
    matches!(script.as_bytes(), [0x51] | [0x51, 2, 0x4e, 0x73])
}

/// The owners whose coins a transaction spends.
fn parties(truth: &Truth, spent: &[Coin]) -> BTreeSet<u32> {
    spent.iter().filter_map(|coin| truth.owner(&coin.txout.script_pubkey)).collect()
}

#[test]
fn one_wallet_has_everything_of_the_usual_shape() {
    let mut generator = Everything::new(0, 12, true);
    generator.grow(200).unwrap();
    let mut scripts = BTreeSet::new();
    for (_, spent) in spends(generator.chain()) {
        for coin in spent {
            assert_eq!(generator.truth().owner(&coin.txout.script_pubkey), Some(0));
            scripts.insert(coin.txout.script_pubkey.clone());
        }
    }
    assert!(scripts.len() > 200);
    assert!(generator.truth().joint().is_empty());
    assert_eq!(generator.truth().owner(Script::from_bytes(&[0x6a])), None);
}

#[test]
fn owners_do_not_mix() {
    for (seed, showpieces) in [(1, false), (2, true)] {
        let options = EverythingOptions { showpieces, ..options() };
        let (chain, truth) = owned_everything(seed, &options, owners(&[], false)).unwrap();
        assert!(truth.joint().is_empty());
        let mut several_scripts = BTreeMap::<u32, u32>::new();
        for (tx, spent) in spends(&chain) {
            assert!(spent.iter().all(|coin| truth.owner(&coin.txout.script_pubkey).is_some()));
            let parties = parties(&truth, spent);
            assert_eq!(parties.len(), 1, "{}", tx.compute_txid());
            let scripts: BTreeSet<_> = spent.iter().map(|coin| &coin.txout.script_pubkey).collect();
            *several_scripts.entry(*parties.first().unwrap()).or_default() += u32::from(scripts.len() > 1);
        }
        // Everyone spends, and nearly everyone several scripts together.
        assert_eq!(several_scripts.len(), 15);
        assert!(several_scripts.values().filter(|&&count| count > 0).count() > 12, "{several_scripts:?}");
        for output in chain.arrivals().iter().flat_map(|mined| &mined.block.txdata).flat_map(|tx| &tx.output) {
            assert!(!is_keyless(&output.script_pubkey));
        }
        assert!(truth.owners().values().all(|&owner| owner < 15));
    }
}

#[test]
fn joint_transactions_are_told() {
    let kinds = [Joint::CoinJoin, Joint::Pledge, Joint::PayJoin, Joint::Mixer];
    let (chain, truth) = owned_everything(3, &options(), owners(&kinds, false)).unwrap();
    let told: HashMap<Txid, Joint> = truth.joint().iter().copied().collect();
    assert_eq!(told.len(), truth.joint().len());
    let mut counts = BTreeMap::<Joint, u32>::new();
    for (tx, spent) in spends(&chain) {
        let parties = parties(&truth, spent).len();
        let Some(&kind) = told.get(&tx.compute_txid()) else {
            assert_eq!(parties, 1, "{}", tx.compute_txid());
            continue;
        };
        *counts.entry(kind).or_default() += 1;
        let mut values: Vec<u64> = tx.output.iter().map(|output| output.value.to_sat()).collect();
        values.sort_unstable();
        let most_equal = values.chunk_by(|a, b| a == b).map(<[u64]>::len).max().unwrap();
        match kind {
            Joint::CoinJoin => {
                assert!((5..=9).contains(&parties) && most_equal >= parties && values.len() == 2 * parties);
            }
            Joint::Pledge => {
                assert!((3..=6).contains(&parties) && values.len() == 1);
                for (input, coin) in tx.input.iter().zip(spent) {
                    let mut items = input.witness.to_vec();
                    let pushes = input.script_sig.instructions().map(|each| each.unwrap());
                    items.extend(pushes.filter_map(|each| Some(each.push_bytes()?.as_bytes().to_vec())));
                    // ECDSA or Schnorr.
                    let signed = items
                        .iter()
                        .any(|item| item.last() == Some(&0x81) && (item.first() == Some(&0x30) || item.len() == 65));
                    assert!(signed, "{:x}", coin.txout.script_pubkey);
                }
            }
            Joint::PayJoin => assert_eq!((parties, values.len()), (2, 2)),
            Joint::Mixer => assert!((3..=6).contains(&parties) && most_equal == 1 && values.len() == 2 * parties),
        }
    }
    assert!(kinds.iter().all(|kind| counts.get(kind).is_some_and(|&count| count >= 5)), "{counts:?}");
}

#[test]
fn keyless_scripts_are_nobodys() {
    let (chain, truth) = owned_everything(4, &options(), owners(&[], true)).unwrap();
    let mut beside = BTreeSet::new();
    let mut made: HashMap<OutPoint, ()> = HashMap::new();
    for tx in chain.arrivals().iter().flat_map(|mined| &mined.block.txdata) {
        for (vout, output) in tx.output.iter().enumerate().filter(|(_, output)| is_keyless(&output.script_pubkey)) {
            assert_eq!(truth.owner(&output.script_pubkey), None);
            made.insert(OutPoint { txid: tx.compute_txid(), vout: vout as u32 }, ());
        }
    }
    for (tx, spent) in spends(&chain) {
        let parties = parties(&truth, spent);
        assert!(parties.len() <= 1);
        if tx.input.iter().any(|input| made.contains_key(&input.previous_output)) {
            beside.extend(parties);
        }
    }
    assert!(beside.len() >= 5, "owners who spend such a coin beside their own: {beside:?}");
}

#[test]
fn equal_seeds_have_equal_owners() {
    let make = |seed| {
        let (chain, truth) = owned_everything(seed, &options(), owners(&[Joint::Mixer], true)).unwrap();
        (chain.tip().hash(), truth.owners().clone(), truth.joint().to_vec())
    };
    assert_eq!(make(5), make(5));
    assert_ne!(make(5).0, make(6).0);
    assert_ne!(make(5).0, everything(5, &options()).unwrap().tip().hash());
    assert!(matches!(
        owned_everything(5, &options(), Owners { count: 0, joint: vec![], keyless: false }),
        Err(Error::Parameters(_))
    ));
}

/// Those of the demo chain: only its joint transactions mix participants.
#[test]
fn participants_of_the_demo_do_not_mix() {
    let (chain, owners) = demo::chain_and_owners(1).unwrap();
    assert_eq!(chain.tip().hash(), demo::chain(1).unwrap().tip().hash());
    let (mut joint, mut several_scripts) = (0, 0);
    for (tx, spent) in spends(&chain) {
        let parties: BTreeSet<u32> = spent.iter().map(|coin| owners[&coin.txout.script_pubkey]).collect();
        let mut values: Vec<u64> = tx.output.iter().map(|output| output.value.to_sat()).collect();
        values.sort_unstable();
        let most_equal = values.chunk_by(|a, b| a == b).map(<[u64]>::len).max().unwrap();
        if parties.len() > 1 {
            assert!(parties.len() >= 5 && most_equal >= parties.len(), "{}", tx.compute_txid());
            joint += 1;
        }
        let scripts: BTreeSet<_> = spent.iter().map(|coin| &coin.txout.script_pubkey).collect();
        several_scripts += u32::from(parties.len() == 1 && scripts.len() > 1);
    }
    assert!(joint >= 20 && several_scripts > 500, "{joint} {several_scripts}");
}
