//! `cairn mcp`.

use std::sync::Arc;

use cairn_http::HttpConfig;
use cairn_model::CancelToken;
use cairn_operations::{ApiConfig, ApiState};

use crate::{
    cli::Mcp,
    exit::{Exit, Failure},
    following,
    gateway::Gateway,
    signals::{self, Signals},
    stdio::{self, Peer, Remote},
};

/// Speaks the Model Context Protocol over standard input and output. Answers come from a server, or from an index in
/// this process.
pub(crate) fn mcp(args: &Mcp) -> Result<Exit, Failure> {
    let signals = Signals::take_over()?;
    let cancel = signals.cancel_token();
    match &args.url {
        Some(url) => {
            let remote = Remote::at(url, args.key.api_key.clone(), cancel).map_err(|reason| {
                Failure::usage(format!("--url cannot be used: {reason}")).hint("for example --url https://example.org")
            })?;
            stdio::serve(Peer::Remote(Box::new(remote)), cancel)?;
        }
        None => over_index(args, cancel)?,
    }
    Ok(signals::received().unwrap_or(Exit::Done))
}

fn over_index(args: &Mcp, cancel: &CancelToken) -> Result<(), Failure> {
    let datadir = args.index.datadir().map_err(|failure| match args.index.is_set() {
        true => failure,
        false => Failure::usage("neither --url nor --datadir is given")
            .hint("give --url with the URL of a server, or --datadir with the data folder of an index"),
    })?;
    let (followed, _scratch, network) = following::open(datadir, &args.blocks, &args.cache)?;
    let api = ApiConfig::from(HttpConfig {
        base_url: args.base_url.trim_end_matches('/').to_owned(),
        // The user of this program can read the index itself, so there are neither gates nor limits.
        gates_enabled: false,
        rate_limit: 0,
        mcp_versions: cairn_mcp::protocol_versions(),
        ..HttpConfig::default()
    });
    let api = ApiConfig { network, ..api };
    let node = Gateway::of(&args.node)?;
    let followed = Arc::new(followed.with_mempool_memory(args.mempool.mempool_memory));
    // The threads end with this function, before the index is closed.
    let ours = CancelToken::new();
    let threads = followed.follow(datadir, &ours)?;
    let state = ApiState { node, ..ApiState::new(followed, api) };
    let options = cairn_mcp::Options { stop: cancel.clone(), ..cairn_mcp::Options::default() };
    let router = cairn_operations::router_with(state, |api| cairn_mcp::routes(api, options));
    let served = stdio::serve(Peer::Local(router), cancel);
    ours.cancel();
    if !threads.join() {
        return Err(Failure::new(Exit::Other, "a thread panicked; this is a bug"));
    }
    served
}
