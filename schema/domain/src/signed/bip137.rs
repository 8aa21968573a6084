//! Compact signatures from which the public key is recovered: those of `signmessage`, and BIP 137, which adds headers
//! for the addresses of segwit.

use bitcoin::{
    PublicKey, Script, ScriptBuf,
    hashes::Hash,
    secp256k1::{
        self, Message,
        ecdsa::{RecoverableSignature, RecoveryId},
    },
    sign_message::signed_msg_hash,
};

use super::{
    ecdsa::SECP,
    verdict::{Failure, InconclusiveReason, InvalidReason, SignedBy},
};

/// The header of the first kind of address; each kind has four, one for each way to recover a key.
const FIRST_HEADER: u8 = 27;

pub(super) struct Compact {
    header: u8,
    /// The numbers r and s.
    numbers: [u8; 64],
}

/// The compact signature in these bytes: a header from 27 to 42, r and s.
pub(super) fn compact(bytes: &[u8]) -> Option<Compact> {
    let (&header, numbers) = bytes.split_first()?;
    let numbers = numbers.try_into().ok()?;
    (FIRST_HEADER..=42).contains(&header).then_some(Compact { header, numbers })
}

/// The kinds of addresses that the headers name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Uncompressed,
    Compressed,
    NestedSegwit,
    Segwit,
}

impl Compact {
    fn kind(&self) -> Kind {
        match self.header {
            ..31 => Kind::Uncompressed,
            31..35 => Kind::Compressed,
            35..39 => Kind::NestedSegwit,
            39.. => Kind::Segwit,
        }
    }

    /// The public key that the signature belongs to. A high S is accepted, as `verifymessage` of Bitcoin Core does: the
    /// format has no rule about it.
    fn recover(&self, message: &str) -> Result<secp256k1::PublicKey, Failure> {
        let recover = || {
            let id = RecoveryId::from_i32(i32::from(self.header.wrapping_sub(FIRST_HEADER) & 3))?;
            let signature = RecoverableSignature::from_compact(&self.numbers, id)?;
            SECP.recover_ecdsa(&Message::from_digest(signed_msg_hash(message).to_byte_array()), &signature)
        };
        recover().map_err(|_: secp256k1::Error| InvalidReason::Recovery.into())
    }
}

/// Verifies a compact signature: the recovered key must give the script.
pub(super) fn verify(script: &Script, message: &str, compact: &Compact) -> Result<SignedBy, Failure> {
    let kind = compact.kind();
    // Electrum and other wallets sign for addresses of segwit with the headers of P2PKH, as they did before BIP 137.
    // The key is compressed then, whatever the header says, since the hashes of segwit are of compressed keys.
    let (fits, is_compressed) = if script.is_p2pkh() {
        (matches!(kind, Kind::Uncompressed | Kind::Compressed), kind == Kind::Compressed)
    } else if script.is_p2wpkh() {
        (kind != Kind::NestedSegwit, true)
    } else if script.is_p2sh() {
        (kind != Kind::Segwit, true)
    } else {
        return Err(InconclusiveReason::Script.into());
    };
    if !fits {
        return Err(InvalidReason::Header.into());
    }
    let key = PublicKey { compressed: is_compressed, inner: compact.recover(message)? };
    let of_key = if script.is_p2pkh() {
        ScriptBuf::new_p2pkh(&key.pubkey_hash())
    } else {
        let hash = key.wpubkey_hash().map_err(|_| InvalidReason::PublicKey)?;
        let program = ScriptBuf::new_p2wpkh(&hash);
        if script.is_p2sh() { ScriptBuf::new_p2sh(&program.script_hash()) } else { program }
    };
    if *script == *of_key { Ok(SignedBy::Bip137) } else { Err(InvalidReason::NotOfAddress.into()) }
}
