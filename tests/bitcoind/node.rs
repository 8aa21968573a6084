//! A node of one's own, on regtest or on a custom signet: the bitcoind that `BITCOIND_EXE` names, in a folder that
//! vanishes.

use std::{
    ffi::OsString,
    fs,
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use cairn_model::CancelToken;
use cairn_node::{NodeAuth, NodeClient, NodeConfig};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Whatever the node is to do is done within this time, or the test fails.
const PATIENCE: Duration = Duration::from_secs(60);
/// A start may find a port taken that was free a moment ago: this often, other ports are tried.
const STARTS: u32 = 4;
/// Ports of nodes. They lie below those that systems give to outgoing connections, so that a node that restarts finds
/// its own still free.
const PORTS: std::ops::Range<u16> = 18_500..32_000;

/// The node's program; leaves the test, by name, where `BITCOIND_EXE` names none.
macro_rules! bitcoind_or_skip {
    () => {{
        match ::std::env::var_os("BITCOIND_EXE").filter(|path| !path.is_empty()) {
            Some(path) => path,
            None => ::cairn_testkit::skip!("BITCOIND_EXE is not set"),
        }
    }};
}
pub(crate) use bitcoind_or_skip;

/// How a node is started.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Whether it publishes blocks and transactions by ZMQ.
    pub(crate) zmq: bool,
    /// Whether it offers REST.
    pub(crate) rest: bool,
    /// Whether it listens for other nodes.
    pub(crate) listen: bool,
    /// Challenge of the custom signet that it is on; `None` for regtest.
    pub(crate) signet: Option<&'static str>,
    /// Further arguments.
    pub(crate) more: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { zmq: true, rest: true, listen: false, signet: None, more: Vec::new() }
    }
}

impl Settings {
    /// The folder of its network in its data folder.
    fn folder(&self) -> &'static str {
        if self.signet.is_some() { "signet" } else { "regtest" }
    }

    /// The usual ones and these arguments.
    pub(crate) fn with(more: &[&str]) -> Self {
        Settings { more: more.iter().map(|&arg| arg.to_owned()).collect(), ..Settings::default() }
    }
}

#[derive(Clone, Copy, Debug)]
struct Ports {
    rpc: u16,
    p2p: u16,
    zmq: u16,
}

/// A running node (or one that was stopped and may start again). Its wallet `cairn` is loaded after
/// [`create_wallet`](Node::create_wallet), also after restarts.
pub(crate) struct Node {
    program: OsString,
    dir: TempDir,
    ports: Ports,
    settings: Settings,
    child: Child,
    client: NodeClient,
}

impl Node {
    /// Starts a node on an empty chain.
    #[track_caller]
    pub(crate) fn start(program: &OsString, settings: Settings) -> Self {
        for _ in 0..STARTS {
            let (dir, ports) = (cairn_testkit::temp_dir(), free_ports());
            let child = spawn(program, &dir, ports, &settings);
            let cookie = NodeAuth::Cookie(dir.path().join(settings.folder()).join(".cookie"));
            let config = NodeConfig::new(format!("http://127.0.0.1:{}", ports.rpc), cookie);
            let client = NodeClient::new(&config, CancelToken::new()).unwrap();
            let mut node = Node { program: program.clone(), dir, ports, settings: settings.clone(), child, client };
            if node.is_up() {
                return node;
            }
            let log = node.log_end();
            assert!(log.contains("bind") || log.contains("in use"), "the node ended: {log}");
        }
        panic!("no free ports were found");
    }

    /// A node with a wallet whose first coins are mature: 110 blocks, to as many addresses.
    #[track_caller]
    pub(crate) fn with_wallet(program: &OsString, settings: Settings) -> Self {
        let node = Node::start(program, settings);
        node.create_wallet();
        node.mine(110);
        node
    }

    /// Waits until it answers; false if it ended instead.
    fn is_up(&mut self) -> bool {
        let started = Instant::now();
        let client = self.client.with_retry(cairn_node::RetryPolicy::NONE);
        loop {
            if client.call::<Value>("getblockchaininfo", &json!([])).is_ok() {
                return true;
            }
            if self.child.try_wait().unwrap().is_some() {
                return false;
            }
            assert!(started.elapsed() < PATIENCE, "the node does not answer: {}", self.log_end());
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// The last lines that it logged.
    fn log_end(&self) -> String {
        let log = fs::read(self.folder().join("debug.log")).unwrap_or_default();
        String::from_utf8_lossy(&log[log.len().saturating_sub(4000)..]).into_owned()
    }

    /// Ends it as an operator does; the mempool is kept.
    #[track_caller]
    pub(crate) fn stop(&mut self) {
        self.rpc("stop", json!([]));
        let status = self.end();
        assert!(status.success(), "{status:?}: {}", self.log_end());
    }

    /// Ends it as a power cut does.
    #[track_caller]
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.end();
    }

    #[track_caller]
    fn end(&mut self) -> ExitStatus {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(started.elapsed() < PATIENCE, "the node does not end: {}", self.log_end());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Starts it again after it has ended: the same folder and ports, another cookie.
    #[track_caller]
    pub(crate) fn begin(&mut self) {
        assert!(self.child.try_wait().unwrap().is_some(), "it still runs");
        self.child = spawn(&self.program, &self.dir, self.ports, &self.settings);
        assert!(self.is_up(), "the node ended: {}", self.log_end());
    }

    /// Stops and starts it, with other settings if it gets some.
    #[track_caller]
    pub(crate) fn restart(&mut self, settings: Option<Settings>) {
        let before = fs::read_to_string(self.cookie_file()).unwrap();
        self.stop();
        if let Some(settings) = settings {
            self.settings = settings;
        }
        self.begin();
        assert_ne!(fs::read_to_string(self.cookie_file()).unwrap(), before, "each start has its own cookie");
    }

    /// Calls a method that is to succeed.
    #[track_caller]
    pub(crate) fn ask<T: DeserializeOwned>(&self, method: &str, params: Value) -> T {
        self.client.call(method, &params).unwrap_or_else(|error| panic!("{method} {params}: {error}"))
    }

    /// Calls a method that is to succeed; its result as it is.
    #[track_caller]
    pub(crate) fn rpc(&self, method: &str, params: Value) -> Value {
        self.ask(method, params)
    }

    /// Calls a method whose result has the bytes of a whole block.
    #[track_caller]
    pub(crate) fn rpc_of_block(&self, method: &str, params: Value) -> Value {
        let answer = self.client.call_within(method, &params, 16 << 20);
        answer.unwrap_or_else(|error| panic!("{method} {params}: {error}"))
    }

    /// Calls a method that may fail; then its words.
    pub(crate) fn outcome(&self, method: &str, params: Value) -> Result<Value, String> {
        self.client.call(method, &params).map_err(|error| error.to_string())
    }

    /// Address of its RPC interface.
    pub(crate) fn url(&self) -> &str {
        self.client.url()
    }

    /// The folder of its network.
    fn folder(&self) -> PathBuf {
        self.dir.path().join(self.settings.folder())
    }

    /// Its cookie.
    pub(crate) fn cookie_file(&self) -> PathBuf {
        self.folder().join(".cookie")
    }

    /// A client of one of its wallets, where it has several.
    #[track_caller]
    pub(crate) fn wallet_client(&self, name: &str) -> NodeClient {
        let config = NodeConfig::new(format!("{}/wallet/{name}", self.url()), NodeAuth::Cookie(self.cookie_file()));
        NodeClient::new(&config, CancelToken::new()).unwrap()
    }

    /// Its block files.
    pub(crate) fn blocks_dir(&self) -> PathBuf {
        self.folder().join("blocks")
    }

    /// Arguments that name it to Cairn.
    pub(crate) fn arguments(&self) -> String {
        format!("--node {} --node-cookie {}", self.url(), self.cookie_file().display())
    }

    /// Makes its wallet.
    #[track_caller]
    pub(crate) fn create_wallet(&self) {
        self.rpc("createwallet", json!({ "wallet_name": "cairn", "load_on_startup": true }));
    }

    /// Mines blocks, each to a new address of the wallet.
    #[track_caller]
    pub(crate) fn mine(&self, blocks: u32) -> Vec<String> {
        let mut hashes = Vec::new();
        for _ in 0..blocks {
            hashes.extend(self.mine_to(1, &self.new_address("bech32")));
        }
        hashes
    }

    /// Mines blocks to one address.
    #[track_caller]
    pub(crate) fn mine_to(&self, blocks: u32, address: &str) -> Vec<String> {
        self.ask("generatetoaddress", json!([blocks, address]))
    }

    /// Mines blocks of a custom signet whose challenge is true without a solution. A block takes some 5 million hashes.
    #[track_caller]
    pub(crate) fn mine_signet(&self, blocks: u32) {
        let height = self.height() + blocks;
        while self.height() < height {
            let _: Vec<String> = self.ask("generatetodescriptor", json!([1, "raw(51)", 1_000_000]));
        }
    }

    /// A new address of the wallet.
    #[track_caller]
    pub(crate) fn new_address(&self, kind: &str) -> String {
        self.ask("getnewaddress", json!(["", kind]))
    }

    /// Hash of its tip.
    #[track_caller]
    pub(crate) fn best(&self) -> String {
        self.ask("getbestblockhash", json!([]))
    }

    /// Height of its tip.
    #[track_caller]
    pub(crate) fn height(&self) -> u32 {
        self.ask("getblockcount", json!([]))
    }

    /// Hash of the block at a height.
    #[track_caller]
    pub(crate) fn hash_at(&self, height: u32) -> String {
        self.ask("getblockhash", json!([height]))
    }

    /// Connects it to a node that listens, and waits until both say so.
    #[track_caller]
    pub(crate) fn connect(&self, other: &Node) {
        self.rpc("addnode", json!([format!("127.0.0.1:{}", other.ports.p2p), "onetry"]));
        let started = Instant::now();
        let peers = |node: &Node| node.rpc("getconnectioncount", json!([])).as_u64();
        while peers(self) == Some(0) || peers(other) == Some(0) {
            assert!(started.elapsed() < PATIENCE, "the nodes do not meet");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(program: &OsString, dir: &TempDir, ports: Ports, settings: &Settings) -> Child {
    let mut command = Command::new(program);
    command.arg(format!("-datadir={}", dir.path().display()));
    match settings.signet {
        Some(challenge) => command.args(["-signet".to_owned(), format!("-signetchallenge={challenge}")]),
        None => command.arg("-regtest"),
    };
    command.args(["-server", "-fallbackfee=0.0002", "-txindex=0", "-printtoconsole=0", "-par=1"]);
    command.args(["-discover=0", "-dnsseed=0", "-fixedseeds=0", "-natpmp=0", "-listenonion=0", "-shrinkdebugfile=0"]);
    command.arg(format!("-rest={}", u8::from(settings.rest)));
    command.arg(format!("-rpcport={}", ports.rpc));
    if settings.listen {
        command.arg(format!("-bind=127.0.0.1:{}", ports.p2p));
    } else {
        command.arg("-listen=0");
    }
    if settings.zmq {
        for topic in ["rawblock", "hashblock", "rawtx", "sequence"] {
            command.arg(format!("-zmqpub{topic}=tcp://127.0.0.1:{}", ports.zmq));
        }
    }
    command.args(&settings.more);
    // Many of its messages come by its log; what comes before that is seldom of use.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap_or_else(|error| panic!("BITCOIND_EXE={program:?}: {error}"))
}

fn free_ports() -> Ports {
    let mut found = [0; 3];
    for at in 0..found.len() {
        let port = (0..1000)
            .map(|_| rand::random_range(PORTS))
            .find(|port| !found.contains(port) && TcpListener::bind(("127.0.0.1", *port)).is_ok());
        found[at] = port.unwrap();
    }
    let [rpc, p2p, zmq] = found;
    Ports { rpc, p2p, zmq }
}
