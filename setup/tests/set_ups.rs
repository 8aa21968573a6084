//! Recorded set-ups of nodes, each with one fault: the examination names the fault and the line that mends it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{
    fs,
    net::TcpListener,
    os::unix::fs::{PermissionsExt, chown},
    path::PathBuf,
};

use bitcoin::Network as BitcoinNetwork;
use cairn_chaingen::{
    Everything,
    corefiles::{FileOptions, Layout, write_chain},
};
use cairn_model::{ChainParams, Network};
use cairn_node::{NodeAuth, NodeConfig};
use cairn_setup::{Examination, Finding, NodeFolder, SetUp, Severity, examine};
use cairn_standin::{Auth, Source, StandIn, StandInOptions, Topic, ZmqOptions};
use cairn_support::SmallDisk;
use tempfile::TempDir;

const KEY: [u8; 8] = [0x6b, 1, 0xff, 0, 0x42, 0x17, 0x99, 0xc3];

/// A generator of a chain; equal seeds give equal chains.
fn chain(seed: u64) -> Everything {
    let mut chain = Everything::new(seed, 3, false);
    chain.grow(12).unwrap();
    chain
}

/// A folder of a node, a node that runs, and the settings of Cairn.
struct Recorded {
    dir: TempDir,
    node: StandIn,
    url: Option<String>,
    cookie: Option<PathBuf>,
    network: Network,
    has_blocks: bool,
    has_node: bool,
    /// False if the node runs on another machine: its configuration is not here.
    has_folder: bool,
    listen: Option<std::net::SocketAddr>,
    datadir: Option<PathBuf>,
}

impl Recorded {
    /// A set-up without a fault.
    fn good() -> Self {
        Recorded::with(StandInOptions::default())
    }

    fn with(options: StandInOptions) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let source = Some(Source::Everything(Box::new(chain(5))));
        let node = StandIn::start(StandInOptions { source, ..options }).unwrap();
        // As Bitcoin Core makes it.
        if let Ok(meta) = fs::metadata(node.cookie_file()) {
            fs::set_permissions(node.cookie_file(), fs::Permissions::from_mode(meta.permissions().mode() & 0o700))
                .unwrap();
        }
        let layout = Layout::tidy(FileOptions::new(BitcoinNetwork::Regtest, KEY));
        write_chain(&dir.path().join("regtest/blocks"), chain(5).chain(), &layout).unwrap();
        fs::write(dir.path().join("bitcoin.conf"), "chain=regtest\n").unwrap();
        Recorded {
            dir,
            node,
            url: None,
            cookie: None,
            network: Network::Regtest,
            has_blocks: true,
            has_node: true,
            has_folder: true,
            listen: None,
            datadir: None,
        }
    }

    fn blocks(&self) -> PathBuf {
        self.dir.path().join("regtest/blocks")
    }

    fn conf(&self, lines: &str) {
        fs::write(self.dir.path().join("bitcoin.conf"), format!("chain=regtest\n{lines}")).unwrap();
    }

    fn examined(&self) -> Examination {
        let (blocks, datadir) = (self.blocks(), self.dir.path().join("cairn"));
        let cookie = self.cookie.clone().unwrap_or_else(|| self.node.cookie_file().to_owned());
        let url = self.url.clone().unwrap_or_else(|| self.node.url());
        let config = NodeConfig::new(url, NodeAuth::Cookie(cookie));
        let folder = NodeFolder::read(self.dir.path()).unwrap();
        let listeners: Vec<_> = self.listen.map(|address| ("listen", address)).into_iter().collect();
        examine(&SetUp {
            chain: self.network.into(),
            blocks_dir: self.has_blocks.then_some(blocks.as_path()),
            datadir: Some(self.datadir.as_deref().unwrap_or(&datadir)),
            node: self.has_node.then_some(&config),
            folder: self.has_folder.then_some(&folder),
            listeners: &listeners,
            memory_bytes: 1 << 20,
            silent_payments: false,
        })
    }

    /// The finding of this kind, which has this severity and this line.
    #[track_caller]
    fn finds(&self, kind: &str, severity: Severity, line: &str) -> Finding {
        let found = self.examined();
        let finding = found.findings.iter().find(|finding| finding.kind == kind).cloned();
        let finding = finding.unwrap_or_else(|| panic!("{kind}: {found:?}"));
        assert_eq!(finding.severity, severity, "{finding}");
        let lines = finding.lines.join("\n");
        assert!(line.is_empty() || lines.contains(line) || finding.remedy.contains(line), "{line}: {finding}");
        assert!(!finding.remedy.is_empty() || severity == Severity::Note, "{finding}");
        assert_eq!(found.has_fault(), found.findings.iter().any(|one| one.severity == Severity::Fault));
        finding
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn a_good_set_up_has_no_fault() {
    let recorded = Recorded::good();
    let found = recorded.examined();
    let kinds: Vec<_> = found.findings.iter().map(|finding| (finding.kind, finding.severity)).collect();
    assert_eq!(kinds, [("obfuscated", Severity::Note)], "{found:?}");
    for name in ["block files", "node", "data folder", "index"] {
        assert!(found.checked.iter().any(|checked| checked.name == name), "{name}: {found:?}");
    }
    assert!(!recorded.dir.path().join("cairn").exists(), "nothing is written");
}

/// 1: the node prunes; also where only its files show it, or only its configuration.
#[test]
fn pruned() {
    let mut recorded = Recorded::good();
    recorded.node.world().prune(Some(5));
    let finding = recorded.finds("pruned", Severity::Fault, "prune=0");
    assert!(finding.fault.contains("blocks from 5 on") && finding.remedy.contains("-reindex"), "{finding}");
    // An index that has the older blocks goes on.
    fs::create_dir_all(recorded.dir.path().join("cairn/index")).unwrap();
    fs::write(recorded.dir.path().join("cairn/index/CURRENT"), "").unwrap();
    recorded.finds("pruned", Severity::Note, "");
    fs::remove_dir_all(recorded.dir.path().join("cairn")).unwrap();
    recorded.node.stop();
    recorded.conf("prune=550\n");
    recorded.finds("pruned", Severity::Fault, "prune=0");
    recorded.conf("");
    fs::rename(recorded.blocks().join("blk00000.dat"), recorded.blocks().join("blk00003.dat")).unwrap();
    let finding = recorded.finds("pruned", Severity::Fault, "prune=0");
    assert!(finding.fault.contains("the first block file is number 3"), "{finding}");
}

/// 2: the node does not offer REST.
#[test]
fn without_rest() {
    let recorded = Recorded::with(StandInOptions { rest: false, ..StandInOptions::default() });
    let finding = recorded.finds("rest_off", Severity::Advice, "rest=1");
    assert!(finding.remedy.contains("bitcoin.conf"), "{finding}");
    assert!(!recorded.examined().has_fault());
}

/// 3: the cookie is of another user.
#[test]
fn cookie_of_another_user() {
    let mut recorded = Recorded::good();
    let cookie = recorded.dir.path().join("cookie");
    fs::write(&cookie, "__cookie__:secret").unwrap();
    fs::set_permissions(&cookie, fs::Permissions::from_mode(0o000)).unwrap();
    if is_root() {
        // Root reads everything: a file without a cookie stands for one that is refused.
        fs::write(&cookie, "").unwrap();
        chown(&cookie, Some(12_345), Some(12_345)).unwrap();
    }
    recorded.cookie = Some(cookie);
    let kind = if is_root() { "cookie_of_other_user" } else { "cookie_unreadable" };
    let finding = recorded.finds(kind, Severity::Fault, "rpccookieperms=group");
    assert!(!finding.to_string().contains("secret"), "{finding}");
}

/// 4: block files were copied without the key that they are obfuscated with.
#[test]
fn obfuscated_blocks_without_their_key() {
    let recorded = Recorded::good();
    fs::remove_file(recorded.blocks().join("xor.dat")).unwrap();
    let line = format!("cp NODE_DATA_FOLDER/blocks/xor.dat {}/", recorded.blocks().display());
    recorded.finds("xor_key", Severity::Fault, &line);
}

/// 5: the disk is too small.
#[test]
fn disk_too_small() {
    let mut recorded = Recorded::good();
    // Two gigabytes of files that take no space.
    for number in 1..=3 {
        let length = if number == 1 { 2_000_000_000 } else { 0 };
        let path = recorded.blocks().join(format!("blk{number:05}.dat"));
        fs::File::create(path).unwrap().set_len(length).unwrap();
    }
    let Some(disk) = SmallDisk::mount(&recorded.dir.path().join("disk"), 1_024) else {
        cairn_testkit::skip!("no file system can be mounted here")
    };
    recorded.datadir = Some(disk.path().join("cairn"));
    let finding = recorded.finds("disk_too_small", Severity::Fault, "--datadir");
    assert!(finding.fault.contains("the first indexing needs 1.22 GB"), "{finding}");
}

/// 6: node or block files are of another network.
#[test]
fn wrong_network() {
    let mut recorded = Recorded::good();
    recorded.node.world().set_network(BitcoinNetwork::Signet);
    recorded.finds("wrong_network", Severity::Fault, "network = \"signet\"");
    recorded.has_node = false;
    recorded.network = Network::Main;
    recorded.finds("wrong_network", Severity::Fault, "network = \"regtest\"");
}

/// 7: the node runs on another machine, and does not let this one in.
#[test]
fn rpc_on_another_host() {
    let mut recorded = Recorded::good();
    (recorded.has_folder, recorded.has_blocks) = (false, false);
    // An address of documentation: nobody answers there.
    recorded.url = Some("http://192.0.2.7:8332".to_owned());
    let finding = recorded.finds("node_remote_silent", Severity::Fault, "rpcallowip=ADDRESS_OF_THIS_MACHINE");
    assert!(finding.lines.contains(&"rpcbind=192.0.2.7".to_owned()), "{finding}");
}

/// 8: ZMQ is off.
#[test]
fn zmq_off() {
    let zmq = ZmqOptions { topics: vec![], ..ZmqOptions::default() };
    let recorded = Recorded::with(StandInOptions { zmq, ..StandInOptions::default() });
    let finding = recorded.finds("zmq_off", Severity::Advice, "zmqpubsequence=tcp://127.0.0.1:28332");
    assert_eq!(
        finding.lines,
        [
            "[regtest]",
            "zmqpubrawblock=tcp://127.0.0.1:28332",
            "zmqpubrawtx=tcp://127.0.0.1:28332",
            "zmqpubrawtxhwm=100000",
            "zmqpubsequence=tcp://127.0.0.1:28332",
            "zmqpubsequencehwm=100000"
        ]
    );
    // Only what is missing.
    let zmq = ZmqOptions { topics: vec![Topic::HashBlock, Topic::RawTx], ..ZmqOptions::default() };
    let recorded = Recorded::with(StandInOptions { zmq, ..StandInOptions::default() });
    let finding = recorded.finds("zmq_off", Severity::Advice, "zmqpubsequence=");
    assert_eq!(finding.lines.len(), 3, "{finding}");
}

/// 9: ZMQ listens on every address. The node is stopped, so that its configuration is looked at.
#[test]
fn zmq_on_a_wildcard() {
    let mut recorded = Recorded::good();
    recorded.node.stop();
    recorded.conf(
        "[regtest]\nzmqpubrawblock=tcp://0.0.0.0:28332\nzmqpubrawtx=tcp://*:28333\nzmqpubsequence=tcp://127.0.0.1:1\n",
    );
    let finding = recorded.finds("zmq_wildcard", Severity::Advice, "zmqpubrawblock=tcp://127.0.0.1:28332");
    assert_eq!(finding.lines[1], "zmqpubrawtx=tcp://127.0.0.1:28333");
    assert_eq!(finding.lines.len(), 2, "{finding}");
}

/// 10: there are two nodes, and the settings mix them.
#[test]
fn two_nodes() {
    let mut recorded = Recorded::good();
    let other = StandIn::start(StandInOptions {
        source: Some(Source::Everything(Box::new(chain(6)))),
        ..StandInOptions::default()
    })
    .unwrap();
    recorded.url = Some(other.url());
    let wrong = recorded.finds("cookie_of_other_node", Severity::Fault, "node_cookie = ");
    assert!(!wrong.to_string().contains("__cookie__"), "{wrong}");
    recorded.cookie = Some(other.cookie_file().to_owned());
    recorded.finds("two_nodes", Severity::Fault, "blocks_dir, node, node_cookie");
}

/// 11: no permission to read the block files.
#[test]
fn no_permission() {
    let recorded = Recorded::good();
    if is_root() {
        cairn_testkit::skip!("root may read everything")
    }
    fs::set_permissions(recorded.blocks(), fs::Permissions::from_mode(0o000)).unwrap();
    let line = format!("setfacl -R -m u:CAIRN_USER:rX,d:u:CAIRN_USER:rX {}", recorded.blocks().display());
    recorded.finds("blocks_unreadable", Severity::Fault, &line);
    fs::set_permissions(recorded.blocks(), fs::Permissions::from_mode(0o700)).unwrap();
}

/// 12: the node still syncs, or still starts.
#[test]
fn still_syncing() {
    let mut recorded = Recorded::good();
    recorded.has_blocks = false;
    recorded.network = Network::Main;
    recorded.node.world().set_network(BitcoinNetwork::Bitcoin);
    recorded.node.world().set_ibd(true);
    let finding = recorded.finds("node_syncing", Severity::Note, "");
    assert!(finding.fault.contains("still syncing: it is at block"), "{finding}");
    assert!(!recorded.examined().has_fault());
}

#[test]
fn a_node_that_is_off() {
    let mut recorded = Recorded::good();
    let url = recorded.node.url();
    let port = url.rsplit_once(':').unwrap().1.to_owned();
    recorded.node.stop();
    // Its cookie is gone, too.
    recorded.finds("no_cookie", Severity::Fault, "start the node");
    recorded.conf("rpcuser=ann\nrpcpassword=hunter2\n");
    let finding = recorded.finds("no_cookie", Severity::Fault, "node_user = \"ann\"");
    assert!(finding.remedy.contains("CAIRN_NODE_PASSWORD") && !finding.to_string().contains("hunter2"), "{finding}");
    let cookie = recorded.dir.path().join("cookie");
    fs::write(&cookie, "a:b").unwrap();
    recorded.cookie = Some(cookie);
    recorded.conf(&format!("[regtest]\nrpcport={port}\n"));
    recorded.finds("node_silent", Severity::Fault, "bitcoind -datadir=");
    recorded.conf(&format!("server=0\n[regtest]\nrpcport={port}\n"));
    recorded.finds("rpc_off", Severity::Fault, "server=1");
    recorded.conf(&format!("rpcport={port}\n"));
    recorded.finds("rpcport_ignored", Severity::Fault, "node = \"http://127.0.0.1:18443\"");
    recorded.conf("[regtest]\nrpcport=7\n");
    recorded.finds("rpcport_differs", Severity::Fault, "node = \"http://127.0.0.1:7\"");
}

#[test]
fn a_wrong_password() {
    let auth = Auth::UserPassword { user: "ann".to_owned(), password: "right".to_owned() };
    let recorded = Recorded::with(StandInOptions { auth, ..StandInOptions::default() });
    let auth = NodeAuth::UserPassword { user: "ann".to_owned(), password: "hunter2".to_owned() };
    let config = NodeConfig::new(recorded.node.url(), auth);
    let found = examine(&SetUp {
        chain: ChainParams::from(Network::Regtest),
        blocks_dir: None,
        datadir: None,
        node: Some(&config),
        folder: None,
        listeners: &[],
        memory_bytes: 0,
        silent_payments: false,
    });
    assert_eq!(found.findings[0].kind, "wrong_password", "{found:?}");
    assert!(!format!("{found:?}").contains("hunter2"));
}

#[test]
fn a_port_that_is_taken() {
    let mut recorded = Recorded::good();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    recorded.listen = Some(taken.local_addr().unwrap());
    drop(std::thread::spawn(move || taken.incoming().for_each(drop)));
    recorded.finds("port_in_use", Severity::Fault, "listen = \"127.0.0.1:");
}

#[test]
fn a_data_folder_that_cannot_be_written() {
    let mut recorded = Recorded::good();
    if is_root() {
        cairn_testkit::skip!("root may write everywhere")
    }
    let locked = recorded.dir.path().join("locked");
    fs::create_dir(&locked).unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o500)).unwrap();
    recorded.datadir = Some(locked.join("cairn"));
    recorded.finds("datadir_not_writable", Severity::Fault, "install -d -o");
}

#[test]
fn a_cookie_that_everybody_may_read() {
    let recorded = Recorded::good();
    fs::set_permissions(recorded.node.cookie_file(), fs::Permissions::from_mode(0o644)).unwrap();
    recorded.finds("cookie_open", Severity::Advice, "rpccookieperms=group");
}
