//! Output descriptors: the outermost functions.

use std::{str::FromStr, sync::Arc};

use bitcoin::{Address, Network, NetworkKind, ScriptBuf};
use miniscript::descriptor::checksum::verify_checksum;

use crate::{
    branch::Branch,
    expression,
    key::{self, AllowedKeys, Key},
    refusal::{MAX_SCRIPT_BYTES, Refusal},
};

/// The forms of `combo` with a compressed key; with another one, the first two.
const COMBO: [[&str; 2]; 4] = [["pk(", ")"], ["pkh(", ")"], ["wpkh(", ")"], ["sh(wpkh(", "))"]];

/// The branches of a descriptor, with a checksum or without.
pub(crate) fn branches(text: &str, network: Network) -> Result<Vec<Branch>, Refusal> {
    let text = if text.contains('#') { verify_checksum(text).map_err(|_| Refusal::Checksum)? } else { text };
    let inside = |name: &str| text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
    let kind = NetworkKind::from(network);
    if let Some(address) = inside("addr") {
        let address = Address::from_str(address).map_err(|_| Refusal::Address)?;
        let address = address.require_network(network).map_err(|_| Refusal::Network)?;
        return Ok(vec![Branch::fixed(address.script_pubkey())]);
    }
    if let Some(hex) = inside("raw") {
        let script = ScriptBuf::from_hex(hex).map_err(|_| Refusal::Raw)?;
        let is_taken = (1..=MAX_SCRIPT_BYTES).contains(&script.len());
        return if is_taken { Ok(vec![Branch::fixed(script)]) } else { Err(Refusal::Raw) };
    }
    if let Some(key) = inside("rawtr") {
        return Ok(alone(key, AllowedKeys::Taproot, kind)?.into_iter().map(Branch::from_output_key).collect());
    }
    if let Some(key) = inside("combo") {
        let is_compressed = alone(key, AllowedKeys::Legacy, kind)?.iter().all(Key::is_compressed);
        let forms = COMBO.iter().take(if is_compressed { COMBO.len() } else { 2 });
        let mut all = Vec::new();
        for [open, close] in forms {
            all.extend(of_expression(&format!("{open}{key}{close}"), kind)?);
        }
        return Ok(all);
    }
    of_expression(text, kind)
}

/// Reads a key that is the only argument.
fn alone(text: &str, allowed: AllowedKeys, network: NetworkKind) -> Result<Vec<Key>, Refusal> {
    let outside = if text.starts_with("musig(") { text.split_once(')').map_or("", |(_, after)| after) } else { text };
    if outside.contains([',', '(', ')', '{', '}']) {
        return Err(Refusal::Arguments);
    }
    let key = key::read(text, allowed, network)?;
    key::branch_count(std::slice::from_ref(&key))?;
    Ok(key)
}

fn of_expression(text: &str, network: NetworkKind) -> Result<Vec<Branch>, Refusal> {
    let expression = expression::read(text, network)?;
    let count = key::branch_count(&expression.keys)?;
    let template = Arc::new(expression.template);
    let branch = |at| Branch::new(Arc::clone(&template), key::alternative(&expression.keys, at), at == 0);
    Ok((0..count).map(branch).collect())
}
