//! `cairn mcp`.

use cairn_model::CancelToken;

use crate::{
    cli::Mcp,
    exit::{Exit, Failure},
    in_process::with_api,
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
    let options = cairn_mcp::Options { stop: cancel.clone(), ..cairn_mcp::Options::default() };
    with_api(&args.here, "--url", |state| {
        let router = cairn_operations::router_with(state, |api| cairn_mcp::routes(api, options));
        stdio::serve(Peer::Local(router), cancel)
    })
}
