use std::collections::BTreeSet;

use bitcoin::Txid;
use bitcoin::consensus::encode::serialize_hex;
use bitcoincore_zmq::SequenceMessage::{self, BlockConnect, MempoolAcceptance, MempoolRemoval};
use cairn_chaingen::Everything;
use cairn_standin::{BlockPlan, Error, Payment, RejectKind, Source, StandIn, StandInOptions, Txs};
use serde_json::{Value, json};

use crate::client::{rpc, try_rpc};
use crate::listener::Listener;
use crate::node;

fn names(txids: &[Txid]) -> BTreeSet<String> {
    txids.iter().map(Txid::to_string).collect()
}

fn listed(value: &Value) -> BTreeSet<String> {
    value.as_array().unwrap().iter().map(|txid| txid.as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_chain_and_its_sums() {
    let node = node(105);
    let txids = node.world().send_chain(4, 3_000).unwrap();
    let entry = |txid: &Txid| rpc(&node, "getmempoolentry", json!([txid.to_string()]));
    let pool = node.world().pool();
    let of = |txid: &Txid| pool.iter().find(|tx| tx.txid == *txid).unwrap();
    let sizes: Vec<u64> = txids.iter().map(|txid| of(txid).vsize).collect();
    let second = entry(&txids[1]);
    assert_eq!((&second["ancestorcount"], &second["descendantcount"]), (&json!(2), &json!(3)));
    assert_eq!(second["ancestorsize"], sizes[0] + sizes[1]);
    assert_eq!(second["descendantsize"], sizes[1] + sizes[2] + sizes[3]);
    assert_eq!((listed(&second["depends"]), listed(&second["spentby"])), (names(&txids[..1]), names(&txids[2..3])));
    assert_eq!((second["fees"]["base"].as_f64().unwrap() * 1e8).round() as u64, of(&txids[1]).fee);
    assert_eq!((&second["time"], &second["height"]), (&json!(1_700_000_000), &json!(105)));
    let above = rpc(&node, "getmempoolancestors", json!([txids[3].to_string()]));
    assert_eq!(listed(&above), names(&txids[..3]));
    let below = rpc(&node, "getmempooldescendants", json!([txids[1].to_string(), true]));
    assert_eq!(below.as_object().unwrap().len(), 2);
    let info = rpc(&node, "getmempoolinfo", json!([]));
    assert_eq!((&info["size"], &info["bytes"]), (&json!(4), &json!(sizes.iter().sum::<u64>())));
    assert_eq!(info["minrelaytxfee"], 0.00001);
}

#[test]
fn replacement_removes_the_family_first() {
    let node = node(105);
    let txids = node.world().send_chain(3, 3_000).unwrap();
    let listener = Listener::new(&node);
    let (poor, rich) = {
        let mut world = node.world();
        let rich = world.bump(&txids[0], 20_000).unwrap();
        let mut poor = rich.clone();
        // Not enough for the fees of all three.
        let old_fee = world.pool().iter().find(|tx| tx.txid == txids[0]).unwrap().fee;
        let fee = rich.vsize() as u64 * 20;
        poor.output.iter_mut().max_by_key(|txout| txout.value).unwrap().value +=
            bitcoin::Amount::from_sat(fee - old_fee - 200);
        (poor, rich)
    };
    let (code, message) = try_rpc(&node, "sendrawtransaction", json!([serialize_hex(&poor)])).unwrap_err();
    assert!(code == -26 && message.starts_with("insufficient fee"), "{code} {message}");
    let answer = rpc(&node, "testmempoolaccept", json!([[serialize_hex(&poor)]]));
    assert_eq!((&answer[0]["allowed"], &answer[0]["reject-reason"]), (&json!(false), &json!("insufficient fee")));
    let answer = rpc(&node, "testmempoolaccept", json!([[serialize_hex(&rich)]]));
    assert_eq!((&answer[0]["allowed"], &answer[0]["vsize"]), (&json!(true), &json!(rich.vsize())));
    assert_eq!(node.world().pool_txids().len(), 3, "a test changes nothing");
    let txid = rpc(&node, "sendrawtransaction", json!([serialize_hex(&rich)]));
    assert_eq!(txid, rich.compute_txid().to_string());
    let sequence = listener.drain_sequence();
    let mut removed: Vec<Txid> = Vec::new();
    for (at, message) in sequence.iter().enumerate() {
        match message {
            MempoolRemoval { txid, mempool_sequence } => {
                assert_eq!(*mempool_sequence, 4 + at as u64);
                removed.push(*txid);
            }
            other => assert_eq!(*other, MempoolAcceptance { txid: rich.compute_txid(), mempool_sequence: 7 }),
        }
    }
    assert_eq!((sequence.len(), names(&removed)), (4, names(&txids)));
    assert_eq!(node.world().pool_txids(), [rich.compute_txid()]);
    // A second time it is there already: no error, nothing happens.
    rpc(&node, "sendrawtransaction", json!([serialize_hex(&rich)]));
    assert_eq!(node.world().pool_sequence(), 8);
}

#[test]
fn a_block_removes_in_silence_and_tells_of_conflicts() {
    let node = node(110);
    let (kept, lost) = {
        let mut world = node.world();
        let kept = world.send_chain(2, 3_000).unwrap();
        let lost = world.send_chain(2, 3_000).unwrap();
        (kept, lost)
    };
    let listener = Listener::new(&node);
    let hash = {
        let mut world = node.world();
        let rival = world.conflict(&lost[0], 9_000).unwrap();
        let pool = world.pool();
        let first = pool.iter().find(|tx| tx.txid == kept[0]).unwrap().tx.as_ref().clone();
        world.mine_plan(&BlockPlan { txs: Txs::Only(vec![first, rival]), ..BlockPlan::default() }).unwrap()
    };
    let sequence = listener.drain_sequence();
    // 5: the confirmed one, without a message. 6 and 7: the conflict and its child, in the order of their ids.
    let mut gone = lost.clone();
    gone.sort();
    let removal = |at: usize| MempoolRemoval { txid: gone[at], mempool_sequence: 6 + at as u64 };
    assert_eq!(sequence, [removal(0), removal(1), BlockConnect { blockhash: hash }]);
    assert_eq!(
        rpc(&node, "getrawmempool", json!([false, true])),
        json!({
            "txids": [kept[1].to_string()],
            "mempool_sequence": 8,
        })
    );
    let entry = rpc(&node, "getmempoolentry", json!([kept[1].to_string()]));
    assert_eq!((&entry["ancestorcount"], &entry["depends"]), (&json!(1), &json!([])));
}

#[test]
fn refusals() {
    let node = node(101);
    let mut world = node.world();
    let good = world.pay(&Payment::default()).unwrap();
    let reject = |result: Result<Txid, Error>| match result {
        Err(Error::Reject(reject)) => (reject.kind, reject.to_string()),
        other => panic!("{other:?}"),
    };
    let mut missing = good.clone();
    missing.input[0].previous_output.vout = 77;
    let words = "bad-txns-inputs-missingorspent".to_owned();
    assert_eq!(reject(world.add_tx(missing.clone())), (RejectKind::MissingInputs, words));
    let mut greedy = good.clone();
    greedy.output[0].value = bitcoin::Amount::from_sat(6_000_000_000);
    assert_eq!(reject(world.add_tx(greedy)).1, "bad-txns-in-belowout");
    let cheap = world.pay(&Payment::at(900)).unwrap();
    assert!(reject(world.add_tx(cheap)).1.starts_with("min relay fee not met, "));
    let next = world.height() + 1;
    let late = Payment { lock_time: bitcoin::absolute::LockTime::from_height(next).unwrap(), ..Payment::default() };
    let late = world.pay(&late).unwrap();
    assert_eq!(reject(world.add_tx(late)).1, "non-final");
    let immature = bitcoin::OutPoint { txid: world.active()[50].block.txdata[0].compute_txid(), vout: 0 };
    let young = world.pay(&Payment::of(immature, 5_000)).unwrap();
    assert_eq!(reject(world.add_tx(young)).1, "bad-txns-premature-spend-of-coinbase");
    world.add_tx(good.clone()).unwrap();
    assert_eq!(reject(world.add_tx(good.clone())), (RejectKind::InMempool, "txn-already-in-mempool".to_owned()));
    world.mine(1).unwrap();
    drop(world);
    let send = |tx| try_rpc(&node, "sendrawtransaction", json!([serialize_hex(tx)])).unwrap_err();
    assert_eq!(send(&good), (-27, "Transaction outputs already in utxo set".to_owned()));
    assert_eq!(send(&missing).0, -25);
    let dear = node.world().pay(&Payment::at(20_000_000)).unwrap();
    assert_eq!(send(&dear).0, -25);
    rpc(&node, "sendrawtransaction", json!([serialize_hex(&dear), 0]));
    let answers = rpc(&node, "testmempoolaccept", json!([[serialize_hex(&missing)]]));
    assert_eq!(answers[0]["reject-reason"], "missing-inputs");
}

#[test]
fn versions_differ_in_replacement_and_limits() {
    let start =
        |version| StandIn::start(StandInOptions { version, premine: 110, ..StandInOptions::default() }).unwrap();
    let old = start(250_000);
    let fixed = Payment { replaceable: false, ..Payment::default() };
    let txid = old.world().send(&fixed).unwrap();
    let rival = old.world().conflict(&txid, 50_000).unwrap();
    assert!(matches!(old.world().add_tx(rival), Err(Error::Reject(reject)) if reject.reason == "txn-mempool-conflict"));
    let full = start(280_000);
    let txid = full.world().send(&fixed).unwrap();
    let rival = full.world().conflict(&txid, 50_000).unwrap();
    full.world().add_tx(rival).unwrap();
    let chain = full.world().send_chain(26, 3_000);
    assert!(matches!(chain, Err(Error::Reject(reject)) if reject.reason == "too-long-mempool-chain"));
    let clustered = start(310_000);
    clustered.world().send_chain(64, 3_000).unwrap();
    assert_eq!(clustered.world().pool_txids().len(), 64);
    let last = clustered.world().pool().iter().find(|tx| tx.descendants.is_empty()).unwrap().txid;
    let more = clustered.world().cpfp(&last, 9_000);
    assert!(matches!(more, Err(Error::Reject(reject)) if reject.reason == "too-large-cluster"));
    assert_eq!(rpc(&clustered, "getmempoolinfo", json!([]))["minrelaytxfee"], 0.000001);
}

#[test]
fn eviction_and_expiry() {
    let node = node(130);
    let mut world = node.world();
    world.fan_out(30, 1_000_000).unwrap();
    let cheap = world.send_chain(2, 1_500).unwrap();
    for rate in 0..10 {
        world.send(&Payment::at(5_000 + rate * 100)).unwrap();
    }
    let usage = 9_000;
    let before = world.pool_sequence();
    world.trim(usage);
    let left = world.pool_txids();
    assert!(left.len() < 12 && !left.contains(&cheap[0]) && !left.contains(&cheap[1]));
    assert_eq!(world.pool_sequence(), before + 12 - left.len() as u64);
    drop(world);
    let floor = rpc(&node, "getmempoolinfo", json!([]))["mempoolminfee"].as_f64().unwrap();
    assert!(floor > 0.000_024, "{floor}");
    let mut world = node.world();
    let cheap = world.pay(&Payment::at(1_200)).unwrap();
    assert!(matches!(world.add_tx(cheap.clone()), Err(Error::Reject(r)) if r.reason == "mempool min fee not met"));
    world.set_min_fee(0);
    world.add_tx(cheap).unwrap();
    world.set_time(Some(1_700_001_000));
    let young = world.send(&Payment::default()).unwrap();
    world.expire(1_700_000_500);
    assert_eq!(world.pool_txids(), [young]);
    world.evict(&young).unwrap();
    assert!(matches!(world.evict(&young), Err(Error::UnknownTx(_))));
    assert!(world.pool_txids().is_empty());
}

#[test]
fn a_child_pays_its_parent_into_the_template() {
    let node = node(130);
    let (parent, child) = {
        let mut world = node.world();
        world.fan_out(20, 1_000_000).unwrap();
        let parent = world.send(&Payment::at(1_000)).unwrap();
        for _ in 0..5 {
            world.send(&Payment::at(8_000)).unwrap();
        }
        let child = world.cpfp(&parent, 30_000).unwrap();
        assert_eq!(world.template()[..2], [parent, child]);
        (parent, child)
    };
    let template = rpc(&node, "getblocktemplate", json!([{ "rules": ["segwit"] }]));
    let txs = template["transactions"].as_array().unwrap();
    assert_eq!((&txs[0]["txid"], &txs[1]["txid"]), (&json!(parent.to_string()), &json!(child.to_string())));
    assert_eq!((&txs[0]["depends"], &txs[1]["depends"]), (&json!([]), &json!([1])));
    let fees: u64 = txs.iter().map(|tx| tx["fee"].as_u64().unwrap()).sum();
    assert_eq!(fees, node.world().pool().iter().map(|tx| tx.fee).sum::<u64>());
    assert_eq!(template["coinbasevalue"], 5_000_000_000u64 + fees);
    let block = node.world().mine(1).unwrap()[0];
    let block = node.world().block(&block).unwrap();
    assert_eq!(block.txdata[1].compute_txid(), parent);
    assert!(node.world().pool_txids().is_empty());
}

/// Whatever happens, a client that applies every message to a snapshot has the node's mempool.
#[test]
fn the_messages_tell_all() {
    use rand::seq::IndexedRandom;
    use rand::{Rng, SeedableRng};
    for seed in 0..6 {
        // Every other run has the random generator, which spends the same coins as the wallet.
        let random = seed % 2 == 1;
        let source = random.then(|| Source::Everything(Box::new(Everything::new(seed, 8, false))));
        let options = StandInOptions { source, premine: 140, seed, ..StandInOptions::default() };
        let node = StandIn::start(options).unwrap();
        node.world().fan_out(60, 2_000_000).unwrap();
        let listener = Listener::new(&node);
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
        for _ in 0..120 {
            let mut world = node.world();
            let some = world.pool_txids().choose(&mut rng).copied();
            // A refused transaction changes nothing.
            match (rng.random_range(0..20), some) {
                (0..6, _) => drop(world.send(&Payment::at(rng.random_range(1_000..20_000)))),
                (6..9, _) => drop(world.send_chain(rng.random_range(1..5), 3_000)),
                (9..11, Some(txid)) => drop(world.replace(&txid, 9_000)),
                (11..13, Some(txid)) => drop(world.cpfp(&txid, 25_000)),
                (13, Some(txid)) => world.evict(&txid).unwrap(),
                (14, Some(txid)) => {
                    if let Ok(rival) = world.conflict(&txid, 5_000) {
                        let plan = BlockPlan { txs: Txs::Only(vec![rival]), ..BlockPlan::default() };
                        // Fails where the rival spends an unconfirmed coin.
                        let _ = world.mine_plan(&plan);
                    }
                }
                (15, _) => drop(world.mine(1).unwrap()),
                (16, _) => drop(world.reorg(rng.random_range(1..4), 4).unwrap()),
                (17, _) => {
                    let hash = world.hash_at(world.height() - 1).unwrap();
                    world.invalidate(&hash).unwrap();
                    world.mine(3).unwrap();
                }
                (18, _) if random => world.grow(2).unwrap(),
                (19, _) if random => world.fork(2, 3).unwrap(),
                _ => {}
            }
        }
        let mut pool: BTreeSet<Txid> = BTreeSet::new();
        let mut next = 1;
        let mut tips = Vec::new();
        let mut silent = BTreeSet::new();
        for message in listener.drain_sequence() {
            if let Some(number) = message.mempool_sequence() {
                assert!(number >= next, "numbers rise");
                silent.extend(next..number);
                next = number + 1;
            }
            match message {
                MempoolAcceptance { txid, .. } => assert!(pool.insert(txid)),
                MempoolRemoval { txid, .. } => assert!(pool.remove(&txid)),
                SequenceMessage::BlockConnect { blockhash } => {
                    tips.push(blockhash);
                    let block = node.world().block(&blockhash).unwrap();
                    for tx in &block.txdata {
                        pool.remove(&tx.compute_txid());
                    }
                }
                SequenceMessage::BlockDisconnect { blockhash } => {
                    if let Some(tip) = tips.pop() {
                        assert_eq!(tip, blockhash);
                    }
                }
            }
        }
        let world = node.world();
        assert_eq!(pool.into_iter().collect::<Vec<_>>(), world.pool_txids(), "seed {seed}");
        assert!(world.pool_sequence() >= next && !silent.is_empty());
        assert_eq!(tips.last(), Some(&world.tip()));
    }
}
