//! Verifies that a message was signed by the keys of an address (BIP 137, BIP 322).
//!
//! Both formats commit to the message and the script, not to the network: the same script is the same signer on every
//! network. So a caller gives the script of an address.
//!
//! A valid signature proves that the signer had the keys when it was made. It proves neither that the signer owns the
//! coins, nor when it was made.

mod bip137;
mod bip322;
mod ecdsa;
mod spend;
mod template;
mod verdict;

use base64::{Engine, engine::general_purpose::STANDARD};
use bitcoin::Script;
use verdict::Failure;
pub use verdict::{InconclusiveReason, InvalidReason, SignedBy, Verdict};

/// Most bytes of a message that is read.
pub const MAX_MESSAGE: usize = 4 << 10;
/// Most bytes of the text of a signature that is read. A multisig of 20 keys takes less than a quarter of it.
pub const MAX_SIGNATURE: usize = 16 << 10;

/// The formats that a prefix of the text names (BIP 322).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Prefix {
    Simple,
    Full,
    ProofOfFunds,
}

/// Verifies the signature of a message by the keys of a script, which is that of the address.
///
/// The message is taken as it is, spaces and line ends included: some wallets trim it before they sign.
///
/// The signature is base64 without spaces, after the prefix `smp`, `ful` or `pof` of BIP 322, or without a prefix.
/// Without one it is a BIP 137 signature if it has 65 bytes and a header from 27 to 42, else a witness stack (as BIP
/// 322 lets a verifier assume), else a transaction. No signature can be read in two of these ways.
///
/// These scripts are checked, all others are [`Verdict::Inconclusive`]:
/// - BIP 137: P2PKH, P2SH-P2WPKH, P2WPKH.
/// - BIP 322: P2WPKH, the key path of P2TR, P2PK, P2PKH; P2WSH, P2SH and P2SH-P2WSH of a multisig, of one key, or of
///   the hash of one key; P2SH-P2WPKH. Scripts without a native witness program have the full format only, except that
///   the drafts of BIP 322 gave P2SH-P2WPKH and P2SH-P2WSH the simple format too, without a prefix.
#[must_use]
pub fn verify_signed(script: &Script, message: &str, signature: &str) -> Verdict {
    verify(script, message, signature).into()
}

fn verify(script: &Script, message: &str, signature: &str) -> Result<SignedBy, Failure> {
    // The limits are this verifier's own: a longer signature may well be valid.
    if signature.len() > MAX_SIGNATURE {
        return Err(InconclusiveReason::SignatureTooLong.into());
    }
    if message.len() > MAX_MESSAGE {
        return Err(InconclusiveReason::MessageTooLong.into());
    }
    let (prefix, text) = split_prefix(signature);
    let bytes = STANDARD.decode(text).map_err(|_| InvalidReason::Base64)?;
    match prefix {
        Some(Prefix::Simple) => {
            let witness = bip322::witness(&bytes).ok_or(InvalidReason::Format)?;
            bip322::simple(script, message, witness, bip322::Nested::Refused)
        }
        Some(Prefix::Full) => {
            let to_sign = bip322::transaction(&bytes).ok_or(InvalidReason::Format)?;
            bip322::full(script, message, &to_sign)
        }
        Some(Prefix::ProofOfFunds) => Err(InconclusiveReason::ProofOfFunds.into()),
        None => without_prefix(script, message, &bytes),
    }
}

fn without_prefix(script: &Script, message: &str, bytes: &[u8]) -> Result<SignedBy, Failure> {
    if let Some(compact) = bip137::compact(bytes) {
        bip137::verify(script, message, &compact)
    } else if let Some(witness) = bip322::witness(bytes) {
        bip322::simple(script, message, witness, bip322::Nested::Allowed)
    } else {
        let to_sign = bip322::transaction(bytes).ok_or(InvalidReason::Format)?;
        bip322::full(script, message, &to_sign)
    }
}

/// The prefix and the rest. No text without a prefix starts like one: it would be a witness of more than 100 elements,
/// or a transaction whose version is neither 0 nor 2.
fn split_prefix(signature: &str) -> (Option<Prefix>, &str) {
    let known = [("smp", Prefix::Simple), ("ful", Prefix::Full), ("pof", Prefix::ProofOfFunds)];
    let found = known.iter().find_map(|(text, prefix)| Some((Some(*prefix), signature.strip_prefix(text)?)));
    found.unwrap_or((None, signature))
}
