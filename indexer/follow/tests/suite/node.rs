//! Block files, and then a node: the two sources as the program uses them.

use bitcoin::hashes::Hash;
use cairn_follow::{Follower, NodeSource, Outcome, Until, connect};
use cairn_link::IndexSource;
use cairn_model::{BlockHash, MempoolDelta, MempoolWatch, Network, SourceKind, Txid};
use cairn_node::{NodeAuth, NodeConfig};
use cairn_standin::{HttpFault, HttpRule, Match, Payment, Source, StandIn, StandInOptions};
use cairn_testkit::temp_dir;
use prometheus::{Registry, TextEncoder};

use crate::support::{Scene, Told, eventually, files, generator, write};

fn node_source(node: &StandIn, scene: &Scene) -> NodeSource {
    let config = NodeConfig::new(node.url(), NodeAuth::Cookie(node.cookie_file().to_owned()));
    NodeSource::new(connect(&config, Network::Regtest, &scene.cancel).unwrap().0, Vec::new())
}

/// The position of the first event for which `holds` is true.
fn first(told: &[Told], what: &str, holds: impl Fn(&Told) -> bool) -> usize {
    told.iter().position(holds).unwrap_or_else(|| panic!("never told: {what}"))
}

#[test]
fn files_and_then_the_node() {
    let (scene, blocks, made) = (Scene::new(), temp_dir(), generator(40));
    write(blocks.path(), made.chain());
    let source = Some(Source::Everything(Box::new(made)));
    let node = StandIn::start(StandInOptions { source, premine: 105, ..StandInOptions::default() }).unwrap();
    let sent = Txid(node.world().send(&Payment::at(5_000)).unwrap().to_byte_array());
    let sources: Vec<Box<dyn cairn_follow::Source>> =
        vec![Box::new(files(blocks.path())), Box::new(node_source(&node, &scene))];
    let follower = Follower::new(scene.open(), sources);
    let following = std::thread::spawn(move || follower.follow(Until::Cancelled));

    let has = |txid: &Txid| scene.slot.mempool().pin().mempool().get(txid).is_some();
    eventually("the mempool at the node's tip", || {
        scene.slot.source().is_some_and(|source| source.mempool == MempoolWatch::Synced) && has(&sent)
    });
    assert_eq!((scene.height(), scene.slot.best_height()), (145, Some(145)));
    let told = scene.recorder.told();
    let is_files = |t: &Told| matches!(t, Told::Source(s) if s.kind == SourceKind::Files);
    let is_node = |t: &Told| matches!(t, Told::Source(s) if s.kind == SourceKind::Node);
    let files_tip = first(&told, "the files' tip", |t| matches!(t, Told::Tip(Some((40, _)))));
    let node_tip = first(&told, "the node's tip", |t| matches!(t, Told::Tip(Some((145, _)))));
    let deltas = first(&told, "the mempool", |t| matches!(t, Told::Mempool(_)));
    assert!(first(&told, "files", is_files) < files_tip && files_tip < node_tip);
    // Before the tip no coin could be found, and nobody watches.
    assert!(node_tip < deltas && deltas < first(&told, "the node", is_node));
    assert_eq!(told[deltas], Told::Mempool(vec![MempoolDelta::Reset { sequence: 0 }]));

    // A block: its effect on the mempool is published before it is on disk, for readers that see it already.
    let hash = BlockHash(node.world().mine(1).unwrap()[0].to_byte_array());
    eventually("the block", || scene.recorder.told().contains(&Told::Tip(Some((146, hash)))));
    let told = scene.recorder.told();
    let confirms = |t: &Told| {
        let of_it = |d: &MempoolDelta| matches!(d, MempoolDelta::Remove { txid, .. } if *txid == sent);
        matches!(t, Told::Connected(deltas) if deltas.iter().any(of_it))
    };
    let tip = first(&told, "its tip", |t| *t == Told::Tip(Some((146, hash))));
    assert!(first(&told, "its deltas", confirms) < tip);
    assert!(!has(&sent));

    scene.cancel.cancel();
    assert_eq!(following.join().unwrap().unwrap(), Outcome::Cancelled);
}

#[test]
fn a_height_below_the_nodes_tip() {
    let scene = Scene::new();
    let node = StandIn::start(StandInOptions { premine: 30, ..StandInOptions::default() }).unwrap();
    let follower = Follower::new(scene.open(), vec![Box::new(node_source(&node, &scene))]);
    assert_eq!(follower.follow(Until::Tip { to: Some(20) }).unwrap(), Outcome::Done);
    assert_eq!((scene.height(), scene.slot.best_height()), (20, Some(30)));
    // Already there: the node is not asked for more, and nobody begins to watch its mempool.
    let again = Follower::new(scene.open(), vec![Box::new(node_source(&node, &scene))]);
    assert_eq!(again.follow(Until::Height(15)).unwrap(), Outcome::Done);
    assert_eq!(scene.height(), 20);
    assert!(!scene.recorder.told().iter().any(|t| matches!(t, Told::Mempool(_) | Told::Source(_))));
    let to_the_tip = Follower::new(scene.open(), vec![Box::new(node_source(&node, &scene))]);
    assert_eq!(to_the_tip.follow(Until::Tip { to: None }).unwrap(), Outcome::Done);
    assert_eq!(scene.height(), 30);
}

#[test]
fn a_reorganization() {
    let scene = Scene::new();
    let node = StandIn::start(StandInOptions { premine: 110, ..StandInOptions::default() }).unwrap();
    let registry = Registry::new();
    let follower = Follower::new(scene.open(), vec![Box::new(node_source(&node, &scene))]);
    let follower = follower.counted_in(&registry).unwrap();
    let following = std::thread::spawn(move || follower.follow(Until::Cancelled));
    eventually("the tip", || scene.recorder.told().iter().any(|t| matches!(t, Told::Tip(Some((110, _))))));
    node.world().reorg(3, 5).unwrap();
    let tip = BlockHash(node.world().tip().to_byte_array());
    eventually("the other branch", || scene.recorder.told().contains(&Told::Tip(Some((112, tip)))));
    scene.cancel.cancel();
    assert_eq!(following.join().unwrap().unwrap(), Outcome::Cancelled);
    assert_eq!(scene.tip().1, tip);
    let counted = TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
    for line in [
        "cairn_index_blocks_connected_total 116",
        "cairn_index_blocks_disconnected_total 3",
        "cairn_index_reorganizations_total 1",
    ] {
        assert!(counted.lines().any(|found| found == line), "{line} is not in\n{counted}");
    }
}

#[test]
fn a_node_that_does_not_list_its_mempool_holds_no_reorganization_up() {
    let scene = Scene::new();
    let node = StandIn::start(StandInOptions { premine: 110, ..StandInOptions::default() }).unwrap();
    let follower = Follower::new(scene.open(), vec![Box::new(node_source(&node, &scene))]);
    let following = std::thread::spawn(move || follower.follow(Until::Cancelled));
    let watch = || scene.slot.source().map(|source| source.mempool);
    eventually("a synced mempool", || watch() == Some(MempoolWatch::Synced));
    let fails = HttpRule::always(Match::Rpc("getrawmempool"), HttpFault::Status(502, "Bad Gateway"));
    node.http_faults(1, vec![fails]);
    node.world().reorg(3, 5).unwrap();
    let tip = BlockHash(node.world().tip().to_byte_array());
    let is_of_tip = |t: &Told| {
        let of_tip = |d: &MempoolDelta| matches!(d, MempoolDelta::Block { hash, .. } if *hash == tip);
        matches!(t, Told::Mempool(deltas) if deltas.iter().any(of_tip))
    };
    eventually("the mempool at the new tip", || scene.recorder.told().iter().any(is_of_tip));
    assert_eq!(scene.slot.mempool().pin().absent(Some(&tip)), None, "it is served");
    let told = scene.recorder.told();
    let at = first(&told, "the mempool", is_of_tip);
    let is_complete = |t: &Told| matches!(t, Told::Mempool(d) if matches!(d.last(), Some(MempoolDelta::Sequence(_))));
    assert!(!told[at..].iter().any(is_complete), "nobody could say so");
    // Readers were notified before that it may be incomplete.
    let status = told[..at].iter().rev().find_map(|t| match t {
        Told::Source(status) => Some(status.mempool),
        _ => None,
    });
    assert_eq!(status, Some(MempoolWatch::Loading));
    node.http_faults(1, Vec::new());
    eventually("a complete mempool", || {
        watch() == Some(MempoolWatch::Synced) && scene.recorder.told()[at..].iter().any(is_complete)
    });
    scene.cancel.cancel();
    assert_eq!(following.join().unwrap().unwrap(), Outcome::Cancelled);
}
