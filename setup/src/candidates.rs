//! Finds the nodes of a machine by their folders.

use std::path::{Path, PathBuf};

use cairn_model::{ChainParams, Network, SignetChallenge};

use crate::{node_conf::ConfError, node_folder::NodeFolder, settings_file::Credentials};

/// A node of one network: the folder of its configuration and the network.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its folder.
    pub folder: NodeFolder,
    /// The network.
    pub network: Network,
}

/// The nodes in some folders, and the folders whose configuration cannot be read.
#[derive(Debug, Default)]
pub struct Candidates {
    /// The nodes.
    pub found: Vec<Candidate>,
    /// The errors of the others.
    pub unreadable: Vec<ConfError>,
}

impl Candidates {
    /// Looks into folders for nodes: of `network` only, if it is given.
    #[must_use]
    pub fn in_dirs(dirs: &[PathBuf], network: Option<Network>) -> Self {
        let mut candidates = Candidates::default();
        for dir in dirs.iter().filter(|dir| dir.is_dir()) {
            match NodeFolder::read(dir) {
                Ok(folder) => {
                    let is_wanted = |found: &Network| network.is_none_or(|wanted| wanted == *found);
                    let networks = folder.networks().into_iter().filter(is_wanted);
                    let of_folder = networks.map(|network| Candidate { folder: folder.clone(), network });
                    candidates.found.extend(of_folder);
                }
                Err(error) => candidates.unreadable.push(error),
            }
        }
        candidates
    }
}

impl Candidate {
    /// The chain: for a signet with the challenge of the configuration; `None` if that is not a challenge.
    #[must_use]
    pub fn chain(&self) -> Option<ChainParams> {
        match self.folder.conf.value(Network::Signet, "signetchallenge") {
            Some(challenge) if self.network == Network::Signet => {
                challenge.parse::<SignetChallenge>().ok().map(ChainParams::signet)
            }
            _ => Some(self.network.into()),
        }
    }

    /// The credentials that the configuration leads to: the cookie, unless a password is set, which turns it off.
    #[must_use]
    pub fn credentials(&self) -> Credentials {
        let conf = &self.folder.conf;
        match conf.value(self.network, "rpcuser") {
            Some(user) if conf.has(self.network, "rpcpassword") => Credentials::User(user.to_owned()),
            _ => Credentials::Cookie(self.folder.cookie(self.network)),
        }
    }

    /// One line for a list.
    #[must_use]
    pub fn described(&self) -> String {
        let network = self.network;
        format!(
            "{network} in {} (block files in {})",
            self.folder.dir.display(),
            self.folder.blocks_dir(network).display()
        )
    }
}

/// Data folders where nodes usually are, for a user with this home folder. The first is the node's own default.
#[must_use]
pub fn usual_dirs(home: Option<&Path>) -> Vec<PathBuf> {
    let of_user = [".bitcoin", "snap/bitcoin-core/common/.bitcoin", "Library/Application Support/Bitcoin"];
    let of_system = ["/var/lib/bitcoind", "/var/lib/bitcoin", "/srv/bitcoin"];
    let own = home.into_iter().flat_map(|home| of_user.map(|dir| home.join(dir)));
    own.chain(of_system.map(PathBuf::from)).collect()
}

/// Finds the folder of a node by its cookie or its block files: the nearest of the two folders above that has a
/// `bitcoin.conf`.
#[must_use]
pub fn folder_around(path: &Path) -> Option<PathBuf> {
    path.ancestors().skip(1).take(2).find(|dir| dir.join("bitcoin.conf").is_file()).map(Path::to_owned)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn nodes_are_found_by_their_folders() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (dir.path().join("one"), dir.path().join("two"));
        fs::create_dir_all(one.join("blocks")).unwrap();
        fs::create_dir_all(two.join("regtest/blocks")).unwrap();
        fs::create_dir_all(two.join("signet")).unwrap();
        fs::write(two.join("signet/.cookie"), "a:b").unwrap();
        fs::write(two.join("bitcoin.conf"), "[signet]\nsignetchallenge=51\nrpcuser=ann\nrpcpassword=x\n").unwrap();
        let dirs = [dir.path().join("none"), one.clone(), two.clone()];
        let all = Candidates::in_dirs(&dirs, None);
        let networks: Vec<Network> = all.found.iter().map(|found| found.network).collect();
        assert_eq!(networks, [Network::Main, Network::Signet, Network::Regtest]);
        assert_eq!(all.found[0].credentials(), Credentials::Cookie(one.join(".cookie")));
        assert_eq!(all.found[1].credentials(), Credentials::User("ann".to_owned()));
        assert_eq!(all.found[1].chain().unwrap().challenge_hex(), Some("51"));
        assert_eq!(Candidates::in_dirs(&dirs, Some(Network::Regtest)).found.len(), 1);
        fs::write(one.join("bitcoin.conf"), "nonsense").unwrap();
        assert_eq!(Candidates::in_dirs(&dirs, None).unreadable.len(), 1);
        assert_eq!(folder_around(&two.join("signet/.cookie")), Some(two.clone()));
        assert_eq!(folder_around(&two.join("a/b/c/.cookie")), None);
    }

    #[test]
    fn the_users_own_folder_comes_first() {
        assert_eq!(usual_dirs(Some(Path::new("/users/ann")))[0], Path::new("/users/ann/.bitcoin"));
        assert_eq!(usual_dirs(None)[0], Path::new("/var/lib/bitcoind"));
    }
}
