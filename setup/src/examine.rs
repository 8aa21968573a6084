//! Examines a set-up: gathers the facts and lists the findings.

use std::{
    fs, io,
    net::SocketAddr,
    os::unix::{fs::PermissionsExt, net::UnixStream},
    path::Path,
};

use cairn_model::ChainParams;
use cairn_node::{NodeAuth, NodeConfig};
use cairn_sources::BlockFiles;
use serde::Serialize;

use crate::{
    block_findings,
    conf_findings::conf_findings,
    disk::Disk,
    finding::{Finding, Severity},
    listeners::{Port, look_at, port_findings},
    machine::Machine,
    measure::Measured,
    node_answers::{NodeAnswers, ask},
    node_conf::ConfError,
    node_findings::Asked,
    node_folder::NodeFolder,
    sheet::{Plan, Sheet},
    units::size,
};

/// Bytes of blocks below which the size of the index is not predicted: the recorded ratios do not hold there.
const NO_PREDICTION_BELOW: u64 = 256 << 20;

/// The settings that are examined.
#[derive(Clone, Copy, Debug)]
pub struct SetUp<'a> {
    /// The network.
    pub chain: ChainParams,
    /// The folder of block files.
    pub blocks_dir: Option<&'a Path>,
    /// The data folder of Cairn.
    pub datadir: Option<&'a Path>,
    /// The node.
    pub node: Option<&'a NodeConfig>,
    /// The node's folder, if it is on this machine.
    pub folder: Option<&'a NodeFolder>,
    /// Names of settings with the addresses to listen on.
    pub listeners: &'a [(&'static str, SocketAddr)],
    /// Bytes of memory that `cairn run` takes at most.
    pub memory_bytes: u64,
    /// True if the tweaks of silent payments are made.
    pub silent_payments: bool,
}

/// One thing that was looked at, and its state in a few words.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Checked {
    /// The thing.
    pub name: &'static str,
    /// Its state; begins with `unknown:` or `not given` if it could not be looked at.
    pub state: String,
}

/// The result of an examination.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Examination {
    /// The things that were looked at.
    pub checked: Vec<Checked>,
    /// The findings, faults first.
    pub findings: Vec<Finding>,
}

impl Examination {
    /// True if something does not work until somebody mends it.
    #[must_use]
    pub fn has_fault(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity == Severity::Fault)
    }

    /// Adds that the node's configuration could not be read.
    pub fn add_conf_error(&mut self, error: &ConfError) {
        self.note("bitcoin.conf", format!("unknown: {error}"));
        let remedy = match error {
            ConfError::Line { .. } => "correct the line: the node refuses to start with it",
            _ => "name the node's data folder with --bitcoin-dir, or give this user read access to the file",
        };
        self.find([Finding::new(Severity::Advice, "conf_unreadable", error.to_string(), remedy)]);
        self.findings.sort_by_key(|finding| finding.severity);
    }

    fn note(&mut self, name: &'static str, state: impl Into<String>) {
        self.checked.push(Checked { name, state: state.into() });
    }

    /// Adds findings, without those of a kind that is there: block files and node often show the same fault.
    fn find(&mut self, findings: impl IntoIterator<Item = Finding>) {
        for finding in findings {
            if !self.findings.iter().any(|known| known.kind == finding.kind && known.lines == finding.lines) {
                self.findings.push(finding);
            }
        }
    }
}

/// Examines a set-up. Writes nothing but a listener of a moment, and takes at most some 30 seconds.
#[must_use]
pub fn examine(set_up: &SetUp<'_>) -> Examination {
    let mut found = Examination::default();
    let conf = crate::node_findings::conf_name(set_up.folder);
    let has_index = set_up.datadir.is_some_and(|datadir| datadir.join("index/CURRENT").exists());
    let files = look_at_blocks(set_up, &conf, &mut found);
    look_at_node(set_up, files.as_ref(), has_index, &mut found);
    look_at_machine(set_up, files.as_ref(), &mut found);
    for (setting, address) in set_up.listeners {
        let port = look_at(*address);
        let state = match &port {
            Port::Free => "free",
            Port::Cairn(_) => "a running Cairn answers there",
            Port::Taken => "another program listens there",
            Port::Refused(_) => "cannot be listened on",
        };
        found.note("listener", format!("{setting} = {address}: {state}"));
        found.find(port_findings(setting, *address, &port));
    }
    found.findings.sort_by_key(|finding| finding.severity);
    found
}

fn look_at_blocks(set_up: &SetUp<'_>, conf: &str, found: &mut Examination) -> Option<BlockFiles> {
    let Some(folder) = set_up.blocks_dir else {
        found.note("block files", "not given: blocks come from the node, which takes much longer");
        return None;
    };
    let opened = BlockFiles::open(folder, set_up.chain).and_then(|files| Ok((files.sizes()?, files)));
    match opened {
        Ok((sizes, files)) => {
            let state = format!("{} files with {} in {}", sizes.block_files, size(sizes.block_bytes), folder.display());
            found.note("block files", state);
            found.find(block_findings::usable(folder, &sizes, files.xor_key()));
            Some(files)
        }
        Err(error) => {
            found.note("block files", format!("unknown: {error}"));
            found.find(block_findings::unusable(&error, conf));
            None
        }
    }
}

fn look_at_node(set_up: &SetUp<'_>, files: Option<&BlockFiles>, has_index: bool, found: &mut Examination) {
    let mut is_answered = false;
    if let Some(config) = set_up.node {
        let asked = Asked { config, chain: set_up.chain, folder: set_up.folder };
        match ask(config, set_up.chain, files) {
            Ok(answers) => {
                is_answered = true;
                found.note("node", state_of(&answers, &config.url));
                found.find(asked.answered(&answers, has_index));
            }
            Err(error) => {
                found.note("node", format!("unknown: {error}"));
                found.find(asked.refused(&error));
            }
        }
        if let NodeAuth::Cookie(path) = &config.auth {
            found.find(open_cookie(path));
        }
    } else {
        found.note("node", "not given: the block files are followed, without mempool and broadcast");
    }
    if let Some(folder) = set_up.folder {
        found.find(conf_findings(folder, set_up.chain, is_answered, has_index));
    }
}

fn state_of(answers: &NodeAnswers, url: &str) -> String {
    let (network, chain) = (&answers.info.network, &answers.info.chain);
    // The node chooses the text.
    let version: String = network.subversion.chars().filter(|c| c.is_ascii_graphic()).take(64).collect();
    format!("{version} at {url}, block {} of {}, {} peers", chain.blocks, chain.headers, network.connections)
}

/// A cookie that every user of the machine may read gives all of them the node.
fn open_cookie(path: &Path) -> Option<Finding> {
    let mode = path.metadata().ok()?.permissions().mode();
    (mode & 0o004 != 0).then(|| {
        let text = format!("every user of this machine may read the cookie {}", path.display());
        let remedy =
            "let the node write it for its group or its owner only, in its bitcoin.conf, and restart the node:";
        Finding::new(Severity::Advice, "cookie_open", text, remedy).with_lines(["rpccookieperms=group"])
    })
}

fn look_at_machine(set_up: &SetUp<'_>, files: Option<&BlockFiles>, found: &mut Examination) {
    let Some(datadir) = set_up.datadir else {
        found.note("data folder", "not given");
        return;
    };
    let disk = Disk::of(datadir).map_err(|error| format!("{}: {error}", datadir.display()));
    match &disk {
        Ok(disk) => {
            let (free, all) = (size(disk.free_bytes), size(disk.total_bytes));
            found.note("data folder", format!("{}, {free} free of {all}", datadir.display()));
        }
        Err(reason) => found.note("data folder", format!("unknown: {reason}")),
    }
    let writer = match UnixStream::connect(datadir.join("cairn.sock")) {
        Ok(_) => "a Cairn writes it now",
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => "unknown: the socket is of another user",
        Err(_) if datadir.join("index/CURRENT").exists() => "exists, and no process writes it",
        Err(_) => "does not exist yet",
    };
    found.note("index", writer);
    let mut sizes = files.and_then(|files| files.sizes().ok()).unwrap_or_default();
    if sizes.block_bytes < NO_PREDICTION_BELOW {
        sizes.block_bytes = 0;
    }
    let plan = Plan {
        network: set_up.chain.network().to_string(),
        blocks_dir: String::new(),
        sizes,
        measured: Measured::default(),
        disk,
        machine: Machine::here(),
        memory_bytes: set_up.memory_bytes,
        silent_payments: set_up.silent_payments,
        index_bytes: index_bytes(datadir),
    };
    found.find(Sheet::new(&plan).findings.into_iter().filter(|finding| finding.severity == Severity::Fault));
}

/// Bytes that an index in this data folder takes already, finished or not; 0 if it cannot be listed.
#[must_use]
pub fn index_bytes(datadir: &Path) -> u64 {
    let files = ["index", "bulk"].into_iter().flat_map(|name| fs::read_dir(datadir.join(name)).into_iter().flatten());
    files.filter_map(|entry| entry.ok()?.metadata().ok()).filter(fs::Metadata::is_file).map(|meta| meta.len()).sum()
}
