//! The oracle's clusters against chains that were reckoned by hand.

mod common;

use std::collections::BTreeMap;

use bitcoin::{Script, ScriptBuf, Transaction, Witness};
use cairn_model::{Network, TxNum};
use cairn_testkit::{
    BCubed, BalanceBand, ClusterId, Clusters, Coin, Oracle, anyone_can_pay, b_cubed, clusters_of_perfect_eligibility,
};
use common::{chain, coinbase, script, spend, spend_with, to};

/// A signature of r = s = 1 in DER form with a type of signature hash.
fn der(kind: u8) -> Vec<u8> {
    vec![0x30, 6, 2, 1, 1, 2, 1, 1, kind]
}

fn pushed(items: &[&[u8]]) -> Vec<u8> {
    items.iter().flat_map(|item| [&[item.len() as u8], *item].concat()).collect()
}

fn never(_: &Transaction, _: &[Coin]) -> bool {
    false
}

/// The scripts of these chains are of no known kind.
fn any_owner(_: &Script) -> bool {
    true
}

fn names(scripts: Vec<&ScriptBuf>) -> String {
    // A script of these chains is a push of one byte, its name.
    scripts.iter().map(|script| char::from(script.as_bytes()[1])).collect()
}

/// Transactions by number: genesis 0, c1 1, c2 2, ab 3 (a and b pay f), c3 4, cd 5 (c and d pay a), c4 6, lone 7 (two
/// coins of f), mixed 8 (b and e), c5 9, stranger 10 (d, and g with ANYONECANPAY).
fn united() -> Oracle {
    let c1 = coinbase(1, vec![to(b'a', 10), to(b'b', 20), to(b'c', 30), to(b'd', 40), to(b'e', 50)]);
    let ab = spend(&[(&c1, 0), (&c1, 1)], vec![to(b'f', 12), to(b'f', 13), to(b'b', 5)]);
    let cd = spend(&[(&c1, 2), (&c1, 3)], vec![to(b'a', 60), to(b'd', 7)]);
    let lone = spend(&[(&ab, 0), (&ab, 1)], vec![to(b'f', 25)]);
    let mixed = spend(&[(&ab, 2), (&c1, 4)], vec![to(b'g', 27), to(b'h', 27)]);
    let stranger = spend_with(&[(&cd, 1, pushed(&[&der(1)])), (&mixed, 0, pushed(&[&der(0x81)]))], vec![to(b'i', 34)]);
    Oracle::of(
        Network::Regtest,
        &chain(vec![
            (0, vec![c1]),
            (1, vec![coinbase(2, vec![to(b'm', 1_000)]), ab]),
            (2, vec![coinbase(3, vec![]), cd]),
            (3, vec![coinbase(4, vec![]), lone, mixed]),
            (4, vec![coinbase(5, vec![]), stranger]),
        ]),
    )
}

fn all(clusters: &Clusters) -> Vec<String> {
    let mut all: Vec<String> = clusters.all().map(names).collect();
    all.sort();
    all
}

#[test]
fn clusters_grow_with_the_height() {
    let oracle = united();
    let at = |height| Clusters::at(&oracle, height, &never, &any_owner);
    assert!(all(&at(0)).is_empty());
    assert_eq!(all(&at(1)), ["a", "b", "c", "d", "e"]);
    assert_eq!(all(&at(2)), ["ab", "c", "d", "e", "f", "m"]);
    assert_eq!(all(&at(3)), ["ab", "cd", "e", "f", "m"]);
    // Two coins of one script unite nothing; b brings e to a.
    assert_eq!(all(&at(4)), ["abe", "cd", "f", "g", "h", "m"]);
    // The input with ANYONECANPAY is left out, and d alone is not two scripts.
    assert_eq!(all(&at(5)), ["abe", "cd", "f", "g", "h", "i", "m"]);

    let last = at(5);
    assert_eq!(last.height(), 5);
    assert_eq!(last.cluster_of(&script(b'e')), ClusterId(script(b'a')));
    assert_eq!(last.cluster_of(&script(b'a')), last.cluster_of(&script(b'b')));
    assert_eq!(last.cluster_of(&script(b'd')), ClusterId(script(b'c')));
    assert_eq!(last.transactions(&script(b'e')), [TxNum(3), TxNum(8)]);
    assert_eq!(last.transactions(&script(b'c')), [TxNum(5)]);
    assert!(last.transactions(&script(b'f')).is_empty());
    let eligible: Vec<u64> = last.eligible().keys().map(|number| number.0).collect();
    assert_eq!(eligible, [3, 5, 8]);
    assert!(last.is_eligible(TxNum(3)) && !last.is_eligible(TxNum(7)) && !last.is_eligible(TxNum(10)));

    // A script without a coin is a cluster of its own, and has no member.
    let unknown = script(b'z');
    assert_eq!(last.cluster_of(&unknown), ClusterId(unknown.clone()));
    assert!(last.members(&unknown).is_empty());
    assert_eq!(last.balance(&unknown), 0);
    // One that gets its first coin later too.
    assert!(at(3).members(&script(b'g')).is_empty());
}

#[test]
fn balances_are_those_of_the_height() {
    let oracle = united();
    let balance = |height, name| Clusters::at(&oracle, height, &never, &any_owner).balance(&script(name));
    // a 10, b 20; then b 5; then b 5 and a 60; then a 60.
    assert_eq!([1, 2, 3, 4].map(|height| balance(height, b'a')), [10, 5, 65, 60]);
    assert_eq!(balance(4, b'e'), 60);
    assert_eq!([2, 3, 5].map(|height| balance(height, b'd')), [40, 7, 0]);

    // At height 4: abe 60, cd 7, f 25, g 27, h 27, m 1 000.
    let band = |holders, sats| BalanceBand { holders, sats };
    let bands = Clusters::at(&oracle, 4, &never, &any_owner).balance_bands();
    assert_eq!(bands.into_iter().collect::<Vec<_>>(), [(0, band(1, 7)), (1, band(4, 139)), (3, band(1, 1_000))]);
}

#[test]
fn coinjoins_unite_nothing() {
    let oracle = united();
    let ab = oracle.txs()[3].txid;
    let judged = std::cell::RefCell::new(Vec::new());
    let is_coinjoin = |tx: &Transaction, coins: &[Coin]| {
        assert_eq!(tx.input.len(), coins.len());
        judged.borrow_mut().push(coins.iter().map(|coin| coin.value_sats).collect::<Vec<_>>());
        tx.compute_txid() == ab
    };
    let clusters = Clusters::at(&oracle, 5, &is_coinjoin, &any_owner);
    assert_eq!(all(&clusters), ["a", "be", "cd", "f", "g", "h", "i", "m"]);
    assert!(!clusters.is_eligible(TxNum(3)));
    // Coins come in the order of the inputs, and no coinbase is asked about.
    assert_eq!(*judged.borrow(), [vec![10, 20], vec![30, 40], vec![12, 13], vec![5, 50], vec![7, 27]]);
}

#[test]
fn perfect_eligibility_unites_by_owner() {
    let oracle = united();
    // a, b and e are one owner's, c and d another's, g the first one's again; f has none.
    let owner_of = |script: &Script| match script.as_bytes()[1] {
        b'a' | b'b' | b'e' | b'g' => Some(1),
        b'c' | b'd' => Some(2),
        _ => None,
    };
    let at = |height| {
        let clusters = clusters_of_perfect_eligibility(&oracle, height, &owner_of);
        let mut members: BTreeMap<ClusterId, Vec<&ScriptBuf>> = BTreeMap::new();
        for (script, cluster) in &clusters {
            members.entry(cluster.clone()).or_default().push(script);
        }
        members.into_values().map(names).collect::<Vec<_>>()
    };
    // Heights as in clusters_grow_with_the_height; nothing shows that g is of a's owner.
    assert_eq!(at(2), ["ab", "c", "d", "e", "f", "m"]);
    assert_eq!(at(5), ["abe", "cd", "f", "g", "h", "i", "m"]);
    // If d and g were one owner's, the last transaction would show it, although g signed with ANYONECANPAY.
    let owner_of = |script: &Script| matches!(script.as_bytes()[1], b'd' | b'g').then_some(());
    let clusters = clusters_of_perfect_eligibility(&oracle, 5, &owner_of);
    assert_eq!(clusters[&script(b'g')], ClusterId(script(b'd')));
    assert_eq!(clusters[&script(b'c')], ClusterId(script(b'c')));
}

#[test]
fn b_cubed_by_hand() {
    let of = |items: &[(u32, char)]| b_cubed(items.iter().copied());
    assert_eq!(of(&[]), BCubed { precision: 1.0, recall: 1.0 });
    assert_eq!(of(&[(1, 'a'), (1, 'a'), (2, 'b')]), BCubed { precision: 1.0, recall: 1.0 });
    // Every item alone: each of a's three sees a third of its owner.
    assert_eq!(of(&[(1, 'a'), (2, 'a'), (3, 'a'), (4, 'b')]), BCubed { precision: 1.0, recall: 0.5 });
    // All in one: a's two see half of the cluster, as b's two.
    assert_eq!(of(&[(1, 'a'), (1, 'a'), (1, 'b'), (1, 'b')]), BCubed { precision: 0.5, recall: 1.0 });
    // a's items: 2/3 and 2/3 in cluster 1, 1 in cluster 2; b's: 1/3. Recall: 2/3, 2/3, 1/3 and 1.
    let mixed = of(&[(1, 'a'), (1, 'a'), (1, 'b'), (2, 'a')]);
    assert!((mixed.precision - 8.0 / 12.0).abs() < 1e-12 && (mixed.recall - 8.0 / 12.0).abs() < 1e-12, "{mixed:?}");
    let uneven = of(&[(1, 'a'), (1, 'a'), (1, 'a'), (1, 'b'), (2, 'b')]);
    assert!((uneven.precision - (9.0 / 4.0 + 1.0 / 4.0 + 1.0) / 5.0).abs() < 1e-12, "{uneven:?}");
    assert!((uneven.recall - (3.0 + 0.5 + 0.5) / 5.0).abs() < 1e-12, "{uneven:?}");
}

#[test]
fn explanations_are_checked_step_by_step() {
    let oracle = united();
    let clusters = Clusters::at(&oracle, 5, &never, &any_owner);
    let step = |from, tx_num, to| (script(from), TxNum(tx_num), script(to));
    let explains = |path: &[_], a, b| clusters.explains(path, &script(a), &script(b)).err();
    let good = [step(b'a', 3, b'b'), step(b'b', 8, b'e')];
    assert_eq!(explains(&good, b'a', b'e'), None);
    assert_eq!(explains(&[], b'a', b'a'), None);

    let wrong = |path: &[_], a, b, what: &str| {
        let error = explains(path, a, b).unwrap_or_default();
        assert!(error.contains(what), "{error}");
    };
    wrong(&good, b'b', b'e', "step 0 starts at");
    wrong(&good, b'a', b'b', "the path ends at");
    wrong(&[], b'a', b'b', "the path ends at");
    wrong(&[step(b'a', 3, b'b'), step(b'a', 8, b'e')], b'a', b'e', "step 1 starts at");
    wrong(&[step(b'a', 3, b'e')], b'a', b'e', "does not unite");
    wrong(&[step(b'a', 7, b'e')], b'a', b'e', "not eligible");
    wrong(&[step(b'd', 10, b'g')], b'd', b'g', "not eligible");
    let before = Clusters::at(&oracle, 3, &never, &any_owner);
    assert!(before.explains(&good, &script(b'a'), &script(b'e')).is_err(), "transaction 8 comes later");
}

#[test]
fn anyone_can_pay_by_the_script_that_is_spent() {
    let coin = |script: &Script| Coin {
        tx_num: TxNum(0),
        value_sats: 1,
        script: script.to_owned(),
        height: 1,
        coinbase: false,
    };
    let funds = coinbase(1, vec![to(b'a', 1)]);
    let found = |script_sig: Vec<u8>, witness: &[&[u8]], script: &Script| {
        let mut tx = spend_with(&[(&funds, 0, script_sig)], vec![]);
        tx.input[0].witness = Witness::from_slice(witness);
        anyone_can_pay(&tx.input[0], &coin(script))
    };
    let legacy = script(b'a');
    let key = [2; 33];
    for (kind, expected) in [(0x01, false), (0x03, false), (0x81, true), (0x82, true), (0x83, true)] {
        assert_eq!(found(pushed(&[&der(kind), &key]), &[], &legacy), expected);
        assert_eq!(found(vec![], &[&der(kind), &key], &legacy), expected);
        // One of several signatures is enough.
        assert_eq!(found(pushed(&[&[], &der(1), &der(kind)]), &[], &legacy), expected);
    }
    // Bytes that end in the same byte and are not a signature.
    assert!(!found(pushed(&[&[0x81; 9]]), &[], &legacy));
    assert!(!found(vec![], &[&[0x30, 0x81]], &legacy));

    let taproot = ScriptBuf::from_bytes([&[0x51, 0x20][..], &[7; 32]].concat());
    let mut signature = [7; 65];
    signature[64] = 0x81;
    let control = [0xc0; 33];
    assert!(found(vec![], &[&signature], &taproot));
    assert!(found(vec![], &[&signature, &[0x50, 1]], &taproot), "the annex is left out");
    assert!(found(vec![], &[&signature, &[0x51], &control], &taproot));
    assert!(!found(vec![], &[&[7; 64]], &taproot));
    assert!(!found(vec![], &[&[7; 64], &[0x51], &signature], &taproot), "the control block is no signature");
    assert!(!found(vec![], &[&signature, &key], &legacy), "Schnorr signatures are of taproot only");
}
