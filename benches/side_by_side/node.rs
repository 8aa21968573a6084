//! Bitcoin Core on the generated chain.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use base64::{Engine, prelude::BASE64_STANDARD};

use crate::{
    ask::{free_port, rpc},
    chain::Chain,
    measure,
};

/// A running node that has the whole chain. Ends with the value.
pub(crate) struct Node {
    child: Child,
    /// Its own name and version.
    pub(crate) version: String,
    /// How long it took to connect the blocks.
    pub(crate) taken: Duration,
    /// Port of RPC and REST.
    pub(crate) rpc_port: u16,
    /// Port of the protocol between nodes.
    pub(crate) p2p_port: u16,
}

impl Node {
    /// Has it index the block files as after a lost database, and waits until it is at the tip.
    ///
    /// # Panics
    /// If it does not get there.
    pub(crate) fn start(exe: &Path, chain: &Chain, longest: Duration) -> Self {
        let (rpc_port, p2p_port) = (free_port(), free_port());
        let log = fs::File::create(chain.node_folder.join("output")).unwrap();
        let start = Instant::now();
        let child = Command::new(exe)
            .arg(format!("-datadir={}", chain.node_folder.display()))
            .args([
                "-regtest",
                "-reindex",
                "-server",
                "-rest",
                "-connect=0",
                "-listen",
                "-discover=0",
                "-listenonion=0",
            ])
            // Signatures are random bytes. The times lie in the past; a node that thinks itself behind answers less.
            .arg(format!("-assumevalid={}", chain.tip))
            .args(["-maxtipage=4000000000", "-dbcache=1000", "-persistmempool=0", "-printtoconsole=0"])
            .arg(format!("-rpcport={rpc_port}"))
            .arg(format!("-bind=127.0.0.1:{p2p_port}"))
            .args(["-whitelist=download@127.0.0.1", "-rpcthreads=8", "-rpcworkqueue=128"])
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let mut node = Node { child, version: measure::version(exe), taken: Duration::ZERO, rpc_port, p2p_port };
        while node.height(chain) != Some(chain.height) {
            if let Some(status) = node.child.try_wait().unwrap() {
                panic!("the node ended ({status}):\n{}", node.said(chain));
            }
            assert!(start.elapsed() < longest, "the node is at {:?}:\n{}", node.height(chain), node.said(chain));
            thread::sleep(Duration::from_millis(100));
        }
        node.taken = start.elapsed();
        node
    }

    fn height(&self, chain: &Chain) -> Option<u64> {
        let cookie = fs::read(chain.node_folder.join("regtest/.cookie")).ok()?;
        let info = rpc(self.rpc_port, &BASE64_STANDARD.encode(cookie), "getblockchaininfo")?;
        // The files are read whole, before their blocks are connected.
        let done = info["headers"] == info["blocks"] && info["initialblockdownload"] == false;
        info["blocks"].as_u64().filter(|_| done)
    }

    /// The end of its log.
    fn said(&self, chain: &Chain) -> String {
        let read = |name: &str| fs::read_to_string(chain.node_folder.join(name)).unwrap_or_default();
        let text = read("output") + &read("regtest/debug.log");
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        measure::stop(&mut self.child);
    }
}
