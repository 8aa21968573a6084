//! The folders of a node: data folder, configuration, block files and cookie of each network.

use std::{
    io,
    path::{Path, PathBuf},
};

use cairn_model::Network;

use crate::node_conf::{ConfError, NodeConf};

/// Name of the configuration file.
const CONF: &str = "bitcoin.conf";

/// The data folder of a Bitcoin Core node with its configuration.
#[derive(Clone, Debug)]
pub struct NodeFolder {
    /// The folder that has `bitcoin.conf`.
    pub dir: PathBuf,
    /// Its settings.
    pub conf: NodeConf,
}

/// Subfolder of a network in the data folder; empty for the main network.
fn subfolder(network: Network) -> &'static str {
    match network {
        Network::Main => "",
        Network::Testnet3 => "testnet3",
        Network::Testnet4 => "testnet4",
        Network::Signet => "signet",
        Network::Regtest => "regtest",
    }
}

/// Port of the RPC interface unless the node sets another one.
pub(crate) fn default_rpc_port(network: Network) -> u16 {
    match network {
        Network::Main => 8332,
        Network::Testnet3 => 18332,
        Network::Testnet4 => 48332,
        Network::Signet => 38332,
        Network::Regtest => 18443,
    }
}

impl NodeFolder {
    /// Reads the configuration in `dir`. A folder without one has the node's defaults.
    pub fn read(dir: &Path) -> Result<Self, ConfError> {
        Ok(NodeFolder { dir: dir.to_owned(), conf: NodeConf::read(&dir.join(CONF), dir)? })
    }

    /// The configuration file, whether it exists or not.
    #[must_use]
    pub fn conf_path(&self) -> PathBuf {
        self.dir.join(CONF)
    }

    /// The folder of a network below `root`.
    fn of_network(root: &Path, network: Network) -> PathBuf {
        match subfolder(network) {
            "" => root.to_owned(),
            name => root.join(name),
        }
    }

    /// The node's data of a network: `datadir` of the configuration, or the folder itself.
    #[must_use]
    pub fn data_dir(&self, network: Network) -> PathBuf {
        let root = self.conf.value(network, "datadir").filter(|dir| !dir.is_empty());
        NodeFolder::of_network(&root.map_or_else(|| self.dir.clone(), |dir| self.dir.join(dir)), network)
    }

    /// The folder with the block files of a network.
    #[must_use]
    pub fn blocks_dir(&self, network: Network) -> PathBuf {
        match self.conf.value(network, "blocksdir").filter(|dir| !dir.is_empty()) {
            Some(dir) => NodeFolder::of_network(&self.dir.join(dir), network).join("blocks"),
            None => self.data_dir(network).join("blocks"),
        }
    }

    /// The cookie file of a network.
    #[must_use]
    pub fn cookie(&self, network: Network) -> PathBuf {
        let name = self.conf.value(network, "rpccookiefile").filter(|name| !name.is_empty());
        self.data_dir(network).join(name.unwrap_or(".cookie"))
    }

    /// URL of the RPC interface of a network, on this machine.
    #[must_use]
    pub fn url(&self, network: Network) -> String {
        let port = self.conf.value(network, "rpcport").and_then(|port| port.parse::<u16>().ok());
        format!("http://127.0.0.1:{}", port.unwrap_or_else(|| default_rpc_port(network)))
    }

    /// True if something is at a path. A folder that this user may not look into counts, because it exists.
    fn is_here(path: &Path) -> bool {
        path.metadata().map_or_else(|error| error.kind() == io::ErrorKind::PermissionDenied, |_| true)
    }

    /// True if the node has block files of a network here, readable or not.
    #[must_use]
    pub fn has_blocks(&self, network: Network) -> bool {
        NodeFolder::is_here(&self.blocks_dir(network))
    }

    /// The networks of which the node has block files or a cookie here. A cookie outside of the data folder is that of
    /// the network which the configuration chooses.
    #[must_use]
    pub fn networks(&self) -> Vec<Network> {
        let has_cookie = |network: Network| {
            let cookie = self.cookie(network);
            let is_own = network == self.conf.network() || cookie.starts_with(self.data_dir(network));
            is_own && NodeFolder::is_here(&cookie)
        };
        let has = |network: &Network| self.has_blocks(*network) || has_cookie(*network);
        Network::ALL.into_iter().filter(has).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn each_network_has_its_folder_cookie_and_port() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let plain = NodeFolder::read(root).unwrap();
        assert_eq!(plain.blocks_dir(Network::Main), root.join("blocks"));
        assert_eq!(plain.cookie(Network::Testnet3), root.join("testnet3/.cookie"));
        assert_eq!(plain.url(Network::Signet), "http://127.0.0.1:38332");
        assert_eq!(plain.networks(), []);
        fs::create_dir_all(root.join("regtest/blocks")).unwrap();
        fs::write(root.join(".cookie"), "a:b").unwrap();
        assert_eq!(plain.networks(), [Network::Main, Network::Regtest]);
        fs::write(
            root.join("bitcoin.conf"),
            "datadir=/data\nblocksdir=/big\nrpccookiefile=/run/cookie\nrpcport=9000\n[test]\nrpccookiefile=c\nrpcport=99999\n",
        )
        .unwrap();
        let other = NodeFolder::read(root).unwrap();
        assert_eq!(other.blocks_dir(Network::Main), Path::new("/big/blocks"));
        let elsewhere = tempfile::tempdir().unwrap();
        let shared = elsewhere.path().join("cookie");
        fs::write(&shared, "a:b").unwrap();
        let chosen = format!("signet=1\nrpccookiefile={}\n", shared.display());
        fs::write(root.join("bitcoin.conf"), chosen).unwrap();
        assert_eq!(NodeFolder::read(root).unwrap().networks(), [Network::Signet, Network::Regtest]);
        assert_eq!(other.blocks_dir(Network::Signet), Path::new("/big/signet/blocks"));
        assert_eq!(other.data_dir(Network::Testnet4), Path::new("/data/testnet4"));
        assert_eq!(other.cookie(Network::Main), Path::new("/run/cookie"));
        assert_eq!(other.cookie(Network::Testnet3), Path::new("/data/testnet3/c"));
        assert_eq!(
            (other.url(Network::Main), other.url(Network::Testnet3)),
            ("http://127.0.0.1:9000".into(), "http://127.0.0.1:18332".into())
        );
    }
}
