//! Output descriptors (BIP 380 and those that follow) and extended public keys (BIP 32, SLIP 132): the scripts of a
//! whole wallet; and partially signed transactions (BIP 174). No chain, no network, no log.
//!
//! Its input is private: it shows every address of the wallet. So no error holds any part of it, and
//! private keys are refused.

mod branch;
mod descriptor;
mod expression;
mod extended;
mod key;
mod musig;
mod psbt;
mod psbt_v2;
mod refusal;
mod secrets;
mod template;

use bitcoin::Network;

pub use branch::Branch;
pub use psbt::{MAX_PSBT_BYTES, PSBT_MAGIC, PsbtFlaw, PsbtState, read_psbt};
pub use refusal::{Flaw, MAX_BRANCHES, MAX_BYTES, Refusal};

/// The branches of a descriptor, or of an extended public key.
///
/// # Errors
/// Fails if the text is neither; or if it has a private key, a hardened step, or too much of something.
pub fn read(text: &str, network: Network) -> Result<Vec<Branch>, Refusal> {
    let text = text.trim();
    if secrets::has_any(text) {
        return Err(Refusal::PrivateKey);
    }
    if text.is_empty() || text.len() > MAX_BYTES {
        return Err(Refusal::Length);
    }
    if !text.is_ascii() {
        return Err(Refusal::Letters);
    }
    let branches =
        if extended::is_bare(text) { extended::branches(text, network)? } else { descriptor::branches(text, network)? };
    if branches.len() > MAX_BRANCHES { Err(Refusal::Branches) } else { Ok(branches) }
}
