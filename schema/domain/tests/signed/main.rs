//! Signed messages: the vectors of the BIPs and of wallets, signatures by random keys, and whatever breaks them.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod bip137;
mod bip322;
mod bounds;
mod properties;
mod rules;
mod signer;

use bitcoin::{Address, ScriptBuf, address::NetworkUnchecked};
use cairn_domain::signed::{Verdict, verify_signed};

/// The script of an address of any network.
fn script_of(address: &str) -> ScriptBuf {
    address.parse::<Address<NetworkUnchecked>>().unwrap().assume_checked().script_pubkey()
}

/// The verdict about the signature of a message by an address.
fn verdict(address: &str, message: &str, signature: &str) -> Verdict {
    verify_signed(&script_of(address), message, signature)
}
