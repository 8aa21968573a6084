//! The regtest chain: a stand-in node, and the miner that fills its blocks from the mempool.

use std::{
    thread,
    time::{Duration, Instant},
};

use bitcoin::{Address, consensus::verify_script};
use cairn_demo::BlockSpec;
use cairn_standin::{Auth, BlockPlan, StandIn, StandInOptions, ZmqOptions};
use ldk_node::Builder;

use crate::Result;

const USER: &str = "interop";
const PASSWORD: &str = "regtest";
/// Time for anything that the nodes do with the chain.
const MAX_WAIT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(100);

/// A chain in memory, served in the form of Bitcoin Core's JSON-RPC. It has no fee estimates: on regtest, nodes take 1
/// sat per virtual byte then.
pub(crate) struct Chain {
    node: StandIn,
}

impl Chain {
    /// Starts a chain that consists of the genesis block.
    pub(crate) fn start() -> Result<Self> {
        let node = StandIn::start(StandInOptions {
            auth: Auth::UserPassword { user: USER.to_owned(), password: PASSWORD.to_owned() },
            zmq: ZmqOptions { topics: Vec::new(), ..ZmqOptions::default() },
            ..StandInOptions::default()
        })?;
        Ok(Self { node })
    }

    /// Makes this chain the source of a node.
    pub(crate) fn connect(&self, builder: &mut Builder) {
        let address = self.node.address();
        builder.set_chain_source_bitcoind_rpc(
            address.ip().to_string(),
            address.port(),
            USER.to_owned(),
            PASSWORD.to_owned(),
        );
    }

    /// Mines a block whose reward goes to an address.
    pub(crate) fn reward(&self, address: &Address) -> Result<()> {
        let spec = BlockSpec::paying(address.script_pubkey());
        self.node.world().mine_plan(&BlockPlan { spec, ..BlockPlan::default() })?;
        Ok(())
    }

    /// Mines blocks with the transactions of the mempool.
    pub(crate) fn mine(&self, blocks: u32) -> Result<()> {
        self.node.world().mine(blocks)?;
        Ok(())
    }

    /// Mines blocks as soon as a transaction is in the mempool.
    pub(crate) fn confirm(&self, name: &str, blocks: u32) -> Result<()> {
        wait(name, || Ok(!self.node.world().pool_txids().is_empty()))?;
        self.mine(blocks)
    }

    /// Runs the scripts of all inputs with libbitcoinconsensus, since the stand-in node does not. Returns their number.
    ///
    /// # Errors
    /// Fails at the first invalid input, and at a Taproot input, which this version of the library does not check.
    pub(crate) fn check_scripts(&self) -> Result<usize> {
        let mut inputs = 0;
        for mined in self.node.world().active() {
            for (tx, coins) in mined.block.txdata.iter().skip(1).zip(&mined.spent) {
                let bytes = bitcoin::consensus::serialize(tx);
                for (at, coin) in coins.iter().enumerate() {
                    let script = &coin.txout.script_pubkey;
                    if script.is_p2tr() {
                        return Err(format!("input {at} of {} is a Taproot input", tx.compute_txid()).into());
                    }
                    verify_script(script, at, coin.txout.value, &bytes)?;
                    inputs += 1;
                }
            }
        }
        Ok(inputs)
    }
}

/// Waits until a condition holds.
///
/// # Errors
/// Fails if it does not hold within [`MAX_WAIT`].
pub(crate) fn wait(name: &str, mut holds: impl FnMut() -> Result<bool>) -> Result<()> {
    let began = Instant::now();
    while !holds()? {
        if began.elapsed() > MAX_WAIT {
            return Err(format!("{name} did not come within {} s", MAX_WAIT.as_secs()).into());
        }
        thread::sleep(POLL);
    }
    Ok(())
}
