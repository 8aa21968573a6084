//! Our chain brought to a node's through everything that chains do.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use cairn_model::{BlockHash, CancelToken};
use cairn_node::{ChainFollower, ChainStep, ChainUpdate, FetchOptions, HeaderChain, NodeClient, NodeError};
use common::{
    Server, toy,
    toy::{Ours, SharedToy, Toy, serve},
};

/// Does what the follower says until the tip; what it said, in short.
fn run(follower: &mut ChainFollower, ours: &mut Ours) -> Result<(u32, u32), NodeError> {
    let (mut on, mut off) = (0, 0);
    loop {
        match follower.next_step(&*ours)? {
            ChainStep::Disconnect { blocks, fork } => {
                ours.0.truncate(ours.0.len() - blocks as usize);
                assert_eq!(ours.0.len() as u32 - 1, fork);
                off += blocks;
            }
            ChainStep::Connect(block) => {
                assert_eq!(block.height as usize, ours.0.len());
                assert_eq!(block.previous(), ours.0.last().copied().unwrap_or_default());
                ours.0.push(block.hash());
                on += 1;
            }
            ChainStep::AtTip(tip) => {
                assert_eq!((tip.height as usize + 1, Some(&tip.hash)), (ours.0.len(), ours.0.last()));
                return Ok((on, off));
            }
        }
    }
}

struct Setup {
    toy: SharedToy,
    server: Server,
    follower: ChainFollower,
    ours: Ours,
}

fn setup(height: u32) -> Setup {
    let toy = Toy::new(height);
    let server = serve(&toy);
    let follower = ChainFollower::new(server.client(), FetchOptions::default());
    Setup { toy, server, follower, ours: Ours::default() }
}

impl Setup {
    fn run(&mut self) -> (u32, u32) {
        let counts = run(&mut self.follower, &mut self.ours).unwrap();
        assert_eq!(self.ours.0, self.toy.lock().unwrap().best);
        counts
    }
}

#[test]
fn from_nothing_to_the_tip_and_on() {
    let mut s = setup(2_500);
    s.toy.lock().unwrap().rest = true;
    assert_eq!(s.run(), (2_501, 0));
    assert_eq!(s.run(), (0, 0));
    s.toy.lock().unwrap().mine(1, 0);
    assert_eq!(s.run(), (1, 0));
    s.toy.lock().unwrap().mine(3, 0);
    assert_eq!(s.run(), (3, 0));
}

#[test]
fn reorgs_of_every_depth() {
    let mut s = setup(300);
    s.run();
    let mut salt = 0;
    for (off, on) in [(1, 1), (1, 2), (2, 3), (7, 8), (31, 32), (32, 33), (33, 30), (100, 101), (250, 400), (300, 1)] {
        salt += 1;
        s.toy.lock().unwrap().reorg(off, on, salt);
        assert_eq!(s.run(), (on, off as u32), "{off} off, {on} on");
        // Back to a height at which the next one fits.
        let missing = 300u32.saturating_sub(s.ours.0.len() as u32 - 1);
        s.toy.lock().unwrap().mine(missing, salt);
        s.run();
    }
}

#[test]
fn every_fork_is_found() {
    let toy = Toy::new(140);
    let server = serve(&toy);
    let chain = HeaderChain::new(server.client());
    let best = toy.lock().unwrap().best.clone();
    for fork in 0..140usize {
        for more in [1usize, 20] {
            let mut ours = Ours(best[..=fork].to_vec());
            ours.0.extend((0..more as u8).map(|n| BlockHash([n + 1; 32])));
            let update = chain.update(&ours, 5).unwrap();
            let connect: Vec<_> = update.connect.iter().map(|block| block.hash).collect();
            assert_eq!((update.fork_height, update.disconnect), (Some(fork as u32), more as u32));
            assert_eq!(connect, best[fork + 1..best.len().min(fork + 6)]);
        }
    }
}

#[test]
fn invalidated_blocks_come_off() {
    let mut s = setup(50);
    s.run();
    s.toy.lock().unwrap().best.truncate(41);
    assert_eq!(s.run(), (0, 10));
    assert_eq!(s.follower.node_tip().unwrap().height, 40);
}

#[test]
fn a_node_that_is_behind_is_waited_for() {
    let mut s = setup(50);
    s.run();
    let whole = s.toy.lock().unwrap().best.clone();
    {
        // Started again, not yet through its own blocks.
        let mut toy = s.toy.lock().unwrap();
        toy.best.truncate(41);
        toy.more_headers = 10;
    }
    let error = s.follower.next_step(&s.ours).unwrap_err();
    assert_eq!(error.to_string(), "the node is behind: it is at block 40 of 50, the index is at 50");
    assert!(error.is_worth_waiting() && !error.is_transient());
    {
        // A new data folder: nothing but genesis, no headers, and it says so.
        let mut toy = s.toy.lock().unwrap();
        toy.best.truncate(1);
        (toy.more_headers, toy.initial_download, toy.chain) = (0, true, "main");
    }
    assert!(matches!(s.follower.next_step(&s.ours), Err(NodeError::Behind { node: 0, ours: 50, .. })));
    {
        // On another branch, lower than we are, and still downloading.
        let mut toy = s.toy.lock().unwrap();
        toy.best = whole[..40].to_vec();
        toy.mine(3, 9);
    }
    assert!(matches!(s.follower.next_step(&s.ours), Err(NodeError::Behind { node: 42, .. })));
    s.toy.lock().unwrap().best = whole;
    assert_eq!(s.run(), (0, 0));
    // Higher than we are, it is believed even while it downloads.
    s.toy.lock().unwrap().reorg(5, 8, 9);
    assert_eq!(s.run(), (8, 5));
}

#[test]
fn pruned_and_foreign_nodes_are_refused() {
    let s = setup(50);
    let chain = HeaderChain::new(s.server.client());
    let best = s.toy.lock().unwrap().best.clone();
    s.toy.lock().unwrap().prune_height = Some(20);
    let lowest = |ours: &Ours| match chain.update(ours, 100) {
        Err(NodeError::Pruned { needed, lowest }) => Some((needed, lowest)),
        _ => None,
    };
    assert_eq!(lowest(&Ours::default()), Some(("0".to_owned(), Some(20))));
    assert_eq!(lowest(&Ours(best[..=18].to_vec())), Some(("19".to_owned(), Some(20))));
    assert!(chain.update(&Ours(best[..=19].to_vec()), 100).is_ok());
    let foreign = Ours(vec![BlockHash([1; 32]), BlockHash([2; 32])]);
    assert!(matches!(chain.update(&foreign, 100), Err(NodeError::OtherChain { theirs, .. }) if theirs == best[0]));
}

#[test]
fn a_reorg_while_blocks_are_fetched() {
    let mut s = setup(200);
    // After some blocks, at the next request whatever it is, the node goes elsewhere: below and above where we are.
    for (at, off) in [(50usize, 180usize), (120, 20)] {
        s.ours = Ours::default();
        s.follower = ChainFollower::new(s.server.client(), FetchOptions { ahead_blocks: 4, ..FetchOptions::default() });
        while s.ours.0.len() < at {
            match s.follower.next_step(&s.ours).unwrap() {
                ChainStep::Connect(block) => s.ours.0.push(block.hash()),
                other => panic!("{other:?}"),
            }
        }
        let tip = {
            let mut toy = s.toy.lock().unwrap();
            toy.reorg(off, off as u32 + 1, at as u32);
            toy.tip()
        };
        s.follower.announced(&tip.hash);
        let (_, undone) = s.run();
        let fork = s.toy.lock().unwrap().best.len() - off - 1;
        assert!(undone as usize <= at.saturating_sub(fork) + 1, "{undone} blocks undone");
    }
}

/// Our tip is at 100. The node goes to one chain, and to another before its nth answer to `method`. How many blocks
/// came off our chain until it was the node's.
fn disturbed(method: &'static str, nth: usize, first: impl FnOnce(&mut Toy), then: impl FnOnce(&mut Toy)) -> u32 {
    let mut s = setup(100);
    s.run();
    {
        let mut toy = s.toy.lock().unwrap();
        let ours = toy.best.clone();
        then(&mut toy);
        let later = std::mem::replace(&mut toy.best, ours);
        first(&mut toy);
        let mut count = 0;
        toy.before = Some(Box::new(move |best, asked| {
            if asked == method {
                if count == nth {
                    best.clone_from(&later);
                }
                count += 1;
            }
        }));
    }
    s.run().1
}

#[test]
fn a_reorg_between_any_two_answers_of_a_plan() {
    for nth in 0..40 {
        // Deeper than at first, and to a branch below a chain that only grew.
        disturbed("getblockhash", nth, |toy| toy.reorg(10, 11, 1), |toy| toy.reorg(30, 40, 2));
        disturbed("getblockhash", nth, |toy| toy.mine(11, 1), |toy| toy.reorg(30, 50, 2));
    }
    for nth in 0..12 {
        disturbed("getblockheader", nth, |toy| toy.reorg(10, 11, 1), |toy| toy.reorg(30, 40, 2));
    }
}

#[test]
fn nothing_comes_off_for_a_list_of_two_chains() {
    // The fork at 90 is found with fifteen probes, then eleven blocks are listed.
    for nth in 15..26 {
        let off = disturbed("getblockhash", nth, |toy| toy.reorg(10, 11, 1), |toy| toy.reorg(5, 9, 2));
        assert_eq!(off, 5, "{nth}");
    }
    // Back to our own branch.
    assert_eq!(disturbed("getblockhash", 15, |toy| toy.reorg(10, 11, 1), |toy| toy.mine(3, 0)), 0);
}

#[test]
fn a_chain_that_never_settles_is_an_error() {
    let s = setup(20);
    let best = s.toy.lock().unwrap().best.clone();
    // Each list of hashes is cut off by the time that it is read.
    let mut shorter = false;
    s.toy.lock().unwrap().before = Some(Box::new(move |now, method| {
        shorter = method == "getblockchaininfo" || (shorter && method != "getblockhash");
        *now = best[..if shorter { 21 } else { 5 }].to_vec();
    }));
    let chain = HeaderChain::new(s.server.client());
    assert!(matches!(chain.update(&Ours::default(), 100), Err(NodeError::Unsettled)));
}

#[test]
fn announced_blocks_are_not_fetched() {
    let mut s = setup(10);
    s.run();
    let before = s.server.count();
    let raw = {
        let mut toy = s.toy.lock().unwrap();
        toy.mine(1, 5);
        toy.blocks[&toy.tip().hash].clone()
    };
    let hash = s.follower.offer(raw).unwrap();
    let ChainStep::Connect(block) = s.follower.next_step(&s.ours).unwrap() else { panic!("nothing to connect") };
    assert_eq!((block.hash(), block.height), (hash, 11));
    // Whether the node still has it there is asked, and nothing else.
    assert_eq!(s.server.count(), before + 1);
    s.ours.0.push(hash);
    s.run();
    // Bytes that are not a block are ignored; a block whose parent we do not have waits, and goes when the node leaves
    // it.
    assert_eq!(s.follower.offer(vec![1, 2, 3]), None);
    let (orphan, raw) = toy::block(BlockHash([1; 32]), 12, 0);
    assert_eq!(s.follower.offer(raw), Some(orphan));
    assert_eq!(s.run(), (0, 0));
}

#[test]
fn a_stale_announcement_does_no_harm() {
    let mut s = setup(10);
    s.run();
    // Announced and left again before we looked.
    let raw = {
        let mut toy = s.toy.lock().unwrap();
        toy.mine(1, 5);
        let raw = toy.blocks[&toy.tip().hash].clone();
        toy.reorg(1, 2, 6);
        raw
    };
    s.follower.offer(raw).unwrap();
    // It never becomes ours.
    assert_eq!(s.run(), (2, 0));
}

#[test]
fn what_was_announced_is_forgotten_at_the_tip() {
    let mut s = setup(10);
    s.run();
    // Two rivals were announced; the one that stays is invalidated later. The other must not come back then.
    let (rival, best) = {
        let mut toy = s.toy.lock().unwrap();
        toy.mine(1, 5);
        let rival = toy.blocks[&toy.tip().hash].clone();
        toy.reorg(1, 1, 6);
        (rival, toy.blocks[&toy.tip().hash].clone())
    };
    s.follower.offer(rival).unwrap();
    s.follower.offer(best).unwrap();
    assert_eq!(s.run(), (1, 0));
    s.toy.lock().unwrap().best.truncate(11);
    assert_eq!(s.run(), (0, 1));
}

#[test]
fn blocks_ahead_are_bounded_and_in_order() {
    let toy = Toy::new(120);
    let server = serve(&toy);
    let options = FetchOptions { parallel: 3, ahead_blocks: 10, ahead_bytes: usize::MAX };
    let mut follower = ChainFollower::new(server.client(), options);
    let mut ours = Ours::default();
    let ChainStep::Connect(first) = follower.next_step(&ours).unwrap() else { panic!("nothing to connect") };
    ours.0.push(first.hash());
    std::thread::sleep(Duration::from_millis(200));
    let fetched = || {
        let requests = server.requests.lock().unwrap();
        requests.iter().filter(|request| request.rpc()["method"] == "getblock").count()
    };
    // One was taken, ten wait.
    assert_eq!(fetched(), 11);
    run(&mut follower, &mut ours).unwrap();
    assert_eq!(fetched(), 121);
    // By bytes: one waits at least, and each thread may hold one more.
    let options = FetchOptions { parallel: 3, ahead_blocks: 1000, ahead_bytes: 1 };
    let mut follower = ChainFollower::new(server.client(), options);
    let before = fetched();
    let mut ours = Ours::default();
    let ChainStep::Connect(first) = follower.next_step(&ours).unwrap() else { panic!("nothing to connect") };
    ours.0.push(first.hash());
    std::thread::sleep(Duration::from_millis(200));
    assert!(fetched() - before <= 5, "{} blocks", fetched() - before);
    run(&mut follower, &mut ours).unwrap();
}

#[test]
fn an_error_in_the_middle_is_told_and_survived() {
    let mut s = setup(60);
    let (hash, other) = {
        let toy = s.toy.lock().unwrap();
        (toy.best[30], toy.blocks[&toy.best[29]].clone())
    };
    s.toy.lock().unwrap().replaced.insert(hash, other);
    let error = run(&mut s.follower, &mut s.ours).unwrap_err();
    assert!(matches!(error, NodeError::BadBlock { hash: of, .. } if of == hash), "{error}");
    assert_eq!(s.ours.0.len(), 30);
    s.toy.lock().unwrap().replaced.clear();
    assert_eq!(s.run(), (31, 0));
}

#[test]
fn stopped_in_the_middle() {
    let toy = Toy::new(500);
    let server = serve(&toy);
    let cancel = CancelToken::new();
    let client = NodeClient::new(&server.config(), cancel.clone()).unwrap();
    let mut follower = ChainFollower::new(client, FetchOptions::default());
    let mut ours = Ours::default();
    for _ in 0..5 {
        let ChainStep::Connect(block) = follower.next_step(&ours).unwrap() else { panic!("nothing to connect") };
        ours.0.push(block.hash());
    }
    cancel.cancel();
    assert!(matches!(follower.next_step(&ours), Err(NodeError::Stopped)));
}

#[test]
fn an_unreadable_chain_of_ours_is_told() {
    struct Broken(AtomicBool);
    impl cairn_node::OurChain for Broken {
        fn tip(&self) -> Result<Option<cairn_node::BlockAt>, cairn_node::OwnerError> {
            self.0.store(true, Ordering::SeqCst);
            Err("the disk is gone".into())
        }
        fn hash_at(&self, _: u32) -> Result<Option<BlockHash>, cairn_node::OwnerError> {
            Ok(None)
        }
    }
    let s = setup(1);
    let broken = Arc::new(Broken(AtomicBool::new(false)));
    let outcome: Result<ChainUpdate, _> = HeaderChain::new(s.server.client()).update(&*broken, 1);
    assert_eq!(outcome.unwrap_err().to_string(), "the disk is gone");
    assert!(broken.0.load(Ordering::SeqCst));
}
