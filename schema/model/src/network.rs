//! The Bitcoin networks and their parameters.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

crate::words! {
    /// A Bitcoin network.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Network {
        /// Mainnet.
        Main = "main",
        /// Testnet3.
        Testnet3 = "testnet3",
        /// Testnet4 (BIP 94).
        Testnet4 = "testnet4",
        /// Signet (BIP 325): the default one, unless [`ChainParams`](crate::ChainParams) has a challenge.
        Signet = "signet",
        /// Regtest: a private chain.
        Regtest = "regtest",
    }
    /// Its name on the command line and in answers.
    pub fn name, Display;
}

/// The text is not the name of a network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown network {0:?}: expected main, testnet3, testnet4, signet or regtest")]
pub struct UnknownNetwork(pub String);

impl Network {
    /// The rust-bitcoin name of it.
    #[must_use]
    pub fn to_bitcoin(self) -> bitcoin::Network {
        match self {
            Network::Main => bitcoin::Network::Bitcoin,
            Network::Testnet3 => bitcoin::Network::Testnet,
            Network::Testnet4 => bitcoin::Network::Testnet4,
            Network::Signet => bitcoin::Network::Signet,
            Network::Regtest => bitcoin::Network::Regtest,
        }
    }

    /// Message start bytes, which also begin every record of a block file; of signet, those of the default one.
    #[must_use]
    pub fn magic(self) -> [u8; 4] {
        self.to_bitcoin().magic().to_bytes()
    }

    /// Blocks between two halvings of the subsidy.
    #[must_use]
    pub fn halving_interval(self) -> u32 {
        if self == Network::Regtest { 150 } else { 210_000 }
    }

    /// Subsidy of a block in satoshis (Bitcoin Core, `GetBlockSubsidy`).
    #[must_use]
    pub fn subsidy_sats(self, height: u32) -> u64 {
        let halvings = height / self.halving_interval();
        if halvings >= 64 { 0 } else { (50 * 100_000_000) >> halvings }
    }
}

impl FromStr for Network {
    type Err = UnknownNetwork;

    fn from_str(s: &str) -> Result<Self, UnknownNetwork> {
        Network::ALL.into_iter().find(|n| n.name() == s).ok_or_else(|| UnknownNetwork(s.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for n in Network::ALL {
            assert_eq!(n.name().parse::<Network>().unwrap(), n);
        }
        assert!("mainnet".parse::<Network>().is_err());
    }

    #[test]
    fn magics_are_the_protocols() {
        assert_eq!(Network::Main.magic(), [0xf9, 0xbe, 0xb4, 0xd9]);
        assert_eq!(Network::Regtest.magic(), [0xfa, 0xbf, 0xb5, 0xda]);
        assert_eq!(Network::Testnet4.magic(), [0x1c, 0x16, 0x3f, 0x28]);
    }

    #[test]
    fn subsidy_halves() {
        assert_eq!(Network::Main.subsidy_sats(209_999), 5_000_000_000);
        assert_eq!(Network::Main.subsidy_sats(210_000), 2_500_000_000);
        assert_eq!(Network::Main.subsidy_sats(u32::MAX), 0);
    }
}
