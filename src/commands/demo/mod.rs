//! `cairn demo`: the generated chain, with the same file format, engine and server as any other chain, and a mempool.

mod errors;
mod folder;
mod labels;
mod live;
mod mempool;
mod pools;
mod prices;
mod profiles;

use std::{fs::File, path::PathBuf, sync::Arc, thread};

use cairn_anchoring::AnchorSettings;
use cairn_demo::{Actor, Showcase, actors, showcase};
use cairn_link::IndexSlot;
use cairn_model::{MempoolDelta, Network};
use cairn_operations::Featured;
use cairn_payments::PaymentDescriptor;
use cairn_reader::Reader;
use cairn_state::StateUrl;
use prometheus::Registry;

use crate::{
    anchoring::Anchoring,
    cli::{Demo, DemoCommand},
    commands::Context,
    exit::{Exit, Failure},
    out::{print, thousands},
    serving::{Examples, Server},
    signals::{self, Signals},
};
use errors::generator;
use folder::DemoFolder;
use live::{DESCRIPTOR, DemoNode, Live, Miner};

/// Seconds that a hash waits for its batch.
const ANCHOR_INTERVAL: u32 = 5;
/// Fees of anchors in a day at most, in satoshis: the demo's wallet is large.
const MAX_SATS_PER_DAY: u64 = 100_000_000;
/// Feerate of anchors at most, in satoshis per 1,000 virtual bytes.
const MAX_FEERATE: u64 = 100_000;

/// Generates the demo unless it exists, and serves it; or orders a payment from a demo that runs.
pub(crate) fn demo(args: &Demo, context: &Context) -> Result<Exit, Failure> {
    if let Some(DemoCommand::Pay(order)) = &args.what {
        let dir = match order.dir.folder()? {
            Some(dir) => Some(dir),
            None => args.dir.folder()?,
        };
        let folder = DemoFolder::at(dir.map_or_else(default_dir, |dir| Ok(dir.clone()))?);
        return live::pay(&folder, &order.address, order.sats);
    }
    let signals = Signals::take_over()?;
    let (actors, showcase) = (actors().map_err(generator)?, showcase().map_err(generator)?);
    // Bind first: if the address is in use, the user learns it before the chain is generated.
    let server = Server::bind(&args.http, examples(&actors, &showcase), None)?;
    let folder = DemoFolder::at(match args.dir.folder()? {
        Some(dir) => dir.clone(),
        None => default_dir()?,
    });
    let (reader, owner) = match opened(&folder, args.still, context, &signals)? {
        Ok(opened) => opened,
        Err(exit) => return Ok(exit),
    };
    let (tip, now_ms) = (*reader.view()?.tip(), cairn_clock::now_ms());
    let (height, unconfirmed) = (tip.height, folder.unconfirmed(now_ms)?);
    let slot = IndexSlot::with(Arc::new(reader));
    // All blocks that there are; the demo itself adds further ones.
    slot.set_best_height(Some(height));
    let waiting = mempool::show(&slot, &tip, &unconfirmed, now_ms).map_err(|failure| folder.spoiled(failure))?;
    let what = format!(
        "{} blocks, {} unconfirmed transactions, regtest, in {}",
        thousands(height.into()),
        thousands(waiting),
        folder.dir().display()
    );
    print(&welcome(server.url(), &what, height, &actors, &showcase))?;
    // The demo's own state, never that of CAIRN_STATE_URL.
    let server = server.with_state(StateUrl::in_folder(folder.dir())).with_payment_mark(folder.dir());
    let slot = Arc::new(slot);
    match owner {
        Some(_owner) => serve_live(server, &folder, slot, &unconfirmed, context, &signals)?,
        None => {
            drop(unconfirmed);
            server.serve(slot, signals.cancel_token())?;
        }
    }
    Ok(signals::received().unwrap_or(Exit::Done))
}

/// A reader of the chain, and the lock of the process that adds blocks.
type Opened = (Reader, Option<File>);

/// Opens the chain, and generates it if it does not exist. Unless it is to be still, takes the lock of the process that
/// adds blocks, if it is free.
fn opened(
    folder: &DemoFolder,
    is_still: bool,
    context: &Context,
    signals: &Signals,
) -> Result<Result<Opened, Exit>, Failure> {
    let incomplete = || Failure::new(Exit::Other, "the demo chain is incomplete");
    let reader = match folder.open(is_still)? {
        Some(reader) => reader,
        None => {
            // Blocks that another process adds must not be removed below it.
            let owner = if folder.is_grown()? { Some(folder.own()?.ok_or_else(|| busy(folder))?) } else { None };
            let exit = folder.make(&context.screen, signals)?;
            if exit != Exit::Done {
                return Ok(Err(exit));
            }
            drop(owner);
            folder.open(is_still)?.ok_or_else(incomplete)?
        }
    };
    let owner = if is_still { None } else { folder.own()? };
    if owner.is_none() || !folder.is_grown()? {
        return Ok(Ok((reader, owner)));
    }
    // An earlier process may have ended before it indexed its last block.
    let exit = folder.follow(&context.screen, signals.cancel_token())?;
    if exit != Exit::Done {
        return Ok(Err(exit));
    }
    Ok(Ok((folder.open(is_still)?.ok_or_else(incomplete)?, owner)))
}

fn busy(folder: &DemoFolder) -> Failure {
    let dir = folder.dir().display();
    Failure::new(Exit::Index, format!("{dir}: another demo adds blocks here"))
        .hint("stop it first, or use another --datadir")
}

/// Serves, anchors timestamps, and adds a block when something waits for one.
fn serve_live(
    server: Server,
    folder: &DemoFolder,
    slot: Arc<IndexSlot>,
    unconfirmed: &[MempoolDelta],
    context: &Context,
    signals: &Signals,
) -> Result<(), Failure> {
    let network = Network::Regtest;
    let descriptor = PaymentDescriptor::new(DESCRIPTOR, Some(network));
    let descriptor = descriptor.map_err(|error| Failure::new(Exit::Other, error.to_string()))?;
    let (registry, url) = (Registry::new(), StateUrl::in_folder(folder.dir()));
    let server = server.with_registry(&registry).with_payments(descriptor).with_own_calendar();
    let live = Arc::new(Live::new(Arc::clone(&slot), unconfirmed, folder.dir())?);
    let miner = Miner::new(Arc::clone(&live), folder, &url, &context.screen)?;
    let settings = AnchorSettings {
        network: network.name().to_owned(),
        interval_secs: ANCHOR_INTERVAL,
        max_sats_per_day: MAX_SATS_PER_DAY,
        max_feerate: MAX_FEERATE,
        bump_after_blocks: 3,
    };
    let index = Arc::<IndexSlot>::clone(&slot);
    let anchoring = Anchoring::new(settings, DemoNode(live), url, index, &registry)?.start()?;
    let cancel = signals.cancel_token();
    thread::scope(|scope| {
        scope.spawn(move || miner.run(cancel));
        // The miner ends with the server.
        let _serving = cancel.cancel_on_drop();
        server.serve(slot, cancel)
    })?;
    drop(anchoring);
    Ok(())
}

fn examples(actors: &[Actor], showcase: &[Showcase]) -> Examples {
    let featured = actors.iter().filter_map(|actor| {
        Some(Featured {
            title: actor.title.to_owned(),
            description: actor.description.to_owned(),
            address: actor.addresses.first()?.to_string(),
            account_key: actor.account_key.map(str::to_owned),
        })
    });
    Examples { showcase: showcase.iter().map(|s| s.address.to_string()).collect(), featured: featured.collect() }
}

fn default_dir() -> Result<PathBuf, Failure> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache")));
    let cache = cache.ok_or_else(|| {
        Failure::usage("neither XDG_CACHE_HOME nor HOME is set").hint("give a folder for the demo with --datadir")
    })?;
    Ok(cache.join("cairn").join("demo"))
}

/// Returns the text for newcomers.
fn welcome(url: &str, what: &str, height: u32, actors: &[Actor], showcase: &[Showcase]) -> String {
    let mut text = format!("\nThe demo chain ({what}) is served at {url}\n\n");
    for actor in actors {
        let address = actor.addresses.first().map(ToString::to_string).unwrap_or_default();
        text += &format!("  {:<9} {address}\n", actor.name);
    }
    for actor in actors {
        if let Some(key) = actor.account_key {
            text += &format!("\nThe whole wallet of the {}, for {url}/wallet:\n\n  {key}\n", actor.name);
        }
    }
    let of = |name: &str| {
        let actor = actors.iter().find(|a| a.name == name);
        actor.and_then(|a| a.addresses.first()).map(ToString::to_string).unwrap_or_default()
    };
    text += "\nTry these requests:\n\n";
    for path in [
        format!("/v1/wallets/{}/overview", of("exchange")),
        format!("/v1/wallets/{}/transactions?limit=5", of("merchant")),
        format!("/v1/wallets/{}/balance-history", showcase.get(1).map(|s| s.address.to_string()).unwrap_or_default()),
        format!("/v1/wallets/{}/trust-safety", of("sleeper")),
        format!("/v1/wallets/{}/flow-graph?direction=out&hops=4", of("thief")),
        "/v1/entities/cairn-exchange".to_owned(),
        "/v1/labels/search?q=exchange".to_owned(),
        "/v1/pools/list".to_owned(),
        format!("/v1/blocks/{height}"),
        "/v1/chain/recent-blocks?limit=3".to_owned(),
        "/v1/chain/projected-blocks".to_owned(),
        "/v1/fees/recommended".to_owned(),
        "/api/health".to_owned(),
    ] {
        text += &format!("  curl '{url}{path}'\n");
    }
    text += &format!("\nAll operations: {url}/openapi.json\nPress Ctrl-C to stop.\n\n");
    text
}
