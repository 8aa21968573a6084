//! The address of a receiver.

use bitcoin::{
    Network,
    bech32::{
        Bech32m, Fe32, Hrp,
        primitives::iter::{ByteIterExt, Fe32IterExt},
    },
    secp256k1::PublicKey,
};

/// The address of version 0 that senders pay to.
#[must_use]
pub(super) fn address(network: Network, scan: &PublicKey, spend: &PublicKey) -> String {
    // The BIP has no prefix of its own for regtest: this is the one of wallets.
    let prefix = match network {
        Network::Bitcoin => "sp",
        Network::Regtest => "sprt",
        _ => "tsp",
    };
    let hrp = Hrp::parse_unchecked(prefix);
    let keys = scan.serialize().into_iter().chain(spend.serialize());
    keys.bytes_to_fes().with_checksum::<Bech32m>(&hrp).with_witness_version(Fe32::Q).chars().collect()
}
