//! A node with a wallet, a database, and anchorers over both.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    rc::Rc,
};

use bitcoin::hashes::Hash;
use cairn_anchoring::{AnchorSettings, Anchorer, Chain, Figures, Found, Ledger, Node, SqlLedger, WalletNode};
use cairn_model::{BlockHash, CancelToken, Txid};
use cairn_node::{BlockAt, NodeAuth, NodeClient, NodeConfig, RetryPolicy};
use cairn_standin::{StandIn, StandInOptions};
use cairn_state::{
    AnchorerReport, Batch, BatchState, NewTimestamp, State, StateUrl, TimestampRecord, TimestampSource, TimestampState,
};
use cairn_timestamps::{Attestation, Proof, Step};
use tempfile::TempDir;
use tokio::runtime::Runtime;

pub(crate) const NETWORK: &str = "regtest";
pub(crate) const WALLET: &str = "stamps";
/// Blocks that are searched for a transaction.
const DEPTH: u32 = 60;

pub(crate) type Shared = Rc<RefCell<StandIn>>;

pub(crate) struct Rig {
    pub(crate) node: Shared,
    pub(crate) feerate: Rc<Cell<u64>>,
    pub(crate) settings: AnchorSettings,
    pub(crate) runtime: Runtime,
    pub(crate) state: State,
    url: StateUrl,
    now: Cell<u64>,
    holders: Cell<u32>,
    _folder: TempDir,
}

/// The chain of the node, as an index that is always current has it.
pub(crate) struct NodeChain {
    node: Shared,
    feerate: Rc<Cell<u64>>,
}

impl NodeChain {
    /// The newest blocks.
    fn blocks(&self) -> Vec<Found> {
        let node = self.node.borrow();
        let world = node.world();
        let top = world.height();
        let found = |height| {
            let block = world.block(&world.hash_at(height)?)?;
            let hash = BlockHash(block.block_hash().to_byte_array());
            let txids = block.txdata.iter().map(|tx| Txid(tx.compute_txid().to_byte_array())).collect();
            Some(Found { block: BlockAt { height, hash }, txids })
        };
        (top.saturating_sub(DEPTH)..=top).filter_map(found).collect()
    }
}

impl Chain for NodeChain {
    fn tip(&self) -> Result<Option<BlockAt>, String> {
        let node = self.node.borrow();
        let world = node.world();
        Ok(Some(BlockAt { height: world.height(), hash: BlockHash(world.tip().to_byte_array()) }))
    }

    fn find(&self, txids: &[Txid]) -> Result<Vec<Option<BlockAt>>, String> {
        let mut of = BTreeMap::new();
        for found in self.blocks() {
            of.extend(found.txids.iter().map(|txid| (*txid, found.block)));
        }
        Ok(txids.iter().map(|txid| of.get(txid).copied()).collect())
    }

    fn block(&self, block: BlockAt) -> Result<Option<Found>, String> {
        Ok(self.blocks().into_iter().find(|found| found.block == block))
    }

    fn feerate(&self) -> Option<u64> {
        Some(self.feerate.get())
    }
}

pub(crate) type RigAnchorer = Anchorer<SqlLedger, WalletNode, NodeChain>;

impl Rig {
    /// A wallet with coins of one million satoshis.
    pub(crate) fn new(coins: u32) -> Self {
        Self::with_coins(coins, 1_000_000)
    }

    pub(crate) fn with_coins(coins: u32, value: u64) -> Self {
        let node = StandIn::start(StandInOptions { premine: 105, ..StandInOptions::default() }).unwrap();
        node.world().create_wallet(WALLET);
        if coins > 0 {
            node.world().fund_wallet(WALLET, coins, value).unwrap();
        }
        let folder = TempDir::new().unwrap();
        let url = StateUrl::in_folder(folder.path());
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let state = runtime.block_on(State::open(&url)).unwrap();
        let settings = AnchorSettings {
            network: NETWORK.to_owned(),
            interval_secs: 60,
            max_sats_per_day: 1_000_000,
            max_feerate: 100_000,
            bump_after_blocks: 2,
        };
        Rig {
            node: Rc::new(RefCell::new(node)),
            feerate: Rc::new(Cell::new(5_000)),
            settings,
            runtime,
            state,
            url,
            now: Cell::new(1_700_000_000),
            holders: Cell::new(0),
            _folder: folder,
        }
    }

    pub(crate) fn chain(&self) -> NodeChain {
        NodeChain { node: Rc::clone(&self.node), feerate: Rc::clone(&self.feerate) }
    }

    pub(crate) fn wallet_node(&self) -> WalletNode {
        let node = self.node.borrow();
        let auth = NodeAuth::Cookie(node.cookie_file().to_owned());
        let config = NodeConfig { retry: RetryPolicy::NONE, ..NodeConfig::new(node.url(), auth) };
        WalletNode::new(NodeClient::new(&config, CancelToken::new()).unwrap(), WALLET)
    }

    pub(crate) fn sql(&self) -> SqlLedger {
        SqlLedger::new(&self.url, NETWORK).unwrap()
    }

    /// An anchorer of another process.
    pub(crate) fn with<L: Ledger, N: Node>(&self, ledger: L, node: N) -> Anchorer<L, N, NodeChain> {
        self.holders.set(self.holders.get() + 1);
        let holder = format!("process {}", self.holders.get());
        let figures = Figures::register(&prometheus::Registry::new()).unwrap();
        Anchorer::new(ledger, node, self.chain(), self.settings.clone(), holder, figures)
    }

    pub(crate) fn anchorer(&self) -> RigAnchorer {
        self.with(self.sql(), self.wallet_node())
    }

    /// Time passes.
    pub(crate) fn later(&self, secs: u64) -> u64 {
        self.now.set(self.now.get() + secs);
        self.now.get()
    }

    /// Hands in the hash of a number.
    pub(crate) fn submit(&self, number: u8) {
        let new = NewTimestamp { network: NETWORK, hash: vec![number; 32], source: TimestampSource::Api };
        self.runtime.block_on(self.state.submit_timestamp(new, self.now.get())).unwrap();
    }

    pub(crate) fn record(&self, number: u8) -> TimestampRecord {
        self.runtime.block_on(self.state.timestamp(NETWORK, &[number; 32])).unwrap().unwrap()
    }

    pub(crate) fn state_of(&self, number: u8) -> TimestampState {
        self.record(number).state()
    }

    pub(crate) fn batch_of(&self, number: u8) -> Batch {
        self.record(number).batch.unwrap().0
    }

    pub(crate) fn report(&self) -> AnchorerReport {
        self.runtime.block_on(self.state.anchorer_report(NETWORK)).unwrap().unwrap()
    }

    /// The stored transactions of the batch of a hash.
    pub(crate) fn candidates(&self, number: u8) -> Vec<Txid> {
        let stored = self.runtime.block_on(self.state.candidates(self.batch_of(number).id)).unwrap();
        stored.into_iter().map(|candidate| Txid(candidate.transaction.txid)).collect()
    }

    pub(crate) fn mine(&self, blocks: u32) {
        self.node.borrow().world().mine(blocks).unwrap();
    }

    /// Mines blocks without transactions.
    pub(crate) fn mine_empty(&self, blocks: u32) {
        for _ in 0..blocks {
            let plan = cairn_standin::BlockPlan { txs: cairn_standin::Txs::None, ..Default::default() };
            self.node.borrow().world().mine_plan(&plan).unwrap();
        }
    }

    pub(crate) fn pool(&self) -> Vec<Txid> {
        let node = self.node.borrow();
        node.world().pool_txids().iter().map(|txid| Txid(txid.to_byte_array())).collect()
    }

    /// The transactions of the chain that have a root.
    pub(crate) fn anchors(&self, root: &[u8; 32]) -> usize {
        let node = self.node.borrow();
        let world = node.world();
        let script = [&[0x6a, 0x20], root.as_slice()].concat();
        let blocks = (0..=world.height()).filter_map(|height| world.block(&world.hash_at(height)?));
        let txs = blocks.flat_map(|block| block.txdata);
        txs.filter(|tx| tx.output.iter().any(|output| output.script_pubkey.as_bytes() == script)).count()
    }

    /// The hash is final, the chain has its root once, and the stored steps lead to the header of the block.
    pub(crate) fn assert_final(&self, number: u8) {
        let batch = self.batch_of(number);
        assert_eq!(batch.state, BatchState::Final, "hash {number}");
        assert_eq!(self.anchors(&batch.root), 1, "hash {number}");
        let confirmation = batch.confirmation.unwrap();
        let node = self.node.borrow();
        let world = node.world();
        let block = world.block(&world.hash_at(confirmation.height).unwrap()).unwrap();
        assert_eq!(block.block_hash().to_byte_array(), confirmation.block_hash);
        let steps = Step::read(&confirmation.proof, 32).unwrap();
        let mut seen = 0;
        let proof = Proof::of_sha256(batch.root, steps);
        let visited: Result<(), ()> = proof.attested(|attestation, message| {
            assert_eq!(*attestation, Attestation::Bitcoin { height: confirmation.height.into() });
            assert_eq!(message, block.header.merkle_root.to_byte_array());
            seen += 1;
            Ok(())
        });
        assert_eq!((visited, seen), (Ok(()), 1));
    }
}
