//! Wires up indexing: sources, index and publishers.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use cairn_fetch::live;
use cairn_follow::{FileSource, Follower, NewestQuotes, NodeSource, OpenIndex, Outcome, Source, Until, connect};
use cairn_link::{IndexSlot, Publishers, SocketPublisher};
use cairn_model::{CancelToken, ChainParams, Network};
use cairn_node::{NodeConfig, ZmqEndpoint};
use cairn_pipeline::{Engine, survey_memory};
use cairn_reader::Facts;
use cairn_state::StateUrl;
use prometheus::Registry;

use crate::{
    config::{BlocksDir, Memory, Node, Starters},
    exit::{Exit, Failure},
    fetching::{Fetching, IndexLedger},
    progress::{Reporter, Screen},
    replicas::ForReplicas,
    signals, starter,
};

/// Sources of blocks: block files, a node, or first the files and then the node.
pub(crate) struct Sources {
    blocks: Option<PathBuf>,
    node: Option<(NodeConfig, Vec<ZmqEndpoint>)>,
    /// True if the follower of an existing index waits indefinitely for an unreachable node.
    waits: bool,
    /// True if tweaks of silent payments are made.
    silent_payments: bool,
}

impl Sources {
    /// Creates the sources from the settings.
    ///
    /// # Errors
    /// Fails if neither a folder of block files nor a node is set, or if credentials are missing.
    pub(crate) fn of(chain: ChainParams, blocks: &BlocksDir, node: &Node) -> Result<Self, Failure> {
        let config = node.config(Facts::of(chain).script_prefix)?;
        let blocks = match config {
            Some(_) => blocks.blocks_dir.clone(),
            None => Some(blocks.without_node()?.clone()),
        };
        Ok(Sources {
            blocks,
            node: config.map(|config| (config, node.endpoints())),
            waits: false,
            silent_payments: false,
        })
    }

    /// Creates sources with block files only.
    pub(crate) fn files(blocks: PathBuf) -> Self {
        Sources { blocks: Some(blocks), node: None, waits: false, silent_payments: false }
    }

    /// Sets whether the follower runs without end: if so and the index exists, it starts even if the node is
    /// unreachable.
    pub(crate) fn without_end(self, is_without: bool) -> Self {
        Sources { waits: is_without, ..self }
    }

    /// Sets whether tweaks of silent payments are made.
    pub(crate) fn with_silent_payments(self, is_on: bool) -> Self {
        Sources { silent_payments: is_on, ..self }
    }
}

/// An index, opened for writing, and the source of its blocks.
pub(crate) struct Indexing {
    follower: Follower,
    slot: Arc<IndexSlot>,
    datadir: PathBuf,
    newest: NewestQuotes,
    fetching: Option<Fetching>,
    chain: ChainParams,
    for_replicas: Option<ForReplicas>,
}

impl Indexing {
    /// Opens sources and index; creates the index if there is none. With `starter`, an index of the main network starts
    /// with the prices that ship with Cairn.
    ///
    /// # Errors
    /// Fails if a source or the index cannot be used, or if they belong to different networks.
    pub(crate) fn open(
        chain: impl Into<ChainParams>,
        datadir: &Path,
        from: Sources,
        memory: Memory,
        starter: Starters,
        screen: &Screen,
        cancel: &CancelToken,
    ) -> Result<Self, Failure> {
        let (chain, limits) = (chain.into(), memory.limits);
        // The sources first: if they cannot be used, no index is created.
        let is_begun = datadir.join("index").join("CURRENT").exists();
        let node = from.node.map(|(config, endpoints)| {
            if from.waits && is_begun {
                return Ok(NodeSource::awaited(&config, chain, endpoints, cancel)?);
            }
            let (client, info) = connect(&config, chain, cancel)?;
            if from.blocks.is_none() && !is_begun {
                info.chain.needs_block(0)?;
            }
            Ok::<_, Failure>(NodeSource::new(client, endpoints))
        });
        let node = node.transpose()?;
        let open = |folder: &PathBuf| FileSource::open(folder, chain, survey_memory(limits.memory));
        let files = from.blocks.as_ref().map(open).transpose()?;
        let blocks_dir = files.as_ref().map(|files| files.folder().to_owned());
        let mut engine =
            Engine::open_serving(datadir, &Facts { blocks_dir, ..Facts::of(chain) }, limits.memory, memory.cache)?;
        limits.apply(&mut engine);
        if chain.network() == Network::Main {
            starter::offer(&engine, datadir, starter)?;
        }
        let (height, version) = (engine.tip()?.map(|(height, _)| height), env!("CARGO_PKG_VERSION"));
        let blocks_dir = from.blocks.as_ref().map(|dir| tracing::field::display(dir.display()));
        tracing::info!(version, network = %chain, datadir = %datadir.display(), blocks_dir, height, "index opened");

        let slot = Arc::new(IndexSlot::with(engine.reader()).with_mempool_memory(memory.mempool));
        let socket = SocketPublisher::open(datadir, slot.pool());
        let readers = Publishers::new(vec![Arc::<IndexSlot>::clone(&slot), Arc::new(socket)]);
        let progress = Arc::new(Reporter::new(screen, cancel, None));
        let index = OpenIndex::new(engine, datadir, readers, slot.pool(), progress);
        let newest = NewestQuotes::default();
        let index = index.with_mempool_memory(memory.mempool).with_newest_quotes(newest.clone());
        let index = index.with_silent_payments(from.silent_payments);
        let files = files.map(|files| Box::new(files) as Box<dyn Source>);
        let node = node.map(|node| Box::new(node) as Box<dyn Source>);
        let follower = Follower::new(index, files.into_iter().chain(node).collect());
        Ok(Indexing { follower, slot, datadir: datadir.to_owned(), newest, fetching: None, chain, for_replicas: None })
    }

    /// Registers metrics in this registry.
    pub(crate) fn counted_in(self, registry: &Registry) -> Result<Self, Failure> {
        Ok(Indexing { follower: self.follower.counted_in(registry)?, ..self })
    }

    /// Adds price fetchers that run while the follower does, if there are settings. Their metrics are in this registry.
    ///
    /// # Errors
    /// Fails if the settings do not fit together, or the registry already has metrics with these names.
    pub(crate) fn with_prices(self, settings: Option<live::Settings>, registry: &Registry) -> Result<Self, Failure> {
        let Some(settings) = settings else { return Ok(self) };
        let ledger = IndexLedger::new(self.slot(), &self.datadir, self.newest.clone());
        Ok(Indexing { fetching: Some(Fetching::new(&settings, ledger, registry)?), ..self })
    }

    /// Publishes the tip in this database, and takes the documents from there that were handed in on replicas.
    pub(crate) fn for_replicas(self, url: Option<StateUrl>) -> Self {
        let shared = url.map(|url| ForReplicas::new(url, self.chain, &self.datadir, self.slot()));
        Indexing { for_replicas: shared, ..self }
    }

    /// Returns the index for requests. They see every commit and the source's best height.
    pub(crate) fn slot(&self) -> Arc<IndexSlot> {
        Arc::clone(&self.slot)
    }

    /// Indexes until the given end, or until cancelled.
    ///
    /// # Errors
    /// Fails if a source, the index or the disk fails; committed blocks stay.
    pub(crate) fn follow(self, until: Until) -> Result<Exit, Failure> {
        let fetching = self.fetching.map(Fetching::start).transpose()?;
        let sharing = self.for_replicas.map(ForReplicas::start).transpose()?;
        let ends = !matches!(until, Until::Cancelled);
        if let Some(sharing) = sharing.as_ref().filter(|_| ends) {
            sharing.looked();
        }
        let outcome = self.follower.follow(until);
        drop(fetching);
        if let Some(sharing) = sharing.filter(|_| ends && matches!(outcome, Ok(Outcome::Done))) {
            sharing.finish();
        }
        Ok(match outcome? {
            Outcome::Done => Exit::Done,
            Outcome::Cancelled => signals::exit_of_cancelled(),
        })
    }
}
