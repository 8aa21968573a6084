//! Output descriptors: those that `miniscript` reads, and the ones of Bitcoin Core that it does not (`combo`, `rawtr`, `addr`,
//! `raw`).

use std::str::FromStr;

use bitcoin::{Address, Network, NetworkKind, ScriptBuf};
use miniscript::{
    Descriptor, DescriptorPublicKey,
    descriptor::{XKeyNetwork, checksum::verify_checksum},
};

use crate::{
    branch::Branch,
    refusal::{MOST_BRANCHES, Refusal},
};

/// Prefixes of SLIP 132, which descriptors do not have.
const OTHER_PREFIXES: [&str; 8] = ["ypub", "zpub", "Ypub", "Zpub", "upub", "vpub", "Upub", "Vpub"];
/// What `combo` stands for with a compressed key; with another one, the first two.
const COMBO: [[&str; 2]; 4] = [["pk(", ")"], ["pkh(", ")"], ["wpkh(", ")"], ["sh(wpkh(", "))"]];
/// Longest script in bytes that can be spent.
const MOST_SCRIPT_BYTES: usize = 10_000;

/// The branches of a descriptor, with a checksum or without.
pub(crate) fn branches(text: &str, network: Network) -> Result<Vec<Branch>, Refusal> {
    let text = if text.contains('#') { verify_checksum(text).map_err(|_| Refusal::Checksum)? } else { text };
    let inside = |name: &str| text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
    if let Some(address) = inside("addr") {
        let address = Address::from_str(address).map_err(|_| Refusal::Unknown)?;
        let address = address.require_network(network).map_err(|_| Refusal::Network)?;
        return Ok(vec![Branch::fixed(address.script_pubkey())]);
    }
    if let Some(hex) = inside("raw") {
        let script = ScriptBuf::from_hex(hex).map_err(|_| Refusal::Unknown)?;
        return if script.len() > MOST_SCRIPT_BYTES { Err(Refusal::Unknown) } else { Ok(vec![Branch::fixed(script)]) };
    }
    if let Some(key) = inside("rawtr") {
        let key = DescriptorPublicKey::from_str(key).map_err(|_| unread(text))?;
        check_network(key.xkey_network().map_or(XKeyNetwork::NoXKeys, XKeyNetwork::Single), network)?;
        return key.into_single_keys().into_iter().map(Branch::of_output_key).collect();
    }
    if let Some(key) = inside("combo") {
        let parsed = DescriptorPublicKey::from_str(key).map_err(|_| unread(text))?;
        let is_compressed = !matches!(&parsed, DescriptorPublicKey::Single(single)
            if matches!(single.key, miniscript::descriptor::SinglePubKey::FullKey(key) if !key.compressed));
        let forms = COMBO.iter().take(if is_compressed { COMBO.len() } else { 2 });
        let mut all = Vec::new();
        for [open, close] in forms {
            all.extend(of_miniscript(&format!("{open}{key}{close}"), network)?);
        }
        return Ok(all);
    }
    of_miniscript(text, network)
}

fn of_miniscript(text: &str, network: Network) -> Result<Vec<Branch>, Refusal> {
    let descriptor = Descriptor::<DescriptorPublicKey>::from_str(text).map_err(|_| unread(text))?;
    check_network(descriptor.xkey_network(), network)?;
    let paths = descriptor.iter_pk().map(|key| key.derivation_paths().len()).max().unwrap_or(0);
    if paths > MOST_BRANCHES {
        return Err(Refusal::Branches);
    }
    descriptor.into_single_descriptors().map_err(|_| Refusal::Unknown)?.into_iter().map(Branch::of).collect()
}

fn check_network(found: XKeyNetwork, network: Network) -> Result<(), Refusal> {
    match found {
        XKeyNetwork::NoXKeys => Ok(()),
        XKeyNetwork::Single(kind) if kind == NetworkKind::from(network) => Ok(()),
        XKeyNetwork::Single(_) | XKeyNetwork::Mixed => Err(Refusal::Network),
    }
}

/// Why a text cannot be read, as far as it shows.
fn unread(text: &str) -> Refusal {
    if OTHER_PREFIXES.iter().any(|prefix| text.contains(prefix)) { Refusal::Prefix } else { Refusal::Unknown }
}
