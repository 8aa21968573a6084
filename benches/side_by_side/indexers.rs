//! How each program is started, and when it is done.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};

use crate::{
    ask::{electrum, free_port, get, member},
    chain::Chain,
    executable,
    node::Node,
};

/// A program that makes an index.
pub(crate) struct Indexer {
    /// Its name.
    pub(crate) name: &'static str,
    /// The setting that names its executable.
    pub(crate) setting: &'static str,
    /// Whether it takes blocks, or at least the best chain, from a node.
    pub(crate) needs_node: bool,
    /// How to start it in an empty folder.
    pub(crate) prepare: fn(&Chain, Option<&Node>, &Path) -> Prepared,
}

/// A command, and whether the program has got there.
pub(crate) struct Prepared {
    pub(crate) command: Command,
    pub(crate) ready: Box<dyn Fn() -> bool>,
    /// Where it speaks the Electrum protocol, if it does.
    pub(crate) electrum: Option<u16>,
}

const CAIRN: &str = env!("CARGO_BIN_EXE_cairn");

impl Indexer {
    pub(crate) fn executable(&self) -> Option<PathBuf> {
        if self.setting.is_empty() { Some(CAIRN.into()) } else { executable(self.setting) }
    }

    fn command(setting: &str) -> Command {
        Command::new(executable(setting).expect(setting))
    }
}

/// All of them, Cairn first.
pub(crate) fn all() -> Vec<Indexer> {
    vec![
        Indexer { name: "Cairn", setting: "", needs_node: false, prepare: cairn },
        Indexer { name: "romanz/electrs", setting: "ELECTRS_EXE", needs_node: true, prepare: electrs },
        Indexer { name: "Blockstream/electrs", setting: "ESPLORA_ELECTRS_EXE", needs_node: true, prepare: esplora },
        Indexer { name: "bitcoinresearchkit", setting: "BRK_EXE", needs_node: true, prepare: brk },
    ]
}

fn cairn(chain: &Chain, _: Option<&Node>, data: &Path) -> Prepared {
    let (port, electrum) = (free_port(), free_port());
    let mut command = Command::new(CAIRN);
    command.args(["run", "--network", "regtest", "--log", "warn"]);
    command.arg("--datadir").arg(data).arg("--blocks-dir").arg(chain.blocks());
    command.args(["--listen", &format!("127.0.0.1:{port}"), "--electrum", &format!("127.0.0.1:{electrum}")]);
    command.args(["--rate-limit", "0"]);
    let path = format!("/v1/wallets/scripthash:{}/overview", chain.script_hash());
    let height = chain.height;
    let ready = move || {
        let answer = get(port, &path);
        answer.as_ref().and_then(|answer| member(answer, "last_seen")?["height"].as_u64()) == Some(height)
    };
    Prepared { command, ready: Box::new(ready), electrum: Some(electrum) }
}

/// Asks an Electrum server for the script's history; it ends with the last block.
fn electrum_is_ready(port: u16, script_hash: &str, height: u64) -> bool {
    let history = electrum(port, "blockchain.scripthash.get_history", json!([script_hash]));
    let heights = history.as_ref().and_then(Value::as_array).into_iter().flatten();
    heights.filter_map(|entry| entry["height"].as_u64()).max() == Some(height)
}

fn needed<'n>(node: Option<&'n Node>, name: &str) -> &'n Node {
    node.unwrap_or_else(|| panic!("{name} needs a node"))
}

fn electrs(chain: &Chain, node: Option<&Node>, data: &Path) -> Prepared {
    let node = needed(node, "electrs");
    let port = free_port();
    let mut command = Indexer::command("ELECTRS_EXE");
    command.args(["--skip-default-conf-files", "--network", "regtest"]);
    command.arg("--db-dir").arg(data).arg("--daemon-dir").arg(&chain.node_folder);
    command.args(["--daemon-rpc-addr", &format!("127.0.0.1:{}", node.rpc_port)]);
    command.args(["--electrum-rpc-addr", &format!("127.0.0.1:{port}")]);
    command.args(["--monitoring-addr", &format!("127.0.0.1:{}", free_port())]);
    // Up to version 0.10 it takes blocks from the protocol between nodes, later from REST.
    let help = Indexer::command("ELECTRS_EXE").arg("--help").output().unwrap();
    if String::from_utf8_lossy(&help.stdout).contains("--daemon-p2p-addr") {
        command.args(["--daemon-p2p-addr", &format!("127.0.0.1:{}", node.p2p_port)]);
    }
    let (script_hash, height) = (chain.script_hash_reversed(), chain.height);
    let ready = move || electrum_is_ready(port, &script_hash, height);
    Prepared { command, ready: Box::new(ready), electrum: Some(port) }
}

fn esplora(chain: &Chain, node: Option<&Node>, data: &Path) -> Prepared {
    let node = needed(node, "electrs");
    let (port, electrum) = (free_port(), free_port());
    let mut command = Indexer::command("ESPLORA_ELECTRS_EXE");
    command.args(["--network", "regtest"]);
    command.arg("--db-dir").arg(data).arg("--daemon-dir").arg(&chain.node_folder);
    command.arg("--blocks-dir").arg(chain.blocks());
    command.args(["--daemon-rpc-addr", &format!("127.0.0.1:{}", node.rpc_port)]);
    command.args(["--electrum-rpc-addr", &format!("127.0.0.1:{electrum}")]);
    // It refuses longer histories than 500 transactions otherwise.
    command.args(["--electrum-txs-limit", "1000000", "--utxos-limit", "1000000"]);
    command.args(["--monitoring-addr", &format!("127.0.0.1:{}", free_port())]);
    command.args(["--http-addr", &format!("127.0.0.1:{port}")]);
    let path = format!("/scripthash/{}/txs", chain.script_hash());
    let height = chain.height;
    let ready = move || {
        let newest = get(port, &path);
        newest.as_ref().and_then(|txs| member(txs.get(0)?, "block_height")?.as_u64()) == Some(height)
    };
    Prepared { command, ready: Box::new(ready), electrum: Some(electrum) }
}

fn brk(chain: &Chain, node: Option<&Node>, data: &Path) -> Prepared {
    let node = needed(node, "bitcoinresearchkit");
    let port = free_port();
    let mut command = Indexer::command("BRK_EXE");
    command.arg("--brkdir").arg(data).args(["--website", "false", "--brkport", &port.to_string()]);
    command.arg("--bitcoindir").arg(&chain.node_folder);
    // It looks for mainnet's magic, whatever the node's network.
    command.arg("--blocksdir").arg(&chain.with_main_magic);
    assert!(fs::exists(&chain.with_main_magic).unwrap());
    command.args(["--rpcconnect", "127.0.0.1", "--rpcport", &node.rpc_port.to_string()]);
    command.arg("--rpccookiefile").arg(chain.node_folder.join("regtest/.cookie"));
    let path = format!("/api/address/{}/txs", chain.main_address());
    let height = chain.height;
    let ready = move || {
        let newest = get(port, &path);
        newest.as_ref().and_then(|txs| member(txs.get(0)?, "block_height")?.as_u64()) == Some(height)
    };
    Prepared { command, ready: Box::new(ready), electrum: None }
}
