//! A shop and a wallet on Lightning, for `tests/interop/lightning.sh`: Cairn sells answers over the shop's node, and a
//! client of L402 pays the invoices with the wallet's node.
//!
//! Usage: `cairn-interop-lightning FOLDER`. The program prints one line of JSON when the channel is open (URLs and
//! credentials of both nodes). When its standard input ends, it closes the channel, checks the chain, prints what it
//! checked, and ends. Everything listens on 127.0.0.1.
//!
//! Real: both nodes (`ldk-node`, that is LDK and BDK), their connection, the channel, its transactions, invoices, HTLCs
//! and preimages. Ours: the chain (`tests/standin`, which checks blocks and coins; libbitcoinconsensus runs the scripts
//! of each input at the end), and the interface of the nodes, which has the form of LND's REST, because Cairn does not
//! know `ldk-node`. The credentials are random bytes, no macaroons.

mod chain;
mod lnd;
mod pair;

use std::{env, error::Error, io, path::PathBuf, process, thread, time::Duration};

use serde_json::json;

use crate::{chain::Chain, lnd::Lnd, pair::Pair};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The program ends itself after this time, even if the script that started it hangs.
const MAX_RUN: Duration = Duration::from_secs(600);

fn run() -> Result<()> {
    let folder = PathBuf::from(env::args_os().nth(1).ok_or("usage: cairn-interop-lightning FOLDER")?);
    let chain = Chain::start()?;
    let pair = Pair::start(&folder, &chain)?;
    pair.open_channel(&chain)?;
    let (shop, wallet) = (Lnd::serve(pair.shop.clone())?, Lnd::serve(pair.wallet.clone())?);
    println!("{}", json!({ "shop": shop.to_json(), "wallet": wallet.to_json() }));

    io::copy(&mut io::stdin(), &mut io::sink())?;
    let settled = pair.close_channel(&chain)?;
    let inputs = chain.check_scripts()?;
    pair.stop()?;
    println!("ldk-node: the closed channel paid {settled} sats to the shop; {inputs} inputs have valid scripts");
    Ok(())
}

fn main() {
    thread::spawn(|| {
        thread::sleep(MAX_RUN);
        eprintln!("interop: the Lightning nodes ran for {} s, the limit", MAX_RUN.as_secs());
        process::exit(1);
    });
    if let Err(error) = run() {
        eprintln!("interop: {error}");
        process::exit(1);
    }
}
