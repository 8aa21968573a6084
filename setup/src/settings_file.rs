//! The text of a `cairn.toml` for the first run. It has no secret.

use std::{net::SocketAddr, path::PathBuf};

use cairn_model::{ChainParams, Network};
use toml::Value;

use crate::machine::Machine;

/// Bytes of memory below which the defaults of `cairn run` (5.6 GiB) leave too little for the node and the system.
const ROOMY: u64 = 12 << 30;

/// How Cairn proves to the node who it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Credentials {
    /// By the cookie file.
    Cookie(PathBuf),
    /// By this user, whose password is given in the environment.
    User(String),
}

/// The settings of the first run.
#[derive(Clone, Debug)]
pub struct FirstSettings {
    /// The network.
    pub chain: ChainParams,
    /// The data folder.
    pub datadir: PathBuf,
    /// The folder of block files; `None` if blocks come from the node.
    pub blocks_dir: Option<PathBuf>,
    /// URL and credentials of the node; `None` if only block files are followed.
    pub node: Option<(String, Credentials)>,
    /// ZMQ addresses of the node; empty if it is asked for them.
    pub zmq: Vec<String>,
    /// The address to listen on.
    pub listen: SocketAddr,
    /// This machine.
    pub machine: Machine,
}

/// Memory of indexing, of the read cache and of the mempool, in MiB: smaller than the defaults if the machine is small.
fn memory_of(machine: &Machine) -> Option<[u64; 3]> {
    let (bytes, _) = machine.memory.filter(|(bytes, _)| *bytes < ROOMY)?;
    let mib = bytes >> 20;
    // Half of the memory is for Cairn, 128 MiB of it for serving.
    Some([(mib / 4).clamp(256, 4096), (mib / 12).clamp(64, 1024), (mib / 16).clamp(64, 512)])
}

impl FirstSettings {
    /// Bytes of memory that `cairn run` takes at most by these settings, besides those for serving.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        memory_of(&self.machine).unwrap_or([4096, 1024, 512]).iter().sum::<u64>() << 20
    }

    /// The text of the file.
    #[must_use]
    pub fn text(&self) -> String {
        let path = |path: &PathBuf| Value::String(path.display().to_string());
        let mut text = String::from(
            "# Settings of Cairn, written by `cairn init`. docs/configuration.md has all of them, `cairn config` prints those in\n\
             # force, and `cairn doctor` examines them.\n\n",
        );
        let mut set = |key: &str, value: Value| text.push_str(&format!("{key} = {value}\n"));
        set("network", Value::String(self.chain.network().to_string()));
        if let Some(challenge) = self.chain.custom_challenge().filter(|_| self.chain.network() == Network::Signet) {
            set("signet_challenge", Value::String(challenge.to_hex().to_owned()));
        }
        set("datadir", path(&self.datadir));
        if let Some(blocks) = &self.blocks_dir {
            set("blocks_dir", path(blocks));
        }
        match &self.node {
            Some((url, Credentials::Cookie(cookie))) => {
                set("node", Value::String(url.clone()));
                set("node_cookie", path(cookie));
            }
            Some((url, Credentials::User(user))) => {
                set("node", Value::String(url.clone()));
                set("node_user", Value::String(user.clone()));
                text.push_str("# Give the password of this user in the environment: CAIRN_NODE_PASSWORD\n");
            }
            None => {}
        }
        if !self.zmq.is_empty() {
            let list = self.zmq.iter().cloned().map(Value::String).collect();
            text.push_str(&format!("zmq = {}\n", Value::Array(list)));
        }
        text.push_str(&format!("listen = {}\n", Value::String(self.listen.to_string())));
        if let Some([memory, cache, mempool]) = memory_of(&self.machine) {
            text.push_str("\n# Less than the defaults, because this machine has little memory.\n");
            text.push_str(&format!("memory = \"{memory}M\"\ncache = \"{cache}M\"\nmempool_memory = \"{mempool}M\"\n"));
        }
        text
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::machine::MemoryBound;

    fn settings(memory_gib: u64) -> FirstSettings {
        FirstSettings {
            chain: Network::Main.into(),
            datadir: PathBuf::from("/srv/cairn"),
            blocks_dir: Some(PathBuf::from("/srv/a \"b\"\\c/blocks")),
            node: Some(("http://127.0.0.1:8332".to_owned(), Credentials::Cookie(PathBuf::from("/srv/.cookie")))),
            zmq: Vec::new(),
            listen: "127.0.0.1:8080".parse().unwrap(),
            machine: Machine { cores: Some(2), memory: Some((memory_gib << 30, MemoryBound::Machine)) },
        }
    }

    #[test]
    fn the_file_reads_back() {
        let text = settings(64).text();
        let table: toml::Table = text.parse().unwrap();
        let is = |key: &str, value: &str| assert_eq!(table[key].as_str(), Some(value), "{text}");
        is("network", "main");
        is("blocks_dir", "/srv/a \"b\"\\c/blocks");
        is("node_cookie", "/srv/.cookie");
        is("listen", "127.0.0.1:8080");
        assert_eq!(table.len(), 6, "{text}");
        let user = FirstSettings {
            node: Some(("http://127.0.0.1:1".to_owned(), Credentials::User("ann".to_owned()))),
            blocks_dir: None,
            zmq: vec!["tcp://10.0.0.1:28332".to_owned()],
            ..settings(64)
        };
        let table: toml::Table = user.text().parse().unwrap();
        assert_eq!(table["zmq"][0].as_str(), Some("tcp://10.0.0.1:28332"));
        assert!(user.text().contains("node_user = \"ann\"\n# Give the password"), "{}", user.text());
        assert!(!Path::new(&user.text()).exists());
    }

    #[test]
    fn a_small_machine_gets_less_memory() {
        let table: toml::Table = settings(4).text().parse().unwrap();
        assert_eq!(
            ["memory", "cache", "mempool_memory"].map(|key| table[key].as_str().unwrap()),
            ["1024M", "341M", "256M"]
        );
        assert!(settings(4).memory_bytes() < 2 << 30);
        assert_eq!(settings(64).memory_bytes(), (4096 + 1024 + 512) << 20);
        let tiny: toml::Table = settings(0).text().parse().unwrap();
        assert_eq!(tiny["memory"].as_str(), Some("256M"));
    }
}
