//! Extended public keys as wallets show them: the prefix says what their scripts are (SLIP 132).

use bitcoin::{Network, NetworkKind, base58, bip32::Xpub};

use crate::{
    branch::Branch,
    descriptor,
    key::{self, MAX_EXTENDED_CHARS},
    refusal::Refusal,
};

/// Depth of the key of an account by BIP 44, 49, 84 and 86; one step deeper are the keys of receiving and change
/// addresses.
const ACCOUNT_DEPTH: u8 = 3;
/// First four bytes of extended keys on mainnet, and on test networks.
const XPUB: [u8; 4] = [0x04, 0x88, 0xb2, 0x1e];
const TPUB: [u8; 4] = [0x04, 0x35, 0x87, 0xcf];

/// Descriptors of BIP 44, 49, 84 and 86, around a key.
const ALL: &[[&str; 2]] = &[["pkh(", ")"], ["sh(wpkh(", "))"], ["wpkh(", ")"], ["tr(", ")"]];

/// Meaning of a prefix: the network, and the script around the key; `None` for a wallet with several signers.
fn meaning(version: [u8; 4]) -> Option<(NetworkKind, Option<&'static [[&'static str; 2]]>)> {
    use NetworkKind::{Main, Test};
    let (nested, native) = (ALL.get(1..2), ALL.get(2..3));
    Some(match version {
        XPUB => (Main, Some(ALL)),
        TPUB => (Test, Some(ALL)),
        [0x04, 0x9d, 0x7c, 0xb2] => (Main, nested),
        [0x04, 0x4a, 0x52, 0x62] => (Test, nested),
        [0x04, 0xb2, 0x47, 0x46] => (Main, native),
        [0x04, 0x5f, 0x1c, 0xf6] => (Test, native),
        [0x02, 0x95, 0xb4, 0x3f] | [0x02, 0xaa, 0x7e, 0xd3] => (Main, None),
        [0x02, 0x42, 0x89, 0xef] | [0x02, 0x57, 0x54, 0x83] => (Test, None),
        _ => return None,
    })
}

/// The origin, if there is one, and the text after it.
fn split(text: &str) -> (Option<&str>, &str) {
    let parts = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    parts.map_or((None, text), |(origin, key)| (Some(origin), key))
}

/// True for a text that begins as an extended public key does, after an origin if there is one.
pub(crate) fn is_bare(text: &str) -> bool {
    split(text).1.get(1..4) == Some("pub")
}

/// The branches of a key: addresses to receive with, and those for change, of each kind that its prefix allows.
pub(crate) fn branches(text: &str, network: Network) -> Result<Vec<Branch>, Refusal> {
    let (origin, key) = split(text);
    origin.map_or(Ok(()), key::check_origin)?;
    if key.contains('/') {
        return Err(Refusal::Path);
    }
    if key.len() > MAX_EXTENDED_CHARS {
        return Err(Refusal::Extended);
    }
    let mut bytes = base58::decode_check(key).map_err(|_| Refusal::Extended)?;
    let version = bytes.first_chunk_mut::<4>().ok_or(Refusal::Extended)?;
    let (kind, forms) = meaning(*version).ok_or(Refusal::Extended)?;
    *version = if kind == NetworkKind::Main { XPUB } else { TPUB };
    let key = Xpub::decode(&bytes).map_err(|_| Refusal::Extended)?;
    if kind != NetworkKind::from(network) {
        return Err(Refusal::Network);
    }
    let steps = if key.depth > ACCOUNT_DEPTH { "/*" } else { "/<0;1>/*" };
    let mut branches = Vec::new();
    for [open, close] in forms.ok_or(Refusal::Multisig)? {
        branches.extend(descriptor::branches(&format!("{open}{key}{steps}{close}"), network)?);
    }
    Ok(branches)
}
