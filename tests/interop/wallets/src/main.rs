//! BDK's wallet over Esplora's API and over the Electrum protocol, and each call of the crate `electrum-client`, for
//! `tests/interop/wallets.sh`: over Cairn, on a Bitcoin Core node. `start_regtest` in `regtest.sh` sets the variables.

mod calls;
mod node;
mod wallet;

use std::{env, error::Error, process, thread, time::Duration};

use bdk_electrum::BdkElectrumClient;
use bdk_esplora::esplora_client;
use electrum_client::{Client, Config};

use crate::{
    node::Node,
    wallet::{Run, Server},
};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The program ends itself after this time, even if the script that started it hangs.
const MAX_RUN: Duration = Duration::from_secs(600);

fn run() -> Result<()> {
    let tcp = format!("tcp://{}", env::var("ELECTRUM_ADDRESS")?);
    let tls = format!("ssl://{}", env::var("ELECTRUM_TLS_ADDRESS")?);
    let connect = |url: &str| -> Result<Client> {
        // Nobody has signed the certificate.
        let config = Config::builder().validate_domain(false).timeout(Some(Duration::from_secs(30))).build();
        Ok(Client::from_config(url, config)?)
    };
    let node = Node::start()?;

    let esplora = esplora_client::Builder::new(&env::var("ESPLORA_URL")?).build_blocking();
    let (over_tcp, over_tls) = (BdkElectrumClient::new(connect(&tcp)?), BdkElectrumClient::new(connect(&tls)?));
    let servers: [(&str, &dyn Server); 3] = [
        ("Esplora's API", &esplora),
        ("the Electrum protocol", &over_tcp),
        ("the Electrum protocol with TLS", &over_tls),
    ];
    for ((name, server), account) in servers.into_iter().zip(0..) {
        let mut run = Run::new(&node, server, account)?;
        let transactions = run.all().map_err(|error| format!("BDK over {name}: {error}"))?;
        println!(
            "interop: BDK had the node's coins after {} steps over {name}: {transactions} transactions",
            run.steps
        );
    }
    for url in [&tcp, &tls] {
        let requests =
            calls::all(&connect(url)?, &node).map_err(|error| format!("electrum-client over {url}: {error}"))?;
        println!("interop: electrum-client made {requests} requests over {url}");
    }
    Ok(())
}

fn main() {
    thread::spawn(|| {
        thread::sleep(MAX_RUN);
        eprintln!("interop: the wallets ran for {} s, the limit", MAX_RUN.as_secs());
        process::exit(1);
    });
    if let Err(error) = run() {
        eprintln!("interop: {error}");
        process::exit(1);
    }
}
