//! Faults of a node, by its answers or by the error in place of an answer.

use std::{net::IpAddr, os::unix::fs::MetadataExt, path::Path};

use cairn_model::{ChainParams, Network};
use cairn_node::{NodeAuth, NodeConfig, NodeError};

use crate::{
    finding::{Finding, Severity},
    node_answers::{NodeAnswers, host, wildcard_port},
    node_folder::{NodeFolder, default_rpc_port},
};

/// The topics that Cairn uses, each with an address for a node that publishes none of them.
pub(crate) const TOPICS: [&str; 4] = ["zmqpubhashblock", "zmqpubrawblock", "zmqpubrawtx", "zmqpubsequence"];
/// Where the lines that are proposed let a node of this machine publish, and the port.
pub(crate) const LOOPBACK: &str = "127.0.0.1";
const PUBLISHER_PORT: u16 = 28332;
/// Messages that the node keeps for a slow subscriber; its default of 1,000 is a second of a busy mempool.
const HIGH_WATER_MARK: u64 = 100_000;

/// A node as it is configured, with the folder of its configuration if that is on this machine.
pub(crate) struct Asked<'a> {
    pub(crate) config: &'a NodeConfig,
    pub(crate) chain: ChainParams,
    pub(crate) folder: Option<&'a NodeFolder>,
}

impl Asked<'_> {
    fn network(&self) -> Network {
        self.chain.network()
    }

    /// The configuration file by its path, or by its name if it is not known where it is.
    fn conf(&self) -> String {
        conf_name(self.folder)
    }

    /// The line of a section before lines that are added.
    fn section(&self) -> Option<String> {
        section_line(self.folder, self.network())
    }

    /// The address at which the node is to publish: one that this machine reaches.
    fn publisher_host(&self) -> &str {
        if self.is_local() { LOOPBACK } else { host(&self.config.url) }
    }

    fn is_local(&self) -> bool {
        let name = host(&self.config.url).trim_matches(['[', ']']);
        name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// The findings of a node that gave this error.
    pub(crate) fn refused(&self, error: &NodeError) -> Vec<Finding> {
        vec![match error {
            NodeError::Unreachable { .. } | NodeError::TimedOut { .. } => self.silent(error),
            NodeError::NoCookie { path } => self.no_cookie(path),
            NodeError::BadCookie { path, .. } => self.bad_cookie(path, error),
            NodeError::WrongCredentials { .. } => self.wrong_credentials(error),
            NodeError::Forbidden { .. } => self.forbidden(error),
            NodeError::NotANode { .. } | NodeError::BadAnswer { .. } => {
                let port = default_rpc_port(self.network());
                let remedy =
                    format!("give the URL of the node's RPC interface; its default port on {} is {port}:", self.chain);
                fault("not_a_node", error, remedy).with_lines([format!("node = \"http://127.0.0.1:{port}\"")])
            }
            NodeError::WarmingUp { .. } => Finding::new(
                Severity::Note,
                "node_starting",
                error.to_string(),
                "wait: Cairn asks again until the node has started",
            ),
            NodeError::Busy { .. } => {
                let remedy = format!("give the node more room for requests, in {}:", self.conf());
                let advice = Finding::new(Severity::Advice, "node_busy", error.to_string(), remedy);
                advice.with_lines(["rpcthreads=16", "rpcworkqueue=128"])
            }
            NodeError::WrongNetwork { found, .. } => self.wrong_network(found, error),
            NodeError::WrongSignet { found, .. } => {
                let short: String = found.chars().take(200).collect();
                fault("wrong_signet", error, "use the node's challenge, in cairn.toml, with a data folder of its own:")
                    .with_lines([format!("signet_challenge = \"{short}\"")])
            }
            NodeError::TooOld { .. } => fault("node_too_old", error, "upgrade the node to Bitcoin Core 25 or newer"),
            NodeError::BadUrl { .. } => fault("bad_url", error, "give the URL without credentials:")
                .with_lines([format!("node = \"http://127.0.0.1:{}\"", default_rpc_port(self.network()))]),
            _ => fault("node_error", error, "see the log of the node (debug.log in its data folder)"),
        }]
    }

    /// Nobody answers at the URL.
    fn silent(&self, error: &NodeError) -> Finding {
        if !self.is_local() {
            let address = host(&self.config.url);
            let remedy = "let the node accept requests of this machine, in the bitcoin.conf of its machine; RPC is not \
                          encrypted, so do it only within a private network:";
            return fault("node_remote_silent", error, remedy).with_lines([
                format!("rpcbind={address}"),
                "rpcbind=127.0.0.1".to_owned(),
                "rpcallowip=ADDRESS_OF_THIS_MACHINE".to_owned(),
            ]);
        }
        let Some(folder) = self.folder else {
            return fault("node_silent", error, "start the node, or correct the port of `node` in cairn.toml");
        };
        let network = self.network();
        if let Some(place) = folder.conf.ignored_place(network, "rpcport") {
            let remedy =
                format!("the node ignores rpcport in {place}, which is not in the section of {network}: write");
            let port = default_rpc_port(network);
            return fault("rpcport_ignored", error, remedy + " it there, or use the default:")
                .with_lines([format!("node = \"http://127.0.0.1:{port}\"")]);
        }
        if folder.conf.flag(network, "server") == Some(false) {
            let place = folder.conf.place(network, "server").unwrap_or_default();
            let remedy = format!("the node's RPC interface is off: change {place}, and restart the node:");
            return fault("rpc_off", error, remedy).with_lines(["server=1"]);
        }
        let url = folder.url(network);
        if url.trim_end_matches('/') != self.config.url.trim_end_matches('/') {
            let remedy = format!("{} lets the node listen elsewhere; write in cairn.toml:", self.conf());
            return fault("rpcport_differs", error, remedy).with_lines([format!("node = \"{url}\"")]);
        }
        let start = match network {
            Network::Main => format!("bitcoind -datadir={}", folder.dir.display()),
            other => format!("bitcoind -datadir={} -chain={}", folder.dir.display(), cairn_node::core_name(other)),
        };
        fault("node_silent", error, "start the node:").with_lines([start])
    }

    fn no_cookie(&self, path: &Path) -> Finding {
        let missing = format!("the node's cookie file {} does not exist", path.display());
        let network = self.network();
        if let Some(folder) = self.folder
            && let Some(place) = folder.conf.place(network, "rpcpassword")
        {
            let user = folder.conf.value(network, "rpcuser").unwrap_or_default();
            let remedy = format!(
                "the node writes no cookie because of rpcpassword ({place}): remove that line and restart the node, or name its \
                 user in cairn.toml, and give the password in the environment as CAIRN_NODE_PASSWORD:"
            );
            return fault("no_cookie", missing, remedy).with_lines([format!("node_user = {user:?}")]);
        }
        let remedy = "start the node, which writes the file, or correct `node_cookie` in cairn.toml; test networks have a \
                      subfolder";
        fault("no_cookie", missing, remedy)
    }

    fn bad_cookie(&self, path: &Path, error: &NodeError) -> Finding {
        let owner = path.metadata().ok().map(|meta| (meta.uid(), meta.gid()));
        let own = rustix::process::geteuid().as_raw();
        let Some((uid, gid)) = owner.filter(|(uid, _)| *uid != own) else {
            let folder = path.parent().unwrap_or(path).display();
            let remedy = "give this user read access, as root, with the user who runs Cairn for CAIRN_USER:";
            return fault("cookie_unreadable", error, remedy)
                .with_lines([format!("setfacl -m u:CAIRN_USER:x {folder}"), "rpccookieperms=group".to_owned()]);
        };
        let denied = format!("{error}; the file belongs to another user (uid {uid}, gid {gid})");
        let remedy = format!(
            "let the node write its cookie for its group, in {}, add this user to the group, and restart the node:",
            self.conf()
        );
        fault("cookie_of_other_user", denied, remedy).with_lines([
            "rpccookieperms=group".to_owned(),
            format!("usermod -aG \"$(getent group {gid} | cut -d: -f1)\" CAIRN_USER"),
        ])
    }

    fn wrong_credentials(&self, error: &NodeError) -> Finding {
        match &self.config.auth {
            NodeAuth::Cookie(_) => {
                let remedy =
                    "the cookie is of another node or network: name the cookie file of the node that listens there";
                let lines = self.folder.map(|folder| format!("node_cookie = {:?}", folder.cookie(self.network())));
                fault("cookie_of_other_node", error, format!("{remedy}:")).with_lines(lines)
            }
            NodeAuth::UserPassword { .. } => fault(
                "wrong_password",
                error,
                "give the password of this user in the environment as CAIRN_NODE_PASSWORD, or use the cookie file",
            ),
        }
    }

    fn forbidden(&self, error: &NodeError) -> Finding {
        let remedy = "allow this machine and this user, in the bitcoin.conf of the node's machine:";
        fault("node_forbids", error, remedy).with_lines(["rpcallowip=ADDRESS_OF_THIS_MACHINE"])
    }

    fn wrong_network(&self, found: &str, error: &NodeError) -> Finding {
        let network = Network::ALL.into_iter().find(|network| cairn_node::core_name(*network) == found);
        let port = default_rpc_port(self.network());
        let remedy = format!(
            "name the node of {} (its default port is {port}), or index the node's network with a data folder of its own:",
            self.chain
        );
        fault("wrong_network", error, remedy).with_lines(network.map(|network| format!("network = \"{network}\"")))
    }

    /// The findings of a node that answers. `has_index` is true if blocks were indexed before.
    pub(crate) fn answered(&self, answers: &NodeAnswers, has_index: bool) -> Vec<Finding> {
        let chain = &answers.info.chain;
        let mut findings = Vec::new();
        if chain.pruned {
            let place = self.folder.and_then(|folder| folder.conf.place(self.network(), "prune"));
            findings.push(pruned_node(&place.unwrap_or_else(|| self.conf()), chain.prune_height, has_index));
        }
        if answers.knows_files == Some(false) {
            let fault_text = format!(
                "the block files are not those of the node at {}: it does not know their second block",
                self.config.url
            );
            let remedy =
                "there are two nodes: name folder, URL and cookie of the same one (blocks_dir, node, node_cookie)";
            findings.push(fault("two_nodes", fault_text, remedy));
        }
        if chain.is_catching_up() {
            let text = format!("the node is still syncing: it is at block {} of {}", chain.blocks, chain.headers);
            let remedy = "wait, or start now: Cairn indexes what is there and follows";
            findings.push(Finding::new(Severity::Note, "node_syncing", text, remedy));
        } else if self.network() != Network::Regtest && answers.info.network.connections == 0 {
            let text = "the node has no peers: it gets no new blocks";
            let remedy = "check its network (networkactive, connect, proxy), and its log";
            findings.push(Finding::new(Severity::Advice, "no_peers", text, remedy));
        }
        if answers.offers_rest == Some(false) {
            findings.push(rest_off(&self.conf(), self.section()));
        }
        findings.extend(self.publishers(answers));
        findings
    }

    fn publishers(&self, answers: &NodeAnswers) -> Vec<Finding> {
        let Some(publishers) = &answers.publishers else {
            let text = "the node does not report its ZMQ publishers, so that it is asked for news every second";
            let remedy = "use a bitcoind that is built with ZMQ";
            return vec![Finding::new(Severity::Advice, "zmq_unknown", text, remedy)];
        };
        let given: Vec<(String, String)> =
            publishers.iter().map(|one| (format!("zmq{}", one.kind), one.address.clone())).collect();
        let mut findings = zmq_findings(&given, &self.conf(), self.section(), self.publisher_host());
        for address in &answers.unreachable_publishers {
            let text = format!("the node publishes by ZMQ at {address}, where this machine cannot connect");
            let remedy = "let it publish at an address that this machine reaches, or open the port in the firewall:";
            let line = format!("zmqpubsequence=tcp://{}:{PUBLISHER_PORT}", self.publisher_host());
            findings.push(Finding::new(Severity::Advice, "zmq_unreachable", text, remedy).with_lines([line]));
        }
        let is_low =
            |kind: &str| publishers.iter().any(|one| one.kind == kind && one.hwm > 0 && one.hwm < HIGH_WATER_MARK);
        let low: Vec<&str> = ["pubrawtx", "pubsequence"].into_iter().filter(|kind| is_low(kind)).collect();
        if !low.is_empty() {
            let text = "the node keeps few ZMQ messages for a slow reader, and drops the rest in a burst; Cairn then \
                        compares the whole mempool";
            let remedy = format!("raise the limits in {}, and restart the node:", self.conf());
            let lines = low.iter().map(|kind| format!("zmq{kind}hwm={HIGH_WATER_MARK}"));
            let lines = self.section().into_iter().chain(lines);
            findings.push(Finding::new(Severity::Advice, "zmq_hwm", text, remedy).with_lines(lines));
        }
        findings
    }
}

/// The configuration file by its path, or by its name if it is not known where it is.
pub(crate) fn conf_name(folder: Option<&NodeFolder>) -> String {
    folder.map_or_else(|| "the node's bitcoin.conf".to_owned(), |folder| folder.conf_path().display().to_string())
}

/// The line of a section before lines that are added to a configuration: none if all lines are for the main network.
pub(crate) fn section_line(folder: Option<&NodeFolder>, network: Network) -> Option<String> {
    let is_plain = network == Network::Main && !folder.is_some_and(|folder| folder.conf.has_sections());
    (!is_plain).then(|| format!("[{}]", cairn_node::core_name(network)))
}

/// The finding of a node that prunes. `conf` names the line, or the file.
pub(crate) fn pruned_node(conf: &str, lowest: Option<u32>, has_index: bool) -> Finding {
    let has = match lowest {
        Some(lowest) => format!("the node is pruned: it has blocks from {lowest} on only"),
        None => "the node is pruned".to_owned(),
    };
    if has_index {
        let remedy = "an index that has the older blocks follows it; raw bytes of the older transactions are missing";
        return Finding::new(Severity::Note, "pruned", has, remedy);
    }
    let remedy = format!(
        "Cairn needs every block once: write in {conf}, and start the node with -reindex, which downloads all blocks again; or \
         give a full copy of the blocks folder:"
    );
    fault("pruned", has, remedy).with_lines(["prune=0"])
}

/// The finding of a node without REST.
pub(crate) fn rest_off(conf: &str, section: Option<String>) -> Finding {
    let text = "the node does not offer REST (rest=0): blocks come by RPC, in twice as many bytes";
    let remedy = format!("add to {conf}, and restart the node:");
    Finding::new(Severity::Advice, "rest_off", text, remedy)
        .with_lines(section.into_iter().chain(["rest=1".to_owned()]))
}

/// The findings of publishers, each a setting and its address.
pub(crate) fn zmq_findings(
    given: &[(String, String)],
    conf: &str,
    section: Option<String>,
    host: &str,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let has = |topic: &str| given.iter().any(|(name, _)| name == topic);
    let usual = format!("tcp://{host}:{PUBLISHER_PORT}");
    let address = given.first().map_or(&usual, |(_, address)| address);
    let missing: Vec<&str> = match (has("zmqpubhashblock") || has("zmqpubrawblock"), &TOPICS[1..]) {
        (true, topics) => topics.iter().copied().filter(|topic| *topic != "zmqpubrawblock" && !has(topic)).collect(),
        (false, topics) => topics.iter().copied().filter(|topic| !has(topic)).collect(),
    };
    if !missing.is_empty() {
        let text = match given.is_empty() {
            true => {
                "the node publishes nothing by ZMQ: it is asked for blocks every second, and the mempool is compared \
                     every two"
                    .to_owned()
            }
            false => format!("the node does not publish {} by ZMQ: it is asked instead", missing.join(", ")),
        };
        let mut lines: Vec<String> = section.into_iter().collect();
        for topic in &missing {
            lines.push(format!("{topic}={}", on_host(address, host)));
            if *topic != "zmqpubrawblock" {
                lines.push(format!("{topic}hwm={HIGH_WATER_MARK}"));
            }
        }
        let remedy = format!("add to {conf}, and restart the node:");
        findings.push(Finding::new(Severity::Advice, "zmq_off", text, remedy).with_lines(lines));
    }
    let wild: Vec<&(String, String)> = given.iter().filter(|(_, address)| wildcard_port(address).is_some()).collect();
    if !wild.is_empty() {
        let names: Vec<&str> = wild.iter().map(|(name, _)| name.as_str()).collect();
        let text = format!(
            "{} listen on every address of the node's machine: anyone who reaches it can subscribe",
            names.join(", ")
        );
        let remedy = format!("let them listen on one address in {conf}, and restart the node:");
        let lines = wild.iter().map(|(name, address)| format!("{name}={}", on_host(address, host)));
        findings.push(Finding::new(Severity::Advice, "zmq_wildcard", text, remedy).with_lines(lines));
    }
    findings
}

/// The same address on one host if it is a wildcard.
fn on_host(address: &str, host: &str) -> String {
    wildcard_port(address).map_or_else(|| address.to_owned(), |port| format!("tcp://{host}:{port}"))
}

fn fault(kind: &'static str, fault: impl ToString, remedy: impl Into<String>) -> Finding {
    Finding::new(Severity::Fault, kind, fault.to_string(), remedy)
}
