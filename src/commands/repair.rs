//! `cairn repair`.

use std::{cell::OnceCell, path::PathBuf};

use cairn_follow::{Until, connect};
use cairn_model::{BlockHash, CancelToken, ChainParams, Height};
use cairn_node::{NodeClient, NodeConfig};
use cairn_pipeline::{
    BlockSource, FileBlocks, FoundBlock, PipelineError, RepairOptions, Repaired, archived_facts, finish_replacement,
    refuse_replica, set_aside, survey_memory,
};
use cairn_reader::{Facts, facts_in};
use cairn_sources::{BlockFiles, Survey};

use crate::{
    cli::Repair,
    commands::Context,
    config::Starters,
    exit::{Exit, Failure},
    indexing::{Indexing, Sources},
    out::print,
    progress::Reporter,
    signals::{self, Signals},
};

/// Repairs the index, or indexes the chain again.
pub(crate) fn repair(args: &Repair, context: &Context) -> Result<Exit, Failure> {
    let datadir = args.index.datadir()?;
    refuse_replica(datadir)?;
    let signals = Signals::take_over()?;
    // The archive of the ledger has the facts as well, for an index that cannot be opened.
    let find = || facts_in(&datadir.join("index")).or_else(|| archived_facts(datadir));
    let facts = match find() {
        Some(facts) => Some(facts),
        None => {
            // If this fails as well, the repair reports why.
            if let Err(error) = finish_replacement(datadir, args.limits.memory) {
                tracing::warn!(%error, "an interrupted repair cannot be finished");
            }
            find()
        }
    };
    let facts = match facts {
        Some(facts) => facts,
        None => Facts::of(args.chain.params().map_err(|failure| {
            failure.hint("the index does not say which chain it has: give --network and --blocks-dir or --node")
        })?),
    };
    let mut blocks = args.blocks.clone();
    blocks.blocks_dir = blocks.blocks_dir.or(facts.blocks_dir.clone());
    let cancel = signals.cancel_token();
    let source = Blocks {
        chain: facts.chain_params(),
        script_prefix: facts.script_prefix,
        folder: blocks.blocks_dir.clone(),
        node: args.node.config(facts.script_prefix)?,
        memory: survey_memory(args.limits.memory),
        cancel: cancel.clone(),
        files: OnceCell::new(),
        client: OnceCell::new(),
    };
    let reporter = Reporter::new(&context.screen, cancel, None);
    let repaired = cairn_pipeline::repair(
        datadir,
        &Facts { blocks_dir: blocks.blocks_dir.clone(), ..facts.clone() },
        RepairOptions {
            memory: args.limits.memory,
            save_seconds: args.limits.save_every,
            raw: args.raw.into(),
            without_events: args.without_events,
        },
        &source,
        &reporter,
    );
    drop(reporter);
    let why = match repaired {
        Ok(Repaired::Whole(done)) if done.is_empty() => {
            print("nothing is damaged\n")?;
            return Ok(Exit::Done);
        }
        Ok(Repaired::Whole(done)) => {
            print(&(done.join("\n") + "\nthe index is whole\n"))?;
            return Ok(Exit::Done);
        }
        Ok(Repaired::Anew(why)) => why,
        Err(PipelineError::Stopped) => {
            tracing::warn!("stopped; run `cairn repair` again: it goes on");
            return Ok(signals::exit_of_cancelled());
        }
        Err(error) => return Err(error.into()),
    };
    let sources = Sources::of(facts.chain_params(), &blocks, &args.node).map_err(|failure| {
        failure.hint(format!("the chain must be indexed again ({why}): give --blocks-dir or --node"))
    })?;
    tracing::warn!(%why, "the index cannot be repaired in place: it is set aside, and the chain is indexed again");
    let (aside, missing) = set_aside(datadir, args.without_events)?;
    missing
        .iter()
        .for_each(|what| tracing::error!(what, "lost: neither the index nor the archive of the ledger has it"));
    // The follower takes the ledger from its archive, and from the inbox.
    let (memory, none) = (args.limits.into(), Starters::NONE);
    let indexing = Indexing::open(facts.chain_params(), datadir, sources, memory, none, &context.screen, cancel)?;
    let exit = indexing.follow(Until::Tip { to: None })?;
    if exit == Exit::Done {
        let lost = missing.iter().map(|what| format!("lost: {what}\n")).collect::<String>();
        let kept = match aside.exists() {
            true => format!(
                "; the damaged index is kept as {}: delete that folder when you no longer need it",
                aside.display()
            ),
            false => String::new(),
        };
        print(&format!(
            "indexed again from the blocks{kept}\nlost: observations of the mempool, newest prices, announcements of the feed\n\
             {lost}the index is whole\n"
        ))?;
    }
    Ok(exit)
}

/// Reads blocks from block files, then from the node. Opens neither before the first block is needed.
struct Blocks {
    chain: ChainParams,
    script_prefix: usize,
    folder: Option<PathBuf>,
    node: Option<NodeConfig>,
    memory: u64,
    cancel: CancelToken,
    files: OnceCell<Option<(BlockFiles, Survey)>>,
    client: OnceCell<Option<NodeClient>>,
}

impl Blocks {
    fn files(&self) -> Result<Option<&(BlockFiles, Survey)>, PipelineError> {
        if let Some(known) = self.files.get() {
            return Ok(known.as_ref());
        }
        let opened = self.folder.as_ref().map(|folder| {
            let files = BlockFiles::open(folder, self.chain)?.with_survey_memory(self.memory);
            let survey = files.survey(&|_| {})?;
            Ok::<_, PipelineError>((files, survey))
        });
        // With a node, unusable files are not a failure.
        let opened = match opened.transpose() {
            Err(error) if self.node.is_some() => {
                tracing::warn!(%error, "the block files are left out");
                None
            }
            opened => opened?,
        };
        Ok(self.files.get_or_init(|| opened).as_ref())
    }

    fn node_block(&self, height: Height, hash: Option<BlockHash>) -> Option<FoundBlock> {
        let client = self.client.get_or_init(|| {
            let client = connect(self.node.as_ref()?, self.chain, &self.cancel);
            client.map_err(|error| tracing::warn!(%error, "the node cannot be used")).ok().map(|(client, _)| client)
        });
        let client = client.as_ref()?;
        let hash = match hash {
            Some(hash) => Ok(Some(hash)),
            None => client.block_hash(height),
        };
        let block = hash.and_then(|hash| hash.map(|hash| client.block(height, &hash)).transpose());
        let block =
            block.map_err(|error| tracing::warn!(%error, height, "the node does not give the block")).ok()??;
        Some((block.decoded, None))
    }
}

impl BlockSource for Blocks {
    fn block(&self, height: Height, hash: Option<BlockHash>) -> Result<Option<FoundBlock>, PipelineError> {
        if let Some((files, survey)) = self.files()?
            && let Some(found) = FileBlocks::new(files, survey, self.script_prefix).block(height, hash)?
        {
            return Ok(Some(found));
        }
        Ok(self.node_block(height, hash))
    }
}
