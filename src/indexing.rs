//! Indexing from wherever the blocks come: block files first where they are given, then a node where one is.

use std::{path::Path, sync::Arc};

use cairn_link::IndexSlot;
use cairn_model::Network;
use cairn_node::{NodeClient, ZmqEndpoint};
use cairn_pipeline::Engine;
use cairn_reader::Facts;

use crate::{
    announce::Announce,
    config::{BlocksDir, Limits, Node},
    exit::{Exit, Failure},
    follow::{Follower, Until},
    live::{Live, connect},
    progress::Screen,
    stop::Stop,
};

/// An index, opened for writing, and where its blocks come from.
pub(crate) enum Indexing {
    /// Block files alone.
    Files(Box<Follower>),
    /// A node, after block files if there are some.
    Node {
        /// The files, until they are used up.
        files: Option<Box<Follower>>,
        /// What is needed to go on with the node.
        then: Box<Then>,
    },
}

/// The node that takes over from the files.
pub(crate) struct Then {
    client: NodeClient,
    endpoints: Vec<ZmqEndpoint>,
    screen: Screen,
    stop: Stop,
    /// The engine, where there are no files to hold it.
    engine: Option<(Engine, Arc<IndexSlot>, Announce)>,
}

impl Indexing {
    /// Opens sources and index; makes the index if there is none.
    ///
    /// # Errors
    /// A source or the index cannot be used, or they belong to different networks.
    pub(crate) fn open(
        network: Network,
        datadir: &Path,
        blocks: &BlocksDir,
        node: &Node,
        limits: Limits,
        screen: &Screen,
        stop: &Stop,
    ) -> Result<Self, Failure> {
        let Some(config) = node.config(Facts::of(network).script_prefix)? else {
            let follower = Follower::open(network, datadir, blocks.required()?, limits, screen, stop)?;
            return Ok(Indexing::Files(Box::new(follower)));
        };
        // The node first: no index is made for one that cannot fill it.
        let (client, info) = connect(&config, network, stop)?;
        if blocks.blocks_dir.is_none() && !datadir.join("index").join("CURRENT").exists() {
            info.chain.needs_block(0)?;
        }
        let files = match &blocks.blocks_dir {
            Some(dir) => Some(Box::new(Follower::open(network, datadir, dir, limits, screen, stop)?)),
            None => None,
        };
        let engine = match files {
            Some(_) => None,
            None => {
                let mut engine = Engine::open_within(datadir, &Facts::of(network), limits.memory)?;
                limits.apply(&mut engine);
                tracing::info!(%network, datadir = %datadir.display(), "index opened");
                let slot = Arc::new(IndexSlot::with(engine.reader()));
                let announce = Announce::open(datadir, slot.pool());
                Some((engine, slot, announce))
            }
        };
        let then = Then { client, endpoints: node.endpoints(), screen: screen.clone(), stop: stop.clone(), engine };
        Ok(Indexing::Node { files, then: Box::new(then) })
    }

    /// The index for requests.
    pub(crate) fn slot(&self) -> Arc<IndexSlot> {
        match self {
            Indexing::Files(files) | Indexing::Node { files: Some(files), .. } => files.slot(),
            Indexing::Node { files: None, then } => match &then.engine {
                Some((_, slot, _)) => Arc::clone(slot),
                None => Arc::default(),
            },
        }
    }

    /// Indexes until the end that is asked for, or until asked to stop.
    ///
    /// # Errors
    /// A source, the index or the disk fails. What was committed stays.
    pub(crate) fn follow(self, until: Until) -> Result<Exit, Failure> {
        match self {
            Indexing::Files(mut files) => {
                let exit = files.follow(until)?;
                // A node could fill the gap; where there are only files, the operator has to know.
                if let (Exit::Done, Until::Tip { to }) = (&exit, until) {
                    files.whole(to)?;
                }
                Ok(exit)
            }
            Indexing::Node { files, then } => then.follow(files, until),
        }
    }
}

impl Then {
    fn follow(mut self, files: Option<Box<Follower>>, until: Until) -> Result<Exit, Failure> {
        let (engine, slot, announce) = match (files, self.engine.take()) {
            (Some(mut files), _) => {
                let to = match until {
                    Until::Stopped => None,
                    Until::Height(to) => Some(to),
                    Until::Tip { to } => to,
                };
                let exit = files.follow(Until::Tip { to })?;
                if exit != Exit::Done {
                    return Ok(exit);
                }
                files.into_parts()
            }
            (None, Some(parts)) => parts,
            (None, None) => return Err(Failure::new(Exit::Other, "no source of blocks; this is a bug")),
        };
        Live::new(engine, slot, announce, self.client, self.endpoints, &self.screen, &self.stop).follow(until)
    }
}
