//! The API over an index of this machine, without a server: for commands that ask it themselves.

use std::{sync::Arc, time::Duration};

use cairn_http::HttpConfig;
use cairn_model::CancelToken;
use cairn_operations::{ApiConfig, ApiState};

use crate::{
    config::InProcess,
    exit::{Exit, Failure},
    following,
    gateway::Gateway,
};

/// How long the process that writes the index may take to say how its mempool is.
const PATIENCE: Duration = Duration::from_secs(2);

/// Opens the index read-only, while another process may write it, and runs `ask` with the state of an API over it,
/// which has no service state. `otherwise` names the setting that can stand in place of --datadir.
pub(crate) fn with_api<T>(
    args: &InProcess,
    otherwise: &str,
    ask: impl FnOnce(ApiState) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let datadir = args.index.datadir().map_err(|failure| match args.index.is_set() {
        true => failure,
        false => Failure::usage(format!("neither {otherwise} nor --datadir is given"))
            .hint(format!("give {otherwise} with the URL of a server, or --datadir with the data folder of an index")),
    })?;
    let (followed, _scratch, network) = following::open(datadir, &args.blocks, &args.cache)?;
    let http = HttpConfig {
        base_url: args.base_url.trim_end_matches('/').to_owned(),
        // The user of this program can read the index itself, so there are neither gates nor limits.
        gates_enabled: false,
        rate_limit: 0,
        mcp_versions: cairn_mcp::protocol_versions(),
        ..HttpConfig::default()
    };
    let api = ApiConfig { network, ..ApiConfig::from(http) };
    let node = Gateway::of(&args.node)?;
    let followed = Arc::new(followed.with_mempool_memory(args.mempool.mempool_memory));
    // The threads end with this function, before the index is closed.
    let ours = CancelToken::new();
    let threads = followed.follow(datadir, &ours)?;
    followed.wait_for_writer(datadir, PATIENCE);
    let asked = ask(ApiState { node, ..ApiState::new(followed, api) });
    ours.cancel();
    if !threads.join() {
        return Err(Failure::new(Exit::Other, "a thread panicked; this is a bug"));
    }
    asked
}
