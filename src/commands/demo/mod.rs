//! `cairn demo`: the generated chain, with the same file format, engine and server as any other chain, and a mempool.

mod folder;
mod labels;
mod mempool;
mod pools;
mod prices;
mod profiles;

use std::{path::PathBuf, sync::Arc};

use cairn_demo::{Actor, Showcase, actors, showcase};
use cairn_link::IndexSlot;
use cairn_operations::Featured;
use cairn_state::StateUrl;

use crate::{
    cli::Demo,
    commands::Context,
    exit::{Exit, Failure},
    out::{print, thousands},
    serving::{Examples, Server},
    signals::{self, Signals},
};
use folder::DemoFolder;

/// Generates the demo unless it exists, and serves it.
pub(crate) fn demo(args: &Demo, context: &Context) -> Result<Exit, Failure> {
    let signals = Signals::take_over()?;
    let (actors, showcase) = (actors().map_err(generator)?, showcase().map_err(generator)?);
    // Bind first: if the address is in use, the user learns it before the chain is generated.
    let server = Server::bind(&args.http, examples(&actors, &showcase), None)?;
    let folder = DemoFolder::at(match args.dir.folder()? {
        Some(dir) => dir.clone(),
        None => default_dir()?,
    });
    let reader = match folder.open()? {
        Some(reader) => reader,
        None => {
            let exit = folder.make(&context.screen, &signals)?;
            if exit != Exit::Done {
                return Ok(exit);
            }
            folder.open()?.ok_or_else(|| Failure::new(Exit::Other, "the demo chain is incomplete"))?
        }
    };
    let (tip, now_ms) = (*reader.view()?.tip(), cairn_clock::now_ms());
    let (height, unconfirmed) = (tip.height, folder.unconfirmed(now_ms)?);
    let slot = IndexSlot::with(Arc::new(reader));
    // The chain is complete: no block will follow.
    slot.set_best_height(Some(height));
    let waiting = mempool::show(&slot, &tip, &unconfirmed, now_ms).map_err(|failure| folder.spoiled(failure))?;
    drop(unconfirmed);
    let what = format!(
        "{} blocks, {} unconfirmed transactions, regtest, in {}",
        thousands(height.into()),
        thousands(waiting),
        folder.dir().display()
    );
    print(&welcome(server.url(), &what, height, &actors, &showcase))?;
    // The demo's own state, never that of CAIRN_STATE_URL.
    let server = server.with_state(StateUrl::in_folder(folder.dir())).with_payment_mark(folder.dir());
    server.serve(Arc::new(slot), signals.cancel_token())?;
    Ok(signals::received().unwrap_or(Exit::Done))
}

/// Converts an error of the chain generator.
fn generator(error: cairn_demo::Error) -> Failure {
    match error {
        cairn_demo::Error::Io(error) => error.into(),
        other => Failure::new(Exit::Other, format!("cannot generate the demo chain: {other}")),
    }
}

fn examples(actors: &[Actor], showcase: &[Showcase]) -> Examples {
    let featured = actors.iter().filter_map(|actor| {
        Some(Featured {
            title: actor.name.to_owned(),
            description: actor.description.to_owned(),
            address: actor.addresses.first()?.to_string(),
        })
    });
    Examples { showcase: showcase.iter().map(|s| s.address.to_string()).collect(), featured: featured.collect() }
}

/// Returns the default folder of the demo.
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
